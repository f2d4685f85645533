//! From a game to text.

use std::fmt;

use super::comment::clock_text;
use super::reader::move_number;
use super::tags::escape;
use super::{PgnGame, PgnMove};
use crate::rules::position::Position;
use crate::rules::types::Color;
use crate::rules::variant::CastlingMode;

/// Longest line of moves, as the export format asks.
const LINE_WIDTH: usize = 80;
/// The tags every export has, in their order.
const ROSTER: [&str; 7] = ["Event", "Site", "Date", "Round", "White", "Black", "Result"];

impl PgnGame {
    /// Sets `Variant`, and `SetUp` with `FEN` if the game does not begin from the variant's own start, as the start
    /// position says; removes them where they would say nothing.
    pub fn set_tags_of_start(&mut self) {
        let (variant, mode) = (self.start.variant(), self.start.castling_mode());
        match variant.pgn_name(mode) {
            Some(name) => self.tags.set("Variant", name),
            None => self.tags.remove("Variant"),
        }
        let fen = self.start.fen();
        if mode == CastlingMode::Standard && fen == Position::start(variant).fen() {
            self.tags.remove("SetUp");
            self.tags.remove("FEN");
        } else {
            self.tags.set("SetUp", "1");
            self.tags.set("FEN", fen);
        }
    }

    /// The mark of the result: `1-0`, `0-1`, `1/2-1/2` or `*`.
    #[must_use]
    pub fn result_mark(&self) -> &'static str {
        self.result.map_or("*", |outcome| outcome.result())
    }
}

/// The text of the game in export format: the seven tags of the roster first (`?` where unknown), the other tags,
/// the moves with their annotations in lines of at most 80 characters (a longer word stands alone), an empty line.
impl fmt::Display for PgnGame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut game = self.clone();
        game.set_tags_of_start();
        for name in ROSTER {
            let value = match name {
                "Result" => self.result_mark(),
                "Date" => game.tags.get(name).unwrap_or("????.??.??"),
                _ => game.tags.get(name).unwrap_or("?"),
            };
            writeln!(f, "[{name} \"{}\"]", escape(value))?;
        }
        for (name, value) in game.tags.iter() {
            if !ROSTER.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                writeln!(f, "[{name} \"{}\"]", escape(value))?;
            }
        }
        writeln!(f)?;
        let mut lines = Lines::default();
        self.write_moves(&mut lines);
        lines.word(self.result_mark());
        writeln!(f, "{}", lines.text)?;
        writeln!(f)
    }
}

impl PgnGame {
    fn write_moves(&self, lines: &mut Lines) {
        lines.comment(&self.comment);
        let mut position = self.start.clone();
        // A number stands before White's moves, before the first move, and where a comment came between.
        let mut numbered = true;
        for step in &self.moves {
            let san = position.san(step.played);
            if numbered || position.turn() == Color::White {
                lines.word(&format!("{} {san}", move_number(&position)));
            } else {
                lines.word(&san);
            }
            for nag in &step.nags {
                lines.word(&format!("${nag}"));
            }
            let comment = comment_of(step);
            lines.comment(&comment);
            numbered = !comment.is_empty();
            position.play_unchecked(step.played);
        }
    }
}

/// The comment behind a move, commands first.
fn comment_of(step: &PgnMove) -> String {
    let mut comment = String::new();
    if let Some(evaluation) = step.evaluation {
        comment = format!("[%eval {evaluation}]");
    }
    if let Some(clock) = step.clock {
        if !comment.is_empty() {
            comment.push(' ');
        }
        comment.push_str(&format!("[%clk {}]", clock_text(clock)));
    }
    if !step.comment.trim().is_empty() {
        if !comment.is_empty() {
            comment.push(' ');
        }
        comment.push_str(step.comment.trim());
    }
    comment
}

/// Words in lines of limited width.
#[derive(Default)]
struct Lines {
    text: String,
    /// Characters on the last line.
    width: usize,
}

impl Lines {
    fn word(&mut self, word: &str) {
        let length = word.chars().count();
        if self.width > 0 {
            if self.width + 1 + length > LINE_WIDTH {
                self.text.push('\n');
                self.width = 0;
            } else {
                self.text.push(' ');
                self.width += 1;
            }
        }
        self.text.push_str(word);
        self.width += length;
    }

    /// Writes a comment in braces. A closing brace cannot be escaped, so it becomes a round bracket; a word that would
    /// begin a line with `[Event "` or `%` cannot be mistaken, because a brace is open.
    fn comment(&mut self, comment: &str) {
        let plain: String = comment
            .chars()
            .map(|c| match c {
                '{' => '(',
                '}' => ')',
                _ if c.is_control() => ' ',
                _ => c,
            })
            .collect();
        let mut words = plain.split_whitespace().peekable();
        let mut first = true;
        while let Some(word) = words.next() {
            let open = if first { "{" } else { "" };
            let close = if words.peek().is_none() { "}" } else { "" };
            self.word(&format!("{open}{word}{close}"));
            first = false;
        }
    }
}
