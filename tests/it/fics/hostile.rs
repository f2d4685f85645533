//! Input that no server should send: whatever comes, nothing panics and memory stays bounded. Contract point E42.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use seneschal::game::{ChatRoom, GameCommand, GameEvent, OfferKind, PlayMove};
use seneschal::lobby::DeclineReason;
use seneschal::platform::fics::line::{LINE_BYTES_MAX, UNBROKEN_BYTES_MAX};
use seneschal::platform::fics::protocol::{Output, Protocol};
use seneschal::platform::fics::{translate, wire};
use seneschal::platform::{AccountCommand, AccountEvent};
use seneschal::rules::{Position, Variant};
use tokio::time::Instant;

use super::fake_ics::Dialect;
use super::scripts::server_lines;
use super::summary::Transcript;
use super::{Bot, OWN, config, game, server};

/// Bytes and entries that an account may ever hold on to.
const HELD_MAX: usize = 20_000;

#[tokio::test(start_paused = true)]
async fn e42_long_and_broken_input_is_bounded() {
    // A line too long to be a message is dropped; the game goes on (an opponent's text must not end it).
    let server = server(Dialect::Fics, 42);
    let (mut bot, other, ..) = game(&server, "3 0 w crazyhouse").await;
    let mut long = b"\n\rBirch tells you: ".to_vec();
    long.extend(std::iter::repeat_n(b'x', LINE_BYTES_MAX + 100));
    long.extend(b"\n\r{Game 1 (Birch vs. Harbor)\xff\xfe\x80 \xc3\x28 Birch resigns}\n\rfics% ");
    server.raw(OWN, &long);
    other.send("e2e4");
    bot.state_with(1).await;
    // A stream without a newline is not an ICS: the connection goes, with a reason, and a new one comes.
    server.raw(OWN, &vec![b'y'; UNBROKEN_BYTES_MAX + 1]);
    let words = bot
        .event(|event| {
            if let AccountEvent::Offline { words, .. } = event {
                Some(words.clone())
            } else {
                None
            }
        })
        .await;
    assert!(words.contains("no newline"), "{words}");
    bot.snapshot().await;
    bot.stop().await;

    // The same before the login, and a telnet command that never ends.
    for bytes in [
        vec![b'z'; 200_000],
        [vec![0xff, 0xfa], vec![b'q'; 5000]].concat(),
    ] {
        let mut protocol = Protocol::new(config(), None, 1);
        let now = Instant::now();
        protocol.connected(now, 0);
        let outcome = bytes.chunks(100).try_for_each(|chunk| {
            assert!(protocol.held() < HELD_MAX);
            protocol.received(chunk, now)
        });
        assert!(outcome.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn connections_that_end_anywhere_are_followed_by_another() {
    let server = server(Dialect::Fics, 43);
    let mut bot = Bot::start(&server, config());
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(37)).await;
        server.raw(OWN, b"\xff");
        server.cut(OWN);
    }
    bot.snapshot().await;
    bot.stop().await;
}

#[test]
fn every_prefix_of_every_line_is_read_without_panic() {
    for line in server_lines() {
        for (end, _) in line.char_indices() {
            drop(wire::parse(&line[..end]));
            drop(wire::parse(&line[end..]));
        }
    }
}

/// Found by a million mutated lines: the number of the move is a number like any other, and as wrong.
#[test]
fn a_board_of_a_senseless_move_is_no_ply_of_the_game() {
    let board = |number: &str| {
        let line = format!(
            "<12> rnbqkbnr pppppppp -------- -------- -------- -------- PPPPPPPP RNBQKBNR W -1 1 1 1 1 0 7 \
             Cedar Birch -1 3 0 39 39 180 180 {number} none (0:00) none 0 0 0"
        );
        match wire::parse(&line) {
            Ok(wire::ServerLine::Board(board)) => board,
            other => panic!("{number}: {other:?}"),
        }
    };
    assert_eq!(translate::ply(&board("3")), 4);
    assert_eq!(translate::ply(&board("0")), 0);
    for number in ["2147483650", "4294967295", "9223372036854775807"] {
        assert_eq!(translate::ply(&board(number)), u32::MAX, "{number}");
    }
}

/// How many lines to mutate: `SENESCHAL_MUTATIONS`, or a number that takes a second.
fn mutations() -> u64 {
    std::env::var("SENESCHAL_MUTATIONS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_000)
}

#[test]
fn mutated_lines_neither_panic_nor_pile_up() {
    let lines = server_lines();
    let mut rng = SmallRng::seed_from_u64(0xf1c5);
    let mut transcript = Transcript::ready(OWN);
    let mut outputs = 0u64;
    for round in 0..mutations() {
        let mut bytes = lines[rng.random_range(0..lines.len())].clone().into_bytes();
        for _ in 0..rng.random_range(0..5) {
            mutate(&mut bytes, &lines, &mut rng);
        }
        bytes.extend_from_slice(
            [&b"\n\r"[..], b"\n", b"\r\n", b"\n\rfics% ", b""][rng.random_range(0..5)],
        );
        if transcript
            .protocol
            .received(&bytes, transcript.now)
            .is_err()
        {
            transcript = another(&mut rng);
        }
        transcript.advance(Duration::from_millis(rng.random_range(0..60)));
        for output in transcript.take() {
            outputs += 1;
            // A connection that is given up is followed by another.
            match output {
                Output::Close { .. } => {
                    transcript = another(&mut rng);
                    break;
                }
                other => command(&mut transcript, &other, &mut rng),
            }
        }
        if round % 64 == 0 {
            transcript.sent();
        }
        assert!(
            transcript.protocol.held() < HELD_MAX,
            "after {round} lines: {}",
            transcript.protocol.held()
        );
    }
    assert!(outputs > 0);
}

/// Another connection, mostly past the login.
fn another(rng: &mut SmallRng) -> Transcript {
    if rng.random_bool(0.8) {
        Transcript::ready(OWN)
    } else {
        Transcript::new(config())
    }
}

/// A daemon that does anything.
fn command(transcript: &mut Transcript, output: &Output, rng: &mut SmallRng) {
    let now = transcript.now;
    match output {
        Output::Account(AccountEvent::Challenged(offer)) => {
            let id = offer.id.clone();
            let command = match rng.random_range(0..4) {
                0 => AccountCommand::Accept(id),
                1 => AccountCommand::Decline {
                    id,
                    reason: DeclineReason::Later,
                },
                2 => AccountCommand::Cancel(id),
                _ => AccountCommand::Resume(offer.opponent.name.clone()),
            };
            transcript.protocol.account_command(command, now);
        }
        Output::Game {
            id,
            event: GameEvent::Full { state, .. } | GameEvent::State(state),
        } => {
            let command = match rng.random_range(0..6) {
                0 => GameCommand::Resync,
                1 => GameCommand::Answer {
                    offer: OfferKind::Draw,
                    accept: rng.random(),
                },
                2 => GameCommand::Answer {
                    offer: OfferKind::Takeback,
                    accept: rng.random(),
                },
                3 => GameCommand::Say {
                    room: ChatRoom::Players,
                    text: "hello".to_owned(),
                },
                4 => GameCommand::CallFlag,
                _ => {
                    let position = Position::start(Variant::Chess);
                    let m = position.legal_moves()[rng.random_range(0..20)];
                    GameCommand::Play(Box::new(PlayMove {
                        position,
                        m,
                        ply: state.moves.len(),
                        offer_draw: rng.random(),
                    }))
                }
            };
            transcript.protocol.game_command(id, command, now);
        }
        _ => {}
    }
}

fn mutate(bytes: &mut Vec<u8>, lines: &[String], rng: &mut SmallRng) {
    if bytes.is_empty() {
        bytes.push(rng.random());
        return;
    }
    let at = rng.random_range(0..bytes.len());
    match rng.random_range(0..8) {
        0 => bytes[at] = rng.random(),
        1 => bytes[at] ^= 1 << rng.random_range(0..8),
        2 => drop(bytes.remove(at)),
        3 => bytes.insert(at, rng.random()),
        4 => bytes.truncate(at),
        5 => {
            let other = lines[rng.random_range(0..lines.len())].as_bytes();
            let from = rng.random_range(0..=other.len());
            bytes.splice(at..at, other[from..].iter().copied());
        }
        6 => {
            let digits = rng.random_range(0..u64::MAX).to_string();
            bytes.splice(at..at, digits.into_bytes());
        }
        _ => {
            let end = rng.random_range(at..=bytes.len());
            let piece = bytes[at..end].to_vec();
            bytes.extend(piece);
        }
    }
}
