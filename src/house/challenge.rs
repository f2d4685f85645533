//! Challenges: what may be asked for, and what becomes of it.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::game::{Speed, TimeControl};
use crate::rules::Color;

use super::form::Form;
use super::game::{Term, start_position};
use super::refusal::Refusal;
use super::variant::HouseVariant;

/// What a challenge asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Variant.
    pub variant: HouseVariant,
    /// Whether ratings are at stake.
    pub rated: bool,
    /// Time control.
    pub time: TimeControl,
    /// The challenger's side; `None` leaves it to chance.
    pub color: Option<Color>,
    /// A start of the challenger's choice.
    pub fen: Option<String>,
    /// Special terms.
    pub special: BTreeSet<Term>,
}

/// State of a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChallengeStatus {
    /// It waits for an answer.
    Created,
    /// The challenger has not been seen for twenty seconds.
    Offline,
    /// Taken back.
    Canceled,
    /// Refused.
    Declined,
    /// A game has come of it.
    Accepted,
}

impl ChallengeStatus {
    /// Whether it can still be accepted.
    pub fn is_open(self) -> bool {
        matches!(self, ChallengeStatus::Created | ChallengeStatus::Offline)
    }
}

/// Why a challenge was refused: the key as it is told (sent, it may have capitals), the sentence.
const DECLINE_REASONS: [(&str, &str); 11] = [
    ("generic", "No games for the moment, thank you."),
    ("later", "Not now; ask again later, please."),
    (
        "toofast",
        "That is too fast; ask for a slower game, please.",
    ),
    (
        "tooslow",
        "That is too slow; ask for a faster game, please.",
    ),
    ("timecontrol", "Not with this time control."),
    ("rated", "Rated games only, please."),
    ("casual", "Casual games only, please."),
    ("standard", "No variants at the moment."),
    ("variant", "Not this variant."),
    ("nobot", "No games against bots."),
    ("onlybot", "Only games against bots."),
];

/// Reason of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeclineReason(usize);

impl DeclineReason {
    /// The reason that a client sent, in any case of letters; what is unknown is generic.
    pub fn read(sent: Option<&str>) -> DeclineReason {
        let found = sent.and_then(|sent| {
            DECLINE_REASONS
                .iter()
                .position(|(key, _)| key.eq_ignore_ascii_case(sent))
        });
        DeclineReason(found.unwrap_or(0))
    }

    /// `declineReasonKey`: all in lower case.
    pub fn key(self) -> &'static str {
        DECLINE_REASONS[self.0].0
    }

    /// `declineReason`: for people.
    pub fn sentence(self) -> &'static str {
        DECLINE_REASONS[self.0].1
    }
}

/// A challenge.
#[derive(Debug, Clone)]
pub struct Challenge {
    /// Eight characters; the game will have the same.
    pub id: String,
    /// Account id of who asks.
    pub challenger: String,
    /// Account id of who is asked; `None` for anybody who has the link.
    pub dest: Option<String>,
    /// What is asked for.
    pub terms: Terms,
    /// The challenger's side, if `terms.color` leaves it open drawn already.
    pub final_color: Color,
    /// Start position if it is not the variant's own.
    pub initial_fen: Option<String>,
    /// State.
    pub status: ChallengeStatus,
    /// Why it was refused.
    pub declined: Option<DeclineReason>,
    /// When it was made, ms since 1970.
    pub created_ms: i64,
    /// When the challenger last showed that he waits, ms since 1970.
    pub seen_ms: i64,
    /// The game after which this is to be the next.
    pub rematch_of: Option<String>,
}

/// A challenge in real time counts as forgotten when its maker was not seen for so long.
pub const UNSEEN_MS: i64 = 20_000;

impl Challenge {
    /// Whether this account in particular is asked.
    pub fn is_for(&self, account: &str) -> bool {
        self.dest.as_deref() == Some(account)
    }

    /// The side of who is asked.
    pub fn dest_color(&self) -> Color {
        !self.final_color
    }

    /// Marks it offline if its maker has not been seen.
    pub fn sweep(&mut self, now_ms: i64) {
        let real_time = matches!(self.terms.time, TimeControl::Clock { .. });
        if self.status == ChallengeStatus::Created && real_time && now_ms - self.seen_ms > UNSEEN_MS
        {
            self.status = ChallengeStatus::Offline;
        }
    }
}

