//! Lines of an ICS, word for word and in the server's own units.
//!
//! Two parsers: [`shape`] reads the grammar of a line (who could have written it), [`parse`] its meaning. A line that is
//! not known is [`ServerLine::Text`], never an error; a known line that does not read is a [`WireError`] which names what
//! was wrong and keeps the line. Neither ends a connection.
//!
//! Sources: the help pages of freechess.org and what two other servers were seen to send; where they differ, both forms
//! are read.

mod board;
mod game;
mod offer;
pub mod shape;
mod text;

use thiserror::Error;

pub use board::{Hand, Holdings, Relation, Style12};
pub use game::{GameEnded, GameInfo, GameOpened, HistoryRow, MoveRow, ResultToken, StoredRow};
pub use offer::{MatchOffer, Pending, PendingKind, RatingMark, WireClock};
pub use shape::{Channel, Shape, is_name};

/// White or Black in the server's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// White.
    White,
    /// Black.
    Black,
}

/// A proposal made during a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InGameOffer {
    /// A draw.
    Draw,
    /// To annul the game.
    Abort,
    /// To store the game.
    Adjourn,
    /// To take this many half moves back; 0 where the line does not tell.
    Takeback(u32),
}

/// Why a match of ours was not offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Closed, formula, noplay or censor list.
    Unwilling,
    /// Playing or examining.
    Busy,
    /// Not online.
    Absent,
    /// An adjourned game with him comes first.
    AdjournedGame,
    /// The server does not take it in this form.
    BadRequest,
}

/// Somebody's words with who said them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speech {
    /// The speaker.
    pub from: String,
    /// The speaker is not registered.
    pub unregistered: bool,
    /// How it was said.
    pub channel: Channel,
    /// Number of the game, where the line has it.
    pub game: Option<u32>,
    /// What was said, with character escapes (`&#x2654;`) decoded.
    pub text: String,
}

