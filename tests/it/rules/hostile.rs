//! Text from strangers: mutated positions, moves and games. Nothing may panic, overflow or hang, and what is accepted must
//! be usable.
//!
//! `SENESCHAL_FUZZ_ITERATIONS` sets the number of inputs of each kind. The long run is
//! `SENESCHAL_FUZZ_ITERATIONS=1000000 cargo test --profile checked hostile`.

use std::hint::black_box;

use seneschal::rules::notation::{Holdings, PgnReader, epd};
use seneschal::rules::starts::SplitMix64;
use seneschal::rules::{Adjudication, CastlingMode, Color, History, Position, Setup, Variant};

use super::{all_starts, data, random_game, setting, table, variant_of};

fn iterations() -> u64 {
    setting("SENESCHAL_FUZZ_ITERATIONS", 20_000)
}

fn below(random: &mut SplitMix64, bound: usize) -> usize {
    random.below(u32::try_from(bound).unwrap()) as usize
}

/// Bytes that mean something in one of the notations, and some that mean nothing anywhere.
const ALPHABET: &[u8] =
    b"KQRBNACPkqrbnacpabcdefghij0123456789/[]-~+ wb@x=O#(){};%$.*!?\"\\\n\t\0\xff\xc3\xa9";

/// Changes a text in a few places: bytes replaced, removed, put in, parts doubled, swapped or cut off.
fn mutate(text: &[u8], other: &[u8], random: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..=random.below(3) {
        let at = below(random, bytes.len() + 1);
        match random.below(8) {
            0 | 1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = ALPHABET[below(random, ALPHABET.len())];
                }
            }
            2 => bytes.insert(at, ALPHABET[below(random, ALPHABET.len())]),
            3 => {
                if at < bytes.len() {
                    bytes.remove(at);
                }
            }
            4 => {
                let end = (at + 1 + below(random, 12)).min(bytes.len());
                let part = bytes[at.min(end)..end].to_vec();
                bytes.splice(at..at, part);
            }
            5 => {
                let from = below(random, other.len() + 1);
                let end = (from + below(random, 24)).min(other.len());
                bytes.splice(at..at, other[from..end].iter().copied());
            }
            6 => bytes.truncate(at),
            _ => {
                let to = below(random, bytes.len() + 1);
                if at < bytes.len() && to < bytes.len() {
                    bytes.swap(at, to);
                }
            }
        }
        bytes.truncate(4096);
    }
    bytes
}

/// Names the position at hand when something panics deep below.
struct AtHand(String);

impl Drop for AtHand {
    #[expect(
        clippy::print_stderr,
        reason = "what a failing test says belongs to its output"
    )]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the position at hand: {}", self.0);
        }
    }
}

/// Uses a position in every way there is.
fn exercise(position: &Position, random: &mut SplitMix64) {
    let fen = position.fen();
    let _named = AtHand(format!("{:?} {fen}", position.variant()));
    let again = Position::from_fen(position.variant(), position.castling_mode(), &fen)
        .unwrap_or_else(|error| panic!("{fen} was written and is refused: {error}"));
    assert_eq!(again.key(), position.key(), "{fen}");
    let moves = position.legal_moves();
    assert_eq!(position.perft(1), moves.len() as u64, "{fen}");
    for adjudication in Adjudication::ALL {
        black_box(adjudication.verdict(&History::new(position.clone())));
        for color in Color::ALL {
            black_box(adjudication.flag(position, color));
        }
    }
    if moves.is_empty() {
        return;
    }
    let m = moves[below(random, moves.len())];
    assert_eq!(position.parse_uci(&position.uci(m)), Ok(m), "{fen}");
    assert_eq!(position.parse_san(&position.san(m)), Ok(m), "{fen}");
    let mut next = position.clone();
    next.play(m).unwrap();
    assert_eq!(
        next.key(),
        next.key_from_scratch(),
        "{fen} {}",
        position.uci(m)
    );
    assert!(next.perft(1) < 1024, "{fen}");
}

