//! Moves as people write them: `Nbd2`, `exd5`, `a8=Q+`, `O-O`, `P@e7#`.
//!
//! Written are: a pawn's drop with its letter (`P@e4`, as Lichess and FICS have it), promotions with `=`, the least
//! disambiguation among legal moves (file, else rank, else both), `+` for check and `#` for every move that wins at once,
//! by mate or by a rule of the variant.
//!
//! Read are besides: drops without letter or in small letters, castling with zeros, promotions without `=` or in brackets
//! and in either case, captures without `x`, squares given in full, missing or superfluous marks of check, `e.p.`, `!`
//! and `?`. A small `b` is always a file, as is any small `a` or `c`.

use crate::rules::ending::Outcome;
use crate::rules::moves::{Move, MoveKind};
use crate::rules::position::Position;
use crate::rules::types::{Role, Square};

/// A move that was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SanError {
    /// The text is no move.
    #[error("{text:?} is no move in algebraic notation")]
    Syntax {
        /// The text, cut after 32 characters.
        text: String,
    },
    /// No legal move answers to the text.
    #[error("{text} is not legal in {fen}")]
    Illegal {
        /// The text.
        text: String,
        /// The position.
        fen: String,
    },
    /// Several legal moves answer to the text.
    #[error("{text} can be {first} or {second} in {fen}")]
    Ambiguous {
        /// The text.
        text: String,
        /// One of them in UCI.
        first: String,
        /// Another one.
        second: String,
        /// The position.
        fen: String,
    },
}

/// A move as text says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Castle {
        toward_h: bool,
    },
    Drop {
        role: Role,
        to: Square,
    },
    Board {
        role: Role,
        from_file: Option<u8>,
        from_rank: Option<u8>,
        to: Square,
        promotion: Option<Role>,
    },
}

/// Longest text that can be a move, marks included.
const MAX_LENGTH: usize = 24;

fn parse_written(text: &str, files: u8) -> Option<Written> {
    if text.len() > MAX_LENGTH || !text.is_ascii() {
        return None;
    }
    let mut text = text.trim_end_matches(['!', '?', '+', '#', ' ']);
    for suffix in ["e.p.", "ep"] {
        text = text.strip_suffix(suffix).unwrap_or(text).trim_end();
    }
    match text {
        "O-O" | "0-0" | "o-o" => return Some(Written::Castle { toward_h: true }),
        "O-O-O" | "0-0-0" | "o-o-o" => return Some(Written::Castle { toward_h: false }),
        _ => {}
    }
    if let Some((letter, square)) = text.split_once('@') {
        let role = match letter.as_bytes() {
            [] => Role::Pawn,
            [letter] => Role::from_char(char::from(*letter))?,
            _ => return None,
        };
        let to = Square::parse(square, files)?;
        return Some(Written::Drop { role, to });
    }
    parse_board_move(text, files)
}

/// A move from square to square, read from its end: promotion, destination, then what tells the origin.
fn parse_board_move(text: &str, files: u8) -> Option<Written> {
    let (text, promotion) = split_promotion(text)?;
    let (before, to) = text.split_at_checked(text.len().checked_sub(2)?)?;
    if !to.starts_with(|c: char| c.is_ascii_lowercase()) {
        return None;
    }
    let to = Square::parse(to, files)?;
    let stripped = before.strip_suffix(['x', ':', '-']);
    if stripped == Some("") {
        return None;
    }
    let mut before = stripped.unwrap_or(before);
    let mut role = Role::Pawn;
    if let Some(letter) = before.chars().next() {
        // Small letters that are no file can only be pieces.
        let piece = letter.is_ascii_uppercase() || matches!(letter, 'n' | 'r' | 'q' | 'k' | 'p');
        if piece {
            role = Role::from_char(letter)?;
            before = before.get(1..)?;
        }
    }
    let (mut from_file, mut from_rank) = (None, None);
    for byte in before.bytes() {
        match byte {
            b'a'..=b'j' if from_file.is_none() && from_rank.is_none() && byte - b'a' < files => {
                from_file = Some(byte - b'a')
            }
            b'1'..=b'8' if from_rank.is_none() => from_rank = Some(byte - b'1'),
            _ => return None,
        }
    }
    Some(Written::Board {
        role,
        from_file,
        from_rank,
        to,
        promotion,
    })
}

/// Takes `=Q`, `Q`, `(Q)` or `/Q` from the end. A letter is a promotion only behind the digit of a rank.
fn split_promotion(text: &str) -> Option<(&str, Option<Role>)> {
    let inner = text.strip_suffix(')').unwrap_or(text);
    let Some(letter) = inner.chars().last().filter(char::is_ascii_alphabetic) else {
        // It ends in a digit, or in a bracket without a letter.
        return (inner.len() == text.len()).then_some((text, None));
    };
    let role = Role::from_char(letter)?;
    let before = inner.get(..inner.len() - 1)?;
    let before = before.strip_suffix(['=', '(', '/']).unwrap_or(before);
    before
        .ends_with(|c: char| c.is_ascii_digit())
        .then_some((before, Some(role)))
}

