//! Cases from public bug reports, replayed on a house with its fault plan: group A, and of the others what is about HTTP.
//! The rest of group B is in `daemon_cases_lobby`, of group C in `daemon_cases_game`.

use std::sync::Arc;
use std::time::Duration;

use seneschal::engine::{SearchInfo, SearchLimits, SearchReport, Searcher, StopFlag};
use seneschal::house::account::AccountKind;
use seneschal::house::endpoint::Endpoint;
use seneschal::house::fault::{Effect, Fault, FaultPlan, Loss, RateLimitShape, When};
use seneschal::house::lines::LineKind;
use seneschal::house::violation::ViolationKind;
use seneschal::rules::History;
use tokio::time::{Instant, sleep, timeout};

use crate::daemon_rig::{
    Options, PATIENCE, Stage, answer, at, count, form, of, plan, play_first_moves, quick_house,
    seeking, stage_with, until,
};
use crate::house::client::status;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c01_our_daily_limit_bars_bots_both_ways_and_lets_people_in() {
    let body = r#"{"error":"You played 100 games against other bots today.","ratelimit":{"key":"bot.vsBot.day","seconds":86398}}"#;
    let refuse = Effect::Answer {
        status: 429,
        body: body.to_owned(),
    };
    let mut stage = stage_with(vec![at(Endpoint::ChallengeCreate, When::Always, refuse)]).await;
    let other = stage.player("Otherbot", AccountKind::Bot).await;
    let mut events = other.events().await;
    let daemon = stage.run(&seeking()).await;
    let asked = async {
        while stage.struck() == 0 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, asked).await.expect("one challenge");
    sleep(Duration::from_secs(3)).await;
    assert_eq!(stage.struck(), 1, "no second challenge");
    // The limit survives a restart.
    daemon.stop().await;
    let daemon = stage.run(&seeking()).await;
    sleep(Duration::from_secs(3)).await;
    assert_eq!(stage.struck(), 1, "not after a restart either");
    stage
        .house
        .set_faults(FaultPlan::default())
        .expect("no plan");
    let id = other
        .challenge("robot", &form("crazyhouse", "60", "0"))
        .await;
    let declined = timeout(PATIENCE, events.json_of("challengeDeclined"))
        .await
        .expect("an answer");
    assert_eq!(declined["challenge"]["id"], id.as_str());
    assert_eq!(declined["challenge"]["declineReasonKey"], "later");
    let anna = stage.player("Anna", AccountKind::Human).await;
    stage
        .begin(&anna, "robot", &form("crazyhouse", "60", "0"))
        .await;
    daemon.stop().await;
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c02_the_opponents_limit_is_his_own() {
    let body = r#"{"error":"x played 100 games against other bots today.","ratelimit":{"key":"bot.vsBot.day","seconds":50000}}"#;
    let refuse = Effect::Answer {
        status: 400,
        body: body.to_owned(),
    };
    let mut stage = stage_with(vec![at(Endpoint::ChallengeCreate, When::Nth(1), refuse)]).await;
    let a = stage.player("Abot", AccountKind::Bot).await;
    let b = stage.player("Bbot", AccountKind::Bot).await;
    let (mut at_a, mut at_b) = (a.events().await, b.events().await);
    let daemon = stage.run(&seeking()).await;
    let begun = Instant::now();
    let first = async {
        tokio::select! {
            line = at_a.json_of("challenge") => line,
            line = at_b.json_of("challenge") => line,
        }
    };
    timeout(PATIENCE, first)
        .await
        .expect("the next one is asked");
    assert!(begun.elapsed() < Duration::from_secs(20));
    daemon.stop().await;
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c03_c04_limits_without_a_body_and_on_streams_leave_running_games_alone() {
    let empty = Effect::RateLimit {
        shape: RateLimitShape::Empty,
        seconds: 60,
    };
    let mut stage = Stage::open(quick_house()).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let daemon = stage.run(&Options::default()).await;
    let game = stage
        .begin(&anna, "robot", &form("crazyhouse", "120", "1"))
        .await;
    play_first_moves(&anna, &game, 4).await;
    stage
        .house
        .set_faults(plan(vec![
            Fault {
                account: Some("robot".to_owned()),
                ..at(Endpoint::EventStream, When::Always, empty.clone())
            },
            Fault {
                account: Some("robot".to_owned()),
                ..at(Endpoint::Playing, When::Always, empty)
            },
        ]))
        .expect("a plan");
    stage.house.cut_streams("robot", true, false, Loss::Close);
    let last = play_first_moves(&anna, &game, usize::MAX).await;
    assert_ne!(status(&last), "outoftime");
    // One try for each of the two, and then a minute of rest.
    assert!(stage.struck() <= 3, "{:?}", stage.house.faults_struck());
    let report = daemon.stop().await;
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(
        stage
            .house
            .violations()
            .count(ViolationKind::IgnoredRateLimit),
        0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c04_the_same_words_as_a_line_on_an_open_stream_count_as_a_failed_opening() {
    let mut stage = Stage::open(quick_house()).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let daemon = stage.run(&Options::default()).await;
    let game = stage
        .begin(&anna, "robot", &form("crazyhouse", "120", "1"))
        .await;
    let words = r#"{"error":"Please don't poll this endpoint, it is intended to be streamed."}"#;
    let insert = Effect::Insert {
        line: words.to_owned(),
    };
    stage.set_faults(vec![
        of("robot", at(Endpoint::EventStream, When::Nth(1), insert)),
        of("robot", count(Endpoint::Playing)),
    ]);
    // Some event brings the line along.
    let bert = stage.player("Bert", AccountKind::Human).await;
    bert.challenge("robot", &form("crazyhouse", "60", "0"))
        .await;
    until("the line", || stage.house.faults_struck()[0] == 1).await;
    let events = || {
        stage
            .house
            .hall()
            .stream_controls("robot", true, false)
            .len()
    };
    until("the end of the stream", || events() == 0).await;
    // A minute of rest for the event stream, and not a second for the game.
    let last = play_first_moves(&anna, &game, 20).await;
    assert_ne!(status(&last), "outoftime");
    assert_eq!(events(), 0);
    assert!(daemon.stop().await.is_clean());
    stage.expect_no_violations();
}

/// A daemon that looks at a single node: it does not mate at once who plays the first legal move, so that a test can count on
/// a number of moves however good the engine becomes.
fn harmless() -> Options {
    let mut options = Options::default();
    options.game.time.max_nodes = 1;
    options
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c05_a_limit_on_a_move_delays_that_move_and_loses_nothing() {
    for shape in [
        RateLimitShape::RetryAfter,
        RateLimitShape::Plain,
        RateLimitShape::Empty,
        RateLimitShape::Object,
        RateLimitShape::Html,
    ] {
        let limit = Effect::RateLimit { shape, seconds: 1 };
        let mut stage = stage_with(vec![Fault {
            account: Some("robot".to_owned()),
            ..at(Endpoint::Move, When::Every(4), limit)
        }])
        .await;
        let anna = stage.player("Anna", AccountKind::Bot).await;
        let daemon = stage.run(&harmless()).await;
        let game = stage
            .begin(&anna, "robot", &form("crazyhouse", "60", "1"))
            .await;
        let last = play_first_moves(&anna, &game, 24).await;
        assert_ne!(status(&last), "outoftime", "{shape:?}");
        assert!(stage.struck() >= 2, "{shape:?}");
        daemon.stop().await;
        stage.expect_no_violations();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c06_a_slow_answer_to_a_challenge_brings_no_second_one() {
    let slow = Effect::DelayAnswer { ms: 2_600 };
    let mut stage = stage_with(vec![at(Endpoint::ChallengeCreate, When::Always, slow)]).await;
    let other = stage.player("Otherbot", AccountKind::Bot).await;
    let mut events = other.events().await;
    let daemon = stage.run(&seeking()).await;
    timeout(PATIENCE, events.json_of("challenge"))
        .await
        .expect("a challenge");
    sleep(Duration::from_secs(8)).await;
    assert_eq!(stage.struck(), 1);
    daemon.stop().await;
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c07_a_chat_that_always_fails_delays_no_move() {
    let down = Effect::Html { status: 503 };
    let mut stage = stage_with(vec![at(Endpoint::Chat, When::Always, down)]).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let mut options = Options::default();
    options.game.chat.enabled = true;
    options.game.chat.hello_spectators = "Hello, all.".to_owned();
    let daemon = stage.run(&options).await;
    let game = stage
        .begin(&anna, "robot", &form("crazyhouse", "60", "0"))
        .await;
    let begun = Instant::now();
    play_first_moves(&anna, &game, 8).await;
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    // Two greetings, each with at most one retry.
    assert!(stage.struck() <= 4, "{:?}", stage.house.faults_struck());
    daemon.stop().await;
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c08_an_accept_that_fails_frees_its_slot() {
    for effect in [
        Effect::Html { status: 502 },
        Effect::RateLimit {
            shape: RateLimitShape::Plain,
            seconds: 60,
        },
    ] {
        let mut stage =
            stage_with(vec![at(Endpoint::ChallengeAccept, When::First(2), effect)]).await;
        let anna = stage.player("Anna", AccountKind::Bot).await;
        let mut options = Options::default();
        options.lobby.max_games = 1;
        options.lobby.lease = Duration::from_secs(5);
        let daemon = stage.run(&options).await;
        let mut events = anna.events().await;
        let mut started = false;
        for _ in 0..4 {
            let id = anna
                .challenge("robot", &form("crazyhouse", "60", "0"))
                .await;
            let start = stage.started(&mut events, &id);
            if timeout(Duration::from_secs(8), start).await.is_ok() {
                started = true;
                break;
            }
            anna.post(&format!("/api/challenge/{id}/cancel"), &[]).await;
        }
        // After a limit of a minute nothing can be accepted yet; the daemon lives and says so.
        let limited = stage.house.violations().total();
        assert_eq!(limited, 0, "{:?}", stage.house.violations());
        assert!(!daemon.is_over());
        if !started {
            let struck = stage.struck();
            assert!(struck <= 2, "{struck} accepts ran into the limit");
        }
        daemon.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c09_terms_that_the_platform_never_takes_are_dropped_and_nobody_is_blamed() {
    let refusal = answer(400, r#"{"clock.limit":["Invalid value"]}"#);
    let mut stage = stage_with(vec![at(Endpoint::ChallengeCreate, When::Nth(1), refusal)]).await;
    let other = stage.player("Otherbot", AccountKind::Bot).await;
    let mut events = other.events().await;
    let daemon = stage.run(&seeking()).await;
    for _ in 0..3 {
        let asked = timeout(PATIENCE, events.json_of("challenge")).await;
        let asked = asked.expect("the same opponent is asked, on other terms");
        assert_eq!(asked["challenge"]["variant"]["key"], "capablanca");
        let id = asked["challenge"]["id"].as_str().expect("an id").to_owned();
        other
            .post(&format!("/api/challenge/{id}/accept"), &[])
            .await;
    }
    assert_eq!(stage.struck(), 1);
    daemon.stop().await;
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c12_c13_a_burst_is_accepted_as_far_as_there_are_slots() {
    let mut stage = Stage::open(quick_house()).await;
    let mut options = Options::default();
    options.lobby.max_games = 1;
    options.lobby.queue = Duration::ZERO;
    let daemon = stage.run(&options).await;
    let mut players = Vec::new();
    for name in ["Aa", "Bb", "Cc", "Dd"] {
        players.push(stage.player(name, AccountKind::Human).await);
    }
    let form = form("crazyhouse", "60", "0");
    let burst = players
        .iter()
        .map(|player| player.challenge("robot", &form));
    futures_util::future::join_all(burst).await;
    let one = async {
        while stage.house.running().is_empty() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, one).await.expect("one game");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(stage.house.running().len(), 1);
    daemon.stop().await;
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c15_a_start_that_nobody_told_us_is_found_by_the_lists() {
    let mut stage = Stage::open(quick_house()).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let daemon = stage.run(&Options::default()).await;
    // The robot is online before the fault begins: one game to be sure.
    let first = stage
        .begin(&anna, "robot", &form("crazyhouse", "60", "0"))
        .await;
    stage
        .house
        .set_faults(plan(vec![Fault {
            account: Some("robot".to_owned()),
            line: Some(LineKind::GameStart),
            ..at(Endpoint::EventStream, When::Always, Effect::Lose)
        }]))
        .expect("a plan");
    let second = anna
        .challenge("robot", &form("capablanca", "60", "0"))
        .await;
    let last = async {
        loop {
            if stage.house.running().contains(&second) {
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
        play_first_moves(&anna, &second, 6).await
    };
    let last = timeout(PATIENCE, last)
        .await
        .expect("the game is found and played");
    assert_eq!(status(&last), "started");
    play_first_moves(&anna, &first, 4).await;
    daemon.stop().await;
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c27_streams_that_end_break_or_fall_silent_are_opened_again() {
    for effect in [
        Effect::End,
        Effect::Close,
        Effect::Reset,
        Effect::Silence,
        Effect::Cut,
    ] {
        let mut stage = stage_with(vec![
            Fault {
                account: Some("robot".to_owned()),
                limit: Some(3),
                ..at(Endpoint::GameStream, When::Every(4), effect.clone())
            },
            Fault {
                account: Some("robot".to_owned()),
                limit: Some(1),
                ..at(Endpoint::EventStream, When::Nth(2), effect.clone())
            },
        ])
        .await;
        let anna = stage.player("Anna", AccountKind::Bot).await;
        let daemon = stage.run(&Options::default()).await;
        let game = stage
            .begin(&anna, "robot", &form("crazyhouse", "60", "0"))
            .await;
        let last = play_first_moves(&anna, &game, 20).await;
        assert_ne!(status(&last), "outoftime", "{effect:?}");
        assert!(
            stage.struck() >= 3,
            "{effect:?}: {:?}",
            stage.house.faults_struck()
        );
        assert!(!daemon.is_over());
        daemon.stop().await;
        stage.expect_no_violations();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c31_many_slow_games_do_not_starve_a_fast_one() {
    let mut stage = Stage::open(quick_house()).await;
    let slow = stage.player("Slow", AccountKind::Human).await;
    let fast = stage.player("Fast", AccountKind::Bot).await;
    let mut options = Options::default();
    options.lobby.max_games = 64;
    options.lobby.max_games_per_opponent = 64;
    options
        .lobby
        .accept
        .speeds
        .push(seneschal::game::Speed::Correspondence);
    options.game.time.correspondence_move = Duration::from_millis(300);
    options.game.time.max_nodes = 0;
    options.game.time.max_move = Duration::from_millis(100);
    let daemon = stage.run(&options).await;
    let mut events = slow.events().await;
    for _ in 0..24 {
        let form = [("variant", "crazyhouse"), ("days", "1"), ("color", "black")];
        let id = slow.challenge("robot", &form).await;
        stage.started(&mut events, &id).await;
    }
    // 24 games in which the robot is to move, and a fast one beside them.
    let game = stage
        .begin(&fast, "robot", &form("crazyhouse", "30", "0"))
        .await;
    let last = play_first_moves(&fast, &game, 30).await;
    assert_ne!(status(&last), "outoftime");
    let moved = async {
        loop {
            let mut waiting = 0;
            for id in stage.house.running() {
                let (_, game) = slow.get(&format!("/game/export/{id}?pgnInJson=true")).await;
                if game["moves"].as_str().is_none_or(str::is_empty) {
                    waiting += 1;
                }
            }
            if waiting == 0 {
                return;
            }
            sleep(Duration::from_millis(200)).await;
        }
    };
    drop(timeout(Duration::from_secs(15), moved).await);
    daemon.stop().await;
    stage.expect_no_violations();
}

/// A searcher that never comes back, or panics, depending on the ply.
#[derive(Debug)]
struct Broken;

impl Searcher for Broken {
    fn search(
        &mut self,
        history: &History,
        _: &SearchLimits,
        _: &StopFlag,
        _: &mut dyn FnMut(&SearchInfo),
    ) -> SearchReport {
        if history.moves().len() % 4 < 2 {
            panic!("this searcher is broken on purpose");
        }
        let hour = std::time::Instant::now() + Duration::from_secs(20);
        while std::time::Instant::now() < hour {
            std::hint::spin_loop();
            std::thread::yield_now();
        }
        panic!("nobody waited so long");
    }

    fn new_game(&mut self) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c32_an_engine_that_hangs_or_panics_costs_no_game() {
    let mut stage = Stage::open(quick_house()).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let mut options = Options {
        searcher: Arc::new(|| Box::new(Broken)),
        ..Options::default()
    };
    options.game.time.max_nodes = 0;
    options.game.time.max_move = Duration::from_millis(300);
    let daemon = stage.run(&options).await;
    let game = stage
        .begin(&anna, "robot", &form("crazyhouse", "30", "1"))
        .await;
    let last = play_first_moves(&anna, &game, 12).await;
    assert_eq!(status(&last), "started");
    daemon.stop().await;
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c33_an_opponent_who_left_is_claimed_against() {
    let mut config = quick_house();
    config.gone_after = Duration::from_millis(600);
    let mut stage = Stage::open(config).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let daemon = stage.run(&Options::default()).await;
    let mut form = form("crazyhouse", "180", "0").to_vec();
    form.push(("color", "white"));
    let game = stage.begin(&anna, "robot", &form).await;
    // Her stream closes when this returns; it is her turn then.
    play_first_moves(&anna, &game, 4).await;
    stage.finished(1).await;
    let finished = stage.house.finished();
    let ended = finished.latest.back().expect("a game");
    assert_eq!(ended.status, "timeout");
    daemon.stop().await;
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c34_unknown_lines_and_long_chat_are_harmless() {
    let insert = |line: &str| Effect::Insert {
        line: line.to_owned(),
    };
    let lines = vec![
        at(
            Endpoint::GameStream,
            When::Every(3),
            insert(r#"{"type":"newThing","x":[1,2]}"#),
        ),
        at(
            Endpoint::GameStream,
            When::Every(5),
            insert("this is not JSON"),
        ),
        at(
            Endpoint::EventStream,
            When::Nth(2),
            insert(r#"{"type":"challengeCanceled","challenge":{"id":"neverseen"}}"#),
        ),
        at(
            Endpoint::EventStream,
            When::Nth(3),
            insert(r#"{"type":"newThing"}"#),
        ),
    ];
    // Only the robot's streams: the test's own player expects nothing of the kind.
    let lines = lines.into_iter().map(|fault| of("robot", fault)).collect();
    let mut stage = stage_with(lines).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let mut options = harmless();
    options.game.chat.enabled = true;
    options.game.chat.hello = "y".repeat(300);
    let daemon = stage.run(&options).await;
    let game = stage
        .begin(&anna, "robot", &form("crazyhouse", "60", "0"))
        .await;
    anna.post(
        &format!("/api/bot/game/{game}/chat"),
        &[("room", "player"), ("text", "!help")],
    )
    .await;
    let last = play_first_moves(&anna, &game, 12).await;
    assert_eq!(status(&last), "started");
    daemon.stop().await;
    stage.expect_no_violations();
}
