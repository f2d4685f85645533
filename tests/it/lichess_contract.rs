//! The contract of the Lichess interface, point by point: what concerns the account. Points inside games are in
//! `lichess_contract_game`.
//!
//! Points that are tested elsewhere, or not at all:
//!
//! | point | where | why |
//! |---|---|---|
//! | 8 any field may be absent, null or unknown | `platform::lichess::hostile` (mutated lines), `wire` tests | pure |
//! | 10 a repeated `gameStart` starts no second worker | here for the client (it repeats the notice); the daemon keeps one game task per id: daemon tests | split |
//! | 15 our colour | `translate` tests; here through a whole game | pure |
//! | 16 players without id, name or title | `translate` tests; here that the client lives on | pure |
//! | 21 timer of our own challenge, abort after a lost race | lobby (timer: `challenge_lifetime`) and session (`Unwanted`); here that the cancel is sent | decision |
//! | 22 `keepAliveStream` | not applicable: the client does not ask for kept-alive challenges; their end comes as events | unused |
//! | 25 shapes of errors | `platform::error` tests; here through answers of the fake | pure |
//! | 26 the count of 100 games against bots a day | lobby (budgets on disk); here the credits of the governor | decision |
//! | 28 to 30, 33, 45 positions, FEN dialects, castling in `moves`, endings | rules tests and game session; here the words that are sent | rules |
//! | 35, 46 first-move clock, when to abort | game session | decision |
//! | 41 twenty plies between offers | game session; here the words that are sent | decision |
//! | 49 drain | daemon; here that a client whose link is dropped sends what was asked and closes | split |

use std::time::Duration;

use secrecy::SecretString;
use seneschal::game::{GameId, PlayerKind, PlayerName, TimeControl};
use seneschal::lobby::{
    ChallengeDirection, ChallengeId, ChallengeRefusal, ColorChoice, DeclineReason,
};
use seneschal::platform::http::Origin;
use seneschal::platform::lichess::{LichessConfig, Server, Timing, governor_config, identify};
use seneschal::platform::{AccountCommand, AccountEvent, ClientEnd, LimitScope};
use seneschal::rules::Variant;
use serde_json::{Value, json};

use crate::lichess_fake::{
    Answer, Fake, FakeGame, Send, TOKEN, US, incoming_challenge, outgoing_challenge,
};
use crate::lichess_rig::{Player, Rig, config, request, timing};

fn challenge_event(challenge: &Value) -> Value {
    json!({"type": "challenge", "challenge": challenge, "compat": {"bot": true, "board": true}})
}

async fn challenged(rig: &mut Rig) -> seneschal::lobby::Challenge {
    rig.find(|event| match event {
        AccountEvent::Challenged(challenge) => Some(*challenge),
        _ => None,
    })
    .await
}

async fn accept_failed(rig: &mut Rig) -> (ChallengeId, String, Option<Duration>) {
    rig.find(|event| match event {
        AccountEvent::AcceptFailed {
            id,
            words,
            our_budget,
        } => Some((id, words, our_budget)),
        _ => None,
    })
    .await
}

