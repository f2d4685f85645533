//! Recordings of real servers, where a folder of them is at hand (`SENESCHAL_CAPTURES` names it). What each should say is
//! written in `tests/data/fics/recordings.txt`; the scripts express the same facts without the recordings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use seneschal::platform::fics::FicsConfig;
use seneschal::platform::fics::protocol::Protocol;
use seneschal::platform::fics::{line, wire};
use tokio::time::Instant;

use super::summary::{Summary, Transcript};

/// What a server sent to one client: seconds since the start, and bytes.
type Received = Vec<(f64, Vec<u8>)>;

fn folder() -> Option<PathBuf> {
    std::env::var_os("SENESCHAL_CAPTURES").map(PathBuf::from)
}

/// `SECONDS CLIENT DIRECTION PAYLOAD` a line; only what clients received is of use here.
fn read(path: &Path) -> BTreeMap<String, Received> {
    let mut clients: BTreeMap<String, Received> = BTreeMap::new();
    for row in std::fs::read_to_string(path)
        .expect("a recording is text")
        .lines()
    {
        let mut fields = row.splitn(4, ' ');
        let (Some(seconds), Some(client), Some("<"), Some(payload)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        clients
            .entry(client.to_owned())
            .or_default()
            .push((seconds.parse().expect("seconds"), bytes_literal(payload)));
    }
    clients
}

/// Reads `b'...'` with its escapes.
fn bytes_literal(text: &str) -> Vec<u8> {
    let inner = &text[2..text.len() - 1];
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next().expect("an escape has a letter") {
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            b'x' => {
                let digits = [
                    rest.next().expect("two digits"),
                    rest.next().expect("two digits"),
                ];
                let digits = std::str::from_utf8(&digits).expect("ASCII");
                bytes.push(u8::from_str_radix(digits, 16).expect("hexadecimal"));
            }
            other => bytes.push(other),
        }
    }
    bytes
}

fn recordings() -> Vec<(String, Received)> {
    let Some(folder) = folder() else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder is readable")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cap"))
        .collect();
    paths.sort();
    paths
        .iter()
        .flat_map(|path| {
            let name = path
                .file_stem()
                .expect("a file")
                .to_string_lossy()
                .into_owned();
            read(path)
                .into_iter()
                .map(move |(client, received)| (format!("{name} {client}"), received))
        })
        .collect()
}

/// The name that a client got, by the line that starts its session.
fn own_name(received: &Received) -> (String, bool) {
    let bytes: Vec<u8> = received
        .iter()
        .flat_map(|(_, bytes)| bytes.iter().copied())
        .collect();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let name = text
        .split_once("FICS session as ")
        .map(|(_, rest)| rest.split(['(', ' ']).next().unwrap_or_default().to_owned());
    let guest = text.contains("Press return to enter");
    (name.unwrap_or_else(|| "HouseBot".to_owned()), guest)
}

fn account(received: &Received) -> FicsConfig {
    let (handle, guest) = own_name(received);
    FicsConfig {
        handle,
        guest,
        ..super::config()
    }
}

/// Plays one recording through the protocol, every payload cut by `cut`, and gives the summary.
fn play(received: &Received, mut cut: impl FnMut(usize) -> usize) -> Vec<String> {
    let config = account(received);
    let mut summary = Summary::new(&config.handle);
    let mut transcript = Transcript::new(config);
    let start = transcript.now;
    for (seconds, bytes) in received {
        let at = start + Duration::from_secs_f64(*seconds);
        transcript.advance(at.saturating_duration_since(transcript.now));
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(cut(rest.len()).clamp(1, rest.len()));
            transcript
                .protocol
                .received(piece, transcript.now)
                .expect("an ICS sent this");
            rest = tail;
        }
        collect(&mut transcript, &mut summary);
    }
    transcript.advance(Duration::from_secs(2));
    collect(&mut transcript, &mut summary);
    summary.flush()
}

/// The recorded client answered in its own way, so our markers are answered here.
fn collect(transcript: &mut Transcript, summary: &mut Summary) {
    for output in transcript.take() {
        summary.add(&output);
    }
    let now = transcript.now;
    let markers: Vec<String> = transcript
        .sent()
        .into_iter()
        .filter(|line| line.starts_with("mk_"))
        .collect();
    transcript.now = now;
    for marker in markers {
        transcript
            .protocol
            .received(format!("{marker}: Command not found.\n\r").as_bytes(), now)
            .expect("short");
    }
}

fn expectations() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fics/recordings.txt"),
    )
    .expect("the file is there");
    let mut sections: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current = String::new();
    for line in text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        match line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            Some(name) => current = name.to_owned(),
            None => sections
                .entry(current.clone())
                .or_default()
                .push(line.to_owned()),
        }
    }
    sections
}

#[test]
fn recordings_say_what_their_scenarios_list() {
    let expected = expectations();
    assert!(expected.len() >= 40);
    let recordings = recordings();
    let mut found = String::new();
    let mut wrong = Vec::new();
    for (name, received) in &recordings {
        let lines = play(received, |length| length);
        let listed = expected.get(name);
        if listed != Some(&lines) && (listed.is_some() || !lines.is_empty()) {
            wrong.push(name.clone());
        }
        found.push_str(&format!("[{name}]\n{}\n\n", lines.join("\n")));
    }
    if !wrong.is_empty() {
        let path = std::env::temp_dir().join("seneschal-fics-recordings.txt");
        std::fs::write(&path, found).expect("the temporary folder is writable");
        panic!(
            "other events in {wrong:?}; all of them are in {}",
            path.display()
        );
    }
}

#[test]
fn recordings_say_the_same_in_any_pieces() {
    let mut rng = SmallRng::seed_from_u64(3);
    for (name, received) in &recordings() {
        let whole = play(received, |length| length);
        assert_eq!(play(received, |_| 1), whole, "{name}, byte by byte");
        for _ in 0..5 {
            assert_eq!(
                play(received, |length| rng.random_range(1..=length.min(60))),
                whole,
                "{name}, at random"
            );
        }
    }
}

#[test]
fn every_prefix_of_every_recording_is_survived() {
    for (_, received) in &recordings() {
        let bytes: Vec<u8> = received
            .iter()
            .flat_map(|(_, bytes)| bytes.iter().copied())
            .collect();
        // Byte by byte means that the state after every prefix is reached; a loss of the connection is tried at some.
        let mut protocol = Protocol::new(account(received), None, 1);
        let now = Instant::now();
        protocol.connected(now, 0);
        for (index, byte) in bytes.iter().enumerate() {
            protocol.received(&[*byte], now).expect("an ICS sent this");
            if index % 997 == 0 {
                protocol.tick(now + Duration::from_secs(1));
                protocol.disconnected(now);
                protocol.connected(now, 0);
            }
            while protocol.output().is_some() {}
            while protocol.to_send(now).is_some() {}
        }
        // And every prefix of every line of it is read.
        let mut assembler = line::LineAssembler::new();
        let mut frames = Vec::new();
        assembler
            .push(&bytes, &mut frames)
            .expect("an ICS sent this");
        for frame in frames {
            let line::Frame::Line(text) = frame else {
                continue;
            };
            for (end, _) in text.char_indices() {
                drop(wire::parse(&text[..end]));
            }
        }
    }
}
