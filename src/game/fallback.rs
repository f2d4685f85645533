//! A legal move without a search, for when the engine fails: never good, always better than none.

use crate::rules::{Move, MoveKind, Position, Role};

/// Picks a move that is not in `refused`: mate if there is one, else the most valuable capture, else the first move.
///
/// The choice depends on nothing but the position. `None` only if no legal move is left.
pub fn fallback_move(position: &Position, refused: &[Move]) -> Option<Move> {
    let moves = position.legal_moves();
    let allowed = moves.iter().copied().filter(|m| !refused.contains(m));
    let mut best: Option<(i32, Move)> = None;
    for m in allowed {
        let value = worth(position, m);
        if best.is_none_or(|(found, _)| value > found) {
            best = Some((value, m));
        }
    }
    best.map(|(_, m)| m)
}

fn worth(position: &Position, m: Move) -> i32 {
    let mut after = position.clone();
    after.play_unchecked(m);
    if !after.has_legal_move() && after.in_check() {
        return i32::MAX;
    }
    match position.kind(m) {
        MoveKind::Normal { to, promotion, .. } => {
            let captured = position.piece_at(to).map_or(0, |piece| value(piece.role));
            captured + promotion.map_or(0, value)
        }
        MoveKind::EnPassant { .. } => value(Role::Pawn),
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
