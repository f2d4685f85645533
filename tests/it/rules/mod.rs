//! The rules of every variant, against counted trees, recorded endings and notations, other programs, and themselves.

mod endings;
mod games;
mod hostile;
mod notation;
mod perft;
mod pgn;
mod properties;
mod shakmaty;

use std::path::PathBuf;

use seneschal::rules::notation::epd;
use seneschal::rules::starts::{SplitMix64, TenWide, Wild, shuffled_start, shuffled_starts};
use seneschal::rules::{CastlingMode, Position, Variant};

/// The text of a file of this area's test data.
fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/rules")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The lines of a data file cut at `|`, without comments and empty lines.
fn table(name: &str) -> Vec<Vec<String>> {
    data(name)
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            line.split('|')
                .map(|field| field.trim().to_owned())
                .collect()
        })
        .collect()
}

/// A number from the environment, for runs longer than the usual one.
fn setting(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => usual,
    }
}

/// The variant of a name in the data files.
fn variant_of(name: &str) -> (Variant, CastlingMode) {
    epd::parse_variant(name).unwrap_or_else(|| panic!("unknown variant {name}"))
}

/// A playable position from the data files.
fn position_of(name: &str, fen: &str) -> Position {
    let (variant, mode) = variant_of(name);
    Position::from_fen(variant, mode, fen).unwrap_or_else(|error| panic!("{name} {fen}: {error}"))
}

/// Every kind of start: all variants, their shuffled twins, the FICS boards and the arrays on ten files.
fn all_starts(random: &mut SplitMix64) -> Vec<Position> {
    let mut starts: Vec<Position> = Variant::ALL.into_iter().map(Position::start).collect();
    for variant in Variant::ALL {
        let count = shuffled_starts(variant);
        if count > 0 {
            let number = random.below(count.into()).try_into().unwrap();
            let fen = shuffled_start(variant, number).unwrap();
            starts.push(Position::from_fen(variant, CastlingMode::Chess960, &fen).unwrap());
        }
    }
    for wild in Wild::ALL {
        let fen = wild.start_fen(random);
        starts.push(Position::from_fen(Variant::Chess, wild.castling_mode(), &fen).unwrap());
    }
    for array in TenWide::ALL {
        for variant in [Variant::Capablanca, Variant::Capahouse] {
            let fen = array.start_fen(variant.has_drops());
            starts.push(Position::from_fen(variant, CastlingMode::Standard, &fen).unwrap());
        }
    }
    starts
}

/// Plays random moves and calls `visit` with every position on the way, the start and the end included.
fn random_game(
    start: &Position,
    random: &mut SplitMix64,
    plies: u32,
    mut visit: impl FnMut(&Position, &mut SplitMix64),
) {
    let mut position = start.clone();
    for _ in 0..plies {
        visit(&position, random);
        let moves = position.legal_moves();
        if moves.is_empty() {
            return;
        }
        position.play_unchecked(moves[random.below(moves.len().try_into().unwrap()) as usize]);
    }
    visit(&position, random);
}
