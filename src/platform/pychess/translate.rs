//! From PyChess's words to ours and back. The only file of this client that knows both; pure.

use std::time::Duration;

use crate::game::{
    ChatLine, ChatRoom, ClockReading, Clocks, GameEnd, GameId, GameResult, GameRules, GameSource,
    GameStart, GameState, Offers, Player, PlayerKind, PlayerName, Rating, Status, Termination,
    TimeControl,
};
use crate::lobby::{
    Challenge, ChallengeDirection, ChallengeId, ColorChoice, DeclineReason, OfferedVariant,
};
use crate::platform::GameNotice;
use crate::rules::{CastlingMode, Color, Move, Position, Variant};

use super::page::GamePage;
use super::request::{BadId, PathId};
use super::wire;

/// What the server calls each variant that both sides know, and its shuffled twin where the server has one.
///
/// Suicide and losers do not exist there. The server has shuffled twins of antichess and racing kings as well; they are left
/// out where our rules do not shuffle them.
const NAMES: [(Variant, &str, &str); 10] = [
    (Variant::Chess, "chess", "chess960"),
    (Variant::Crazyhouse, "crazyhouse", "crazyhouse960"),
    (Variant::Capablanca, "capablanca", "capablanca960"),
    (Variant::Capahouse, "capahouse", "capahouse960"),
    (Variant::ThreeCheck, "3check", "3check960"),
    (Variant::KingOfTheHill, "kingofthehill", "kingofthehill960"),
    (Variant::Antichess, "antichess", "antichess960"),
    (Variant::Atomic, "atomic", "atomic960"),
    (Variant::Horde, "horde", "horde960"),
    (Variant::RacingKings, "racingkings", "racingkings960"),
];

/// The server aborts a game in which one of the first two moves takes longer.
pub const FIRST_MOVE_LIMIT: Duration = Duration::from_secs(5 * 60);
/// Plies that cost no time.
pub const UNTIMED_PLIES: usize = 2;
/// The server ends a game with a bot as a draw after this many plies.
pub const PLIES_MAX: u32 = 600;
/// Longest clock that is believed. A human's browser reports its own clock and nobody checks it.
const CLOCK_MAX: Duration = Duration::from_secs(100 * 24 * 3600);
/// The title of program accounts.
const BOT_TITLE: &str = "BOT";

/// Something PyChess said that has no counterpart here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    /// A variant our rules do not have.
    #[error("PyChess plays {0:?}, which our rules do not know")]
    UnknownVariant(String),
    /// A game between two others.
    #[error("the game is between {white:?} and {black:?}, and neither is {us:?}")]
    NotOurs {
        /// First player.
        white: String,
        /// Second player.
        black: String,
        /// Our name.
        us: String,
    },
    /// An id that cannot be one.
    #[error(transparent)]
    BadId(#[from] BadId),
}

/// What was learnt about a game before its stream tells the rest. The stream itself says nothing about shuffled starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownGame {
    /// Shuffled start, from the challenge, the start notice, a list or the game's page.
    pub chess960: Option<bool>,
    /// The agreed clock, from the challenge.
    pub time_control: Option<TimeControl>,
    /// The challenger, with the rating the stream does not repeat.
    pub opponent: Option<Player>,
    /// How it came about; a game that we accepted nothing for is a rematch.
    pub source: Option<GameSource>,
}

impl KnownGame {
    /// What a challenge tells about the game it may become.
    pub fn from_challenge(challenge: &wire::Challenge) -> KnownGame {
        KnownGame {
            chess960: Some(challenge.chess960),
            time_control: Some(time_control(&challenge.time_control)),
            opponent: Some(challenger(&challenge.challenger)),
            source: Some(GameSource::Challenge),
        }
    }

    /// What a start notice tells. Right after connecting it can be a game that was accepted before; later a game that we
    /// accepted nothing for is a rematch.
    pub fn from_start(start: &wire::GameStart, replayed: bool) -> KnownGame {
        KnownGame {
            chess960: start.chess960,
            source: Some(if replayed {
                GameSource::Other
            } else {
                GameSource::Rematch
            }),
            ..KnownGame::default()
        }
    }

