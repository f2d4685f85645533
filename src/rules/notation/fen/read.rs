//! From text to a [`Setup`].

use super::error::{FenError, FenFault, FenField};
use crate::rules::setup::{CastlingStyle, Setup};
use crate::rules::types::{Color, Piece, Role, Square};
use crate::rules::variant::{CastlingMode, Variant};

/// Longest text that is read; the longest position with full pockets stays well below.
const MAX_LENGTH: usize = 512;
/// Most pieces in hand that are read, both sides together.
const MAX_POCKET: u32 = 250;
/// Largest counter that is read.
const MAX_COUNTER: u32 = 100_000;
/// Checks that win in three-check.
const CHECKS: u8 = 3;
const RANKS: usize = 8;

/// A word of the text with its place.
#[derive(Debug, Clone, Copy)]
struct Field<'a> {
    text: &'a str,
    at: usize,
}

fn refuse(field: FenField, at: usize, fault: FenFault) -> FenError {
    FenError::Text { field, at, fault }
}

/// The words between blanks.
fn fields(text: &str) -> impl Iterator<Item = Field<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        at += rest.len() - rest.trim_start().len();
        let rest = text.get(at..)?;
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let field = Field {
            text: rest.get(..length)?,
            at,
        };
        at += length;
        (length > 0).then_some(field)
    })
}

/// A short copy of refused text.
fn quote(text: &str) -> String {
    text.chars().take(32).collect()
}

pub(super) fn read(variant: Variant, mode: CastlingMode, fen: &str) -> Result<Setup, FenError> {
    if fen.len() > MAX_LENGTH {
        let fault = FenFault::TooLong { limit: MAX_LENGTH };
        return Err(refuse(FenField::End, MAX_LENGTH, fault));
    }
    let mut words = fields(fen);
    let mut next = |field| {
        words
            .next()
            .ok_or_else(|| refuse(field, fen.len(), FenFault::Missing))
    };
    let board = next(FenField::Board)?;
    let turn = next(FenField::Turn)?;
    let castling = next(FenField::Castling)?;
    let en_passant = next(FenField::EnPassant)?;

    let mut setup = Setup::default();
    let mut reader = Reader {
        variant,
        mode,
        setup: &mut setup,
        held: 0,
    };
    let has_pocket = reader.read_board(board)?;
    reader.read_turn(turn)?;
    reader.read_castling(castling)?;
    reader.read_en_passant(en_passant)?;
    reader.read_rest(words, has_pocket)?;
    Ok(setup)
}

struct Reader<'a> {
    variant: Variant,
    mode: CastlingMode,
    setup: &'a mut Setup,
    /// Pieces in hand so far.
    held: u32,
}

