//! Clients of the platforms, all behind one pair of channels.
//!
//! # How a client is built
//! Each platform is a folder with `wire` (the platform's words and units, private), `translate` (the only file with both
//! vocabularies, pure) and `client`. Its module offers
//!
//! ```text
//! pub struct XConfig { .. }                       // its config section; the secret is a secrecy::SecretString field
//! pub fn capabilities(config: &XConfig) -> Capabilities
//! pub fn connect(config: XConfig, shared: Shared) -> (AccountLink, impl Future<Output = ClientEnd> + Send + 'static)
//! ```
//!
//! where `Shared` is what that platform's client needs from outside (the origin's governor, a seed for jitter). The caller
//! owns the future: it puts it into its own `JoinSet` and joins it. The future spawns nothing that it does not join.
//!
//! # What a client promises
//! 1. It runs until [`AccountLink::commands`] is dropped (then it closes its sockets and returns [`ClientEnd::Asked`]) or the
//!    platform makes it impossible ([`ClientEnd::Stopped`]). Everything else it survives by itself: it reconnects for ever,
//!    with backoff, within the platform's allowance for connections.
//! 2. After every (re)connection it sends [`AccountEvent::Online`], then one [`AccountEvent::Reconciled`] with the platform's
//!    own lists, and only then live events. Until `Reconciled` the daemon accepts and challenges nothing.
//! 3. It never decides anything: no accepting, no move, no chat of its own. Echoes of our own challenges carry
//!    [`ChallengeDirection::Outgoing`](crate::lobby::ChallengeDirection).
//! 4. [`AccountEvent::GameStarted`] may be repeated (each reconnection repeats it); the daemon opens a game once.
//! 5. A game is opened by [`AccountCommand::OpenGame`]. The client answers at once with a [`GameLink`] and then keeps the
//!    game's stream alive by itself, sending `Full` after each reconnection, until the terminal event or until the daemon
//!    drops the link. Closing `GameLink::events` without a terminal event means that the platform does not know the game or
//!    that it is not ours: the client logs the reason and sends [`GameEvent::Ended`](crate::game::GameEvent) first whenever it can tell.
//! 6. Queues are bounded. A game event is never dropped: when the daemon does not take events in time the client closes its own stream and
//!    sends a fresh `Full` later. Chat of the game may be dropped.
//! 7. Commands that are still queued when the daemon drops a link are sent before the stream is left (a last greeting, a
//!    resignation), within the limits of their own deadlines.
//! 8. Everything is stamped with the instant at which the bytes arrived.

pub mod backoff;
pub mod call;
pub mod error;
pub mod fics;
pub mod governor;
pub mod http;
pub mod lichess;
pub mod ndjson;
pub mod pychess;
pub mod verdict;

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::game::{
    GameCapabilities, GameCommand, GameEnd, GameEvent, GameId, GameSource, PlayerName,
};
use crate::lobby::{
    Challenge, ChallengeId, ChallengeRefusal, ChallengeRequest, DeclineReason, LobbyCapabilities,
    OnlineBot, RequestId,
};
use crate::rules::Color;

/// Events of one account that may wait for the daemon.
pub const ACCOUNT_EVENT_QUEUE: usize = 256;
/// Commands of one account that may wait for the client.
pub const ACCOUNT_COMMAND_QUEUE: usize = 64;
/// Events of one game that may wait for its session.
pub const GAME_EVENT_QUEUE: usize = 64;
/// Commands of one game that may wait for the client.
pub const GAME_COMMAND_QUEUE: usize = 32;

/// Something with the instant at which its bytes arrived from the network.
#[derive(Debug, Clone)]
pub struct Received<T> {
    /// Arrival.
    pub at: Instant,
    /// What arrived.
    pub event: T,
}

impl<T> Received<T> {
    /// Stamps an event with the present.
    pub fn now(event: T) -> Self {
        Self {
            at: Instant::now(),
            event,
        }
    }
}

/// One account's two queues, seen from the daemon.
#[derive(Debug)]
pub struct AccountLink {
    /// What happened outside games. Bound: [`ACCOUNT_EVENT_QUEUE`].
    pub events: mpsc::Receiver<Received<AccountEvent>>,
    /// What we want. Bound: [`ACCOUNT_COMMAND_QUEUE`]. Dropping it ends the client.
    pub commands: mpsc::Sender<AccountCommand>,
}

