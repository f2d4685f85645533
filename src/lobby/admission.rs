//! Which challenges are welcome: one ordered list of named rules, the first that objects decides.
//!
//! Slots are not part of it: a welcome challenge that finds no slot waits. A richer list (rules written by the operator)
//! replaces [`RULES`] and keeps [`Verdict`] and the names.

use crate::game::{Decision, PlayerKind, TimeControl};
use crate::rules::Variant;

use super::challenge::{Challenge, DeclineReason, OfferedVariant};
use super::memory::Memory;
use super::policy::{AcceptPolicy, LobbyPolicy, variant_name};
use super::slots::Slots;
use super::{AccountName, Now};

/// What a rule says about a challenge it objects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// What we tell the other side.
    pub decline: DeclineReason,
    /// Why, for the operator.
    pub reason: String,
    /// What it objects to may be over in a moment: only if it is not, the challenge is declined.
    pub passing: bool,
}

/// Everything a rule may look at.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// Which account was challenged.
    pub account: &'a AccountName,
    /// The challenge.
    pub challenge: &'a Challenge,
    /// The section `[lobby]`.
    pub policy: &'a LobbyPolicy,
    /// Rests and budgets.
    pub memory: &'a Memory,
    /// Slots in use.
    pub slots: &'a Slots,
    /// Games against bots per day that this account may begin; `None` = no bound.
    pub bot_games_per_day: Option<u32>,
    /// We are shutting down.
    pub draining: bool,
    /// Now.
    pub now: Now,
}

/// One rule: a name that does not change, and what it checks.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Dotted name, shown in log and `why`.
    pub name: &'static str,
    /// `None`: no objection.
    pub check: fn(&Case<'_>) -> Option<Objection>,
}

/// What the list says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No rule objects.
    Welcome,
    /// A rule objects.
    Declined {
        /// Its name.
        rule: &'static str,
        /// What it says.
        objection: Objection,
    },
}

/// The rules in their order: first what makes the game impossible, then who, then what, then how much.
pub const RULES: [Rule; 18] = [
    Rule {
        name: "drain",
        check: drain,
    },
    Rule {
        name: "accept.enabled",
        check: enabled,
    },
    Rule {
        name: "platform.playable",
        check: playable,
    },
    Rule {
        name: "accept.block",
        check: blocked,
    },
    Rule {
        name: "opponent.kind",
        check: kind,
    },
    Rule {
        name: "variant.known",
        check: known_variant,
    },
    Rule {
        name: "variant.list",
        check: listed_variant,
    },
    Rule {
        name: "variant.position",
        check: position,
    },
    Rule {
        name: "clock.odds",
        check: odds,
    },
    Rule {
        name: "clock.kind",
        check: clock_kind,
    },
    Rule {
        name: "clock.range",
        check: clock_range,
    },
    Rule {
        name: "clock.speed",
        check: speed,
    },
    Rule {
        name: "rated",
        check: rated,
    },
    Rule {
        name: "opponent.rating",
        check: rating,
    },
    Rule {
        name: "game.no_abort",
        check: no_abort,
    },
    Rule {
        name: "budget.bot_games",
        check: bot_budget,
    },
    Rule {
        name: "opponent.games",
        check: opponent_games,
    },
    Rule {
        name: "opponent.in_a_row",
        check: in_a_row,
    },
];

/// Asks every rule in order. An adjourned game that is to go on passes all but the drain. An objection that may pass counts
/// only where no other rule objects.
pub fn admit(case: &Case<'_>) -> Verdict {
    let rules = RULES
        .iter()
        .filter(|rule| !case.challenge.resumes_adjourned || rule.name == "drain");
    let mut verdict = Verdict::Welcome;
    for rule in rules {
        let Some(objection) = (rule.check)(case) else {
            continue;
        };
        let lasting = !objection.passing;
        if lasting || verdict == Verdict::Welcome {
            verdict = Verdict::Declined {
                rule: rule.name,
                objection,
            };
        }
        if lasting {
            break;
        }
    }
    verdict
}

/// What every rule says, for `seneschal why`.
pub fn explain(case: &Case<'_>) -> Vec<Decision> {
    let words = |rule: &Rule| match (rule.check)(case) {
        None => Decision::new(rule.name, "passes", ""),
        Some(objection) => {
            let verdict = format!("declines as {:?}", objection.decline);
            Decision::new(rule.name, &verdict, objection.reason)
        }
    };
    RULES.iter().map(words).collect()
}

/// Rules for a game that began although nobody asked us, as a rematch does on PyChess.
const UNASKED: [&str; 2] = ["accept.block", "opponent.in_a_row"];

