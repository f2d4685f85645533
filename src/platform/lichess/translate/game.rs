//! Games: from lines of a game's stream and notices of the event stream.

use std::time::Duration;

use super::{Untranslatable, color, millis, opponent, player, seconds, variant};
use crate::game::{
    ChatLine, ChatRoom, ClockReading, Clocks, GameEnd, GameId, GameResult, GameRules, GameSource,
    GameStart, GameState, Offers, PlayerKind, PlayerName, Status, Termination, TimeControl,
};
use crate::lobby::ChallengeId;
use crate::platform::GameNotice;
use crate::platform::error::excerpt;
use crate::platform::lichess::wire;
use crate::rules::Color;

/// What is known about a game from elsewhere than its own stream.
#[derive(Clone, Debug, Default)]
pub(in crate::platform::lichess) struct Background {
    /// From its notice.
    pub source: Option<GameSource>,
    /// From its notice; the stream tells it too, unless both sides look alike.
    pub color: Option<Color>,
    /// From the challenge of the same id.
    pub rules: GameRules,
}

/// The first line: what is fixed, and the state.
pub(in crate::platform::lichess) fn full(
    full: &wire::GameFull,
    own_id: &str,
    background: &Background,
) -> Result<(GameStart, GameState), Untranslatable> {
    let bad = |what, value: &str| Untranslatable {
        message: "gameFull",
        what,
        value: excerpt(value),
    };
    let id = full
        .id
        .as_deref()
        .filter(|id| !id.is_empty())
        .ok_or_else(|| bad("no id", ""))?;
    let key = full
        .variant
        .as_ref()
        .and_then(|variant| variant.key.as_deref())
        .unwrap_or("standard");
    let (variant, castling_mode) = variant(key).ok_or_else(|| bad("unknown variant", key))?;
    let is_me = |user: &Option<wire::User>| {
        let id = user.as_ref().and_then(|user| user.id.as_deref());
        id.is_some_and(|id| id.eq_ignore_ascii_case(own_id))
    };
    let color = match (is_me(&full.white), is_me(&full.black)) {
        (true, false) => Color::White,
        (false, true) => Color::Black,
        _ => background
            .color
            .ok_or_else(|| bad(super::NOT_OURS, own_id))?,
    };
    let (white, black) = (player(full.white.as_ref()), player(full.black.as_ref()));
    let (us, opponent) = match color {
        Color::White => (white, black),
        Color::Black => (black, white),
    };
    let state = full.state.as_ref().ok_or_else(|| bad("no state", ""))?;
    let time_control = match (&full.clock, full.days_per_turn) {
        (Some(clock), _) => TimeControl::Clock {
            initial: millis(clock.initial.unwrap_or(0)),
            increment: millis(clock.increment.unwrap_or(0)),
        },
        (None, Some(days)) => TimeControl::Correspondence {
            days_per_turn: u32::try_from(days).unwrap_or(1).max(1),
        },
        (None, None) => TimeControl::Unlimited,
    };
    let source = match (&full.tournament_id, &background.source) {
        (Some(tournament), _) => GameSource::Tournament(tournament.clone()),
        (None, Some(source)) => source.clone(),
        (None, None) if opponent.kind == PlayerKind::ServerAi => GameSource::ServerAi,
        (None, None) => GameSource::Challenge,
    };
    // "startpos" is the variant's own start, in every variant.
    let initial_fen = full
        .initial_fen
        .as_deref()
        .filter(|fen| !matches!(*fen, "startpos" | ""))
        .map(str::to_owned);
    let translated = self::state(
        state,
        matches!(
            time_control,
            TimeControl::Clock { .. } | TimeControl::Correspondence { .. }
        ),
    );
    let start = GameStart {
        id: GameId::new(id),
        variant,
        castling_mode,
        initial_fen,
        color,
        us,
        opponent,
        time_control,
        rated: full.rated,
        rules: background.rules,
        source,
    };
    Ok((start, translated))
}

