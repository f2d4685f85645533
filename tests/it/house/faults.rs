//! Every fault of a plan, seen from the client's side.

use std::time::{Duration, Instant};

use seneschal::house::endpoint::Endpoint;
use seneschal::house::fault::{Effect, Fault, FaultPlan, Loss, RateLimitShape, When};
use seneschal::house::lines::LineKind;
use seneschal::house::violation::ViolationKind;
use seneschal::house::{HouseConfig, HouseHandle};
use serde_json::json;

use super::client::{BLITZ, Bot, Lines, Next, answer, begin, config, house_with_bots, status};

fn fault(on: Endpoint, when: When, effect: Effect) -> Fault {
    Fault {
        on: Some(on),
        account: None,
        line: None,
        when,
        limit: None,
        effect,
    }
}

fn line_fault(on: Endpoint, line: LineKind, when: When, effect: Effect) -> Fault {
    Fault {
        line: Some(line),
        ..fault(on, when, effect)
    }
}

async fn house_with(faults: Fault) -> (HouseHandle, Bot, Bot) {
    house_with_bots(HouseConfig {
        faults: FaultPlan::one(faults),
        ..config()
    })
    .await
}

#[tokio::test]
async fn rate_limits_come_in_every_shape_and_do_nothing() {
    for shape in [
        RateLimitShape::RetryAfter,
        RateLimitShape::Object,
        RateLimitShape::Plain,
        RateLimitShape::Empty,
        RateLimitShape::Html,
    ] {
        let effect = Effect::RateLimit { shape, seconds: 2 };
        let (house, ann, bob) = house_with(fault(Endpoint::Move, When::Nth(1), effect)).await;
        let id = begin(&ann, &bob, &BLITZ).await;
        let request = ann
            .http
            .post(ann.url(&format!("/api/bot/game/{id}/move/e2e4")));
        let response = request.bearer_auth(&ann.token).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 429);
        let after = response.headers().get("retry-after").cloned();
        let kind = response.headers().get("content-type").cloned();
        let body = response.text().await.unwrap();
        let json: Option<serde_json::Value> = serde_json::from_str(&body).ok();
        match shape {
            RateLimitShape::RetryAfter => assert_eq!(after.unwrap(), "2"),
            RateLimitShape::Object => {
                assert_eq!(
                    json.unwrap()["ratelimit"],
                    json!({"key": "house.fault", "seconds": 2})
                );
            }
            RateLimitShape::Plain => {
                let text = "Too many requests. Try again later.";
                assert_eq!(json.unwrap(), json!({ "error": text }));
            }
            RateLimitShape::Empty => assert_eq!(body, ""),
            RateLimitShape::Html => {
                assert_eq!(kind.unwrap(), "text/html");
                assert!(body.contains("429 Too Many Requests"), "{body}");
            }
        }
        // Coming back at once is a violation where the answer told how long to wait.
        ann.play(&id, "e2e4").await;
        let told = matches!(shape, RateLimitShape::RetryAfter | RateLimitShape::Object);
        let early = house.violations().count(ViolationKind::IgnoredRateLimit);
        assert_eq!(early, u64::from(told), "{shape:?}");
        assert_eq!(house.faults_struck(), [1]);
        house.shutdown().await;
    }
}

#[tokio::test]
async fn waiting_as_long_as_told_is_no_violation() {
    let effect = Effect::RateLimit {
        shape: RateLimitShape::RetryAfter,
        seconds: 1,
    };
    let (house, ann, bob) = house_with(fault(Endpoint::Move, When::Nth(1), effect)).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    assert_eq!(ann.try_play(&id, "e2e4").await.0, 429);
    tokio::time::sleep(Duration::from_millis(1_020)).await;
    ann.play(&id, "e2e4").await;
    assert_eq!(house.violations().total(), 0);
    house.shutdown().await;
}

#[tokio::test]
async fn pages_of_html_and_any_other_answer_replace_the_real_one() {
    let html = Effect::Html { status: 502 };
    let (house, ann, bob) =
        house_with(fault(Endpoint::ChallengeAccept, When::First(2), html)).await;
    let id = ann.challenge("Bob_Bot", &BLITZ).await;
    for _ in 0..2 {
        let (code, body) = bob.post(&format!("/api/challenge/{id}/accept"), &[]).await;
        assert_eq!(code, 502);
        assert!(
            body.as_str().unwrap().contains("<h1>502 Bad Gateway</h1>"),
            "{body}"
        );
    }
    assert!(house.running().is_empty(), "nothing was done");
    assert_eq!(
        bob.post(&format!("/api/challenge/{id}/accept"), &[])
            .await
            .0,
        200
    );
    let effect = Effect::Answer {
        status: 400,
        body: r#"{"error":"No"}"#.to_owned(),
    };
    house
        .set_faults(FaultPlan::one(fault(Endpoint::Move, When::Always, effect)))
        .unwrap();
    assert_eq!(
        ann.try_play(&id, "e2e4").await,
        (400, json!({"error": "No"}))
    );
    house.shutdown().await;
}

