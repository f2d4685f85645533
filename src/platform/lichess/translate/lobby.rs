//! Challenges, bots online and refusals of our challenges.

use std::time::Duration;

use super::{color, player, rating, seconds, short, variant};
use crate::game::{GameId, GameRules, PlayerName, Speed, TimeControl};
use crate::lobby::challenge::BotRating;
use crate::lobby::{
    Challenge, ChallengeDirection, ChallengeId, ChallengeRefusal, ColorChoice, DeclineReason,
    OfferedVariant, OnlineBot,
};
use crate::platform::error::{ErrorBody, PlatformError, Recovery, WaitScope, excerpt};
use crate::platform::lichess::wire;
use crate::rules::{CastlingMode, Color, Variant};

/// A challenge as the platform shows it. `None` if it has no id. `compat` came beside it; `replayed`: it may be old.
pub(in crate::platform::lichess) fn challenge(
    challenge: &wire::Challenge,
    own_id: &str,
    compat: Option<&wire::Compat>,
    replayed: bool,
) -> Option<Challenge> {
    let id = challenge.id.as_deref().filter(|id| !id.is_empty())?;
    let is_ours = |user: &Option<wire::User>| {
        let id = user.as_ref().and_then(|user| user.id.as_deref());
        id.is_some_and(|id| id.eq_ignore_ascii_case(own_id))
    };
    let direction = match challenge.direction.as_deref() {
        _ if is_ours(&challenge.challenger) => ChallengeDirection::Outgoing,
        Some("out") => ChallengeDirection::Outgoing,
        _ => ChallengeDirection::Incoming,
    };
    let other = match direction {
        ChallengeDirection::Outgoing => challenge.dest_user.as_ref(),
        ChallengeDirection::Incoming => challenge.challenger.as_ref(),
    };
    let key = challenge
        .variant
        .as_ref()
        .and_then(|variant| variant.key.as_deref())
        .unwrap_or("standard");
    let named = variant(key);
    let time_control = challenge
        .time_control
        .as_ref()
        .map_or(TimeControl::Unlimited, time_control);
    let offered = match named {
        Some((variant, castling_mode)) => OfferedVariant::Known {
            variant,
            castling_mode,
        },
        None => OfferedVariant::Unknown(short(key)),
    };
    let custom = |fen: &&str| match named {
        _ if *fen == "startpos" => false,
        Some((variant, _)) if key != "fromPosition" => !same_start(fen, variant),
        _ => true,
    };
    Some(Challenge {
        id: ChallengeId::new(id),
        direction,
        opponent: player(other),
        variant: offered,
        initial_fen: challenge
            .initial_fen
            .as_deref()
            .filter(custom)
            .map(str::to_owned),
        time_control,
        opponent_time_control: None,
        rated: challenge.rated,
        color: our_color(challenge, direction),
        rules: rules(&challenge.rules),
        rematch_of: challenge.rematch_of.as_deref().map(GameId::new),
        resumes_adjourned: false,
        playable: compat
            .and_then(|compat| compat.bot)
            .unwrap_or_else(|| is_compatible(named.is_some(), time_control)),
        replayed,
    })
}

/// Without the platform's word: bots may play everything that they know and that is not ultra-bullet.
fn is_compatible(known: bool, time_control: TimeControl) -> bool {
    known && time_control.speed() != Speed::UltraBullet
}

/// Whether a FEN is the variant's own start: placement, side and castling rights decide.
fn same_start(fen: &str, variant: Variant) -> bool {
    let key = |fen: &str| -> Vec<String> {
        let fields = fen.split_ascii_whitespace().take(3);
        // An empty pocket may be written or left out.
        fields
            .map(|field| {
                field
                    .trim_end_matches("[]")
                    .trim_end_matches('/')
                    .to_owned()
            })
            .collect()
    };
    key(fen) == key(variant.start_fen())
}

fn our_color(challenge: &wire::Challenge, direction: ChallengeDirection) -> ColorChoice {
    // The final color is the challenger's.
    let theirs =
        color(challenge.final_color.as_deref()).or_else(|| color(challenge.color.as_deref()));
    match (theirs, direction) {
        (None, _) => ColorChoice::Random,
        (Some(Color::White), ChallengeDirection::Outgoing)
        | (Some(Color::Black), ChallengeDirection::Incoming) => ColorChoice::White,
        _ => ColorChoice::Black,
    }
}

fn time_control(control: &wire::TimeControl) -> TimeControl {
    match (
        control.kind.as_deref(),
        control.limit,
        control.days_per_turn,
    ) {
        (Some("correspondence"), _, days) => {
            let days = days
                .and_then(|days| u32::try_from(days).ok())
                .unwrap_or(1)
                .max(1);
            TimeControl::Correspondence {
                days_per_turn: days,
            }
        }
        (Some("clock") | None, Some(limit), _) => TimeControl::Clock {
            initial: seconds(limit),
            increment: seconds(control.increment.unwrap_or(0)),
        },
        _ => TimeControl::Unlimited,
    }
}

