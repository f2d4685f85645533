//! Cuts PGN text into games and tokens. Knows brackets, braces and line numbers, but no chess.
//!
//! The reader works line by line on bytes, so that a file of any length needs the memory of one game, and text in an
//! old one-byte encoding is read as well as UTF-8 (a byte that is no UTF-8 becomes U+FFFD).

use std::io::{BufRead, Read};

use super::error::PgnFault;
use super::tags::Tags;

/// Longest line that is read. Some programs write a whole game with its comments on one line.
const MAX_LINE_BYTES: u64 = 4 << 20;
/// Most half-moves of one game; the longest game the rules allow anywhere has 600.
const MAX_MOVES: usize = 20_000;
/// Longest comment that is kept; the rest of it is read and dropped.
const MAX_COMMENT_BYTES: usize = 64 << 10;
/// Most nested variations that are followed. Deeper ones are still skipped, as the counter only counts.
const MAX_DEPTH: u32 = 1 << 20;

/// A half-move as the text has it, with what is said about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TextMove {
    /// The move without number and without `!` or `?`.
    pub(super) san: String,
    /// Line of the file, counted from one.
    pub(super) line: u64,
    /// Numeric annotation glyphs, `!` and `?` translated.
    pub(super) nags: Vec<u8>,
    /// Text of the comments behind the move, joined by a blank.
    pub(super) comment: String,
}

/// One game as text.
#[derive(Debug, Default)]
pub(super) struct TextGame {
    /// Line of the first tag or move.
    pub(super) line: u64,
    pub(super) tags: Tags,
    /// Comment before the first move.
    pub(super) comment: String,
    pub(super) moves: Vec<TextMove>,
    /// The mark that ended the moves: `1-0`, `0-1`, `1/2-1/2`, `*`; `None` if the text simply stopped.
    pub(super) result: Option<String>,
    /// The first thing that was wrong with the text, and its line. What was read before it is above.
    pub(super) fault: Option<(u64, PgnFault)>,
}

impl TextGame {
    fn blame(&mut self, line: u64, fault: PgnFault) {
        self.fault.get_or_insert((line, fault));
    }

    fn is_empty(&self) -> bool {
        self.tags.is_empty()
            && self.moves.is_empty()
            && self.comment.is_empty()
            && self.result.is_none()
            && self.fault.is_none()
    }
}

/// Where the text stands between two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Between tokens or in the middle of one.
    Moves,
    /// Inside `{ }`; the line is where the brace was opened.
    Comment { opened: u64 },
}

/// Splits a stream of bytes into [`TextGame`]s.
#[derive(Debug)]
pub(super) struct Lexer<R> {
    input: R,
    /// Number of the line in `line`, from one.
    number: u64,
    /// The line that is being read, and how far.
    line: Vec<u8>,
    at: usize,
    /// The line was given back: [`Lexer::next_line`] returns it once more.
    held: bool,
    too_long: bool,
}

