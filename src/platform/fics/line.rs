//! Bytes of an ICS connection cut into lines. Framing only: what a line means is told in [`wire`](super::wire).
//!
//! An ICS sends a telnet stream in which a line may arrive in pieces, several lines in one segment, prompts without a
//! newline in front of unrelated text, bells, highlighting and folded lines. Nothing here relies on segments or
//! prompts: the same bytes give the same lines however they are cut.

use thiserror::Error;

/// Longest line kept, in bytes. Servers cut input at about 1,024 bytes, so a told line with its prefix stays below.
/// A longer line is reported as [`Frame::Overlong`] and never read as a message: dropping the connection for it would
/// let an opponent with a long text end our game.
pub const LINE_BYTES_MAX: usize = 4096;

/// A stream without a newline for this many bytes is not an ICS; the connection must be dropped.
pub const UNBROKEN_BYTES_MAX: usize = 64 * 1024;

/// Longest telnet sub-negotiation that is skipped.
const SUBNEGOTIATION_BYTES_MAX: usize = 1024;

const IAC: u8 = 255;
const SUBNEGOTIATION_BEGIN: u8 = 250;
const SUBNEGOTIATION_END: u8 = 240;
const ESCAPE: u8 = 0x1b;
/// First byte of a block-mode reply: `0x15 ID 0x16 CODE 0x16 text 0x17`.
const BLOCK_START: char = '\u{15}';
const BLOCK_SEPARATOR: char = '\u{16}';

/// What the stream did that no ICS does. The connection cannot be used any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FramingError {
    /// No newline for [`UNBROKEN_BYTES_MAX`] bytes.
    #[error("no newline within {UNBROKEN_BYTES_MAX} bytes")]
    Unbroken,
    /// A telnet sub-negotiation that does not end.
    #[error("a telnet sub-negotiation longer than {SUBNEGOTIATION_BYTES_MAX} bytes")]
    EndlessSubnegotiation,
}

/// One piece of framed input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A whole line, cleaned: no prompts at its start, no control characters, folded parts joined. May be empty.
    Line(String),
    /// A line longer than [`LINE_BYTES_MAX`]; its text is gone.
    Overlong,
    /// The timeseal server asks for a sign of life.
    SealPing,
}

/// Removes telnet commands from a byte stream; state survives any segmentation.
#[derive(Debug, Default)]
pub struct TelnetFilter {
    state: TelnetState,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum TelnetState {
    #[default]
    Text,
    Command,
    Option,
    Subnegotiation {
        skipped: usize,
    },
    SubnegotiationCommand {
        skipped: usize,
    },
}

impl TelnetFilter {
    /// Takes one byte; gives it back if it is text. Doubled `0xff` is one `0xff` of text.
    ///
    /// # Errors
    /// [`FramingError::EndlessSubnegotiation`] when a sub-negotiation passes its bound.
    pub fn push(&mut self, byte: u8) -> Result<Option<u8>, FramingError> {
        let (state, text) = match self.state {
            TelnetState::Text if byte == IAC => (TelnetState::Command, None),
            TelnetState::Text => (TelnetState::Text, Some(byte)),
            TelnetState::Command => match byte {
                IAC => (TelnetState::Text, Some(IAC)),
                SUBNEGOTIATION_BEGIN => (TelnetState::Subnegotiation { skipped: 0 }, None),
                251..=254 => (TelnetState::Option, None),
                SUBNEGOTIATION_END..=249 => (TelnetState::Text, None),
                // Not a telnet command, so the 0xff before it was a stray byte of text.
                _ => (TelnetState::Text, Some(byte)),
            },
            TelnetState::Option => (TelnetState::Text, None),
            TelnetState::Subnegotiation { skipped } => {
                if skipped >= SUBNEGOTIATION_BYTES_MAX {
                    return Err(FramingError::EndlessSubnegotiation);
                }
                let skipped = skipped + 1;
                if byte == IAC {
                    (TelnetState::SubnegotiationCommand { skipped }, None)
                } else {
                    (TelnetState::Subnegotiation { skipped }, None)
                }
            }
            TelnetState::SubnegotiationCommand { skipped } => {
                if byte == SUBNEGOTIATION_END {
                    (TelnetState::Text, None)
                } else {
                    (TelnetState::Subnegotiation { skipped }, None)
                }
            }
        };
        self.state = state;
        Ok(text)
    }
}

/// Builds lines from bytes.
///
/// A complete line is held back until the first byte of the next one shows that it is not a folded part (`\   text`),
/// or until [`LineAssembler::flush`] is called after a short silence. A folded part that comes later than that is a
/// line of its own which starts with a backslash; it means nothing to the parser.
#[derive(Debug, Default)]
pub struct LineAssembler {
    telnet: TelnetFilter,
    /// Bytes since the last newline, at most [`LINE_BYTES_MAX`].
    partial: Vec<u8>,
    /// Bytes since the last newline, counted also when they are not kept.
    unbroken: usize,
    /// The last complete line, which may still be continued.
    held: Option<Frame>,
}

impl LineAssembler {
    /// An assembler at the start of a connection.
    #[must_use]
    pub fn new() -> LineAssembler {
        LineAssembler::default()
    }

