//! Reads the retold recordings (`tests/data/pychess/README.md`) and writes the server's lines exactly as the server does.

use std::collections::HashMap;

/// One step of a scenario.
#[derive(Debug)]
pub struct Step {
    /// Line number in the file, from 1.
    pub line: usize,
    /// What happens.
    pub input: Input,
    /// What must come of it.
    pub expected: Vec<String>,
}

/// What happens in a step.
#[derive(Debug)]
pub enum Input {
    /// A line of the account's stream.
    Account(String),
    /// A line of a game's stream; for a state also what must be read from it.
    Game {
        id: String,
        line: String,
        state: Option<ExpectedState>,
    },
    /// The game's page.
    Page { id: String, html: String },
    /// A request of the bot: word, id, form.
    Asked {
        word: String,
        id: String,
        form: Vec<(String, String)>,
    },
}

/// What a state says.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedState {
    /// The whole list, in lower case where it is no drop.
    pub moves: Vec<String>,
    /// Milliseconds.
    pub clocks: (f64, f64),
}

/// Reads a whole file.
pub fn read(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut games: HashMap<String, Game> = HashMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(expected) = line.trim_start().strip_prefix("= ") {
            steps
                .last_mut()
                .expect("an expectation follows a step")
                .expected
                .push(expected.to_owned());
            continue;
        }
        let input =
            input(line, &mut games).unwrap_or_else(|| panic!("line {}: {line}", number + 1));
        steps.push(Step {
            line: number + 1,
            input,
            expected: Vec::new(),
        });
    }
    steps
}

#[derive(Default)]
struct Game {
    moves: Vec<String>,
    increment: String,
}

fn input(line: &str, games: &mut HashMap<String, Game>) -> Option<Input> {
    let (kind, rest) = line.split_once(' ')?;
    match kind {
        "a" => account(rest).map(Input::Account),
        "g" => {
            let (id, rest) = rest.split_once(' ')?;
            let (line, state) = game(id, rest, games.entry(id.to_owned()).or_default())?;
            Some(Input::Game {
                id: id.to_owned(),
                line,
                state,
            })
        }
        "page" => {
            let (id, rest) = rest.split_once(' ')?;
            let (status, result) = rest.split_once(' ')?;
            let html = format!(
                "<html><body><div id=\"pychess-variants\" data-gameid=\"{id}\" data-ply=\"9\" data-initialfen=\"\" data-result=\"{result}\" data-status=\"{status}\"></div></body></html>"
            );
            Some(Input::Page {
                id: id.to_owned(),
                html,
            })
        }
        ">" => {
            let (word, rest) = rest.split_once(' ')?;
            let (id, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            Some(Input::Asked {
                word: word.to_owned(),
                id: id.to_owned(),
                form: fields(rest),
            })
        }
        _ => None,
    }
}

/// `room=player text=hello there` with spaces in the last value only.
fn fields(text: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut rest = text;
    while let Some((name, value)) = rest.split_once('=') {
        let (value, after) = match name {
            "text" | "reason" => (value, ""),
            _ => value.split_once(' ').unwrap_or((value, "")),
        };
        fields.push((name.to_owned(), value.to_owned()));
        rest = after;
    }
    fields
}

fn account(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split(' ').collect();
    match words.as_slice() {
        ["ping"] => Some(r#"{"type":"ping"}"#.to_owned()),
        ["start", id, flag] => Some(format!(
            r#"{{"type": "gameStart", "game": {{"id": "{id}", "skill_level": "6", "chess960": "{flag}"}}}}"#
        )),
        ["challenge", id, name, variant, clock, color] => {
            let (limit, increment) = clock.split_once('+')?;
            let (key, shuffled) = variant
                .strip_suffix("/960")
                .map_or((*variant, false), |key| (key, true));
            let perf = if shuffled {
                format!("{key}960")
            } else {
                key.to_owned()
            };
            let shown = if *color == "random" { "white" } else { color };
            Some(format!(
                r#"{{"type":"challenge","challenge":{{"id":"{id}","challenger":{{"name":"{name}","rating":1500,"title":""}},"variant":{{"key":"{key}"}},"rated":false,"timeControl":{{"type":"clock","limit":{limit},"increment":{increment}}},"color":"{color}","finalColor":"{shown}","speed":"blitz","perf":{{"name":"{perf}"}},"level":6,"chess960":{shuffled}}}}}"#
            ))
        }
        _ => None,
    }
}

fn game(id: &str, text: &str, game: &mut Game) -> Option<(String, Option<ExpectedState>)> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match word {
        "ping" => Some((r#"{"type":"ping"}"#.to_owned(), None)),
        "end" => Some((
            format!(r#"{{"type": "gameEnd", "game": {{"id": "{id}"}}}}"#),
            None,
        )),
        "chat" => {
            let mut words = rest.splitn(3, ' ');
            let (name, room, text) = (words.next()?, words.next()?, words.next()?);
            let text = text.replace('"', "\\\"");
            Some((
                format!(
                    r#"{{"type":"chatLine","username":"{name}","room":"{room}","text":"{text}"}}"#
                ),
                None,
            ))
        }
        "full" => {
            let mut words = rest.splitn(5, ' ');
            let (variant, white, black, clocks) =
                (words.next()?, words.next()?, words.next()?, words.next()?);
            let fen = words.next()?.strip_prefix("fen=")?;
            let (fen, moves) = fen
                .split_once(" | ")
                .unwrap_or((fen.strip_suffix(" |").unwrap_or(fen), ""));
            let fen = if fen.starts_with('|') { "" } else { fen };
            let moves = if moves.is_empty() {
                rest.split_once("fen=| ").map_or("", |(_, moves)| moves)
            } else {
                moves
            };
            let (clocks, increment) = clocks.split_once('+')?;
            game.moves = moves
                .split(' ')
                .filter(|m| !m.is_empty())
                .map(str::to_owned)
                .collect();
            game.increment = increment.to_owned();
            let (state, expected) = state(game, clocks)?;
            let line = format!(
                r#"{{"type": "gameFull", "id": "{id}", "variant": {{"name": "{variant}"}}, "white": {{"name": "{white}"}}, "black": {{"name": "{black}"}}, "initialFen": "{fen}", "createdAt": 1796019512, "state": {state}}}"#
            );
            Some((line, Some(expected)))
        }
        "state" => {
            let mut words = rest.split(' ');
            let clocks = words.next()?;
            for word in words {
                match word
                    .strip_prefix('-')
                    .and_then(|count| count.parse::<usize>().ok())
                {
                    Some(count) => game.moves.truncate(game.moves.len().checked_sub(count)?),
                    None => game.moves.push(word.to_owned()),
                }
            }
            let (line, expected) = state(game, clocks)?;
            Some((line, Some(expected)))
        }
        _ => None,
    }
}

fn state(game: &Game, clocks: &str) -> Option<(String, ExpectedState)> {
    let (white, black) = clocks.split_once('/')?;
    let inc = &game.increment;
    let line = format!(
        r#"{{"type": "gameState", "moves": "{}", "wtime": {white}, "btime": {black}, "winc": {inc}, "binc": {inc}, "wdraw": false, "bdraw": false, "wtakeback": false, "btakeback": false, "status": "started"}}"#,
        game.moves.join(" ")
    );
    let plain = |m: &String| {
        if m.contains('@') {
            m.clone()
        } else {
            m.to_lowercase()
        }
    };
    let moves = game.moves.iter().map(plain).collect();
    Some((
        line,
        ExpectedState {
            moves,
            clocks: (white.parse().ok()?, black.parse().ok()?),
        },
    ))
}
