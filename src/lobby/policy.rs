//! Whom we play: the sections `[lobby]` and `[matchmaking]` of the configuration.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::game::policy::{Problem, check_range};
use crate::game::words::seconds;
use crate::game::{Speed, TimeControl};
use crate::rules::{CastlingMode, Variant};

/// Section `[lobby]`: slots and admission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LobbyPolicy {
    /// Games at a time, all accounts together. 1 to 512.
    pub max_games: u32,
    /// Of these, slots that bots may not take. 0 to `max_games`.
    pub reserved_for_humans: u32,
    /// Games beyond `max_games` that are played if they start unexpectedly; more are aborted. 0 to 64.
    pub overcommit: u32,
    /// Games with the same opponent at a time. 1 to 64.
    pub max_games_per_opponent: u32,
    /// Games with the same bot in 24 hours, whoever challenged; 0 = no bound.
    pub max_bot_games_per_opponent_per_day: u32,
    /// Games with the same opponent in a row, by any rematch; after them he rests. 0 = no bound, to 1000.
    pub max_games_in_a_row: u32,
    /// How long. 0 to 86400 s.
    #[serde(rename = "rest_after_row_s", with = "seconds")]
    pub rest_after_row: Duration,
    /// A challenge that is welcome but finds no slot waits so long before it is declined. 0 to 60 s.
    #[serde(rename = "queue_s", with = "seconds")]
    pub queue: Duration,
    /// A slot that was promised to a game falls free if the game does not start within this time. 5 to 120 s.
    #[serde(rename = "lease_s", with = "seconds")]
    pub lease: Duration,
    /// Which challenges are accepted.
    pub accept: AcceptPolicy,
}

impl Default for LobbyPolicy {
    fn default() -> Self {
        Self {
            max_games: 4,
            reserved_for_humans: 0,
            overcommit: 2,
            max_games_per_opponent: 1,
            max_bot_games_per_opponent_per_day: 0,
            max_games_in_a_row: 0,
            rest_after_row: Duration::from_secs(600),
            queue: Duration::from_secs(15),
            lease: Duration::from_secs(25),
            accept: AcceptPolicy::default(),
        }
    }
}

/// Section `[lobby.accept]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AcceptPolicy {
    /// Accept challenges at all.
    pub enabled: bool,
    /// Variants by their UCI names; `960` behind a name means its Chess960 form.
    pub variants: Vec<String>,
    /// Accept custom first positions.
    pub custom_positions: bool,
    /// Speeds.
    pub speeds: Vec<Speed>,
    /// Least bank. 0 to 10,800 s.
    #[serde(rename = "min_initial_s", with = "seconds")]
    pub min_initial: Duration,
    /// Largest bank. 0 to 10,800 s.
    #[serde(rename = "max_initial_s", with = "seconds")]
    pub max_initial: Duration,
    /// Least increment. 0 to 180 s.
    #[serde(rename = "min_increment_s", with = "seconds")]
    pub min_increment: Duration,
    /// Largest increment. 0 to 180 s.
    #[serde(rename = "max_increment_s", with = "seconds")]
    pub max_increment: Duration,
    /// Accept games without any clock.
    pub unlimited: bool,
    /// Accept rated games.
    pub rated: bool,
    /// Accept casual games.
    pub casual: bool,
    /// Accept people.
    pub humans: bool,
    /// Accept bots.
    pub bots: bool,
    /// Accept players who are not registered.
    pub guests: bool,
    /// Least rating of the opponent; those without a rating pass.
    pub min_rating: i32,
    /// Largest rating of the opponent.
    pub max_rating: i32,
    /// Accept games that cannot be aborted.
    pub no_abort: bool,
    /// People who wait come before bots who wait.
    pub humans_first: bool,
    /// Never these players.
    pub block: Vec<String>,
    /// These players pass every rule about kind and rating.
    pub allow: Vec<String>,
}

impl Default for AcceptPolicy {
    fn default() -> Self {
        let all = Variant::ALL.into_iter();
        let mut variants: Vec<String> = all.clone().map(|v| v.uci_name().to_owned()).collect();
        let twins = all.filter(|v| v.supports_chess960());
        variants.extend(twins.map(|v| format!("{}960", v.uci_name())));
        Self {
            enabled: true,
            variants,
            custom_positions: false,
            speeds: vec![Speed::Bullet, Speed::Blitz, Speed::Rapid, Speed::Classical],
            min_initial: Duration::ZERO,
            max_initial: Duration::from_secs(3_600),
            min_increment: Duration::ZERO,
            max_increment: Duration::from_secs(60),
            unlimited: false,
            rated: true,
            casual: true,
            humans: true,
            bots: true,
            guests: true,
            min_rating: 0,
            max_rating: 4_000,
            no_abort: false,
            humans_first: true,
            block: Vec::new(),
            allow: Vec::new(),
        }
    }
}

