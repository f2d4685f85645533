//! What a GUI says, word by word; nothing here knows a position.

use std::time::Duration;

/// One line of a GUI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Nothing but white space.
    Empty,
    /// `uci`
    Uci,
    /// `isready`
    IsReady,
    /// `setoption name N [value V]`
    SetOption {
        /// Name with single spaces between its words.
        name: String,
        /// What follows `value`; `None` for buttons.
        value: Option<String>,
    },
    /// `ucinewgame`
    NewGame,
    /// `position ...`
    Position {
        /// The FEN; `None`: the start position of the variant.
        fen: Option<String>,
        /// Moves to play from there, as sent.
        moves: Vec<String>,
    },
    /// `go ...`
    Go(Box<Go>),
    /// `stop`
    Stop,
    /// `ponderhit`
    PonderHit,
    /// `quit`
    Quit,
    /// `d`: show the position.
    Display,
    /// `eval`: show the evaluation of the position.
    Eval,
    /// `bench [depth]`: the node count over fixed positions.
    Bench {
        /// Depth in plies, if other than usual.
        depth: Option<u32>,
    },
    /// `debug on|off` and `register ...`, which UCI knows and which change nothing here.
    Ignored,
}

/// The sub-commands of `go`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Go {
    /// Root moves to consider, as sent.
    pub search_moves: Vec<String>,
    /// Think on the opponent's time.
    pub ponder: bool,
    /// White's clock; zero if the GUI sent a negative number.
    pub white_time: Option<Duration>,
    /// Black's clock.
    pub black_time: Option<Duration>,
    /// White's increment.
    pub white_increment: Option<Duration>,
    /// Black's increment.
    pub black_increment: Option<Duration>,
    /// Moves until the next time control.
    pub moves_to_go: Option<u32>,
    /// Plies.
    pub depth: Option<u32>,
    /// Nodes.
    pub nodes: Option<u64>,
    /// Mate in so many moves.
    pub mate: Option<u32>,
    /// Fixed time.
    pub move_time: Option<Duration>,
    /// Until `stop`.
    pub infinite: bool,
    /// Count leaves instead of searching.
    pub perft: Option<u32>,
    /// Words that no sub-command knows; they are skipped.
    pub unknown: Vec<String>,
}

/// A line that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The first word is no command.
    #[error("unknown command: {0:?}")]
    Unknown(String),
    /// `setoption` without a name.
    #[error("setoption needs `name`: {0:?}")]
    NoOptionName(String),
    /// `position` with neither `startpos` nor `fen`.
    #[error("position needs `startpos` or `fen`: {0:?}")]
    NoPosition(String),
    /// A sub-command of `go` without its number.
    #[error("go {word} needs a number, not {value:?}")]
    Number {
        /// The sub-command.
        word: &'static str,
        /// What stood there.
        value: String,
    },
}

/// Reads a line. Surplus white space does not matter.
///
/// # Errors
/// If the line is no command of UCI; see [`CommandError`].
pub fn parse(line: &str) -> Result<Command, CommandError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        [] => Ok(Command::Empty),
        ["uci"] => Ok(Command::Uci),
        ["isready"] => Ok(Command::IsReady),
        ["ucinewgame"] => Ok(Command::NewGame),
        ["stop"] => Ok(Command::Stop),
        ["ponderhit"] => Ok(Command::PonderHit),
        ["quit"] => Ok(Command::Quit),
        ["d"] => Ok(Command::Display),
        ["eval"] => Ok(Command::Eval),
        ["debug" | "register", ..] => Ok(Command::Ignored),
        ["bench"] => Ok(Command::Bench { depth: None }),
        ["bench", depth] => Ok(Command::Bench {
            depth: Some(number("bench", Some(depth))?),
        }),
        ["setoption", rest @ ..] => set_option(line, rest),
        ["position", rest @ ..] => position(line, rest),
        ["go", rest @ ..] => go(rest).map(|go| Command::Go(Box::new(go))),
        _ => Err(CommandError::Unknown(shortened(line))),
    }
}

