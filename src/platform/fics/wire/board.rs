//! Boards and holdings: `<12>` and `<b1>`.

use std::time::Duration;

use super::{Side, WireError, WireErrorKind};

/// One `<12>` line, field by field, in the server's own units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Style12 {
    /// Ranks from 8 down to 1, files from a; `-` is empty, upper case White.
    pub ranks: Vec<String>,
    /// Whose move it is.
    pub turn: Side,
    /// File of a double pawn push just made, from 0. Not a promise that a capture is legal. Some servers print an
    /// arbitrary number after a drop; whatever is not a file is none.
    pub double_push_file: Option<u8>,
    /// Castling flags: White short, White long, Black short, Black long.
    pub castling: [bool; 4],
    /// Half moves since the last irreversible one. Some servers always print 0, or -1 after a takeback.
    pub halfmoves: u32,
    /// The server's number for the game; reused at once when the game is over.
    pub game: u32,
    /// Name of White.
    pub white: String,
    /// Name of Black.
    pub black: String,
    /// Our part in it.
    pub relation: Relation,
    /// Initial time in minutes.
    pub initial_minutes: u32,
    /// Increment in seconds.
    pub increment_seconds: u32,
    /// White's remaining time. Negative times are read as zero.
    pub white_clock: Duration,
    /// Black's remaining time.
    pub black_clock: Duration,
    /// Number of the move about to be made.
    pub move_number: u32,
    /// The last move in long form (`P/e2-e4`, `o-o`, `P/@@-e6`), or nothing at the start.
    pub last_verbose: Option<String>,
    /// The last move in short notation.
    pub last_san: Option<String>,
    /// Whether the mover's clock runs.
    pub ticking: bool,
    /// Whether clocks were printed in milliseconds.
    pub milliseconds: bool,
}

/// Field 19: what we are in the game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// -4: initial position of a wild game.
    InitialPosition,
    /// -3: shown on request.
    Isolated,
    /// -2: observing an examined game.
    ObservingExamined,
    /// -1: playing, the opponent is to move.
    OpponentToMove,
    /// 0: observing a game being played.
    Observing,
    /// 1: playing, we are to move.
    OurMove,
    /// 2: examining.
    Examining,
}

impl Relation {
    /// Whether we play in this game.
    #[must_use]
    pub fn is_playing(self) -> bool {
        matches!(self, Relation::OpponentToMove | Relation::OurMove)
    }

    fn from_code(code: &str) -> Option<Relation> {
        Some(match code {
            "-4" => Relation::InitialPosition,
            "-3" => Relation::Isolated,
            "-2" => Relation::ObservingExamined,
            "-1" => Relation::OpponentToMove,
            "0" => Relation::Observing,
            "1" => Relation::OurMove,
            "2" => Relation::Examining,
            _ => return None,
        })
    }
}

/// Largest clock value believed; beyond a month a number is a defect of the line.
const CLOCK_MILLISECONDS_MAX: i64 = 31 * 24 * 3600 * 1000;

