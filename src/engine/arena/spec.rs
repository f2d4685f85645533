//! How to start an engine and how long it may think, as one line of text.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// What bounds a player's moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tempo {
    /// Clock with initial time and increment per move.
    Clock {
        /// Time for the game.
        initial: Duration,
        /// Added after each move.
        increment: Duration,
    },
    /// Nodes per move.
    Nodes(u64),
    /// Plies per move.
    Depth(u32),
    /// Time per move.
    MoveTime(Duration),
}

/// An engine of a match.
///
/// Text form: words `key=value` with quotes as in a shell. Keys: `cmd` (program and arguments;
/// without it: this program), `name`, `dir` (working directory), one of `tc` (seconds, `2+0.02`),
/// `nodes`, `depth`, `movetime` (milliseconds), and `option.NAME` for any option of the engine.
/// The single word `self` is this program with its defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSpec {
    /// Name in tables and game records.
    pub name: String,
    /// Program and arguments; empty: this program's own `uci` command.
    pub command: Vec<String>,
    /// Working directory, if not ours.
    pub directory: Option<PathBuf>,
    /// Bounds of its moves, if it has its own.
    pub tempo: Option<Tempo>,
    /// Options to set, in order.
    pub options: Vec<(String, String)>,
}

/// Why an engine's description was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A quote that is not closed.
    #[error("a quote is not closed in {0:?}")]
    Quote(String),
    /// A word without `=`.
    #[error("{0:?} is not of the form key=value")]
    Form(String),
    /// An unknown key.
    #[error("unknown key {0:?}; known are cmd, name, dir, tc, nodes, depth, movetime, option.NAME")]
    Key(String),
    /// A time control or number that cannot be read.
    #[error("{key} cannot be {value:?}")]
    Value {
        /// The key.
        key: String,
        /// What stood there.
        value: String,
    },
    /// An empty command.
    #[error("cmd is empty")]
    NoCommand,
}

impl FromStr for EngineSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<EngineSpec, SpecError> {
        let mut spec = EngineSpec {
            name: String::new(),
            command: Vec::new(),
            directory: None,
            tempo: None,
            options: Vec::new(),
        };
        for word in split_words(text)? {
            if word == "self" {
                continue;
            }
            let (key, value) = word
                .split_once('=')
                .ok_or_else(|| SpecError::Form(word.clone()))?;
            match key {
                "cmd" => {
                    spec.command = split_words(value)?;
                    if spec.command.is_empty() {
                        return Err(SpecError::NoCommand);
                    }
                }
                "name" => spec.name = value.to_owned(),
                "dir" => spec.directory = Some(PathBuf::from(value)),
                "tc" | "nodes" | "depth" | "movetime" => {
                    spec.tempo = Some(tempo(key, value)?);
                }
                _ => match key.strip_prefix("option.") {
                    Some(name) => spec.options.push((name.to_owned(), value.to_owned())),
                    None => return Err(SpecError::Key(key.to_owned())),
                },
            }
        }
        if spec.name.is_empty() {
            spec.name = default_name(&spec.command);
        }
        Ok(spec)
    }
}

/// The program's file name.
fn default_name(command: &[String]) -> String {
    let program = command.first().map(PathBuf::from);
    program
        .as_ref()
        .and_then(|path| path.file_name())
        .map_or_else(
            || "seneschal".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
}

/// Reads the value of `tc`, `nodes`, `depth` or `movetime`.
///
/// # Errors
/// If it is no positive number, or no time control.
pub fn tempo(key: &str, value: &str) -> Result<Tempo, SpecError> {
    let refused = || SpecError::Value {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let positive = |number: Option<u64>| number.filter(|&n| n > 0).ok_or_else(refused);
    match key {
        "nodes" => Ok(Tempo::Nodes(positive(value.parse().ok())?)),
        "depth" => value
            .parse()
            .ok()
            .filter(|&depth| depth > 0)
            .map(Tempo::Depth)
            .ok_or_else(refused),
        "movetime" => {
            positive(value.parse().ok()).map(|ms| Tempo::MoveTime(Duration::from_millis(ms)))
        }
        _ => {
            let (initial, increment) = value.split_once('+').unwrap_or((value, "0"));
            let initial = seconds(initial).filter(|time| !time.is_zero());
            let increment = seconds(increment);
            match (initial, increment) {
                (Some(initial), Some(increment)) => Ok(Tempo::Clock { initial, increment }),
                _ => Err(refused()),
            }
        }
    }
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.trim().parse().ok()?;
    // A year is more than any game and less than what a duration holds.
    (0.0..=3.2e7)
        .contains(&seconds)
        .then(|| Duration::from_secs_f64(seconds))
}

/// Splits at white space outside quotes; quotes of either kind are taken off.
fn split_words(text: &str) -> Result<Vec<String>, SpecError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(SpecError::Quote(text.to_owned()));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_description() {
        let spec: EngineSpec = "cmd='/opt/my engines/fish -v \"a b\"' name=fish nodes=4000 \
                                option.Hash=64 \"option.Move Overhead=10\" dir=/tmp"
            .parse()
            .unwrap();
        assert_eq!(spec.name, "fish");
        assert_eq!(spec.command, ["/opt/my", "engines/fish", "-v", "a b"]);
        assert_eq!(spec.directory, Some(PathBuf::from("/tmp")));
        assert_eq!(spec.tempo, Some(Tempo::Nodes(4000)));
        assert_eq!(
            spec.options,
            [
                ("Hash".to_owned(), "64".to_owned()),
                ("Move Overhead".to_owned(), "10".to_owned())
            ]
        );
    }

    #[test]
    fn own_program_and_default_names() {
        let own: EngineSpec = "self".parse().unwrap();
        assert!(own.command.is_empty() && own.tempo.is_none());
        assert_eq!(own.name, "seneschal");
        let own: EngineSpec = "self tc=2+0.02 name=new".parse().unwrap();
        assert_eq!(own.name, "new");
        let other: EngineSpec = "cmd=/usr/games/fairy-stockfish".parse().unwrap();
        assert_eq!(other.name, "fairy-stockfish");
    }

    #[test]
    fn time_controls() {
        let clock = |initial, increment| Tempo::Clock {
            initial: Duration::from_secs_f64(initial),
            increment: Duration::from_secs_f64(increment),
        };
        assert_eq!(tempo("tc", "2+0.02"), Ok(clock(2.0, 0.02)));
        assert_eq!(tempo("tc", "60"), Ok(clock(60.0, 0.0)));
        assert_eq!(tempo("depth", "7"), Ok(Tempo::Depth(7)));
        assert_eq!(
            tempo("movetime", "10"),
            Ok(Tempo::MoveTime(Duration::from_millis(10)))
        );
        for (key, value) in [
            ("tc", "0+1"),
            ("tc", "-1"),
            ("tc", "nan"),
            ("tc", "1+x"),
            ("tc", "1e99"),
            ("nodes", "0"),
            ("depth", "-3"),
            ("movetime", ""),
        ] {
            assert!(tempo(key, value).is_err(), "{key}={value}");
        }
    }

    #[test]
    fn refusals_name_the_word() {
        let refusal = |text: &str| text.parse::<EngineSpec>().unwrap_err();
        assert_eq!(refusal("fast"), SpecError::Form("fast".into()));
        assert_eq!(refusal("speed=3"), SpecError::Key("speed".into()));
        assert_eq!(refusal("cmd=''"), SpecError::NoCommand);
        assert!(matches!(refusal("cmd='a"), SpecError::Quote(_)));
        assert!(matches!(refusal("nodes=x"), SpecError::Value { .. }));
    }
}
