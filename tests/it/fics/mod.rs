//! The client for internet chess servers: contract points against the fake server, scripts, recordings, hostile input.
//!
//! Tests named `eNN_..` show contract point NN; `points` sees to it that none is missing. Where a point asks for a decision, the
//! client's half is here and the decision's half is with whoever decides:
//!
//! | points | here | and |
//! |---|---|---|
//! | E1 to E13 | `contract_login`, scripts 01 to 04 | E3: the rule `platform.playable` of the lobby |
//! | E14 to E22 | `contract_lobby`, scripts 14, 15, 28 | E16, E19, E20: `lobby_slots`; E22: `lobby_matchmaking` |
//! | E23 to E33 | `contract_games`, scripts 05, 06, 20, 23, 27 | E24: `a_repeated_state_changes_nothing`; E28: `a_refused_move_leads_to_another_and_then_to_leaving`; E33: `aborts_once_if_the_opponent_does_not_begin` |
//! | E34, E40 | `contract_offers`, script 08 | `game_manners` |
//! | E35 to E37 | `contract_resume`, scripts 10, 11, 12, 27, 28 | E35: `daemon_platforms` |
//! | E38, E39, E41 | `contract_pace`, script 26 | E38: `greets_once_says_goodbye_and_answers_commands`, `games_in_a_row_have_a_limit_and_then_a_rest` |
//! | E42 | `hostile` | |

#[path = "../support/fake_ics/mod.rs"]
pub mod fake_ics;

mod configuration;
mod contract_games;
mod contract_lobby;
mod contract_login;
mod contract_offers;
mod contract_pace;
mod contract_resume;
mod hostile;
mod points;
mod recordings;
mod scripts;
mod summary;
mod whole_games;

use std::collections::VecDeque;
use std::time::Duration;

use secrecy::SecretString;
use seneschal::game::{GameCommand, GameEvent, GameId, GameStart, GameState, PlayMove};
use seneschal::lobby::{Challenge, ChallengeId, DeclineReason};
use seneschal::platform::fics::{FicsConfig, FicsShared, FicsVariant, connect_with};
use seneschal::platform::{
    AccountCommand, AccountEvent, AccountLink, ClientEnd, GameLink, GameNotice, Snapshot,
};
use seneschal::rules::Position;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use fake_ics::{Dialect, FakeIcs};

/// Longest wait of a test, in the paused time of the tests.
const LIMIT: Duration = Duration::from_secs(3600);

/// The account under test.
const OWN: &str = "Harbor";
/// A human opponent.
const OTHER: &str = "Birch";

/// A config with everything switched on and a password.
fn config() -> FicsConfig {
    FicsConfig {
        host: "127.0.0.1".to_owned(),
        handle: OWN.to_owned(),
        variants: vec![
            FicsVariant::Standard,
            FicsVariant::Crazyhouse,
            FicsVariant::Suicide,
            FicsVariant::Losers,
            FicsVariant::Atomic,
            FicsVariant::FischerRandom,
            FicsVariant::Wild,
        ],
        owners: vec!["Keel".to_owned()],
        ..FicsConfig::default()
    }
}

/// A server with the account under test (a computer), a human and an owner.
fn server(dialect: Dialect, seed: u64) -> FakeIcs {
    let server = FakeIcs::new(dialect, seed);
    server.register(OWN, "secret", true);
    server.register(OTHER, "pw", false);
    server.register("Cedar", "pw", false);
    server.register("Keel", "pw", false);
    server
}

/// The client with the daemon's ends of its queues.
struct Bot {
    link: Option<AccountLink>,
    events: VecDeque<AccountEvent>,
    game: Option<GameLink>,
    task: JoinHandle<ClientEnd>,
    seen: Vec<AccountEvent>,
}

impl Bot {
    fn start(server: &FakeIcs, config: FicsConfig) -> Bot {
        Bot::start_with(server, config, "secret")
    }

    fn start_with(server: &FakeIcs, config: FicsConfig, password: &str) -> Bot {
        config.validate().expect("the tests' configs are valid");
        let shared = FicsShared {
            password: Some(SecretString::from(password.to_owned())),
            seed: 7,
        };
        let (link, client) = connect_with(config, shared, server.connector());
        Bot {
            link: Some(link),
            events: VecDeque::new(),
            game: None,
            task: tokio::spawn(client),
            seen: Vec::new(),
        }
    }

    /// Starts and waits until the account is reconciled.
    async fn ready(server: &FakeIcs, config: FicsConfig) -> Bot {
        let mut bot = Bot::start(server, config);
        bot.snapshot().await;
        bot
    }

    async fn command(&self, command: AccountCommand) {
        let link = self.link.as_ref().expect("not stopped yet");
        link.commands.send(command).await.expect("the client runs");
    }

    /// Waits for an event that `pick` takes; others are skipped (and kept in `seen`).
    async fn event<T>(&mut self, pick: impl Fn(&AccountEvent) -> Option<T>) -> T {
        loop {
            let event = match self.events.pop_front() {
                Some(event) => event,
                None => {
                    let link = self.link.as_mut().expect("not stopped yet");
                    let received = timeout(LIMIT, link.events.recv())
                        .await
                        .unwrap_or_else(|_| panic!("no such event in time; seen: {:?}", self.seen));
                    received.expect("the client runs").event
                }
            };
            self.seen.push(event.clone());
            if let Some(picked) = pick(&event) {
                return picked;
            }
        }
    }

