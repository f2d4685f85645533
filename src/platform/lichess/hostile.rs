//! Mutated lines through everything that reads lines: no panic, and nothing that grows with what is read.
//!
//! The number of mutations comes from the environment variable `SENESCHAL_MUTATIONS` (20 000 if unset).

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::translate::game::{Background, chat, finish, full, notice, state};
use super::translate::lobby;
use super::wire::{self, EventLine, GameLine};
use crate::platform::error::parse_error_body;
use crate::platform::ndjson::{Frame, LineSplitter};

const EVENT_LINES: [&str; 6] = [
    r#"{"type":"gameStart","game":{"fullId":"aBcDeFgHwxyz","gameId":"aBcDeFgH","fen":"8/8/8/8/8/8/8/8 w - - 0 1","color":"black","lastMove":"","source":"friend","status":{"id":20,"name":"started"},"variant":{"key":"crazyhouse","name":"Crazyhouse"},"speed":"blitz","perf":"crazyhouse","rated":true,"hasMoved":false,"opponent":{"id":"user_a","username":"User_A","rating":1500},"isMyTurn":true,"secondsLeft":300,"compat":{"bot":true,"board":true},"id":"aBcDeFgH"}}"#,
    r#"{"type":"gameFinish","game":{"gameId":"aBcDeFgH","color":"white","source":"arena","tournamentId":"tttttttt","status":{"id":35,"name":"outoftime"},"winner":"white","opponent":{"id":null,"username":"Stockfish level 1","ai":1}}}"#,
    r#"{"type":"challenge","challenge":{"id":"cccccccc","url":"https://example.org/cccccccc","status":"created","challenger":{"id":"user_a","name":"User_A","rating":1700,"title":null,"provisional":true,"online":true,"lag":4},"destUser":{"id":"bot_us","name":"Bot_Us","title":"BOT"},"variant":{"key":"fromPosition","name":"From Position","short":"FEN"},"rated":false,"speed":"blitz","timeControl":{"type":"clock","limit":300,"increment":2,"show":"5+2"},"color":"random","finalColor":"white","initialFen":"4k3/8/8/8/8/8/8/4K2R w K - 0 1","rules":["noAbort"]},"compat":{"bot":true,"board":false}}"#,
    r#"{"type":"challengeDeclined","challenge":{"id":"cccccccc","status":"declined","challenger":null,"destUser":null,"timeControl":{"type":"correspondence","daysPerTurn":3},"declineReasonKey":"toofast"}}"#,
    r#"{"type":"challengeCanceled","challenge":{"id":"cccccccc","timeControl":{"type":"unlimited"},"variant":{"key":"horde"},"initialFen":"rnbqkbnr/pppppppp/8/1PP2PP1/PPPPPPPP/PPPPPPPP/PPPPPPPP/PPPPPPPP w kq - 0 1"}}"#,
    r#"{"error":"Please don't poll this endpoint, it is intended to be streamed."}"#,
];

const GAME_LINES: [&str; 5] = [
    r#"{"id":"aBcDeFgH","variant":{"key":"chess960","name":"Chess960","short":"960"},"speed":"blitz","perf":{"name":"Chess960"},"rated":false,"createdAt":1745112707998,"white":{"id":"bot_us","name":"Bot_Us","title":"BOT","rating":2000},"black":{"aiLevel":3},"initialFen":"bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w KQkq - 0 1","clock":{"initial":180000,"increment":2000},"type":"gameFull","state":{"type":"gameState","moves":"e2e4 e7e5","wtime":180000,"btime":180000,"winc":2000,"binc":2000,"status":"started"}}"#,
    r#"{"type":"gameState","moves":"e2e4 c7c5 P@f4 e1g1 a7a8q","wtime":7598040,"btime":-8395220,"winc":10000,"binc":10000,"wdraw":true,"btakeback":true,"status":"mate","winner":"black","expiration":{"idleMillis":4,"millisToMove":20000}}"#,
    r#"{"type":"chatLine","username":"user_a","text":"Good luck, have fun \u202e","room":"spectator"}"#,
    r#"{"type":"opponentGone","gone":true,"claimWinInSeconds":8}"#,
    r#"{"type":"gameState","moves":"","wtime":2147483647,"btime":2147483647,"status":{"id":20,"name":"started"}}"#,
];

const SPICE: [&str; 16] = [
    "null",
    "[]",
    "{}",
    "\"",
    "\\",
    ",",
    ":",
    "}",
    "9999999999999999999999",
    "-1e400",
    "1.5",
    "true",
    "\u{202e}",
    "\n",
    "\"type\":",
    "\\ud800",
];

