//! What is sent to a platform over HTTP, described once per endpoint: its name in logs and counters, its place in the
//! order of importance, and what may be done when no answer comes.

use std::fmt;

/// Importance of a request, most important first.
///
/// The order is the order in which waiting requests are served. A limit met in one lane never holds a [`Lane::Move`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// A move that is owed.
    Move,
    /// Resign, abort, draw, takeback, claims.
    GameControl,
    /// Opening an event stream or a game stream.
    StreamOpen,
    /// Accepting, declining or cancelling a challenge.
    ChallengeAnswer,
    /// Creating a challenge.
    ChallengeCreate,
    /// Chat lines.
    Chat,
    /// Everything that is only read, and account keeping.
    Profile,
}

impl Lane {
    /// All lanes, most important first.
    pub const ALL: [Lane; 7] = [
        Lane::Move,
        Lane::GameControl,
        Lane::StreamOpen,
        Lane::ChallengeAnswer,
        Lane::ChallengeCreate,
        Lane::Chat,
        Lane::Profile,
    ];

    /// Position in [`Lane::ALL`].
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Name for logs and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Lane::Move => "move",
            Lane::GameControl => "game_control",
            Lane::StreamOpen => "stream_open",
            Lane::ChallengeAnswer => "challenge_answer",
            Lane::ChallengeCreate => "challenge_create",
            Lane::Chat => "chat",
            Lane::Profile => "profile",
        }
    }

    /// Whether running games depend on this lane. Such lanes are not held by a limit that another lane met.
    #[must_use]
    pub fn serves_running_games(self) -> bool {
        self <= Lane::StreamOpen
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What may be done with a request whose outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repeat {
    /// Sending it twice has the effect of sending it once.
    Safe,
    /// It may be sent again only after the platform's state has been read and shows that it did not arrive.
    AfterLook,
    /// It is never sent again: losing it is better than doubling it.
    Never,
}

/// One endpoint of a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Name without identifiers, for logs, metrics and limits, for instance `challenge.create`.
    pub route: &'static str,
    /// Importance.
    pub lane: Lane,
    /// What may be done when no answer comes.
    pub repeat: Repeat,
    /// Whether the caller paces itself after a 429, because a running game pays for every second. The governor then
    /// holds the lanes that can wait, but not this route.
    pub self_paced: bool,
}

impl Call {
    /// Describes an endpoint. Moves are self-paced.
    #[must_use]
    pub const fn new(route: &'static str, lane: Lane, repeat: Repeat) -> Call {
        Call {
            route,
            lane,
            repeat,
            self_paced: matches!(lane, Lane::Move),
        }
    }

    /// The same endpoint, paced by its caller after a 429.
    #[must_use]
    pub const fn self_paced(self) -> Call {
        Call {
            self_paced: true,
            ..self
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.route)
    }
}
