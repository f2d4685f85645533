//! Every scenario that a real server was seen to play, replayed through wire, translate and our rules.

use std::fs;
use std::path::{Path, PathBuf};

use seneschal::platform::pychess::request::{PathId, Request};
use seneschal::platform::pychess::translate::move_word;

use super::replay::Replay;
use super::scenario::{self, ExpectedState, Input};

/// Folder of the retold recordings.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pychess/recordings")
}

/// All scenarios, by name.
pub fn scenarios() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| {
            (
                path.file_stem().unwrap().to_string_lossy().into_owned(),
                fs::read_to_string(&path).unwrap(),
            )
        })
        .collect();
    all.sort();
    all
}

#[test]
fn every_recording_becomes_the_events_its_scenario_lists() {
    let all = scenarios();
    assert_eq!(all.len(), 49, "a scenario a recording");
    for (name, text) in all {
        let mut replay = Replay::new("Steward");
        for step in scenario::read(&text) {
            let at = format!("{name}:{}", step.line);
            let (boards, expected): (Vec<String>, Vec<String>) = step
                .expected
                .iter()
                .cloned()
                .partition(|words| words.starts_with("board "));
            match &step.input {
                Input::Account(line) => assert_eq!(replay.account(line), expected, "{at}"),
                Input::Game { id, line, state } => {
                    let events = replay.game_line(id, line);
                    assert_eq!(events, expected, "{at}");
                    if let Some(state) = state
                        && !events.iter().any(|event| event.starts_with("unplayable"))
                    {
                        check_state(&at, &replay, state);
                    }
                    for board in boards {
                        check_board(&at, &replay, id, board.trim_start_matches("board "));
                    }
                }
                Input::Page { id, html } => assert_eq!(replay.page(id, html), expected, "{at}"),
                Input::Asked { word, id, form } => check_request(&at, word, id, form),
            }
        }
    }
}

/// The whole list and both clocks, in our units.
fn check_state(at: &str, replay: &Replay, expected: &ExpectedState) {
    let state = replay
        .last_state
        .as_ref()
        .unwrap_or_else(|| panic!("{at}: no state"));
    assert_eq!(state.moves, expected.moves, "{at}");
    let clocks = state.clocks.unwrap();
    let milliseconds = |span: std::time::Duration| span.as_secs_f64() * 1000.0;
    assert!(
        (milliseconds(clocks.white) - expected.clocks.0).abs() < 0.001,
        "{at}"
    );
    assert!(
        (milliseconds(clocks.black) - expected.clocks.1).abs() < 0.001,
        "{at}"
    );
}

/// The board by our rules is the one the server showed to the human, and every move is spelt as the server spells it.
fn check_board(at: &str, replay: &Replay, id: &str, fen: &str) {
    let track = replay
        .game(id)
        .unwrap_or_else(|| panic!("{at}: no game {id}"));
    let position = track
        .position()
        .unwrap_or_else(|| panic!("{at}: our rules refused {:?}", track.moves().last()));
    assert_eq!(comparable(&position.fen()), comparable(fen), "{at}");
    let history = track.history().unwrap();
    for (ply, uci) in track.moves().iter().enumerate() {
        let before = history.position_at(ply).unwrap();
        let m = before.parse_uci(uci).unwrap();
        assert_eq!(&move_word(&before, m, track.notation()), uci, "{at}");
    }
}

/// A FEN in which the order of castling letters and of pocket pieces does not matter, nor a promoted mark, which the server leaves out
/// where it means nothing.
pub fn comparable(fen: &str) -> String {
    let fields: Vec<&str> = fen.split(' ').collect();
    let (board, pocket) = fields[0].split_once('[').unwrap_or((fields[0], "]"));
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters.into_iter().collect::<String>()
    };
    let mut comparable = vec![board.to_owned(), sorted(pocket.trim_end_matches(']'))];
    for (index, field) in fields.iter().enumerate().skip(1) {
        comparable.push(if index == 2 {
            sorted(field)
        } else {
            (*field).to_owned()
        });
    }
    comparable.join(" ")
}

/// What the bot of the recording sent is what this client would send.
fn check_request(at: &str, word: &str, id: &str, form: &[(String, String)]) {
    let path = PathId::new(id).unwrap();
    let value = |name: &str| {
        form.iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.clone())
    };
    let need = |name: &str| value(name).unwrap_or_else(|| panic!("{at}: {name}"));
    let (request, expected) = match word {
        "accept" => (Request::Accept(path), format!("api/challenge/{id}/accept")),
        "decline" => {
            let reason = need("reason");
            (
                Request::Decline { id: path, reason },
                format!("api/challenge/{id}/decline"),
            )
        }
        "abort" => (Request::Abort(path), format!("api/bot/game/{id}/abort")),
        "resign" => (Request::Resign(path), format!("api/bot/game/{id}/resign")),
        "chat" => {
            let room = if need("room") == "player" {
                "player"
            } else {
                "spectator"
            };
            (
                Request::Chat {
                    id: path,
                    room,
                    text: need("text"),
                },
                format!("api/bot/game/{id}/chat"),
            )
        }
        _ => panic!("{at}: {word}"),
    };
    assert_eq!(request.segments().join("/"), expected, "{at}");
    let sent: Vec<(String, String)> = request
        .form()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    assert_eq!(sent, form, "{at}");
}
