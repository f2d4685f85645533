//! `seneschal position`: what the rules say about a position or about a game up to some move.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use serde::Serialize;

use crate::rules::notation::{NamedVariant, epd};
use crate::rules::{Adjudication, CastlingMode, Color, History, Role, Square, UciError, Variant};

/// Arguments of `seneschal position`.
#[derive(Debug, clap::Args)]
pub(super) struct Position {
    /// Variant by its UCI name, with 960 behind it for free castling
    #[arg(long, value_parser = parse_variant, required_unless_present = "batch")]
    variant: Option<NamedVariant>,
    /// Position the game began from; the variant's start if left out
    #[arg(long)]
    fen: Option<String>,
    /// Moves played from it, in UCI or in algebraic notation, parted by blanks
    #[arg(long, default_value = "")]
    moves: String,
    /// Whose rules decide about draws, material and length: seed, lichess, pychess or fics
    #[arg(long, value_parser = parse_adjudication, default_value = "seed")]
    adjudication: Adjudication,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
    /// Answer lines `variant TAB position TAB moves` of standard input with one line of JSON each
    #[arg(long, conflicts_with_all = ["variant", "fen", "moves"])]
    batch: bool,
}

/// The stable form of the answer.
#[derive(Debug, Serialize)]
struct Answer {
    variant: String,
    fen: String,
    in_check: bool,
    /// Legal moves in UCI, in alphabetical order.
    legal: Vec<String>,
    /// The same in algebraic notation.
    san: BTreeMap<String, String>,
    outcome: Option<AnswerOutcome>,
    /// What may be claimed.
    claims: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct AnswerOutcome {
    result: &'static str,
    reason: &'static str,
}

/// The answer to a line that was refused.
#[derive(Debug, Serialize)]
struct Refusal {
    error: String,
}

/// Reads the name of a variant on the command line.
pub(super) fn parse_variant(name: &str) -> Result<NamedVariant, String> {
    epd::parse_variant(name).ok_or_else(|| {
        let names: Vec<&str> = Variant::ALL.into_iter().map(Variant::uci_name).collect();
        format!(
            "known are {} (with 960 behind the name for free castling) and wild/0 to wild/fr",
            names.join(", ")
        )
    })
}

fn parse_adjudication(name: &str) -> Result<Adjudication, String> {
    Adjudication::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = Adjudication::ALL.iter().map(|known| known.name).collect();
        format!("known are {}", names.join(", "))
    })
}