#[tokio::test]
async fn answers_are_late_before_or_after_the_deed() {
    for (effect, done_early) in [
        (Effect::Delay { ms: 400 }, false),
        (Effect::DelayAnswer { ms: 400 }, true),
    ] {
        let (house, ann, bob) = house_with(fault(Endpoint::Move, When::Nth(1), effect)).await;
        let id = begin(&ann, &bob, &BLITZ).await;
        let mut stream = bob.game(&id).await;
        stream.expect("gameFull").await;
        let begun = Instant::now();
        let watch = async {
            let early = stream.next_within(Duration::from_millis(200)).await;
            assert_eq!(matches!(early, Next::Json(_)), done_early);
        };
        tokio::join!(ann.play(&id, "e2e4"), watch);
        assert!(begun.elapsed() >= Duration::from_millis(400));
        house.shutdown().await;
    }
}

#[tokio::test]
async fn connections_are_lost_before_or_after_the_deed() {
    for (effect, done) in [
        (Effect::DropRequest(Loss::Close), false),
        (Effect::DropRequest(Loss::Reset), false),
        (Effect::DropAnswer(Loss::Close), true),
        (Effect::DropAnswer(Loss::Reset), true),
        (Effect::DropAnswer(Loss::Silence), true),
    ] {
        let (house, ann, bob) =
            house_with(fault(Endpoint::Move, When::Nth(1), effect.clone())).await;
        let id = begin(&ann, &bob, &BLITZ).await;
        let request = ann
            .http
            .post(ann.url(&format!("/api/bot/game/{id}/move/e2e4")));
        let lost = request
            .bearer_auth(&ann.token)
            .timeout(Duration::from_millis(500))
            .send()
            .await
            .unwrap_err();
        assert_eq!(
            lost.is_timeout(),
            effect == Effect::DropAnswer(Loss::Silence),
            "{lost:?}"
        );
        let mut stream = bob.game(&id).await;
        let moves = stream.expect("gameFull").await["state"]["moves"].clone();
        assert_eq!(moves == "e2e4", done, "{effect:?}");
        let (code, _) = ann.try_play(&id, "e2e4").await;
        assert_eq!(code, if done { 400 } else { 200 });
        let seconds = house.violations().count(ViolationKind::SecondMoveForPly);
        assert_eq!(seconds, u64::from(done), "a blind repetition is reported");
        house.shutdown().await;
    }
}

/// A game with a stream of Ann's that a fault strikes at the first state after the full one.
async fn struck_stream(effect: Effect) -> (HouseHandle, Bot, Bot, String, Lines) {
    let at_first = line_fault(
        Endpoint::GameStream,
        LineKind::GameState,
        When::Nth(1),
        effect,
    );
    let only_ann = Fault {
        account: Some("ann_bot".to_owned()),
        ..at_first
    };
    let (house, ann, bob) = house_with(only_ann).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    let mut stream = ann.game(&id).await;
    stream.expect("gameFull").await;
    ann.play(&id, "e2e4").await;
    (house, ann, bob, id, stream)
}

#[tokio::test]
async fn streams_end_break_and_fall_silent() {
    let quiet = Next::Quiet;
    for (effect, expected, rest) in [
        (Effect::End, Next::End, false),
        (Effect::Close, Next::Broken, false),
        (Effect::Reset, Next::Broken, false),
        (Effect::Cut, Next::Broken, true),
        (Effect::Silence, quiet, false),
    ] {
        let (house, ann, bob, id, mut stream) = struck_stream(effect.clone()).await;
        // Silence means no keep-alives either; they would come every 300 ms.
        let blanks = stream.blanks;
        let next = stream.next_within(Duration::from_millis(900)).await;
        assert_eq!(next, expected, "{effect:?}");
        assert_eq!(!stream.rest().is_empty(), rest, "{effect:?}");
        assert_eq!(stream.blanks, blanks, "{effect:?}");
        // The game goes on, and a new stream tells everything.
        bob.play(&id, "e7e5").await;
        let mut again = ann.game(&id).await;
        let full = again.expect("gameFull").await;
        assert_eq!(full["state"]["moves"], "e2e4 e7e5");
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(
            house.violations().total(),
            0,
            "{effect:?}: {:?}",
            house.violations()
        );
        house.shutdown().await;
    }
}