/// What one line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerLine {
    /// Nothing at all.
    Empty,
    /// A line that means nothing to us.
    Text(String),
    /// A folded part that came too late; it belongs to some line before and must not be read by itself.
    Continuation,
    /// Somebody spoke.
    Speech(Speech),
    /// Output of a staff program, such as the tournament director.
    Staff(String),

    /// `<12>`.
    Board(Box<Style12>),
    /// `<b1>`.
    Holdings(Holdings),
    /// `<g1>`.
    GameInfo(GameInfo),
    /// `<pf>`: an offer to us.
    OfferedToUs(Pending),
    /// `<pt>`: an offer of ours.
    OfferedByUs(Pending),
    /// `<pr>`: these offers are gone, for whatever reason.
    OffersGone(Vec<u32>),
    /// `<s>`, `<sn>`, `<sc>`: advertisements of others; not used.
    SeekAd,
    /// `<sr>`, or the sentence about one own seek: these advertisements are gone.
    SeeksRemoved(Vec<u32>),

    /// `{Game ..) Creating .. match.}`.
    GameOpened(GameOpened),
    /// `Creating: ..`, with ratings.
    Creating(Box<MatchOffer>),
    /// `{Game ..) reason} result`.
    GameEnded(GameEnded),
    /// Start of a move list: names of White and Black.
    MoveListPlayers {
        /// White.
        white: String,
        /// Black.
        black: String,
    },
    /// A row of a move list.
    MoveRow(MoveRow),
    /// End of a move list.
    MoveListEnd,
    /// A row of `stored`.
    StoredRow(StoredRow),
    /// A row of `history`.
    HistoryRow(HistoryRow),
    /// No game of ours is stored.
    NothingStored,
    /// Opponents in adjourned games who are online; may be empty when the names come on the next line.
    AdjournedOnline(Vec<String>),

    /// A challenge to us, in words.
    Challenge(Box<MatchOffer>),
    /// Confirmation that our match offer went out.
    Issuing(Box<MatchOffer>),
    /// This player's challenge to us is gone.
    ChallengeGone(String),
    /// The player who challenged us plays somebody; it may be us.
    ChallengerPlays {
        /// The challenger.
        name: String,
        /// His opponent.
        with: String,
    },
    /// Our challenge to this player is gone.
    OurChallengeGone(String),
    /// This player replaced his challenge; the new one follows.
    OfferUpdated(String),
    /// This player accepted ours.
    MatchAccepted(String),
    /// This player declined ours.
    MatchDeclined(String),
    /// Our match was not offered.
    MatchRefused {
        /// Why.
        refusal: Refusal,
        /// In the server's words.
        words: String,
    },
    /// A player wants to be our bughouse partner.
    PartnershipOffered(String),

    /// A proposal in the game.
    InGameOffer {
        /// Who makes it.
        by: String,
        /// What.
        offer: InGameOffer,
    },
    /// A proposal is gone.
    InGameOfferGone {
        /// Who withdrew his own or declined ours.
        by: String,
        /// What it was.
        offer: InGameOffer,
        /// True if withdrawn (theirs), false if declined (ours).
        withdrawn: bool,
    },
    /// The opponent's connection is gone.
    OpponentGone(String),
    /// The opponent gave us time; a board follows.
    TimeAdded,
    /// A lost connection will lose this game.
    DisconnectionForfeits(u32),
    /// A rating changed.
    RatingChanged {
        /// Kind of game, lower case.
        kind: String,
        /// Before.
        from: u32,
        /// After.
        to: u32,
    },
    /// No rating changed.
    RatingUnchanged,

    /// Our move is illegal or ambiguous; its text where the server repeats it.
    IllegalMove(Option<String>),
    /// We are not to move.
    NotYourMove,
    /// We play no game.
    NotPlaying,
    /// We called the flag too early.
    FlagTooEarly,
    /// We answered an offer that is gone.
    NoSuchOffer,
    /// A word that is no command; the answer to our markers.
    UnknownCommand(String),
    /// Too many tells of ours.
    TellsThrottled,
    /// A variable that this server does not have.
    SettingUnknown(String),
    /// A value that it does not take.
    SettingRefused {
        /// In its words.
        words: String,
    },

    /// Our seek stands under this number.
    SeekPosted(u32),
    /// Our seek was not posted.
    SeekRefused {
        /// In the server's words.
        words: String,
    },
    /// Our seek met an identical one: a game starts.
    SeekMatched,
    /// All our seeks are gone.
    OwnSeeksRemoved,

    /// The name needs a password.
    NameRegistered(String),
    /// The name belongs to nobody: going on would make us a guest.
    NameUnregistered(String),
    /// The name that a guest was given.
    GuestNamed(String),
    /// The server waits for return before it lets a guest in.
    PressReturn,
    /// The password was wrong.
    InvalidPassword,
    /// The name is not one that the server takes.
    NameRefused {
        /// In its words.
        words: String,
    },
    /// The server does not let us in.
    LoginRefused {
        /// In its words.
        words: String,
    },
    /// We are in.
    SessionStarted {
        /// Our name as the server spells it.
        handle: String,
        /// Marks in parentheses: `C` computer, `U` unregistered, `*` administrator and so on.
        titles: Vec<String>,
    },
    /// Somebody logged in with our name; this connection is closed.
    Kicked,
    /// Our login closed another connection of this account.
    OtherSessionClosed,
    /// The server closes the connection for lack of activity.
    LoggedOut {
        /// In its words.
        words: String,
    },
    /// Answer to `quit`.
    Farewell,
}

/// A known line that does not read. The connection goes on without it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind} in line: {line}")]
pub struct WireError {
    /// What was wrong.
    pub kind: WireErrorKind,
    /// The line.
    pub line: String,
}

impl WireError {
    fn new(kind: WireErrorKind, line: &str) -> WireError {
        WireError {
            kind,
            line: line.to_owned(),
        }
    }
}

/// What was wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WireErrorKind {
    /// A board line, at this field (from 1).
    #[error("board line: field {field} does not read")]
    Board {
        /// Field number.
        field: usize,
    },
    /// A holdings line.
    #[error("holdings line of another form")]
    Holdings,
    /// A game information line.
    #[error("game information without a game number")]
    GameInfo,
    /// A pending offer.
    #[error("pending offer of another form")]
    Pending,
    /// A list of numbers.
    #[error("list of numbers expected")]
    Numbers,
}

