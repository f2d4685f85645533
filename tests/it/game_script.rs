//! Scripts for game sessions: what happens, at which millisecond, and below it what the session must do.
//!
//! ```text
//! 0    full white crazyhouse 180+2 :
//!      > think #1 ply 0 time 1000 ms
//! 900  report #1 e2e4 cp 20
//!      > send play e2e4 at 0
//! 950  state e2e4 | w=179000
//! ```
//! Before `:` come facts, after it moves, after `|` clocks in milliseconds and offers. Every decision of the session must be
//! listed, in order, and nothing else.

use std::time::Duration;

use seneschal::engine::{ReportOrigin, Score, SearchReport};
use seneschal::game::{
    ChatLine, ChatRoom, ClockReading, Clocks, CommandFailure, CommandKind, GameCapabilities,
    GameEnd, GameEvent, GameId, GameMemory, GamePolicy, GameResult, GameRules, GameSession,
    GameSource, GameStart, GameState, Input, Moment, OfferKind, Offers, Player, PlayerKind,
    PlayerName, Rating, SearchId, SessionTerms, Status, Termination, TimeControl,
};
use seneschal::rules::{CastlingMode, Color};

/// What Lichess can do.
pub fn lichess() -> GameCapabilities {
    GameCapabilities {
        draw_offers: true,
        draw_offer_with_move: true,
        takeback_requests: true,
        takebacks_unannounced: false,
        claims_when_opponent_gone: true,
        flag_calls: false,
        abort_and_adjourn_requests: false,
        abort_before_ply: 2,
        untimed_plies: 2,
        min_move_overhead: Duration::from_millis(50),
        chat_max_chars: 140,
        chat_gap: Duration::from_secs(1),
        spectator_chat: true,
        max_plies: Some(600),
    }
}

/// What PyChess can do.
pub fn pychess() -> GameCapabilities {
    GameCapabilities {
        draw_offers: false,
        draw_offer_with_move: false,
        takeback_requests: false,
        takebacks_unannounced: true,
        claims_when_opponent_gone: false,
        ..lichess()
    }
}

/// What FICS can do.
pub fn fics() -> GameCapabilities {
    GameCapabilities {
        draw_offer_with_move: false,
        claims_when_opponent_gone: false,
        flag_calls: true,
        abort_and_adjourn_requests: true,
        max_plies: None,
        ..lichess()
    }
}

/// A silent player without a wish to resign or to draw, so that scripts show only what they are about.
pub fn quiet() -> GamePolicy {
    let mut policy = GamePolicy::default();
    policy.chat.enabled = false;
    policy.resign.enabled = false;
    policy.draw.offer = false;
    policy
}

/// Terms of a session.
pub fn terms(policy: GamePolicy, capabilities: GameCapabilities) -> SessionTerms {
    SessionTerms {
        policy,
        capabilities,
        engine: "Seneschal test".to_owned(),
        memory: GameMemory::default(),
    }
}

/// Runs a script on a quiet Lichess session.
#[track_caller]
pub fn check(script: &str) -> GameSession {
    check_with(terms(quiet(), lichess()), script)
}

/// Runs a script.
#[track_caller]
pub fn check_with(terms: SessionTerms, script: &str) -> GameSession {
    let mut session = GameSession::new(terms);
    let mut actual = String::new();
    let mut expected = String::new();
    let mut start = None;
    for line in script.lines().map(str::trim).filter(|l| !l.is_empty()) {
        if line.starts_with("//") {
            continue;
        }
        if line.starts_with('>') {
            expected.push_str(line);
            expected.push('\n');
            continue;
        }
        expected.push_str(line);
        expected.push('\n');
        actual.push_str(line);
        actual.push('\n');
        let (ms, rest) = line.split_once(' ').expect("a time and an input");
        let now = Moment::after_start(Duration::from_millis(ms.parse().expect("milliseconds")));
        let input = parse_input(rest.trim(), now, &session, &mut start);
        for action in session.step(input, now) {
            actual.push_str(&format!("> {action}\n"));
        }
    }
    if actual != expected {
        panic!("\n--- the session did\n{actual}\n--- the script wants\n{expected}");
    }
    session
}

