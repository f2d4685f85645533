//! Beginning, course and end of a game: `Creating`, `<g1>`, lines in braces, move lists, stored and past games.

use super::offer::RatingMark;
use super::shape::{is_name, split_name};
use super::{Side, WireError, WireErrorKind};

/// A `<g1>` line. Its clocks are left out on purpose: the two public descriptions contradict each other, and the board
/// line has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameInfo {
    /// The server's number for the game.
    pub game: u32,
    /// Kind of game: `blitz`, `crazyhouse`, `wild/fr`.
    pub kind: Option<String>,
    /// For rating or not.
    pub rated: Option<bool>,
    /// White is not registered, Black is not registered.
    pub unregistered: Option<(bool, bool)>,
    /// Ratings of White and Black; 0 is printed for none.
    pub ratings: Option<(RatingMark, RatingMark)>,
    /// A lost connection loses the game.
    pub no_escape: Option<bool>,
}

/// Reads what follows `<g1> `: a number and `key=value` fields in any order, unknown ones allowed.
///
/// # Errors
/// [`WireError`] when the game number is missing.
pub(super) fn game_info(line: &str, rest: &str) -> Result<GameInfo, WireError> {
    let mut fields = rest.split_ascii_whitespace();
    let game = fields
        .next()
        .and_then(|field| field.parse().ok())
        .ok_or_else(|| WireError::new(WireErrorKind::GameInfo, line))?;
    let mut info = GameInfo {
        game,
        kind: None,
        rated: None,
        unregistered: None,
        ratings: None,
        no_escape: None,
    };
    for (key, value) in fields.filter_map(|field| field.split_once('=')) {
        match key {
            "t" => info.kind = Some(value.to_owned()),
            "r" => info.rated = Some(value == "1"),
            "u" => {
                info.unregistered = value
                    .split_once(',')
                    .map(|(white, black)| (white == "1", black == "1"))
            }
            "rt" => {
                let rating = |text: &str| match RatingMark::parse(text) {
                    Some(RatingMark::Points { points: 0, .. }) | None => RatingMark::None,
                    Some(mark) => mark,
                };
                info.ratings = value
                    .split_once(',')
                    .map(|(white, black)| (rating(white), rating(black)));
            }
            "n" => info.no_escape = Some(value == "1"),
            _ => {}
        }
    }
    Ok(info)
}

/// `{Game 1 (A vs. B) Creating rated crazyhouse match.}`, or `Continuing` for an adjourned game.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameOpened {
    /// The server's number.
    pub game: u32,
    /// Name of White.
    pub white: String,
    /// Name of Black.
    pub black: String,
    /// An adjourned game goes on.
    pub continued: bool,
    /// For rating or not.
    pub rated: bool,
    /// Kind of game.
    pub kind: String,
}

/// Fourth token of an end line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultToken {
    /// `1-0`.
    WhiteWins,
    /// `0-1`.
    BlackWins,
    /// `1/2-1/2`.
    Draw,
    /// `*`.
    None,
}

impl ResultToken {
    /// Reads the token.
    #[must_use]
    pub fn parse(text: &str) -> Option<ResultToken> {
        Some(match text {
            "1-0" => ResultToken::WhiteWins,
            "0-1" => ResultToken::BlackWins,
            "1/2-1/2" => ResultToken::Draw,
            "*" => ResultToken::None,
            _ => return None,
        })
    }
}

/// `{Game 1 (A vs. B) REASON} RESULT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameEnded {
    /// The server's number.
    pub game: u32,
    /// Name of White.
    pub white: String,
    /// Name of Black.
    pub black: String,
    /// The server's words.
    pub reason: String,
    /// The result.
    pub result: ResultToken,
}

/// What stands in braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Braced {
    Opened(GameOpened),
    Ended(GameEnded),
    /// The last line of a move list: `{Still in progress} *`, `{Black resigned} 1-0`.
    ListEnd,
}

/// Reads a line in braces; `None` for anything that is not one of the known forms.
pub(super) fn braced(inner: &str, tail: &str) -> Option<Braced> {
    let result = ResultToken::parse(tail.trim());
    let Some(rest) = inner.strip_prefix("Game ") else {
        return result.map(|_| Braced::ListEnd);
    };
    let (game, rest) = rest.split_once(' ')?;
    let game = game.parse().ok()?;
    let (players, rest) = rest.strip_prefix('(')?.split_once(") ")?;
    let (white, black) = players.split_once(" vs. ")?;
    if !is_name(white) || !is_name(black) {
        return None;
    }
    let (white, black) = (white.to_owned(), black.to_owned());
    if let Some(result) = result {
        let reason = rest.trim().to_owned();
        return Some(Braced::Ended(GameEnded {
            game,
            white,
            black,
            reason,
            result,
        }));
    }
    let mut words = rest.split_ascii_whitespace();
    let continued = match words.next()? {
        "Creating" => false,
        "Continuing" => true,
        _ => return None,
    };
    let rated = match words.next()? {
        "rated" => true,
        "unrated" => false,
        _ => return None,
    };
    let mut kind = words.next()?;
    // One server puts the speed in front of the variant.
    for word in words.take_while(|word| !word.starts_with("match")) {
        kind = word;
    }
    let kind = kind.trim_end_matches('.').to_owned();
    Some(Braced::Opened(GameOpened {
        game,
        white,
        black,
        continued,
        rated,
        kind,
    }))
}

