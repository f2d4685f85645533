//! Cut, doubled and scrambled lines: no panic, and no growth.
//!
//! `SENESCHAL_NOISE_LINES` sets the number of scrambled lines (1,000,000 for the long run), `SENESCHAL_CAPTURES` names a folder with
//! recordings of a real server, which are then replayed as well.

use std::env;
use std::fs;
use std::path::PathBuf;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use seneschal::platform::ndjson::{Frame, LineSplitter};
use seneschal::platform::pychess::page::GamePage;

use super::recordings::{comparable, scenarios};
use super::replay::Replay;
use super::scenario::{self, Input};

const DEFAULT_LINES: usize = 20_000;
/// What the scrambled lines may add to the process at its largest, in KiB.
const GROWTH_KIB_MAX: u64 = 200_000;

/// All lines of all scenarios, with the game they belong to (`""` for the account's stream).
fn all_lines() -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for (_, text) in scenarios() {
        for step in scenario::read(&text) {
            match step.input {
                Input::Account(line) => lines.push((String::new(), line)),
                // The longest lists of moves differ by one move only; some of them are enough.
                Input::Game { id, line, .. } if line.len() < 900 || step.line % 16 == 0 => {
                    lines.push((id, line))
                }
                Input::Page { id, html } => lines.push((id, html)),
                Input::Game { .. } | Input::Asked { .. } => {}
            }
        }
    }
    lines
}

fn feed(replay: &mut Replay, id: &str, line: &str) {
    if id.is_empty() {
        drop(replay.account(line));
    } else {
        drop(replay.game_line(id, line));
        drop(GamePage::parse(line));
    }
}

#[test]
fn every_prefix_of_every_line_is_harmless() {
    let mut replay = Replay::new("Steward");
    for (id, line) in all_lines() {
        feed(&mut replay, &id, &line);
        for end in (0..line.len()).filter(|end| line.is_char_boundary(*end)) {
            feed(&mut replay, &id, &line[..end]);
        }
    }
}

#[test]
fn streams_cut_anywhere_give_the_same_lines() {
    let mut rng = SmallRng::seed_from_u64(11);
    for (name, text) in scenarios() {
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        for step in scenario::read(&text) {
            if let Input::Account(line) | Input::Game { line, .. } = step.input {
                bytes.extend_from_slice(line.as_bytes());
                bytes.push(b'\n');
                expected.push(Frame::Line(line));
            }
        }
        let mut splitter = LineSplitter::new(64 * 1024);
        let (mut found, mut rest) = (Vec::new(), bytes.as_slice());
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rng.random_range(1..=rest.len().min(700)));
            splitter.push(now);
            while let Some(frame) = splitter.next_line().unwrap() {
                found.push(frame);
            }
            rest = later;
        }
        assert_eq!(found, expected, "{name}");
        assert_eq!(splitter.pending_bytes(), 0);
    }
}