/// Reads the meaning of one line.
///
/// # Errors
/// [`WireError`] for a known kind of line with parts that do not read.
pub fn parse(line: &str) -> Result<ServerLine, WireError> {
    Ok(match shape::shape(line) {
        Shape::Empty => ServerLine::Empty,
        Shape::Continuation => ServerLine::Continuation,
        Shape::Staff(text) => ServerLine::Staff(text.to_owned()),
        Shape::Chat(chat) => ServerLine::Speech(speech(&chat)),
        Shape::Starred(inner) => text::starred(inner),
        Shape::Tagged { tag, rest } => match tag {
            "12" => ServerLine::Board(Box::new(board::style12(line, rest)?)),
            "b1" => ServerLine::Holdings(board::holdings(line, rest)?),
            "g1" => ServerLine::GameInfo(game::game_info(line, rest)?),
            "pf" => ServerLine::OfferedToUs(offer::pending(line, rest)?),
            "pt" => ServerLine::OfferedByUs(offer::pending(line, rest)?),
            "pr" => ServerLine::OffersGone(offer::numbers(line, rest)?),
            "sr" => ServerLine::SeeksRemoved(offer::numbers(line, rest)?),
            "s" | "sn" | "sc" => ServerLine::SeekAd,
            _ => ServerLine::Text(line.to_owned()),
        },
        Shape::Braced { inner, tail } => match game::braced(inner, tail) {
            Some(game::Braced::Opened(opened)) => ServerLine::GameOpened(opened),
            Some(game::Braced::Ended(ended)) => ServerLine::GameEnded(ended),
            Some(game::Braced::ListEnd) => ServerLine::MoveListEnd,
            None => ServerLine::Text(line.to_owned()),
        },
        Shape::Text(text) => rows(text).unwrap_or_else(|| text::sentence(text)),
    })
}

/// Rows of tables, which begin with blanks or a number.
fn rows(line: &str) -> Option<ServerLine> {
    let trimmed = line.trim_start();
    if trimmed.starts_with('{') && line.starts_with(' ') {
        let (inner, tail) = trimmed.strip_prefix('{')?.rsplit_once('}')?;
        return matches!(
            game::braced(inner, tail.trim_start()),
            Some(game::Braced::ListEnd)
        )
        .then_some(ServerLine::MoveListEnd);
    }
    if trimmed.starts_with(|c: char| c.is_ascii_digit()) {
        if let Some(row) = game::move_row(line) {
            return Some(ServerLine::MoveRow(row));
        }
        return match game::numbered_row(line)? {
            game::NumberedRow::Stored(row) => Some(ServerLine::StoredRow(row)),
            game::NumberedRow::History(row) => Some(ServerLine::HistoryRow(row)),
        };
    }
    move_list_players(line)
}

/// `A (1882) vs. B (1558) --- date`.
fn move_list_players(line: &str) -> Option<ServerLine> {
    let (players, _) = line.split_once(" --- ")?;
    let (white, black) = players.split_once(" vs. ")?;
    let name = |text: &str| {
        let (name, rest) = shape::split_name(text)?;
        rest.starts_with(" (").then(|| name.to_owned())
    };
    Some(ServerLine::MoveListPlayers {
        white: name(white)?,
        black: name(black)?,
    })
}

fn speech(chat: &shape::ChatShape<'_>) -> Speech {
    let game = chat
        .marks
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .and_then(|(number, _)| number.parse().ok());
    Speech {
        from: chat.from.to_owned(),
        unregistered: chat.marks.contains("(U)"),
        channel: chat.channel,
        game,
        text: decode_escapes(chat.text),
    }
}