/// What stands against a game that began without a challenge, looking at its opponent only: who may not challenge us gets no
/// game by a rematch either.
pub fn admit_unasked(case: &Case<'_>) -> Verdict {
    let rules = RULES.iter().filter(|rule| UNASKED.contains(&rule.name));
    for rule in rules {
        if let Some(objection) = (rule.check)(case) {
            return Verdict::Declined {
                rule: rule.name,
                objection,
            };
        }
    }
    Verdict::Welcome
}

fn object(decline: DeclineReason, reason: impl Into<String>) -> Option<Objection> {
    Some(Objection {
        decline,
        reason: reason.into(),
        passing: false,
    })
}

fn accept<'a>(case: &Case<'a>) -> &'a AcceptPolicy {
    &case.policy.accept
}

fn names(list: &[String], case: &Case<'_>) -> bool {
    let key = case.challenge.opponent.name.key();
    list.iter().any(|name| name.to_lowercase() == key)
}

fn drain(case: &Case<'_>) -> Option<Objection> {
    case.draining
        .then(|| object(DeclineReason::Later, "the daemon is shutting down"))
        .flatten()
}

fn enabled(case: &Case<'_>) -> Option<Objection> {
    (!accept(case).enabled)
        .then(|| object(DeclineReason::Generic, "challenges are not accepted"))
        .flatten()
}

fn playable(case: &Case<'_>) -> Option<Objection> {
    (!case.challenge.playable)
        .then(|| {
            object(
                DeclineReason::Generic,
                "the platform does not let bots play this game",
            )
        })
        .flatten()
}

fn blocked(case: &Case<'_>) -> Option<Objection> {
    names(&accept(case).block, case)
        .then(|| object(DeclineReason::Generic, "on the list lobby.accept.block"))
        .flatten()
}

fn kind(case: &Case<'_>) -> Option<Objection> {
    let policy = accept(case);
    if names(&policy.allow, case) {
        return None;
    }
    match case.challenge.opponent.kind {
        PlayerKind::Human if !policy.humans => object(DeclineReason::BotsOnly, "no people"),
        PlayerKind::Bot if !policy.bots => object(DeclineReason::NoBots, "no bots"),
        PlayerKind::Guest if !policy.guests => {
            object(DeclineReason::Generic, "no players without an account")
        }
        _ => None,
    }
}

fn known_variant(case: &Case<'_>) -> Option<Objection> {
    match &case.challenge.variant {
        OfferedVariant::Known { .. } => None,
        OfferedVariant::Unknown(name) => object(
            DeclineReason::Variant,
            format!("variant `{}` is not known here", name.escape_debug()),
        ),
    }
}

fn listed_variant(case: &Case<'_>) -> Option<Objection> {
    let OfferedVariant::Known {
        variant,
        castling_mode,
    } = &case.challenge.variant
    else {
        return None;
    };
    let name = variant_name(*variant, *castling_mode);
    let list = &accept(case).variants;
    if list.contains(&name) {
        return None;
    }
    let only_standard = list
        .iter()
        .all(|listed| listed == Variant::Chess.uci_name());
    let decline = if only_standard && !list.is_empty() {
        DeclineReason::StandardOnly
    } else {
        DeclineReason::Variant
    };
    object(decline, format!("{name} is not in lobby.accept.variants"))
}

fn position(case: &Case<'_>) -> Option<Objection> {
    let custom = case.challenge.initial_fen.is_some()
        && matches!(
            case.challenge.variant,
            OfferedVariant::Known {
                castling_mode: crate::rules::CastlingMode::Standard,
                ..
            }
        );
    (custom && !accept(case).custom_positions)
        .then(|| object(DeclineReason::Variant, "no custom first positions"))
        .flatten()
}

fn odds(case: &Case<'_>) -> Option<Objection> {
    let odds = case
        .challenge
        .opponent_time_control
        .is_some_and(|theirs| theirs != case.challenge.time_control);
    odds.then(|| object(DeclineReason::TimeControl, "the clocks differ"))
        .flatten()
}

fn clock_kind(case: &Case<'_>) -> Option<Objection> {
    let policy = accept(case);
    match case.challenge.time_control {
        TimeControl::Unlimited if !policy.unlimited => {
            object(DeclineReason::TimeControl, "no games without a clock")
        }
        TimeControl::Correspondence { .. }
            if !policy.speeds.contains(&crate::game::Speed::Correspondence) =>
        {
            object(DeclineReason::TimeControl, "no correspondence games")
        }
        _ => None,
    }
}

