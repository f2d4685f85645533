//! Laws that hold in every position of every variant, on seeded random games.

use std::collections::HashSet;

use seneschal::rules::starts::SplitMix64;
use seneschal::rules::{CastlingMode, Move, MoveKind, Position, Variant};

use super::{all_starts, random_game, setting};

/// Random games per start; `SENESCHAL_PROPERTY_GAMES` raises it.
fn games() -> u64 {
    setting("SENESCHAL_PROPERTY_GAMES", 3)
}

fn for_random_positions(seed: u64, plies: u32, mut check: impl FnMut(&Position, &mut SplitMix64)) {
    let mut random = SplitMix64::new(seed);
    for _ in 0..games() {
        for start in all_starts(&mut random) {
            random_game(&start, &mut random, plies, &mut check);
        }
    }
}

/// The generated moves are exactly the accepted ones, whatever sixteen bits are offered.
#[test]
fn generated_is_accepted_and_nothing_else() {
    let mut visited = 0_u64;
    for_random_positions(1, 160, |position, random| {
        let moves = position.legal_moves();
        let set: HashSet<Move> = moves.iter().copied().collect();
        assert_eq!(
            set.len(),
            moves.len(),
            "a move stands twice in {}",
            position.fen()
        );
        assert_eq!(position.perft(1), moves.len() as u64, "{}", position.fen());
        assert_eq!(
            position.has_legal_move(),
            !moves.is_empty(),
            "{}",
            position.fen()
        );
        assert_eq!(
            position.ending().is_some(),
            moves.is_empty(),
            "{}",
            position.fen()
        );
        for &m in &moves {
            assert!(
                position.is_legal(m),
                "{} in {}",
                position.uci(m),
                position.fen()
            );
        }
        visited += 1;
        // All 65,536 patterns of bits take long, so they are tried now and then.
        if random.below(24) == 0 {
            for bits in 0..=u16::MAX {
                let m = Move(bits);
                assert_eq!(
                    position.is_legal(m),
                    set.contains(&m),
                    "{m:?} {:?} in {}",
                    position.kind(m),
                    position.fen()
                );
            }
        }
        let mut refused = position.clone();
        if let Some(illegal) = (0..64)
            .map(|_| Move(random.next() as u16))
            .find(|m| !set.contains(m))
        {
            assert!(refused.play(illegal).is_err());
            assert_eq!(
                (refused.key(), refused.fen()),
                (position.key(), position.fen())
            );
        }
    });
    assert!(visited > 3_000, "only {visited} positions were visited");
}

/// The key kept up move by move is the key computed anew, and the position read from text is the same position.
#[test]
fn keys_and_texts_agree_with_the_moves_that_led_there() {
    for_random_positions(2, 300, |position, _| {
        let fen = position.fen();
        assert_eq!(position.key(), position.key_from_scratch(), "{fen}");
        let read = Position::from_fen(position.variant(), position.castling_mode(), &fen)
            .unwrap_or_else(|error| panic!("{fen}: {error}"));
        assert_eq!(read.fen(), fen);
        assert_eq!(read.key(), position.key(), "{fen}");
        assert_eq!(read.in_check(), position.in_check(), "{fen}");
        assert_eq!(read.to_setup(), position.to_setup(), "{fen}");
        let sorted = |position: &Position| {
            let mut moves: Vec<u16> = position.legal_moves().iter().map(|m| m.0).collect();
            moves.sort_unstable();
            moves
        };
        assert_eq!(sorted(&read), sorted(position), "{fen}");
    });
}

/// Every move that is written is read back as itself, in both notations and both forms of castling.
#[test]
fn moves_come_back_from_text() {
    let mut castlings = 0;
    for_random_positions(3, 200, |position, random| {
        let moves = position.legal_moves();
        let count = u32::try_from(moves.len()).unwrap();
        let mut written = HashSet::new();
        for &m in &moves {
            assert!(
                written.insert(position.uci(m)),
                "{} stands for two moves in {}",
                position.uci(m),
                position.fen()
            );
            // Writing in algebraic notation looks at all moves again, so with many moves some are picked.
            let is_castling = matches!(position.kind(m), MoveKind::Castle { .. });
            castlings += u32::from(is_castling);
            if is_castling || random.below(count) < 8 {
                assert_move_comes_back(position, m);
            }
        }
    });
    assert!(castlings > 50, "only {castlings} castlings were met");
}

fn assert_move_comes_back(position: &Position, m: Move) {
    let san = position.san(m);
    assert_eq!(
        position.parse_san(&san),
        Ok(m),
        "{san} in {}",
        position.fen()
    );
    let bare = san.trim_end_matches(['+', '#']);
    assert_eq!(
        position.parse_san(bare),
        Ok(m),
        "{bare} in {}",
        position.fen()
    );
    let own = position.uci(m);
    assert_eq!(
        position.parse_uci(&own),
        Ok(m),
        "{own} in {}",
        position.fen()
    );
    let rook_form = position.uci_with(m, CastlingMode::Chess960);
    assert_eq!(
        position.parse_uci(&rook_form),
        Ok(m),
        "{rook_form} in {}",
        position.fen()
    );
}

/// A position copied before a move is untouched by it: search relies on copies instead of taking back.
#[test]
fn copies_are_independent() {
    for_random_positions(4, 60, |position, random| {
        let moves = position.legal_moves();
        if moves.is_empty() {
            return;
        }
        let (fen, key) = (position.fen(), position.key());
        let mut copy = position.clone();
        copy.play(moves[random.below(u32::try_from(moves.len()).unwrap()) as usize])
            .unwrap();
        assert_eq!((position.fen(), position.key()), (fen, key));
        assert_ne!(copy.key(), key);
        assert_eq!(copy.ply(), position.ply() + 1);
        assert_eq!(copy.turn(), !position.turn());
    });
}

/// Where a variant's own rule ends the game in the mover's favor, the winning move is one of those that do so, and there
/// is none where no move does.
#[test]
fn winning_moves_win_and_none_is_missed() {
    use Variant::{KingOfTheHill, RacingKings, ThreeCheck};
    let mut random = SplitMix64::new(7);
    for variant in [ThreeCheck, KingOfTheHill, RacingKings] {
        let (mut n_winning, mut n_others) = (0, 0);
        for _ in 0..20 * games() {
            random_game(
                &Position::start(variant),
                &mut random,
                120,
                |position, _| {
                    let wins = |&m: &Move| {
                        let mut after = position.clone();
                        after.play_unchecked(m);
                        let ending = after.variant_end();
                        ending.and_then(|end| end.outcome.winner()) == Some(position.turn())
                    };
                    let legal = position.legal_moves();
                    let expected = legal.iter().any(wins);
                    let found = position.winning_move();
                    assert_eq!(found.is_some(), expected, "{variant:?} {}", position.fen());
                    if let Some(m) = found {
                        assert!(wins(&m) && position.is_legal(m), "{}", position.fen());
                        n_winning += 1;
                    } else {
                        n_others += 1;
                    }
                },
            );
        }
        assert!(n_winning > 10 && n_others > 100, "{variant:?} {n_winning}");
    }
}
