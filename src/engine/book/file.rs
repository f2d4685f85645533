//! The text form of a book.
//!
//! The first line names the format and the variant: `seneschal book 1 crazyhouse`. Every other line is a position (FEN
//! without the two counters), and after it, behind semicolons, moves in UCI with their scores in centipawns for the side
//! to move: `rnbq... w KQkq -; e2e4 52; d2d4 48`. Empty lines and lines that begin with `#` mean nothing.

use std::path::{Path, PathBuf};

use super::Book;
use crate::rules::{CastlingMode, Move, Position, Variant};

/// What the first line begins with.
const MAGIC: &str = "seneschal book 1 ";
/// Greatest score a move may have: beyond it a game is decided and no opening.
const MAX_SCORE: i32 = 5_000;

/// Why a book was refused.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The file cannot be read or written.
    #[error("the opening book {}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The first line is not that of a book.
    #[error("{name}: the first line {line:?} is not \"seneschal book 1 VARIANT\"")]
    Header {
        /// File or place.
        name: String,
        /// The line.
        line: String,
    },
    /// A book of one variant where that of another was wanted.
    #[error("the opening book {} is for {}, not for {}", path.display(), found.uci_name(), wanted.uci_name())]
    OtherVariant {
        /// Its path.
        path: PathBuf,
        /// What it is for.
        found: Variant,
        /// What was asked for.
        wanted: Variant,
    },
    /// A line says something impossible.
    #[error("{name}, line {number}: {problem} in {line:?}")]
    Line {
        /// File or place.
        name: String,
        /// Line number, from 1.
        number: usize,
        /// What is wrong.
        problem: String,
        /// The line.
        line: String,
    },
}

impl Book {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or says something impossible.
    pub fn load(path: &Path) -> Result<Self, BookError> {
        let text = std::fs::read_to_string(path).map_err(|source| BookError::File {
            path: path.to_owned(),
            source,
        })?;
        Self::from_text(&path.display().to_string(), &text)
    }

    /// Reads the text form. `name` is what errors call it.
    ///
    /// # Errors
    /// If a line says something impossible.
    pub fn from_text(name: &str, text: &str) -> Result<Self, BookError> {
        let mut lines = text.lines().enumerate();
        let first = lines.next().map_or("", |(_, line)| line.trim());
        let variant = first
            .strip_prefix(MAGIC)
            .and_then(|variant| Variant::ALL.into_iter().find(|v| v.uci_name() == variant))
            .ok_or_else(|| BookError::Header {
                name: name.to_owned(),
                line: first.to_owned(),
            })?;
        let mut book = Self::new(variant);
        for (index, line) in lines {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (position, moves) =
                parse_line(variant, line).map_err(|problem| BookError::Line {
                    name: name.to_owned(),
                    number: index + 1,
                    problem,
                    line: line.to_owned(),
                })?;
            book.insert(&position, &moves);
        }
        book.carry_values();
        Ok(book)
    }

    /// The first line of a book's text form.
    #[must_use]
    pub fn header(variant: Variant) -> String {
        format!("{MAGIC}{}", variant.uci_name())
    }

    /// The line of a position.
    #[must_use]
    pub fn line(position: &Position, moves: &[(Move, i32)]) -> String {
        let fen = position.fen();
        let fields: Vec<&str> = fen.split(' ').take(4).collect();
        let moves = moves
            .iter()
            .map(|&(m, score)| format!("; {} {score}", position.uci(m)));
        fields.join(" ") + &moves.collect::<String>()
    }
}

fn parse_line(variant: Variant, line: &str) -> Result<(Position, Vec<(Move, i32)>), String> {
    let mut parts = line.split(';').map(str::trim);
    let fen = format!("{} 0 1", parts.next().unwrap_or_default());
    let position = Position::from_fen(variant, CastlingMode::Standard, &fen)
        .map_err(|error| error.to_string())?;
    let moves: Vec<(Move, i32)> = parts
        .map(|part| {
            let (text, score) = part
                .split_once(' ')
                .ok_or_else(|| format!("no score behind {part:?}"))?;
            let m = position
                .parse_uci(text)
                .map_err(|error| error.to_string())?;
            let score: i32 = score
                .trim()
                .parse()
                .ok()
                .filter(|score: &i32| score.abs() <= MAX_SCORE)
                .ok_or_else(|| format!("{score:?} is no score"))?;
            Ok((m, score))
        })
        .collect::<Result<_, String>>()?;
    if moves.is_empty() {
        return Err("no move".to_owned());
    }
    Ok((position, moves))
}