fn mutate(line: &str, rng: &mut SmallRng) -> Vec<u8> {
    let mut bytes = line.as_bytes().to_vec();
    for _ in 0..rng.random_range(1..=4) {
        let at = rng.random_range(0..=bytes.len());
        match rng.random_range(0..7) {
            0 if at < bytes.len() => bytes[at] = rng.random(),
            1 => bytes.truncate(at),
            2 => {
                let end = (at + rng.random_range(1..20)).min(bytes.len());
                bytes.drain(at..end);
            }
            3 => {
                let spice = SPICE[rng.random_range(0..SPICE.len())];
                bytes.splice(at..at, spice.bytes());
            }
            4 => {
                let end = (at + rng.random_range(1..40)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = rng.random_range(0..=bytes.len());
                bytes.splice(to..to, piece);
            }
            5 => {
                let piece = vec![
                    [b'[', b'{', b'9', b' '][rng.random_range(0..4)];
                    rng.random_range(1..300)
                ];
                bytes.splice(at..at, piece);
            }
            _ => {
                // A value of another type in the place of one that begins here.
                let spice = SPICE[rng.random_range(0..SPICE.len())];
                if let Some(colon) = bytes[at..].iter().position(|b| *b == b':') {
                    let from = at + colon + 1;
                    let length = bytes[from..]
                        .iter()
                        .position(|b| matches!(b, b',' | b'}'))
                        .unwrap_or(0);
                    bytes.splice(from..from + length, spice.bytes());
                }
            }
        }
    }
    bytes
}

fn read_event(text: &str) {
    let Ok(line) = wire::parse_event(text) else {
        return;
    };
    match line {
        EventLine::GameStart(info) => {
            if let Some(notice) = notice(&info) {
                assert!(
                    notice
                        .opponent
                        .is_none_or(|opponent| opponent.name.as_str().chars().count() <= 40)
                );
            }
        }
        EventLine::GameFinish(info) => drop(finish(&info)),
        EventLine::Challenge(challenge, compat) => {
            drop(lobby::challenge(
                &challenge,
                "bot_us",
                compat.as_ref(),
                false,
            ));
        }
        EventLine::ChallengeCanceled(challenge) | EventLine::ChallengeDeclined(challenge) => {
            lobby::decline_reason(challenge.decline_reason_key.as_deref());
            drop(lobby::challenge(&challenge, "bot_us", None, true));
        }
        EventLine::Error(text) | EventLine::Unknown(text) => assert!(text.chars().count() < 2500),
    }
}

fn read_game(text: &str) {
    let Ok(line) = wire::parse_game(text) else {
        return;
    };
    match line {
        GameLine::Full(line) => drop(full(&line, "bot_us", &Background::default())),
        GameLine::State(line) => drop(state(&line, true)),
        GameLine::Chat(line) => assert!(chat(&line).text.chars().count() <= 1000),
        GameLine::OpponentGone(line) => {
            let wait = line.claim_win_in_seconds.map(super::translate::seconds);
            assert!(wait.is_none_or(|wait| wait < std::time::Duration::MAX));
        }
        GameLine::Error(text) | GameLine::Unknown(text) => assert!(text.chars().count() < 2500),
    }
}

fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn mutated_lines_do_no_harm() {
    let count: u32 = std::env::var("SENESCHAL_MUTATIONS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(20_000);
    let mut rng = SmallRng::seed_from_u64(7);
    let mut splitter = LineSplitter::new(4096);
    let (mut lines, mut read) = (0_u32, 0_u32);
    let before = resident_kib();
    for n in 0..count {
        let all: Vec<&str> = EVENT_LINES.iter().chain(&GAME_LINES).copied().collect();
        let mut bytes = mutate(all[n as usize % all.len()], &mut rng);
        drop(parse_error_body(&bytes));
        bytes.push(b'\n');
        for chunk in bytes.chunks(rng.random_range(1..200)) {
            splitter.push(chunk);
            loop {
                match splitter.next_line() {
                    Ok(Some(Frame::Line(text))) => {
                        lines += 1;
                        read += u32::from(
                            wire::parse_event(&text).is_ok() || wire::parse_game(&text).is_ok(),
                        );
                        read_event(&text);
                        read_game(&text);
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    // The stream would be closed here.
                    Err(_) => splitter = LineSplitter::new(4096),
                }
            }
            assert!(splitter.pending_bytes() <= 4096 + 200);
        }
    }
    assert!(
        lines > count / 2,
        "the lines got through the framing: {lines}"
    );
    assert!(
        read > count / 20,
        "some of them were messages all the same: {read} of {lines}"
    );
    if let (Some(before), Some(after)) = (before, resident_kib()) {
        assert!(
            after < before + 32 * 1024,
            "resident memory grew from {before} to {after} KiB"
        );
    }
}
