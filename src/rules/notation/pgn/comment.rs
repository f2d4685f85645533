//! Commands inside comments: `[%clk ...]` and `[%eval ...]`.

use std::fmt;
use std::time::Duration;

/// A judgement of a position, from White's view as PGN has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluation {
    /// Hundredths of a pawn.
    Centipawns(i32),
    /// Moves to mate; negative if White is mated.
    Mate(i32),
}

impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Centipawns(value) => {
                let sign = if value < 0 { "-" } else { "" };
                let value = value.unsigned_abs();
                write!(f, "{sign}{}.{:02}", value / 100, value % 100)
            }
            Self::Mate(moves) => write!(f, "#{moves}"),
        }
    }
}

/// The largest judgement that is believed; beyond it a number is a mistake.
const MAX_CENTIPAWNS: f64 = 1_000_000.0;

impl Evaluation {
    /// Reads `0.25`, `-3`, `#4`, `#-2`; a depth behind a comma is ignored.
    fn parse(text: &str) -> Option<Self> {
        let text = text.split(',').next()?.trim();
        if let Some(mate) = text.strip_prefix('#') {
            return mate.parse().ok().map(Self::Mate);
        }
        let pawns: f64 = text.parse().ok()?;
        let value = (pawns * 100.0).round();
        // Comparing first keeps what is no number out of the cast.
        (value.abs() <= MAX_CENTIPAWNS).then_some(Self::Centipawns(value as i32))
    }
}

/// Takes clock and judgement out of a comment and returns what remains.
pub(super) fn split_commands(comment: &str) -> (Option<Duration>, Option<Evaluation>, String) {
    let (mut clock, mut evaluation) = (None, None);
    let mut rest = String::new();
    // Control characters are written as blanks, so they must not hide a command from this reading only.
    let comment = comment.replace(char::is_control, " ");
    let mut text = comment.as_str();
    while let Some(start) = text.find("[%") {
        let (before, command) = text.split_at(start);
        let Some(end) = command.find(']') else { break };
        let inner = command.get(2..end).unwrap_or_default();
        let (name, value) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
        let mut known = true;
        match name {
            "clk" if clock.is_none() => clock = parse_clock(value),
            "eval" if evaluation.is_none() => evaluation = Evaluation::parse(value),
            _ => known = false,
        }
        rest.push_str(before);
        let after = end + 1;
        if !known || (name == "clk" && clock.is_none()) || (name == "eval" && evaluation.is_none())
        {
            // Commands of other programs are kept where they stand, and so are those that say nothing readable.
            rest.push_str(command.get(..after).unwrap_or_default());
        } else {
            // What stood on both sides must not join into a new command.
            rest.push(' ');
        }
        text = command.get(after..).unwrap_or_default();
    }
    rest.push_str(text);
    let rest = rest.split_whitespace().collect::<Vec<_>>().join(" ");
    (clock, evaluation, rest)
}

/// Reads `h:mm:ss`, `mm:ss` or `ss`, with a fraction of a second or without.
fn parse_clock(text: &str) -> Option<Duration> {
    let mut seconds = 0.0_f64;
    let mut parts = 0;
    for part in text.trim().split(':') {
        parts += 1;
        if parts > 3 || part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return None;
        }
        seconds = seconds * 60.0 + part.parse::<f64>().ok()?;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

/// Writes a clock as `h:mm:ss`, with tenths when there are some.
pub(super) fn clock_text(clock: Duration) -> String {
    let seconds = clock.as_secs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match clock.subsec_millis() {
        0 => format!("{hours}:{minutes:02}:{rest:02}"),
        millis => {
            let fraction = format!("{millis:03}");
            format!(
                "{hours}:{minutes:02}:{rest:02}.{}",
                fraction.trim_end_matches('0')
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_out_and_the_rest_is_kept() {
        let (clock, evaluation, rest) =
            split_commands("[%eval -1.5] [%clk 0:02:59.1] good [%emt 3] move");
        assert_eq!(clock, Some(Duration::from_millis(179_100)));
        assert_eq!(evaluation, Some(Evaluation::Centipawns(-150)));
        assert_eq!(rest, "good [%emt 3] move");
    }

    #[test]
    fn unreadable_commands_stay_in_the_comment() {
        for text in [
            "[%clk 1:2:3:4]",
            "[%eval nan]",
            "[%clk",
            "[%eval 9e99]",
            "[%clk x]",
        ] {
            assert_eq!(
                split_commands(text),
                (None, None, text.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_surrounds_a_command_does_not_join_into_another() {
        let (clock, evaluation, rest) = split_commands("[[%clk 0:02:27]%eval .28]");
        assert_eq!(clock, Some(Duration::from_secs(147)));
        assert_eq!(evaluation, None);
        assert_eq!(rest, "[ %eval .28]");
        assert_eq!(split_commands(&rest), (None, None, rest.clone()));
    }

    #[test]
    fn control_characters_count_as_blanks() {
        let (_, evaluation, rest) = split_commands("good\u{7}move [%eval\0.28]");
        assert_eq!(evaluation, Some(Evaluation::Centipawns(28)));
        assert_eq!(rest, "good move");
    }

    #[test]
    fn clocks_and_evaluations_come_back() {
        for millis in [0, 100, 59_999, 60_000, 3_599_990, 360_000_000] {
            let clock = Duration::from_millis(millis);
            assert_eq!(
                parse_clock(&clock_text(clock)).map(|c| c.as_millis()),
                Some(u128::from(millis))
            );
        }
        for evaluation in [
            Evaluation::Centipawns(0),
            Evaluation::Centipawns(-5),
            Evaluation::Centipawns(1234),
            Evaluation::Mate(3),
            Evaluation::Mate(-1),
        ] {
            assert_eq!(Evaluation::parse(&evaluation.to_string()), Some(evaluation));
        }
        assert_eq!(
            Evaluation::parse("0.31,22"),
            Some(Evaluation::Centipawns(31))
        );
    }
}
