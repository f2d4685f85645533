//! A position in words, for those who cannot see the board.

use std::fmt::Write as _;

use crate::rules::{Color, Position, Role};

/// The order in which pieces are named.
const ORDER: [Role; 8] = [
    Role::King,
    Role::Queen,
    Role::Chancellor,
    Role::Archbishop,
    Role::Rook,
    Role::Bishop,
    Role::Knight,
    Role::Pawn,
];

fn name(role: Role, many: bool) -> &'static str {
    match (role, many) {
        (Role::King, false) => "king",
        (Role::King, true) => "kings",
        (Role::Queen, false) => "queen",
        (Role::Queen, true) => "queens",
        (Role::Chancellor, false) => "chancellor",
        (Role::Chancellor, true) => "chancellors",
        (Role::Archbishop, false) => "archbishop",
        (Role::Archbishop, true) => "archbishops",
        (Role::Rook, false) => "rook",
        (Role::Rook, true) => "rooks",
        (Role::Bishop, false) => "bishop",
        (Role::Bishop, true) => "bishops",
        (Role::Knight, false) => "knight",
        (Role::Knight, true) => "knights",
        (Role::Pawn, false) => "pawn",
        (Role::Pawn, true) => "pawns",
    }
}

fn side(position: &Position, color: Color) -> String {
    let files = position.files();
    let mut parts = Vec::new();
    for role in ORDER {
        let squares: Vec<String> = position
            .squares_of(color, role)
            .into_iter()
            .map(|square| square.name(files))
            .collect();
        if !squares.is_empty() {
            let name = name(role, squares.len() > 1);
            parts.push(format!("{name} {}", squares.join(" ")));
        }
    }
    let mut text = format!("{color}: ");
    text.push_str(if parts.is_empty() { "nothing" } else { "" });
    text.push_str(&parts.join(", "));
    let pocket: Vec<String> = ORDER
        .into_iter()
        .filter_map(|role| {
            let count = position.pocket(color, role);
            (count > 0).then(|| format!("{count} {}", name(role, count > 1)))
        })
        .collect();
    if !pocket.is_empty() {
        // Writing to a string cannot fail.
        let _infallible = write!(text, "; in hand: {}", pocket.join(", "));
    }
    text.push('.');
    text
}

/// `White: king e1, ... Black: king e8, ... White to move.`
pub(super) fn position_words(position: &Position) -> String {
    let [white, black] = Color::ALL.map(|color| side(position, color));
    format!("{white} {black} {} to move.", position.turn())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{CastlingMode, Variant};

    #[test]
    fn a_position_is_told_piece_by_piece_and_pocket_by_pocket() {
        let fen = "r3k3/8/8/8/8/8/P7/R3K2R[NPPq] b KQq - 0 1";
        let position =
            Position::from_fen(Variant::Crazyhouse, CastlingMode::Standard, fen).unwrap();
        assert_eq!(
            position_words(&position),
            "White: king e1, rooks a1 h1, pawn a2; in hand: 1 knight, 2 pawns. \
             Black: king e8, rook a8; in hand: 1 queen. Black to move."
        );
    }

    #[test]
    fn the_wide_board_has_its_own_pieces() {
        let words = position_words(&Position::start(Variant::Capablanca));
        assert!(words.contains("chancellor h1"), "{words}");
        assert!(words.contains("archbishop c8"), "{words}");
        assert!(words.contains("rooks a1 j1"), "{words}");
    }
}
