//! Offers to play, in neutral words.

use std::time::Duration;

use crate::game::{GameId, GameRules, Player, PlayerName, Rating, TimeControl};
use crate::rules::{CastlingMode, Variant};

/// A challenge's name on its platform. Lichess and PyChess give the game the same id; FICS numbers its offers and reuses
/// the numbers, so its client makes ids that do not repeat within a connection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChallengeId(String);

impl ChallengeId {
    /// Wraps the platform's word.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The platform's word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for ChallengeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// An offer addressed to one player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// The platform's name of it.
    pub id: ChallengeId,
    /// To us or from us.
    pub direction: ChallengeDirection,
    /// The other player.
    pub opponent: Player,
    /// What is to be played.
    pub variant: OfferedVariant,
    /// A custom first position; `None` is the variant's start (also where the platform spells that start out).
    pub initial_fen: Option<String>,
    /// On which clock.
    pub time_control: TimeControl,
    /// The opponent's clock where it differs (time odds on FICS).
    pub opponent_time_control: Option<TimeControl>,
    /// For rating or not.
    pub rated: bool,
    /// The colour *we* would have.
    pub color: ColorChoice,
    /// Special terms.
    pub rules: GameRules,
    /// The game that this is a rematch of.
    pub rematch_of: Option<GameId>,
    /// An adjourned game would go on: accepted outside the normal filters.
    pub resumes_adjourned: bool,
    /// False where the platform marks the game as closed to bots.
    pub playable: bool,
    /// It came with a (re)connection, so nobody knows how old it is; the client re-validates it before accepting.
    pub replayed: bool,
}

/// Who offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChallengeDirection {
    /// Offered to us.
    Incoming,
    /// Offered by us.
    Outgoing,
}

/// The rule set of an offer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OfferedVariant {
    /// One that `rules` knows.
    Known {
        /// Rule set.
        variant: Variant,
        /// Standard or Chess960.
        castling_mode: CastlingMode,
    },
    /// One that we cannot play, in the platform's words.
    Unknown(String),
}

/// A wish for a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ColorChoice {
    /// White.
    White,
    /// Black.
    Black,
    /// Drawn by lot.
    #[default]
    Random,
}

/// Our refusal, in neutral words. It says what we want, so that the other side can ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeclineReason {
    /// Nothing more specific.
    Generic,
    /// Busy now; ask again later.
    Later,
    /// Too little time.
    TooFast,
    /// Too much time.
    TooSlow,
    /// Another kind of clock.
    TimeControl,
    /// Only for rating.
    RatedOnly,
    /// Only casual.
    CasualOnly,
    /// No variants at all.
    StandardOnly,
    /// Not this variant.
    Variant,
    /// Not with bots.
    NoBots,
    /// Only with bots.
    BotsOnly,
}

/// A challenge of ours, to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChallengeRequest {
    /// Our number for it: the answer names it, because the platform's id is not known yet.
    pub request: RequestId,
    /// Whom.
    pub opponent: PlayerName,
    /// Rule set.
    pub variant: Variant,
    /// Standard or Chess960.
    pub castling_mode: CastlingMode,
    /// Clock.
    pub time_control: TimeControl,
    /// For rating or not.
    pub rated: bool,
    /// Our colour.
    pub color: ColorChoice,
}

/// Our number for a request, unique within a run of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Why a challenge of ours was not created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChallengeRefusal {
    /// The opponent does not take it (blocks, rating range, day limit with a time): ask somebody else.
    Opponent {
        /// The platform's words.
        words: String,
        /// How long it will stay so, if the platform says.
        retry_after: Option<Duration>,
    },
    /// We used up an allowance: nobody can be asked for this long.
    OurBudget {
        /// The platform's words.
        words: String,
        /// How long, as the platform says or by the client's rule.
        retry_after: Duration,
    },
    /// The platform will never take it in this form (a clock it does not know): the opponent is not to blame.
    BadRequest {
        /// The platform's words.
        words: String,
    },
    /// No answer came and the client found no such challenge on the platform afterwards.
    Lost,
}

/// A bot that is online and may be challenged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnlineBot {
    /// Its name.
    pub name: PlayerName,
    /// Ratings per kind of game, with the number of games behind them.
    pub ratings: Vec<BotRating>,
    /// In a game right now, where the platform says so.
    pub playing: Option<bool>,
    /// Shows another bot's owner or a flag of the platform that forbids games.
    pub unavailable: bool,
}

/// One rating of a bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotRating {
    /// `None`: valid for all variants of the given speed (ordinary chess).
    pub variant: Option<Variant>,
    /// `None`: valid for all speeds of the given variant.
    pub speed: Option<crate::game::Speed>,
    /// The rating.
    pub rating: Rating,
    /// Games behind it.
    pub games: u32,
}

/// What a platform lets an account do outside games. The client states it once, when it is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LobbyCapabilities {
    /// Challenges can be sent.
    pub create_challenges: bool,
    /// A list of bots online can be asked for.
    pub list_bots: bool,
    /// Seeks can be posted (FICS).
    pub seeks: bool,
    /// Games can be for rating.
    pub rated_games: bool,
    /// A real-time challenge that is not answered within this time is dead; also how long an accept is worth retrying.
    pub challenge_lifetime: Duration,
    /// The platform tells when a challenge to us is withdrawn.
    pub tells_withdrawals: bool,
    /// Its list of running games is complete (Lichess), so a game that it lacks is over.
    pub lists_running_games: bool,
    /// Variants it serves, with castling modes.
    pub variants: Vec<(Variant, CastlingMode)>,
    /// Bot-against-bot games per account and day; `None` = no limit known.
    pub bot_games_per_day: Option<u32>,
    /// Challenges per account and minute.
    pub challenges_per_minute: Option<u32>,
    /// Challenges per account and day.
    pub challenges_per_day: Option<u32>,
    /// Cost of one challenge in that account: to a bot, to a human.
    pub challenge_cost: (u32, u32),
}
