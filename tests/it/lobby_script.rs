//! Scripts for the lobby: what happens to an account, at which second, and below it what must be done.
//!
//! ```text
//! 0    main online
//! 0    main lists
//! 1    main challenge c1 anna crazyhouse 180+2
//!      > main accept c1
//! ```
//! Notes and queue news are not compared unless a script asks for them with `notes`.

use std::time::Duration;

use seneschal::game::{
    GameId, GameRules, GameSource, Moment, Player, PlayerKind, PlayerName, Rating,
};
use seneschal::lobby::policy::{parse_clock, parse_variant};
use seneschal::lobby::{
    AccountName, AccountTerms, BotRating, Challenge, ChallengeDirection, ChallengeId,
    ChallengeRefusal, ColorChoice, DeclineReason, Lobby, LobbyAction, LobbyCapabilities,
    LobbyEvent, LobbyPolicy, MatchmakingPolicy, MemoryChange, Now, OfferedVariant, OnlineBot,
    RequestId,
};
use seneschal::rules::{CastlingMode, Variant};

/// 1 January 2026 in milliseconds.
pub const DAWN_MS: i64 = 1_767_225_600_000;

/// What Lichess can do outside games.
pub fn lichess_lobby() -> LobbyCapabilities {
    let both = [CastlingMode::Standard, CastlingMode::Chess960];
    let variants = Variant::ALL
        .into_iter()
        .flat_map(|v| both.map(|mode| (v, mode)))
        .collect();
    LobbyCapabilities {
        create_challenges: true,
        list_bots: true,
        seeks: false,
        rated_games: true,
        challenge_lifetime: Duration::from_secs(20),
        tells_withdrawals: true,
        lists_running_games: true,
        variants,
        bot_games_per_day: Some(100),
        challenges_per_minute: Some(25),
        challenges_per_day: Some(200),
        challenge_cost: (1, 5),
    }
}

/// A lobby under test.
pub struct Stage {
    pub lobby: Lobby,
    /// Everything the lobby wanted to be remembered.
    pub remembered: Vec<MemoryChange>,
    with_notes: bool,
}

/// Makes a lobby with accounts `main` and `side`.
pub fn stage(lobby: LobbyPolicy, matchmaking: MatchmakingPolicy) -> Stage {
    stage_with(lobby, matchmaking, None)
}

/// The same, with a bound for the games of each account.
pub fn stage_with(
    lobby: LobbyPolicy,
    matchmaking: MatchmakingPolicy,
    max_games: Option<u32>,
) -> Stage {
    let account = |name: &str| AccountTerms {
        name: AccountName::new(name),
        capabilities: lichess_lobby(),
        max_games,
        matchmaking: name == "main",
    };
    let accounts = vec![account("main"), account("side")];
    Stage {
        lobby: Lobby::new(lobby, matchmaking, accounts, 7),
        remembered: Vec::new(),
        with_notes: false,
    }
}

/// Now, `seconds` after dawn.
pub fn now(seconds: f64) -> Now {
    let span = Duration::from_secs_f64(seconds);
    Now {
        mono: Moment::after_start(span),
        wall_ms: DAWN_MS + i64::try_from(span.as_millis()).expect("a short test"),
    }
}

impl Stage {
    /// Compares notes as well.
    pub fn with_notes(mut self) -> Stage {
        self.with_notes = true;
        self
    }

    /// Runs a script.
    #[track_caller]
    pub fn check(&mut self, script: &str) {
        let mut actual = String::new();
        let mut expected = String::new();
        for line in script.lines().map(str::trim).filter(|l| !l.is_empty()) {
            if line.starts_with("//") {
                continue;
            }
            expected.push_str(line);
            expected.push('\n');
            if line.starts_with('>') {
                continue;
            }
            actual.push_str(line);
            actual.push('\n');
            let mut words = line.split_whitespace();
            let seconds: f64 = words.next().and_then(|w| w.parse().ok()).expect("seconds");
            let account = AccountName::new(words.next().expect("account"));
            let rest: Vec<&str> = words.collect();
            let now = now(seconds);
            let actions = match rest.first().copied() {
                Some("tick") => self.lobby.tick(now),
                Some("drain") => self.lobby.drain(now),
                _ => self.lobby.step(&account, event(&rest), now),
            };
            for (account, action) in actions {
                if let LobbyAction::Remember(change) = &action {
                    self.remembered.push(change.clone());
                }
                if let Some(words) = action_words(&action, self.with_notes) {
                    actual.push_str(&format!("> {account} {words}\n"));
                }
            }
        }
        if actual != expected {
            panic!("\n--- the lobby did\n{actual}\n--- the script wants\n{expected}");
        }
    }
}