    /// What a list of running games tells.
    pub fn from_list(game: &wire::LiveGame) -> KnownGame {
        KnownGame {
            chess960: Some(game.chess960),
            source: Some(GameSource::Other),
            ..KnownGame::default()
        }
    }

    /// Fills what is still unknown.
    pub fn complete(&mut self, other: &KnownGame) {
        self.chess960 = self.chess960.or(other.chess960);
        self.time_control = self.time_control.or(other.time_control);
        if self.opponent.is_none() {
            self.opponent.clone_from(&other.opponent);
        }
        if self.source.is_none() {
            self.source.clone_from(&other.source);
        }
    }
}

/// The variant of a server's name, without its castling mode. A challenge says `standard` where a game says `chess`.
pub fn variant(name: &str) -> Option<Variant> {
    if name == "standard" {
        return Some(Variant::Chess);
    }
    NAMES
        .iter()
        .find(|(_, plain, _)| *plain == name)
        .map(|(variant, _, _)| *variant)
}

/// The name under which the server lists a variant in capabilities and in its lists of games; `None` if it does not have it.
pub fn list_name(variant: Variant, mode: CastlingMode) -> Option<&'static str> {
    let (_, plain, shuffled) = NAMES.iter().find(|(known, _, _)| *known == variant)?;
    match mode {
        CastlingMode::Standard => Some(plain),
        CastlingMode::Chess960 => variant.supports_chess960().then_some(*shuffled),
    }
}

/// Everything that the server and our rules have in common.
pub fn all() -> Vec<(Variant, CastlingMode)> {
    let both = |variant: Variant| {
        [
            (variant, CastlingMode::Standard),
            (variant, CastlingMode::Chess960),
        ]
    };
    NAMES
        .iter()
        .flat_map(|(variant, _, _)| both(*variant))
        .filter(|(variant, mode)| list_name(*variant, *mode).is_some())
        .collect()
}

/// The capability header for the enabled variants. Twins are entries of their own; the server silently drops names it does
/// not know, so none are sent.
pub fn capabilities(enabled: &[(Variant, CastlingMode)]) -> wire::Capabilities {
    let mut variants: Vec<String> = Vec::with_capacity(enabled.len());
    for (variant, mode) in enabled {
        if let Some(name) = list_name(*variant, *mode)
            && !variants.iter().any(|listed| listed == name)
        {
            variants.push(name.to_owned());
        }
    }
    wire::Capabilities {
        version: wire::CAPABILITIES_VERSION,
        variants,
    }
}

/// A server's variant and flag as what was offered.
pub fn offered(name: &str, chess960: bool) -> OfferedVariant {
    let castling_mode = mode(chess960);
    match variant(name) {
        Some(variant) if list_name(variant, castling_mode).is_some() => OfferedVariant::Known {
            variant,
            castling_mode,
        },
        _ => OfferedVariant::Unknown(format!("{name}{}", if chess960 { "960" } else { "" })),
    }
}

fn mode(chess960: bool) -> CastlingMode {
    if chess960 {
        CastlingMode::Chess960
    } else {
        CastlingMode::Standard
    }
}

/// An offer to us. `replayed`: it came right after connecting, so it may be hours old.
///
/// # Errors
/// [`TranslateError::BadId`] if it could never be answered.
pub fn challenge(challenge: &wire::Challenge, replayed: bool) -> Result<Challenge, TranslateError> {
    let id = PathId::new(&challenge.id)?;
    Ok(Challenge {
        id: ChallengeId::new(id.as_str()),
        direction: ChallengeDirection::Incoming,
        opponent: challenger(&challenge.challenger),
        variant: offered(&challenge.variant.key, challenge.chess960),
        // It may well have one: the server shows a custom start only once the game exists.
        initial_fen: None,
        time_control: time_control(&challenge.time_control),
        opponent_time_control: None,
        rated: challenge.rated,
        color: match challenge.color.as_str() {
            "white" => ColorChoice::Black,
            "black" => ColorChoice::White,
            _ => ColorChoice::Random,
        },
        rules: GameRules::default(),
        rematch_of: None,
        resumes_adjourned: false,
        playable: true,
        replayed,
    })
}