async fn refused(rig: &mut Rig) -> ChallengeRefusal {
    rig.find(|event| match event {
        AccountEvent::ChallengeRefused { refusal, .. } => Some(refusal),
        AccountEvent::ChallengeCreated { .. } => panic!("created"),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn point_01_the_token_is_in_the_header_and_nowhere_else() {
    let mut rig = Rig::online().await;
    rig.fake
        .start_game("game0001", FakeGame::new(Variant::Chess, true));
    let mut player = Player::new(rig.open("game0001").await);
    player.play_until(|state| state.moves.len() >= 4).await;
    rig.send(AccountCommand::ListBots).await;
    rig.find(|event| matches!(event, AccountEvent::BotsOnline(_)).then_some(()))
        .await;
    let log = rig.fake.state().log.clone();
    for logged in &log {
        assert!(!logged.path.contains(TOKEN), "{logged:?}");
        let bearer = logged
            .headers
            .get("authorization")
            .is_some_and(|value| value == &format!("Bearer {TOKEN}"));
        let open = ["/api/token/test", "/api/bot/online", "/api/users/status"]
            .iter()
            .any(|p| logged.path.starts_with(p));
        assert_eq!(bearer, !open, "{logged:?}");
        assert_eq!(
            logged.body.contains(TOKEN),
            logged.path == "/api/token/test"
        );
    }
    let shown = format!("{:?} {:?} {:?}", config(), rig.link, rig.origin);
    assert!(!shown.contains(TOKEN), "{shown}");
}

#[tokio::test]
async fn point_02_one_user_agent_that_names_our_user() {
    let rig = {
        let mut rig = Rig::online().await;
        rig.fake
            .start_game("game0001", FakeGame::new(Variant::Chess, true));
        let mut player = Player::new(rig.open("game0001").await);
        player.play_until(|state| state.moves.len() >= 2).await;
        rig.started().await;
        rig
    };
    let streams = rig.fake.requests("GET", "stream");
    assert!(streams.len() >= 2);
    for stream in streams {
        let expected = concat!("seneschal/", env!("CARGO_PKG_VERSION"), " user:Bot_Us");
        assert_eq!(stream.headers["user-agent"], expected);
    }
}

#[tokio::test]
async fn point_02_a_mismatch_of_names_stops_the_client_with_clear_words() {
    let fake = Fake::start().await;
    let words = "The user in the user-agent doesn't match the token bearer";
    fake.script(
        "GET",
        "/api/account",
        [Answer::status(401, &json!({"error": words}).to_string())],
    );
    let mut rig = Rig::with(fake, config());
    assert!(rig.stopped().await.contains(words));
    let fake = Fake::start().await;
    let mut rig = Rig::with(
        fake,
        LichessConfig {
            expected_user: Some("somebody".to_owned()),
            ..config()
        },
    );
    let words = rig.stopped().await;
    assert!(
        words.contains("belongs to bot_us, not to somebody"),
        "{words}"
    );
}

#[tokio::test]
async fn point_03_a_token_without_the_permission_is_refused() {
    for (scopes, token, words) in [
        ("challenge:read", TOKEN, "lacks the permission bot:play"),
        ("bot:play", "other", "does not know this token"),
    ] {
        let fake = Fake::start().await;
        fake.state().scopes = scopes;
        let mut rig = Rig::with(
            fake,
            LichessConfig {
                token: SecretString::from(token),
                ..config()
            },
        );
        let said = rig.stopped().await;
        assert!(said.contains(words), "{said}");
        assert_eq!(rig.fake.count("GET", "/api/stream/event"), 0);
    }
}

#[tokio::test]
async fn point_03_an_account_is_upgraded_only_on_request() {
    let fake = Fake::start().await;
    fake.state().title = None;
    let mut rig = Rig::with(fake, config());
    let words = rig.stopped().await;
    assert!(words.contains("not a bot account"), "{words}");
    assert_eq!(rig.fake.count("POST", "upgrade"), 0);

    let fake = Fake::start().await;
    fake.state().title = None;
    let mut rig = Rig::with(
        fake,
        LichessConfig {
            upgrade_to_bot: true,
            ..config()
        },
    );
    rig.reconciled().await;
    assert_eq!(rig.fake.count("POST", "upgrade"), 1);

    for (status, error) in [
        (400, "You already have games played. Make a new account."),
        (404, "Managed accounts cannot be bots."),
    ] {
        let fake = Fake::start().await;
        fake.state().title = None;
        fake.script(
            "POST",
            "upgrade",
            [Answer::status(status, &json!({"error": error}).to_string())],
        );
        let mut rig = Rig::with(
            fake,
            LichessConfig {
                upgrade_to_bot: true,
                ..config()
            },
        );
        let words = rig.stopped().await;
        assert!(words.contains(error), "{words}");
        assert_eq!(
            rig.fake.count("POST", "upgrade"),
            1,
            "an upgrade is never repeated"
        );
    }
}

#[tokio::test]
async fn point_03_the_check_can_be_made_without_a_client() {
    let fake = Fake::start().await;
    let origin = Origin::new(&fake.url, governor_config(Server::Lichess), None).unwrap();
    let identity = identify(&config(), &origin).await.unwrap();
    assert_eq!(
        (
            identity.id.as_str(),
            identity.is_bot,
            identity.reads_challenges
        ),
        (US, true, true)
    );
}

#[tokio::test]
async fn point_04_refusals_of_the_token_are_final() {
    for (status, error) in [(401, "No such token"), (403, "Missing scope: bot:play")] {
        let fake = Fake::start().await;
        fake.script(
            "GET",
            "/api/stream/event",
            [Answer::status(status, &json!({"error": error}).to_string())],
        );
        let mut rig = Rig::with(fake, config());
        let words = rig.stopped().await;
        assert!(words.contains(error), "{words}");
        assert_eq!(rig.fake.count("GET", "/api/stream/event"), 1);
    }
    // In the middle of a game as well.
    let mut rig = Rig::online().await;
    rig.fake
        .start_game("game0001", FakeGame::new(Variant::Chess, true));
    rig.fake.script(
        "POST",
        "/move/",
        [Answer::status(401, r#"{"error":"No such token"}"#)],
    );
    let mut player = Player::new(rig.open("game0001").await);
    let event = player.receive().await.unwrap();
    player.on_event(event).await;
    assert!(rig.stopped().await.contains("No such token"));
    assert_eq!(rig.fake.count("POST", "/move/"), 1);
}

#[tokio::test]
async fn point_05_one_event_stream_and_three_openings_a_minute_under_eviction() {
    let mut rig = Rig::online().await;
    let words = {
        let mut words = Vec::new();
        for _ in 0..3 {
            rig.fake
                .until_count("GET", "/api/stream/event", words.len() + 1)
                .await;
            rig.fake.send_event(Send::End);
            let lost = rig.find(|event| match event {
                AccountEvent::Offline { words, retry_in } => Some((words, retry_in)),
                _ => None,
            });
            words.push(lost.await);
            if words.len() < 3 {
                rig.reconciled().await;
            }
        }
        words
    };
    assert!(
        words[0].1 <= Duration::from_secs(1),
        "the first return is quick: {words:?}"
    );
    assert!(
        words[2]
            .0
            .contains("another program seems to use this token"),
        "{words:?}"
    );
    assert!(words[2].1 >= Duration::from_secs(60));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(rig.fake.count("GET", "/api/stream/event"), 3);
    assert_eq!(rig.fake.state().most_event_streams, 1);
}

#[tokio::test]
async fn point_06_empty_lines_are_life_and_silence_is_death() {
    let short = LichessConfig {
        timing: Timing {
            silence: Duration::from_millis(900),
            ..timing()
        },
        ..config()
    };
    let mut rig = Rig::with(Fake::start().await, short);
    rig.reconciled().await;
    // Three times the limit passes with nothing but empty lines.
    tokio::time::sleep(Duration::from_millis(2700)).await;
    assert_eq!(rig.fake.count("GET", "/api/stream/event"), 1);
    rig.fake.send_event(Send::Silence);
    let words = rig.find(|event| match event {
        AccountEvent::Offline { words, .. } => Some(words),
        _ => None,
    });
    assert!(words.await.contains("no byte"));
    rig.reconciled().await;
    assert_eq!(rig.fake.count("GET", "/api/stream/event"), 2);
}

#[tokio::test]
async fn point_07_lines_in_any_cut() {
    let mut rig = Rig::online().await;
    let one = challenge_event(&incoming_challenge("chal0001", "User_A")).to_string();
    let two = challenge_event(&incoming_challenge("chal0002", "User_B")).to_string();
    let (head, tail) = one.split_at(17);
    rig.fake.send_event(Send::Bytes(head.as_bytes().to_vec()));
    rig.fake.send_event(Send::Bytes(
        format!("{tail}\r\n\r\n{two}\n{{\"type\":\"chal").into_bytes(),
    ));
    assert_eq!(challenged(&mut rig).await.id, ChallengeId::new("chal0001"));
    assert_eq!(challenged(&mut rig).await.id, ChallengeId::new("chal0002"));
    rig.fake.send_event(Send::End);
    rig.find(|event| matches!(event, AccountEvent::Offline { .. }).then_some(()))
        .await;
    rig.reconciled().await;
}

#[tokio::test]
async fn point_08_unknown_and_broken_lines_change_nothing() {
    let mut rig = Rig::online().await;
    for line in [
        r#"{"type":"newThing","x":[1]}"#,
        "not json",
        "[]",
        r#"{"type":"gameStart"}"#,
        r#"{"a":1}"#,
        r#"{"type":7}"#,
    ] {
        rig.fake.send_event(Send::Line(line.to_owned()));
    }
    rig.fake.send_event(Send::Bytes(b"\xff\xfe{}\n".to_vec()));
    rig.fake
        .event(&challenge_event(&incoming_challenge("chal0001", "User_A")));
    match rig.event().await {
        AccountEvent::Challenged(challenge) => {
            assert_eq!(challenge.id, ChallengeId::new("chal0001"))
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(rig.fake.count("GET", "/api/stream/event"), 1);
}

#[tokio::test]
async fn point_09_a_daemon_that_does_not_listen_loses_nothing() {
    let mut rig = Rig::online().await;
    // More than all queues together; nobody takes events meanwhile.
    for n in 0..1500 {
        rig.fake.event(&challenge_event(&incoming_challenge(
            &format!("ch{n:06}"),
            "User_A",
        )));
    }
    rig.fake.state().incoming = (0..40)
        .map(|n| incoming_challenge(&format!("late{n:04}"), "User_B"))
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let snapshot = rig.reconciled().await;
    assert_eq!(snapshot.incoming.len(), 40, "what was lost is told anew");
}

#[tokio::test]
async fn point_10_running_games_are_told_at_every_opening_and_opened_once() {
    let fake = Fake::start().await;
    fake.state()
        .games
        .insert("game0001".to_owned(), FakeGame::new(Variant::Chess, true));
    let mut rig = Rig::with(fake, config());
    let snapshot = rig.reconciled().await;
    assert_eq!(snapshot.games.len(), 1, "listed and heard is one game");
    assert!(snapshot.games_complete);
    let mut player = Player::new(rig.open("game0001").await);
    player.play_until(|state| state.moves.len() >= 4).await;
    rig.fake.send_event(Send::Reset);
    let snapshot = rig.reconciled().await;
    assert_eq!(snapshot.games[0].id, GameId::new("game0001"));
    player.play_until(|state| state.moves.len() >= 8).await;
    assert_eq!(rig.fake.count("GET", "/api/bot/game/stream/game0001"), 1);
}

#[tokio::test]
async fn point_11_more_first_lines_than_the_server_keeps() {
    let fake = Fake::start().await;
    {
        let mut state = fake.state();
        for n in 0..45 {
            state
                .games
                .insert(format!("game{n:04}"), FakeGame::new(Variant::Chess, true));
        }
        state.incoming = (0..60)
            .map(|n| incoming_challenge(&format!("chal{n:04}"), "User_A"))
            .collect();
        state.outgoing = vec![outgoing_challenge("ours0001", "bot_opp")];
    }
    let mut rig = Rig::with(fake, config());
    let snapshot = rig.reconciled().await;
    assert_eq!(
        (
            snapshot.games.len(),
            snapshot.incoming.len(),
            snapshot.outgoing.len()
        ),
        (45, 60, 1)
    );
    assert!(
        snapshot.challenges_complete
            && snapshot.incoming.iter().all(|challenge| challenge.replayed)
    );
    assert_eq!(snapshot.outgoing[0].direction, ChallengeDirection::Outgoing);
}

#[tokio::test]
async fn point_11_without_the_permission_to_read_challenges_the_stream_must_do() {
    let fake = Fake::start().await;
    fake.state().scopes = "bot:play";
    fake.state().incoming = vec![incoming_challenge("chal0001", "User_A")];
    let mut rig = Rig::with(fake, config());
    let snapshot = rig.reconciled().await;
    assert!(!snapshot.challenges_complete);
    let challenge = challenged(&mut rig).await;
    assert!(challenge.replayed, "nobody knows its age");
    assert_eq!(rig.fake.count("GET", "/api/challenge"), 0);
}

#[tokio::test]
async fn point_12_our_own_challenge_is_outgoing() {
    let mut rig = Rig::online().await;
    let mut echo = outgoing_challenge("ours0001", "bot_opp");
    echo.as_object_mut().unwrap().remove("direction");
    rig.fake.event(&challenge_event(&echo));
    let challenge = challenged(&mut rig).await;
    assert_eq!(challenge.direction, ChallengeDirection::Outgoing);
    assert_eq!(
        (challenge.opponent.name, challenge.color),
        (PlayerName::new("BOT_OPP"), ColorChoice::White)
    );
}

#[tokio::test]
async fn point_13_and_14_compatibility_is_told_or_computed() {
    let mut rig = Rig::online().await;
    let mut fast = incoming_challenge("chal0001", "User_A");
    fast["timeControl"] = json!({"type": "clock", "limit": 15, "increment": 0});
    rig.fake
        .event(&json!({"type": "challenge", "challenge": fast}));
    let challenge = challenged(&mut rig).await;
    assert!(!challenge.playable && challenge.replayed);
    rig.fake.event(&json!({"type": "challenge", "challenge": incoming_challenge("chal0002", "User_A"), "compat": {"bot": false}}));
    let challenge = challenged(&mut rig).await;
    assert!(!challenge.playable && !challenge.replayed);
    let mut notice = FakeGame::new(Variant::Chess, true).notice("game0001");
    notice["compat"]["bot"] = json!(false);
    rig.fake
        .event(&json!({"type": "gameStart", "game": notice}));
    assert!(!rig.started().await.playable);
    assert_eq!(
        rig.fake.count("GET", "/api/bot/game/stream"),
        0,
        "the client opens nothing by itself"
    );
}

#[tokio::test]
async fn point_15_our_color_is_the_other_one() {
    let mut rig = Rig::online().await;
    rig.fake
        .event(&challenge_event(&incoming_challenge("chal0001", "User_A")));
    assert_eq!(challenged(&mut rig).await.color, ColorChoice::Black);
}

#[tokio::test]
async fn point_16_nobody_is_somebody() {
    let mut rig = Rig::online().await;
    let mut challenge = incoming_challenge("chal0001", "User_A");
    challenge["challenger"] = Value::Null;
    challenge["destUser"] = Value::Null;
    rig.fake.event(&challenge_event(&challenge));
    assert_eq!(challenged(&mut rig).await.opponent.kind, PlayerKind::Guest);
    for opponent in [
        json!({"id": null, "username": "Stockfish level 1", "ai": 1}),
        json!({"id": null}),
        Value::Null,
    ] {
        let mut notice = FakeGame::new(Variant::Chess, true).notice("game0001");
        notice["opponent"] = opponent.clone();
        rig.fake
            .event(&json!({"type": "gameStart", "game": notice}));
        let kind = rig.started().await.opponent.map(|opponent| opponent.kind);
        let expected = match &opponent {
            Value::Null => None,
            ai if ai.get("ai").is_some() => Some(PlayerKind::ServerAi),
            _ => Some(PlayerKind::Guest),
        };
        assert_eq!(kind, expected);
    }
}

#[tokio::test]
async fn point_17_reasons_are_sent_in_one_case_and_read_in_another() {
    let mut rig = Rig::online().await;
    rig.fake.state().incoming = vec![incoming_challenge("chal0001", "User_A")];
    let id = ChallengeId::new("chal0001");
    rig.send(AccountCommand::Decline {
        id: id.clone(),
        reason: DeclineReason::TooFast,
    })
    .await;
    rig.fake.until_count("POST", "/decline", 1).await;
    assert_eq!(
        rig.fake.requests("POST", "/decline")[0].body,
        "reason=tooFast"
    );
    for (key, expected) in [
        ("toofast", DeclineReason::TooFast),
        ("whim", DeclineReason::Generic),
    ] {
        let mut challenge = incoming_challenge("chal0001", "User_A");
        challenge["declineReasonKey"] = json!(key);
        rig.fake
            .event(&json!({"type": "challengeDeclined", "challenge": challenge}));
        let reason = rig.find(|event| match event {
            AccountEvent::ChallengeDeclined { reason, .. } => Some(reason),
            _ => None,
        });
        assert_eq!(reason.await, expected);
    }
}

#[tokio::test]
async fn point_18_a_refused_accept_frees_the_slot() {
    let mut rig = Rig::online().await;
    let refusals = [
        (400, "The challenge has been canceled."),
        (400, "The challenge has been declined."),
        (400, "The challenge has already been accepted"),
        (400, "Game incompatible with a BOT account"),
        (404, "Not found"),
    ];
    for (n, (status, error)) in refusals.iter().enumerate() {
        let id = format!("chal{n:04}");
        rig.fake
            .event(&challenge_event(&incoming_challenge(&id, "User_A")));
        challenged(&mut rig).await;
        rig.fake.script(
            "POST",
            &format!("{id}/accept"),
            [Answer::status(
                *status,
                &json!({"error": error}).to_string(),
            )],
        );
        rig.send(AccountCommand::Accept(ChallengeId::new(&id)))
            .await;
        let (failed, words, our_budget) = accept_failed(&mut rig).await;
        assert_eq!((failed.as_str(), our_budget), (id.as_str(), None));
        assert!(words.contains(error), "{words}");
        assert_eq!(rig.fake.count("POST", &format!("{id}/accept")), 1);
    }
}

#[tokio::test]
async fn point_18_an_accept_is_retried_within_the_life_of_the_challenge_and_no_longer() {
    let mut rig = Rig::online().await;
    rig.fake.state().incoming = vec![
        incoming_challenge("chal0001", "User_A"),
        incoming_challenge("chal0002", "User_A"),
    ];
    rig.fake
        .event(&challenge_event(&incoming_challenge("chal0001", "User_A")));
    challenged(&mut rig).await;
    rig.fake.script(
        "POST",
        "chal0001/accept",
        [Answer::status(502, "<html>"), Answer::Reset],
    );
    rig.send(AccountCommand::Accept(ChallengeId::new("chal0001")))
        .await;
    rig.fake.until_count("POST", "chal0001/accept", 3).await;

    rig.fake
        .event(&challenge_event(&incoming_challenge("chal0002", "User_A")));
    challenged(&mut rig).await;
    rig.fake.script(
        "POST",
        "chal0002/accept",
        vec![Answer::status(502, "<html>"); 50],
    );
    let before = tokio::time::Instant::now();
    rig.send(AccountCommand::Accept(ChallengeId::new("chal0002")))
        .await;
    let (failed, ..) = accept_failed(&mut rig).await;
    assert_eq!(failed.as_str(), "chal0002");
    assert!(
        before.elapsed() < Duration::from_secs(4),
        "{:?}",
        before.elapsed()
    );
    assert!(rig.fake.count("POST", "chal0002/accept") <= 4);
}

#[tokio::test]
async fn point_19_an_old_challenge_is_looked_at_again() {
    let mut rig = Rig::online().await;
    let mut gone = incoming_challenge("chal0001", "User_A");
    gone["status"] = json!("canceled");
    rig.fake.state().incoming = vec![gone, incoming_challenge("chal0002", "User_A")];
    // Never heard of on this stream, so of unknown age.
    rig.send(AccountCommand::Accept(ChallengeId::new("chal0001")))
        .await;
    let (_, words, _) = accept_failed(&mut rig).await;
    assert!(words.contains("canceled"), "{words}");
    assert_eq!(rig.fake.count("POST", "/accept"), 0);
    rig.send(AccountCommand::Accept(ChallengeId::new("chal0002")))
        .await;
    rig.fake.until_count("POST", "chal0002/accept", 1).await;
    assert_eq!(rig.fake.count("GET", "chal0002/show"), 1);
    // A fresh one is not.
    rig.fake
        .event(&challenge_event(&incoming_challenge("chal0003", "User_A")));
    challenged(&mut rig).await;
    rig.send(AccountCommand::Accept(ChallengeId::new("chal0003")))
        .await;
    rig.fake.until_count("POST", "chal0003/accept", 1).await;
    assert_eq!(rig.fake.count("GET", "chal0003/show"), 0);
}

#[tokio::test]
async fn point_20_ends_of_unknown_challenges_are_harmless() {
    let mut rig = Rig::online().await;
    rig.fake.event(&json!({"type": "challengeCanceled", "challenge": incoming_challenge("never001", "User_A")}));
    rig.fake.event(&json!({"type": "challengeDeclined", "challenge": outgoing_challenge("never002", "bot_opp")}));
    rig.fake
        .event(&json!({"type": "challengeCanceled", "challenge": {}}));
    assert_eq!(
        rig.event().await,
        AccountEvent::ChallengeCanceled(ChallengeId::new("never001"))
    );
    assert!(matches!(
        rig.event().await,
        AccountEvent::ChallengeDeclined { .. }
    ));
    rig.fake
        .event(&challenge_event(&incoming_challenge("chal0001", "User_A")));
    challenged(&mut rig).await;
}

#[tokio::test]
async fn point_21_a_challenge_of_ours_is_withdrawn() {
    let mut rig = Rig::online().await;
    rig.fake.state().outgoing = vec![outgoing_challenge("ours0001", "bot_opp")];
    rig.fake
        .script("POST", "/cancel", [Answer::status(503, "")]);
    rig.send(AccountCommand::Cancel(ChallengeId::new("ours0001")))
        .await;
    rig.fake.until_count("POST", "ours0001/cancel", 2).await;
    // The race is lost: the game starts all the same, and the daemon hears of it.
    rig.fake
        .start_game("ours0001", FakeGame::new(Variant::Crazyhouse, true));
    assert_eq!(
        rig.started().await.challenge,
        Some(ChallengeId::new("ours0001"))
    );
}

#[tokio::test]
async fn point_23_a_second_challenge_to_the_same_user_ends_the_first() {
    let mut rig = Rig::online().await;
    rig.send(AccountCommand::Create(request(1, "bot_opp")))
        .await;
    let first = rig.find(|event| match event {
        AccountEvent::ChallengeCreated { challenge, .. } => Some(challenge.id),
        _ => None,
    });
    let first = first.await;
    rig.fake.event(&json!({"type": "challengeCanceled", "challenge": outgoing_challenge(first.as_str(), "bot_opp")}));
    assert_eq!(rig.event().await, AccountEvent::ChallengeCanceled(first));
}

#[tokio::test]
async fn point_24_a_limit_of_ours_rests_what_it_names_and_survives_a_restart() {
    let limit = r#"{"error":"You played 100 games against other bots today","ratelimit":{"key":"bot.vsBot.day","seconds":86398}}"#;
    let mut rig = Rig::online().await;
    rig.fake
        .event(&challenge_event(&outgoing_challenge("echo0001", "bot_opp")));
    challenged(&mut rig).await;
    rig.fake.script(
        "POST",
        "/api/challenge/bot_opp",
        [Answer::status(429, limit)],
    );
    rig.send(AccountCommand::Create(request(1, "bot_opp")))
        .await;
    let (scope, rest) = rig
        .find(|event| match event {
            AccountEvent::Limited { scope, rest, .. } => Some((scope, rest)),
            _ => None,
        })
        .await;
    assert_eq!((scope, rest.as_secs()), (LimitScope::BotGames, 86398));
    match refused(&mut rig).await {
        ChallengeRefusal::OurBudget { retry_after, .. } => assert_eq!(retry_after.as_secs(), 86398),
        other => panic!("{other:?}"),
    }
    // Asked again, nothing leaves for a bot; a person can be challenged.
    rig.send(AccountCommand::Create(request(2, "bot_opp")))
        .await;
    assert!(matches!(
        refused(&mut rig).await,
        ChallengeRefusal::OurBudget { .. }
    ));
    assert_eq!(rig.fake.count("POST", "/api/challenge/bot_opp"), 1);
    rig.send(AccountCommand::Create(request(3, "user_a"))).await;
    rig.find(|event| matches!(event, AccountEvent::ChallengeCreated { .. }).then_some(()))
        .await;
    let snapshot = rig.origin.governor().snapshot();
    let text = serde_json::to_string(&snapshot).unwrap();
    let (_, fake) = rig.end().await;

    let origin = Origin::new(
        &fake.url,
        governor_config(Server::Lichess),
        Some(&serde_json::from_str(&text).unwrap()),
    )
    .unwrap();
    let mut rig = Rig::on(fake, origin, config());
    rig.reconciled().await;
    rig.fake
        .event(&challenge_event(&outgoing_challenge("echo0001", "bot_opp")));
    challenged(&mut rig).await;
    rig.send(AccountCommand::Create(request(4, "bot_opp")))
        .await;
    match refused(&mut rig).await {
        ChallengeRefusal::OurBudget { retry_after, .. } => {
            assert!(retry_after.as_secs() > 86_000, "{retry_after:?}")
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(rig.fake.count("POST", "/api/challenge/bot_opp"), 1);
}

#[tokio::test]
async fn point_24_a_limit_of_the_opponent_is_the_opponents() {
    let mut rig = Rig::online().await;
    let limit = r#"{"error":"bot_opp played 100 games","ratelimit":{"key":"bot.vsBot.day","seconds":50000}}"#;
    rig.fake.script(
        "POST",
        "/api/challenge/bot_opp",
        [Answer::status(400, limit)],
    );
    rig.send(AccountCommand::Create(request(1, "bot_opp")))
        .await;
    match refused(&mut rig).await {
        ChallengeRefusal::Opponent { retry_after, .. } => {
            assert_eq!(retry_after.map(|wait| wait.as_secs()), Some(50_000))
        }
        other => panic!("{other:?}"),
    }
    rig.send(AccountCommand::Create(request(2, "bot_next")))
        .await;
    rig.find(|event| matches!(event, AccountEvent::ChallengeCreated { .. }).then_some(()))
        .await;
}

#[tokio::test]
async fn point_24_an_unexplained_429_rests_for_a_minute_and_lets_moves_through() {
    let mut rig = Rig::online().await;
    rig.fake
        .start_game("game0001", FakeGame::new(Variant::Crazyhouse, true));
    let mut player = Player::new(rig.open("game0001").await);
    rig.fake
        .script("POST", "/api/challenge/bot_opp", [Answer::status(429, "")]);
    rig.send(AccountCommand::Create(request(1, "bot_opp")))
        .await;
    match refused(&mut rig).await {
        ChallengeRefusal::OurBudget { retry_after, .. } => assert_eq!(retry_after.as_secs(), 60),
        other => panic!("{other:?}"),
    }
    for n in 2..8 {
        rig.send(AccountCommand::Create(request(n, "bot_opp")))
            .await;
        assert!(matches!(
            refused(&mut rig).await,
            ChallengeRefusal::OurBudget { .. }
        ));
    }
    assert_eq!(rig.fake.count("POST", "/api/challenge/"), 1);
    let before = tokio::time::Instant::now();
    player.play_until(|state| state.moves.len() >= 20).await;
    assert!(before.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn point_25_every_shape_of_refusal_has_a_meaning() {
    type Check = fn(&ChallengeRefusal) -> bool;
    let opponent: Check = |refusal| {
        matches!(
            refusal,
            ChallengeRefusal::Opponent {
                retry_after: None,
                ..
            }
        )
    };
    let ours: Check = |refusal| matches!(refusal, ChallengeRefusal::BadRequest { .. });
    let lost: Check = |refusal| matches!(refusal, ChallengeRefusal::Lost);
    let cases: [(u16, &str, Check); 7] = [
        (
            400,
            r#"{"error":"bot_opp does not accept challenges."}"#,
            opponent,
        ),
        (404, r#"{"error":"Not found"}"#, opponent),
        (
            400,
            r#"{"error":{"global":["Invalid speed"]},"global":["Invalid speed"]}"#,
            ours,
        ),
        (400, r#"{"clock.limit":["Invalid value"]}"#, ours),
        (400, "", opponent),
        (502, "<html><title>502</title></html>", lost),
        (500, "", lost),
    ];
    for (status, body, check) in cases {
        let mut rig = Rig::online().await;
        rig.fake.script(
            "POST",
            "/api/challenge/bot_opp",
            [Answer::status(status, body)],
        );
        rig.send(AccountCommand::Create(request(1, "bot_opp")))
            .await;
        let refusal = refused(&mut rig).await;
        assert!(check(&refusal), "{status} {body}: {refusal:?}");
        assert_eq!(
            rig.fake.count("POST", "/api/challenge/bot_opp"),
            1,
            "never repeated"
        );
    }
}

#[tokio::test]
async fn point_25_a_challenge_without_an_answer_is_found_and_not_repeated() {
    for answer in [Answer::Reset.done(), Answer::status(502, "<html>").done()] {
        let mut rig = Rig::online().await;
        rig.fake.script("POST", "/api/challenge/bot_opp", [answer]);
        rig.send(AccountCommand::Create(request(1, "bot_opp")))
            .await;
        let id = rig.find(|event| match event {
            AccountEvent::ChallengeCreated { challenge, .. } => Some(challenge.id),
            AccountEvent::ChallengeRefused { refusal, .. } => panic!("{refusal:?}"),
            _ => None,
        });
        assert_eq!(id.await.as_str(), "newchal1");
        assert_eq!(rig.fake.count("POST", "/api/challenge/bot_opp"), 1);
    }
    // Slow is not lost.
    let mut rig = Rig::online().await;
    rig.fake.script(
        "POST",
        "/api/challenge/bot_opp",
        [Answer::Normal.after(Duration::from_millis(2600))],
    );
    rig.send(AccountCommand::Create(request(1, "bot_opp")))
        .await;
    rig.find(|event| matches!(event, AccountEvent::ChallengeCreated { .. }).then_some(()))
        .await;
    assert_eq!(rig.fake.count("POST", "/api/challenge/bot_opp"), 1);
}

#[tokio::test]
async fn point_26_the_credits_for_challenges_are_kept_here() {
    let mut rig = Rig::online().await;
    // Five credits each for people: the sixth in a minute is not sent.
    for n in 1..=5 {
        rig.send(AccountCommand::Create(request(n, &format!("user_{n}"))))
            .await;
        rig.find(|event| matches!(event, AccountEvent::ChallengeCreated { .. }).then_some(()))
            .await;
    }
    rig.send(AccountCommand::Create(request(6, "user_6"))).await;
    match refused(&mut rig).await {
        ChallengeRefusal::OurBudget { retry_after, words } => {
            assert!(retry_after <= Duration::from_secs(60), "{retry_after:?}");
            assert!(words.contains("challenge_credits"), "{words}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(rig.fake.count("POST", "/api/challenge/user_"), 5);
}

#[tokio::test]
async fn point_27_rated_is_what_the_answer_says() {
    let mut rig = Rig::online().await;
    assert!(request(1, "bot_opp").rated);
    rig.send(AccountCommand::Create(request(1, "bot_opp")))
        .await;
    let rated = rig.find(|event| match event {
        AccountEvent::ChallengeCreated { challenge, .. } => Some(challenge.rated),
        _ => None,
    });
    assert!(!rated.await);
    let sent = &rig.fake.requests("POST", "/api/challenge/bot_opp")[0];
    assert_eq!(
        sent.body,
        "rated=true&variant=crazyhouse&color=random&clock.limit=180&clock.increment=2"
    );
    assert_eq!(
        sent.headers["content-type"],
        "application/x-www-form-urlencoded"
    );
}

#[tokio::test]
async fn a_clock_that_the_platform_does_not_know_is_not_sent() {
    let mut rig = Rig::online().await;
    let mut odd = request(1, "bot_opp");
    odd.time_control = TimeControl::clock(100, 0);
    rig.send(AccountCommand::Create(odd)).await;
    assert!(matches!(
        refused(&mut rig).await,
        ChallengeRefusal::BadRequest { .. }
    ));
    assert_eq!(rig.fake.count("POST", "/api/challenge/"), 0);
}

#[tokio::test]
async fn point_48_the_list_of_bots_ends_without_a_line_end() {
    let mut rig = Rig::online().await;
    let list = "{\"id\":\"bot_a\",\"username\":\"Bot_A\",\"title\":\"BOT\",\"perfs\":{\"blitz\":{\"games\":5,\"rating\":1500}}}\n\
        broken\n{\"id\":\"bot_us\",\"username\":\"Bot_Us\"}\n{\"id\":\"bot_b\",\"username\":\"Bot_B\"}";
    let status = r#"[{"id":"bot_a","name":"Bot_A","online":true},{"id":"bot_b","name":"Bot_B","online":true,"playing":true}]"#;
    rig.fake
        .script("GET", "/api/bot/online", [Answer::status(200, list)]);
    rig.fake
        .script("GET", "/api/users/status", [Answer::status(200, status)]);
    for _ in 0..2 {
        rig.send(AccountCommand::ListBots).await;
        let bots = rig
            .find(|event| match event {
                AccountEvent::BotsOnline(bots) => bots,
                _ => None,
            })
            .await;
        let names: Vec<(&str, Option<bool>)> = bots
            .iter()
            .map(|bot| (bot.name.as_str(), bot.playing))
            .collect();
        assert_eq!(names, [("Bot_A", Some(false)), ("Bot_B", Some(true))]);
    }
    assert_eq!(
        rig.fake.count("GET", "/api/bot/online"),
        1,
        "the second answer comes from memory"
    );
    assert!(
        rig.fake.requests("GET", "/api/bot/online")[0]
            .path
            .contains("nb=300")
    );
}

#[tokio::test]
async fn point_49_a_dropped_link_sends_what_was_asked_and_closes() {
    let mut rig = Rig::online().await;
    rig.fake.state().outgoing = vec![outgoing_challenge("ours0001", "bot_opp")];
    rig.fake
        .event(&challenge_event(&outgoing_challenge("ours0001", "bot_opp")));
    challenged(&mut rig).await;
    rig.send(AccountCommand::Cancel(ChallengeId::new("ours0001")))
        .await;
    let (end, fake) = rig.end().await;
    assert_eq!(end, ClientEnd::Asked);
    assert_eq!(fake.count("POST", "ours0001/cancel"), 1);
    let requests = fake.state().log.len();
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(fake.state().log.len(), requests, "nothing comes back");
}

#[tokio::test]
async fn point_50_a_redirect_is_not_followed() {
    let elsewhere = Fake::start().await;
    let fake = Fake::start().await;
    let to = vec![("Location", format!("{}/api/account", elsewhere.url))];
    fake.script(
        "GET",
        "/api/account",
        [Answer::WithHeaders(302, to, String::new())],
    );
    let mut rig = Rig::with(fake, config());
    rig.find(|event| matches!(event, AccountEvent::Offline { .. }).then_some(()))
        .await;
    rig.reconciled().await;
    assert!(
        elsewhere.state().log.is_empty(),
        "the token went to another host"
    );
}

#[tokio::test]
async fn tournaments_that_allow_bots_are_entered_and_left() {
    let fake = Fake::start().await;
    fake.script(
        "GET",
        "/api/tournament/open",
        [Answer::status(200, r#"{"botsAllowed":true}"#)],
    );
    fake.script(
        "GET",
        "/api/tournament/closed",
        [Answer::status(200, r#"{"isFinished":false}"#)],
    );
    fake.script(
        "POST",
        "/api/tournament/open/join",
        [Answer::status(200, r#"{"ok":true}"#)],
    );
    fake.script("POST", "/withdraw", [Answer::status(200, r#"{"ok":true}"#)]);
    let entry = |id: &str, team: Option<&str>| seneschal::platform::lichess::Tournament {
        id: id.to_owned(),
        team: team.map(str::to_owned),
    };
    let tournaments = vec![entry("closed", None), entry("open", Some("bots"))];
    let mut rig = Rig::with(
        fake,
        LichessConfig {
            tournaments,
            ..config()
        },
    );
    rig.reconciled().await;
    rig.fake
        .until_count("POST", "/api/tournament/open/join", 1)
        .await;
    assert_eq!(rig.fake.requests("POST", "/join")[0].body, "team=bots");
    assert_eq!(rig.fake.count("POST", "/api/tournament/closed"), 0);
    rig.send(AccountCommand::Quiesce).await;
    rig.fake
        .until_count("POST", "/api/tournament/open/withdraw", 1)
        .await;
}