/// Reads what follows `<12> `. Fields after the 29th are optional and may be more than known.
///
/// # Errors
/// [`WireError`] naming the first field that does not read.
pub(super) fn style12(line: &str, rest: &str) -> Result<Style12, WireError> {
    let fields: Vec<&str> = rest.split_ascii_whitespace().take(40).collect();
    let bad = |field: usize| WireError::new(WireErrorKind::Board { field: field + 1 }, line);
    if fields.len() < 29 {
        return Err(bad(fields.len()));
    }
    let number = |field: usize| fields[field].parse::<i64>().map_err(|_| bad(field));
    let count = |field: usize| number(field).map(|n| u32::try_from(n.max(0)).unwrap_or(u32::MAX));
    let width = fields[0].len();
    for (field, rank) in fields[..8].iter().enumerate() {
        let is_rank =
            rank.len() == width && rank.bytes().all(|b| b == b'-' || b.is_ascii_alphabetic());
        if !(8..=12).contains(&width) || !is_rank {
            return Err(bad(field));
        }
    }
    let turn = match fields[8] {
        "W" => Side::White,
        "B" => Side::Black,
        _ => return Err(bad(8)),
    };
    let double_push_file = u8::try_from(number(9)?)
        .ok()
        .filter(|file| usize::from(*file) < width);
    let mut castling = [false; 4];
    for (index, flag) in castling.iter_mut().enumerate() {
        *flag = number(10 + index)? == 1;
    }
    let elapsed = fields[27];
    if !elapsed.starts_with('(') || !elapsed.ends_with(')') {
        return Err(bad(27));
    }
    let milliseconds = elapsed.contains('.');
    let clock = |field: usize| {
        let units = number(field)?;
        let scale = if milliseconds { 1 } else { 1000 };
        let total = units.saturating_mul(scale).clamp(0, CLOCK_MILLISECONDS_MAX);
        Ok(Duration::from_millis(total.unsigned_abs()))
    };
    let unless_none = |field: usize| (fields[field] != "none").then(|| fields[field].to_owned());
    Ok(Style12 {
        ranks: fields[..8].iter().map(|rank| (*rank).to_owned()).collect(),
        turn,
        double_push_file,
        castling,
        halfmoves: count(14)?,
        game: count(15)?,
        white: fields[16].to_owned(),
        black: fields[17].to_owned(),
        relation: Relation::from_code(fields[18]).ok_or_else(|| bad(18))?,
        initial_minutes: count(19)?,
        increment_seconds: count(20)?,
        white_clock: clock(23)?,
        black_clock: clock(24)?,
        move_number: count(25)?.max(1),
        last_verbose: unless_none(26),
        last_san: unless_none(28),
        // Missing on no known server; a board without the field belongs to a running game.
        ticking: fields.get(30).is_none_or(|field| *field == "1"),
        milliseconds,
    })
}

/// Pieces in hand as the server prints them: upper case letters, one per piece.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hand(pub String);

/// One `<b1>` line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holdings {
    /// The game it belongs to.
    pub game: u32,
    /// White's hand.
    pub white: Hand,
    /// Black's hand.
    pub black: Hand,
    /// Who just received what. A line with this comes before the board of the capture and is not yet a state.
    pub arrival: Option<(Side, char)>,
}

/// Most pieces in one hand that are believed: all of both armies.
const HAND_PIECES_MAX: usize = 64;