fn action_words(action: &LobbyAction, with_notes: bool) -> Option<String> {
    Some(match action {
        LobbyAction::Accept(id) => format!("accept {id}"),
        LobbyAction::Decline(id, reason) => format!("decline {id} {reason:?}"),
        LobbyAction::Cancel(id) => format!("cancel {id}"),
        LobbyAction::Create(request) => format!(
            "create {} {} {} {}",
            request.request.0,
            request.opponent,
            request.variant.uci_name(),
            request.time_control
        ),
        LobbyAction::ListBots => "list bots".to_owned(),
        LobbyAction::Unwanted(game, _) => format!("unwanted {game}"),
        LobbyAction::Note(decision) if with_notes => format!("note {decision}"),
        LobbyAction::Note(_) | LobbyAction::Queue(_) | LobbyAction::Remember(_) => return None,
    })
}

/// A challenge to us: `ID NAME VARIANT CLOCK` and facts.
pub fn challenge(words: &[&str]) -> Challenge {
    let [id, name, variant, clock, facts @ ..] = words else {
        panic!("challenge ID NAME VARIANT CLOCK, not {words:?}");
    };
    let offered = match parse_variant(variant) {
        Some((variant, castling_mode)) => OfferedVariant::Known {
            variant,
            castling_mode,
        },
        None => OfferedVariant::Unknown((*variant).to_owned()),
    };
    let time_control = match *clock {
        "unlimited" => seneschal::game::TimeControl::Unlimited,
        "3d" => seneschal::game::TimeControl::Correspondence { days_per_turn: 3 },
        clock => parse_clock(clock).expect("clock"),
    };
    let mut challenge = Challenge {
        id: ChallengeId::new(*id),
        direction: ChallengeDirection::Incoming,
        opponent: player(name),
        variant: offered,
        initial_fen: None,
        time_control,
        opponent_time_control: None,
        rated: false,
        color: ColorChoice::Random,
        rules: GameRules::default(),
        rematch_of: None,
        resumes_adjourned: false,
        playable: true,
        replayed: false,
    };
    for fact in facts {
        match fact.split_once('=').unwrap_or((fact, "")) {
            ("rated", _) => challenge.rated = true,
            ("noabort", _) => challenge.rules.no_abort = true,
            ("closed", _) => challenge.playable = false,
            ("fen", fen) => challenge.initial_fen = Some(fen.replace('_', " ")),
            ("odds", clock) => challenge.opponent_time_control = parse_clock(clock),
            ("adjourned", _) => challenge.resumes_adjourned = true,
            ("out", _) => challenge.direction = ChallengeDirection::Outgoing,
            ("rating", points) => {
                challenge.opponent.rating = Some(Rating {
                    points: points.parse().expect("points"),
                    provisional: false,
                });
            }
            other => panic!("unknown fact {other:?}"),
        }
    }
    challenge
}

/// `bot-…` is a bot, `guest-…` a guest, everybody else a person.
fn player(name: &str) -> Player {
    let kind = match name.split('-').next() {
        Some("bot") => PlayerKind::Bot,
        Some("guest") => PlayerKind::Guest,
        _ => PlayerKind::Human,
    };
    Player {
        name: PlayerName::new(name),
        kind,
        rating: Some(Rating {
            points: 1_500,
            provisional: false,
        }),
    }
}