/// Special terms by their names; unknown ones are left out.
pub(in crate::platform::lichess) fn rules(names: &[String]) -> GameRules {
    let mut rules = GameRules::default();
    for name in names {
        match name.as_str() {
            "noAbort" => rules.no_abort = true,
            "noClaimWin" => rules.no_claim_win = true,
            "noEarlyDraw" => rules.no_early_draw = true,
            "noGiveTime" => rules.no_give_time = true,
            "noRematch" => rules.no_rematch = true,
            _ => {}
        }
    }
    rules
}

/// The reason of a refusal that we received: lower case there, whatever case here.
pub(in crate::platform::lichess) fn decline_reason(key: Option<&str>) -> DeclineReason {
    match key.unwrap_or("").to_ascii_lowercase().as_str() {
        "later" => DeclineReason::Later,
        "toofast" => DeclineReason::TooFast,
        "tooslow" => DeclineReason::TooSlow,
        "timecontrol" => DeclineReason::TimeControl,
        "rated" => DeclineReason::RatedOnly,
        "casual" => DeclineReason::CasualOnly,
        "standard" => DeclineReason::StandardOnly,
        "variant" => DeclineReason::Variant,
        "nobot" => DeclineReason::NoBots,
        "onlybot" => DeclineReason::BotsOnly,
        _ => DeclineReason::Generic,
    }
}

/// A bot of the list of bots online. `None` if it has no name.
pub(in crate::platform::lichess) fn online_bot(account: &wire::Account) -> Option<OnlineBot> {
    let name = account
        .username
        .as_deref()
        .or(account.id.as_deref())
        .filter(|name| !name.is_empty())?;
    let perfs = account.perfs.iter().flatten();
    let ratings = perfs.filter_map(|(key, value)| {
        let perf: wire::Perf = serde_json::from_value(value.clone()).ok()?;
        let (variant, speed) = perf_kind(key)?;
        let games = u32::try_from(perf.games.unwrap_or(0)).unwrap_or(0);
        Some(BotRating {
            variant,
            speed,
            rating: rating(perf.rating, perf.prov)?,
            games,
        })
    });
    Some(OnlineBot {
        name: PlayerName::new(short(name)),
        ratings: ratings.collect(),
        playing: None,
        unavailable: account.disabled || account.tos_violation,
    })
}

/// What a rating is for. Chess960 and the other shuffled twins are left out: they are neither a speed nor a variant of ours.
fn perf_kind(key: &str) -> Option<(Option<Variant>, Option<Speed>)> {
    let speed = match key {
        "ultraBullet" => Speed::UltraBullet,
        "bullet" => Speed::Bullet,
        "blitz" => Speed::Blitz,
        "rapid" => Speed::Rapid,
        "classical" => Speed::Classical,
        "correspondence" => Speed::Correspondence,
        _ => {
            let (variant, mode) = variant(key)?;
            let own = variant != Variant::Chess && mode == CastlingMode::Standard;
            return own.then_some((Some(variant), None));
        }
    };
    Some((None, Some(speed)))
}

