//! Newline-delimited JSON over a byte stream: framing and the three watchdogs, no JSON.
//!
//! - A line has a largest length: a server that never ends a line cannot fill our memory.
//! - Silence has a limit: platforms send an empty line every few seconds, so no byte for longer means a dead path.
//! - A line has a deadline: bytes that trickle in without ever completing a line count as silence.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::Instant;

/// Limits of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameConfig {
    /// Longest line, in bytes, without its end.
    pub max_line_bytes: usize,
    /// Longest time without a byte.
    pub silence: Duration,
    /// Longest time from one completed line (or the start) to the next; empty lines count.
    pub line_deadline: Duration,
    /// Whether text after the last line end counts as a line when the stream ends. For lists yes, for live streams no:
    /// there it is a cut line.
    pub keep_last: bool,
}

impl Default for FrameConfig {
    fn default() -> FrameConfig {
        FrameConfig {
            max_line_bytes: 1 << 20,
            silence: Duration::from_secs(20),
            line_deadline: Duration::from_secs(30),
            keep_last: false,
        }
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// An empty line: the platform shows that it lives.
    KeepAlive,
    /// Text without its line end.
    Line(String),
    /// A line that is not UTF-8, and so is lost; its length in bytes.
    BadUtf8(usize),
}

/// Why a stream ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The server closed the stream in good order. This says nothing about the game.
    #[error("the stream ended{}", if *.cut_bytes > 0 { " inside a line" } else { "" })]
    Ended {
        /// Bytes of an unfinished line that were dropped.
        cut_bytes: usize,
    },
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Lost(String),
    /// No byte for too long.
    #[error("no byte for {} s", .0.as_secs_f32())]
    Silent(Duration),
    /// Bytes came, but no line was completed for too long.
    #[error("no complete line for {} s", .0.as_secs_f32())]
    Stalled(Duration),
    /// A line longer than allowed.
    #[error("a line of more than {0} bytes")]
    TooLong(usize),
}

/// Splits bytes into lines. Synchronous; holds at most one unfinished line.
#[derive(Debug)]
pub struct LineSplitter {
    max_line_bytes: usize,
    buffer: Vec<u8>,
    /// Start of the first line not handed out yet.
    start: usize,
    /// Everything before this has been searched for a line end.
    searched: usize,
}

impl LineSplitter {
    /// A splitter for lines of at most `max_line_bytes` bytes.
    #[must_use]
    pub fn new(max_line_bytes: usize) -> LineSplitter {
        LineSplitter {
            max_line_bytes,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
        }
    }

    /// Adds what arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.compact();
        self.buffer.extend_from_slice(bytes);
    }

    /// Takes the next complete line.
    ///
    /// # Errors
    /// [`FrameError::TooLong`] once a line, complete or not, exceeds the limit.
    pub fn next_line(&mut self) -> Result<Option<Frame>, FrameError> {
        let Some(offset) = self.buffer[self.searched..]
            .iter()
            .position(|b| *b == b'\n')
        else {
            self.searched = self.buffer.len();
            if self.buffer.len() - self.start > self.max_line_bytes {
                return Err(FrameError::TooLong(self.max_line_bytes));
            }
            return Ok(None);
        };
        let end = self.searched + offset;
        let line = &self.buffer[self.start..end];
        if line.len() > self.max_line_bytes {
            return Err(FrameError::TooLong(self.max_line_bytes));
        }
        let frame = to_frame(line);
        self.start = end + 1;
        self.searched = self.start;
        Ok(Some(frame))
    }

    /// Bytes of the unfinished line.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Takes the unfinished line as if it had ended.
    pub fn take_rest(&mut self) -> Option<Frame> {
        let rest = to_frame(&self.buffer[self.start..]);
        self.buffer.clear();
        self.start = 0;
        self.searched = 0;
        (rest != Frame::KeepAlive).then_some(rest)
    }

    fn compact(&mut self) {
        if self.start == 0 {
            return;
        }
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        // One long line must not keep its memory for the rest of a stream that lasts for weeks.
        if self.buffer.capacity() > 64 * 1024 && self.buffer.len() < 4096 {
            self.buffer.shrink_to(4096);
        }
    }
}

fn to_frame(line: &[u8]) -> Frame {
    match std::str::from_utf8(line) {
        Ok(text) => {
            let text = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{feff}');
            if text.is_empty() {
                Frame::KeepAlive
            } else {
                Frame::Line(text.to_owned())
            }
        }
        Err(_) => Frame::BadUtf8(line.len()),
    }
}

/// Reads frames from a byte stream, with the watchdogs.
#[derive(Debug)]
pub struct FrameReader<S> {
    bytes: S,
    splitter: LineSplitter,
    config: FrameConfig,
    last_byte: Instant,
    last_line: Instant,
    ended: bool,
}

impl<S, E> FrameReader<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: std::fmt::Display,
{
    /// Starts reading; the watchdogs run from now.
    pub fn new(bytes: S, config: FrameConfig) -> FrameReader<S> {
        let now = Instant::now();
        let splitter = LineSplitter::new(config.max_line_bytes);
        FrameReader {
            bytes,
            splitter,
            config,
            last_byte: now,
            last_line: now,
            ended: false,
        }
    }