/// One input of a script, without its time.
pub fn parse_input(
    text: &str,
    now: Moment,
    session: &GameSession,
    start: &mut Option<GameStart>,
) -> Input {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let event = match word {
        "full" => {
            let (facts, state) = rest.split_once(':').expect("facts : moves");
            if !facts.trim().is_empty() {
                *start = Some(parse_start(facts.trim()));
            }
            GameEvent::Full {
                start: Box::new(start.clone().expect("the first full state has facts")),
                state: parse_state(state),
            }
        }
        "state" => GameEvent::State(parse_state(rest)),
        "report" => return parse_report(rest, session),
        "fails" => {
            let id = SearchId(rest.trim_start_matches('#').parse().expect("number"));
            let words = "the pool is gone".to_owned();
            return Input::SearchFailed { id, words };
        }
        "end" => GameEvent::Ended(parse_end(rest)),
        "chat" => {
            let mut words = rest.splitn(3, ' ');
            let from = words.next().expect("name");
            let room = match words.next().expect("room") {
                "players" => ChatRoom::Players,
                _ => ChatRoom::Spectators,
            };
            GameEvent::Chatted(ChatLine {
                from: PlayerName::new(from),
                from_server: from == "lichess",
                room,
                text: words.next().unwrap_or_default().to_owned(),
            })
        }
        "left" => GameEvent::OpponentLeft {
            claimable_in: rest.parse().ok().map(Duration::from_secs),
        },
        "back" => GameEvent::OpponentReturned,
        "lost" => GameEvent::LinkLost,
        "unreadable" => GameEvent::Unreadable {
            words: rest.to_owned(),
        },
        "refused" => GameEvent::Failed {
            command: parse_kind(rest),
            failure: CommandFailure::Refused {
                words: "no".to_owned(),
            },
        },
        "unanswered" => GameEvent::Failed {
            command: parse_kind(rest),
            failure: CommandFailure::Unanswered,
        },
        "overhead" => {
            let ms = rest.parse().expect("milliseconds");
            return Input::Overhead(Duration::from_millis(ms));
        }
        "waiting" => {
            return Input::Waiting(rest.split_whitespace().map(str::to_owned).collect());
        }
        "unwanted" => {
            let reason = rest.to_owned();
            return Input::Unwanted { reason };
        }
        "tick" => return Input::Tick,
        other => panic!("unknown input `{other}`"),
    };
    Input::Event { at: now, event }
}

fn parse_start(facts: &str) -> GameStart {
    let mut words = facts.split_whitespace();
    let color = match words.next().expect("colour") {
        "white" => Color::White,
        _ => Color::Black,
    };
    let name = words.next().expect("variant");
    let (variant, castling_mode) =
        seneschal::lobby::policy::parse_variant(name).unwrap_or_else(|| panic!("variant {name}"));
    let time_control = match words.next().expect("clock") {
        "unlimited" => TimeControl::Unlimited,
        clock => match clock.strip_suffix('d') {
            Some(days) => TimeControl::Correspondence {
                days_per_turn: days.parse().expect("days"),
            },
            None => seneschal::lobby::policy::parse_clock(clock).expect("clock"),
        },
    };
    let mut start = GameStart {
        id: GameId::new("abcd1234"),
        variant,
        castling_mode,
        initial_fen: None,
        color,
        us: player("me", PlayerKind::Bot),
        opponent: player("them", PlayerKind::Human),
        time_control,
        rated: false,
        rules: GameRules::default(),
        source: GameSource::Challenge,
    };
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("rated", _) => start.rated = true,
            ("bot", _) => start.opponent.kind = PlayerKind::Bot,
            ("noabort", _) => start.rules.no_abort = true,
            ("noclaim", _) => start.rules.no_claim_win = true,
            ("arena", _) => start.source = GameSource::Tournament("t".to_owned()),
            ("resumed", _) => start.source = GameSource::Resumed,
            ("fen", fen) => start.initial_fen = Some(fen.replace('_', " ")),
            ("960", _) => start.castling_mode = CastlingMode::Chess960,
            other => panic!("unknown fact {other:?}"),
        }
    }
    start
}

