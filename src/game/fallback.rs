//! A legal move without a search, for when the engine fails: never good, always better than none.

use crate::rules::{Move, MoveKind, Position, Role};

/// Picks a move that is not in `refused`: mate if there is one, else the most valuable capture, else any other.
///
/// The choice depends on nothing but the position, not even on the order in which moves are generated. `None` only if no legal move is left.
pub fn fallback_move(position: &Position, refused: &[Move]) -> Option<Move> {
    let moves = position.legal_moves();
    let allowed = moves.iter().copied().filter(|m| !refused.contains(m));
    allowed.max_by_key(|&m| (worth(position, m), std::cmp::Reverse(m.0)))
}

fn worth(position: &Position, m: Move) -> i32 {
    let mut after = position.clone();
    after.play_unchecked(m);
    if !after.has_legal_move() && after.in_check() {
        return i32::MAX;
    }
    match position.kind(m) {
        MoveKind::Normal {
            from,
            to,
            promotion,
        } => {
            let captured = position.piece_at(to).map_or(0, |piece| value(piece.role));
            let king = position
                .piece_at(from)
                .is_some_and(|piece| piece.role == Role::King);
            // A quiet walk of the king comes after all other quiet moves.
            2 * (captured + promotion.map_or(0, value)) - i32::from(king)
        }
        MoveKind::EnPassant { .. } => 2 * value(Role::Pawn),
        MoveKind::Castle { .. } | MoveKind::Drop { .. } => 0,
    }
}

fn value(role: Role) -> i32 {
    match role {
        Role::Pawn => 1,
        Role::Knight | Role::Bishop => 3,
        Role::Rook => 5,
        Role::Archbishop => 7,
        Role::Chancellor => 8,
        Role::Queen => 9,
        Role::King => 4,
    }
}