fn challenger(challenger: &wire::Challenger) -> Player {
    /// Everybody's rating before the first game, and every guest's for ever.
    const UNRATED: f64 = 1500.0;
    let mut player = player(&challenger.name);
    if challenger.title.as_deref() == Some(BOT_TITLE) {
        player.kind = PlayerKind::Bot;
    }
    player.rating = challenger
        .rating
        .filter(|points| points.is_finite() && player.kind != PlayerKind::Guest)
        .map(|points| Rating {
            points: points.clamp(-10_000.0, 10_000.0).round() as i32,
            provisional: points == UNRATED,
        });
    player
}

/// A player by name alone, which is all that a game's stream tells.
fn player(name: &str) -> Player {
    let kind = if name.starts_with(wire::GUEST_PREFIX) {
        PlayerKind::Guest
    } else {
        PlayerKind::Human
    };
    Player {
        name: PlayerName::new(name),
        kind,
        rating: None,
    }
}

fn time_control(clock: &wire::TimeControl) -> TimeControl {
    TimeControl::Clock {
        initial: seconds(clock.limit),
        increment: seconds(clock.increment),
    }
}

/// Seconds of the wire; nonsense counts as zero.
fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).map_or(Duration::ZERO, |span| span.min(CLOCK_MAX))
}

/// Milliseconds of the wire, whole or not; a negative clock has run out.
fn milliseconds(value: f64) -> Duration {
    seconds(value / 1000.0)
}

/// The first position of a game: `None` is the variant's own.
///
/// After a restart of the server the word `None` stands for the usual start; a game with a start of its own keeps its FEN,
/// because the server saves that one.
pub fn initial_fen(field: Option<&str>) -> Option<&str> {
    field
        .map(str::trim)
        .filter(|fen| !matches!(*fen, "" | "None" | "startpos"))
}

/// How castling works in a game here and how it is written there; the two differ for unusual starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Castling {
    /// For our rules.
    pub rules: CastlingMode,
    /// For the server.
    pub notation: CastlingMode,
}

/// How castling works in a game.
///
/// The stream has no word for it. Without anything learnt before, the castling field tells: shuffled starts name the rooks'
/// files there. In games that are not shuffled the server still takes starts whose kings stand anywhere:
/// - On ten files with a king on the e-file that may castle it silently plays Embassy, where kings go to h and b. Our rules know that
///   from such a start.
/// - Otherwise its kings go where they always go, from any file, and the king's own move is written. Our rules do that only for
///   shuffled games, so they get that mode, and only the notation stays.
pub fn castling(variant: Variant, chess960: Option<bool>, fen: Option<&str>) -> Castling {
    let fen = fen.unwrap_or("");
    let field = fen.split_ascii_whitespace().nth(2).unwrap_or("");
    let by_letters = || field.chars().any(|c| !"KQkq-".contains(c));
    if chess960.unwrap_or_else(by_letters) {
        let both = CastlingMode::Chess960;
        return Castling {
            rules: both,
            notation: both,
        };
    }
    let usual = |file: usize| match variant.files() {
        10 => file == 5 || file == 4,
        _ => file == 4,
    };
    let strange = castling_king_files(fen)
        .into_iter()
        .flatten()
        .any(|file| !usual(file));
    Castling {
        rules: mode(strange && variant.supports_chess960()),
        notation: CastlingMode::Standard,
    }
}

/// Files of White's and Black's king, for those with a right to castle.
fn castling_king_files(fen: &str) -> [Option<usize>; 2] {
    let mut fields = fen.split_ascii_whitespace();
    let placement = fields.next().unwrap_or("");
    let rights = fields.nth(1).unwrap_or("");
    let mut ranks = placement.split('[').next().unwrap_or("").split('/');
    let top = ranks.next().unwrap_or("");
    let bottom = ranks.nth(6).unwrap_or("");
    let king = |rank: &str, letter: char, sides: &[char]| {
        rights
            .contains(sides)
            .then(|| file_of(rank, letter))
            .flatten()
    };
    [king(bottom, 'K', &['K', 'Q']), king(top, 'k', &['k', 'q'])]
}

