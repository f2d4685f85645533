//! Offers: the sentence of a match offer, and the `<pf>`, `<pt>`, `<pr>` lines of servers that number them.

use super::shape::{is_name, split_name};
use super::{Side, WireError, WireErrorKind};

/// A rating as it is printed in parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatingMark {
    /// `----`: registered, but without a rating in this kind of game.
    None,
    /// `++++`: not registered.
    Guest,
    /// A number.
    Points {
        /// The rating.
        points: u16,
        /// Marked as estimated (E) or provisional (P).
        provisional: bool,
    },
}

impl RatingMark {
    /// Reads the text between the parentheses: `----`, `++++`, ` 997`, `1637E`, `1500P`.
    #[must_use]
    pub fn parse(text: &str) -> Option<RatingMark> {
        let text = text.trim();
        match text {
            "----" | "UNR" => return Some(RatingMark::None),
            "++++" => return Some(RatingMark::Guest),
            _ => {}
        }
        let (digits, provisional) = match text.strip_suffix(['E', 'P']) {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        digits.parse().ok().map(|points| RatingMark::Points {
            points,
            provisional,
        })
    }
}

/// Minutes and increment in seconds, as players write them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireClock {
    /// Initial time in minutes.
    pub minutes: u32,
    /// Increment in seconds.
    pub increment_seconds: u32,
}

/// `A (1882) [white] B (1558) rated crazyhouse 3 0`, as it stands in challenges, confirmations and `<pf>` lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchOffer {
    /// Who offers.
    pub challenger: String,
    /// Rating of the challenger.
    pub challenger_rating: RatingMark,
    /// Colour that the challenger asks for.
    pub challenger_side: Option<Side>,
    /// Who is asked.
    pub opponent: String,
    /// Rating of the one who is asked.
    pub opponent_rating: RatingMark,
    /// For rating or not.
    pub rated: bool,
    /// Kind of game in the server's words: `blitz`, `crazyhouse`, `wild`, `wild/3`.
    pub kind: String,
    /// Clock; `None` for untimed games.
    pub clock: Option<WireClock>,
    /// Clock of the other side where the offer gives odds of time.
    pub odds_clock: Option<WireClock>,
    /// Board or variant after `Loaded from`: `wild/fr`, `crazyhouse/0`.
    pub loaded_from: Option<String>,
    /// An adjourned game would go on.
    pub adjourned: bool,
}

/// Reads a match offer; a final full stop is optional.
#[must_use]
pub fn match_offer(text: &str) -> Option<MatchOffer> {
    let text = text.trim().strip_suffix('.').unwrap_or(text.trim());
    let (challenger, rest) = split_name(text)?;
    let (challenger_rating, rest) = rating(rest)?;
    let (challenger_side, rest) = match rest.trim_start() {
        rest if rest.starts_with("[white]") => (Some(Side::White), &rest[7..]),
        rest if rest.starts_with("[black]") => (Some(Side::Black), &rest[7..]),
        rest => (None, rest),
    };
    let (opponent, rest) = split_name(rest.trim_start())?;
    let (opponent_rating, rest) = rating(rest)?;
    let mut words = rest.split_ascii_whitespace().peekable();
    let rated = match words.next()? {
        "rated" => true,
        "unrated" => false,
        _ => return None,
    };
    let mut kind = words.next()?;
    // One server puts the speed in front of the variant: `rated blitz crazyhouse 3 0`.
    while let Some(word) = words.next_if(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
    {
        kind = word;
    }
    let kind = kind.to_owned();
    let clock = clock_words(&mut words);
    let odds_clock = if words.next_if_eq(&":").is_some() {
        clock_words(&mut words)
    } else {
        None
    };
    let (mut loaded_from, mut adjourned) = (None, false);
    while let Some(word) = words.next() {
        match word {
            "Loaded" if words.next_if_eq(&"from").is_some() => {
                loaded_from = words.next().map(str::to_owned);
            }
            "(adjourned)" => adjourned = true,
            _ => {}
        }
    }
    Some(MatchOffer {
        challenger: challenger.to_owned(),
        challenger_rating,
        challenger_side,
        opponent: opponent.to_owned(),
        opponent_rating,
        rated,
        kind,
        clock,
        odds_clock,
        loaded_from,
        adjourned,
    })
}

/// ` (1882)` at the start of `text`.
fn rating(text: &str) -> Option<(RatingMark, &str)> {
    let (mark, rest) = text.trim_start().strip_prefix('(')?.split_once(')')?;
    Some((RatingMark::parse(mark)?, rest))
}

fn clock_words<'a>(
    words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Option<WireClock> {
    let is_number = |word: &&str| word.len() <= 5 && word.bytes().all(|b| b.is_ascii_digit());
    let minutes = words.next_if(is_number)?.parse().ok()?;
    let increment_seconds = words
        .next_if(is_number)
        .and_then(|word| word.parse().ok())
        .unwrap_or(0);
    Some(WireClock {
        minutes,
        increment_seconds,
    })
}

/// What a numbered offer is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingKind {
    /// A game.
    Match(Box<MatchOffer>),
    /// A draw.
    Draw,
    /// To annul the game.
    Abort,
    /// To store the game.
    Adjourn,
    /// To take this many half moves back.
    Takeback(u32),
    /// To be bughouse partners.
    Partner,
    /// Something we do not take part in: pause, unpause, switch, simul.
    Other(String),
}

