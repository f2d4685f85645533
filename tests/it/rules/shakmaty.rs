//! The same random games in another program of the same trade.
//!
//! `SENESCHAL_SHAKMATY_GAMES` sets the games per variant. Where the two differ by intent: it takes bare kings in
//! crazyhouse for a draw, which the rules of the game do not; and in antichess it does not know that bishops of opposite
//! colors behind blocked pawns are a draw, which Lichess declares. Everything else must agree.

use seneschal::rules::starts::{SplitMix64, shuffled_start};
use seneschal::rules::{self, CastlingMode, Color, MaterialRule, Outcome, material};
use shakmaty::fen::Fen;
use shakmaty::variant::{Variant as TheirVariant, VariantPosition};
use shakmaty::{CastlingMode as TheirMode, KnownOutcome, Position as _};

use super::setting;

const PAIRS: [(rules::Variant, TheirVariant); 8] = [
    (rules::Variant::Chess, TheirVariant::Chess),
    (rules::Variant::Crazyhouse, TheirVariant::Crazyhouse),
    (rules::Variant::ThreeCheck, TheirVariant::ThreeCheck),
    (rules::Variant::KingOfTheHill, TheirVariant::KingOfTheHill),
    (rules::Variant::Antichess, TheirVariant::Antichess),
    (rules::Variant::Atomic, TheirVariant::Atomic),
    (rules::Variant::Horde, TheirVariant::Horde),
    (rules::Variant::RacingKings, TheirVariant::RacingKings),
];