#[tokio::test]
async fn lines_are_split_doubled_shrunken_lost_and_joined_by_others() {
    let (house, _, _, _, mut stream) = struck_stream(Effect::Split { ms: 150 }).await;
    let before = stream.chunks;
    let begun = Instant::now();
    assert_eq!(stream.expect("gameState").await["moves"], "e2e4");
    assert!(begun.elapsed() >= Duration::from_millis(100) && stream.chunks >= before + 2);
    house.shutdown().await;

    let (house, _, _, _, mut stream) = struck_stream(Effect::Duplicate).await;
    let first = stream.expect("gameState").await;
    assert_eq!(stream.expect("gameState").await, first);
    house.shutdown().await;

    let (house, _, bob, id, mut stream) = struck_stream(Effect::Lose).await;
    bob.play(&id, "e7e5").await;
    assert_eq!(
        stream.expect("gameState").await["moves"],
        "e2e4 e7e5",
        "the first state is lost"
    );
    house.shutdown().await;

    let error = Effect::Insert {
        line: r#"{"error":"Please don't poll"}"#.to_owned(),
    };
    let (house, _, _, _, mut stream) = struck_stream(error).await;
    assert_eq!(stream.json().await, json!({"error": "Please don't poll"}));
    stream.expect("gameState").await;
    house.shutdown().await;

    let (house, _, _, _, mut stream) = struck_stream(Effect::CrLf).await;
    stream.expect("gameState").await;
    house.shutdown().await;

    let shrink = line_fault(
        Endpoint::GameStream,
        LineKind::GameState,
        When::Nth(3),
        Effect::Shrink { plies: 2 },
    );
    let (house, ann, bob) = house_with(shrink).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    let mut stream = ann.game(&id).await;
    stream.expect("gameFull").await;
    for (bot, uci) in [(&ann, "e2e4"), (&bob, "e7e5"), (&ann, "g1f3")] {
        bot.play(&id, uci).await;
    }
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(
            stream.expect("gameState").await["moves"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    assert_eq!(seen, ["e2e4", "e2e4 e7e5", "e2e4", "e2e4 e7e5 g1f3"]);
    house.shutdown().await;
}

#[tokio::test]
async fn the_news_of_the_end_can_be_lost() {
    let lost = line_fault(
        Endpoint::EventStream,
        LineKind::GameFinish,
        When::Nth(1),
        Effect::Lose,
    );
    let only_ann = Fault {
        account: Some("ann_bot".to_owned()),
        ..lost
    };
    let (house, ann, bob) = house_with(only_ann).await;
    let (mut anns, mut bobs) = (ann.events().await, bob.events().await);
    let id = begin(&ann, &bob, &BLITZ).await;
    anns.json_of("gameStart").await;
    bob.command(&id, "abort").await;
    bobs.json_of("gameFinish").await;
    assert_eq!(
        anns.next_within(Duration::from_millis(200)).await,
        Next::Quiet
    );
    let mut late = ann.game(&id).await;
    assert_eq!(status(&late.expect("gameFull").await), "aborted");
    house.shutdown().await;
}

#[tokio::test]
async fn a_restart_resets_everything_and_keeps_the_games() {
    let restart = Effect::Restart { down_ms: 300 };
    let (house, ann, bob) = house_with(fault(Endpoint::Move, When::Nth(3), restart)).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    let mut stream = ann.game(&id).await;
    stream.expect("gameFull").await;
    ann.play(&id, "e2e4").await;
    bob.play(&id, "e7e5").await;
    let request = ann
        .http
        .post(ann.url(&format!("/api/bot/game/{id}/move/g1f3")));
    assert!(request.bearer_auth(&ann.token).send().await.is_err());
    while !matches!(stream.next().await, Next::Broken | Next::End) {}
    let dead = ann
        .http
        .get(ann.url("/api/account"))
        .bearer_auth(&ann.token);
    assert!(dead.send().await.is_err(), "nobody is at home");
    tokio::time::sleep(Duration::from_millis(400)).await;
    let mut again = ann.game(&id).await;
    let full = again.expect("gameFull").await;
    assert_eq!(full["state"]["moves"], "e2e4 e7e5");
    assert!(
        full["state"]["wtime"].as_i64().unwrap() > 195_000,
        "the clock is recompensed: {full}"
    );
    ann.play(&id, "g1f3").await;
    house.shutdown().await;
}

#[tokio::test]
async fn faults_can_strike_one_account_in_a_share_of_requests() {
    let some = Fault {
        account: Some("ann_bot".to_owned()),
        ..fault(
            Endpoint::Users,
            When::Probability(0.5),
            Effect::Html { status: 503 },
        )
    };
    let (house, ann, bob) = house_with(some).await;
    let mut failed = 0;
    for _ in 0..60 {
        failed += usize::from(ann.get("/api/user/ann_bot").await.0 == 503);
        assert_eq!(bob.get("/api/user/ann_bot").await.0, 200);
    }
    assert!((15..=45).contains(&failed), "{failed} of 60");
    house.shutdown().await;
}

#[tokio::test]
async fn streams_can_be_cut_from_outside() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    let (mut events, mut game) = (ann.events().await, ann.game(&id).await);
    events.expect("gameStart").await;
    game.expect("gameFull").await;
    assert_eq!(house.cut_streams("ann_bot", true, true, Loss::Reset), 2);
    assert_eq!(events.next().await, Next::Broken);
    assert_eq!(game.next().await, Next::Broken);
    let mut game = ann.game(&id).await;
    game.expect("gameFull").await;
    house.end_streams(Some("ann_bot"));
    assert_eq!(game.next().await, Next::End);
    let ok = answer(
        ann.http
            .get(ann.url("/api/account"))
            .bearer_auth(&ann.token),
    )
    .await;
    assert_eq!(ok.0, 200);
    house.shutdown().await;
}