fn event(words: &[&str]) -> LobbyEvent {
    let rest = &words[1..];
    let seconds = |word: &str| Duration::from_secs_f64(word.parse().expect("seconds"));
    let request = |word: &str| RequestId(word.parse().expect("number"));
    match words[0] {
        "online" => LobbyEvent::Online(PlayerName::new("me")),
        "offline" => LobbyEvent::Offline,
        "lists" => LobbyEvent::Reconciled {
            incoming: Vec::new(),
            outgoing: Vec::new(),
            complete: true,
        },
        "lists-out" => LobbyEvent::Reconciled {
            incoming: Vec::new(),
            outgoing: vec![outgoing(rest)],
            complete: true,
        },
        "lists-in" => LobbyEvent::Reconciled {
            incoming: vec![challenge(rest)],
            outgoing: Vec::new(),
            complete: true,
        },
        "challenge" => LobbyEvent::Challenged(Box::new(challenge(rest))),
        "echo" => LobbyEvent::Challenged(Box::new(outgoing(rest))),
        "canceled" => LobbyEvent::Canceled(ChallengeId::new(rest[0])),
        "declined" => LobbyEvent::Declined(ChallengeId::new(rest[0]), reason(rest[1])),
        "created" => LobbyEvent::Created(request(rest[0]), Box::new(outgoing(&rest[1..]))),
        "refused" => LobbyEvent::Refused(request(rest[0]), refusal(&rest[1..])),
        "accept-failed" => LobbyEvent::AcceptFailed {
            id: ChallengeId::new(rest[0]),
            our_budget: rest.get(1).map(|word| seconds(word)),
        },
        "started" => LobbyEvent::GameStarted {
            game: GameId::new(rest[0]),
            challenge: Some(ChallengeId::new(rest[0])),
            opponent: rest.get(1).map(|name| player(name)),
            source: GameSource::Challenge,
        },
        "started-alone" => LobbyEvent::GameStarted {
            game: GameId::new(rest[0]),
            challenge: None,
            opponent: rest.get(1).map(|name| player(name)),
            source: GameSource::Rematch,
        },
        "started-resumed" => LobbyEvent::GameStarted {
            game: GameId::new(rest[0]),
            challenge: None,
            opponent: rest.get(1).map(|name| player(name)),
            source: GameSource::Resumed,
        },
        "opponent" => LobbyEvent::OpponentKnown(GameId::new(rest[0]), player(rest[1])),
        "ended" => LobbyEvent::GameEnded(GameId::new(rest[0])),
        "bots" => LobbyEvent::Bots(Some(rest.iter().map(|name| bot(name)).collect())),
        "no-bots" => LobbyEvent::Bots(None),
        "bot-games-limited" => {
            LobbyEvent::BotGamesLimited(seconds(rest[0]), "100 games today".to_owned())
        }
        "challenges-limited" => {
            LobbyEvent::ChallengesLimited(seconds(rest[0]), "too many requests".to_owned())
        }
        other => panic!("unknown event {other}"),
    }
}

fn outgoing(words: &[&str]) -> Challenge {
    Challenge {
        direction: ChallengeDirection::Outgoing,
        ..challenge(words)
    }
}

fn bot(word: &str) -> OnlineBot {
    let (name, points) = word.split_once('=').unwrap_or((word, "1500"));
    let rating = Rating {
        points: points.parse().expect("points"),
        provisional: false,
    };
    let ratings = Variant::ALL.map(|variant| BotRating {
        variant: Some(variant),
        speed: None,
        rating,
        games: 10,
    });
    OnlineBot {
        name: PlayerName::new(name),
        ratings: ratings.to_vec(),
        playing: None,
        unavailable: name.ends_with("closed"),
    }
}

fn reason(word: &str) -> DeclineReason {
    match word {
        "later" => DeclineReason::Later,
        "variant" => DeclineReason::Variant,
        "nobot" => DeclineReason::NoBots,
        "toofast" => DeclineReason::TooFast,
        _ => DeclineReason::Generic,
    }
}

fn refusal(words: &[&str]) -> ChallengeRefusal {
    let text = "the platform said so".to_owned();
    let span = words
        .get(1)
        .and_then(|word| word.parse().ok())
        .map(Duration::from_secs);
    match words[0] {
        "opponent" => ChallengeRefusal::Opponent {
            words: text,
            retry_after: span,
        },
        "budget" => ChallengeRefusal::OurBudget {
            words: text,
            retry_after: span.expect("seconds"),
        },
        "bad" => ChallengeRefusal::BadRequest { words: text },
        _ => ChallengeRefusal::Lost,
    }
}