impl Reader<'_> {
    fn files(&self) -> u8 {
        self.variant.files()
    }

    fn piece(&self, field: FenField, at: usize, letter: char) -> Result<Piece, FenError> {
        Piece::from_char(letter)
            .filter(|piece| self.variant.roles().contains(&piece.role))
            .ok_or_else(|| {
                let fault = FenFault::UnknownPiece {
                    letter,
                    variant: self.variant,
                };
                refuse(field, at, fault)
            })
    }

    /// Reads board and pocket. Returns whether there is a pocket, empty or not.
    fn read_board(&mut self, field: Field<'_>) -> Result<bool, FenError> {
        let (board, bracket) = match field.text.split_once('[') {
            Some((board, inner)) => {
                let at = field.at + board.len() + 1;
                let Some(pocket) = inner
                    .strip_suffix(']')
                    .filter(|pocket| !pocket.contains([']', '[']))
                else {
                    return Err(refuse(FenField::Pocket, at - 1, FenFault::UnclosedPocket));
                };
                (board, Some(Field { text: pocket, at }))
            }
            None => (field.text, None),
        };
        let mut ranks = Vec::with_capacity(RANKS + 1);
        let mut at = field.at;
        for text in board.split('/') {
            ranks.push(Field { text, at });
            at += text.len() + 1;
        }
        let slash = match ranks.get(RANKS).copied() {
            Some(ninth) if ranks.len() == RANKS + 1 && self.variant.has_drops() => {
                if bracket.is_some() {
                    return Err(refuse(FenField::Pocket, ninth.at, FenFault::TwoPockets));
                }
                ranks.pop();
                Some(ninth)
            }
            _ => None,
        };
        if ranks.len() != RANKS {
            let fault = FenFault::RankCount {
                count: ranks.len(),
                wanted: RANKS,
            };
            return Err(refuse(FenField::Board, field.at, fault));
        }
        for (index, rank) in ranks.into_iter().enumerate() {
            self.read_rank(rank, RANKS - 1 - index)?;
        }
        let pocket = bracket.or(slash);
        if let Some(pocket) = pocket {
            self.read_pocket(pocket)?;
        }
        Ok(pocket.is_some())
    }

    /// Reads one rank, `rank` from 0.
    fn read_rank(&mut self, field: Field<'_>, rank: usize) -> Result<(), FenError> {
        let wanted = usize::from(self.files());
        let mut file = 0_usize;
        let mut last = None;
        let mut text = field.text.char_indices().peekable();
        while let Some((offset, letter)) = text.next() {
            let at = field.at + offset;
            if letter == '~' {
                let Some(square) = last.take() else {
                    return Err(refuse(FenField::Board, at, FenFault::StrayPromotedMark));
                };
                self.setup.promoted |= 1_u128 << square;
                continue;
            }
            last = None;
            if let Some(digit) = letter.to_digit(10) {
                let mut number = digit as usize;
                while let Some(digit) = text.peek().and_then(|(_, next)| next.to_digit(10)) {
                    number = (number * 10 + digit as usize).min(1000);
                    text.next();
                }
                if number == 0 {
                    return Err(refuse(FenField::Board, at, self.unknown(letter)));
                }
                file += number;
                continue;
            }
            let piece = self.piece(FenField::Board, at, letter)?;
            if file < wanted {
                let square = rank * wanted + file;
                self.setup.board[square] = Some(piece);
                last = (!matches!(piece.role, Role::Pawn | Role::King)).then_some(square);
            }
            file += 1;
        }
        if file == wanted {
            return Ok(());
        }
        let fault = FenFault::RankWidth {
            rank: rank + 1,
            count: file,
            wanted,
        };
        Err(refuse(FenField::Board, field.at, fault))
    }

    fn unknown(&self, letter: char) -> FenFault {
        FenFault::UnknownPiece {
            letter,
            variant: self.variant,
        }
    }

    /// Reads pieces in hand: letters in any order, a number before a letter as so many of it, `-` for none.
    fn read_pocket(&mut self, field: Field<'_>) -> Result<(), FenError> {
        if matches!(field.text, "" | "-") {
            return Ok(());
        }
        if !self.variant.has_drops() {
            let fault = FenFault::NoDrops {
                variant: self.variant,
            };
            return Err(refuse(FenField::Pocket, field.at, fault));
        }
        let mut number: Option<u32> = None;
        for (offset, letter) in field.text.char_indices() {
            let at = field.at + offset;
            if let Some(digit) = letter.to_digit(10) {
                number = Some((number.unwrap_or(0) * 10 + digit).min(1000));
                continue;
            }
            let piece = self.piece(FenField::Pocket, at, letter)?;
            if piece.role == Role::King {
                return Err(refuse(FenField::Pocket, at, FenFault::KingInHand));
            }
            let count = number.take().unwrap_or(1);
            self.held += count;
            if self.held > MAX_POCKET {
                return Err(refuse(
                    FenField::Pocket,
                    at,
                    FenFault::PocketTooLarge { limit: MAX_POCKET },
                ));
            }
            // The sum of both hands is below 251, so one counter is too.
            self.setup.pockets[piece.color.index()][piece.role.index()] += count as u8;
        }
        match number {
            None => Ok(()),
            Some(_) => Err(refuse(
                FenField::Pocket,
                field.at + field.text.len(),
                FenFault::Missing,
            )),
        }
    }

    fn read_turn(&mut self, field: Field<'_>) -> Result<(), FenError> {
        self.setup.turn = match field.text {
            "w" => Color::White,
            "b" => Color::Black,
            other => {
                let fault = FenFault::BadTurn { text: quote(other) };
                return Err(refuse(FenField::Turn, field.at, fault));
            }
        };
        Ok(())
    }

    fn read_castling(&mut self, field: Field<'_>) -> Result<(), FenError> {
        if field.text == "-" {
            return Ok(());
        }
        for (offset, letter) in field.text.char_indices() {
            self.read_right(letter)
                .map_err(|fault| refuse(FenField::Castling, field.at + offset, fault))?;
        }
        Ok(())
    }

    fn read_right(&mut self, letter: char) -> Result<(), FenFault> {
        let color = if letter.is_ascii_uppercase() {
            Color::White
        } else {
            Color::Black
        };
        let lower = letter.to_ascii_lowercase();
        let named_file = match lower {
            'k' | 'q' => None,
            'a'..='j' if (lower as u8 - b'a') < self.files() => Some(lower as u8 - b'a'),
            _ => return Err(FenFault::BadCastlingLetter { letter }),
        };
        if self.variant == Variant::RacingKings {
            return Err(FenFault::NoCastling {
                variant: self.variant,
            });
        }
        let Some(king_file) = self.castling_king(color) else {
            // No king on its first rank: a right that outlived its king's move.
            return Ok(());
        };
        let rook_file = match named_file {
            Some(file) => {
                if !self.is_rook(color, file) || file == king_file {
                    return Err(FenFault::NoCastlingRook { letter });
                }
                file
            }
            None => match self.outermost_rook(color, king_file, lower == 'q') {
                Some(file) => file,
                // The rook is gone: a right that outlived it.
                None => return Ok(()),
            },
        };
        self.set_style(color, king_file, letter)?;
        let slot =
            &mut self.setup.castling_rooks[color.index() * 2 + usize::from(rook_file < king_file)];
        let rook = Square::new(rook_file, home_rank(color), self.variant.files());
        match *slot {
            Some(other) if other != rook => Err(FenFault::CastlingTwice { letter }),
            _ => {
                *slot = Some(rook);
                Ok(())
            }
        }
    }

    /// Decides where kings go, by the file of a king that may castle. Without Chess960 only the e-file on eight files and
    /// the f-file on ten are usual; a king on the d-file is that of FICS's wild/0 and wild/1, one on the e-file of ten
    /// files that of Embassy.
    fn set_style(&mut self, color: Color, king_file: u8, letter: char) -> Result<(), FenFault> {
        if self.mode == CastlingMode::Chess960 {
            return Ok(());
        }
        match (self.files(), king_file) {
            (8, 4) | (10, 5) => {}
            (10, 4) => self.setup.castling_style = CastlingStyle::Embassy,
            (8, 3) if self.variant == Variant::Chess && self.has_corner_rooks(color) => {
                self.setup.castling_style = CastlingStyle::Wild;
            }
            _ => return Err(FenFault::CastlingNeedsChess960 { letter }),
        }
        Ok(())
    }

    fn has_corner_rooks(&self, color: Color) -> bool {
        self.is_rook(color, 0) || self.is_rook(color, self.files() - 1)
    }

    fn at(&self, file: u8, rank: u8) -> Option<Piece> {
        self.setup.board[Square::new(file, rank, self.files()).index()]
    }

    fn is_rook(&self, color: Color, file: u8) -> bool {
        let rook = Piece {
            color,
            role: Role::Rook,
        };
        self.at(file, home_rank(color)) == Some(rook)
    }

    /// The file of the king, if it stands on its first rank.
    fn castling_king(&self, color: Color) -> Option<u8> {
        let king = Piece {
            color,
            role: Role::King,
        };
        (0..self.files()).find(|&file| self.at(file, home_rank(color)) == Some(king))
    }

    fn outermost_rook(&self, color: Color, king_file: u8, lower_side: bool) -> Option<u8> {
        if lower_side {
            (0..king_file).find(|&file| self.is_rook(color, file))
        } else {
            (king_file + 1..self.files())
                .rev()
                .find(|&file| self.is_rook(color, file))
        }
    }

    /// Reads the square and keeps it if an enemy pawn can have passed it.
    fn read_en_passant(&mut self, field: Field<'_>) -> Result<(), FenError> {
        if field.text == "-" {
            return Ok(());
        }
        let files = self.files();
        let Some(square) = Square::parse(field.text, files) else {
            let fault = FenFault::BadSquare {
                text: quote(field.text),
            };
            return Err(refuse(FenField::EnPassant, field.at, fault));
        };
        let (file, rank) = (square.file(files), square.rank(files));
        let (passed_rank, pawn_rank, origin_rank) = match self.setup.turn {
            Color::White => (5, 4, 6),
            Color::Black => (2, 3, 1),
        };
        let pawn = Piece {
            color: !self.setup.turn,
            role: Role::Pawn,
        };
        let possible = rank == passed_rank
            && self.at(file, pawn_rank) == Some(pawn)
            && self.at(file, rank).is_none()
            && self.at(file, origin_rank).is_none();
        self.setup.en_passant = possible.then_some(square);
        Ok(())
    }

    /// Reads counters, checks and hands behind the first four fields, as far as they are there.
    fn read_rest<'t>(
        &mut self,
        words: impl Iterator<Item = Field<'t>>,
        mut has_pocket: bool,
    ) -> Result<(), FenError> {
        let (mut halfmoves, mut fullmoves) = (None, None);
        for word in words {
            if word.text.contains('+') {
                self.read_checks(word)?;
            } else if halfmoves.is_none() {
                halfmoves = Some(read_number(FenField::Halfmoves, word)?);
            } else if fullmoves.is_none() {
                fullmoves = Some(read_number(FenField::MoveNumber, word)?);
            } else if self.variant.has_drops() && !has_pocket {
                has_pocket = true;
                self.read_pocket(word)?;
            } else {
                let fault = FenFault::Trailing {
                    text: quote(word.text),
                };
                return Err(refuse(FenField::End, word.at, fault));
            }
        }
        self.setup.halfmoves = halfmoves.unwrap_or(0);
        self.setup.fullmoves = fullmoves.unwrap_or(1).max(1);
        Ok(())
    }

    /// Reads `3+1`, checks still to give, or `+0+2`, checks given.
    fn read_checks(&mut self, field: Field<'_>) -> Result<(), FenError> {
        let counter = |text: &str| match text.as_bytes() {
            [digit @ b'0'..=b'3'] => Some(digit - b'0'),
            _ => None,
        };
        let read = || {
            let given = field.text.strip_prefix('+');
            let (white, black) = given.unwrap_or(field.text).split_once('+')?;
            let (white, black) = (counter(white)?, counter(black)?);
            Some(match given {
                Some(_) => [CHECKS - white, CHECKS - black],
                None => [white, black],
            })
        };
        let already = self.setup.checks_remaining.is_some();
        match read().filter(|_| self.variant == Variant::ThreeCheck && !already) {
            Some(checks) => {
                self.setup.checks_remaining = Some(checks);
                Ok(())
            }
            None => {
                let fault = FenFault::BadChecks {
                    text: quote(field.text),
                };
                Err(refuse(FenField::Checks, field.at, fault))
            }
        }
    }
}

const fn home_rank(color: Color) -> u8 {
    match color {
        Color::White => 0,
        Color::Black => 7,
    }
}

fn read_number(name: FenField, field: Field<'_>) -> Result<u32, FenError> {
    let digits = field.text.bytes().all(|byte| byte.is_ascii_digit());
    field
        .text
        .parse()
        .ok()
        .filter(|&number| digits && number <= MAX_COUNTER)
        .ok_or_else(|| {
            let fault = FenFault::BadNumber {
                text: quote(field.text),
            };
            refuse(name, field.at, fault)
        })
}
