//! Counting legal move sequences: the yardstick of a generator.

use super::moves::MoveList;
use super::pos::Pos;
use super::variants::Rules;

/// Number of legal move sequences of a length; the last ply is counted, not listed.
#[must_use]
pub fn perft<R: Rules>(pos: &Pos<R>, depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    if depth == 1 {
        return pos.count_legal();
    }
    let mut list = MoveList::new();
    pos.legal_moves(&mut list);
    let mut nodes = 0;
    for &m in &list {
        let mut next = *pos;
        next.play(m);
        nodes += perft(&next, depth - 1);
    }
    nodes
}
