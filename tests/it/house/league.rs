//! A league that the house plays by itself, over a restart, with its table on the page.

use std::sync::Arc;
use std::time::Duration;

use seneschal::house::archive::MemoryArchive;
use seneschal::house::challenge::Terms;
use seneschal::house::league::{LeagueError, LeaguePlan};
use seneschal::house::variant::HouseVariant;
use seneschal::house::{House, HouseConfig, HouseError, HouseHandle};
use tokio::task::JoinSet;

use super::client::{Bot, PATIENCE, config};

const NAMES: [&str; 3] = ["Ann_Bot", "Bob_Bot", "Cyd_Bot"];

fn plan(players: &[&str]) -> LeaguePlan {
    LeaguePlan {
        name: "Winter".to_owned(),
        players: players.iter().map(|name| (*name).to_owned()).collect(),
        terms: Terms {
            variant: HouseVariant::from_key("crazyhouse").unwrap(),
            rated: true,
            time: seneschal::game::TimeControl::clock(180, 2),
            color: None,
            fen: None,
            special: Default::default(),
        },
        times: 2,
        at_once: 1,
    }
}

/// Plays what the house begins: who comes later in the alphabet resigns after two half-moves.
async fn take_part(bot: Bot) {
    let mut events = bot.events().await;
    loop {
        let start = events.json_of("gameStart").await["game"].clone();
        let id = start["gameId"].as_str().unwrap().to_owned();
        let other = start["opponent"]["username"].as_str().unwrap().to_owned();
        let white = start["color"] == "white";
        let mut stream = bot.game(&id).await;
        let full = stream.expect("gameFull").await;
        let mut moves = full["state"]["moves"].as_str().unwrap().to_owned();
        loop {
            let plies = moves.split_whitespace().count();
            if plies < 2 && (plies == 0) == white {
                bot.play(&id, if white { "e2e4" } else { "e7e5" }).await;
            } else if plies >= 2 && bot.name > other.as_str() {
                bot.command(&id, "resign").await;
            }
            let state = stream.json_of("gameState").await;
            if state["status"] != "started" {
                break;
            }
            state["moves"].as_str().unwrap().clone_into(&mut moves);
        }
    }
}

async fn page(house: &HouseHandle) -> String {
    let address = format!("{}/league", house.base_url());
    let response = super::client::http_client("reader/1").get(address).send();
    response.await.unwrap().text().await.unwrap()
}

/// The page once so many of the six games have been played.
async fn until(house: &HouseHandle, wanted: usize) -> String {
    let wait = async {
        loop {
            let page = page(house).await;
            let played = |n: &usize| page.contains(&format!(" {n} of 6 games played"));
            if (wanted..=6).any(|n| played(&n)) {
                return page;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE * 3, wait).await.unwrap()
}

#[tokio::test]
async fn a_league_plays_itself_and_goes_on_after_a_restart() {
    let archive = Arc::new(MemoryArchive::default());
    let config = |league| HouseConfig {
        archive: Arc::clone(&archive) as _,
        league,
        ..config()
    };
    let house = House::start(config(None)).await.unwrap();
    assert!(page(&house).await.contains("No league is played here"));
    let mut bots = Vec::new();
    for name in NAMES {
        bots.push(Bot::register(&house, name).await);
    }
    house.shutdown().await;

    let house = House::start(config(Some(plan(&[])))).await.unwrap();
    let here = |house: &HouseHandle| {
        let mut tasks = JoinSet::new();
        for bot in &bots {
            tasks.spawn(take_part(Bot::with_token(
                house.base_url(),
                bot.name,
                &bot.token,
            )));
        }
        tasks
    };
    let tasks = here(&house);
    until(&house, 2).await;
    drop(tasks);
    house.shutdown().await;

    let house = House::start(config(Some(plan(&[])))).await.unwrap();
    let tasks = here(&house);
    let table = until(&house, 6).await;
    assert!(table.contains("The league is over."), "{table}");
    drop(tasks);
    let place = |name: &str| table.find(&format!(">{name}</a>")).unwrap();
    assert!(place("Ann_Bot") < place("Bob_Bot") && place("Bob_Bot") < place("Cyd_Bot"));
    for points in [
        "<strong>4</strong>",
        "<strong>2</strong>",
        "<strong>0</strong>",
    ] {
        assert_eq!(table.matches(points).count(), 1, "{points}: {table}");
    }
    assert_eq!(table.matches(">1</a> ").count(), 6, "six wins: {table}");
    assert_eq!(table.matches(">0</a> ").count(), 6);
    assert!(table.contains("data-over=\"true\""));
    // Its games are rated like others.
    let (ann, _) = house.hall().account("Ann_Bot").unwrap();
    assert!(ann.perf("crazyhouse").games == 4 && ann.perf("crazyhouse").rating > 1500.0);
    assert_eq!(house.violations().total(), 0, "{:?}", house.violations());
    house.shutdown().await;
}

#[tokio::test]
async fn a_league_without_players_is_refused_by_name() {
    let refused = |players: &'static [&'static str]| async {
        let archive = Arc::new(MemoryArchive::default());
        let house = House::start(HouseConfig {
            archive: Arc::clone(&archive) as _,
            ..config()
        })
        .await
        .unwrap();
        Bot::register(&house, "Ann_Bot").await;
        house
            .register(
                "Person",
                seneschal::house::account::AccountKind::Human,
                seneschal::house::account::Scopes::bot(),
            )
            .await
            .unwrap();
        house.shutdown().await;
        let started = House::start(HouseConfig {
            archive: Arc::clone(&archive) as _,
            league: Some(plan(players)),
            ..config()
        })
        .await;
        match started {
            Err(HouseError::League(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(&[]).await, LeagueError::TooFew(1));
    assert_eq!(
        refused(&["Ann_Bot", "Nobody"]).await,
        LeagueError::NoBot("Nobody".to_owned())
    );
    assert_eq!(
        refused(&["Ann_Bot", "Person"]).await,
        LeagueError::NoBot("Person".to_owned())
    );
    assert_eq!(
        refused(&["Ann_Bot", "ANN_bot"]).await,
        LeagueError::Twice("Ann_Bot".to_owned())
    );
}
