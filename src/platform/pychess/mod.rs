//! Client of PyChess, the public server and everybody's own one.
//!
//! PyChess looks like Lichess from afar and differs in everything that matters: capabilities travel in a header, streams ping in JSON,
//! clocks mix seconds and milliseconds, answers of 200 prove nothing, ends come without a result, and one move too many loses
//! the game. So it is a client of its own; `docs/pychess.md` lists the differences for users.
//!
//! - [`wire`], [`request`], [`page`]: the server's words.
//! - [`translate`]: the only file with both vocabularies; pure.
//! - [`track`]: a game replayed by our rules.
//! - `listener` keeps the account's stream, `game` one game's, `answers` answers challenges, `client` puts them together.

mod answers;
mod client;
mod game;
mod listener;
pub mod page;
pub mod request;
pub mod track;
pub mod translate;
pub mod wire;

use std::future::Future;
use std::time::Duration;

use secrecy::SecretString;

use super::backoff::BackoffConfig;
use super::governor::{BudgetRule, BudgetScope, GovernorConfig};
use super::http::Origin;
use super::{AccountLink, Capabilities, ClientEnd, account_channel};
use crate::game::GameCapabilities;
use crate::lobby::LobbyCapabilities;
use crate::rules::{CastlingMode, Variant};

/// Address of the public server.
pub const DEFAULT_BASE_URL: &str = "https://www.pychess.org";
/// Budget of game pages, which the server limits per address: 45 in 30 s.
pub const PAGE_BUDGET: &str = "pages";
/// Longest line of chat the client sends.
const CHAT_CHARS_MAX: usize = 140;

/// One account.
#[derive(Clone, Debug)]
pub struct PychessConfig {
    /// The account's name in the configuration; unique on its origin.
    pub account: String,
    /// Its token, from the page `/account/bot` or from the operator of a server of one's own.
    pub token: SecretString,
    /// What challengers are offered. By default all that our rules and the server have in common; see [`variant_named`].
    pub variants: Vec<(Variant, CastlingMode)>,
    /// Product and version for the user agent.
    pub product: String,
    /// Waits and deadlines.
    pub timing: Timing,
}

impl PychessConfig {
    /// An account with defaults for everything but its name and its token.
    #[must_use]
    pub fn new(account: impl Into<String>, token: SecretString) -> PychessConfig {
        PychessConfig {
            account: account.into(),
            token,
            variants: translate::all(),
            product: concat!("seneschal/", env!("CARGO_PKG_VERSION")).to_owned(),
            timing: Timing::default(),
        }
    }
}

/// The variant of one of the server's names (`crazyhouse`, `capablanca960`, `standard`), if our rules have it.
#[must_use]
pub fn variant_named(name: &str) -> Option<(Variant, CastlingMode)> {
    let wanted = if name == "standard" { "chess" } else { name };
    translate::all()
        .into_iter()
        .find(|(variant, mode)| translate::list_name(*variant, *mode) == Some(wanted))
}

/// Waits and deadlines. The defaults come from what the server was seen to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A stream without a byte for this long is dead. The server pings every 6 s.
    pub silence: Duration,
    /// A game's stream that shows no game for this long after its head is locked by its predecessor.
    pub first_line: Duration,
    /// Wait before such a stream is opened again. The server's lock lasts up to one ping.
    pub locked: Duration,
    /// An accepted challenge that has not become a game for this long never will.
    pub never_started: Duration,
    /// Deadline of one request.
    pub request: Duration,
    /// A move that was taken shows on the stream within this time.
    pub echo: Duration,
    /// After a request without an answer nothing is concluded for this long: it may still be under way.
    pub settle: Duration,
    /// Pause before an account's stream is opened again that we closed ourselves: until the server notices, the old stream swallows
    /// events.
    pub quiet: Duration,
    /// One round through the public lists of running games.
    pub poll: Duration,
    /// Challenges this soon after connecting count as old.
    pub replay: Duration,
    /// Least time between two looks at a game's page for the same reason.
    pub look_gap: Duration,
    /// How long a game's task serves chat after the end.
    pub linger: Duration,
    /// A challenge is worth answering for this long. The server keeps it for a day; the human behind it looks at the screen for less.
    pub challenge_lifetime: Duration,
    /// Waits between attempts to connect.
    pub backoff: BackoffConfig,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            silence: Duration::from_secs(20),
            first_line: Duration::from_secs(2),
            locked: Duration::from_secs(2),
            never_started: Duration::from_secs(10),
            request: Duration::from_secs(8),
            echo: Duration::from_secs(3),
            settle: Duration::from_secs(2),
            quiet: Duration::from_secs(7),
            poll: Duration::from_secs(45),
            replay: Duration::from_millis(1500),
            look_gap: Duration::from_millis(700),
            linger: Duration::from_secs(8),
            challenge_lifetime: Duration::from_secs(60),
            backoff: BackoffConfig {
                base: Duration::from_millis(500),
                ..BackoffConfig::default()
            },
        }
    }
}

