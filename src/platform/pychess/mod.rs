//! Client of PyChess, the public server and everybody's own one.
//!
//! PyChess looks like Lichess from afar and differs in everything that matters: capabilities travel in a header, streams ping in JSON,
//! clocks mix seconds and milliseconds, answers of 200 prove nothing, ends come without a result, and one move too many loses
//! the game. So it is a client of its own; `docs/pychess.md` lists the differences for users.
//!
//! - [`wire`], [`request`], [`page`]: the server's words.
//! - [`translate`]: the only file with both vocabularies; pure.
//! - [`track`]: a game replayed by our rules.
//! - [`listener`] keeps the account's stream, [`game`] one game's, [`answers`] answers challenges, [`client`] puts them together.

pub mod answers;
pub mod client;
pub mod game;
pub mod listener;
pub mod page;
pub mod request;
pub mod track;
pub mod translate;
pub mod wire;

use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

use super::backoff::BackoffConfig;
use super::governor::{BudgetRule, BudgetScope, GovernorConfig};
use super::http::{HttpClient, Origin, SetupError};
use super::{AccountLink, Capabilities, ClientEnd, account_channel};
use crate::game::GameCapabilities;
use crate::lobby::LobbyCapabilities;
use crate::rules::{CastlingMode, Variant};

/// The public server.
pub const PUBLIC_SERVER: &str = "https://www.pychess.org";
/// Budget of game pages, which the server limits per address: 45 in 30 s.
pub const PAGE_BUDGET: &str = "pages";
/// Longest line of chat the client sends. The server has no limit of its own; its web page cuts at this length.
const CHAT_CHARS_MAX: usize = 140;

/// One account on one PyChess server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PychessConfig {
    /// Address of the server; plain `http` only on the loopback interface. Default: the public server.
    #[serde(default = "public_server")]
    pub base_url: String,
    /// The bot's token.
    pub token: SecretString,
    /// Variants offered to challengers, by the names of the server (`crazyhouse`, `capablanca960`); empty = all that our rules
    /// and the server have in common.
    #[serde(default)]
    pub variants: Vec<String>,
    /// Waits and deadlines.
    #[serde(default)]
    pub timing: Timing,
}

fn public_server() -> String {
    PUBLIC_SERVER.to_owned()
}

/// Waits and deadlines. The defaults come from what the server was seen to do; tests shorten them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timing {
    /// Longest silence of a stream, in milliseconds. The server pings every 6 s.
    pub silence_ms: u64,
    /// A game's stream that shows no game for this long after its head is locked by its predecessor, in milliseconds.
    pub first_line_ms: u64,
    /// Wait before such a stream is opened again, in milliseconds. The server's lock lasts up to one ping, 6 s.
    pub locked_ms: u64,
    /// An accepted challenge that has not become a game for this long never will, in milliseconds.
    pub never_started_ms: u64,
    /// Deadline of one request, in milliseconds.
    pub request_ms: u64,
    /// A move that was taken shows on the stream within this time, in milliseconds.
    pub echo_ms: u64,
    /// After a request without an answer nothing is concluded for this long, in milliseconds: it may still be under way.
    pub settle_ms: u64,
    /// Pause before an account's stream is opened again that we closed ourselves, in milliseconds: until the server notices, the old
    /// stream swallows events.
    pub quiet_ms: u64,
    /// One round through the public lists of running games, in milliseconds.
    pub poll_ms: u64,
    /// Challenges this soon after connecting count as old, in milliseconds.
    pub replay_ms: u64,
    /// Shortest wait between attempts to connect, in milliseconds.
    pub backoff_base_ms: u64,
    /// Longest wait between attempts to connect, in milliseconds.
    pub backoff_cap_ms: u64,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            silence_ms: 20_000,
            first_line_ms: 2_000,
            locked_ms: 2_000,
            never_started_ms: 10_000,
            request_ms: 8_000,
            echo_ms: 3_000,
            settle_ms: 2_000,
            quiet_ms: 7_000,
            poll_ms: 45_000,
            replay_ms: 1_500,
            backoff_base_ms: 500,
            backoff_cap_ms: 30_000,
        }
    }
}

impl Timing {
    fn backoff(&self) -> BackoffConfig {
        BackoffConfig {
            base: Duration::from_millis(self.backoff_base_ms),
            cap: Duration::from_millis(self.backoff_cap_ms),
            healthy_after: Duration::from_secs(60),
        }
    }
}

