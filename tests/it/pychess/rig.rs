//! A client, a fake server, and the daemon's part played by the test.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use secrecy::SecretString;
use seneschal::game::{GameCommand, GameEnd, GameEvent, GameId, GameStart, GameState, PlayMove};
use seneschal::lobby::{Challenge, ChallengeId, DeclineReason};
use seneschal::platform::backoff::BackoffConfig;
use seneschal::platform::http::Origin;
use seneschal::platform::pychess::{self, PychessConfig, Shared, Timing};
use seneschal::platform::{
    AccountCommand, AccountEvent, AccountLink, ClientEnd, GameLink, GameNotice, Snapshot,
};
use seneschal::rules::{History, Move, Position};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::fake::game::Offer;
use super::fake::{FakePychess, TOKEN};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often the fake pings.
pub const PING: Duration = Duration::from_millis(60);

/// The real waits, divided so that tests are short.
pub fn timing() -> Timing {
    Timing {
        silence: Duration::from_millis(900),
        first_line: Duration::from_millis(250),
        locked: Duration::from_millis(60),
        never_started: Duration::from_millis(600),
        request: Duration::from_millis(1500),
        echo: Duration::from_millis(400),
        settle: Duration::from_millis(150),
        quiet: Duration::from_millis(120),
        poll: Duration::from_millis(400),
        replay: Duration::from_millis(100),
        look_gap: Duration::from_millis(50),
        linger: Duration::from_millis(500),
        challenge_lifetime: Duration::from_secs(60),
        backoff: BackoffConfig {
            base: Duration::from_millis(10),
            cap: Duration::from_millis(150),
            healthy_after: Duration::from_secs(60),
        },
    }
}

/// Client and server.
pub struct Rig {
    /// The server.
    pub fake: FakePychess,
    /// The daemon's end.
    pub link: AccountLink,
    client: JoinSet<ClientEnd>,
}

impl Rig {
    /// Starts both and waits until the account is reconciled.
    pub async fn online() -> Rig {
        let mut rig = Rig::start(|_| {}).await;
        rig.reconciled().await;
        rig
    }

    /// Starts both.
    pub async fn start(change: impl FnOnce(&mut PychessConfig)) -> Rig {
        let fake = FakePychess::start(PING).await;
        let (link, client) = connect(&fake, change);
        Rig { fake, link, client }
    }

    /// Stops the client as the daemon does and starts another one, as after a restart of the daemon.
    pub async fn restart_client(mut self) -> Rig {
        drop(self.link);
        assert_eq!(
            self.client.join_next().await.unwrap().unwrap(),
            ClientEnd::Asked
        );
        let (link, client) = connect(&self.fake, |_| {});
        Rig {
            fake: self.fake,
            link,
            client,
        }
    }

    /// The next event.
    pub async fn event(&mut self) -> AccountEvent {
        let event = tokio::time::timeout(PATIENCE, self.link.events.recv())
            .await
            .expect("an event in time");
        event.expect("the client runs").event
    }

    /// The first event of interest; others are dropped.
    pub async fn wait_for<T>(&mut self, mut pick: impl FnMut(AccountEvent) -> Option<T>) -> T {
        loop {
            if let Some(found) = pick(self.event().await) {
                return found;
            }
        }
    }

    /// The next snapshot.
    pub async fn reconciled(&mut self) -> Snapshot {
        self.wait_for(|event| match event {
            AccountEvent::Reconciled(snapshot) => Some(snapshot),
            _ => None,
        })
        .await
    }

    /// The next challenge.
    pub async fn challenged(&mut self) -> Challenge {
        self.wait_for(|event| match event {
            AccountEvent::Challenged(challenge) => Some(*challenge),
            _ => None,
        })
        .await
    }

    /// The start of a certain game.
    pub async fn started(&mut self, id: &str) -> GameNotice {
        self.wait_for(|event| match event {
            AccountEvent::GameStarted(notice) if notice.id.as_str() == id => Some(notice),
            _ => None,
        })
        .await
    }

    /// Sends a command.
    pub async fn command(&self, command: AccountCommand) {
        self.link.commands.send(command).await.unwrap();
    }

    /// Declines.
    pub async fn decline(&self, id: &str, reason: DeclineReason) {
        self.command(AccountCommand::Decline {
            id: ChallengeId::new(id),
            reason,
        })
        .await;
    }

    /// Accepts.
    pub async fn accept(&self, id: &str) {
        self.command(AccountCommand::Accept(ChallengeId::new(id)))
            .await;
    }

    /// Opens a game.
    pub async fn open(&self, id: &str) -> Table {
        let (reply, link) = oneshot::channel();
        self.command(AccountCommand::OpenGame {
            id: GameId::new(id),
            reply,
        })
        .await;
        Table {
            id: id.to_owned(),
            link: link.await.unwrap(),
            start: None,
            state: None,
            seen: Vec::new(),
        }
    }

    /// A human challenges, the bot accepts and sits down.
    pub async fn sit_down(&mut self, offer: Offer) -> Table {
        let id = self.fake.challenge(offer).unwrap();
        let challenge = self.challenged().await;
        assert_eq!(challenge.id.as_str(), id);
        self.accept(&id).await;
        self.started(&id).await;
        let mut table = self.open(&id).await;
        table.full().await;
        table
    }

    /// How the client ended.
    pub async fn end(mut self) -> ClientEnd {
        tokio::time::timeout(PATIENCE, self.client.join_next())
            .await
            .expect("an end in time")
            .unwrap()
            .unwrap()
    }

    /// Whether the client still runs.
    pub fn runs(&mut self) -> bool {
        self.client.try_join_next().is_none()
    }
}