/// The governor's allowances for a PyChess server: only game pages are limited, and reading may overlap.
#[must_use]
pub fn governor_config() -> GovernorConfig {
    GovernorConfig {
        rules: vec![BudgetRule::new(
            PAGE_BUDGET,
            BudgetScope::Origin,
            40,
            Duration::from_secs(30),
        )],
        calm_in_flight: 4,
        ..GovernorConfig::default()
    }
}

/// What the platform can do.
#[must_use]
pub fn capabilities(config: &PychessConfig) -> Capabilities {
    Capabilities {
        game: GameCapabilities {
            draw_offers: false,
            draw_offer_with_move: false,
            takeback_requests: false,
            takebacks_unannounced: true,
            claims_when_opponent_gone: false,
            flag_calls: false,
            abort_and_adjourn_requests: false,
            // The server would abort at any time; a fair player does so before both have moved.
            abort_before_ply: 2,
            untimed_plies: 2,
            min_move_overhead: Duration::from_millis(200),
            chat_max_chars: CHAT_CHARS_MAX,
            chat_gap: Duration::from_secs(2),
            spectator_chat: true,
            max_plies: Some(translate::PLIES_MAX),
        },
        lobby: LobbyCapabilities {
            create_challenges: false,
            list_bots: false,
            seeks: false,
            rated_games: false,
            challenge_lifetime: config.timing.challenge_lifetime,
            tells_withdrawals: false,
            lists_running_games: false,
            variants: config.variants.clone(),
            bot_games_per_day: None,
            challenges_per_minute: None,
            challenges_per_day: None,
            challenge_cost: (0, 0),
        },
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

/// Builds the client of one account. Nothing happens until the future is polled; the caller owns and joins it.
pub fn connect(
    config: PychessConfig,
    shared: Shared,
) -> (
    AccountLink,
    impl Future<Output = ClientEnd> + Send + 'static,
) {
    let (link, port) = account_channel();
    (link, client::run(config, shared, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_common_variants_are_the_default() {
        let config = PychessConfig::new("steward", SecretString::from("canary_1f"));
        assert!(
            config
                .variants
                .contains(&(Variant::Capahouse, CastlingMode::Chess960))
        );
        assert!(
            !config
                .variants
                .iter()
                .any(|(variant, _)| matches!(variant, Variant::Suicide | Variant::Losers))
        );
        let header = translate::capabilities(&config.variants).header().unwrap();
        assert!(
            header.contains("\"capablanca\",\"capablanca960\""),
            "{header}"
        );
        for two_boards in ["bughouse", "supply", "makbug"] {
            assert!(!header.contains(two_boards), "{header}");
        }
        assert!(!format!("{config:?}").contains("canary"));
    }

    #[test]
    fn variants_by_the_servers_names() {
        assert_eq!(
            variant_named("standard"),
            Some((Variant::Chess, CastlingMode::Standard))
        );
        assert_eq!(
            variant_named("crazyhouse960"),
            Some((Variant::Crazyhouse, CastlingMode::Chess960))
        );
        for unknown in ["bughouse", "suicide", "racingkings960", "Crazyhouse", ""] {
            assert_eq!(variant_named(unknown), None, "{unknown}");
        }
    }
}