impl Position {
    /// Prints the answer; a refused position or move is an error.
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        if self.batch {
            return self.answer_lines();
        }
        let (variant, mode) = self
            .variant
            .unwrap_or((Variant::Chess, CastlingMode::Standard));
        let history = replay(variant, mode, self.fen.as_deref(), &self.moves)?;
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, &answer(&history, &self.adjudication))?;
            writeln!(out)?;
        } else {
            self.describe(&history, &mut out)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn answer_lines(&self) -> anyhow::Result<ExitCode> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        for line in io::stdin().lock().lines() {
            let line = line.context("reading standard input")?;
            let mut fields = line.splitn(3, '\t');
            let name = fields.next().unwrap_or_default();
            let fen = fields.next().filter(|fen| !fen.is_empty());
            let moves = fields.next().unwrap_or_default();
            let history = parse_variant(name)
                .map_err(|reason| anyhow!("unknown variant {name:?}: {reason}"))
                .and_then(|(variant, mode)| replay(variant, mode, fen, moves));
            match history {
                Ok(history) => {
                    serde_json::to_writer(&mut out, &answer(&history, &self.adjudication))?
                }
                Err(error) => {
                    let error = format!("{error:#}");
                    serde_json::to_writer(&mut out, &Refusal { error })?;
                }
            }
            writeln!(out)?;
            // The asking program waits for this line before it writes the next one.
            out.flush()?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Prints the answer for people.
    fn describe(&self, history: &History, out: &mut impl Write) -> anyhow::Result<()> {
        let position = history.position();
        let answer = answer(history, &self.adjudication);
        draw_board(position, out)?;
        writeln!(out, "variant   {}", answer.variant)?;
        writeln!(out, "position  {}", answer.fen)?;
        writeln!(
            out,
            "to move   {}{}",
            position.turn(),
            if answer.in_check { ", in check" } else { "" }
        )?;
        let moves: Vec<String> = answer
            .san
            .iter()
            .map(|(uci, san)| format!("{uci} ({san})"))
            .collect();
        writeln!(out, "legal     {}: {}", moves.len(), moves.join(", "))?;
        let verdict = self.adjudication.verdict(history);
        match verdict.ending {
            Some(ending) => writeln!(out, "outcome   {}, {}", ending.outcome, ending.reason)?,
            None => writeln!(out, "outcome   none, the game goes on")?,
        }
        let claims = if answer.claims.is_empty() {
            "none".to_owned()
        } else {
            answer.claims.join(", ")
        };
        writeln!(out, "claims    {claims} ({} rules)", self.adjudication.name)?;
        Ok(())
    }
}

/// Plays the moves from the position.
fn replay(
    variant: Variant,
    mode: CastlingMode,
    fen: Option<&str>,
    moves: &str,
) -> anyhow::Result<History> {
    let fen = fen.unwrap_or_else(|| variant.start_fen());
    let start =
        crate::rules::Position::from_fen(variant, mode, fen).context("the position is refused")?;
    let mut history = History::new(start);
    for (index, text) in moves.split_whitespace().enumerate() {
        let position = history.position();
        let m = match position.parse_uci(text) {
            Ok(m) => m,
            // What is no UCI may be algebraic notation; if it is neither, the complaint about UCI is the clearer one.
            Err(error @ UciError::Syntax { .. }) => position
                .parse_san(text)
                .map_err(|_| error)
                .with_context(|| number(index))?,
            Err(error) => return Err(error).with_context(|| number(index)),
        };
        history.play_unchecked(m);
    }
    Ok(history)
}

fn number(index: usize) -> String {
    format!("half-move {} is refused", index + 1)
}

fn answer(history: &History, adjudication: &Adjudication) -> Answer {
    let position = history.position();
    let san: BTreeMap<String, String> = position
        .legal_moves()
        .iter()
        .map(|&m| (position.uci(m), position.san(m)))
        .collect();
    let verdict = adjudication.verdict(history);
    Answer {
        variant: position.variant().uci_name_with(position.castling_mode()),
        fen: position.fen(),
        in_check: position.in_check(),
        legal: san.keys().cloned().collect(),
        san,
        outcome: verdict.ending.map(|ending| AnswerOutcome {
            result: ending.outcome.result(),
            reason: ending.reason.code(),
        }),
        claims: verdict.claims.iter().map(|claim| claim.code()).collect(),
    }
}

/// Draws the board, White below, with the pockets beside it.
fn draw_board(position: &crate::rules::Position, out: &mut impl Write) -> io::Result<()> {
    let files = position.files();
    for rank in (0..8).rev() {
        write!(out, "{} ", rank + 1)?;
        for file in 0..files {
            let square = Square::new(file, rank, files);
            let letter = position.piece_at(square).map_or('.', |piece| piece.char());
            let mark = if position.is_promoted(square) {
                '~'
            } else {
                ' '
            };
            write!(out, "{letter}{mark}")?;
        }
        let pocket = match rank {
            7 => pocket_letters(position, Color::Black),
            0 => pocket_letters(position, Color::White),
            _ => String::new(),
        };
        writeln!(out, " {pocket}")?;
    }
    let names: String = (0..files)
        .map(|file| format!("{} ", char::from(b'a' + file)))
        .collect();
    writeln!(out, "  {names}\n")
}

fn pocket_letters(position: &crate::rules::Position, color: Color) -> String {
    let mut letters = String::new();
    for role in Role::ALL.into_iter().rev() {
        let letter = crate::rules::Piece { color, role }.char();
        letters.extend(std::iter::repeat_n(
            letter,
            position.pocket(color, role).into(),
        ));
    }
    letters
}
