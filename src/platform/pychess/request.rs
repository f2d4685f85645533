//! What PyChess is asked, in its own words: path and form of every request this client makes, and what may be done when no
//! answer comes.

use std::fmt;

use crate::platform::call::{Call, Lane, Repeat};
use crate::platform::http::Outgoing;

use super::wire::NDJSON;

/// A game's or challenge's id that is safe inside a path. The server mints eight letters and digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId(String);

/// A text that is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot be the id of a game")]
pub struct BadId(pub String);

impl PathId {
    const CHARS_MAX: usize = 32;

    /// Takes letters, digits, `_` and `-` only, so that an id can never lead to another path.
    ///
    /// # Errors
    /// [`BadId`] with the start of the refused text.
    pub fn new(id: &str) -> Result<PathId, BadId> {
        let fits = !id.is_empty() && id.len() <= PathId::CHARS_MAX;
        if fits
            && id
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        {
            Ok(PathId(id.to_owned()))
        } else {
            Err(BadId(id.chars().take(PathId::CHARS_MAX).collect()))
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Who are we, and are we a bot?
    Account,
    /// The account's stream; needs the capability header.
    EventStream,
    /// One game's stream; a second one for the same game is refused in a malformed way.
    GameStream(PathId),
    /// Take a challenge.
    Accept(PathId),
    /// Refuse a challenge. The reason travels as a form field; a JSON body is ignored.
    Decline {
        /// Which.
        id: PathId,
        /// One of the server's keys, or a text of at most [`DECLINE_TEXT_CHARS_MAX`](super::wire::DECLINE_TEXT_CHARS_MAX) characters.
        reason: String,
    },
    /// Play. Anything that is not legal loses the game at once; out of turn it is ignored.
    Move {
        /// In which game.
        id: PathId,
        /// UCI in the server's dialect.
        uci: String,
    },
    /// End the game without a result; has no limit of plies on the server.
    Abort(PathId),
    /// Marks the game as resigned in the server's memory and tells nobody: follow it with [`Request::Abort`].
    Resign(PathId),
    /// Talk. The server fails with 500 when either field is missing.
    Chat {
        /// In which game.
        id: PathId,
        /// `player` or `spectator`.
        room: &'static str,
        /// What.
        text: String,
    },
    /// At most 20 running games of one variant that have a move; shuffled twins have a list of their own.
    LiveGames {
        /// The server's name, with `960` for the twin.
        variant: &'static str,
    },
    /// The game's public page.
    GamePage(PathId),
}

impl Request {
    /// Its name, its importance, and whether it may be sent twice.
    pub fn call(&self) -> Call {
        match self {
            Request::Account => Call::new("account", Lane::Profile, Repeat::Safe),
            Request::EventStream => Call::new("stream.event", Lane::StreamOpen, Repeat::Safe),
            Request::GameStream(_) => Call::new("stream.game", Lane::StreamOpen, Repeat::Safe),
            // A second accept of a challenge that became a game answers 404 and changes nothing.
            Request::Accept(_) => {
                Call::new("challenge.accept", Lane::ChallengeAnswer, Repeat::Safe)
            }
            Request::Decline { .. } => {
                Call::new("challenge.decline", Lane::ChallengeAnswer, Repeat::Safe)
            }
            // Twice, with the opponent's move in between, is an illegal move, and that loses the game.
            Request::Move { .. } => Call::new("game.move", Lane::Move, Repeat::AfterLook),
            Request::Abort(_) => Call::new("game.abort", Lane::GameControl, Repeat::Safe),
            Request::Resign(_) => Call::new("game.resign", Lane::GameControl, Repeat::Safe),
            Request::Chat { .. } => Call::new("game.chat", Lane::Chat, Repeat::Never),
            Request::LiveGames { .. } => Call::new("games.list", Lane::Profile, Repeat::Safe),
            Request::GamePage(_) => Call::new("game.page", Lane::GameControl, Repeat::Safe),
        }
    }

    /// Whether it only reads.
    pub fn reads(&self) -> bool {
        matches!(
            self,
            Request::Account
                | Request::EventStream
                | Request::GameStream(_)
                | Request::LiveGames { .. }
                | Request::GamePage(_)
        )
    }

    /// Segments of the path below the server's base address.
    pub fn segments(&self) -> Vec<&str> {
        match self {
            Request::Account => vec!["api", "account"],
            Request::EventStream => vec!["api", "stream", "event"],
            Request::GameStream(id) => vec!["api", "bot", "game", "stream", id.as_str()],
            Request::Accept(id) => vec!["api", "challenge", id.as_str(), "accept"],
            Request::Decline { id, .. } => vec!["api", "challenge", id.as_str(), "decline"],
            Request::Move { id, uci } => vec!["api", "bot", "game", id.as_str(), "move", uci],
            Request::Abort(id) => vec!["api", "bot", "game", id.as_str(), "abort"],
            Request::Resign(id) => vec!["api", "bot", "game", id.as_str(), "resign"],
            Request::Chat { id, .. } => vec!["api", "bot", "game", id.as_str(), "chat"],
            Request::LiveGames { variant } => vec!["api", "games", variant],
            Request::GamePage(id) => vec![id.as_str()],
        }
    }

    /// Form fields of the body.
    pub fn form(&self) -> Vec<(&'static str, String)> {
        match self {
            Request::Decline { reason, .. } => vec![("reason", reason.clone())],
            Request::Chat { room, text, .. } => {
                vec![("room", (*room).to_owned()), ("text", text.clone())]
            }
            _ => Vec::new(),
        }
    }

    /// Whether the token travels with it. The public pages are read without, so that a slip of the base address cannot leak it there.
    pub fn needs_token(&self) -> bool {
        !matches!(self, Request::LiveGames { .. } | Request::GamePage(_))
    }

    /// The request for the transport.
    pub fn outgoing(&self) -> Outgoing {
        let (call, path) = (self.call(), self.segments());
        let mut outgoing = if self.reads() {
            Outgoing::get(call, &path)
        } else {
            Outgoing::post(call, &path)
        };
        for (name, value) in self.form() {
            outgoing = outgoing.form(name, value);
        }
        match self {
            Request::EventStream | Request::GameStream(_) => outgoing = outgoing.accept(NDJSON),
            Request::GamePage(_) => outgoing = outgoing.accept("text/html"),
            _ => {}
        }
        if self.needs_token() {
            outgoing
        } else {
            outgoing.anonymous()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> PathId {
        PathId::new("aaaa0001").unwrap()
    }

    #[test]
    fn every_request_has_the_servers_words() {
        let decline = Request::Decline {
            id: id(),
            reason: "later".to_owned(),
        };
        let play = Request::Move {
            id: id(),
            uci: "P@e5".to_owned(),
        };
        let chat = Request::Chat {
            id: id(),
            room: "player",
            text: "a & b".to_owned(),
        };
        for (request, line, form) in [
            (Request::Account, "GET api/account", vec![]),
            (Request::EventStream, "GET api/stream/event", vec![]),
            (
                Request::GameStream(id()),
                "GET api/bot/game/stream/aaaa0001",
                vec![],
            ),
            (
                Request::Accept(id()),
                "POST api/challenge/aaaa0001/accept",
                vec![],
            ),
            (
                decline,
                "POST api/challenge/aaaa0001/decline",
                vec![("reason", "later".to_owned())],
            ),
            (play, "POST api/bot/game/aaaa0001/move/P@e5", vec![]),
            (
                Request::Abort(id()),
                "POST api/bot/game/aaaa0001/abort",
                vec![],
            ),
            (
                Request::Resign(id()),
                "POST api/bot/game/aaaa0001/resign",
                vec![],
            ),
            (
                chat,
                "POST api/bot/game/aaaa0001/chat",
                vec![("room", "player".to_owned()), ("text", "a & b".to_owned())],
            ),
            (
                Request::LiveGames {
                    variant: "capahouse960",
                },
                "GET api/games/capahouse960",
                vec![],
            ),
            (Request::GamePage(id()), "GET aaaa0001", vec![]),
        ] {
            let method = if request.reads() { "GET" } else { "POST" };
            assert_eq!(format!("{method} {}", request.segments().join("/")), line);
            assert_eq!(request.form(), form, "{line}");
        }
    }

    #[test]
    fn a_move_is_never_repeated_blindly() {
        let play = Request::Move {
            id: id(),
            uci: "e2e4".to_owned(),
        };
        assert_eq!(play.call().repeat, Repeat::AfterLook);
        assert_eq!(play.call().lane, Lane::Move);
    }

    #[test]
    fn an_id_cannot_lead_elsewhere() {
        for bad in ["", "a/b", "..", "a?b", "a%2f", "a b", "é", &"x".repeat(33)] {
            assert!(PathId::new(bad).is_err(), "{bad:?}");
        }
        assert_eq!(PathId::new("MG1-_9xZ").unwrap().as_str(), "MG1-_9xZ");
    }
}
