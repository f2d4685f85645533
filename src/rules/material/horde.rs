//! Horde: whether the horde can mate with what it has left, and the pieces' king can be hemmed in by its own men.
//!
//! The facts are those of Lichess: with four pieces the horde always can; with fewer it depends on which of Black's own
//! pieces can take the flight squares of the black king. The side with the king can always win, by taking everything.

use super::census::{Census, Shade};
use crate::rules::types::{Color, Role};

/// What the horde has, bishops of one square color counted at most twice: more of them cover nothing new.
struct Horde {
    pawns: u8,
    knights: u8,
    bishops: u8,
    rooks: u8,
    queens: u8,
    strength: u8,
    pair: bool,
    /// Square color of its bishops, when there is one.
    shade: Shade,
}

/// What may stand in the black king's way.
struct Pieces {
    pawns: u8,
    knights: u8,
    bishops: u8,
    rooks: u8,
    queens: u8,
    /// With the king.
    total: u8,
    light: u8,
    dark: u8,
}

impl Pieces {
    const fn on(&self, shade: Shade) -> u8 {
        match shade {
            Shade::Light => self.light,
            Shade::Dark => self.dark,
        }
    }
}

pub(super) fn can_win(census: &Census, color: Color) -> bool {
    if census.count(color, Role::King) > 0 {
        return true;
    }
    let (light, dark) = (
        census.bishops(color, Shade::Light),
        census.bishops(color, Shade::Dark),
    );
    let count = |role| census.count(color, role);
    let horde = Horde {
        pawns: count(Role::Pawn),
        knights: count(Role::Knight),
        bishops: count(Role::Bishop),
        rooks: count(Role::Rook),
        queens: count(Role::Queen),
        strength: count(Role::Pawn)
            + count(Role::Knight)
            + count(Role::Rook)
            + count(Role::Queen)
            + light.min(2)
            + dark.min(2),
        pair: census.has_bishop_pair(color),
        shade: if light > 0 { Shade::Light } else { Shade::Dark },
    };
    let theirs = |role| census.count(!color, role);
    let pieces = Pieces {
        pawns: theirs(Role::Pawn),
        knights: theirs(Role::Knight),
        bishops: theirs(Role::Bishop),
        rooks: theirs(Role::Rook),
        queens: theirs(Role::Queen),
        total: census.total(!color),
        light: census.bishops(!color, Shade::Light),
        dark: census.bishops(!color, Shade::Dark),
    };
    match horde.strength {
        0 => false,
        1 => lone_piece(&horde, &pieces),
        2 | 3 if horde.pawns > 0 || horde.queens > 0 => true,
        2 if horde.rooks > 0 => rook_and_another(&horde, &pieces),
        3 if horde.rooks > 0 => true,
        2 => two_minors(&horde, &pieces),
        // Three minor pieces: bishops of one square color and a knight need a black piece that loses a tempo.
        3 => horde.pair || horde.knights >= 2 || pieces.total > 1,
        _ => true,
    }
}

/// A rook with a bishop needs more than the bare king, bishops on the own bishop's squares not counted; with any other
/// piece it mates.
fn rook_and_another(horde: &Horde, pieces: &Pieces) -> bool {
    let rook_and_bishop = horde.rooks == 1 && horde.bishops == 1;
    !rook_and_bishop || pieces.total - pieces.on(horde.shade) > 1
}

fn lone_piece(horde: &Horde, pieces: &Pieces) -> bool {
    if pieces.total == 1 {
        return false;
    }
    if horde.queens == 1 {
        lone_queen(pieces)
    } else if horde.pawns == 1 {
        // It becomes a queen or a knight.
        lone_queen(pieces) || lone_knight(pieces)
    } else if horde.rooks == 1 {
        lone_rook(pieces)
    } else if horde.bishops > 0 {
        let other = pieces.on(!horde.shade);
        // Two flight squares of the other color must be taken; pawns may promote to what takes them.
        other >= 2 || (other >= 1 && pieces.pawns >= 1) || pieces.pawns >= 2
    } else {
        lone_knight(pieces)
    }
}

/// A king in the corner behind a pawn or rook, or between two bishops of one color.
fn lone_queen(pieces: &Pieces) -> bool {
    pieces.pawns >= 1 || pieces.rooks >= 1 || pieces.light >= 2 || pieces.dark >= 2
}

/// A king in the corner behind two men that cannot step between.
fn lone_rook(pieces: &Pieces) -> bool {
    pieces.pawns >= 2
        || (pieces.rooks >= 1 && (pieces.pawns >= 1 || pieces.knights >= 1))
        || (pieces.pawns >= 1 && pieces.knights >= 1)
}

/// A smothered king: three of its own men around it, not all of them bishops of one square color.
fn lone_knight(pieces: &Pieces) -> bool {
    let kinds = [
        pieces.rooks >= 1,
        pieces.knights >= 1,
        pieces.bishops >= 1,
        pieces.pawns >= 1,
    ];
    let two_kinds = kinds.iter().filter(|&&has| has).count() >= 2;
    let enough_beside = |bishops: u8| bishops < 2 || pieces.total - bishops >= 3;
    pieces.total >= 4
        && (pieces.knights >= 2 || pieces.pawns >= 2 || two_kinds)
        && enough_beside(pieces.light)
        && enough_beside(pieces.dark)
}

fn two_minors(horde: &Horde, pieces: &Pieces) -> bool {
    if pieces.total == 1 {
        return false;
    }
    let other = pieces.on(!horde.shade);
    if horde.knights == 2 {
        pieces.pawns + pieces.bishops + pieces.knights >= 1
    } else if horde.pair {
        pieces.pawns >= 1
            || pieces.bishops >= 1
            || (pieces.knights >= 1 && pieces.rooks + pieces.queens >= 1)
    } else if horde.knights >= 1 {
        pieces.pawns >= 1 || other >= 1 || pieces.total - pieces.on(horde.shade) >= 3
    } else {
        // Two bishops of one square color: two flight squares of the other color must be taken.
        let takers =
            u8::from(pieces.pawns >= 1) + u8::from(other >= 1) + u8::from(pieces.knights >= 1);
        takers >= 2 || other >= 2 || pieces.knights >= 2 || pieces.pawns >= 2
    }
}