fn clock_range(case: &Case<'_>) -> Option<Objection> {
    let TimeControl::Clock { initial, increment } = case.challenge.time_control else {
        return None;
    };
    let policy = accept(case);
    let words =
        |what: &str, bound: std::time::Duration| format!("{what} {} s", bound.as_secs_f64());
    if initial < policy.min_initial {
        object(
            DeclineReason::TooFast,
            words("bank below", policy.min_initial),
        )
    } else if increment < policy.min_increment {
        object(
            DeclineReason::TooFast,
            words("increment below", policy.min_increment),
        )
    } else if initial > policy.max_initial {
        object(
            DeclineReason::TooSlow,
            words("bank above", policy.max_initial),
        )
    } else if increment > policy.max_increment {
        object(
            DeclineReason::TooSlow,
            words("increment above", policy.max_increment),
        )
    } else {
        None
    }
}

fn speed(case: &Case<'_>) -> Option<Objection> {
    let control = case.challenge.time_control;
    let TimeControl::Clock { .. } = control else {
        return None;
    };
    let speeds = &accept(case).speeds;
    let speed = control.speed();
    if speeds.contains(&speed) {
        return None;
    }
    let slower_listed = speeds.iter().any(|listed| *listed > speed);
    let decline = if slower_listed {
        DeclineReason::TooFast
    } else {
        DeclineReason::TooSlow
    };
    object(decline, format!("{speed:?} is not in lobby.accept.speeds"))
}

fn rated(case: &Case<'_>) -> Option<Objection> {
    let policy = accept(case);
    if case.challenge.rated && !policy.rated {
        object(DeclineReason::CasualOnly, "no rated games")
    } else if !case.challenge.rated && !policy.casual {
        object(DeclineReason::RatedOnly, "no casual games")
    } else {
        None
    }
}

fn rating(case: &Case<'_>) -> Option<Objection> {
    let policy = accept(case);
    let points = case.challenge.opponent.rating?.points;
    let inside = (policy.min_rating..=policy.max_rating).contains(&points);
    if inside || names(&policy.allow, case) {
        return None;
    }
    let reason = format!(
        "rating {points} is outside {} to {}",
        policy.min_rating, policy.max_rating
    );
    object(DeclineReason::Generic, reason)
}

fn no_abort(case: &Case<'_>) -> Option<Objection> {
    (case.challenge.rules.no_abort && !accept(case).no_abort)
        .then(|| object(DeclineReason::Generic, "the game could not be aborted"))
        .flatten()
}

fn bot_budget(case: &Case<'_>) -> Option<Objection> {
    if case.challenge.opponent.kind != PlayerKind::Bot {
        return None;
    }
    let now_ms = case.now.wall_ms;
    if let Some(rest) = case.memory.rest(case.account, "limit:bot-games", now_ms) {
        let left = (rest.until_ms - now_ms) / 1_000;
        let reason = format!("no bot games for {left} s: {}", rest.reason);
        return object(DeclineReason::Later, reason);
    }
    let used = case.memory.used(case.account, "bot-games", now_ms);
    let bound = case.bot_games_per_day?;
    (used >= bound)
        .then(|| {
            let reason = format!("{used} of {bound} bot games of the day are used");
            object(DeclineReason::Later, reason)
        })
        .flatten()
}

fn in_a_row(case: &Case<'_>) -> Option<Objection> {
    let opponent = &case.challenge.opponent.name;
    let rest = case
        .memory
        .rest(case.account, &row_key(&opponent.key()), case.now.wall_ms)?;
    object(DeclineReason::Later, rest.reason.clone())
}

/// Where the rest after many games in a row is remembered.
pub(super) fn row_key(opponent: &str) -> String {
    format!("row:{opponent}")
}

fn opponent_games(case: &Case<'_>) -> Option<Objection> {
    let key = case.challenge.opponent.name.key();
    let per_day = case.policy.max_bot_games_per_opponent_per_day;
    if per_day > 0 && case.challenge.opponent.kind == PlayerKind::Bot {
        let games = format!("games:{key}");
        let used = case.memory.used(case.account, &games, case.now.wall_ms);
        if used >= per_day {
            let reason = format!("{used} of {per_day} games with this bot today");
            return object(DeclineReason::Later, reason);
        }
    }
    let running = case.slots.with_opponent(case.account, &key);
    let bound = case.policy.max_games_per_opponent as usize;
    if running < bound {
        return None;
    }
    Some(Objection {
        decline: DeclineReason::Later,
        reason: format!("{running} of {bound} games with this opponent are on"),
        // A player who asks for the next game in the moment in which the last one ends is heard before its end is. Without
        // such a game there is nothing that could end: then he asks for several games at a time.
        passing: case.slots.games_with(case.account, &key) > 0,
    })
}