/// Why our challenge was not created. `None`: nobody knows whether it was, and the platform's list must be read.
pub(in crate::platform::lichess) fn refusal(error: &PlatformError) -> Option<ChallengeRefusal> {
    let words = match error.refusal() {
        Some(refusal) => refusal.body.to_string(),
        None => error.to_string(),
    };
    Some(match error.recovery() {
        Recovery::WaitUntil {
            scope: WaitScope::Opponent,
            delay,
        } => ChallengeRefusal::Opponent {
            words,
            retry_after: Some(delay),
        },
        Recovery::WaitUntil { delay, .. } => ChallengeRefusal::OurBudget {
            words,
            retry_after: delay,
        },
        Recovery::Resync => return None,
        // Nothing was sent.
        Recovery::Retry => ChallengeRefusal::OurBudget {
            words,
            retry_after: Duration::from_secs(10),
        },
        Recovery::StopAccount => ChallengeRefusal::OurBudget {
            words,
            retry_after: Duration::from_secs(3600),
        },
        Recovery::GiveUpRequest | Recovery::GiveUpGame => {
            match error.refusal().map(|refusal| &refusal.body) {
                Some(ErrorBody::Fields(_)) => ChallengeRefusal::BadRequest { words },
                Some(_) => ChallengeRefusal::Opponent {
                    words,
                    retry_after: None,
                },
                None => ChallengeRefusal::BadRequest {
                    words: excerpt(&words),
                },
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::PlayerKind;

    fn read(text: &str) -> Challenge {
        let line = format!(r#"{{"type":"challenge","challenge":{text}}}"#);
        let wire::EventLine::Challenge(wire, compat) = wire::parse_event(&line).unwrap() else {
            panic!("{line}")
        };
        challenge(&wire, "bot_us", compat.as_ref(), false).unwrap()
    }

    const FROM_A: &str = r#""challenger":{"id":"user_a","name":"User_A","rating":1700},"destUser":{"id":"bot_us","name":"Bot_Us"}"#;

    #[test]
    fn incoming_and_outgoing_are_told_apart_and_colors_are_ours() {
        let c = read(&format!(
            r#"{{"id":"cccccccc",{FROM_A},"variant":{{"key":"chess960"}},"rated":true,"color":"random","finalColor":"white",
            "timeControl":{{"type":"clock","limit":180,"increment":2,"show":"3+2"}},"rules":["noAbort","new"]}}"#
        ));
        assert_eq!(
            (c.direction, c.color),
            (ChallengeDirection::Incoming, ColorChoice::Black)
        );
        assert_eq!(
            c.variant,
            OfferedVariant::Known {
                variant: Variant::Chess,
                castling_mode: CastlingMode::Chess960
            }
        );
        assert_eq!(c.time_control, TimeControl::clock(180, 2));
        assert!(c.rules.no_abort && !c.rules.no_claim_win && c.playable && c.rated);
        let c = read(
            r#"{"id":"cccccccc","challenger":{"id":"Bot_US","name":"Bot_Us","title":"BOT"},
            "destUser":{"id":"b","name":"B","title":"BOT"},"finalColor":"white","timeControl":{"type":"correspondence","daysPerTurn":3}}"#,
        );
        assert_eq!(
            (c.direction, c.color),
            (ChallengeDirection::Outgoing, ColorChoice::White)
        );
        assert_eq!(
            (c.opponent.kind, c.time_control),
            (
                PlayerKind::Bot,
                TimeControl::Correspondence { days_per_turn: 3 }
            )
        );
    }

    #[test]
    fn nobody_and_unknown_variants_are_harmless() {
        let c = read(
            r#"{"id":"cccccccc","challenger":null,"destUser":null,"variant":{"key":"bughouse"},"timeControl":{"type":"unlimited"}}"#,
        );
        assert_eq!(
            (c.opponent.kind, c.time_control, c.color),
            (
                PlayerKind::Guest,
                TimeControl::Unlimited,
                ColorChoice::Random
            )
        );
        assert_eq!(
            (c.variant, c.playable),
            (OfferedVariant::Unknown("bughouse".to_owned()), false)
        );
    }

    #[test]
    fn compatibility_is_computed_where_it_is_not_told() {
        let clock = |limit: i64, increment: i64| {
            read(&format!(r#"{{"id":"c",{FROM_A},"timeControl":{{"type":"clock","limit":{limit},"increment":{increment}}}}}"#)).playable
        };
        assert!(!clock(15, 0));
        assert!(clock(30, 0));
        assert!(clock(0, 1));
        let line = format!(
            r#"{{"type":"challenge","challenge":{{"id":"c",{FROM_A}}},"compat":{{"bot":false}}}}"#
        );
        let wire::EventLine::Challenge(wire, compat) = wire::parse_event(&line).unwrap() else {
            panic!()
        };
        assert!(
            !challenge(&wire, "bot_us", compat.as_ref(), true)
                .unwrap()
                .playable
        );
    }

    #[test]
    fn a_start_spelled_out_is_the_start() {
        for (key, fen, custom) in [
            ("horde", Variant::Horde.start_fen(), false),
            ("racingKings", Variant::RacingKings.start_fen(), false),
            ("fromPosition", "4k3/8/8/8/8/8/8/4K2R w K - 0 1", true),
            (
                "chess960",
                "bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w KQkq - 0 1",
                true,
            ),
        ] {
            let c = read(&format!(
                r#"{{"id":"c",{FROM_A},"variant":{{"key":"{key}"}},"initialFen":"{fen}"}}"#
            ));
            assert_eq!(c.initial_fen.is_some(), custom, "{key}");
        }
    }

    #[test]
    fn decline_reasons_are_read_in_any_case() {
        let cases = [
            ("toofast", DeclineReason::TooFast),
            ("tooFast", DeclineReason::TooFast),
            ("onlybot", DeclineReason::BotsOnly),
            ("casual", DeclineReason::CasualOnly),
            ("surprise", DeclineReason::Generic),
        ];
        for (key, reason) in cases {
            assert_eq!(decline_reason(Some(key)), reason);
        }
        assert_eq!(decline_reason(None), DeclineReason::Generic);
    }

    #[test]
    fn a_bot_online_has_ratings_by_speed_or_by_variant() {
        let bot: wire::Account = serde_json::from_str(
            r#"{"id":"b","username":"B","perfs":{"blitz":{"games":5,"rating":1400,"prov":true},"crazyhouse":{"games":9,"rating":1900},
            "puzzle":{"games":1,"rating":1},"chess960":{"games":1,"rating":1},"crazyhouse960":{"games":1,"rating":1},
            "threeCheck960":{"games":1,"rating":1},"atomic":7},"tosViolation":true}"#,
        )
        .unwrap();
        let bot = online_bot(&bot).unwrap();
        let kinds: Vec<_> = bot
            .ratings
            .iter()
            .map(|r| (r.variant, r.speed, r.rating.points))
            .collect();
        assert_eq!(
            kinds,
            [
                (None, Some(Speed::Blitz), 1400),
                (Some(Variant::Crazyhouse), None, 1900)
            ]
        );
        assert!(bot.unavailable);
    }
}