/// One row of a move list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveRow {
    /// Number of the move, from 1.
    pub number: u32,
    /// White's move in short notation; `...` where the list begins with Black.
    pub white: Option<String>,
    /// Black's move.
    pub black: Option<String>,
}

/// Reads `  4.  P@e6    (0:00.304)      Bxe6    (0:00.300)`.
pub(super) fn move_row(line: &str) -> Option<MoveRow> {
    let (number, rest) = line.trim_start().split_once('.')?;
    if number.is_empty() || number.len() > 4 {
        return None;
    }
    let number = number.parse().ok()?;
    let mut moves = [None, None];
    let mut words = rest.split_ascii_whitespace();
    for slot in &mut moves {
        let Some(word) = words.next() else { break };
        if word.len() > 12 || word.starts_with('(') {
            return None;
        }
        *slot = (word != "...").then(|| word.to_owned());
        // The time of the move follows in parentheses and must be there: without it this is no row of a move list.
        if !words.next()?.starts_with('(') {
            return None;
        }
    }
    let [white, black] = moves;
    (white.is_some() || black.is_some()).then_some(MoveRow {
        number,
        white,
        black,
    })
}

/// One row of `stored`: ` 1: W Cedar           Y [bzr 10   5] 23-25 W7   B01 2026-11-30 06:32 UTC`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRow {
    /// Our colour.
    pub side: Side,
    /// The other player.
    pub opponent: String,
    /// He is online.
    pub online: bool,
}

/// One row of `history`: ` 9: + 1940 W 1500 Cedar      [bzr 10   5] B01 Dis 2026-11-30 06:31 UTC`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    /// `+` won, `-` lost, `=` drawn.
    pub outcome: char,
    /// Our colour.
    pub side: Side,
    /// The other player.
    pub opponent: String,
    /// Three letters for the reason: `Res`, `Dis`, `Mat`, `Fla`.
    pub reason: String,
}

/// A row that starts with a number and a colon.
pub(super) enum NumberedRow {
    Stored(StoredRow),
    History(HistoryRow),
}

/// Reads a row of `stored` or of `history`.
pub(super) fn numbered_row(line: &str) -> Option<NumberedRow> {
    let (number, rest) = line.trim_start().split_once(':')?;
    if number.is_empty() || number.len() > 4 || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (head, tail) = rest.split_once('[')?;
    let words: Vec<&str> = head.split_ascii_whitespace().take(6).collect();
    let side = |word: &str| match word {
        "W" => Some(Side::White),
        "B" => Some(Side::Black),
        _ => None,
    };
    match words[..] {
        [color, opponent, online] if is_name(opponent) && matches!(online, "Y" | "N") => {
            Some(NumberedRow::Stored(StoredRow {
                side: side(color)?,
                opponent: opponent.to_owned(),
                online: online == "Y",
            }))
        }
        [outcome @ ("+" | "-" | "="), _, color, _, opponent] if is_name(opponent) => {
            let reason = tail.split_once(']')?.1.split_ascii_whitespace().nth(1)?;
            Some(NumberedRow::History(HistoryRow {
                outcome: outcome.chars().next()?,
                side: side(color)?,
                opponent: opponent.to_owned(),
                reason: reason.to_owned(),
            }))
        }
        _ => None,
    }
}

/// `Crazyhouse rating adjustment: 1882 --> 1940`.
pub(super) fn rating_change(line: &str) -> Option<(String, u32, u32)> {
    let (kind, rest) = line.split_once(" rating adjustment: ")?;
    let (from, to) = rest.split_once(" --> ")?;
    let kind = kind.trim();
    if kind.len() > 20 || kind.contains(' ') {
        return None;
    }
    Some((
        kind.to_ascii_lowercase(),
        from.trim().parse().ok()?,
        to.trim().parse().ok()?,
    ))
}

/// `Creating: A (1882) B (1558) rated crazyhouse 3 0`: the same words as an offer, White first.
pub(super) fn creating(rest: &str) -> Option<super::offer::MatchOffer> {
    split_name(rest.trim_start())?;
    super::offer::match_offer(rest)
}

#[cfg(test)]
mod tests {
    use super::super::{ServerLine, parse};
    use super::*;