    /// Waits for the next frame. Cancel safe: nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// How the stream ended. Every ending is an error here, the orderly one too, because only a terminal state ends a
    /// game.
    pub async fn next(&mut self) -> Result<Frame, FrameError> {
        loop {
            if let Some(frame) = self.splitter.next_line()? {
                self.last_line = Instant::now();
                return Ok(frame);
            }
            if self.ended {
                return self.finish();
            }
            let silent_at = self.last_byte + self.config.silence;
            let stalled_at = self.last_line + self.config.line_deadline;
            let Ok(item) =
                tokio::time::timeout_at(silent_at.min(stalled_at), self.bytes.next()).await
            else {
                return Err(if silent_at <= stalled_at {
                    FrameError::Silent(self.config.silence)
                } else {
                    FrameError::Stalled(self.config.line_deadline)
                });
            };
            match item {
                None => self.ended = true,
                Some(Ok(bytes)) => {
                    if !bytes.is_empty() {
                        self.last_byte = Instant::now();
                    }
                    self.splitter.push(&bytes);
                }
                Some(Err(error)) => {
                    return Err(FrameError::Lost(super::error::excerpt(&error.to_string())));
                }
            }
        }
    }

    fn finish(&mut self) -> Result<Frame, FrameError> {
        let cut_bytes = self.splitter.pending_bytes();
        if self.config.keep_last
            && let Some(frame) = self.splitter.take_rest()
        {
            return Ok(frame);
        }
        Err(FrameError::Ended { cut_bytes })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<Frame> {
        let mut splitter = LineSplitter::new(64);
        let mut frames = Vec::new();
        for chunk in chunks {
            splitter.push(chunk);
            while let Some(frame) = splitter.next_line().unwrap() {
                frames.push(frame);
            }
        }
        frames
    }

    #[test]
    fn every_cut_of_the_same_bytes_gives_the_same_frames() {
        let text = "{\"a\":\"é\"}\r\n\n{\"b\":1}\n\r\n{\"c\":2}\n".as_bytes();
        let expected = lines(&[text]);
        assert_eq!(expected.len(), 5);
        assert_eq!(expected[0], Frame::Line("{\"a\":\"é\"}".to_owned()));
        for first in 0..text.len() {
            for second in first..text.len() {
                assert_eq!(
                    lines(&[&text[..first], &text[first..second], &text[second..]]),
                    expected
                );
            }
        }
    }

    #[test]
    fn bad_utf8_loses_one_line_only() {
        assert_eq!(
            lines(&[b"\xff\xfe\n{}\n"]),
            [Frame::BadUtf8(2), Frame::Line("{}".to_owned())]
        );
    }

    #[test]
    fn a_line_that_never_ends_is_refused() {
        let mut splitter = LineSplitter::new(64);
        splitter.push(&[b'x'; 64]);
        assert_eq!(splitter.next_line(), Ok(None));
        splitter.push(b"x");
        assert_eq!(splitter.next_line(), Err(FrameError::TooLong(64)));
    }

    async fn collect(
        chunks: Vec<Result<Bytes, &'static str>>,
        config: FrameConfig,
    ) -> (Vec<Frame>, FrameError) {
        let mut reader = FrameReader::new(stream::iter(chunks), config);
        let mut frames = Vec::new();
        loop {
            match reader.next().await {
                Ok(frame) => frames.push(frame),
                Err(error) => return (frames, error),
            }
        }
    }

    #[tokio::test]
    async fn a_cut_line_is_dropped_or_kept_as_configured() {
        let chunks = || {
            vec![
                Ok(Bytes::from_static(b"{\"a\":1}\n{\"b\"")),
                Ok(Bytes::from_static(b":2}")),
            ]
        };
        let (frames, end) = collect(chunks(), FrameConfig::default()).await;
        assert_eq!((frames.len(), end), (1, FrameError::Ended { cut_bytes: 7 }));
        let (frames, end) = collect(
            chunks(),
            FrameConfig {
                keep_last: true,
                ..FrameConfig::default()
            },
        )
        .await;
        assert_eq!((frames.len(), end), (2, FrameError::Ended { cut_bytes: 0 }));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_and_trickle_are_told_apart() {
        let silent = stream::pending::<Result<Bytes, &'static str>>();
        let mut reader = FrameReader::new(silent, FrameConfig::default());
        let start = Instant::now();
        assert_eq!(
            reader.next().await,
            Err(FrameError::Silent(Duration::from_secs(20)))
        );
        assert_eq!(start.elapsed().as_secs(), 20);

        let trickle = Box::pin(stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            Some((Ok::<_, &'static str>(Bytes::from_static(b"x")), ()))
        }));
        let mut reader = FrameReader::new(trickle, FrameConfig::default());
        assert_eq!(
            reader.next().await,
            Err(FrameError::Stalled(Duration::from_secs(30)))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn keep_alives_keep_the_stream() {
        let beat = Box::pin(stream::unfold(0, |n| async move {
            tokio::time::sleep(Duration::from_secs(7)).await;
            (n < 100).then(|| (Ok::<_, &'static str>(Bytes::from_static(b"\n")), n + 1))
        }));
        let mut reader = FrameReader::new(beat, FrameConfig::default());
        for _ in 0..100 {
            assert_eq!(reader.next().await, Ok(Frame::KeepAlive));
        }
        assert_eq!(reader.next().await, Err(FrameError::Ended { cut_bytes: 0 }));
    }
}