fn set_option(line: &str, words: &[&str]) -> Result<Command, CommandError> {
    let no_name = || CommandError::NoOptionName(shortened(line));
    let ["name", rest @ ..] = words else {
        return Err(no_name());
    };
    let (name, value) = match rest.iter().position(|&word| word == "value") {
        Some(at) => (&rest[..at], Some(rest[at + 1..].join(" "))),
        None => (rest, None),
    };
    if name.is_empty() {
        return Err(no_name());
    }
    Ok(Command::SetOption {
        name: name.join(" "),
        value,
    })
}

fn position(line: &str, words: &[&str]) -> Result<Command, CommandError> {
    let (setup, moves) = match words.iter().position(|&word| word == "moves") {
        Some(at) => (&words[..at], &words[at + 1..]),
        None => (words, &[][..]),
    };
    let fen = match setup {
        ["startpos"] => None,
        ["fen", fields @ ..] if !fields.is_empty() => Some(fields.join(" ")),
        _ => return Err(CommandError::NoPosition(shortened(line))),
    };
    Ok(Command::Position {
        fen,
        moves: moves.iter().map(|&word| word.to_owned()).collect(),
    })
}

fn go(words: &[&str]) -> Result<Go, CommandError> {
    let mut go = Go::default();
    let mut rest = words.iter().copied().peekable();
    while let Some(word) = rest.next() {
        match word {
            "ponder" => go.ponder = true,
            "infinite" => go.infinite = true,
            "searchmoves" => {
                while let Some(candidate) = rest.next_if(|next| !is_go_word(next)) {
                    go.search_moves.push(candidate.to_owned());
                }
            }
            "wtime" => go.white_time = Some(millis("wtime", rest.next())?),
            "btime" => go.black_time = Some(millis("btime", rest.next())?),
            "winc" => go.white_increment = Some(millis("winc", rest.next())?),
            "binc" => go.black_increment = Some(millis("binc", rest.next())?),
            "movetime" => go.move_time = Some(millis("movetime", rest.next())?),
            "movestogo" => go.moves_to_go = Some(number("movestogo", rest.next())?),
            "depth" => go.depth = Some(number("depth", rest.next())?),
            "nodes" => go.nodes = Some(number("nodes", rest.next())?),
            "mate" => go.mate = Some(number("mate", rest.next())?),
            "perft" => go.perft = Some(number("perft", rest.next())?),
            unknown => go.unknown.push(shortened(unknown)),
        }
    }
    Ok(go)
}

fn is_go_word(word: &str) -> bool {
    matches!(
        word,
        "searchmoves"
            | "ponder"
            | "wtime"
            | "btime"
            | "winc"
            | "binc"
            | "movestogo"
            | "depth"
            | "nodes"
            | "mate"
            | "movetime"
            | "infinite"
            | "perft"
    )
}

fn number<N: std::str::FromStr>(
    word: &'static str,
    value: Option<&str>,
) -> Result<N, CommandError> {
    let value = value.unwrap_or_default();
    value.parse().map_err(|_| CommandError::Number {
        word,
        value: shortened(value),
    })
}

/// Milliseconds; GUIs send negative clocks after a flag has fallen, and some send fractions.
fn millis(word: &'static str, value: Option<&str>) -> Result<Duration, CommandError> {
    let ms: f64 = number(word, value)?;
    if ms.is_nan() {
        return Err(CommandError::Number {
            word,
            value: shortened(value.unwrap_or_default()),
        });
    }
    // A century is longer than any clock and short enough for all sums of durations.
    const CENTURY_MS: f64 = 3.2e12;
    Ok(Duration::from_secs_f64(ms.clamp(0.0, CENTURY_MS) / 1000.0))
}