    /// Takes what arrived and appends the lines that are complete to `frames`.
    ///
    /// # Errors
    /// [`FramingError`] when the stream is not one of an ICS; the frames before the offending byte are in `frames`.
    pub fn push(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), FramingError> {
        for &byte in bytes {
            if let Some(text) = self.telnet.push(byte)? {
                self.push_text(text, frames)?;
            }
        }
        Ok(())
    }

    /// Gives out the line that was held back for a possible continuation.
    pub fn flush(&mut self, frames: &mut Vec<Frame>) {
        frames.extend(self.held.take());
    }

    /// Whether a line waits for [`LineAssembler::flush`].
    #[must_use]
    pub fn holds_line(&self) -> bool {
        self.held.is_some()
    }

    /// The unfinished line, cleaned. Only the login reads it: there the server asks without sending a newline.
    #[must_use]
    pub fn partial(&self) -> String {
        clean(&self.partial)
    }

    /// Forgets the unfinished line, after its question was answered.
    pub fn discard_partial(&mut self) {
        self.partial.clear();
        self.unbroken = 0;
    }

    /// Bytes held in memory, for tests of the bound.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        let held = match &self.held {
            Some(Frame::Line(line)) => line.len(),
            _ => 0,
        };
        self.partial.len() + held
    }

    fn push_text(&mut self, byte: u8, frames: &mut Vec<Frame>) -> Result<(), FramingError> {
        match byte {
            b'\n' => self.end_line(frames),
            // The line end is LF CR on one family of servers and CR LF on another; LF alone decides.
            b'\r' => {}
            0 => {
                // The second generation of timeseal ends its question with a zero byte instead of a newline.
                if clean(&self.partial) == SEAL_PING {
                    self.discard_partial();
                    self.flush(frames);
                    frames.push(Frame::SealPing);
                }
            }
            _ => {
                self.unbroken += 1;
                if self.unbroken > UNBROKEN_BYTES_MAX {
                    return Err(FramingError::Unbroken);
                }
                if self.partial.is_empty() && byte != b'\\' {
                    self.flush(frames);
                }
                if self.partial.len() < LINE_BYTES_MAX {
                    self.partial.push(byte);
                }
            }
        }
        Ok(())
    }

    fn end_line(&mut self, frames: &mut Vec<Frame>) {
        let overlong = self.unbroken > LINE_BYTES_MAX;
        let line = clean(&self.partial);
        self.discard_partial();
        if let Some(rest) = continuation(&line)
            && let Some(held) = self.held.as_mut()
        {
            match held {
                Frame::Line(start) if !overlong && start.len() + rest.len() < LINE_BYTES_MAX => {
                    start.push(' ');
                    start.push_str(rest);
                }
                _ => *held = Frame::Overlong,
            }
            return;
        }
        self.flush(frames);
        if overlong {
            self.held = Some(Frame::Overlong);
        } else if line == SEAL_PING {
            frames.push(Frame::SealPing);
        } else if line.is_empty() {
            // An empty line cannot be continued, and the servers send one before every board.
            frames.push(Frame::Line(line));
        } else {
            self.held = Some(Frame::Line(line));
        }
    }
}