/// The client's ends of an [`AccountLink`].
#[derive(Debug)]
pub struct AccountPort {
    /// Where events go.
    pub events: mpsc::Sender<Received<AccountEvent>>,
    /// Where commands come from.
    pub commands: mpsc::Receiver<AccountCommand>,
}

/// Makes both ends of an account's queues.
pub fn account_channel() -> (AccountLink, AccountPort) {
    let (event_tx, event_rx) = mpsc::channel(ACCOUNT_EVENT_QUEUE);
    let (command_tx, command_rx) = mpsc::channel(ACCOUNT_COMMAND_QUEUE);
    (
        AccountLink {
            events: event_rx,
            commands: command_tx,
        },
        AccountPort {
            events: event_tx,
            commands: command_rx,
        },
    )
}

/// One game's two queues, seen from the daemon.
#[derive(Debug)]
pub struct GameLink {
    /// What happened in the game. Bound: [`GAME_EVENT_QUEUE`].
    pub events: mpsc::Receiver<Received<GameEvent>>,
    /// What we want sent. Bound: [`GAME_COMMAND_QUEUE`]. Dropping it leaves the game's stream.
    pub commands: mpsc::Sender<GameCommand>,
}

/// The client's ends of a [`GameLink`].
#[derive(Debug)]
pub struct GamePort {
    /// Where events go.
    pub events: mpsc::Sender<Received<GameEvent>>,
    /// Where commands come from.
    pub commands: mpsc::Receiver<GameCommand>,
}

/// Makes both ends of a game's queues.
pub fn game_channel() -> (GameLink, GamePort) {
    let (event_tx, event_rx) = mpsc::channel(GAME_EVENT_QUEUE);
    let (command_tx, command_rx) = mpsc::channel(GAME_COMMAND_QUEUE);
    (
        GameLink {
            events: event_rx,
            commands: command_tx,
        },
        GamePort {
            events: event_tx,
            commands: command_rx,
        },
    )
}

/// What happened to an account outside games.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountEvent {
    /// Logged in; live events follow the next [`AccountEvent::Reconciled`].
    Online {
        /// Our own name as the platform spells it.
        name: PlayerName,
        /// The platform lists us as a program.
        is_bot: bool,
    },
    /// The platform's own lists, right after `Online` or on [`AccountCommand::Reconcile`].
    Reconciled(Snapshot),
    /// The connection is lost; the client is on its way back.
    Offline {
        /// Why, for log and status.
        words: String,
        /// When it will try again.
        retry_in: Duration,
    },
    /// Somebody challenged us, or the platform showed a challenge of ours.
    Challenged(Box<Challenge>),
    /// A challenge was withdrawn or lapsed, whoever made it.
    ChallengeCanceled(ChallengeId),
    /// A challenge was declined; also comes for our own declining.
    ChallengeDeclined {
        /// Which.
        id: ChallengeId,
        /// Why, as far as the platform translates it.
        reason: DeclineReason,
    },
    /// Our challenge exists.
    ChallengeCreated {
        /// Our number.
        request: RequestId,
        /// The platform's view of it; `rated` may differ from what was asked.
        challenge: Box<Challenge>,
    },
    /// Our challenge was not created.
    ChallengeRefused {
        /// Our number.
        request: RequestId,
        /// Why.
        refusal: ChallengeRefusal,
    },
    /// An accept of ours did not work (404, 400, retries used up): the slot is free again.
    AcceptFailed {
        /// Which.
        id: ChallengeId,
        /// The platform's words.
        words: String,
        /// An allowance is used up for this long (the bot-games limit is checked on accept as well).
        our_budget: Option<Duration>,
    },
    /// A game of ours is on. Repeated after reconnections.
    GameStarted(GameNotice),
    /// A game of ours is over. Repeated or lost, so nothing may depend on it alone.
    GameFinished {
        /// Which.
        id: GameId,
        /// How, if the platform says it here.
        end: Option<GameEnd>,
    },
    /// Answer to [`AccountCommand::ListBots`]; `None` = could not be fetched.
    BotsOnline(Option<Vec<OnlineBot>>),
    /// The platform limits us; the governor obeys by itself, this is for decisions and status.
    Limited {
        /// What must rest.
        scope: LimitScope,
        /// For how long from now.
        rest: Duration,
        /// The platform's words or key.
        words: String,
    },
    /// A private message (FICS tells: the owner's commands).
    Told {
        /// Who.
        from: PlayerName,
        /// What.
        text: String,
    },
}