/// The beginning of a text of any length, for error messages.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 80;
    if text.chars().count() <= LONGEST {
        return text.trim().to_owned();
    }
    let mut cut: String = text.trim().chars().take(LONGEST).collect();
    cut.push_str("...");
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn go_of(line: &str) -> Go {
        match parse(line) {
            Ok(Command::Go(go)) => *go,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn plain_commands() {
        let table = [
            ("", Command::Empty),
            ("  \t ", Command::Empty),
            ("uci", Command::Uci),
            ("  isready  ", Command::IsReady),
            ("ucinewgame", Command::NewGame),
            ("stop", Command::Stop),
            ("ponderhit", Command::PonderHit),
            ("quit", Command::Quit),
            ("d", Command::Display),
            ("eval", Command::Eval),
            ("debug on", Command::Ignored),
            ("register later", Command::Ignored),
            ("bench", Command::Bench { depth: None }),
            ("bench 7", Command::Bench { depth: Some(7) }),
        ];
        for (line, command) in table {
            assert_eq!(parse(line), Ok(command), "{line:?}");
        }
    }

    #[test]
    fn options_may_have_spaces_in_name_and_value() {
        let set = |line| match parse(line) {
            Ok(Command::SetOption { name, value }) => (name, value),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            set("setoption name Move Overhead value 120"),
            ("Move Overhead".into(), Some("120".into()))
        );
        assert_eq!(
            set("setoption  name  Clear  Hash"),
            ("Clear Hash".into(), None)
        );
        assert_eq!(
            set("setoption name Book value a b  c"),
            ("Book".into(), Some("a b c".into()))
        );
        assert_eq!(set("setoption name X value").1, Some(String::new()));
        for bad in [
            "setoption",
            "setoption name",
            "setoption name value 3",
            "setoption Hash 3",
        ] {
            assert!(
                matches!(parse(bad), Err(CommandError::NoOptionName(_))),
                "{bad}"
            );
        }
    }

    #[test]
    fn positions() {
        assert_eq!(
            parse("position startpos"),
            Ok(Command::Position {
                fen: None,
                moves: vec![]
            })
        );
        assert_eq!(
            parse("position fen 8/8/8/8/8/8/8/K1k5[Pp] w - - 0 1 moves P@e4 a1a2"),
            Ok(Command::Position {
                fen: Some("8/8/8/8/8/8/8/K1k5[Pp] w - - 0 1".into()),
                moves: vec!["P@e4".into(), "a1a2".into()],
            })
        );
        for bad in [
            "position",
            "position fen",
            "position e4",
            "position moves e2e4",
        ] {
            assert!(
                matches!(parse(bad), Err(CommandError::NoPosition(_))),
                "{bad}"
            );
        }
    }

    #[test]
    fn go_with_everything() {
        let go = go_of(
            "go searchmoves e2e4 P@f7 wtime 1000 btime -5 winc 20 binc 0.5 movestogo 9 depth 3 \
             nodes 77 mate 2 movetime 50 ponder infinite perft 4",
        );
        assert_eq!(go.search_moves, ["e2e4", "P@f7"]);
        assert_eq!(go.white_time, Some(ms(1000)));
        assert_eq!(go.black_time, Some(Duration::ZERO));
        assert_eq!(go.white_increment, Some(ms(20)));
        assert_eq!(go.black_increment, Some(Duration::from_micros(500)));
        assert_eq!(
            (go.moves_to_go, go.depth, go.nodes),
            (Some(9), Some(3), Some(77))
        );
        assert_eq!((go.mate, go.perft), (Some(2), Some(4)));
        assert_eq!(go.move_time, Some(ms(50)));
        assert!(go.ponder && go.infinite && go.unknown.is_empty());
        assert_eq!(go_of("go"), Go::default());
        assert_eq!(go_of("go deep depth 2").unknown, ["deep"]);
    }

    #[test]
    fn go_refuses_what_is_no_number() {
        for bad in [
            "go depth",
            "go depth x",
            "go nodes -1",
            "go wtime NaN",
            "go wtime",
            "go mate 1.5",
        ] {
            assert!(
                matches!(parse(bad), Err(CommandError::Number { .. })),
                "{bad}"
            );
        }
        assert!(
            go_of("go wtime 1e300")
                .white_time
                .is_some_and(|t| t > ms(1 << 40))
        );
    }

    #[test]
    fn unknown_lines_are_refused_and_quoted_in_part() {
        assert_eq!(
            parse("xyzzy 1"),
            Err(CommandError::Unknown("xyzzy 1".into()))
        );
        let long = "\u{e9}".repeat(5000);
        match parse(&long) {
            Err(CommandError::Unknown(text)) => assert!(text.chars().count() < 100),
            other => panic!("{other:?}"),
        }
    }
}
