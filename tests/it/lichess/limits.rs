//! Limits, budgets, and every shape of refusal.

use std::time::Duration;

use seneschal::lobby::ChallengeRefusal;
use seneschal::platform::http::Origin;
use seneschal::platform::lichess::{Server, governor_config};
use seneschal::platform::{AccountCommand, AccountEvent, LimitScope};
use seneschal::rules::Variant;

use crate::lichess::fake::{Answer, FakeGame, outgoing_challenge};
use crate::lichess::rig::{Player, Rig, config, request};
use crate::lichess::{challenge_event, challenged, refused};

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
