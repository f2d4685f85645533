//! From text games to played ones.

use std::io::BufRead;

use super::comment::split_commands;
use super::error::{PgnError, PgnFault};
use super::lexer::{Lexer, TextGame, TextMove};
use super::tags::Tags;
use super::{PgnGame, PgnMove};
use crate::rules::ending::Outcome;
use crate::rules::notation::names::NamedVariant;
use crate::rules::position::Position;
use crate::rules::starts::TenWide;
use crate::rules::types::Color;
use crate::rules::variant::{CastlingMode, Variant};

/// Reads games one after another; memory is that of one game.
///
/// A game that cannot be read is an `Err` in its place. The iterator ends after an error of the input itself.
#[derive(Debug)]
pub struct PgnReader<R> {
    lexer: Lexer<R>,
    games: u64,
    assumed: NamedVariant,
    ended: bool,
}

impl<R: BufRead> PgnReader<R> {
    /// A reader that takes games without a `Variant` tag for orthodox chess.
    pub fn new(input: R) -> Self {
        Self {
            lexer: Lexer::new(input),
            games: 0,
            assumed: (Variant::Chess, CastlingMode::Standard),
            ended: false,
        }
    }

    /// Sets the variant of games without a `Variant` tag; FICS writes such files.
    #[must_use]
    pub fn assuming(mut self, variant: Variant, mode: CastlingMode) -> Self {
        self.assumed = (variant, mode);
        self
    }

    fn play(&self, text: TextGame) -> Result<PgnGame, (u64, PgnFault)> {
        let start = start_of(&text.tags, self.assumed).map_err(|fault| (text.line, fault))?;
        let mut position = start.clone();
        let mut moves = Vec::with_capacity(text.moves.len());
        for step in text.moves {
            let played = position.parse_san(&step.san).map_err(|cause| {
                let fault = PgnFault::BadMove {
                    number: move_number(&position),
                    ply: moves.len(),
                    cause: Box::new(cause),
                };
                (step.line, fault)
            })?;
            position.play_unchecked(played);
            moves.push(annotated(played, step));
        }
        // What was wrong with the text itself is told only now, so that an illegal move before it is told first.
        if let Some(fault) = text.fault {
            return Err(fault);
        }
        let mark = text.result.as_deref().or_else(|| text.tags.get("Result"));
        Ok(PgnGame {
            start,
            comment: text.comment,
            moves,
            result: mark.and_then(parse_result),
            tags: text.tags,
        })
    }
}

impl<R: BufRead> Iterator for PgnReader<R> {
    type Item = Result<PgnGame, PgnError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let text = match self.lexer.next_game() {
            Ok(text) => text?,
            Err(error) => {
                self.ended = true;
                return Some(Err(PgnError {
                    game: self.games + 1,
                    line: self.lexer.line_number(),
                    fault: PgnFault::Input(error),
                }));
            }
        };
        self.games += 1;
        let game = self.games;
        Some(
            self.play(text)
                .map_err(|(line, fault)| PgnError { game, line, fault }),
        )
    }
}

fn annotated(played: crate::rules::moves::Move, step: TextMove) -> PgnMove {
    let (clock, evaluation, comment) = split_commands(&step.comment);
    PgnMove {
        played,
        clock,
        evaluation,
        nags: step.nags,
        comment,
    }
}

/// `12.` or `12...`, as the move about to be made is numbered.
pub(super) fn move_number(position: &Position) -> String {
    let dots = match position.turn() {
        Color::White => ".",
        Color::Black => "...",
    };
    format!("{}{dots}", position.ply() / 2 + 1)
}

/// The outcome of a result mark; `None` for `*` and for what is none.
pub(super) fn parse_result(mark: &str) -> Option<Outcome> {
    match mark.trim() {
        "1-0" => Some(Outcome::Decisive {
            winner: Color::White,
        }),
        "0-1" => Some(Outcome::Decisive {
            winner: Color::Black,
        }),
        "1/2-1/2" | "1/2" => Some(Outcome::Draw),
        _ => None,
    }
}

/// The start that the tags describe.
fn start_of(tags: &Tags, assumed: NamedVariant) -> Result<Position, PgnFault> {
    let name = tags.get("Variant").unwrap_or_default();
    let (variant, mode) = if name.trim().is_empty() {
        assumed
    } else {
        Variant::parse_name(name).ok_or_else(|| PgnFault::UnknownVariant {
            name: name.to_owned(),
        })?
    };
    let Some(fen) = tags.get("FEN").filter(|fen| !fen.trim().is_empty()) else {
        // A sister game of Capablanca's is named by its array alone.
        let fen = TenWide::parse(name)
            .filter(|_| variant.files() == 10)
            .map(|array| array.start_fen(variant.has_drops()));
        return Ok(
            match fen.map(|fen| Position::from_fen(variant, mode, &fen)) {
                Some(Ok(start)) => start,
                _ => Position::start(variant),
            },
        );
    };
    let refuse = |cause| PgnFault::BadStart {
        fen: fen.to_owned(),
        cause,
    };
    match Position::from_fen(variant, mode, fen) {
        Ok(start) => Ok(start),
        // "From position" and sloppy exports name no Chess960 although only its castling fits the rights.
        Err(cause) if mode == CastlingMode::Standard && variant.supports_chess960() => {
            Position::from_fen(variant, CastlingMode::Chess960, fen).map_err(|_| refuse(cause))
        }
        Err(cause) => Err(refuse(cause)),
    }
}
