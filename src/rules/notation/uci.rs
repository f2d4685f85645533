//! Moves as UCI writes them: `e2e4`, `a7a8q`, `N@e7`, castling in both of its forms.
//!
//! Castling is written as the castling mode asks: the king's own move in standard games (`e1g1`, on ten files `f1i1`),
//! king takes own rook in Chess960 games (`e1h1`). Reading takes both wherever they cannot be confused: king takes rook
//! always, the king's own move where no ordinary step of the king is meant.

use crate::rules::moves::{Move, MoveKind};
use crate::rules::position::Position;
use crate::rules::types::{Role, Square};
use crate::rules::variant::{CastlingMode, Variant};

/// A move that was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UciError {
    /// The text is no move on any board of this variant.
    #[error("{text:?} is no UCI move of {}", variant.uci_name())]
    Syntax {
        /// The text, cut after 32 characters.
        text: String,
        /// The variant it was read for.
        variant: Variant,
    },
    /// The text is a move, but it is not legal here.
    #[error("{text} is not legal in {fen}")]
    Illegal {
        /// The text.
        text: String,
        /// The position.
        fen: String,
    },
}

/// A move as text says it, without a position to judge it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Board {
        from: Square,
        to: Square,
        promotion: Option<Role>,
    },
    Drop {
        role: Role,
        to: Square,
    },
}

/// Longest text that is a move: two squares and a letter.
const MAX_LENGTH: usize = 5;

fn parse_written(text: &str, variant: Variant) -> Option<Written> {
    if text.len() > MAX_LENGTH || !text.is_ascii() {
        return None;
    }
    let files = variant.files();
    let role_of = |letter: &str| {
        let mut letters = letter.chars();
        let role = Role::from_char(letters.next()?)?;
        (letters.next().is_none() && variant.roles().contains(&role)).then_some(role)
    };
    if let Some((letter, square)) = text.split_once('@') {
        return Some(Written::Drop {
            role: role_of(letter)?,
            to: Square::parse(square, files)?,
        });
    }
    let (from, rest) = text.split_at_checked(2)?;
    let (to, promotion) = rest.split_at_checked(2)?;
    Some(Written::Board {
        from: Square::parse(from, files)?,
        to: Square::parse(to, files)?,
        promotion: if promotion.is_empty() {
            None
        } else {
            Some(role_of(promotion)?)
        },
    })
}

impl Position {
    /// Reads a legal move. The letter of a drop or promotion may have either case.
    ///
    /// # Errors
    /// [`UciError::Syntax`] if the text is no move, [`UciError::Illegal`] if it is one that is not legal here.
    pub fn parse_uci(&self, text: &str) -> Result<Move, UciError> {
        let written = parse_written(text, self.variant()).ok_or_else(|| UciError::Syntax {
            text: text.chars().take(32).collect(),
            variant: self.variant(),
        })?;
        self.find_written(written).ok_or_else(|| UciError::Illegal {
            text: text.to_owned(),
            fen: self.fen(),
        })
    }

    fn find_written(&self, written: Written) -> Option<Move> {
        let (from, to, promotion) = match written {
            Written::Drop { role, to } => {
                let dropped = Move::drop(role, to.0);
                return self.is_legal(dropped).then_some(dropped);
            }
            Written::Board {
                from,
                to,
                promotion,
            } => (from, to, promotion),
        };
        let mut castling = None;
        for &m in &self.legal_moves() {
            match self.kind(m) {
                MoveKind::Normal {
                    from: f,
                    to: t,
                    promotion: p,
                } if f == from && t == to && p == promotion => return Some(m),
                MoveKind::EnPassant { from: f, to: t }
                    if f == from && t == to && promotion.is_none() =>
                {
                    return Some(m);
                }
                MoveKind::Castle { king, rook } if king == from && promotion.is_none() => {
                    if rook == to {
                        return Some(m);
                    }
                    if self.castling_target(m) == to && self.is_castling_stride(from, to) {
                        castling = Some(m);
                    }
                }
                _ => {}
            }
        }
        castling
    }

    /// Whether a king's move between these squares can only mean castling: it is no step to a neighboring square, and it
    /// is a move.
    fn is_castling_stride(&self, from: Square, to: Square) -> bool {
        let files = self.variant().files();
        from.file(files).abs_diff(to.file(files)) >= 2
    }

    /// The move in UCI, castling as the position's castling mode asks.
    #[must_use]
    pub fn uci(&self, m: Move) -> String {
        self.uci_with(m, self.castling_mode())
    }

    /// The move in UCI, castling as `mode` asks.
    #[must_use]
    pub fn uci_with(&self, m: Move, mode: CastlingMode) -> String {
        let files = self.variant().files();
        match self.kind(m) {
            MoveKind::Normal {
                from,
                to,
                promotion,
            } => {
                let mut text = from.name(files) + &to.name(files);
                text.extend(promotion.map(Role::char));
                text
            }
            MoveKind::EnPassant { from, to } => from.name(files) + &to.name(files),
            MoveKind::Drop { role, to } => format!("{}@{}", role.upper_char(), to.name(files)),
            MoveKind::Castle { king, rook } => {
                let target = match mode {
                    // A king that hardly moves would look as if it stepped aside, so the rook is named then as well.
                    CastlingMode::Standard
                        if self.is_castling_stride(king, self.castling_target(m)) =>
                    {
                        self.castling_target(m)
                    }
                    _ => rook,
                };
                king.name(files) + &target.name(files)
            }
        }
    }
}