/// The file, from 0, of a letter in one rank of a FEN. Empty squares may be a number of two digits.
fn file_of(rank: &str, letter: char) -> Option<usize> {
    let (mut file, mut empty) = (0_usize, 0_usize);
    for c in rank.chars() {
        match c.to_digit(10) {
            Some(digit) => empty = empty.saturating_mul(10).saturating_add(digit as usize),
            None => {
                file = file.saturating_add(std::mem::take(&mut empty));
                if c == letter {
                    return Some(file);
                }
                if c.is_ascii_alphabetic() {
                    file = file.saturating_add(1);
                }
            }
        }
    }
    None
}

/// Our side, if one of these is us.
pub fn our_color(white: &str, black: &str, us: &PlayerName) -> Option<Color> {
    if PlayerName::new(white) == *us {
        Some(Color::White)
    } else if PlayerName::new(black) == *us {
        Some(Color::Black)
    } else {
        None
    }
}

/// That a game of ours is on, by its id and what is known of it.
pub fn started(id: &PathId, known: &KnownGame) -> GameNotice {
    let accepted = known.source == Some(GameSource::Challenge);
    GameNotice {
        id: GameId::new(id.as_str()),
        challenge: accepted.then(|| ChallengeId::new(id.as_str())),
        color: None,
        opponent: known.opponent.clone(),
        source: known.source.clone().unwrap_or(GameSource::Rematch),
        our_turn: None,
        our_time: None,
        playable: true,
    }
}

/// That a game of ours is on, by a list of running games; `None` for a game of others.
pub fn listed(
    id: &PathId,
    game: &wire::LiveGame,
    known: &KnownGame,
    us: &PlayerName,
) -> Option<GameNotice> {
    let color = our_color(&game.w, &game.b, us)?;
    let theirs = match color {
        Color::White => &game.b,
        Color::Black => &game.w,
    };
    let on_move = (!game.tp.is_empty()).then(|| PlayerName::new(&game.tp));
    Some(GameNotice {
        color: Some(color),
        opponent: Some(opponent(theirs, known)),
        our_turn: on_move.map(|name| name == *us),
        ..started(id, known)
    })
}

/// The other player, with what the challenge told about them.
fn opponent(name: &str, known: &KnownGame) -> Player {
    let by_name = player(name);
    match &known.opponent {
        Some(challenger) if challenger.name == by_name.name => challenger.clone(),
        _ => by_name,
    }
}

/// What is fixed in a game, and how its moves are written to the server.
///
/// # Errors
/// [`TranslateError`] if the variant is unknown or the game is not ours.
pub fn game_start(
    full: &wire::GameFull,
    known: &KnownGame,
    us: &PlayerName,
) -> Result<(GameStart, CastlingMode), TranslateError> {
    let id = PathId::new(&full.id)?;
    let fen = initial_fen(full.initial_fen.as_deref());
    let unknown = || TranslateError::UnknownVariant(full.variant.name.clone());
    let variant = variant(&full.variant.name).ok_or_else(unknown)?;
    let castling = castling(variant, known.chess960, fen);
    if list_name(variant, castling.notation).is_none() {
        return Err(unknown());
    }
    let (white, black) = (&full.white.name, &full.black.name);
    let Some(color) = our_color(white, black, us) else {
        return Err(TranslateError::NotOurs {
            white: white.clone(),
            black: black.clone(),
            us: us.to_string(),
        });
    };
    let (ours, theirs) = match color {
        Color::White => (white, black),
        Color::Black => (black, white),
    };
    let start = GameStart {
        id: GameId::new(id.as_str()),
        variant,
        castling_mode: castling.rules,
        initial_fen: fen.map(str::to_owned),
        color,
        us: Player {
            kind: PlayerKind::Bot,
            ..player(ours)
        },
        opponent: opponent(theirs, known),
        time_control: known
            .time_control
            .unwrap_or_else(|| time_control_of_state(&full.state)),
        rated: false,
        rules: GameRules::default(),
        source: known.source.clone().unwrap_or(GameSource::Rematch),
    };
    Ok((start, castling.notation))
}

/// The clock as far as a running game shows it: exact before the first timed move, a guess afterwards.
fn time_control_of_state(state: &wire::GameState) -> TimeControl {
    TimeControl::Clock {
        initial: milliseconds(state.wtime.max(state.btime)),
        increment: seconds(state.winc),
    }
}