/// Reads what follows `<b1> `; `White` and `white` are both written by some server.
///
/// # Errors
/// [`WireError`] when the line has another form.
pub(super) fn holdings(line: &str, rest: &str) -> Result<Holdings, WireError> {
    let bad = || WireError::new(WireErrorKind::Holdings, line);
    let lower = rest.to_ascii_lowercase();
    let (lower, arrival) = match lower.split_once("<-") {
        Some((state, arrival)) => (state.to_owned(), Some(arrival.trim().to_owned())),
        None => (lower, None),
    };
    let fields: Vec<&str> = lower.split_ascii_whitespace().take(8).collect();
    let ["game", game, "white", white, "black", black] = fields[..] else {
        return Err(bad());
    };
    let hand = |text: &str| -> Option<Hand> {
        let pieces = text.strip_prefix('[')?.strip_suffix(']')?;
        let known = pieces.len() <= HAND_PIECES_MAX
            && pieces.bytes().all(|b| b.is_ascii_alphabetic() && b != b'k');
        known.then(|| Hand(pieces.to_ascii_uppercase()))
    };
    let arrival = match arrival.as_deref().map(str::as_bytes) {
        None => None,
        Some([side, piece]) if piece.is_ascii_alphabetic() => {
            let side = match side {
                b'w' => Side::White,
                b'b' => Side::Black,
                _ => return Err(bad()),
            };
            Some((side, char::from(piece.to_ascii_uppercase())))
        }
        Some(_) => return Err(bad()),
    };
    Ok(Holdings {
        game: game.parse().map_err(|_| bad())?,
        white: hand(white).ok_or_else(bad)?,
        black: hand(black).ok_or_else(bad)?,
        arrival,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{ServerLine, parse};
    use super::*;

    fn board(line: &str) -> Style12 {
        match parse(line).unwrap() {
            ServerLine::Board(board) => *board,
            other => panic!("{other:?}"),
        }
    }

    const DROP: &str = "<12> rnbqkbnr ppp-pppp ----P--- -------- -------- --N----- PPPP-PPP R-BQKBNR B -1 1 1 1 1 0 7 \
                        Cedar Birch -1 3 0 24 24 177439 179289 4 P/@@-e6 (0:01.865) P@e6 0 1 0";

    #[test]
    fn a_full_line_gives_every_field() {
        let board = board(DROP);
        assert_eq!(board.ranks[2], "----P---");
        assert_eq!(board.turn, Side::Black);
        assert_eq!(board.double_push_file, None);
        assert_eq!(board.castling, [true; 4]);
        assert_eq!((board.game, board.move_number), (7, 4));
        assert_eq!(
            (board.white.as_str(), board.black.as_str()),
            ("Cedar", "Birch")
        );
        assert_eq!(board.relation, Relation::OpponentToMove);
        assert_eq!((board.initial_minutes, board.increment_seconds), (3, 0));
        assert_eq!(board.white_clock, Duration::from_millis(177_439));
        assert_eq!(board.last_verbose.as_deref(), Some("P/@@-e6"));
        assert_eq!(board.last_san.as_deref(), Some("P@e6"));
        assert!(board.ticking && board.milliseconds);
    }

    #[test]
    fn seconds_and_milliseconds_are_told_by_the_move_time() {
        let head = "<12> rnbqkbnr pppppppp -------- -------- -------- -------- PPPPPPPP RNBQKBNR W -1 1 1 1 1 0 1 A B 1 3 0 39 39";
        let seconds = board(&format!("{head} 180 -4 1 none (0:00) none 0 0"));
        let millis = board(&format!("{head} 180000 -250 1 none (0:00.000) none 0 0 0"));
        assert_eq!(seconds.white_clock, millis.white_clock);
        assert_eq!(seconds.black_clock, Duration::ZERO);
        assert_eq!(millis.black_clock, Duration::ZERO);
        assert_eq!(seconds.last_san, None);
    }

    #[test]
    fn odd_en_passant_fields_and_missing_tails_are_read() {
        for (field, expected) in [("-1", None), ("4", Some(4)), ("32730", None), ("8", None)] {
            let line = DROP.replacen("B -1 1", &format!("B {field} 1"), 1);
            assert_eq!(board(&line).double_push_file, expected);
        }
        let shortest: Vec<&str> = DROP.split(' ').filter(|f| !f.is_empty()).take(30).collect();
        assert!(board(&shortest.join(" ")).ticking);
        assert!(board(&format!("{DROP} more fields later")).ticking);
    }

    #[test]
    fn a_short_or_broken_board_is_an_error_with_its_field() {
        let short: Vec<&str> = DROP.split(' ').take(20).collect();
        assert!(parse(&short.join(" ")).is_err());
        let error = parse(&DROP.replacen(" B -1 1", " X -1 1", 1)).unwrap_err();
        assert_eq!(error.kind, WireErrorKind::Board { field: 9 });
        assert!(parse(&DROP.replacen("----P---", "----P--", 1)).is_err());
    }

    #[test]
    fn holdings_of_both_spellings() {
        let ServerLine::Holdings(lower) = parse("<b1> game 1 white [PB] black [P] <- WB").unwrap()
        else {
            panic!()
        };
        assert_eq!(
            (lower.white.0.as_str(), lower.black.0.as_str()),
            ("PB", "P")
        );
        assert_eq!(lower.arrival, Some((Side::White, 'B')));
        let ServerLine::Holdings(upper) = parse("<b1> game 1 White [] Black [pp]").unwrap() else {
            panic!()
        };
        assert_eq!(
            (
                upper.white.0.as_str(),
                upper.black.0.as_str(),
                upper.arrival
            ),
            ("", "PP", None)
        );
        for bad in [
            "<b1> game 1 white [K] black []",
            "<b1> game x white [] black []",
            "<b1> game 1 white []",
            "<b1> game 1 white [] black [] <- XP",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
