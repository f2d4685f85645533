//! What we want sent in a game, in the imperative and without a platform's words.

use serde::{Deserialize, Serialize};

use crate::rules::{Move, Position};

use super::event::ChatRoom;

/// One thing to send in one game.
#[derive(Debug, Clone)]
pub enum GameCommand {
    /// Play a move.
    ///
    /// The client delivers it through everything transient (429, 5xx with an answer, a full lane). It gives up when its own
    /// stream shows the ply or the end of the game, when the platform refuses for good ([`super::GameEvent::Failed`] with
    /// [`CommandFailure::Refused`]), or when a request stayed unanswered ([`CommandFailure::Unanswered`]): then it must not
    /// repeat it; the session asks for a fresh state and decides.
    Play(Box<PlayMove>),
    /// Offer a draw now, without a move.
    OfferDraw,
    /// Say yes or no to an open offer of the opponent.
    Answer {
        /// Which offer.
        offer: OfferKind,
        /// Yes or no.
        accept: bool,
    },
    /// Give up the game. The client does all it takes on its platform (PyChess: resign, then abort).
    Resign,
    /// Annul the game.
    Abort,
    /// Claim the win from an opponent who left.
    ClaimVictory,
    /// Claim a draw from an opponent who left.
    ClaimDraw,
    /// Call the opponent's flag (FICS).
    CallFlag,
    /// Say something. Best effort: at most one retry, and never ahead of a move.
    Say {
        /// Who shall read it.
        room: ChatRoom,
        /// The text; never longer than the platform's limit.
        text: String,
    },
    /// Fetch the whole state again: the client answers with [`super::GameEvent::Full`].
    Resync,
}

impl GameCommand {
    /// The command without its content, as answers name it.
    pub fn kind(&self) -> CommandKind {
        match self {
            Self::Play(play) => CommandKind::Play { ply: play.ply },
            Self::OfferDraw => CommandKind::OfferDraw,
            Self::Answer { offer, accept } => CommandKind::Answer {
                offer: *offer,
                accept: *accept,
            },
            Self::Resign => CommandKind::Resign,
            Self::Abort => CommandKind::Abort,
            Self::ClaimVictory => CommandKind::ClaimVictory,
            Self::ClaimDraw => CommandKind::ClaimDraw,
            Self::CallFlag => CommandKind::CallFlag,
            Self::Say { .. } => CommandKind::Say,
            Self::Resync => CommandKind::Resync,
        }
    }
}

impl std::fmt::Display for GameCommand {
    /// One line without line breaks, for logs and tapes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Play(play) => {
                write!(f, "play {} at {}", play.position.uci(play.m), play.ply)?;
                if play.offer_draw {
                    f.write_str(" offering a draw")?;
                }
                Ok(())
            }
            Self::OfferDraw => f.write_str("offer a draw"),
            Self::Answer { offer, accept } => {
                let verb = if *accept { "accept" } else { "decline" };
                write!(f, "{verb} {offer:?}")
            }
            Self::Resign => f.write_str("resign"),
            Self::Abort => f.write_str("abort"),
            Self::ClaimVictory => f.write_str("claim victory"),
            Self::ClaimDraw => f.write_str("claim a draw"),
            Self::CallFlag => f.write_str("call the flag"),
            Self::Say { room, text } => write!(f, "say to {room:?}: {}", text.escape_debug()),
            Self::Resync => f.write_str("resync"),
        }
    }
}

/// A move with all a client needs to write it in any notation.
#[derive(Debug, Clone)]
pub struct PlayMove {
    /// The position in which it is played: `position.uci_with(m, mode)`, `position.san(m)`, `position.kind(m)`.
    pub position: Position,
    /// The move; legal there by our rules.
    pub m: Move,
    /// Plies before this move, counted from the base of the platform's move list ([`super::GameState::moves`]'s length):
    /// the move is due while the list has exactly this length.
    pub ply: usize,
    /// Offer a draw along with it, where the platform can.
    pub offer_draw: bool,
}

/// A command without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandKind {
    /// A move.
    Play {
        /// [`PlayMove::ply`].
        ply: usize,
    },
    /// A draw offer.
    OfferDraw,
    /// An answer to an offer.
    Answer {
        /// Which offer.
        offer: OfferKind,
        /// Yes or no.
        accept: bool,
    },
    /// Resignation.
    Resign,
    /// Abort.
    Abort,
    /// Claim of a win.
    ClaimVictory,
    /// Claim of a draw.
    ClaimDraw,
    /// Flag call.
    CallFlag,
    /// Chat.
    Say,
    /// Request for the whole state.
    Resync,
}

/// What one player can propose to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferKind {
    /// A draw.
    Draw,
    /// To take moves back.
    Takeback,
    /// To annul the game by agreement.
    Abort,
    /// To store the game for later.
    Adjourn,
}

/// What is known about a command that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandFailure {
    /// The platform said no for good; repeating it is pointless.
    Refused {
        /// The platform's words.
        words: String,
    },
    /// Sent, but no answer came: it may or may not have happened.
    Unanswered,
    /// Never sent: the budget or the queue had no room (chat, offers).
    NotSent,
}
