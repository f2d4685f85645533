//! Group B of the cases from public bug reports: challenges and slots, replayed on a house with its fault plan.

use std::time::Duration;

use seneschal::house::account::AccountKind;
use seneschal::house::endpoint::Endpoint;
use seneschal::house::fault::{Effect, When};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::daemon_rig::{
    Options, PATIENCE, Stage, answer, at, count, form, of, play_first_moves, quick_house, seeking,
    stage_with, until,
};
use crate::house::client::{Bot, Lines, status};

/// The house says that the challenge is withdrawn, and does not withdraw it: the race that Lichess loses now and then.
fn cancel_in_vain() -> seneschal::house::fault::Fault {
    at(
        Endpoint::ChallengeCancel,
        When::Always,
        answer(200, r#"{"ok":true}"#),
    )
}

async fn accept(player: &Bot, id: &str) {
    let (status, json) = player
        .post(&format!("/api/challenge/{id}/accept"), &[])
        .await;
    assert_eq!(status, 200, "{json}");
}

async fn challenged(events: &mut Lines) -> String {
    let line = timeout(PATIENCE, events.json_of("challenge")).await;
    let line = line.expect("a challenge");
    line["challenge"]["id"].as_str().expect("an id").to_owned()
}

/// The last state of a game, read until it is over.
async fn ended(player: &Bot, game: &str) -> String {
    let mut lines = player.game(game).await;
    let read = async {
        let mut line = lines.expect("gameFull").await;
        while ["created", "started"].contains(&status(&line)) {
            line = lines.json_of("gameState").await;
        }
        status(&line).to_owned()
    };
    timeout(PATIENCE, read).await.expect("the game ends")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c10_a_withdrawn_challenge_that_becomes_a_game_is_played_where_there_is_room() {
    let mut stage = stage_with(vec![cancel_in_vain()]).await;
    let other = stage.player("Otherbot", AccountKind::Bot).await;
    let mut events = other.events().await;
    let mut options = seeking();
    options.matchmaking.timeout = Duration::from_secs(1);
    options.matchmaking.interval = Duration::from_secs(600);
    let daemon = stage.run(&options).await;
    let id = challenged(&mut events).await;
    until("the withdrawal", || stage.struck() > 0).await;
    accept(&other, &id).await;
    let last = play_first_moves(&other, &id, 12).await;
    assert_ne!(status(&last), "aborted");
    assert!(daemon.stop().await.is_clean());
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c10_c11_a_challenge_of_ours_gives_its_slot_to_a_person_and_a_lost_race_is_aborted() {
    let mut stage = stage_with(vec![cancel_in_vain()]).await;
    let other = stage.player("Otherbot", AccountKind::Bot).await;
    let anna = stage.player("Anna", AccountKind::Human).await;
    let mut events = other.events().await;
    let mut options = seeking();
    options.lobby.max_games = 1;
    options.lobby.overcommit = 0;
    options.matchmaking.timeout = Duration::from_secs(60);
    options.matchmaking.interval = Duration::from_secs(600);
    options.matchmaking.while_playing = false;
    let daemon = stage.run(&options).await;
    let ours = challenged(&mut events).await;
    // The person comes while our own challenge waits for an answer: it is withdrawn, and she plays.
    let hers = stage
        .begin(&anna, "robot", &form("crazyhouse", "120", "1"))
        .await;
    until("the withdrawal", || stage.struck() > 0).await;
    accept(&other, &ours).await;
    assert_eq!(ended(&other, &ours).await, "aborted");
    assert_eq!(stage.house.running(), [hers], "her game goes on");
    assert!(daemon.stop().await.is_clean());
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c14_a_person_behind_a_bot_gets_the_slot_that_is_kept_for_people() {
    let mut stage = Stage::open(quick_house()).await;
    let first = stage.player("Firstbot", AccountKind::Bot).await;
    let second = stage.player("Secondbot", AccountKind::Bot).await;
    let anna = stage.player("Anna", AccountKind::Human).await;
    let mut options = Options::default();
    options.lobby.max_games = 2;
    options.lobby.reserved_for_humans = 1;
    let daemon = stage.run(&options).await;
    stage.online("robot").await;
    let form = form("crazyhouse", "300", "1");
    stage.begin(&first, "robot", &form).await;
    let waiting = second.challenge("robot", &form).await;
    stage.begin(&anna, "robot", &form).await;
    let (_, listed) = second.get("/api/challenge").await;
    assert_eq!(listed["out"][0]["id"], waiting.as_str(), "the bot waits");
    assert_eq!(stage.house.running().len(), 2);
    daemon.stop().await;
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c15_a_promise_that_nothing_comes_of_frees_its_slot() {
    let gone = [
        // Accepted, and nothing comes of it; or the challenge is gone already.
        answer(200, r#"{"ok":true}"#),
        answer(404, r#"{"error":"Not found"}"#),
    ];
    for (effect, withdrawn) in gone.into_iter().zip([true, false]) {
        let mut stage =
            stage_with(vec![at(Endpoint::ChallengeAccept, When::First(1), effect)]).await;
        let anna = stage.player("Anna", AccountKind::Human).await;
        let bert = stage.player("Bert", AccountKind::Human).await;
        let mut options = Options::default();
        options.lobby.max_games = 1;
        options.lobby.queue = Duration::from_secs(60);
        options.lobby.lease = Duration::from_secs(5);
        let daemon = stage.run(&options).await;
        stage.online("robot").await;
        let form = form("crazyhouse", "60", "0");
        let id = anna.challenge("robot", &form).await;
        until("the promise", || stage.struck() == 1).await;
        if withdrawn {
            anna.post(&format!("/api/challenge/{id}/cancel"), &[]).await;
        }
        stage.begin(&bert, "robot", &form).await;
        daemon.stop().await;
        stage.expect_no_violations();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c15_a_promise_without_a_word_lasts_as_long_as_its_lease() {
    let silent = answer(200, r#"{"ok":true}"#);
    let mut stage = stage_with(vec![at(Endpoint::ChallengeAccept, When::First(1), silent)]).await;
    let anna = stage.player("Anna", AccountKind::Human).await;
    let bert = stage.player("Bert", AccountKind::Human).await;
    let mut options = Options::default();
    options.lobby.max_games = 1;
    options.lobby.queue = Duration::from_secs(60);
    options.lobby.lease = Duration::from_secs(5);
    let daemon = stage.run(&options).await;
    stage.online("robot").await;
    let form = form("crazyhouse", "60", "0");
    anna.challenge("robot", &form).await;
    until("the promise", || stage.struck() == 1).await;
    stage.begin(&bert, "robot", &form).await;
    daemon.stop().await;
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c17_games_that_cannot_be_aborted_are_declined_and_fill_no_slot() {
    // The house refuses such terms to bots, as Lichess does, so the challenges come as lines of a fault plan.
    let line = |n: u32| {
        let challenge = json!({
            "id": format!("noabrt{n:02}"), "status": "created", "rules": ["noAbort"], "rated": false,
            "challenger": {"id": "evil", "name": "Evil", "title": "BOT", "rating": 1500},
            "destUser": {"id": "robot", "name": "Robot", "title": "BOT", "rating": 1500},
            "variant": {"key": "crazyhouse"}, "color": "random", "finalColor": "white", "speed": "blitz",
            "timeControl": {"type": "clock", "limit": 180, "increment": 2},
        });
        json!({"type": "challenge", "challenge": challenge, "compat": {"bot": true}}).to_string()
    };
    let mut faults = vec![
        count(Endpoint::ChallengeAccept),
        count(Endpoint::ChallengeDecline),
    ];
    for n in 1..=25 {
        let insert = Effect::Insert { line: line(n) };
        faults.push(of("robot", at(Endpoint::EventStream, When::Nth(n), insert)));
    }
    let mut stage = stage_with(faults).await;
    let mut options = Options::default();
    options.lobby.max_games = 1;
    let daemon = stage.run(&options).await;
    stage.online("robot").await;
    // Every line of its event stream brings one of them along.
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let declines = || stage.house.faults_struck()[1];
    let mut asked = 0;
    while declines() < 25 {
        let id = anna
            .challenge("robot", &form("crazyhouse", "60", "0"))
            .await;
        anna.post(&format!("/api/challenge/{id}/cancel"), &[]).await;
        asked += 1;
        assert!(asked < 200, "{:?}", stage.house.faults_struck());
        sleep(Duration::from_millis(100)).await;
    }
    // No slot was given away: a person can play at once.
    for id in stage.house.running() {
        anna.command(&id, "abort").await;
        anna.command(&id, "resign").await;
    }
    let id = stage
        .begin(&anna, "robot", &form("crazyhouse", "60", "0"))
        .await;
    let last = play_first_moves(&anna, &id, 6).await;
    assert_eq!(status(&last), "started");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c18_an_aborted_game_is_not_aborted_again_and_frees_its_slot_once() {
    let mut stage = stage_with(vec![count(Endpoint::Abort), count(Endpoint::Resign)]).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let mut options = Options::default();
    options.lobby.max_games = 1;
    options.lobby.overcommit = 0;
    options.game.chat.enabled = true;
    let daemon = stage.run(&options).await;
    stage.online("robot").await;
    let mut form = form("crazyhouse", "60", "0").to_vec();
    form.push(("color", "white"));
    for _ in 0..3 {
        let id = stage.begin(&anna, "robot", &form).await;
        until("its stream", || stage.game_streams(&["robot"]) > 0).await;
        let before = stage.struck();
        let (status, _) = anna.command(&id, "abort").await;
        assert_eq!(status, 200);
        assert_eq!(ended(&anna, &id).await, "aborted");
        until("the end of its stream", || {
            stage.game_streams(&["robot"]) == 0
        })
        .await;
        assert_eq!(stage.struck(), before + 1, "only her own abort was sent");
        let (_, chat) = anna.get(&format!("/api/bot/game/{id}/chat")).await;
        let said = chat.as_array().map_or(0, Vec::len);
        assert!(said <= 1, "a greeting at most, and no farewell: {chat}");
    }
    daemon.stop().await;
    stage.expect_no_violations();
}