/// A state. `timed`: the game has banks; without a clock the platform sends the largest number instead.
pub(in crate::platform::lichess) fn state(state: &wire::GameState, timed: bool) -> GameState {
    let clocks = match (timed, state.wtime, state.btime) {
        (true, Some(white), Some(black)) => Some(Clocks {
            white: millis(white),
            black: millis(black),
            reading: ClockReading::WhenSent,
        }),
        _ => None,
    };
    let side = |white: bool, black: bool| match (white, black) {
        (true, _) => Some(Color::White),
        (false, true) => Some(Color::Black),
        (false, false) => None,
    };
    let offers = Offers {
        draw: side(state.wdraw, state.bdraw),
        takeback: side(state.wtakeback, state.btakeback),
        ..Offers::default()
    };
    let moves = state.moves.as_deref().unwrap_or("");
    GameState {
        base_fen: None,
        moves: moves.split_ascii_whitespace().map(str::to_owned).collect(),
        clocks,
        offers,
        status: status(state.status.as_deref(), state.winner.as_deref()),
        move_within: state.expiration.as_ref().and_then(move_within),
    }
}

fn move_within(expiration: &wire::Expiration) -> Option<Duration> {
    let total = millis(expiration.millis_to_move?);
    Some(total.saturating_sub(millis(expiration.idle_millis.unwrap_or(0))))
}

/// A status by name. Whatever is neither `created` nor `started` is an end, known or not; nothing at all is a running
/// game, because only a terminal state ends one.
pub(in crate::platform::lichess) fn status(name: Option<&str>, winner: Option<&str>) -> Status {
    match name {
        None | Some("created" | "started") => Status::Running,
        Some(name) => Status::Ended(end(name, winner)),
    }
}

fn end(name: &str, winner: Option<&str>) -> GameEnd {
    let termination = match name {
        "aborted" => Termination::Aborted,
        "mate" => Termination::Mate,
        "resign" => Termination::Resignation,
        "stalemate" => Termination::Stalemate,
        "timeout" => Termination::Abandoned,
        "draw" => Termination::Draw,
        "outoftime" => Termination::OutOfTime,
        "cheat" => Termination::Cheat,
        "noStart" => Termination::NoStart,
        "insufficientMaterialClaim" => Termination::InsufficientMaterial,
        "variantEnd" => Termination::VariantEnd,
        _ => Termination::Unknown,
    };
    let result = match (color(winner), termination) {
        (Some(winner), _) => GameResult::Decisive { winner },
        (None, Termination::Aborted) => GameResult::NoResult,
        (None, Termination::NoStart | Termination::Cheat | Termination::Unknown) => {
            GameResult::Unknown
        }
        // The side with time left could not have won.
        (None, _) => GameResult::Draw,
    };
    GameEnd {
        result,
        termination,
        words: excerpt(name),
    }
}

/// A chat line. The platform speaks under the name `lichess`.
pub(in crate::platform::lichess) fn chat(line: &wire::ChatLine) -> ChatLine {
    let name = line.username.as_deref().unwrap_or("");
    ChatLine {
        from: PlayerName::new(super::short(name)),
        from_server: name.is_empty() || name.eq_ignore_ascii_case("lichess"),
        room: match line.room.as_deref() {
            Some("spectator") => ChatRoom::Spectators,
            _ => ChatRoom::Players,
        },
        text: line
            .text
            .as_deref()
            .unwrap_or("")
            .chars()
            .take(1000)
            .collect(),
    }
}

/// A notice of a game that is on. `None` if it has no id.
pub(in crate::platform::lichess) fn notice(info: &wire::GameInfo) -> Option<GameNotice> {
    let id = info.id()?;
    let source = source(info);
    let for_bots = info
        .compat
        .as_ref()
        .and_then(|compat| compat.bot)
        .unwrap_or(true);
    Some(GameNotice {
        id: GameId::new(id),
        challenge: (source == GameSource::Challenge).then(|| ChallengeId::new(id)),
        color: color(info.color.as_deref()),
        opponent: info.opponent.as_ref().map(opponent),
        source,
        our_turn: info.is_my_turn,
        our_time: info.seconds_left.map(seconds),
        playable: for_bots,
    })
}

fn source(info: &wire::GameInfo) -> GameSource {
    let tournament = info.tournament_id.as_ref().or(info.swiss_id.as_ref());
    match (tournament, info.source.as_deref()) {
        (Some(id), _) => GameSource::Tournament(id.clone()),
        (None, Some("ai")) => GameSource::ServerAi,
        (None, Some("friend")) => GameSource::Challenge,
        _ if info
            .opponent
            .as_ref()
            .is_some_and(|opponent| opponent.ai.is_some()) =>
        {
            GameSource::ServerAi
        }
        _ => GameSource::Other,
    }
}

