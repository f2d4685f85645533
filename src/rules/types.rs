//! The nouns every rule speaks of: colors, roles, pieces, squares.

use std::fmt;
use std::ops::Not;

/// One of the two sides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Color {
    /// Moves first in every variant here.
    White = 0,
    /// Moves second.
    Black = 1,
}

impl Color {
    /// Both colors, White first.
    pub const ALL: [Self; 2] = [Self::White, Self::Black];

    /// 0 for White, 1 for Black.
    #[inline(always)]
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// `w` or `b`, as in FEN.
    #[must_use]
    pub const fn char(self) -> char {
        match self {
            Self::White => 'w',
            Self::Black => 'b',
        }
    }
}

impl Not for Color {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        match self {
            Self::White => Self::Black,
            Self::Black => Self::White,
        }
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::White => "White",
            Self::Black => "Black",
        })
    }
}

/// What a piece is, without its color.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Role {
    /// Pawn.
    Pawn = 0,
    /// Knight.
    Knight = 1,
    /// Bishop.
    Bishop = 2,
    /// Rook.
    Rook = 3,
    /// Queen.
    Queen = 4,
    /// King; an ordinary piece in antichess and suicide.
    King = 5,
    /// Archbishop: bishop and knight in one (10x8 only).
    Archbishop = 6,
    /// Chancellor: rook and knight in one (10x8 only).
    Chancellor = 7,
}

impl Role {
    /// All roles in index order.
    pub const ALL: [Self; 8] = [
        Self::Pawn,
        Self::Knight,
        Self::Bishop,
        Self::Rook,
        Self::Queen,
        Self::King,
        Self::Archbishop,
        Self::Chancellor,
    ];

    /// Index from 0 to 7.
    #[inline(always)]
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The role with this index; indices past 7 wrap.
    #[inline(always)]
    #[must_use]
    pub const fn from_index(index: usize) -> Self {
        Self::ALL[index & 7]
    }

    /// Lower-case letter used in FEN and UCI: `p n b r q k a c`.
    #[must_use]
    pub const fn char(self) -> char {
        match self {
            Self::Pawn => 'p',
            Self::Knight => 'n',
            Self::Bishop => 'b',
            Self::Rook => 'r',
            Self::Queen => 'q',
            Self::King => 'k',
            Self::Archbishop => 'a',
            Self::Chancellor => 'c',
        }
    }

    /// Upper-case letter used in SAN.
    #[must_use]
    pub const fn upper_char(self) -> char {
        self.char().to_ascii_uppercase()
    }

    /// The role of a letter in either case.
    #[must_use]
    pub const fn from_char(letter: char) -> Option<Self> {
        Some(match letter.to_ascii_lowercase() {
            'p' => Self::Pawn,
            'n' => Self::Knight,
            'b' => Self::Bishop,
            'r' => Self::Rook,
            'q' => Self::Queen,
            'k' => Self::King,
            'a' => Self::Archbishop,
            'c' => Self::Chancellor,
            _ => return None,
        })
    }
}

/// A role of one color.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Piece {
    /// Whose piece it is.
    pub color: Color,
    /// What it is.
    pub role: Role,
}

impl Piece {
    /// FEN letter: upper case for White.
    #[must_use]
    pub const fn char(self) -> char {
        match self.color {
            Color::White => self.role.upper_char(),
            Color::Black => self.role.char(),
        }
    }

    /// The piece of a FEN letter.
    #[must_use]
    pub const fn from_char(letter: char) -> Option<Self> {
        let Some(role) = Role::from_char(letter) else {
            return None;
        };
        let color = if letter.is_ascii_uppercase() {
            Color::White
        } else {
            Color::Black
        };
        Some(Self { color, role })
    }

    /// Mailbox code from 0 to 15: color * 8 + role.
    #[inline(always)]
    #[must_use]
    pub const fn code(self) -> u8 {
        (self.color as u8) << 3 | self.role as u8
    }

    /// The piece of a mailbox code; `None` for the empty mark.
    #[inline(always)]
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        if code >= 16 {
            return None;
        }
        Some(Self {
            color: if code < 8 { Color::White } else { Color::Black },
            role: Role::from_index(code as usize),
        })
    }
}

/// A square: rank * files + file, so 0 to 63 on 8x8 and 0 to 79 on 10x8. a1 is 0.
///
/// A square does not know its board's width; functions that need it take `files`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Square(pub u8);

impl Square {
    /// The square on a file and rank, both from 0.
    #[inline(always)]
    #[must_use]
    pub const fn new(file: u8, rank: u8, files: u8) -> Self {
        Self(rank * files + file)
    }

    /// File from 0 (a).
    #[inline(always)]
    #[must_use]
    pub const fn file(self, files: u8) -> u8 {
        self.0 % files
    }

    /// Rank from 0 (rank 1).
    #[inline(always)]
    #[must_use]
    pub const fn rank(self, files: u8) -> u8 {
        self.0 / files
    }

    /// As an array index.
    #[inline(always)]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Algebraic name such as `e4` or `j8`.
    #[must_use]
    pub fn name(self, files: u8) -> String {
        let mut text = String::with_capacity(2);
        text.push((b'a' + self.file(files)) as char);
        text.push((b'1' + self.rank(files)) as char);
        text
    }

    /// The square of two characters such as `e4` on a board of eight ranks; `None` if off the board.
    #[must_use]
    pub fn parse(text: &str, files: u8) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() != 2 {
            return None;
        }
        let file = bytes[0].to_ascii_lowercase().checked_sub(b'a')?;
        let rank = bytes[1].checked_sub(b'1')?;
        (file < files && rank < 8).then(|| Self::new(file, rank, files))
    }
}