/// Section `[matchmaking]`: challenges of ours to bots that are online.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MatchmakingPolicy {
    /// Challenge at all. An account may say otherwise for itself.
    pub enabled: bool,
    /// Least time between two challenges of an account. 1 to 86,400 s.
    #[serde(rename = "interval_s", with = "seconds")]
    pub interval: Duration,
    /// An unanswered challenge is withdrawn after this time. 5 to 60 s.
    #[serde(rename = "timeout_s", with = "seconds")]
    pub timeout: Duration,
    /// Challenge while the account plays.
    pub while_playing: bool,
    /// An opponent is left alone so long after a game with us. 0 to 2,592,000 s.
    #[serde(rename = "rematch_after_s", with = "seconds")]
    pub rematch_after: Duration,
    /// And so long after declining, doubled each time. 1 to 2,592,000 s.
    #[serde(rename = "decline_rest_s", with = "seconds")]
    pub decline_rest: Duration,
    /// The list of bots online is fetched again after this time. 10 to 3,600 s.
    #[serde(rename = "list_age_s", with = "seconds")]
    pub list_age: Duration,
    /// Games against bots that an account may begin in 24 hours, theirs included; 0 = what the platform allows.
    pub max_bot_games_per_day: u32,
    /// Of these, games left for challenges by others.
    pub bot_games_left_for_others: u32,
    /// Least rating of an opponent.
    pub min_rating: i32,
    /// Largest rating of an opponent.
    pub max_rating: i32,
    /// Never these players.
    pub block: Vec<String>,
    /// If not empty: only these players.
    pub only: Vec<String>,
    /// What to propose, each as often as its weight says.
    pub offers: Vec<Offer>,
}

impl Default for MatchmakingPolicy {
    fn default() -> Self {
        Self {
            enabled: false,
            interval: Duration::from_secs(60),
            timeout: Duration::from_secs(20),
            while_playing: true,
            rematch_after: Duration::from_secs(3_600),
            decline_rest: Duration::from_secs(21_600),
            list_age: Duration::from_secs(300),
            max_bot_games_per_day: 0,
            bot_games_left_for_others: 20,
            min_rating: 0,
            max_rating: 4_000,
            block: Vec::new(),
            only: Vec::new(),
            offers: vec![Offer::default()],
        }
    }
}

/// One entry of `matchmaking.offers`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Offer {
    /// Variant by its UCI name; `960` behind it means its Chess960 form.
    pub variant: String,
    /// Bank and increment in seconds: `180+2`.
    pub clock: String,
    /// For rating or not.
    pub rated: bool,
    /// Relative frequency. 1 to 1,000.
    pub weight: u32,
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            variant: "crazyhouse".to_owned(),
            clock: "180+2".to_owned(),
            rated: true,
            weight: 1,
        }
    }
}

impl Offer {
    /// Variant and castling mode, if the name is one.
    pub fn parsed_variant(&self) -> Option<(Variant, CastlingMode)> {
        parse_variant(&self.variant)
    }

    /// The clock, if it is written as `seconds+seconds`.
    pub fn parsed_clock(&self) -> Option<TimeControl> {
        parse_clock(&self.clock)
    }
}

/// A variant name with an optional `960` behind it.
pub fn parse_variant(name: &str) -> Option<(Variant, CastlingMode)> {
    let (plain, mode) = match name.strip_suffix("960") {
        Some(plain) => (plain, CastlingMode::Chess960),
        None => (name, CastlingMode::Standard),
    };
    let variant = crate::game::words::variant::parse(plain)?;
    (mode == CastlingMode::Standard || variant.supports_chess960()).then_some((variant, mode))
}

/// The name that [`parse_variant`] reads.
pub fn variant_name(variant: Variant, mode: CastlingMode) -> String {
    match mode {
        CastlingMode::Standard => variant.uci_name().to_owned(),
        CastlingMode::Chess960 => format!("{}960", variant.uci_name()),
    }
}

/// `180+2`: seconds of bank and of increment.
pub fn parse_clock(text: &str) -> Option<TimeControl> {
    let (initial, increment) = text.split_once('+')?;
    Some(TimeControl::clock(
        initial.trim().parse().ok()?,
        increment.trim().parse().ok()?,
    ))
}

fn all_variant_names() -> String {
    let names = Variant::ALL.map(|v| match v.supports_chess960() {
        true => format!("{0}, {0}960", v.uci_name()),
        false => v.uci_name().to_owned(),
    });
    names.join(", ")
}

