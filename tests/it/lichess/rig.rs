//! A client of the Lichess interface against the fake, and a player that does what a session does.

use std::time::Duration;

use secrecy::SecretString;
use seneschal::game::{
    CommandFailure, CommandKind, GameCommand, GameEnd, GameEvent, GameId, GameStart, GameState,
    PlayMove, PlayerName, Status,
};
use seneschal::lobby::{ChallengeRequest, ColorChoice, RequestId};
use seneschal::platform::http::Origin;
use seneschal::platform::lichess::{LichessConfig, Shared, Timing, connect, governor_config};
use seneschal::platform::{
    AccountCommand, AccountEvent, AccountLink, ClientEnd, GameLink, GameNotice, Received, Snapshot,
};
use seneschal::rules::{CastlingMode, Position, Variant};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::lichess::fake::{Fake, TOKEN};

/// Nothing in these tests takes longer.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Waiting times short enough for tests and long enough for a busy machine.
pub fn timing() -> Timing {
    Timing {
        silence: Duration::from_millis(1500),
        line_deadline: Duration::from_millis(2500),
        game_backoff_cap: Duration::from_millis(400),
        event_backoff_cap: Duration::from_millis(400),
        move_deadline: Duration::from_secs(1),
        move_pause: Duration::from_millis(50),
        challenge_lifetime: Duration::from_secs(2),
        absence_lapses: Duration::from_secs(1),
        linger: Duration::from_millis(300),
        ..Timing::default()
    }
}

pub fn config() -> LichessConfig {
    LichessConfig {
        timing: timing(),
        ..LichessConfig::new("us", SecretString::from(TOKEN))
    }
}

/// A running client.
pub struct Rig {
    pub fake: Fake,
    pub link: AccountLink,
    pub origin: Origin,
    pub tasks: JoinSet<ClientEnd>,
}

impl Rig {
    pub async fn start() -> Rig {
        Rig::with(Fake::start().await, config())
    }

    pub fn with(fake: Fake, config: LichessConfig) -> Rig {
        let origin = Origin::new(&fake.url, governor_config(config.server), None).unwrap();
        Rig::on(fake, origin, config)
    }

    pub fn on(fake: Fake, origin: Origin, config: LichessConfig) -> Rig {
        let (link, client) = connect(
            config,
            Shared {
                origin: origin.clone(),
                seed: 1,
            },
        );
        let mut tasks = JoinSet::new();
        tasks.spawn(client);
        Rig {
            fake,
            link,
            origin,
            tasks,
        }
    }

    /// A client that is online.
    pub async fn online() -> Rig {
        let mut rig = Rig::start().await;
        rig.reconciled().await;
        rig
    }

    pub async fn event(&mut self) -> AccountEvent {
        let received = timeout(PATIENCE, self.link.events.recv())
            .await
            .expect("an event in time");
        received.expect("the client runs").event
    }

    /// Waits for an event of interest; others are passed over.
    pub async fn find<T>(&mut self, mut wanted: impl FnMut(AccountEvent) -> Option<T>) -> T {
        loop {
            if let Some(found) = wanted(self.event().await) {
                return found;
            }
        }
    }

    pub async fn reconciled(&mut self) -> Snapshot {
        self.find(|event| match event {
            AccountEvent::Reconciled(snapshot) => Some(snapshot),
            _ => None,
        })
        .await
    }

    pub async fn started(&mut self) -> GameNotice {
        self.find(|event| match event {
            AccountEvent::GameStarted(notice) => Some(notice),
            _ => None,
        })
        .await
    }

    pub async fn send(&self, command: AccountCommand) {
        self.link.commands.send(command).await.unwrap();
    }

    pub async fn open(&self, id: &str) -> GameLink {
        let (reply, link) = oneshot::channel();
        self.send(AccountCommand::OpenGame {
            id: GameId::new(id),
            reply,
        })
        .await;
        timeout(PATIENCE, link).await.unwrap().unwrap()
    }

    /// Drops the link and waits for the client to end.
    pub async fn end(self) -> (ClientEnd, Fake) {
        let Rig {
            fake,
            link,
            mut tasks,
            ..
        } = self;
        drop(link);
        let end = timeout(PATIENCE, tasks.join_next())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        (end, fake)
    }

    /// Waits for a client that ends by itself.
    pub async fn stopped(&mut self) -> String {
        match timeout(PATIENCE, self.tasks.join_next())
            .await
            .unwrap()
            .unwrap()
            .unwrap()
        {
            ClientEnd::Stopped { words } => words,
            ClientEnd::Asked => panic!("nobody asked"),
        }
    }
}

