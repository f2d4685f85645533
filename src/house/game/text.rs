//! Texts of the API: moves, colours, chat.

use crate::rules::{CastlingMode, Color, Position, Role};

use super::super::variant::HouseVariant;

/// The start position of a game.
///
/// # Errors
/// What the rules say against the position.
pub fn start_position(variant: HouseVariant, fen: Option<&str>) -> Result<Position, String> {
    let mode = variant.castling_mode();
    match fen {
        Some(fen) => {
            Position::from_fen(variant.rules(), mode, fen).map_err(|error| error.to_string())
        }
        None if mode == CastlingMode::Standard => Ok(Position::start(variant.rules())),
        None => Position::from_fen(variant.rules(), mode, variant.rules().start_fen())
            .map_err(|error| error.to_string()),
    }
}

/// `white` or `black`.
pub fn color_word(color: Color) -> &'static str {
    crate::game::words::color::word(color)
}

/// The side of a word.
pub fn color_of_word(word: &str) -> Option<Color> {
    crate::game::words::color::parse(word)
}

/// Whether a text has the form of a move, legal or not.
pub(super) fn looks_like_uci(text: &str, files: u8) -> bool {
    let bytes = text.as_bytes();
    let last_file = b'a' + files - 1;
    let square = |s: &[u8]| matches!(s, [file, rank] if (b'a'..=last_file).contains(file) && (b'1'..=b'8').contains(rank));
    match bytes {
        [role, b'@', to @ ..] if to.len() == 2 => b"PNBRQKAC".contains(role) && square(to),
        [from @ .., t1, t2] if from.len() == 2 => square(from) && square(&[*t1, *t2]),
        [f1, f2, t1, t2, role] => {
            square(&[*f1, *f2]) && square(&[*t1, *t2]) && role.is_ascii_alphabetic()
        }
        _ => false,
    }
}

/// A pawn that reaches the last rank without saying what it becomes, or says it in a way
/// that Lichess does not understand, becomes a queen.
pub(super) fn with_default_promotion(position: &Position, uci: &str) -> String {
    let known = uci.len() == 5
        && uci
            .chars()
            .last()
            .is_some_and(|c| c.is_ascii_lowercase() && Role::from_char(c).is_some());
    if known || uci.contains('@') {
        return uci.to_owned();
    }
    let bare = uci.get(..4).unwrap_or(uci);
    if uci.len() == 4 && position.parse_uci(bare).is_ok() {
        return bare.to_owned();
    }
    let queened = format!("{bare}q");
    if position.parse_uci(&queened).is_ok() {
        queened
    } else {
        bare.to_owned()
    }
}

/// Whether two lines differ by less than an eighth (or two letters).
pub(super) fn is_near_copy(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let bound = 2.max(a.len().min(b.len()) / 8);
    if a.len().abs_diff(b.len()) >= bound {
        return false;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()] < bound
}
