//! What we send, in the platform's words. Strict: what the platform would refuse is refused here.

use std::time::Duration;

use super::variant_key;
use crate::game::{ChatRoom, PlayMove, TimeControl};
use crate::lobby::{ChallengeRequest, ColorChoice, DeclineReason};
use crate::rules::CastlingMode;

/// Longest chat line, in characters.
pub(in crate::platform::lichess) const CHAT_MAX_CHARS: usize = 140;
/// Lines into which one long text may be cut.
const CHAT_MAX_LINES: usize = 3;
/// Clocks below three minutes that the platform knows, in seconds.
const SHORT_CLOCKS_S: [u64; 6] = [0, 15, 30, 45, 60, 90];
/// Longest clock, in seconds.
const LONGEST_CLOCK_S: u64 = 10_800;
/// Longest increment, in seconds.
const LONGEST_INCREMENT_S: u64 = 60;
/// Days per move that the platform knows.
const DAYS: [u32; 7] = [1, 2, 3, 5, 7, 10, 14];

/// A challenge that the platform would not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::platform::lichess) enum Unofferable {
    /// A clock that the platform does not know.
    #[error(
        "clock {0}: the platform knows 0, 15, 30, 45, 60, 90 and multiples of 60 up to 10800 seconds, increments up to 60, and not 0+0"
    )]
    Clock(TimeControl),
    /// Faster than bots may play.
    #[error("clock {0}: bots may not play ultra-bullet")]
    TooFast(TimeControl),
    /// A number of days that the platform does not know.
    #[error("{0} days a move: the platform knows 1, 2, 3, 5, 7, 10 and 14")]
    Days(u32),
}

/// The fields of the form that creates a challenge.
pub(in crate::platform::lichess) fn challenge_form(
    request: &ChallengeRequest,
) -> Result<Vec<(&'static str, String)>, Unofferable> {
    let mut form = vec![
        ("rated", request.rated.to_string()),
        (
            "variant",
            variant_key(request.variant, request.castling_mode),
        ),
        ("color", color(request.color).to_owned()),
    ];
    match request.time_control {
        TimeControl::Clock { initial, increment } => {
            let (limit_s, increment_s) = (initial.as_secs(), increment.as_secs());
            let whole = Duration::from_secs(limit_s) == initial
                && Duration::from_secs(increment_s) == increment;
            let known = SHORT_CLOCKS_S.contains(&limit_s)
                || ((120..=LONGEST_CLOCK_S).contains(&limit_s) && limit_s.is_multiple_of(60));
            if !whole
                || !known
                || increment_s > LONGEST_INCREMENT_S
                || (limit_s == 0 && increment_s == 0)
            {
                return Err(Unofferable::Clock(request.time_control));
            }
            if limit_s + 40 * increment_s < 30 {
                return Err(Unofferable::TooFast(request.time_control));
            }
            form.push(("clock.limit", limit_s.to_string()));
            form.push(("clock.increment", increment_s.to_string()));
        }
        TimeControl::Correspondence { days_per_turn } => {
            if !DAYS.contains(&days_per_turn) {
                return Err(Unofferable::Days(days_per_turn));
            }
            form.push(("days", days_per_turn.to_string()));
        }
        TimeControl::Unlimited => {}
    }
    Ok(form)
}

fn color(choice: ColorChoice) -> &'static str {
    match choice {
        ColorChoice::White => "white",
        ColorChoice::Black => "black",
        ColorChoice::Random => "random",
    }
}

/// A reason as the platform spells it when it is sent.
pub(in crate::platform::lichess) fn decline_reason(reason: DeclineReason) -> &'static str {
    match reason {
        DeclineReason::Generic => "generic",
        DeclineReason::Later => "later",
        DeclineReason::TooFast => "tooFast",
        DeclineReason::TooSlow => "tooSlow",
        DeclineReason::TimeControl => "timeControl",
        DeclineReason::RatedOnly => "rated",
        DeclineReason::CasualOnly => "casual",
        DeclineReason::StandardOnly => "standard",
        DeclineReason::Variant => "variant",
        DeclineReason::NoBots => "noBot",
        DeclineReason::BotsOnly => "onlyBot",
    }
}

/// A move: castling as king takes rook, which is understood in every variant; drops with a capital letter.
pub(in crate::platform::lichess) fn uci(play: &PlayMove) -> String {
    play.position.uci_with(play.m, CastlingMode::Chess960)
}

/// A chat room's name.
pub(in crate::platform::lichess) fn room(room: ChatRoom) -> &'static str {
    match room {
        ChatRoom::Players => "player",
        ChatRoom::Spectators => "spectator",
    }
}