fn player(name: &str, kind: PlayerKind) -> Player {
    Player {
        name: PlayerName::new(name),
        kind,
        rating: Some(Rating {
            points: 1500,
            provisional: false,
        }),
    }
}

fn parse_state(text: &str) -> GameState {
    let (moves, rest) = text.split_once('|').unwrap_or((text, ""));
    let mut clocks = Some(Clocks {
        white: Duration::from_millis(180_000),
        black: Duration::from_millis(180_000),
        reading: ClockReading::WhenSent,
    });
    let mut state = GameState {
        base_fen: None,
        moves: moves.split_whitespace().map(str::to_owned).collect(),
        clocks: None,
        offers: Offers::default(),
        status: Status::Running,
        move_within: None,
    };
    let color = |word: &str| match word {
        "white" => Some(Color::White),
        _ => Some(Color::Black),
    };
    for word in rest.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let ms = || Duration::from_millis(value.parse().expect("milliseconds"));
        match (key, clocks.as_mut()) {
            ("w", Some(clocks)) => clocks.white = ms(),
            ("b", Some(clocks)) => clocks.black = ms(),
            ("at-last-move", Some(clocks)) => clocks.reading = ClockReading::AtLastMove,
            ("noclock", _) => clocks = None,
            ("within", _) => state.move_within = Some(ms()),
            ("base", _) => state.base_fen = Some(value.replace('_', " ")),
            ("draw", _) => state.offers.draw = color(value),
            ("takeback", _) => state.offers.takeback = color(value),
            ("abort", _) => state.offers.abort = color(value),
            ("adjourn", _) => state.offers.adjourn = color(value),
            ("over", _) => state.status = Status::Ended(parse_end(&value.replace(',', " "))),
            other => panic!("unknown part of a state {other:?}"),
        }
    }
    state.clocks = clocks;
    state
}

fn parse_end(text: &str) -> GameEnd {
    let (result, why) = text.split_once(' ').unwrap_or((text, ""));
    GameEnd {
        result: match result {
            "1-0" => GameResult::Decisive {
                winner: Color::White,
            },
            "0-1" => GameResult::Decisive {
                winner: Color::Black,
            },
            "1/2" => GameResult::Draw,
            "*" => GameResult::NoResult,
            _ => GameResult::Unknown,
        },
        termination: match why {
            "mate" => Termination::Mate,
            "aborted" => Termination::Aborted,
            "time" => Termination::OutOfTime,
            "resign" => Termination::Resignation,
            "draw" => Termination::Draw,
            "adjourned" => Termination::Adjourned,
            "variant" => Termination::VariantEnd,
            "abandoned" => Termination::Abandoned,
            _ => Termination::Unknown,
        },
        words: why.to_owned(),
    }
}

fn parse_kind(text: &str) -> CommandKind {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match word {
        "play" => CommandKind::Play {
            ply: rest.parse().expect("ply"),
        },
        "abort" => CommandKind::Abort,
        "resign" => CommandKind::Resign,
        "claim" => CommandKind::ClaimVictory,
        "say" => CommandKind::Say,
        "accept-draw" => CommandKind::Answer {
            offer: OfferKind::Draw,
            accept: true,
        },
        other => panic!("unknown command {other}"),
    }
}

fn parse_report(text: &str, session: &GameSession) -> Input {
    let words: Vec<&str> = text.split_whitespace().collect();
    let id = SearchId(words[0].trim_start_matches('#').parse().expect("number"));
    let position = session.record().expect("a game").position();
    // A late report may name a move of a position that is gone; any bits will do for it then.
    let best = position
        .parse_uci(words[1])
        .unwrap_or(seneschal::rules::Move(words[1].len() as u16));
    let number = |index: usize| words[index].parse().expect("score");
    let score = match words.get(2).copied() {
        Some("cp") => Score::Cp(number(3)),
        Some("mate") => Score::Mate(number(3)),
        _ => Score::Cp(0),
    };
    let report = SearchReport {
        best,
        ponder: None,
        score,
        depth: 10,
        seldepth: 12,
        nodes: 50_000,
        elapsed: Duration::from_millis(900),
        pv: vec![best],
        origin: ReportOrigin::Search,
    };
    Input::Report {
        id,
        report: Box::new(report),
    }
}