fn connect(
    fake: &FakePychess,
    change: impl FnOnce(&mut PychessConfig),
) -> (AccountLink, JoinSet<ClientEnd>) {
    let origin = Origin::new(&fake.url(), pychess::governor_config(), None).unwrap();
    let mut config = PychessConfig::new("steward", SecretString::from(TOKEN));
    config.timing = timing();
    change(&mut config);
    let (link, client) = pychess::connect(config, Shared { origin, seed: 7 });
    let mut set = JoinSet::new();
    set.spawn(client);
    (link, set)
}

/// One game from the bot's chair.
pub struct Table {
    /// The game.
    pub id: String,
    /// The daemon's end.
    pub link: GameLink,
    /// What is fixed.
    pub start: Option<GameStart>,
    /// The last state.
    pub state: Option<GameState>,
    /// Every event so far.
    pub seen: Vec<GameEvent>,
}

impl Table {
    /// The next event; states are noted.
    pub async fn event(&mut self) -> GameEvent {
        let event = tokio::time::timeout(PATIENCE, self.link.events.recv()).await;
        let event = event.unwrap_or_else(|_| {
            panic!("{}: an event in time after {:?}", self.id, self.seen.last())
        });
        let event = event
            .unwrap_or_else(|| panic!("{}: the game's client has left", self.id))
            .event;
        match &event {
            GameEvent::Full { start, state } => {
                self.start = Some((**start).clone());
                self.state = Some(state.clone());
            }
            GameEvent::State(state) => self.state = Some(state.clone()),
            _ => {}
        }
        self.seen.push(event.clone());
        event
    }

    /// The first event of interest.
    pub async fn wait_for<T>(&mut self, mut pick: impl FnMut(&GameEvent) -> Option<T>) -> T {
        loop {
            if let Some(found) = pick(&self.event().await) {
                return found;
            }
        }
    }

    /// The next full state.
    pub async fn full(&mut self) {
        self.wait_for(|event| matches!(event, GameEvent::Full { .. }).then_some(()))
            .await;
    }

    /// Waits until the list of moves is this long.
    pub async fn plies(&mut self, plies: usize) {
        while self.moves().len() != plies {
            self.event().await;
        }
    }

    /// The end.
    pub async fn ended(&mut self) -> GameEnd {
        self.wait_for(|event| match event {
            GameEvent::Ended(end) => Some(end.clone()),
            _ => None,
        })
        .await
    }

    /// Whether the game's client has left without a word more.
    pub async fn left(&mut self) -> bool {
        tokio::time::timeout(PATIENCE, self.link.events.recv())
            .await
            .expect("in time")
            .is_none()
    }

    /// All moves so far.
    pub fn moves(&self) -> &[String] {
        self.state.as_ref().map_or(&[], |state| &state.moves)
    }

    /// The game by our rules.
    pub fn history(&self) -> History {
        let start = self.start.as_ref().unwrap();
        let first = match &start.initial_fen {
            None => Position::start(start.variant),
            Some(fen) => Position::from_fen(start.variant, start.castling_mode, fen).unwrap(),
        };
        let mut history = History::new(first);
        for uci in self.moves() {
            let m = history.position().parse_uci(uci).unwrap();
            history.play_unchecked(m);
        }
        history
    }

    /// Sends a command.
    pub async fn command(&self, command: GameCommand) {
        self.link.commands.send(command).await.unwrap();
    }

    /// Plays a move of this spelling on the board as it is now known.
    pub async fn play(&self, uci: &str) {
        let position = self.history().position().clone();
        let m = position.parse_uci(uci).unwrap();
        self.send(position, m, self.moves().len()).await;
    }

    /// Sends a move for a certain board.
    pub async fn send(&self, position: Position, m: Move, ply: usize) {
        self.command(GameCommand::Play(Box::new(PlayMove {
            position,
            m,
            ply,
            offer_draw: false,
        })))
        .await;
    }

    /// Whether it is our turn.
    pub fn our_turn(&self) -> bool {
        self.history().position().turn() == self.start.as_ref().unwrap().color
    }
}

/// Plays a whole game of random moves, both sides, as a session would: what is owed stays owed through every failure. Returns the end that the
/// client told.
pub async fn play_to_the_end(
    fake: &FakePychess,
    table: &mut Table,
    seed: u64,
    plies_max: usize,
) -> GameEnd {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut sent_for = None;
    loop {
        let game = fake.game(&table.id).unwrap();
        if game.is_running() && game.moves.len() >= plies_max {
            table.command(GameCommand::Resign).await;
            return table.ended().await;
        }
        if game.is_running() && game.on_move() != super::fake::BOT {
            // A human who mates when it can, so that games end.
            let words = game.legal_words();
            let word = words[rng.random_range(0..words.len())].clone();
            fake.play(&table.id, &word);
        }
        let plies = table.moves().len();
        if sent_for != Some(plies) && table.our_turn() {
            let history = table.history();
            let moves = history.position().legal_moves();
            if !moves.is_empty() {
                let m = moves[rng.random_range(0..moves.len())];
                table.send(history.position().clone(), m, plies).await;
                sent_for = Some(plies);
            }
        }
        match table.event().await {
            GameEvent::Ended(end) => return end,
            // What a session does when nobody knows, or when the board had changed.
            GameEvent::Failed {
                failure: seneschal::game::CommandFailure::Unanswered,
                ..
            } => table.command(GameCommand::Resync).await,
            GameEvent::Full { .. } | GameEvent::Failed { .. } => sent_for = None,
            _ => {}
        }
    }
}