/// The line with which a timeseal server asks for a sign of life.
const SEAL_PING: &str = "[G]";

/// The text of a folded part: a backslash, then blanks, then the rest of the line before.
fn continuation(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('\\')?;
    rest.starts_with(' ').then(|| rest.trim_start())
}

/// Text of a line without control characters, highlighting, leading prompts and the envelope of block mode.
fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut kept = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character == char::from(ESCAPE) {
            skip_escape_sequence(&mut characters);
        } else if character == '\t' {
            kept.push(' ');
        } else if !character.is_control() || matches!(character, BLOCK_START | BLOCK_SEPARATOR) {
            kept.push(character);
        }
    }
    let mut rest = kept.as_str();
    while let Some(after) = strip_prompt(rest).or_else(|| strip_block_header(rest)) {
        rest = after;
    }
    rest.trim_end_matches([' ', BLOCK_START, BLOCK_SEPARATOR])
        .to_owned()
}

/// Skips `[` parameters and the final letter of a terminal sequence such as `ESC [ 7 m`.
fn skip_escape_sequence(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    if characters.next_if_eq(&'[').is_none() {
        return;
    }
    while characters
        .next_if(|c| c.is_ascii_digit() || *c == ';')
        .is_some()
    {}
    characters.next_if(char::is_ascii_alphabetic);
}

/// Removes one prompt such as `fics% ` from the start.
fn strip_prompt(text: &str) -> Option<&str> {
    let (word, rest) = text.split_once('%')?;
    let is_prompt = (2..=10).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_lowercase());
    if !is_prompt {
        return None;
    }
    if rest.is_empty() {
        Some(rest)
    } else {
        rest.strip_prefix(' ')
    }
}