/// Why an account cannot be set up. Never contains a secret.
#[derive(Debug, thiserror::Error)]
pub enum PychessError {
    /// Address, token or transport.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A name in `variants` that the server or our rules do not have.
    #[error("PyChess variant {0:?} is unknown to the server or to our rules")]
    Variant(String),
    /// Too many variants for the server's header, or none.
    #[error(transparent)]
    Capabilities(#[from] wire::CapabilitiesError),
}

impl PychessConfig {
    /// The variants offered to challengers.
    ///
    /// # Errors
    /// [`PychessError::Variant`] with the first unknown name.
    pub fn enabled(&self) -> Result<Vec<(Variant, CastlingMode)>, PychessError> {
        let all = translate::all();
        if self.variants.is_empty() {
            return Ok(all);
        }
        let find = |name: &String| {
            let wanted = if name == "standard" { "chess" } else { name };
            all.iter()
                .copied()
                .find(|(variant, mode)| translate::list_name(*variant, *mode) == Some(wanted))
                .ok_or_else(|| PychessError::Variant(name.clone()))
        };
        self.variants.iter().map(find).collect()
    }
}

/// The governor's allowances for a PyChess server: only game pages are limited, and reading may overlap.
#[must_use]
pub fn governor_config() -> GovernorConfig {
    GovernorConfig {
        rules: vec![BudgetRule::new(PAGE_BUDGET, BudgetScope::Origin, 40, Duration::from_secs(30))],
        calm_in_flight: 4,
        ..GovernorConfig::default()
    }
}

/// What PyChess lets a bot do.
///
/// # Errors
/// [`PychessError::Variant`] for a configured name that nobody knows.
pub fn capabilities(config: &PychessConfig) -> Result<Capabilities, PychessError> {
    Ok(Capabilities {
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
            // The server keeps a challenge for a day; the human behind it looks at the screen for a minute.
            challenge_lifetime: Duration::from_secs(60),
            tells_withdrawals: false,
            lists_running_games: false,
            variants: config.enabled()?,
            bot_games_per_day: None,
            challenges_per_minute: None,
            challenges_per_day: None,
            challenge_cost: (0, 0),
        },
    })
}

/// What a client needs from outside.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The server's connections and allowances ([`governor_config`]), shared by all accounts there.
    pub origin: Origin,
    /// The account's name in logs and in the governor's books.
    pub account: String,
    /// What we call ourselves in requests.
    pub user_agent: String,
    /// Seed for jitter.
    pub seed: u64,
}

/// Starts a client: the queues for the daemon and the future that the daemon must drive.
///
/// # Errors
/// [`PychessError`] if the configuration cannot work.
pub fn connect(
    config: PychessConfig,
    shared: Shared,
) -> Result<(AccountLink, impl Future<Output = ClientEnd> + Send + 'static), PychessError> {
    let enabled = config.enabled()?;
    let header = translate::capabilities(&enabled).header()?;
    let http = HttpClient::new(shared.origin, &shared.account, &shared.user_agent, Some(&config.token))?;
    let lists = enabled.iter().filter_map(|(variant, mode)| translate::list_name(*variant, *mode)).collect();
    let (link, port) = account_channel();
    let setup = client::ClientSetup { http, header, lists, timing: config.timing, seed: shared.seed };
    Ok((link, client::Client::new(setup, port).run()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variants: &[&str]) -> PychessConfig {
        PychessConfig {
            base_url: public_server(),
            token: SecretString::from("canary_1f"),
            variants: variants.iter().map(|name| (*name).to_owned()).collect(),
            timing: Timing::default(),
        }
    }

    #[test]
    fn all_common_variants_are_the_default() {
        let enabled = config(&[]).enabled().unwrap();
        assert!(enabled.contains(&(Variant::Capahouse, CastlingMode::Chess960)));
        assert!(!enabled.iter().any(|(variant, _)| matches!(variant, Variant::Suicide | Variant::Losers)));
        let header = translate::capabilities(&enabled).header().unwrap();
        assert!(header.contains("\"capablanca\",\"capablanca960\""), "{header}");
        assert!(!header.contains("bughouse"), "{header}");
    }

    #[test]
    fn chosen_variants_are_checked() {
        let enabled = config(&["standard", "crazyhouse960"]).enabled().unwrap();
        assert_eq!(enabled, [(Variant::Chess, CastlingMode::Standard), (Variant::Crazyhouse, CastlingMode::Chess960)]);
        let refused = config(&["crazyhouse", "bughouse"]).enabled().unwrap_err();
        assert_eq!(refused.to_string(), "PyChess variant \"bughouse\" is unknown to the server or to our rules");
    }

    #[test]
    fn the_token_is_not_in_the_debug_form() {
        assert!(!format!("{:?}", config(&[])).contains("canary"));
    }
}