/// Reads what a challenge asks for.
///
/// `bot` says whether a bot asks: bots may not ask for UltraBullet.
///
/// # Errors
/// The refusal with the messages per field.
pub fn read_terms(form: &Form, bot: bool) -> Result<Terms, Refusal> {
    let wrong = |field, message| Err(Refusal::field(field, message, true));
    let time = read_time(form)?;
    let color = match form.get("color") {
        None | Some("random") => None,
        Some("white") => Some(Color::White),
        Some("black") => Some(Color::Black),
        Some(_) => return wrong("color", "Invalid value"),
    };
    let Some(variant) = HouseVariant::from_key(form.get("variant").unwrap_or("standard")) else {
        return wrong("variant", "Invalid value");
    };
    let rated = match form.get("rated") {
        None | Some("false" | "0" | "off" | "no") => false,
        Some("true" | "1" | "on" | "yes") => true,
        Some(_) => return wrong("rated", "Invalid value"),
    };
    let (variant, fen) = read_start(form, variant)?;
    let mut special = BTreeSet::new();
    for name in form.get("rules").into_iter().flat_map(|r| r.split(',')) {
        match Term::parse(name.trim()) {
            Some(term) => special.insert(term),
            None => return wrong("rules", "Invalid value"),
        };
    }

    let no_clock = !matches!(time, TimeControl::Clock { .. });
    let orthodox = variant == HouseVariant::STANDARD;
    if rated && (variant == HouseVariant::FROM_POSITION || (no_clock && !orthodox)) {
        return wrong("global", "can't be rated");
    }
    if bot && time.speed() == Speed::UltraBullet {
        return wrong("global", "Invalid speed");
    }
    // Too fast for a rated variant is no mistake: it is quietly made casual.
    let rated = rated && (orthodox || fast_enough_for_rating(time));
    Ok(Terms {
        variant,
        rated,
        time,
        color,
        fen,
        special,
    })
}

fn fast_enough_for_rating(time: TimeControl) -> bool {
    let TimeControl::Clock { initial, increment } = time else {
        return false;
    };
    let estimate = initial + increment * 40;
    (estimate >= Duration::from_secs(30) && !initial.is_zero())
        || increment > Duration::from_secs(1)
}

fn read_time(form: &Form) -> Result<TimeControl, Refusal> {
    let wrong = |field, message| Err(Refusal::field(field, message, true));
    let limit = form.get("clock.limit");
    let increment = form.get("clock.increment");
    if limit.is_none() && increment.is_none() {
        let Some(days) = form.get("days") else {
            return Ok(TimeControl::Unlimited);
        };
        return match days.parse() {
            Ok(days_per_turn @ (1 | 2 | 3 | 5 | 7 | 10 | 14)) => {
                Ok(TimeControl::Correspondence { days_per_turn })
            }
            _ => wrong("days", "Invalid value"),
        };
    }
    let Some(limit) = limit else {
        return wrong("clock.limit", "This field is required");
    };
    let Some(increment) = increment else {
        return wrong("clock.increment", "This field is required");
    };
    let limit = match limit.parse::<u64>() {
        Ok(s) if matches!(s, 0 | 15 | 30 | 45 | 60 | 90) => s,
        Ok(s) if (120..=10_800).contains(&s) && s.is_multiple_of(60) => s,
        _ => return wrong("clock.limit", "Invalid value"),
    };
    let increment = match increment.parse::<u64>() {
        Ok(s @ 0..=180) => s,
        _ => return wrong("clock.increment", "Must be less or equal to 180"),
    };
    if limit == 0 && increment == 0 {
        return wrong("clock", "Invalid clock");
    }
    Ok(TimeControl::clock(limit, increment))
}

/// The variant and the start. Orthodox chess from another position is a variant of its
/// own here; Chess960 takes only its own starts; the other variants of Lichess ignore
/// the field; those that only a house has take any position that can be played.
fn read_start(
    form: &Form,
    variant: HouseVariant,
) -> Result<(HouseVariant, Option<String>), Refusal> {
    let invalid = || Refusal::field("fen", "invalidFen", true);
    let house_only = variant.rules().files() == 10 || variant.key().ends_with("960");
    let chess960 = variant.key() == "chess960";
    let Some(fen) = form.get("fen") else {
        return if variant == HouseVariant::FROM_POSITION {
            Err(invalid())
        } else {
            Ok((variant, None))
        };
    };
    let orthodox = variant == HouseVariant::STANDARD || variant == HouseVariant::FROM_POSITION;
    if !orthodox && !house_only && !chess960 {
        return Ok((variant, None));
    }
    let variant = if orthodox {
        HouseVariant::FROM_POSITION
    } else {
        variant
    };
    let position = start_position(variant, Some(fen)).map_err(|_| invalid())?;
    if !position.has_legal_move() || position.variant_end().is_some() {
        return Err(invalid());
    }
    let normal = position.fen();
    if orthodox && normal == HouseVariant::STANDARD.rules().start_fen() {
        return Ok((HouseVariant::STANDARD, None));
    }
    if chess960 && !is_chess960_start(&normal) {
        return Err(invalid());
    }
    Ok((variant, Some(normal)))
}

fn is_chess960_start(fen: &str) -> bool {
    let Some(back_rank) = fen.split('/').next() else {
        return false;
    };
    let middle = "/pppppppp/8/8/8/8/PPPPPPPP/";
    let white = back_rank.to_ascii_uppercase();
    let expected = format!("{back_rank}{middle}{white} w KQkq - 0 1");
    let mut sorted: Vec<char> = back_rank.chars().collect();
    sorted.sort_unstable();
    let find = |c| back_rank.find(c).unwrap_or(0);
    let rfind = |c| back_rank.rfind(c).unwrap_or(0);
    fen == expected
        && sorted == ['b', 'b', 'k', 'n', 'n', 'q', 'r', 'r']
        && find('r') < find('k')
        && find('k') < rfind('r')
        && find('b') % 2 != rfind('b') % 2
}
