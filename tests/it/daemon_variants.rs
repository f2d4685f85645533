//! Every variant of a house, by the key that the house gives it: what Lichess calls otherwise than UCI, and the shuffled
//! twins, are where names go wrong.

use std::time::Duration;

use seneschal::house::account::AccountKind;
use seneschal::house::variant::HouseVariant;
use seneschal::lobby::policy::variant_name;
use seneschal::rules::CastlingMode;
use tokio::time::timeout;

use crate::daemon_rig::{
    Options, PATIENCE, Stage, offer, play_first_moves, quick_house, scripted, seeking,
};
use crate::house::client::status;

/// What may be asked for without a position.
fn keys() -> Vec<&'static str> {
    let all = HouseVariant::all().filter(|v| *v != HouseVariant::FROM_POSITION);
    all.map(HouseVariant::key).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_variant_of_a_house_is_accepted_and_played() {
    let mut stage = Stage::open(quick_house()).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let mut options = Options {
        searcher: scripted(""),
        ..Options::default()
    };
    options.lobby.max_games_per_opponent = 32;
    let daemon = stage.run(&options).await;
    let stats = daemon.stats.clone();
    stage.online("robot").await;
    let mut events = anna.events().await;
    for key in keys() {
        let form = [
            ("variant", key),
            ("clock.limit", "300"),
            ("clock.increment", "2"),
            ("color", "white"),
        ];
        let id = anna.challenge("robot", &form).await;
        stage.started(&mut events, &id).await;
        let last = play_first_moves(&anna, &id, 8).await;
        let over = status(&last) != "started";
        let plies = last["moves"]
            .as_str()
            .expect("moves")
            .split_whitespace()
            .count();
        assert!(plies >= 8 || over && plies > 1, "{key}: {last}");
        assert!(
            !["aborted", "outoftime", "resign"].contains(&status(&last)),
            "{key}: {last}"
        );
        anna.command(&id, "resign").await;
    }
    assert!(daemon.drain().await.is_clean());
    assert_eq!(stats.snapshot().faults, 0);
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_variant_of_a_house_can_be_asked_for() {
    let mut stage = Stage::open(quick_house()).await;
    let other = stage.player("Otherbot", AccountKind::Bot).await;
    let mut events = other.events().await;
    let mut options = seeking();
    let house = HouseVariant::all().filter(|v| *v != HouseVariant::FROM_POSITION);
    let names: Vec<String> = house
        .map(|v| variant_name(v.rules(), v.castling_mode()))
        .collect();
    assert!(names.contains(&"3check960".to_owned()) && names.contains(&"capahouse960".to_owned()));
    options.matchmaking.offers = names.iter().map(|name| offer(name)).collect();
    options.matchmaking.interval = Duration::ZERO;
    options.matchmaking.decline_rest = Duration::ZERO;
    let daemon = stage.run(&options).await;
    let mut asked = std::collections::BTreeSet::new();
    let all = keys();
    while asked.len() < all.len() {
        let line = timeout(PATIENCE, events.json_of("challenge")).await;
        let line = line.unwrap_or_else(|_| panic!("asked for {asked:?} only"));
        let challenge = &line["challenge"];
        let key = challenge["variant"]["key"]
            .as_str()
            .expect("a key")
            .to_owned();
        let known = all.contains(&key.as_str());
        assert!(known, "{key}");
        asked.insert(key);
        let id = challenge["id"].as_str().expect("an id");
        other
            .post(
                &format!("/api/challenge/{id}/decline"),
                &[("reason", "later")],
            )
            .await;
    }
    daemon.stop().await;
    stage.expect_no_violations();
}

#[test]
fn a_house_has_a_twin_for_every_variant_that_may_be_shuffled() {
    for rules in seneschal::rules::Variant::ALL {
        let twin = |v: &HouseVariant| {
            v.rules() == rules
                && v.castling_mode() == CastlingMode::Chess960
                && *v != HouseVariant::FROM_POSITION
        };
        let twins = HouseVariant::all().filter(twin).count();
        assert_eq!(twins, usize::from(rules.supports_chess960()), "{rules:?}");
    }
}