#[test]
fn hostile_positions() {
    let mut random = SplitMix64::new(0xfe17);
    let standard = CastlingMode::Standard;
    let mut seeds: Vec<(Variant, CastlingMode, String)> = Variant::ALL
        .into_iter()
        .map(|variant| (variant, standard, variant.start_fen().to_owned()))
        .collect();
    for row in table("fens.txt").into_iter().chain(table("bad_fens.txt")) {
        let (variant, mode) = variant_of(&row[0]);
        seeds.push((variant, mode, row.get(2).cloned().unwrap_or_default()));
    }
    for case in epd::parse(&data("perft.epd")) {
        let position = case.unwrap().position;
        seeds.push((position.variant(), position.castling_mode(), position.fen()));
    }
    let (mut accepted, mut countable) = (0_u64, 0_u64);
    for _ in 0..iterations() {
        let (variant, mode, seed) = &seeds[below(&mut random, seeds.len())];
        let other = &seeds[below(&mut random, seeds.len())].2;
        let bytes = mutate(seed.as_bytes(), other.as_bytes(), &mut random);
        let text = String::from_utf8_lossy(&bytes);
        // A text is likeliest to be read by its own variant, but every variant must survive it.
        let (variant, mode) = match random.below(4) {
            0 => (
                Variant::ALL[below(&mut random, Variant::ALL.len())],
                CastlingMode::Chess960,
            ),
            _ => (*variant, *mode),
        };
        match Position::from_fen(variant, mode, &text) {
            Ok(position) => {
                accepted += 1;
                exercise(&position, &mut random);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        // Counting tools accept more; they must survive it as well.
        if let Ok(setup) = Setup::from_fen(variant, mode, &text)
            && let Ok(position) = Position::new_unreachable(&setup, variant, mode)
        {
            countable += 1;
            black_box(position.perft(2));
        }
    }
    assert!(
        accepted > iterations() / 50,
        "only {accepted} mutants were accepted"
    );
    assert!(countable >= accepted);
}

/// Positions met in random games, for moves to be read in.
fn positions(random: &mut SplitMix64) -> Vec<Position> {
    let mut positions = Vec::new();
    for start in all_starts(random) {
        random_game(&start, random, 120, |position, random| {
            if random.below(12) == 0 && position.has_legal_move() {
                positions.push(position.clone());
            }
        });
    }
    positions
}

fn hostile_moves(
    seed: u64,
    write: impl Fn(&Position, seneschal::rules::Move) -> String,
    read: impl Fn(&Position, &str) -> Result<seneschal::rules::Move, String>,
) {
    let mut random = SplitMix64::new(seed);
    let positions = positions(&mut random);
    let mut pool = Vec::new();
    for position in &positions {
        for &m in position.legal_moves().iter().take(6) {
            pool.push(write(position, m));
        }
    }
    let (mut accepted, mut refused) = (0_u64, 0_u64);
    for _ in 0..iterations() {
        let position = &positions[below(&mut random, positions.len())];
        let moves = position.legal_moves();
        let text = if random.below(2) == 0 {
            write(position, moves[below(&mut random, moves.len())])
        } else {
            pool[below(&mut random, pool.len())].clone()
        };
        let other = &pool[below(&mut random, pool.len())];
        let bytes = mutate(text.as_bytes(), other.as_bytes(), &mut random);
        match read(position, &String::from_utf8_lossy(&bytes)) {
            Ok(m) => {
                accepted += 1;
                assert!(position.is_legal(m));
                position.clone().play(m).unwrap();
            }
            Err(message) => {
                refused += 1;
                assert!(!message.is_empty());
            }
        }
    }
    assert!(
        accepted > 0 && refused > 0,
        "{accepted} accepted, {refused} refused"
    );
}

#[test]
fn hostile_uci() {
    hostile_moves(0x0c1, Position::uci, |position, text| {
        position.parse_uci(text).map_err(|error| error.to_string())
    });
}

#[test]
fn hostile_san() {
    hostile_moves(0x5a1, Position::san, |position, text| {
        position.parse_san(text).map_err(|error| error.to_string())
    });
}

#[test]
fn hostile_games() {
    let mut random = SplitMix64::new(0x969);
    let text = data("games.pgn");
    let games: Vec<&str> = text.split("\n\n[").collect();
    let (mut read, mut broken) = (0_u64, 0_u64);
    let mut done = 0;
    while done < iterations() {
        let mut input = Vec::new();
        for _ in 0..1 + random.below(2) {
            let game = games[below(&mut random, games.len())];
            let other = games[below(&mut random, games.len())];
            input.extend_from_slice(b"[");
            input.extend(mutate(game.as_bytes(), other.as_bytes(), &mut random));
            input.extend_from_slice(b"\n\n");
            done += 1;
        }
        for game in PgnReader::new(input.as_slice()) {
            match game {
                Ok(game) => {
                    read += 1;
                    // Writing and reading again is dear, so not every game does it.
                    if random.below(8) == 0 {
                        let written = game.to_string();
                        let again = PgnReader::new(written.as_bytes()).next().unwrap().unwrap();
                        assert_eq!(again.moves.len(), game.moves.len(), "{written}");
                        assert_eq!(again.to_string(), written);
                    }
                }
                Err(error) => {
                    broken += 1;
                    assert!(error.line > 0 && !error.to_string().is_empty());
                }
            }
        }
    }
    assert!(read > 0 && broken > 0, "{read} read, {broken} broken");
}

/// Lines that are anything but holdings or lists of positions.
#[test]
fn hostile_lines() {
    let mut random = SplitMix64::new(0x11e5);
    let holdings = "<b1> game 12 white [PNN] black [BPPQ] <- BQ";
    let case = "crazyhouse ; rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1 ; D1 20 ; D2 400 ; id start";
    for _ in 0..iterations() {
        let line = mutate(holdings.as_bytes(), case.as_bytes(), &mut random);
        black_box(Holdings::parse(&String::from_utf8_lossy(&line)));
        let line = mutate(case.as_bytes(), holdings.as_bytes(), &mut random);
        for parsed in epd::parse(&String::from_utf8_lossy(&line)) {
            if let Err(error) = parsed {
                assert!(error.line > 0);
            }
        }
    }
    // Repeated so often that counters of eight bits would overflow.
    assert_eq!(Holdings::parse(&format!("[{}] []", "P".repeat(256))), None);
}