impl<R: BufRead> Lexer<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            number: 0,
            line: Vec::new(),
            at: 0,
            held: false,
            too_long: false,
        }
    }

    /// Number of the line read last.
    pub(super) fn line_number(&self) -> u64 {
        self.number
    }

    /// Reads one line into `self.line`, without its end. False at the end of the input.
    fn next_line(&mut self) -> std::io::Result<bool> {
        if std::mem::take(&mut self.held) {
            return Ok(true);
        }
        self.line.clear();
        self.at = 0;
        self.too_long = false;
        let read = Read::by_ref(&mut self.input)
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(false);
        }
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if read as u64 == MAX_LINE_BYTES {
            self.too_long = true;
            self.skip_rest_of_line()?;
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
            // A byte order mark, as editors on one system leave it.
            self.at = 3;
        }
        Ok(true)
    }

    fn skip_rest_of_line(&mut self) -> std::io::Result<()> {
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Ok(());
            }
            let (used, done) = match chunk.iter().position(|&byte| byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (chunk.len(), false),
            };
            self.input.consume(used);
            if done {
                return Ok(());
            }
        }
    }

    /// The next game, `None` at the end of the input.
    ///
    /// # Errors
    /// Only what the input itself reports; a fault of the text is in [`TextGame::fault`].
    pub(super) fn next_game(&mut self) -> std::io::Result<Option<TextGame>> {
        let mut game = TextGame::default();
        if !self.read_tags(&mut game)? {
            return Ok((!game.is_empty()).then_some(game));
        }
        self.read_moves(&mut game)?;
        Ok(Some(game))
    }

    /// Reads blank lines, escaped lines and tags. Returns false at the end of the input; otherwise the line that
    /// begins the moves is held.
    fn read_tags(&mut self, game: &mut TextGame) -> std::io::Result<bool> {
        while self.next_line()? {
            let rest = self.line.get(self.at..).unwrap_or_default();
            let text = rest.trim_ascii();
            if text.is_empty() || text.starts_with(b"%") {
                continue;
            }
            if game.line == 0 {
                game.line = self.number;
            }
            if self.too_long {
                game.blame(self.number, PgnFault::LineTooLong);
            }
            if !text.starts_with(b"[") {
                self.held = true;
                return Ok(true);
            }
            let text = String::from_utf8_lossy(text).into_owned();
            if let Err(fault) = game.tags.read_line(&text) {
                game.blame(self.number, fault);
            }
        }
        Ok(false)
    }

    /// Reads the moves up to the mark of the result, the next game's tags or the end of the input.
    fn read_moves(&mut self, game: &mut TextGame) -> std::io::Result<()> {
        let mut mode = Mode::Moves;
        let mut depth = 0_u32;
        let mut opened = 0;
        while self.next_line()? {
            if self.too_long {
                game.blame(self.number, PgnFault::LineTooLong);
            }
            if self.begins_game(mode) {
                self.held = true;
                break;
            }
            if mode == Mode::Moves && self.at == 0 && self.line.first() == Some(&b'%') {
                continue;
            }
            let was_at_variation = depth;
            if self.read_line_of_moves(game, &mut mode, &mut depth) {
                return Ok(());
            }
            if was_at_variation == 0 && depth > 0 {
                opened = self.number;
            }
        }
        if let Mode::Comment { opened } = mode {
            game.blame(opened, PgnFault::UnclosedComment);
        } else if depth > 0 {
            game.blame(opened, PgnFault::UnclosedVariation);
        }
        Ok(())
    }

    /// Whether the fresh line in hand is the first tag of another game. Inside a comment only `[Event "` is believed,
    /// because comments hold bracketed commands of their own; this is what ends a comment that somebody forgot to close.
    fn begins_game(&self, mode: Mode) -> bool {
        if self.at > 0 {
            return false;
        }
        match mode {
            Mode::Moves => {
                self.line.first() == Some(&b'[')
                    && self.line.get(1).is_some_and(u8::is_ascii_alphabetic)
            }
            Mode::Comment { .. } => self.line.starts_with(b"[Event \""),
        }
    }

    /// Reads the rest of the line in hand. Returns true when the mark of the result was met; what follows on the same
    /// line belongs to the next game.
    fn read_line_of_moves(
        &mut self,
        game: &mut TextGame,
        mode: &mut Mode,
        depth: &mut u32,
    ) -> bool {
        while let Some(&byte) = self.line.get(self.at) {
            match *mode {
                Mode::Comment { .. } => {
                    let rest = self.line.get(self.at..).unwrap_or_default();
                    let end = rest.iter().position(|&b| b == b'}');
                    let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                    if *depth == 0 {
                        add_comment(game, text);
                    }
                    self.at += end.map_or(rest.len(), |end| end + 1);
                    if end.is_some() {
                        *mode = Mode::Moves;
                    }
                }
                Mode::Moves => match byte {
                    b'{' => {
                        *mode = Mode::Comment {
                            opened: self.number,
                        };
                        self.at += 1;
                    }
                    b';' => {
                        if *depth == 0 {
                            add_comment(game, self.line.get(self.at + 1..).unwrap_or_default());
                        }
                        self.at = self.line.len();
                    }
                    b'(' => {
                        *depth = depth.saturating_add(1).min(MAX_DEPTH);
                        self.at += 1;
                    }
                    b')' => {
                        // One too many hides no move of the main line, so it is let pass.
                        *depth = depth.saturating_sub(1);
                        self.at += 1;
                    }
                    _ if byte.is_ascii_whitespace() => self.at += 1,
                    _ => {
                        let token = self.take_token();
                        if *depth == 0 && self.use_token(game, &token) {
                            if self
                                .line
                                .get(self.at..)
                                .is_some_and(|rest| !rest.trim_ascii().is_empty())
                            {
                                self.held = true;
                            }
                            return true;
                        }
                    }
                },
            }
        }
        false
    }

    /// Takes the characters up to a blank or to a character that is a token of its own.
    fn take_token(&mut self) -> String {
        let rest = self.line.get(self.at..).unwrap_or_default();
        let mut end = rest.len();
        for (index, &byte) in rest.iter().enumerate().skip(1) {
            // A round bracket may belong to the move: old programs write the promotion `b8(N)`.
            let promotion = matches!(rest.get(index..index + 3), Some([b'(', piece, b')']) if piece.is_ascii_alphabetic());
            let inside = byte == b')' && matches!(rest.get(..index), Some([.., b'(', _]));
            if byte.is_ascii_whitespace()
                || matches!(byte, b'{' | b';')
                || (byte == b'(' && !promotion)
                || (byte == b')' && !inside)
            {
                end = index;
                break;
            }
        }
        self.at += end;
        String::from_utf8_lossy(rest.get(..end).unwrap_or_default()).into_owned()
    }

    /// Files a token of the main line. Returns true for the mark of the result.
    fn use_token(&self, game: &mut TextGame, token: &str) -> bool {
        if let Some(result) = result_mark(token) {
            game.result = Some(result.to_owned());
            return true;
        }
        if let Some(number) = token.strip_prefix('$') {
            match (number.parse::<u8>(), game.moves.last_mut()) {
                (Ok(nag), Some(last)) => last.nags.push(nag),
                // An annotation before the first move has nothing to stand at.
                (Ok(_), None) => {}
                (Err(_), _) => game.blame(
                    self.number,
                    PgnFault::UnknownToken {
                        token: token.to_owned(),
                    },
                ),
            }
            return false;
        }
        let token = strip_move_number(token);
        let bare = token.trim_end_matches(['!', '?']);
        if let Some(nag) = glyph(token.get(bare.len()..).unwrap_or_default())
            && bare.is_empty()
        {
            // The glyph stands by itself behind the move.
            if let Some(last) = game.moves.last_mut() {
                last.nags.push(nag);
            }
            return false;
        }
        // Words that annotate and move nothing: en passant, check, novelty, diagram, and judgements of the position.
        if bare.is_empty()
            || matches!(
                bare,
                "e.p."
                    | "ep"
                    | "+"
                    | "#"
                    | "++"
                    | "N"
                    | "D"
                    | "+-"
                    | "-+"
                    | "+="
                    | "=+"
                    | "="
                    | "+/-"
                    | "-/+"
                    | "+/="
                    | "=/+"
            )
        {
            return false;
        }
        if game.moves.len() >= MAX_MOVES {
            game.blame(self.number, PgnFault::TooManyMoves { limit: MAX_MOVES });
            return false;
        }
        game.moves.push(TextMove {
            san: bare.to_owned(),
            line: self.number,
            nags: glyph(token.get(bare.len()..).unwrap_or_default())
                .into_iter()
                .collect(),
            comment: String::new(),
        });
        false
    }
}