#[test]
fn scrambled_lines_are_harmless_and_bounded() {
    let count = env::var("SENESCHAL_NOISE_LINES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(DEFAULT_LINES);
    let lines = all_lines();
    let mut rng = SmallRng::seed_from_u64(2024);
    let mut replay = Replay::new("Steward");
    let before = peak_kib();
    for number in 0..count {
        if number % 500 == 0 {
            replay = Replay::new("Steward");
        }
        let (id, line) = &lines[rng.random_range(0..lines.len())];
        let (_, other) = &lines[rng.random_range(0..lines.len())];
        feed(&mut replay, id, &scramble(line, other, &mut rng));
    }
    assert!(
        peak_kib() - before < GROWTH_KIB_MAX,
        "grew by {} KiB",
        peak_kib() - before
    );
}

/// One to four changes of the kinds that networks, proxies and hostile clients make.
fn scramble(line: &str, other: &str, rng: &mut SmallRng) -> String {
    const NUMBERS: [&str; 8] = [
        "-1",
        "1e400",
        "1e308",
        "NaN",
        "null",
        "9999999999999999999999",
        "0.0000001",
        "\"7\"",
    ];
    const WORDS: [&str; 10] = [
        "True",
        "None",
        "\\u0000",
        "HTTP/1.1 409 Conflict\r\n",
        "[",
        "}",
        "\"",
        "P@",
        "e1h1",
        "a1a1",
    ];
    let mut bytes = line.as_bytes().to_vec();
    for _ in 0..rng.random_range(1..=4) {
        let at = rng.random_range(0..=bytes.len());
        match rng.random_range(0..8) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] = rng.random(),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => bytes.insert(at, rng.random()),
            4 => {
                let word = WORDS[rng.random_range(0..WORDS.len())];
                bytes.splice(at..at, word.bytes());
            }
            5 => {
                let other = other.as_bytes();
                bytes.truncate(at);
                bytes.extend_from_slice(&other[rng.random_range(0..=other.len())..]);
            }
            6 => {
                // A number becomes another one.
                let digits = bytes
                    .iter()
                    .skip(at)
                    .position(u8::is_ascii_digit)
                    .map(|offset| at + offset);
                if let Some(start) = digits {
                    let end = bytes[start..]
                        .iter()
                        .position(|b| !b.is_ascii_digit())
                        .map_or(bytes.len(), |length| start + length);
                    bytes.splice(
                        start..end,
                        NUMBERS[rng.random_range(0..NUMBERS.len())].bytes(),
                    );
                }
            }
            _ => {
                let end = (at + rng.random_range(0..40)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The largest memory this process has had so far; zero where the system does not tell.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse().ok())
        .unwrap_or(0)
}

/// One line of a recording: who, which way, what.
fn recorded(line: &str) -> Option<(&str, &str, &str)> {
    let rest = line.split_once("] ")?.1;
    let (who, rest) = rest.split_once(' ')?;
    let rest = rest.trim_start();
    let (way, what) = rest.split_once(' ').unwrap_or((rest, ""));
    Some((who, way, what))
}

/// A field of a line that may have been cut, so no parser reads it.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let start = line.find(&format!("\"{name}\":\""))? + name.len() + 4;
    line[start..].split('"').next()
}

/// Runs only when the recordings are at hand. Every line, and every prefix of every line, goes through wire and translate; the boards by our
/// rules are those that the server showed to the human.
#[test]
fn recordings_of_a_real_server_are_understood() {
    let Some(folder) = env::var_os("SENESCHAL_CAPTURES").map(PathBuf::from) else {
        return;
    };
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    files.sort();
    assert!(!files.is_empty(), "no recordings in {}", folder.display());
    let (mut lines, mut boards, mut strange) = (0, 0, Vec::new());
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let names = text
            .lines()
            .filter_map(recorded)
            .filter(|(who, _, _)| who.starts_with("Bot"));
        let us = names
            .map(|(who, _, _)| who.split(['/', '#']).next().unwrap())
            .next()
            .unwrap_or("BotA")
            .to_owned();
        let mut replay = Replay::new(&us);
        let mut streams = std::collections::HashMap::new();
        // The human may see a board a moment before or after us, so all of them are collected first.
        let boards_of_file: std::collections::HashSet<(String, String)> = text
            .lines()
            .filter_map(recorded)
            .filter(|(who, way, what)| {
                *who == "human/wsr" && *way == "<|" && what.contains("\"type\":\"board\"")
            })
            .filter_map(|(_, _, what)| {
                Some((
                    field(what, "gameId")?.to_owned(),
                    comparable(field(what, "fen")?),
                ))
            })
            .collect();
        for (who, way, what) in text.lines().filter_map(recorded) {
            let at = || format!("{}: {what}", path.display());
            if let Some(rest) = what.strip_prefix("GET /api/bot/game/stream/") {
                streams.insert(who.to_owned(), rest.split(' ').next().unwrap().to_owned());
            }
            if way != "<|" || who.starts_with("human") {
                continue;
            }
            lines += 1;
            let id = if who.ends_with("/ev") {
                String::new()
            } else {
                streams.get(who).cloned().unwrap_or_default()
            };
            let events = if id.is_empty() {
                replay.account(what)
            } else {
                replay.game_line(&id, what)
            };
            assert!(
                !events
                    .iter()
                    .any(|event| event.starts_with("error") || event.starts_with("unknown")),
                "{}: {events:?}",
                at()
            );
            if replay.last_state.is_some()
                && let Some(track) = replay.game(&id)
                && !track.moves().is_empty()
            {
                let position = track
                    .position()
                    .unwrap_or_else(|| panic!("{}: refused by our rules", at()));
                let fen = comparable(&position.fen());
                let shown = boards_of_file.contains(&(id.clone(), fen.clone()));
                if shown {
                    boards += 1;
                } else {
                    strange.push(format!("{}: {fen}", at()));
                }
            }
            let mut scratch = Replay::new(&us);
            for end in (0..what.len()).filter(|end| what.is_char_boundary(*end)) {
                feed(&mut scratch, &id, &what[..end]);
            }
        }
    }
    // In a game or two the human was away when the last move came.
    assert!(
        strange.len() <= 3,
        "boards that the server never showed: {strange:#?}"
    );
    assert!(
        lines > 1000 && boards > 900,
        "{lines} lines, {boards} boards"
    );
}