/// How a game ended, from its finish notice.
pub(in crate::platform::lichess) fn finish(info: &wire::GameInfo) -> Option<GameEnd> {
    match status(info.status.as_deref(), info.winner.as_deref()) {
        Status::Running => None,
        Status::Ended(end) => Some(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{CastlingMode, Variant};

    fn full_of(line: &str) -> Result<(GameStart, GameState), Untranslatable> {
        let wire::GameLine::Full(line) = wire::parse_game(line).unwrap() else {
            panic!("{line}")
        };
        full(&line, "bot_us", &Background::default())
    }

    fn line(middle: &str) -> String {
        format!(
            r#"{{"id":"aBcDeFgH","white":{{"id":"user_a","name":"User_A","title":null,"rating":1500,"provisional":true}},
            "black":{{"id":"bot_us","name":"Bot_Us","title":"BOT","rating":2000}},"rated":true,{middle}
            "state":{{"type":"gameState","moves":"e2e4 e7e5","wtime":180000,"btime":-50,"winc":2000,"binc":2000,
            "status":"started"}},"type":"gameFull"}}"#
        )
    }

    #[test]
    fn a_full_line_becomes_a_start_and_a_state() {
        let text = line(
            r#""variant":{"key":"crazyhouse"},"clock":{"initial":180000,"increment":2000},"initialFen":"startpos","#,
        );
        let (start, state) = full_of(&text).unwrap();
        assert_eq!(
            (start.variant, start.castling_mode),
            (Variant::Crazyhouse, CastlingMode::Standard)
        );
        assert_eq!(
            (start.color, start.rated, start.initial_fen.as_deref()),
            (Color::Black, true, None)
        );
        assert_eq!(start.opponent.name, PlayerName::new("user_a"));
        assert_eq!(
            (start.us.kind, start.opponent.kind),
            (PlayerKind::Bot, PlayerKind::Human)
        );
        assert!(start.opponent.rating.unwrap().provisional);
        assert_eq!(start.time_control, TimeControl::clock(180, 2));
        assert_eq!(state.moves, ["e2e4", "e7e5"]);
        let clocks = state.clocks.unwrap();
        assert_eq!(
            (clocks.white, clocks.black),
            (Duration::from_secs(180), Duration::ZERO)
        );
        assert_eq!(state.status, Status::Running);
    }

    #[test]
    fn chess960_may_start_from_the_usual_array() {
        // The platform spells the usual array out there, and calls any other one by letters of files.
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "nrkrbbnq/pppppppp/8/8/8/8/PPPPPPPP/NRKRBBNQ w DBdb - 0 1",
        ] {
            let middle = format!(
                r#""variant":{{"key":"chess960"}},"clock":{{"initial":180000,"increment":0}},"initialFen":"{fen}","#
            );
            let (start, _) = full_of(&line(&middle)).unwrap();
            assert_eq!(
                (start.variant, start.castling_mode),
                (Variant::Chess, CastlingMode::Chess960)
            );
            let told = start.initial_fen.unwrap();
            let mode = CastlingMode::Chess960;
            let ours = crate::rules::Position::from_fen(Variant::Chess, mode, &told).unwrap();
            let theirs = crate::rules::Position::from_fen(Variant::Chess, mode, fen).unwrap();
            assert_eq!(ours.fen(), theirs.fen());
        }
    }

    #[test]
    fn no_clock_and_no_days_is_unlimited_whatever_the_numbers_say() {
        let (start, state) =
            full_of(&line(r#""clock":null,"#).replace("180000", "2147483647")).unwrap();
        assert_eq!(
            (start.time_control, state.clocks),
            (TimeControl::Unlimited, None)
        );
        let (start, state) =
            full_of(&line(r#""daysPerTurn":14,"#).replace("180000", "1209600000")).unwrap();
        assert_eq!(
            start.time_control,
            TimeControl::Correspondence { days_per_turn: 14 }
        );
        assert_eq!(
            state.clocks.unwrap().white,
            Duration::from_secs(14 * 24 * 3600)
        );
    }

    #[test]
    fn players_without_ids_do_not_confuse_the_colors() {
        for opponent in [r#"{"aiLevel":3}"#, "{}", "null", r#"{"rating":1500}"#] {
            let text = line("").replace(
                r#"{"id":"user_a","name":"User_A","title":null,"rating":1500,"provisional":true}"#,
                opponent,
            );
            let (start, _) = full_of(&text).unwrap();
            assert_eq!(start.color, Color::Black, "{opponent}");
            let expected = if opponent.contains("ai") {
                PlayerKind::ServerAi
            } else {
                PlayerKind::Guest
            };
            assert_eq!(start.opponent.kind, expected);
        }
        assert_eq!(
            full_of(&line("").replace("bot_us", "other"))
                .unwrap_err()
                .what,
            "not our game"
        );
    }

    #[test]
    fn every_terminal_status_ends_the_game_and_the_winner_field_decides() {
        use GameResult::{Decisive, Draw, NoResult, Unknown};
        let white = Decisive {
            winner: Color::White,
        };
        let cases = [
            ("mate", Some("white"), Termination::Mate, white),
            ("resign", Some("white"), Termination::Resignation, white),
            ("stalemate", None, Termination::Stalemate, Draw),
            ("timeout", Some("white"), Termination::Abandoned, white),
            ("timeout", None, Termination::Abandoned, Draw),
            ("draw", None, Termination::Draw, Draw),
            ("outoftime", None, Termination::OutOfTime, Draw),
            ("outoftime", Some("white"), Termination::OutOfTime, white),
            ("cheat", Some("white"), Termination::Cheat, white),
            ("noStart", Some("white"), Termination::NoStart, white),
            ("aborted", None, Termination::Aborted, NoResult),
            ("unknownFinish", None, Termination::Unknown, Unknown),
            (
                "insufficientMaterialClaim",
                None,
                Termination::InsufficientMaterial,
                Draw,
            ),
            ("variantEnd", Some("white"), Termination::VariantEnd, white),
            ("variantEnd", None, Termination::VariantEnd, Draw),
            ("someday", Some("white"), Termination::Unknown, white),
        ];
        for (name, winner, termination, result) in cases {
            let Status::Ended(end) = status(Some(name), winner) else {
                panic!("{name}")
            };
            assert_eq!(
                (end.termination, end.result),
                (termination, result),
                "{name}"
            );
        }
        for name in [None, Some("created"), Some("started")] {
            assert_eq!(status(name, None), Status::Running);
        }
    }

    #[test]
    fn a_notice_tells_whether_we_can_play() {
        let event = |game: &str| {
            let line = format!(r#"{{"type":"gameStart","game":{game}}}"#);
            let wire::EventLine::GameStart(info) = wire::parse_event(&line).unwrap() else {
                panic!("{line}")
            };
            notice(&info)
        };
        let game = event(
            r#"{"fullId":"aBcDeFgHwxyz","gameId":"aBcDeFgH","color":"black","source":"friend","secondsLeft":300,
            "variant":{"key":"capablanca"},"isMyTurn":false,"opponent":{"id":"x","username":"BOT X","rating":1}}"#,
        )
        .unwrap();
        assert_eq!(
            (game.id.as_str(), game.challenge, game.playable),
            ("aBcDeFgH", Some(ChallengeId::new("aBcDeFgH")), true)
        );
        assert_eq!(game.opponent.unwrap().kind, PlayerKind::Bot);
        assert_eq!(game.our_time, Some(Duration::from_secs(300)));
        // A game that we cannot play must be opened to be left.
        assert!(
            event(r#"{"id":"a","variant":{"key":"xiangqi"}}"#)
                .unwrap()
                .playable
        );
        assert!(
            !event(r#"{"id":"a","compat":{"bot":false}}"#)
                .unwrap()
                .playable
        );
        assert_eq!(
            event(r#"{"fullId":"aBcDeFgHwxyz"}"#).unwrap().id.as_str(),
            "aBcDeFgH"
        );
        assert_eq!(event(r#"{"fullId":"é"}"#), None);
        assert_eq!(
            event(r#"{"id":"a","source":"arena","tournamentId":"t"}"#)
                .unwrap()
                .source,
            GameSource::Tournament("t".to_owned())
        );
        assert_eq!(
            event(r#"{"id":"a","opponent":{"id":null,"username":"Stockfish level 1","ai":1}}"#)
                .unwrap()
                .source,
            GameSource::ServerAi
        );
    }

    #[test]
    fn chat_of_the_platform_is_marked() {
        let line = |text: &str| match wire::parse_game(text).unwrap() {
            wire::GameLine::Chat(line) => chat(&line),
            other => panic!("{other:?}"),
        };
        let said = line(r#"{"type":"chatLine","username":"user_a","text":"","room":"spectator"}"#);
        assert_eq!(
            (said.from_server, said.room, said.text.as_str()),
            (false, ChatRoom::Spectators, "")
        );
        assert!(
            line(
                r#"{"type":"chatLine","username":"lichess","text":"Takeback sent","room":"player"}"#
            )
            .from_server
        );
        assert!(line(r#"{"type":"chatLine"}"#).from_server);
    }
}