/// Removes `0x15 ID 0x16 CODE 0x16` from the start. We never ask for block mode, but an account may have it on.
fn strip_block_header(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(BLOCK_START)?;
    let (id, rest) = rest.split_once(BLOCK_SEPARATOR)?;
    let (code, rest) = rest.split_once(BLOCK_SEPARATOR)?;
    let digits = |word: &str| word.len() <= 9 && word.bytes().all(|b| b.is_ascii_digit());
    (digits(id) && digits(code)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(chunks: &[&[u8]]) -> Vec<String> {
        let mut assembler = LineAssembler::new();
        let mut frames = Vec::new();
        for chunk in chunks {
            assembler.push(chunk, &mut frames).unwrap();
        }
        assembler.flush(&mut frames);
        frames
            .into_iter()
            .filter_map(|frame| match frame {
                Frame::Line(line) if !line.is_empty() => Some(line),
                Frame::Line(_) => None,
                other => Some(format!("{other:?}")),
            })
            .collect()
    }

    #[test]
    fn telnet_commands_are_removed_wherever_they_stand() {
        let plain = lines_of(&[b"<12> one two\n\r"]);
        let noisy = lines_of(&[b"<1\xff\xfb\x012> \xff\xfaXY\xff\xf0one\xff\xf6 two\n\r"]);
        assert_eq!(plain, noisy);
        assert_eq!(lines_of(&[b"a\xff\xffb\n"]), ["a\u{fffd}b"]);
    }

    #[test]
    fn line_ends_of_every_server_give_the_same_lines() {
        let expected = ["one", "two"];
        assert_eq!(lines_of(&[b"one\n\rtwo\n\r"]), expected);
        assert_eq!(lines_of(&[b"one\r\ntwo\r\n"]), expected);
        assert_eq!(lines_of(&[b"one\ntwo\n"]), expected);
        assert_eq!(lines_of(&[b"on", b"e", b"\n", b"\rt", b"wo\n\r"]), expected);
    }

    #[test]
    fn prompts_bells_and_highlighting_are_stripped() {
        assert_eq!(
            lines_of(&[b"fics% fics% \x07\x1b[7mAnna\x1b[0m tells you: hi\n\r"]),
            ["Anna tells you: hi"]
        );
        assert_eq!(lines_of(&[b"aics% text\n"]), ["text"]);
        assert_eq!(
            lines_of(&[b"% of life online: 3\n"]),
            ["% of life online: 3"]
        );
        assert_eq!(lines_of(&[b"100% sure\n"]), ["100% sure"]);
    }

    #[test]
    fn folded_lines_are_joined_for_every_cut() {
        let bytes = b"<g1> 1 p=0 m=2\n\r\\    n=0\n\rnext\n\r";
        for cut in 0..bytes.len() {
            let (left, right) = bytes.split_at(cut);
            assert_eq!(
                lines_of(&[left, right]),
                ["<g1> 1 p=0 m=2 n=0", "next"],
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn a_late_continuation_is_a_line_of_its_own() {
        let mut assembler = LineAssembler::new();
        let mut frames = Vec::new();
        assembler.push(b"start\n\r", &mut frames).unwrap();
        assert!(assembler.holds_line());
        assembler.flush(&mut frames);
        assembler
            .push(b"\\   {Game 1 (a vs. b) a resigns} 1-0\n\r", &mut frames)
            .unwrap();
        assembler.flush(&mut frames);
        assert_eq!(
            frames[1],
            Frame::Line("\\   {Game 1 (a vs. b) a resigns} 1-0".to_owned())
        );
    }

    #[test]
    fn block_envelopes_are_removed_only_at_the_start() {
        assert_eq!(
            lines_of(&[b"\x155\x161\x16Illegal move (Ke7).\n\r\x17\n\r"]),
            ["Illegal move (Ke7)."]
        );
    }

    #[test]
    fn timeseal_pings_are_frames() {
        assert_eq!(
            lines_of(&[b"fics% \n\r[G]\n\rone\n\r"]),
            ["SealPing", "one"]
        );
        assert_eq!(lines_of(&[b"[G]\0one\n\r"]), ["SealPing", "one"]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut assembler = LineAssembler::new();
        let mut frames = Vec::new();
        assembler
            .push(&vec![b'x'; UNBROKEN_BYTES_MAX], &mut frames)
            .unwrap();
        assert!(assembler.buffered_bytes() <= LINE_BYTES_MAX);
        assert_eq!(
            assembler.push(b"x", &mut frames),
            Err(FramingError::Unbroken)
        );

        let mut assembler = LineAssembler::new();
        assembler
            .push(&vec![b'x'; LINE_BYTES_MAX + 1], &mut frames)
            .unwrap();
        assembler.push(b"\n\rshort\n\r", &mut frames).unwrap();
        assembler.flush(&mut frames);
        assert_eq!(frames, [Frame::Overlong, Frame::Line("short".to_owned())]);

        let mut telnet = TelnetFilter::default();
        telnet.push(IAC).unwrap();
        telnet.push(SUBNEGOTIATION_BEGIN).unwrap();
        let outcome =
            (0..=SUBNEGOTIATION_BYTES_MAX).try_for_each(|_| telnet.push(b'x').map(|_| ()));
        assert_eq!(outcome, Err(FramingError::EndlessSubnegotiation));
    }

    #[test]
    fn a_joined_line_is_bounded_too() {
        let mut assembler = LineAssembler::new();
        let mut frames = Vec::new();
        assembler.push(b"start\n", &mut frames).unwrap();
        for _ in 0..100 {
            let mut part = b"\\   ".to_vec();
            part.extend(vec![b'y'; 200]);
            part.push(b'\n');
            assembler.push(&part, &mut frames).unwrap();
            assert!(assembler.buffered_bytes() <= 2 * LINE_BYTES_MAX);
        }
        assembler.flush(&mut frames);
        assert_eq!(frames, [Frame::Overlong]);
    }

    #[test]
    fn invalid_utf8_does_not_panic() {
        assert_eq!(
            lines_of(&[b"\xc3\x28\x80 text\n"]),
            ["\u{fffd}(\u{fffd} text"]
        );
    }
}