    #[test]
    fn end_lines_give_result_and_words() {
        let line = "{Game 12 (Cedar vs. Birch) Birch resigns} 1-0";
        let ServerLine::GameEnded(end) = parse(line).unwrap() else {
            panic!()
        };
        assert_eq!(
            (end.game, end.result, end.reason.as_str()),
            (12, ResultToken::WhiteWins, "Birch resigns")
        );
        assert_eq!((end.white.as_str(), end.black.as_str()), ("Cedar", "Birch"));
        let odd = "{Game 12 (Cedar vs. Birch) Something {new} happened} *";
        assert!(
            matches!(parse(odd).unwrap(), ServerLine::GameEnded(end) if end.result == ResultToken::None)
        );
        assert!(matches!(
            parse("{Game 12 (Cedar vs. Birch) Birch resigns} 2-0").unwrap(),
            ServerLine::Text(_)
        ));
        assert!(matches!(
            parse("{Game 12 (Cedar vs. B4d) x} 1-0").unwrap(),
            ServerLine::Text(_)
        ));
    }

    #[test]
    fn opening_lines() {
        let ServerLine::GameOpened(open) =
            parse("{Game 3 (Cedar vs. Birch) Continuing rated wild/fr match.}").unwrap()
        else {
            panic!()
        };
        assert!(open.continued && open.rated);
        assert_eq!(open.kind, "wild/fr");
        let ServerLine::GameOpened(open) =
            parse("{Game 3 (Cedar vs. Birch) Creating rated blitz crazyhouse match.}").unwrap()
        else {
            panic!()
        };
        assert_eq!(open.kind, "crazyhouse");
        let ServerLine::Creating(offer) =
            parse("Creating: Cedar (----) Birch (++++) unrated crazyhouse 0 1").unwrap()
        else {
            panic!()
        };
        assert_eq!(offer.opponent_rating, RatingMark::Guest);
    }

    #[test]
    fn game_info_takes_fields_in_any_order_and_skips_unknown_ones() {
        let ServerLine::GameInfo(info) = parse(
            "<g1> 77 n=1 zz=9 p=0 t=lightning r=1 u=0,1 it=60,0 i=60,0 pt=0 rt=1880E,0 ts=1,1 m=2",
        )
        .unwrap() else {
            panic!()
        };
        assert_eq!(
            (info.game, info.kind.as_deref(), info.rated),
            (77, Some("lightning"), Some(true))
        );
        assert_eq!(info.unregistered, Some((false, true)));
        assert_eq!(
            info.ratings,
            Some((
                RatingMark::Points {
                    points: 1880,
                    provisional: true
                },
                RatingMark::None
            ))
        );
        assert_eq!(info.no_escape, Some(true));
        assert!(parse("<g1> x").is_err());
    }

    #[test]
    fn move_rows() {
        let ServerLine::MoveRow(row) =
            parse("  4.  P@e6    (0:00.304)      Bxe6    (0:00.300)").unwrap()
        else {
            panic!()
        };
        assert_eq!(
            (row.number, row.white.as_deref(), row.black.as_deref()),
            (4, Some("P@e6"), Some("Bxe6"))
        );
        let ServerLine::MoveRow(row) = parse(" 10.  Ne5     (0:00)").unwrap() else {
            panic!()
        };
        assert_eq!((row.number, row.black), (10, None));
        assert!(matches!(
            parse("  1. some news item").unwrap(),
            ServerLine::Text(_)
        ));
        assert_eq!(
            parse("      {Still in progress} *").unwrap(),
            ServerLine::MoveListEnd
        );
    }

    #[test]
    fn stored_and_history_rows() {
        let ServerLine::StoredRow(row) =
            parse(" 1: W Cedar           Y [bzr 10   5] 23-25 W7   B01 2026-11-30 06:32 UTC")
                .unwrap()
        else {
            panic!()
        };
        assert_eq!(
            (row.side, row.opponent.as_str(), row.online),
            (Side::White, "Cedar", true)
        );
        let ServerLine::HistoryRow(row) =
            parse(" 9: - 1940 B 1500 Cedar      [ br  2  12] *** Dis Mon Nov 30 06:34:51 2026")
                .unwrap()
        else {
            panic!()
        };
        assert_eq!(
            (row.outcome, row.side, row.reason.as_str()),
            ('-', Side::Black, "Dis")
        );
    }

    #[test]
    fn rating_lines_of_both_spellings() {
        assert_eq!(
            parse("Crazyhouse rating adjustment: 1882 --> 1940").unwrap(),
            ServerLine::RatingChanged {
                kind: "crazyhouse".into(),
                from: 1882,
                to: 1940
            }
        );
        assert_eq!(
            parse("wild rating adjustment: 1882 --> 1653").unwrap(),
            ServerLine::RatingChanged {
                kind: "wild".into(),
                from: 1882,
                to: 1653
            }
        );
    }
}