/// What a limit of the platform covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LimitScope {
    /// All requests but moves and game control.
    Everything,
    /// New challenges of ours.
    Challenges,
    /// Games against bots, whoever challenges.
    BotGames,
}

/// The platform's own lists of what concerns us.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// Games running, most urgent first where the platform orders them.
    pub games: Vec<GameNotice>,
    /// True if `games` is the whole truth; false where a platform's list proves nothing (PyChess).
    pub games_complete: bool,
    /// Challenges to us that wait for an answer.
    pub incoming: Vec<Challenge>,
    /// Challenges of ours that wait for an answer.
    pub outgoing: Vec<Challenge>,
    /// True if both challenge lists are the whole truth.
    pub challenges_complete: bool,
    /// Opponents with an adjourned game (FICS).
    pub adjourned: Vec<PlayerName>,
}

/// That a game of ours is on. Only the id is sure: PyChess tells nothing more before the game's stream is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameNotice {
    /// Which.
    pub id: GameId,
    /// The challenge it came from, where the platform's ids tell.
    pub challenge: Option<ChallengeId>,
    /// Our colour.
    pub color: Option<Color>,
    /// Who sits opposite.
    pub opponent: Option<crate::game::Player>,
    /// How it came about.
    pub source: GameSource,
    /// We are to move.
    pub our_turn: Option<bool>,
    /// Time on our clock, for opening the most urgent game first.
    pub our_time: Option<Duration>,
    /// False where the platform marks the game as closed to bots: it is not opened, since nothing could be done in it. A game
    /// that we do not understand is opened, so that the session can leave it.
    pub playable: bool,
}

/// A client that the daemon let go of has this long to get out what was asked for last and to end. The daemon waits a little
/// longer before it cuts a client off.
pub const FAREWELL_MAX: Duration = Duration::from_secs(8);

/// What we want done outside games.
#[derive(Debug)]
pub enum AccountCommand {
    /// Open a game's stream. The answer comes at once; the first `Full` when the platform sends it.
    OpenGame {
        /// Which.
        id: GameId,
        /// Where the link goes. Dropped unanswered only if the client is ending.
        reply: oneshot::Sender<GameLink>,
    },
    /// Accept a challenge. Retried within its lifetime; failure comes as [`AccountEvent::AcceptFailed`].
    Accept(ChallengeId),
    /// Decline a challenge. Best effort.
    Decline {
        /// Which.
        id: ChallengeId,
        /// Why.
        reason: DeclineReason,
    },
    /// Withdraw a challenge of ours. Advisory: a game may start all the same.
    Cancel(ChallengeId),
    /// Send a challenge. Answered by `ChallengeCreated` or `ChallengeRefused`, and never repeated blindly.
    Create(ChallengeRequest),
    /// Ask for the bots that are online.
    ListBots,
    /// Fetch the platform's lists again.
    Reconcile,
    /// Send a private message (FICS). Best effort.
    Tell {
        /// To whom.
        to: PlayerName,
        /// What.
        text: String,
    },
    /// Offer to resume an adjourned game (FICS).
    Resume(PlayerName),
    /// Stop inviting: withdraw seeks, answer nothing new. Running games go on.
    Quiesce,
}

/// What a platform can do, stated by its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Inside games.
    pub game: GameCapabilities,
    /// Outside games.
    pub lobby: LobbyCapabilities,
}

/// Why a client's future returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientEnd {
    /// The daemon dropped the link.
    Asked,
    /// The platform will not have us: bad token, missing permission, closed account, kicked by another session.
    Stopped {
        /// What the operator must know; never contains a secret.
        words: String,
    },
}