/// A `<pf>` or `<pt>` line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The server's number. It may be reused, on one server at once.
    pub number: u32,
    /// The other player.
    pub with: String,
    /// What it is about.
    pub kind: PendingKind,
}

/// Reads what follows `<pf> ` or `<pt> `: `N w=NAME t=TYPE p=PARAMETERS`.
///
/// # Errors
/// [`WireError`] when a part is missing or a match offer in it does not read.
pub(super) fn pending(line: &str, rest: &str) -> Result<Pending, WireError> {
    let bad = || WireError::new(WireErrorKind::Pending, line);
    let (number, rest) = rest.split_once(' ').ok_or_else(bad)?;
    let rest = rest.trim_start().strip_prefix("w=").ok_or_else(bad)?;
    let (with, rest) = rest.split_once(' ').ok_or_else(bad)?;
    let rest = rest.trim_start().strip_prefix("t=").ok_or_else(bad)?;
    let (kind, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let parameters = rest.trim_start().strip_prefix("p=").unwrap_or("");
    if !is_name(with) {
        return Err(bad());
    }
    let kind = match kind {
        "match" => PendingKind::Match(Box::new(match_offer(parameters).ok_or_else(bad)?)),
        "draw" => PendingKind::Draw,
        "abort" => PendingKind::Abort,
        "adjourn" => PendingKind::Adjourn,
        "takeback" => PendingKind::Takeback(parameters.trim().parse().unwrap_or(1)),
        "partner" => PendingKind::Partner,
        other => PendingKind::Other(other.to_owned()),
    };
    Ok(Pending {
        number: number.parse().map_err(|_| bad())?,
        with: with.to_owned(),
        kind,
    })
}

/// Reads the numbers after `<pr> ` or `<sr> `; at most 64 are taken.
///
/// # Errors
/// [`WireError`] when there is none, or one of them is not a number.
pub(super) fn numbers(line: &str, rest: &str) -> Result<Vec<u32>, WireError> {
    let numbers: Result<Vec<u32>, _> = rest
        .split_ascii_whitespace()
        .take(64)
        .map(str::parse)
        .collect();
    match numbers {
        Ok(numbers) if !numbers.is_empty() => Ok(numbers),
        _ => Err(WireError::new(WireErrorKind::Numbers, line)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ServerLine, parse};
    use super::*;

    fn points(points: u16) -> RatingMark {
        RatingMark::Points {
            points,
            provisional: false,
        }
    }

    #[test]
    fn every_rating_form_reads() {
        let cases = [
            ("----", Some(RatingMark::None)),
            ("++++", Some(RatingMark::Guest)),
            (" 997", Some(points(997))),
            ("1637", Some(points(1637))),
            (
                "1637E",
                Some(RatingMark::Points {
                    points: 1637,
                    provisional: true,
                }),
            ),
            (
                "1500P",
                Some(RatingMark::Points {
                    points: 1500,
                    provisional: true,
                }),
            ),
            ("abc", None),
            ("", None),
            ("99999", None),
        ];
        for (text, expected) in cases {
            assert_eq!(RatingMark::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn a_match_offer_with_everything() {
        let offer = match_offer("Cedar ( 997) [black] Birch (1637E) rated wild 2 12 : 0 0 Loaded from wild/2 (adjourned).").unwrap();
        assert_eq!(offer.challenger, "Cedar");
        assert_eq!(offer.challenger_side, Some(Side::Black));
        assert_eq!(
            offer.opponent_rating,
            RatingMark::Points {
                points: 1637,
                provisional: true
            }
        );
        assert_eq!(
            offer.clock,
            Some(WireClock {
                minutes: 2,
                increment_seconds: 12
            })
        );
        assert_eq!(
            offer.odds_clock,
            Some(WireClock {
                minutes: 0,
                increment_seconds: 0
            })
        );
        assert_eq!(offer.loaded_from.as_deref(), Some("wild/2"));
        assert!(offer.adjourned && offer.rated);
    }

    #[test]
    fn untimed_and_numbered_boards() {
        let with_speed =
            match_offer("Cedar (----) [white] Birch (----) rated blitz crazyhouse 3 0").unwrap();
        assert_eq!(
            (
                with_speed.kind.as_str(),
                with_speed.clock.map(|clock| clock.minutes)
            ),
            ("crazyhouse", Some(3))
        );
        let untimed = match_offer("Cedar (----) Birch (++++) unrated crazyhouse").unwrap();
        assert_eq!((untimed.clock, untimed.kind.as_str()), (None, "crazyhouse"));
        let numbered =
            match_offer("Cedar (----) Birch (----) unrated wild 5 0 Loaded from wild/fr idn=518")
                .unwrap();
        assert_eq!(numbered.loaded_from.as_deref(), Some("wild/fr"));
        assert!(match_offer("Cedar (1500) Birch rated blitz 3 0").is_none());
        assert!(match_offer("").is_none());
    }

    #[test]
    fn pending_lines_of_every_type() {
        let ServerLine::OfferedToUs(offer) = parse("<pf> 3 w=Cedar t=takeback p=2").unwrap() else {
            panic!()
        };
        assert_eq!((offer.number, offer.kind), (3, PendingKind::Takeback(2)));
        let ServerLine::OfferedToUs(offer) = parse(
            "<pf> 1 w=Cedar t=match p=Cedar (1882) [white] Birch (1558) rated crazyhouse 3 0",
        )
        .unwrap() else {
            panic!()
        };
        assert!(matches!(offer.kind, PendingKind::Match(game) if game.kind == "crazyhouse"));
        for (word, expected) in [
            ("draw", PendingKind::Draw),
            ("abort", PendingKind::Abort),
            ("adjourn", PendingKind::Adjourn),
            ("partner", PendingKind::Partner),
            ("pause", PendingKind::Other("pause".to_owned())),
        ] {
            let ServerLine::OfferedByUs(offer) =
                parse(&format!("<pt> 9 w=Cedar t={word} p=#")).unwrap()
            else {
                panic!()
            };
            assert_eq!(offer.kind, expected);
        }
        assert!(parse("<pf> 1 w=Cedar t=match p=nonsense").is_err());
        assert!(parse("<pf> x w=Cedar t=draw p=#").is_err());
        assert_eq!(
            parse("<pr> 1 2 3").unwrap(),
            ServerLine::OffersGone(vec![1, 2, 3])
        );
        assert!(parse("<pr> ").is_err());
    }
}