impl LobbyPolicy {
    /// Everything that is out of range, all at once.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let p = &mut found;
        let s = Duration::as_secs_f64;
        check_range(p, "max_games", self.max_games, 1..=512);
        check_range(
            p,
            "reserved_for_humans",
            self.reserved_for_humans,
            0..=self.max_games,
        );
        check_range(p, "overcommit", self.overcommit, 0..=64);
        check_range(
            p,
            "max_games_per_opponent",
            self.max_games_per_opponent,
            1..=64,
        );
        check_range(p, "max_games_in_a_row", self.max_games_in_a_row, 0..=1000);
        let day = 86_400.0;
        check_range(p, "rest_after_row_s", s(&self.rest_after_row), 0.0..=day);
        check_range(p, "queue_s", s(&self.queue), 0.0..=60.0);
        check_range(p, "lease_s", s(&self.lease), 5.0..=120.0);
        let accept = &self.accept;
        for (index, name) in accept.variants.iter().enumerate() {
            if parse_variant(name).is_none() {
                let key = format!("accept.variants[{index}]");
                p.push(Problem::new(key, format!("`{name}`"), all_variant_names()));
            }
        }
        check_range(
            p,
            "accept.min_initial_s",
            s(&accept.min_initial),
            0.0..=10_800.0,
        );
        check_range(
            p,
            "accept.max_initial_s",
            s(&accept.max_initial),
            0.0..=10_800.0,
        );
        check_range(
            p,
            "accept.min_increment_s",
            s(&accept.min_increment),
            0.0..=180.0,
        );
        check_range(
            p,
            "accept.max_increment_s",
            s(&accept.max_increment),
            0.0..=180.0,
        );
        for (key, low, high) in [
            (
                "accept.max_initial_s",
                accept.min_initial,
                accept.max_initial,
            ),
            (
                "accept.max_increment_s",
                accept.min_increment,
                accept.max_increment,
            ),
        ] {
            if low > high {
                p.push(Problem::new(
                    key,
                    s(&high),
                    format!("at least the minimum, {}", s(&low)),
                ));
            }
        }
        if accept.min_rating > accept.max_rating {
            let allowed = format!("at least the minimum, {}", accept.min_rating);
            p.push(Problem::new(
                "accept.max_rating",
                accept.max_rating,
                allowed,
            ));
        }
        found
    }
}

impl MatchmakingPolicy {
    /// Everything that is out of range, all at once.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let p = &mut found;
        let s = Duration::as_secs_f64;
        let month = 2_592_000.0;
        check_range(p, "interval_s", s(&self.interval), 1.0..=86_400.0);
        check_range(p, "timeout_s", s(&self.timeout), 5.0..=60.0);
        check_range(p, "rematch_after_s", s(&self.rematch_after), 0.0..=month);
        check_range(p, "decline_rest_s", s(&self.decline_rest), 1.0..=month);
        check_range(p, "list_age_s", s(&self.list_age), 10.0..=3_600.0);
        if self.min_rating > self.max_rating {
            let allowed = format!("at least the minimum, {}", self.min_rating);
            p.push(Problem::new("max_rating", self.max_rating, allowed));
        }
        for (index, offer) in self.offers.iter().enumerate() {
            let key = |field: &str| format!("offers[{index}].{field}");
            if offer.parsed_variant().is_none() {
                let found = format!("`{}`", offer.variant);
                p.push(Problem::new(key("variant"), found, all_variant_names()));
            }
            match offer.parsed_clock() {
                Some(clock) if allowed_clock(clock) => {}
                _ => {
                    let found = format!("`{}`", offer.clock);
                    p.push(Problem::new(key("clock"), found, CLOCK_WORDS));
                }
            }
            check_range(p, &key("weight"), offer.weight, 1..=1_000);
        }
        found
    }
}

const CLOCK_WORDS: &str = "BANK+INCREMENT in seconds: bank 0, 15, 30, 45, 60, 90 or a multiple of 60 up to 10800, \
     increment 0 to 60, not 0+0";

/// The clocks that a challenge may name on the platforms that take challenges of bots.
fn allowed_clock(clock: TimeControl) -> bool {
    let TimeControl::Clock { initial, increment } = clock else {
        return false;
    };
    let (bank, step) = (initial.as_secs(), increment.as_secs());
    let bank_ok = matches!(bank, 0 | 15 | 30 | 45 | 90) || (bank % 60 == 0 && bank <= 10_800);
    bank_ok && step <= 60 && bank + step > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_within_their_own_ranges() {
        assert_eq!(LobbyPolicy::default().problems(), []);
        assert_eq!(MatchmakingPolicy::default().problems(), []);
    }

    #[test]
    fn a_clock_that_the_server_would_refuse_is_a_problem() {
        let offer = |clock: &str| MatchmakingPolicy {
            offers: vec![Offer {
                clock: clock.to_owned(),
                ..Offer::default()
            }],
            ..MatchmakingPolicy::default()
        };
        for bad in ["100+0", "0+0", "180", "180+61", "10860+0", "a+b"] {
            assert_eq!(offer(bad).problems().len(), 1, "{bad}");
        }
        for good in ["0+1", "15+0", "90+1", "180+2", "10800+60"] {
            assert_eq!(offer(good).problems(), [], "{good}");
        }
    }
}