/// What changes in a game. A stream never says that a game is over within a state, so it is always running here.
pub fn game_state(state: &wire::GameState) -> GameState {
    let moves: Vec<String> = state
        .moves
        .split_ascii_whitespace()
        .map(plain_move)
        .collect();
    GameState {
        base_fen: None,
        clocks: Some(Clocks {
            white: milliseconds(state.wtime),
            black: milliseconds(state.btime),
            reading: ClockReading::AtLastMove,
        }),
        offers: Offers::default(),
        status: Status::Running,
        move_within: (moves.len() < UNTIMED_PLIES).then_some(FIRST_MOVE_LIMIT),
        moves,
    }
}

/// The server repeats a promotion's letter as it was sent, so a human's browser may put upper case there; a drop's letter is
/// always upper case.
fn plain_move(uci: &str) -> String {
    if uci.contains('@') {
        uci.to_owned()
    } else {
        uci.to_ascii_lowercase()
    }
}

/// A move in the server's dialect: the king's own two squares, or king takes rook in shuffled games; a drop's letter in upper
/// case, a promotion's in lower case. Anything else loses the game.
pub fn move_word(position: &Position, m: Move, notation: CastlingMode) -> String {
    position.uci_with(m, notation)
}

/// A line of talk. The server's own announcements have no name.
pub fn chat(line: &wire::ChatLine) -> ChatLine {
    ChatLine {
        from: PlayerName::new(&line.username),
        from_server: line.username.is_empty(),
        room: if line.room == room_word(ChatRoom::Players) {
            ChatRoom::Players
        } else {
            ChatRoom::Spectators
        },
        text: line.text.clone(),
    }
}

/// The server's word for a room.
pub fn room_word(room: ChatRoom) -> &'static str {
    match room {
        ChatRoom::Players => "player",
        ChatRoom::Spectators => "spectator",
    }
}

/// The server's key for a refusal; it shows the challenger a sentence of its own for each.
pub fn decline_key(reason: DeclineReason) -> &'static str {
    match reason {
        DeclineReason::Generic => "generic",
        DeclineReason::Later => "later",
        DeclineReason::TooFast => "tooFast",
        DeclineReason::TooSlow => "tooSlow",
        DeclineReason::TimeControl => "timeControl",
        DeclineReason::RatedOnly => "rated",
        DeclineReason::CasualOnly => "casual",
        DeclineReason::StandardOnly => "standard",
        DeclineReason::Variant => "variant",
        DeclineReason::NoBots => "noBot",
        DeclineReason::BotsOnly => "onlyBot",
    }
}

/// How a game ended by its page; `None` while the page shows it running.
pub fn end_of_page(page: &GamePage) -> Option<GameEnd> {
    if page.status < 0 {
        return None;
    }
    let result = match page.result.as_str() {
        "1-0" => GameResult::Decisive {
            winner: Color::White,
        },
        "0-1" => GameResult::Decisive {
            winner: Color::Black,
        },
        "1/2-1/2" => GameResult::Draw,
        _ if page.status == 0 => GameResult::NoResult,
        _ => GameResult::Unknown,
    };
    let (termination, word) = match (page.status, result) {
        (0, _) => (Termination::Aborted, "aborted"),
        (1, _) => (Termination::Mate, "mate"),
        (2, _) => (Termination::Resignation, "resign"),
        (3, _) => (Termination::Stalemate, "stalemate"),
        (4, _) => (Termination::Abandoned, "timeout"),
        (5, _) => (Termination::Draw, "draw"),
        (6, _) => (Termination::OutOfTime, "flag"),
        (7, _) => (Termination::Abandoned, "abandon"),
        (8, _) => (Termination::Cheat, "cheat"),
        (9, _) => (Termination::NoStart, "bye"),
        (10, _) => (Termination::IllegalMove, "invalid move"),
        (12, _) => (Termination::VariantEnd, "variant end"),
        (13, GameResult::Draw) => (Termination::Draw, "claim"),
        (13, _) => (Termination::VariantEnd, "claim"),
        _ => (Termination::Unknown, "unknown"),
    };
    Some(GameEnd {
        result,
        termination,
        words: format!("{word} (status {}, {})", page.status, page.result),
    })
}

#[cfg(test)]
#[path = "translate_tests.rs"]
mod tests;
