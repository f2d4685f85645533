//! `kill -9` at a random moment loses nothing that was acknowledged.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use seneschal::store::records::OwedGame;
use seneschal::store::{Durability, Store, StoreOptions};

const DATABASE: &str = "SENESCHAL_TEST_KILL_DATABASE";

fn open(path: &Path) -> Store {
    let options = StoreOptions {
        durability: Durability::Process,
        ..StoreOptions::default()
    };
    Store::open(path, &options).unwrap()
}

/// Not a test by itself: the process that the test below kills. Writes records one
/// after the other and prints the number of each one that was acknowledged.
#[test]
#[ignore = "started by acknowledged_records_survive_kill_9 in a process of its own"]
fn writer_that_is_killed() {
    let Some(path) = std::env::var_os(DATABASE) else {
        return;
    };
    let store = open(Path::new(&path));
    let first = store.list::<OwedGame>("me", 0).wait().unwrap().len();
    let mut out = std::io::stdout().lock();
    for n in first..first + 1_000_000 {
        let game = OwedGame {
            opponent: format!("opponent {n}"),
            ply: n as u32,
            since_ms: n as i64,
            extra: serde_json::Value::Null,
        };
        let key = format!("{n:09}");
        store.put("me", &key, &game, None, n as i64).wait().unwrap();
        writeln!(out, "kept {n}").unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn acknowledged_records_survive_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("killed.db");
    let mut total = 0;
    for round in 0..8_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "store_kill::writer_that_is_killed",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .env(DATABASE, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // The moment of death moves with the round: after a number of writes and a little more.
        let kill_after = 3 + round * 11;
        let mut acknowledged = None;
        for line in lines.by_ref() {
            // The test harness prints on the same stream, sometimes on the same line.
            let line = line.unwrap();
            if let Some((_, number)) = line.split_once("kept ") {
                acknowledged = Some(number.parse::<usize>().unwrap());
                if acknowledged.unwrap() >= total + kill_after as usize {
                    break;
                }
            }
        }
        let moment = Instant::now() + Duration::from_micros(371 * round);
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What was still in the pipe had been acknowledged as well. A torn last line does not count.
        for line in lines.map_while(Result::ok) {
            if let Some(number) = line.strip_prefix("kept ")
                && let Ok(number) = number.parse()
            {
                acknowledged = Some(number);
            }
        }
        let acknowledged = acknowledged.expect("the writer wrote something");

        let store = open(&path);
        let kept = store.list::<OwedGame>("me", 0).wait().unwrap();
        assert!(
            kept.len() > acknowledged,
            "round {round}: {acknowledged} was acknowledged, but only {} records are kept",
            kept.len()
        );
        for (n, record) in kept.iter().enumerate() {
            assert_eq!(record.value.ply as usize, n, "a hole in what was kept");
        }
        total = kept.len();
    }
}