impl Position {
    /// Reads a legal move in algebraic notation.
    ///
    /// # Errors
    /// [`SanError`]: no move at all, no legal move, or more than one.
    pub fn parse_san(&self, text: &str) -> Result<Move, SanError> {
        let written =
            parse_written(text.trim(), self.variant().files()).ok_or_else(|| SanError::Syntax {
                text: text.chars().take(32).collect(),
            })?;
        let moves = self.legal_moves();
        let mut fitting = moves
            .iter()
            .copied()
            .filter(|&m| self.is_written_so(m, written));
        let Some(first) = fitting.next() else {
            return Err(SanError::Illegal {
                text: text.trim().to_owned(),
                fen: self.fen(),
            });
        };
        match fitting.next() {
            None => Ok(first),
            Some(second) => Err(SanError::Ambiguous {
                text: text.trim().to_owned(),
                first: self.uci(first),
                second: self.uci(second),
                fen: self.fen(),
            }),
        }
    }

    fn is_written_so(&self, m: Move, written: Written) -> bool {
        let files = self.variant().files();
        match (self.kind(m), written) {
            (MoveKind::Castle { .. }, Written::Castle { toward_h }) => {
                self.is_short_castling(m) == toward_h
            }
            (MoveKind::Drop { role, to }, Written::Drop { role: r, to: t }) => role == r && to == t,
            (
                MoveKind::Normal { .. } | MoveKind::EnPassant { .. },
                Written::Board {
                    role,
                    from_file,
                    from_rank,
                    to,
                    promotion,
                },
            ) => {
                let (from, target, becomes) = squares(self.kind(m));
                target == to
                    && becomes == promotion
                    && from_file.is_none_or(|file| file == from.file(files))
                    && from_rank.is_none_or(|rank| rank == from.rank(files))
                    && self.piece_at(from).is_some_and(|piece| piece.role == role)
            }
            _ => false,
        }
    }

    /// The legal move in algebraic notation.
    #[must_use]
    pub fn san(&self, m: Move) -> String {
        let mut text = self.san_without_mark(m);
        let mut after = self.clone();
        after.play_unchecked(m);
        let won = after
            .ending()
            .is_some_and(|ending| ending.outcome != Outcome::Draw);
        if won {
            text.push('#');
        } else if after.in_check() {
            text.push('+');
        }
        text
    }

    fn san_without_mark(&self, m: Move) -> String {
        let files = self.variant().files();
        let kind = self.kind(m);
        match kind {
            MoveKind::Castle { .. } if self.is_short_castling(m) => return "O-O".to_owned(),
            MoveKind::Castle { .. } => return "O-O-O".to_owned(),
            MoveKind::Drop { role, to } => {
                return format!("{}@{}", role.upper_char(), to.name(files));
            }
            MoveKind::Normal { .. } | MoveKind::EnPassant { .. } => {}
        }
        let (from, to, promotion) = squares(kind);
        let role = self.piece_at(from).map_or(Role::Pawn, |piece| piece.role);
        let capture = matches!(kind, MoveKind::EnPassant { .. }) || self.piece_at(to).is_some();
        let mut text = String::with_capacity(8);
        let from_name = from.name(files);
        if role != Role::Pawn {
            text.push(role.upper_char());
            text.push_str(self.origin_needed(m, role, from, &from_name, to));
        } else if capture {
            text.push_str(from_name.get(..1).unwrap_or_default());
        }
        if capture {
            text.push('x');
        }
        text.push_str(&to.name(files));
        if let Some(role) = promotion {
            text.push('=');
            text.push(role.upper_char());
        }
        text
    }

    /// The part of the origin's name that sets the move apart from other legal ones of the same role.
    fn origin_needed<'a>(
        &self,
        m: Move,
        role: Role,
        from: Square,
        name: &'a str,
        to: Square,
    ) -> &'a str {
        let files = self.variant().files();
        let (mut alone, mut file_tells, mut rank_tells) = (true, true, true);
        for &other in &self.legal_moves() {
            let kind = self.kind(other);
            if other == m || !matches!(kind, MoveKind::Normal { .. }) {
                continue;
            }
            let (other_from, other_to, _) = squares(kind);
            if other_to != to
                || other_from == from
                || self
                    .piece_at(other_from)
                    .is_none_or(|piece| piece.role != role)
            {
                continue;
            }
            alone = false;
            file_tells &= other_from.file(files) != from.file(files);
            rank_tells &= other_from.rank(files) != from.rank(files);
        }
        let part = match (alone, file_tells, rank_tells) {
            (true, ..) => 0..0,
            (_, true, _) => 0..1,
            (_, _, true) => 1..2,
            _ => 0..2,
        };
        name.get(part).unwrap_or_default()
    }
}

/// Origin, destination and promotion of a board move.
fn squares(kind: MoveKind) -> (Square, Square, Option<Role>) {
    match kind {
        MoveKind::Normal {
            from,
            to,
            promotion,
        } => (from, to, promotion),
        MoveKind::EnPassant { from, to } => (from, to, None),
        MoveKind::Castle { king, rook } => (king, rook, None),
        MoveKind::Drop { to, .. } => (to, to, None),
    }
}