/// Replaces `&#xHHHH;` by the character. Control characters stay escaped, so that a text can never grow a new line.
fn decode_escapes(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("&#x") {
        decoded.push_str(before);
        let character = after
            .split_once(';')
            .filter(|(digits, _)| (1..=6).contains(&digits.len()))
            .and_then(|(digits, tail)| {
                Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, tail))
            })
            .filter(|(character, _)| !character.is_control());
        match character {
            Some((character, tail)) => {
                decoded.push(character);
                rest = tail;
            }
            None => {
                decoded.push_str("&#x");
                rest = after;
            }
        }
    }
    decoded.push_str(rest);
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> ServerLine {
        parse(text).unwrap()
    }

    #[test]
    fn login_sentences() {
        assert_eq!(
            line("**** Starting FICS session as Cedar(C)(TD) ****"),
            ServerLine::SessionStarted {
                handle: "Cedar".into(),
                titles: vec!["C".into(), "TD".into()]
            }
        );
        assert_eq!(
            line("\"Cedar\" is a registered name.  If it is yours, type the password."),
            ServerLine::NameRegistered("Cedar".into())
        );
        assert_eq!(
            line("\"Cedr\" is not a registered name.  You may play unrated games as a guest."),
            ServerLine::NameUnregistered("Cedr".into())
        );
        assert_eq!(
            line("Logging you in as \"GuestABCD\"; you may use this name to play unrated games."),
            ServerLine::GuestNamed("GuestABCD".into())
        );
        assert_eq!(
            line("Press return to enter the server as \"GuestABCD\":"),
            ServerLine::PressReturn
        );
        assert_eq!(
            line("**** Invalid password! ****"),
            ServerLine::InvalidPassword
        );
        assert_eq!(
            line("**** Cedar has arrived - you can't both be logged in. ****"),
            ServerLine::Kicked
        );
        assert_eq!(
            line("**** Cedar is already logged in; closing the other connection. ****"),
            ServerLine::OtherSessionClosed
        );
        assert!(matches!(
            line("**** LOGIN TIMEOUT ****"),
            ServerLine::LoggedOut { .. }
        ));
        assert!(matches!(
            line("Names should be at least 3 characters long.  Try again."),
            ServerLine::NameRefused { .. }
        ));
        assert!(matches!(
            line("Sorry, guest connections have been prevented at this time."),
            ServerLine::LoginRefused { .. }
        ));
    }

    #[test]
    fn sentences_about_offers() {
        assert_eq!(
            line("Cedar offers you a draw."),
            ServerLine::InGameOffer {
                by: "Cedar".into(),
                offer: InGameOffer::Draw
            }
        );
        assert_eq!(
            line("Cedar would like to take back 2 half move(s)."),
            ServerLine::InGameOffer {
                by: "Cedar".into(),
                offer: InGameOffer::Takeback(2)
            }
        );
        assert_eq!(
            line("Cedar proposes a different number (1) of half-move(s)."),
            ServerLine::InGameOffer {
                by: "Cedar".into(),
                offer: InGameOffer::Takeback(1)
            }
        );
        assert_eq!(
            line("Cedar would like to abort the game; type \"abort\" to accept."),
            ServerLine::InGameOffer {
                by: "Cedar".into(),
                offer: InGameOffer::Abort
            }
        );
        assert_eq!(
            line("Cedar would like to adjourn the game; type \"adjourn\" to accept."),
            ServerLine::InGameOffer {
                by: "Cedar".into(),
                offer: InGameOffer::Adjourn
            }
        );
        assert_eq!(
            line("Cedar requests to abort game 1."),
            ServerLine::InGameOffer {
                by: "Cedar".into(),
                offer: InGameOffer::Abort
            }
        );
        assert_eq!(
            line("Cedar requests to adjourn game 1."),
            ServerLine::InGameOffer {
                by: "Cedar".into(),
                offer: InGameOffer::Adjourn
            }
        );
        assert_eq!(
            line("Cedar accepts your match offer."),
            ServerLine::MatchAccepted("Cedar".into())
        );
        assert_eq!(
            line("Cedar declines your match offer."),
            ServerLine::MatchDeclined("Cedar".into())
        );
        for text in [
            "Cedar declines the draw request.",
            "Cedar declines draw request.",
            "Cedar declines your draw offer.",
        ] {
            assert_eq!(
                line(text),
                ServerLine::InGameOfferGone {
                    by: "Cedar".into(),
                    offer: InGameOffer::Draw,
                    withdrawn: false
                }
            );
        }
        assert_eq!(
            line("Cedar withdraws the takeback request."),
            ServerLine::InGameOfferGone {
                by: "Cedar".into(),
                offer: InGameOffer::Takeback(0),
                withdrawn: true
            }
        );
        assert_eq!(
            line("Cedar withdraws the match offer."),
            ServerLine::ChallengeGone("Cedar".into())
        );
        assert_eq!(
            line("Cedar, who was challenging you, has departed."),
            ServerLine::ChallengeGone("Cedar".into())
        );
        assert_eq!(
            line("Cedar, who was challenging you, has joined a match with Birch."),
            ServerLine::ChallengerPlays {
                name: "Cedar".into(),
                with: "Birch".into()
            }
        );
        assert_eq!(
            line("You withdraw the match offer to Cedar."),
            ServerLine::OurChallengeGone("Cedar".into())
        );
        assert_eq!(
            line("Challenge from Cedar removed."),
            ServerLine::ChallengeGone("Cedar".into())
        );
        assert_eq!(
            line("Challenge to Cedar withdrawn."),
            ServerLine::OurChallengeGone("Cedar".into())
        );
        assert_eq!(
            line("Cedar's challenge intercepts your challenge."),
            ServerLine::MatchAccepted("Cedar".into())
        );
        assert_eq!(
            line("Cedar declines your offer and proposes a counteroffer."),
            ServerLine::MatchDeclined("Cedar".into())
        );
        assert!(matches!(
            line("Cedar offers to be your bughouse partner; type \"partner Cedar\" to accept."),
            ServerLine::PartnershipOffered(_)
        ));
    }

    #[test]
    fn refusals_of_our_match() {
        for (text, expected) in [
            ("Cedar is not open to match requests.", Refusal::Unwilling),
            ("You are on Cedar's noplay list.", Refusal::Unwilling),
            ("Cedar is censoring you.", Refusal::Unwilling),
            (
                "Match request does not meet formula for Cedar:",
                Refusal::Unwilling,
            ),
            (
                "Match request does not fit formula for Cedar:",
                Refusal::Unwilling,
            ),
            (
                "You have an adjourned game with Cedar.  You cannot start a new game until you finish it.",
                Refusal::AdjournedGame,
            ),
            ("Cedar is playing a game.", Refusal::Busy),
            ("No player named \"cedar\" is online.", Refusal::Absent),
            ("You can't match yourself.", Refusal::BadRequest),
            (
                "Only registered players can play rated games.",
                Refusal::BadRequest,
            ),
            ("No such category/board: suicide/0", Refusal::BadRequest),
        ] {
            assert_eq!(
                line(text),
                ServerLine::MatchRefused {
                    refusal: expected,
                    words: text.into()
                }
            );
        }
    }

    #[test]
    fn answers_to_our_commands() {
        assert_eq!(
            line("Illegal move (N@e5)."),
            ServerLine::IllegalMove(Some("N@e5".into()))
        );
        assert_eq!(line("Illegal move."), ServerLine::IllegalMove(None));
        assert_eq!(
            line("Ambiguous move (Nd2)."),
            ServerLine::IllegalMove(Some("Nd2".into()))
        );
        assert_eq!(line("It is not your move."), ServerLine::NotYourMove);
        assert_eq!(
            line("mk_7: Command not found."),
            ServerLine::UnknownCommand("mk_7".into())
        );
        assert_eq!(
            line("There is no offer 1 to accept."),
            ServerLine::NoSuchOffer
        );
        assert_eq!(
            line("There are no pending offers from Cedar."),
            ServerLine::NoSuchOffer
        );
        assert_eq!(
            line("You have no offers to accept."),
            ServerLine::NoSuchOffer
        );
        assert_eq!(
            line("No such ivariable \"pendinfo\"."),
            ServerLine::SettingUnknown("pendinfo".into())
        );
        assert_eq!(
            line("No such variable name autoflag."),
            ServerLine::SettingUnknown("autoflag".into())
        );
        assert_eq!(
            line("Your opponent, Cedar, has lost contact or quit."),
            ServerLine::OpponentGone("Cedar".into())
        );
        assert_eq!(
            line("Game 2: A disconnection will be considered a forfeit."),
            ServerLine::DisconnectionForfeits(2)
        );
        assert_eq!(
            line("Cedar has added 30 seconds to your clock."),
            ServerLine::TimeAdded
        );
    }

    #[test]
    fn adjourned_games_are_announced_in_three_ways() {
        let one = ServerLine::AdjournedOnline(vec!["Cedar".into()]);
        assert_eq!(
            line("1 player who has an adjourned game with you is online: Cedar(C)"),
            one
        );
        assert_eq!(
            line("Notification: Cedar, who has an adjourned game with you, has arrived."),
            one
        );
        assert_eq!(
            line("1 player, who has an adjourned game with you, is online:"),
            ServerLine::AdjournedOnline(vec![])
        );
        assert!(matches!(
            line("Notification: Cedar has arrived."),
            ServerLine::Text(_)
        ));
    }

    #[test]
    fn character_escapes_are_decoded_in_speech_only() {
        let ServerLine::Speech(speech) =
            line("Cedar(U)[12] says: caf&#xe9; &#x2654; &#xa;{x} &#xzz;")
        else {
            panic!()
        };
        assert_eq!(speech.text, "caf\u{e9} \u{2654} &#xa;{x} &#xzz;");
        assert!(speech.unregistered);
        assert_eq!(speech.game, Some(12));
    }

    #[test]
    fn staff_lines_and_late_folds_mean_nothing() {
        assert!(matches!(
            line(":You play White against Cedar in this round of tourney #4."),
            ServerLine::Staff(_)
        ));
        assert_eq!(
            line("\\   {Game 1 (Cedar vs. Birch) Birch resigns} 1-0"),
            ServerLine::Continuation
        );
    }
}
