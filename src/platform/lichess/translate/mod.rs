//! Between the platform's words ([`super::wire`]) and ours. Pure; the only place that knows both.
//!
//! [`game`] reads games, [`lobby`] reads challenges, bots and lists, [`outgoing`] writes what we send.

pub(super) mod game;
pub(super) mod lobby;
pub(super) mod outgoing;

use std::time::Duration;

use super::wire;
use crate::game::{Player, PlayerKind, PlayerName, Rating};
use crate::rules::{CastlingMode, Color, Variant};

/// What a message lacks to be of use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} in {message}: {value:?}")]
pub(super) struct Untranslatable {
    /// Which message.
    pub message: &'static str,
    /// What is wrong.
    pub what: &'static str,
    /// The value at fault, shortened.
    pub value: String,
}

/// What is wrong with a game in which we do not play.
pub(super) const NOT_OURS: &str = "not our game";

impl Untranslatable {
    /// Whether the message is about a game in which we do not play.
    pub(super) fn is_of_another_game(&self) -> bool {
        self.what == NOT_OURS
    }
}

/// A colour by its name.
pub(super) fn color(word: Option<&str>) -> Option<Color> {
    match word? {
        "white" => Some(Color::White),
        "black" => Some(Color::Black),
        _ => None,
    }
}

/// The variant of a key. A house has more of them than Lichess: see [`variant_key`].
pub(super) fn variant(key: &str) -> Option<(Variant, CastlingMode)> {
    Variant::from_lichess_key(key)
        .or_else(|| twin(key))
        .or_else(|| Variant::from_uci_name(key))
}

/// The free-castling twin of a variant that Lichess has in its usual form only.
fn twin(key: &str) -> Option<(Variant, CastlingMode)> {
    let usual = key.strip_suffix("960")?;
    let (variant, _) = Variant::from_lichess_key(usual)?;
    let mode = CastlingMode::Chess960;
    (variant.supports_chess960() && variant_key(variant, mode) == key).then_some((variant, mode))
}

/// The key of a variant. What Lichess lacks a house calls as Lichess would: a twin by the key of its usual form with `960`
/// behind it (`threeCheck960`, whatever UCI calls it), a variant of its own by its UCI name.
pub(super) fn variant_key(variant: Variant, mode: CastlingMode) -> String {
    match (
        variant.lichess_key(mode),
        variant.lichess_key(CastlingMode::Standard),
    ) {
        (Some(key), _) => key.to_owned(),
        (None, Some(usual)) => format!("{usual}960"),
        (None, None) => variant.uci_name_with(mode),
    }
}

/// Milliseconds of a bank; below zero reads as zero.
pub(super) fn millis(value: i64) -> Duration {
    Duration::from_millis(u64::try_from(value).unwrap_or(0))
}

/// Seconds; below zero reads as zero.
pub(super) fn seconds(value: i64) -> Duration {
    Duration::from_secs(u64::try_from(value).unwrap_or(0))
}

fn rating(points: Option<i64>, provisional: bool) -> Option<Rating> {
    let points = i32::try_from(points?).ok()?;
    Some(Rating {
        points,
        provisional,
    })
}

/// A player of a challenge or a game; absent and nameless players are guests.
pub(super) fn player(user: Option<&wire::User>) -> Player {
    let nobody = wire::User::default();
    let user = user.unwrap_or(&nobody);
    let rating = rating(user.rating, user.provisional);
    if let Some(level) = user.ai_level {
        let name = PlayerName::new(format!("Stockfish level {level}"));
        return Player {
            name,
            kind: PlayerKind::ServerAi,
            rating,
        };
    }
    let kind = match (&user.id, user.title.as_deref()) {
        (None, _) => PlayerKind::Guest,
        (Some(_), Some("BOT")) => PlayerKind::Bot,
        (Some(_), _) => PlayerKind::Human,
    };
    let name = user
        .name
        .as_deref()
        .or(user.id.as_deref())
        .unwrap_or("Anonymous");
    Player {
        name: PlayerName::new(short(name)),
        kind,
        rating,
    }
}

/// The opponent in a game notice. A title is not always told there, so a person may be a bot.
pub(super) fn opponent(opponent: &wire::Opponent) -> Player {
    let rating = rating(opponent.rating, false);
    let name = opponent
        .username
        .as_deref()
        .or(opponent.id.as_deref())
        .unwrap_or("Anonymous");
    let kind = match (opponent.ai, &opponent.id, opponent.title.as_deref()) {
        (Some(_), _, _) => PlayerKind::ServerAi,
        (None, None, _) => PlayerKind::Guest,
        (None, Some(_), Some("BOT")) => PlayerKind::Bot,
        (None, Some(_), _) => PlayerKind::Human,
    };
    // The platform puts the title in front of the displayed name in some places.
    let (name, kind) = match name.strip_prefix("BOT ") {
        Some(bare) => (bare, PlayerKind::Bot),
        None => (name, kind),
    };
    Player {
        name: PlayerName::new(short(name)),
        kind,
        rating,
    }
}

/// Names and ids from outside are bounded.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}
