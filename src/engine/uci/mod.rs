//! The engine as a UCI program: lines in, lines out, whatever the lines are.
//!
//! One thread reads and answers at once; another (`thinker`) searches and prints its results. A
//! line that means nothing gets an `info string` and changes nothing.

mod board;
pub mod command;
mod format;
pub mod options;
mod session;
mod thinker;

#[cfg(test)]
mod tests;

use std::io::{self, BufRead, Read, Write};

use super::NewSearcher;
use session::Session;

/// Longest line that is read; a game of a thousand moves has some 6,000 bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Serves a GUI until it says `quit`, closes its end, or stops reading.
///
/// # Errors
/// If reading fails or the search thread cannot be started.
pub fn run(
    mut input: impl BufRead,
    output: impl Write + Send + 'static,
    new_searcher: NewSearcher,
) -> io::Result<()> {
    let mut session = Session::start(output, new_searcher)?;
    let mut line = Vec::new();
    loop {
        line.clear();
        let n_read = input
            .by_ref()
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut line)?;
        if n_read == 0 {
            break;
        }
        if !line.ends_with(b"\n") && n_read as u64 == LINE_BYTES_MAX {
            session.remark("line too long; ignored");
            skip_line(&mut input)?;
            continue;
        }
        if !session.attend(&String::from_utf8_lossy(&line)) {
            break;
        }
    }
    session.finish();
    Ok(())
}

/// Reads on to the end of the line, keeping nothing.
fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let n_used = end.map_or(buffer.len(), |at| at + 1);
        input.consume(n_used);
        if end.is_some() {
            return Ok(());
        }
    }
}
