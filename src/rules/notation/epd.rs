//! Lists of positions with their leaf counts, one a line.
//!
//! ```text
//! crazyhouse ; rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1 ; D1 20 ; D2 400 ; id start
//! ```
//!
//! The first field is the variant (a UCI name, `960` behind it for free castling, or a FICS board such as `wild/0`), the
//! second the position. Of the others `Dn` gives the count of depth `n` and `id` a label; further ones are ignored, as are
//! empty lines and lines that begin with `#`.

use super::fen::FenError;
use super::names::NamedVariant;
use crate::rules::position::Position;
use crate::rules::setup::Setup;
use crate::rules::variant::{CastlingMode, Variant};

/// A position and how many leaves its move tree has.
#[derive(Debug, Clone)]
pub struct PerftCase {
    /// Line of the file, from one.
    pub line: usize,
    /// Its name, empty if it has none.
    pub label: String,
    /// Name of the variant as it was written.
    pub variant: String,
    /// The position.
    pub position: Position,
    /// Depth and count, in the order of the line.
    pub counts: Vec<(u32, u64)>,
}

/// A line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct EpdError {
    /// Which line, from one.
    pub line: usize,
    /// What is wrong with it.
    pub fault: EpdFault,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EpdFault {
    /// No variant of this name.
    #[error("unknown variant {0:?}")]
    Variant(String),
    /// The position is refused.
    #[error("{0}")]
    Position(FenError),
    /// There is no position.
    #[error("there is no position")]
    Missing,
    /// A field `Dn` without a depth from 1 or without a count.
    #[error("cannot read the count {0:?}")]
    Count(String),
}

/// The variant of a name in such a file: UCI's or that of a FICS board.
#[must_use]
pub fn parse_variant(name: &str) -> Option<NamedVariant> {
    Variant::from_uci_name(name).or_else(|| {
        name.starts_with("wild/")
            .then(|| Variant::parse_name(name))?
    })
}

/// Reads all lines of a file.
pub fn parse(text: &str) -> impl Iterator<Item = Result<PerftCase, EpdError>> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, text)| !text.is_empty() && !text.starts_with('#'))
        .map(|(line, text)| parse_line(line, text).map_err(|fault| EpdError { line, fault }))
}

/// Reads a position to count moves from. It may be one that no game reaches, with the side not to move in check.
///
/// # Errors
/// [`FenError`]: the text is malformed, or no moves can be made in the position.
pub fn read_position(
    variant: Variant,
    mode: CastlingMode,
    fen: &str,
) -> Result<Position, FenError> {
    let setup = Setup::from_fen(variant, mode, fen)?;
    Position::new_unreachable(&setup, variant, mode)
        .map_err(|error| FenError::Position { variant, error })
}

fn parse_line(line: usize, text: &str) -> Result<PerftCase, EpdFault> {
    let mut fields = text.split(';').map(str::trim);
    let name = fields.next().unwrap_or_default();
    let (variant, mode) = parse_variant(name).ok_or_else(|| EpdFault::Variant(name.to_owned()))?;
    let fen = fields.next().ok_or(EpdFault::Missing)?;
    let mut case = PerftCase {
        line,
        label: String::new(),
        variant: name.to_owned(),
        position: read_position(variant, mode, fen).map_err(EpdFault::Position)?,
        counts: Vec::new(),
    };
    for field in fields {
        if let Some(label) = field.strip_prefix("id ") {
            case.label = label.trim().to_owned();
        } else if let Some(count) = field.strip_prefix('D') {
            let refuse = || EpdFault::Count(field.to_owned());
            let (depth, nodes) = count.split_once(' ').ok_or_else(refuse)?;
            let depth = depth
                .parse()
                .ok()
                .filter(|&depth| depth > 0)
                .ok_or_else(refuse)?;
            case.counts
                .push((depth, nodes.trim().parse().map_err(|_| refuse())?));
        }
    }
    Ok(case)
}
