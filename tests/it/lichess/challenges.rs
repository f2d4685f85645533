//! Challenges, to us and of ours.

use std::time::Duration;

use seneschal::game::{PlayerKind, PlayerName, TimeControl};
use seneschal::lobby::{
    ChallengeDirection, ChallengeId, ChallengeRefusal, ColorChoice, DeclineReason,
};
use seneschal::platform::{AccountCommand, AccountEvent};
use seneschal::rules::Variant;
use serde_json::{Value, json};

use crate::lichess::fake::{Answer, FakeGame, incoming_challenge, outgoing_challenge};
use crate::lichess::rig::{Rig, request};
use crate::lichess::{accept_failed, challenge_event, challenged, refused};

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