/// Cuts a text into lines that the platform takes, between words where possible. What is too much for three lines is
/// left out.
pub(in crate::platform::lichess) fn chat_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    for word in clean.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        let room =
            CHAT_MAX_CHARS.saturating_sub(line.chars().count() + usize::from(!line.is_empty()));
        if word.len() > room && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        while word.len() > CHAT_MAX_CHARS {
            lines.push(word.drain(..CHAT_MAX_CHARS).collect());
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines.truncate(CHAT_MAX_LINES);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::PlayerName;
    use crate::lobby::RequestId;
    use crate::rules::Variant;

    fn request(time_control: TimeControl) -> ChallengeRequest {
        ChallengeRequest {
            request: RequestId(1),
            opponent: PlayerName::new("bot_opp"),
            variant: Variant::Crazyhouse,
            castling_mode: CastlingMode::Standard,
            time_control,
            rated: true,
            color: ColorChoice::Random,
        }
    }

    #[test]
    fn a_challenge_is_written_as_a_form() {
        let form = challenge_form(&request(TimeControl::clock(180, 2))).unwrap();
        let text: Vec<String> = form
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let expected = [
            "rated=true",
            "variant=crazyhouse",
            "color=random",
            "clock.limit=180",
            "clock.increment=2",
        ];
        assert_eq!(text, expected);
        let days = TimeControl::Correspondence { days_per_turn: 3 };
        assert_eq!(
            challenge_form(&request(days)).unwrap().last().unwrap().1,
            "3"
        );
        assert_eq!(
            challenge_form(&request(TimeControl::Unlimited))
                .unwrap()
                .len(),
            3
        );
    }

    #[test]
    fn clocks_that_the_platform_refuses_are_refused_here() {
        let ok = |limit, increment| {
            challenge_form(&request(TimeControl::clock(limit, increment))).is_ok()
        };
        for (limit, increment) in [(30, 0), (45, 0), (90, 0), (0, 1), (120, 60), (10_800, 0)] {
            assert!(ok(limit, increment), "{limit}+{increment}");
        }
        for (limit, increment) in [
            (100, 0),
            (0, 0),
            (15, 0),
            (10_860, 0),
            (180, 61),
            (130, 2),
            (75, 0),
        ] {
            assert!(!ok(limit, increment), "{limit}+{increment}");
        }
        let half = TimeControl::Clock {
            initial: Duration::from_millis(60_500),
            increment: Duration::ZERO,
        };
        assert!(challenge_form(&request(half)).is_err());
        assert!(
            challenge_form(&request(TimeControl::Correspondence { days_per_turn: 4 })).is_err()
        );
    }

    #[test]
    fn every_reason_that_is_sent_is_read_back() {
        use DeclineReason::*;
        for reason in [
            Generic,
            Later,
            TooFast,
            TooSlow,
            TimeControl,
            RatedOnly,
            CasualOnly,
            StandardOnly,
            Variant,
            NoBots,
            BotsOnly,
        ] {
            assert_eq!(
                super::super::lobby::decline_reason(Some(decline_reason(reason))),
                reason
            );
        }
    }

    #[test]
    fn variants_of_a_house_are_named_and_read_back() {
        use CastlingMode::{Chess960, Standard};
        for (variant, mode, key) in [
            (Variant::Chess, Standard, "standard"),
            (Variant::Chess, Chess960, "chess960"),
            (Variant::Crazyhouse, Chess960, "crazyhouse960"),
            (Variant::Capablanca, Standard, "capablanca"),
            (Variant::Capablanca, Chess960, "capablanca960"),
            (Variant::Capahouse, Chess960, "capahouse960"),
            (Variant::Suicide, Standard, "suicide"),
            (Variant::ThreeCheck, Standard, "threeCheck"),
            (Variant::ThreeCheck, Chess960, "threeCheck960"),
            (Variant::KingOfTheHill, Standard, "kingOfTheHill"),
            (Variant::KingOfTheHill, Chess960, "kingOfTheHill960"),
            (Variant::RacingKings, Standard, "racingKings"),
            (Variant::Atomic, Chess960, "atomic960"),
            (Variant::Horde, Chess960, "horde960"),
        ] {
            assert_eq!(variant_key(variant, mode), key);
            assert_eq!(super::super::variant(key), Some((variant, mode)), "{key}");
        }
        for nothing in ["standard960", "racingKings960", "fromPosition960", "960"] {
            assert_eq!(super::super::variant(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn long_chat_is_cut_between_words_and_bounded() {
        assert_eq!(chat_lines("  Good\n luck! "), ["Good luck!"]);
        assert!(chat_lines(" \n").is_empty());
        let text = "word ".repeat(100);
        let lines = chat_lines(&text);
        assert_eq!(lines.len(), 3);
        assert!(
            lines
                .iter()
                .all(|line| line.chars().count() <= 140 && line.ends_with("word"))
        );
        let lines = chat_lines(&"é".repeat(1000));
        assert!(lines.iter().all(|line| line.chars().count() == 140));
        assert_eq!(lines.len(), 3);
    }
}
