//! Client of Lichess, and of every server with its Bot interface (a house of ours among them).
//!
//! - `wire`: the platform's messages, word for word.
//! - `translate`: between them and our words; pure.
//! - `api`: the endpoints with their importance and cost.
//! - `client`: the actor of one account; `events` keeps its event stream, `lobby` carries out what concerns challenges and
//!   lists, `game` is the actor of one game.
//!
//! The platform's stream is the truth: an answer of 200 to a move proves nothing, an end of a stream proves nothing, and a
//! request without an answer is repeated only after the state has been read again.

mod api;
mod client;
mod events;
mod game;
#[cfg(test)]
mod hostile;
mod identity;
mod lobby;
mod translate;
mod wire;

use std::future::Future;
use std::time::Duration;

use secrecy::SecretString;

pub use self::api::governor_config;
pub use self::identity::{Identity, identify};
use super::http::Origin;
use super::{AccountLink, Capabilities, ClientEnd, account_channel};
use crate::game::GameCapabilities;
use crate::lobby::LobbyCapabilities;
use crate::rules::{CastlingMode, Variant};

/// Address of the public server.
pub const DEFAULT_BASE_URL: &str = "https://lichess.org";

/// Which server speaks the interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Server {
    /// Lichess itself, public or self-hosted: its variants only.
    #[default]
    Lichess,
    /// A house: every variant of ours.
    House,
}

/// One account.
#[derive(Clone, Debug)]
pub struct LichessConfig {
    /// The account's name in the configuration; unique on its origin.
    pub account: String,
    /// Its token. Needs the permission `bot:play`; with `challenge:read` reconciliation sees challenges too.
    pub token: SecretString,
    /// Which server.
    pub server: Server,
    /// The user that the token must belong to; `None` accepts any.
    pub expected_user: Option<String>,
    /// Product and version for the user agent, without the user's name, which the client adds.
    pub product: String,
    /// Turn a new account into a bot account. Cannot be undone, so it happens only on request.
    pub upgrade_to_bot: bool,
    /// Tournaments to enter after the first reconciliation, if they allow bots.
    pub tournaments: Vec<Tournament>,
    /// Waiting times.
    pub timing: Timing,
}

impl LichessConfig {
    /// An account with defaults for everything but its name and its token.
    #[must_use]
    pub fn new(account: impl Into<String>, token: SecretString) -> LichessConfig {
        LichessConfig {
            account: account.into(),
            token,
            server: Server::Lichess,
            expected_user: None,
            product: concat!("seneschal/", env!("CARGO_PKG_VERSION")).to_owned(),
            upgrade_to_bot: false,
            tournaments: Vec::new(),
            timing: Timing::default(),
        }
    }
}

/// A tournament to enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tournament {
    /// The platform's id.
    pub id: String,
    /// The team to play for, where the tournament asks for one.
    pub team: Option<String>,
}

/// Waiting times of the client. The defaults fit the public server, which shows life every seven seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A stream without a byte for this long is dead.
    pub silence: Duration,
    /// A stream without a complete line for this long is dead.
    pub line_deadline: Duration,
    /// Longest pause between attempts to open a game's stream.
    pub game_backoff_cap: Duration,
    /// Longest pause between attempts to open the event stream.
    pub event_backoff_cap: Duration,
    /// Deadline of a move, if the clock allows that much.
    pub move_deadline: Duration,
    /// First pause after a 429 on a move that does not say how long; then twice and four times as long.
    pub move_pause: Duration,
    /// A real-time challenge lives this long without its challenger.
    pub challenge_lifetime: Duration,
    /// A challenge known for longer than this is looked at again before it is accepted.
    pub challenge_fresh: Duration,
    /// A report that the opponent left is repeated every few seconds; without a repetition for this long it is void.
    pub absence_lapses: Duration,
    /// How long a game's actor serves chat after the end.
    pub linger: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            silence: Duration::from_secs(20),
            line_deadline: Duration::from_secs(30),
            game_backoff_cap: Duration::from_secs(4),
            event_backoff_cap: Duration::from_secs(30),
            move_deadline: Duration::from_secs(5),
            move_pause: Duration::from_secs(1),
            challenge_lifetime: Duration::from_secs(20),
            challenge_fresh: Duration::from_secs(15),
            absence_lapses: Duration::from_secs(15),
            linger: Duration::from_secs(8),
        }
    }
}

impl Timing {
    fn frames(&self) -> super::ndjson::FrameConfig {
        super::ndjson::FrameConfig {
            silence: self.silence,
            line_deadline: self.line_deadline,
            // The longest line that is no mistake is the list of 600 moves.
            max_line_bytes: 64 * 1024,
            ..super::ndjson::FrameConfig::default()
        }
    }
}

/// What the client needs from outside.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The server, with the governor that all its accounts share: see [`governor_config`].
    pub origin: Origin,
    /// Seed of the jitter in waiting times.
    pub seed: u64,
}

/// What the platform can do.
#[must_use]
pub fn capabilities(config: &LichessConfig) -> Capabilities {
    let played = |(variant, mode): &(Variant, CastlingMode)| {
        config.server == Server::House || variant.lichess_key(*mode).is_some()
    };
    let variants = Variant::ALL
        .into_iter()
        .flat_map(|variant| {
            [
                (variant, CastlingMode::Standard),
                (variant, CastlingMode::Chess960),
            ]
        })
        .filter(|(variant, mode)| *mode == CastlingMode::Standard || variant.supports_chess960())
        .filter(played);
    let limited = config.server == Server::Lichess;
    let (per_minute, per_day) = api::CHALLENGE_CREDIT_LIMITS;
    Capabilities {
        game: GameCapabilities {
            draw_offers: true,
            draw_offer_with_move: true,
            takeback_requests: true,
            takebacks_unannounced: false,
            claims_when_opponent_gone: true,
            flag_calls: false,
            abort_and_adjourn_requests: false,
            abort_before_ply: 2,
            untimed_plies: 2,
            min_move_overhead: Duration::from_millis(20),
            chat_max_chars: translate::outgoing::CHAT_MAX_CHARS,
            // The platform drops the fifth line within ten seconds.
            chat_gap: Duration::from_millis(2600),
            spectator_chat: true,
            max_plies: Some(600),
        },
        lobby: LobbyCapabilities {
            create_challenges: true,
            list_bots: true,
            seeks: false,
            rated_games: true,
            challenge_lifetime: config.timing.challenge_lifetime,
            tells_withdrawals: true,
            lists_running_games: true,
            variants: variants.collect(),
            bot_games_per_day: limited.then_some(100),
            challenges_per_minute: limited.then_some(per_minute),
            challenges_per_day: limited.then_some(per_day),
            challenge_cost: api::CHALLENGE_COST,
        },
    }
}

/// Builds the client of one account. Nothing happens until the future is polled; the caller owns and joins it.
pub fn connect(
    config: LichessConfig,
    shared: Shared,
) -> (
    AccountLink,
    impl Future<Output = ClientEnd> + Send + 'static,
) {
    let (link, port) = account_channel();
    (link, client::run(config, shared, port))
}