pub fn request(number: u64, opponent: &str) -> ChallengeRequest {
    ChallengeRequest {
        request: RequestId(number),
        opponent: PlayerName::new(opponent),
        variant: Variant::Crazyhouse,
        castling_mode: CastlingMode::Standard,
        time_control: seneschal::game::TimeControl::clock(180, 2),
        rated: true,
        color: ColorChoice::Random,
    }
}

/// Plays some legal move whenever it is our turn, and keeps to the rules of a session: one move per ply, the same one
/// again after a full state, a request for the full state when something is unclear.
pub struct Player {
    pub link: GameLink,
    pub start: Option<GameStart>,
    pub state: Option<GameState>,
    position: Position,
    sent: Option<(usize, seneschal::rules::Move)>,
    pub fulls: usize,
    pub lost: usize,
    pub failures: Vec<(CommandKind, CommandFailure)>,
}

impl Player {
    pub fn new(link: GameLink) -> Player {
        Player {
            link,
            start: None,
            state: None,
            position: Position::start(Variant::Chess),
            sent: None,
            fulls: 0,
            lost: 0,
            failures: Vec::new(),
        }
    }

    pub async fn receive(&mut self) -> Option<GameEvent> {
        let received: Option<Received<GameEvent>> = timeout(PATIENCE, self.link.events.recv())
            .await
            .expect("a game event");
        received.map(|received| received.event)
    }

    /// Plays until the game is over.
    pub async fn play_out(&mut self) -> GameEnd {
        loop {
            let event = self
                .receive()
                .await
                .expect("the link stays open until the end");
            if let Some(end) = self.on_event(event).await {
                return end;
            }
        }
    }

    /// Plays until the state satisfies the condition.
    pub async fn play_until(&mut self, condition: impl Fn(&GameState) -> bool) {
        while !self.state.as_ref().is_some_and(&condition) {
            let event = self
                .receive()
                .await
                .expect("the link stays open until the end");
            assert_eq!(self.on_event(event).await, None, "the game goes on");
        }
    }

    pub async fn on_event(&mut self, event: GameEvent) -> Option<GameEnd> {
        match event {
            GameEvent::Full { start, state } => {
                self.fulls += 1;
                self.start = Some(*start);
                self.on_state(state, true).await
            }
            GameEvent::State(state) => self.on_state(state, false).await,
            GameEvent::Ended(end) => Some(end),
            GameEvent::Failed { command, failure } => {
                if matches!(command, CommandKind::Play { .. }) {
                    self.send(GameCommand::Resync).await;
                }
                self.failures.push((command, failure));
                None
            }
            GameEvent::LinkLost => {
                self.lost += 1;
                None
            }
            _ => None,
        }
    }

    async fn on_state(&mut self, state: GameState, full: bool) -> Option<GameEnd> {
        let start = self.start.as_ref().expect("a full state comes first");
        self.position = match &start.initial_fen {
            Some(fen) => Position::from_fen(start.variant, start.castling_mode, fen).unwrap(),
            None => Position::start(start.variant),
        };
        for uci in &state.moves {
            let m = self.position.parse_uci(uci).unwrap();
            self.position.play(m).unwrap();
        }
        let ply = state.moves.len();
        let end = match &state.status {
            Status::Ended(end) => Some(end.clone()),
            Status::Running => None,
        };
        let ours = self.position.turn() == start.color && self.position.has_legal_move();
        self.state = Some(state);
        if end.is_none() && ours {
            match self.sent.filter(|(sent, _)| *sent == ply) {
                Some((_, m)) if full => self.play(m, ply).await,
                Some(_) => {}
                None => {
                    let moves = self.position.legal_moves();
                    let m = moves[(ply * 5 + 1) % moves.len()];
                    self.sent = Some((ply, m));
                    self.play(m, ply).await;
                }
            }
        }
        end
    }

    async fn play(&self, m: seneschal::rules::Move, ply: usize) {
        let position = self.position.clone();
        self.send(GameCommand::Play(Box::new(PlayMove {
            position,
            m,
            ply,
            offer_draw: false,
        })))
        .await;
    }

    pub async fn send(&self, command: GameCommand) {
        self.link.commands.send(command).await.unwrap();
    }
}

/// A move in a position, as a command.
pub fn play(position: &Position, uci: &str, ply: usize) -> GameCommand {
    let m = position.parse_uci(uci).unwrap();
    GameCommand::Play(Box::new(PlayMove {
        position: position.clone(),
        m,
        ply,
        offer_draw: false,
    }))
}