fn theirs(variant: TheirVariant, fen: &str) -> VariantPosition {
    let fen: Fen = fen.parse().unwrap_or_else(|error| panic!("{fen}: {error}"));
    VariantPosition::from_setup(variant, fen.into(), TheirMode::Chess960)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Compares what both know about a position.
fn compare(ours: &rules::Position, theirs: &VariantPosition, context: &str) {
    let mut mine: Vec<String> = ours
        .legal_moves()
        .iter()
        .map(|&m| ours.uci_with(m, CastlingMode::Chess960))
        .collect();
    mine.sort_unstable();
    let mut other: Vec<String> = theirs
        .legal_moves()
        .iter()
        .map(|m| m.to_uci(TheirMode::Chess960).to_string())
        .collect();
    other.sort_unstable();
    assert_eq!(mine, other, "{context}: {}", ours.fen());
    assert_eq!(
        ours.in_check(),
        theirs.is_check(),
        "{context}: {}",
        ours.fen()
    );
    let fen = Fen::from_position(theirs, shakmaty::EnPassantMode::Legal).to_string();
    // It writes the outermost rook as K or Q in Chess960 as well.
    let mine = ours
        .to_setup()
        .to_fen(ours.variant(), CastlingMode::Standard);
    let (mine, fen) = (comparable(&mine), comparable(&fen));
    assert_eq!(mine, fen, "{context}");
}

/// A position's text without the half-move clock, which the two keep differently at drops, and without the pocket's
/// order.
fn comparable(fen: &str) -> String {
    let fields: Vec<&str> = fen.split(' ').collect();
    let (board, pocket) = fields[0].split_once('[').unwrap_or((fields[0], ""));
    let mut pocket: Vec<char> = pocket.trim_end_matches(']').chars().collect();
    pocket.sort_unstable();
    let pocket: String = pocket.into_iter().collect();
    // Our counters are the last two fields, checks before them or not.
    let keep = fields.len() - 2;
    let last = fields.last().unwrap();
    format!("{board} {pocket} {} {last}", fields[1..keep].join(" "))
}

/// Compares the end of a game and who could still win it.
fn compare_ending(ours: &rules::Position, theirs: &VariantPosition) {
    let fen = ours.fen();
    let ended = ours.ending().map(|ending| ending.outcome);
    let known = match theirs.outcome() {
        shakmaty::Outcome::Known(KnownOutcome::Decisive { winner }) => {
            Some(Outcome::win(match winner {
                shakmaty::Color::White => Color::White,
                shakmaty::Color::Black => Color::Black,
            }))
        }
        shakmaty::Outcome::Known(KnownOutcome::Draw) => Some(Outcome::Draw),
        shakmaty::Outcome::Unknown => None,
    };
    if ours.variant() == rules::Variant::Crazyhouse && ended.is_none() {
        return;
    }
    let dead = material::is_dead(ours, MaterialRule::Lichess);
    let has_pawns = fen.split(' ').next().unwrap().contains(['p', 'P']);
    if ours.variant() == rules::Variant::Antichess && dead && has_pawns && known.is_none() {
        return;
    }
    let expected = if dead && ended.is_none() {
        Some(Outcome::Draw)
    } else {
        ended
    };
    assert_eq!(expected, known, "{fen}");
    if ended.is_some() {
        return;
    }
    for (color, other) in [
        (Color::White, shakmaty::Color::White),
        (Color::Black, shakmaty::Color::Black),
    ] {
        let can = material::can_win(ours, color, MaterialRule::Lichess);
        assert_eq!(
            can,
            !theirs.has_insufficient_material(other),
            "{color} in {fen}"
        );
    }
}

#[test]
fn random_games_agree() {
    let games = setting("SENESCHAL_SHAKMATY_GAMES", 25);
    let mut random = SplitMix64::new(0x5a4b);
    let mut plies = 0_u64;
    for (variant, their_variant) in PAIRS {
        for game in 0..games {
            // Half of the games begin from a shuffled array where the variant has such.
            let fen = if game % 2 == 1 && variant.supports_chess960() {
                shuffled_start(variant, random.below(960).try_into().unwrap()).unwrap()
            } else {
                variant.start_fen().to_owned()
            };
            let mut ours =
                rules::Position::from_fen(variant, CastlingMode::Chess960, &fen).unwrap();
            let mut other = theirs(their_variant, &ours.fen());
            let context = format!("{} game {game}", variant.uci_name());
            for _ in 0..400 {
                compare(&ours, &other, &context);
                compare_ending(&ours, &other);
                let moves = ours.legal_moves();
                if moves.is_empty() {
                    break;
                }
                let m = moves[random.below(moves.len().try_into().unwrap()) as usize];
                let text = ours.uci_with(m, CastlingMode::Chess960);
                let uci: shakmaty::uci::UciMove = text.parse().unwrap();
                other.play_unchecked(uci.to_move(&other).unwrap());
                ours.play_unchecked(m);
                plies += 1;
            }
        }
    }
    assert!(
        plies > games * 8 * 20,
        "only {plies} half-moves were played"
    );
}

/// Small material at random: who can still win.
#[test]
fn random_material_agrees() {
    let mut random = SplitMix64::new(0x3a7);
    let mut compared = 0;
    let rounds = setting("SENESCHAL_MATERIAL_POSITIONS", 6_000);
    for (variant, their_variant) in PAIRS {
        if variant == rules::Variant::Crazyhouse {
            continue;
        }
        for _ in 0..rounds {
            let Some(ours) = random_material(variant, &mut random) else {
                continue;
            };
            let fen: Fen = ours.fen().parse().unwrap();
            // It refuses some positions that we accept, such as impossible checks.
            let Ok(other) =
                VariantPosition::from_setup(their_variant, fen.into(), TheirMode::Chess960)
            else {
                continue;
            };
            // A side without pieces is always the one to move; of the other case it says nothing.
            if ours.count_pieces(!ours.turn()) == 0 {
                continue;
            }
            compare_ending(&ours, &other);
            compared += 1;
        }
    }
    assert!(
        compared > rounds * 2,
        "only {compared} positions were compared"
    );
}

/// Kings, where the variant has them, and a few pieces on random squares; `None` if that is no position.
fn random_material(variant: rules::Variant, random: &mut SplitMix64) -> Option<rules::Position> {
    use rules::{Piece, Role, Setup, Square};
    let mut setup = Setup {
        turn: Color::ALL[random.below(2) as usize],
        ..Setup::default()
    };
    let mut put = |piece: Piece, random: &mut SplitMix64| {
        let square = Square(random.below(64).try_into().unwrap());
        setup.board[square.index()] = Some(piece);
    };
    // Few roles at a time, so that the rare rules about bishops or knights alone are met.
    let roles: Vec<Role> = (0..=random.below(2))
        .map(|_| {
            [
                Role::Pawn,
                Role::Knight,
                Role::Bishop,
                Role::Bishop,
                Role::Knight,
                Role::Rook,
                Role::Queen,
            ][random.below(7) as usize]
        })
        .collect();
    for color in Color::ALL {
        for _ in 0..random.below(if variant == rules::Variant::Horde {
            6
        } else {
            4
        }) {
            let role = roles[random.below(roles.len().try_into().unwrap()) as usize];
            put(Piece { color, role }, random);
        }
    }
    for color in Color::ALL {
        let has_king = match variant {
            rules::Variant::Antichess => random.below(4) == 0,
            rules::Variant::Horde => color == Color::Black,
            _ => true,
        };
        if has_king {
            put(
                Piece {
                    color,
                    role: Role::King,
                },
                random,
            );
        }
    }
    rules::Position::new(&setup, variant, CastlingMode::Chess960).ok()
}