/// Adds to the comment of the last move, or to that of the game before its first move.
fn add_comment(game: &mut TextGame, text: &[u8]) {
    let comment = match game.moves.last_mut() {
        Some(last) => &mut last.comment,
        None => &mut game.comment,
    };
    for word in String::from_utf8_lossy(text).split_whitespace() {
        if comment.len() + word.len() >= MAX_COMMENT_BYTES {
            return;
        }
        if !comment.is_empty() {
            comment.push(' ');
        }
        comment.push_str(word);
    }
}

/// The canonical mark of a result, if the token is one. `1/2` alone is what some servers write for a draw.
fn result_mark(token: &str) -> Option<&'static str> {
    match token {
        "1-0" => Some("1-0"),
        "0-1" => Some("0-1"),
        "1/2-1/2" | "1/2" | "½-½" => Some("1/2-1/2"),
        "*" => Some("*"),
        _ => None,
    }
}

/// Removes `12.`, `12...` or dots before a move. A token of digits alone is a number without its dot. Castling with
/// zeros (`0-0`) has no dot behind the digit and stays whole.
fn strip_move_number(token: &str) -> &str {
    let rest = token.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.is_empty() {
        return "";
    }
    let digits = token.len() - rest.len();
    let after = rest.trim_start_matches(['.', '…']);
    if after.len() < rest.len() || digits == 0 {
        after
    } else {
        token
    }
}

/// The number of a glyph written as punctuation.
fn glyph(marks: &str) -> Option<u8> {
    match marks {
        "!" => Some(1),
        "?" => Some(2),
        "!!" => Some(3),
        "??" => Some(4),
        "!?" => Some(5),
        "?!" => Some(6),
        _ => None,
    }
}
