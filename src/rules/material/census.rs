//! Counting the pieces on the board.

use crate::rules::position::Position;
use crate::rules::types::{Color, Role, Square};

/// Color of a square. The corner a1 is dark, on ten files too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shade {
    Light,
    Dark,
}

impl std::ops::Not for Shade {
    type Output = Self;
    fn not(self) -> Self {
        match self {
            Self::Light => Self::Dark,
            Self::Dark => Self::Light,
        }
    }
}

pub(super) fn shade_of(square: Square, files: u8) -> Shade {
    if (square.file(files) + square.rank(files)).is_multiple_of(2) {
        Shade::Dark
    } else {
        Shade::Light
    }
}

/// Number of pieces by color and role, bishops and knights by the color of their squares as well.
#[derive(Debug, Clone, Default)]
pub(super) struct Census {
    counts: [[u8; 8]; 2],
    bishops: [[u8; 2]; 2],
    knights: [[u8; 2]; 2],
}

impl Census {
    pub(super) fn of(position: &Position) -> Self {
        let files = position.variant().files();
        let mut census = Self::default();
        for index in 0..files * 8 {
            let square = Square(index);
            let Some(piece) = position.piece_at(square) else {
                continue;
            };
            census.counts[piece.color.index()][piece.role.index()] += 1;
            let shade = shade_of(square, files) as usize;
            match piece.role {
                Role::Bishop => census.bishops[piece.color.index()][shade] += 1,
                Role::Knight => census.knights[piece.color.index()][shade] += 1,
                _ => {}
            }
        }
        census
    }

    pub(super) fn count(&self, color: Color, role: Role) -> u8 {
        self.counts[color.index()][role.index()]
    }

    /// Whether the color has a piece of one of these roles.
    pub(super) fn any(&self, color: Color, roles: &[Role]) -> bool {
        roles.iter().any(|&role| self.count(color, role) > 0)
    }

    /// All pieces of a color.
    pub(super) fn total(&self, color: Color) -> u8 {
        self.counts[color.index()].iter().sum()
    }

    /// All pieces of a color but its king.
    pub(super) fn pieces(&self, color: Color) -> u8 {
        self.total(color) - self.count(color, Role::King)
    }

    /// Whether a color has nothing but its king.
    pub(super) fn is_bare(&self, color: Color) -> bool {
        self.pieces(color) == 0
    }

    pub(super) fn bishops(&self, color: Color, shade: Shade) -> u8 {
        self.bishops[color.index()][shade as usize]
    }

    /// Whether the bishops of a color walk on squares of both colors.
    pub(super) fn has_bishop_pair(&self, color: Color) -> bool {
        self.bishops(color, Shade::Light) > 0 && self.bishops(color, Shade::Dark) > 0
    }

    /// Whether the bishops of both sides together walk on squares of both colors.
    pub(super) fn bishops_on_both_shades(&self) -> bool {
        let any = |shade| {
            Color::ALL
                .into_iter()
                .any(|color| self.bishops(color, shade) > 0)
        };
        any(Shade::Light) && any(Shade::Dark)
    }

    /// Whether anything but kings and bishops is on the board.
    pub(super) fn has_other_than_bishops(&self) -> bool {
        Color::ALL
            .into_iter()
            .any(|color| self.pieces(color) > self.count(color, Role::Bishop))
    }

    /// Whether there are only kings and bishops.
    pub(super) fn only_bishops(&self) -> bool {
        !self.has_other_than_bishops()
    }

    /// Whether there are only bishops, not even kings.
    pub(super) fn only_bishops_of_all(&self) -> bool {
        Color::ALL
            .into_iter()
            .all(|color| self.total(color) == self.count(color, Role::Bishop))
    }

    /// Whether all bishops of one side walk on one square color and all of the other side on the other.
    pub(super) fn bishops_never_meet(&self) -> bool {
        [Shade::Light, Shade::Dark].into_iter().any(|shade| {
            self.bishops(Color::White, shade) == 0 && self.bishops(Color::Black, !shade) == 0
        })
    }

    /// Whether each side has one knight and nothing else, not even a king.
    pub(super) fn only_lone_knights(&self) -> bool {
        Color::ALL
            .into_iter()
            .all(|color| self.total(color) == 1 && self.count(color, Role::Knight) == 1)
    }

    /// Whether the only knights of both sides stand on squares of one color.
    pub(super) fn lone_knights_alike(&self) -> bool {
        self.knights[0] == self.knights[1]
    }
}

/// Whether nothing can ever be taken: each side has bishops and pawns only, all of them on squares of one color, the two
/// sides on different colors, and every pawn stands before an enemy pawn.
pub(super) fn is_bishop_and_pawn_fortress(position: &Position) -> bool {
    let files = position.variant().files();
    let mut shades: [Option<Shade>; 2] = [None, None];
    for index in 0..files * 8 {
        let square = Square(index);
        let Some(piece) = position.piece_at(square) else {
            continue;
        };
        let shade = shade_of(square, files);
        if *shades[piece.color.index()].get_or_insert(shade) != shade {
            return false;
        }
        match piece.role {
            Role::Bishop => {}
            Role::Pawn => {
                let ahead = match piece.color {
                    Color::White => index.checked_add(files),
                    Color::Black => index.checked_sub(files),
                };
                let blocked = ahead
                    .filter(|&ahead| ahead < files * 8)
                    .and_then(|ahead| position.piece_at(Square(ahead)))
                    .is_some_and(|other| other.color != piece.color && other.role == Role::Pawn);
                if !blocked {
                    return false;
                }
            }
            _ => return false,
        }
    }
    matches!(shades, [Some(white), Some(black)] if white != black)
}