    /// All events that came until now, without waiting for more than a moment.
    async fn settled(&mut self) -> Vec<AccountEvent> {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let mut events: Vec<AccountEvent> = self.events.drain(..).collect();
        let link = self.link.as_mut().expect("not stopped yet");
        while let Ok(received) = link.events.try_recv() {
            events.push(received.event);
        }
        self.seen.extend(events.iter().cloned());
        events
    }

    async fn snapshot(&mut self) -> Snapshot {
        self.event(|event| match event {
            AccountEvent::Reconciled(snapshot) => Some(snapshot.clone()),
            _ => None,
        })
        .await
    }

    async fn challenge(&mut self) -> Challenge {
        self.event(|event| match event {
            AccountEvent::Challenged(challenge) => Some((**challenge).clone()),
            _ => None,
        })
        .await
    }

    async fn accept(&self, id: &ChallengeId) {
        self.command(AccountCommand::Accept(id.clone())).await;
    }

    async fn decline(&self, id: &ChallengeId, reason: DeclineReason) {
        self.command(AccountCommand::Decline {
            id: id.clone(),
            reason,
        })
        .await;
    }

    async fn started(&mut self) -> GameNotice {
        self.event(|event| match event {
            AccountEvent::GameStarted(notice) => Some(notice.clone()),
            _ => None,
        })
        .await
    }

    /// Opens a game and takes its first full state.
    async fn open(&mut self, id: &GameId) -> (GameStart, GameState) {
        self.link_game(id).await;
        match self
            .game_event(|event| matches!(event, GameEvent::Full { .. }))
            .await
        {
            GameEvent::Full { start, state } => (*start, state),
            other => panic!("{other:?}"),
        }
    }

    async fn link_game(&mut self, id: &GameId) {
        let (reply, answer) = oneshot::channel();
        self.command(AccountCommand::OpenGame {
            id: id.clone(),
            reply,
        })
        .await;
        self.game = Some(
            timeout(LIMIT, answer)
                .await
                .expect("an answer comes at once")
                .expect("the client runs"),
        );
    }

    /// The next event of the open game that fits; others are skipped.
    async fn game_event(&mut self, fits: impl Fn(&GameEvent) -> bool) -> GameEvent {
        let game = self.game.as_mut().expect("a game is open");
        loop {
            let received = timeout(LIMIT, game.events.recv())
                .await
                .expect("a game event comes in time");
            let event = received.expect("the game's link is open").event;
            if fits(&event) {
                return event;
            }
        }
    }

    /// Waits for a state with this many moves.
    async fn state_with(&mut self, moves: usize) -> GameState {
        let fits = |event: &GameEvent| match event {
            GameEvent::State(state) | GameEvent::Full { state, .. } => state.moves.len() == moves,
            _ => false,
        };
        match self.game_event(fits).await {
            GameEvent::State(state) | GameEvent::Full { state, .. } => state,
            other => panic!("{other:?}"),
        }
    }

    /// Game events that came until now.
    async fn game_settled(&mut self) -> Vec<GameEvent> {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let game = self.game.as_mut().expect("a game is open");
        let mut events = Vec::new();
        while let Ok(received) = game.events.try_recv() {
            events.push(received.event);
        }
        events
    }

    async fn game_command(&self, command: GameCommand) {
        let game = self.game.as_ref().expect("a game is open");
        game.commands
            .send(command)
            .await
            .expect("the client serves the game");
    }

    /// Plays a move given in UCI notation in the position after `state`.
    async fn play(&self, start: &GameStart, state: &GameState, uci: &str) {
        let position = position_of(start, state);
        let m = position.parse_uci(uci).expect("the test plays legal moves");
        let play = PlayMove {
            position,
            m,
            ply: state.moves.len(),
            offer_draw: false,
        };
        self.game_command(GameCommand::Play(Box::new(play))).await;
    }

    /// Lets go of the account and waits for the client's end.
    async fn stop(mut self) -> ClientEnd {
        self.link = None;
        timeout(LIMIT, self.task)
            .await
            .expect("the client ends in time")
            .expect("the client does not panic")
    }
}

/// The position that a state means.
fn position_of(start: &GameStart, state: &GameState) -> Position {
    let fen = state
        .base_fen
        .clone()
        .or_else(|| start.initial_fen.clone())
        .unwrap_or_else(|| start.variant.start_fen().to_owned());
    let mut position = Position::from_fen(start.variant, start.castling_mode, &fen)
        .expect("the client sends readable FENs");
    for uci in &state.moves {
        let m = position
            .parse_uci(uci)
            .expect("the client sends legal moves");
        position.play(m).expect("legal");
    }
    position
}

/// Gives the tasks time to talk.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(300)).await;
}

/// A game of the given terms between the other player (who challenges) and us, opened; `terms` name the other's colour.
async fn game(server: &FakeIcs, terms: &str) -> (Bot, fake_ics::Player, GameStart, GameState) {
    game_with(server, config(), terms).await
}

async fn game_with(
    server: &FakeIcs,
    config: FicsConfig,
    terms: &str,
) -> (Bot, fake_ics::Player, GameStart, GameState) {
    let mut bot = Bot::ready(server, config).await;
    let player = server.player(OTHER);
    player.send(&format!("match {OWN} {terms}"));
    let challenge = bot.challenge().await;
    bot.accept(&challenge.id).await;
    let notice = bot.started().await;
    let (start, state) = bot.open(&notice.id).await;
    (bot, player, start, state)
}
