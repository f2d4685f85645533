//! After the game: the analyst's opinions on the page and in the PGN, earlier positions, the archive's filters.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use seneschal::house::analysis::{Analyst, AnalystError, AnalystFuture, Opinion, Value as Worth};
use seneschal::house::archive::MemoryArchive;
use seneschal::house::{House, HouseConfig};
use seneschal::rules::History;
use serde_json::{Value, json};

use super::browser::Browser;
use super::client::{BLITZ, Bot, PATIENCE, begin, config, house_with_bots};

/// Opinions of a known game by the number of half-moves played; others are even.
#[derive(Debug, Default)]
struct Scripted {
    opinions: &'static [(Worth, &'static str)],
    judged: AtomicUsize,
    fails_at: Option<usize>,
}

impl Analyst for Scripted {
    fn name(&self) -> &str {
        "Script 1"
    }

    fn judge(&self, _game: u64, history: History) -> AnalystFuture {
        self.judged.fetch_add(1, Ordering::Relaxed);
        let plies = history.moves().len();
        let position = history.position();
        let first = position.legal_moves()[0];
        let (value, best) = match self.opinions.get(plies) {
            Some((value, best)) => (*value, (*best).to_owned()),
            None => (Worth::Cp(0), position.uci(first)),
        };
        let answer = if self.fails_at == Some(plies) {
            Err(AnalystError {
                plies,
                reason: "the abacus broke".to_owned(),
            })
        } else {
            Ok(Opinion {
                value,
                line: vec![best],
            })
        };
        Box::pin(async move {
            tokio::task::yield_now().await;
            answer
        })
    }
}

fn with(analyst: Scripted) -> (HouseConfig, Arc<Scripted>) {
    let analyst = Arc::new(analyst);
    let config = HouseConfig {
        analyst: Some(Arc::clone(&analyst) as Arc<dyn Analyst>),
        ..config()
    };
    (config, analyst)
}

/// What is thought of [`lost_queen`].
const LOST_QUEEN: [(Worth, &str); 7] = [
    (Worth::Cp(20), "e2e4"),
    (Worth::Cp(25), "c7c5"),
    (Worth::Cp(30), "g1f3"),
    (Worth::Cp(-60), "b8c6"),
    (Worth::Cp(-55), "f1c4"),
    (Worth::Cp(-850), "h8h7"),
    (Worth::Mate(-9), "d2d4"),
];

/// White loses his queen for a pawn and resigns.
async fn lost_queen(ann: &Bot, bob: &Bot) -> String {
    let id = begin(ann, bob, &BLITZ).await;
    for (n, uci) in ["e2e4", "e7e5", "d1h5", "b8c6", "h5h7", "h8h7"]
        .into_iter()
        .enumerate()
    {
        let bot = if n % 2 == 0 { ann } else { bob };
        bot.play(&id, uci).await;
    }
    ann.command(&id, "resign").await;
    id
}

/// The analysis of a game once it is in one of these states.
async fn until(browser: &Browser, id: &str, states: &[&str]) -> Value {
    let path = format!("/page/game/{id}/analysis");
    let wait = async {
        loop {
            let (code, json) = browser.get(&path).await;
            assert_eq!(code, 200, "{json}");
            if states.contains(&json["state"].as_str().unwrap()) {
                return json;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap()
}

#[tokio::test]
async fn a_finished_game_is_analysed_once_and_keeps_it() {
    let (config, analyst) = with(Scripted {
        opinions: &LOST_QUEEN,
        ..Scripted::default()
    });
    let archive = Arc::new(MemoryArchive::default());
    let config = HouseConfig {
        archive: Arc::clone(&archive) as _,
        ..config
    };
    let (house, ann, bob) = house_with_bots(config.clone()).await;
    let id = lost_queen(&ann, &bob).await;
    let zoe = Browser::guest(&house, "Zoe").await;
    let mut page = zoe.watch(&id).await;
    assert_eq!(page.over().await["analysed"], false);
    let path = format!("/page/game/{id}/analysis");
    assert_eq!(
        Browser::new(&house).get(&path).await,
        (200, json!({"state": "offered"}))
    );
    assert_eq!(zoe.post(&path, &[]).await.0, 200);
    let done = until(&zoe, &id, &["done"]).await;
    assert_eq!(
        (&done["by"], &done["done"], &done["of"]),
        (&json!("Script 1"), &json!(7), &json!(7))
    );
    let marks: Vec<(usize, &str, &str)> = done["positions"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .filter_map(|(ply, p)| Some((ply, p["glyph"].as_str()?, p["value"].as_str()?)))
        .collect();
    assert_eq!(marks, [(3, "?!", "-0.60"), (5, "??", "-8.50")], "{done}");
    assert_eq!(
        done["sums"],
        json!({
            "white": {"inaccuracy": 1, "mistake": 0, "blunder": 1},
            "black": {"inaccuracy": 0, "mistake": 0, "blunder": 0},
        })
    );
    assert_eq!(
        (
            &done["positions"][4]["line"],
            &done["positions"][4]["arrows"]
        ),
        (
            &json!(["Bc4"]),
            &json!([{"from": "f1", "to": "c4", "side": "w"}])
        )
    );
    assert_eq!(done["positions"][6]["value"], "#-9");
    // Who watches is told that it has come, and asking again costs nothing.
    page.state(|s| s["analysed"] == true).await;
    assert_eq!(zoe.post(&path, &[]).await.1["state"], "done");
    assert_eq!(analyst.judged.load(Ordering::Relaxed), 7);
    house.shutdown().await;

    // The link stays: another house over the same archive has it all.
    let house = House::start(config).await.unwrap();
    let late = Browser::new(&house);
    assert_eq!(until(&late, &id, &["done"]).await, done);
    let (_, pgn) = late.get(&format!("/game/export/{id}")).await;
    // Lines are of limited width and break anywhere between words.
    let pgn = pgn.as_str().unwrap().replace('\n', " ");
    for part in [
        "[Annotator \"Script 1\"]",
        "[%eval -8.50]",
        "[%eval #-9]",
        "Qxh7 $4",
        "Qh5 $6",
    ] {
        assert!(pgn.contains(part), "{part}: {pgn}");
    }
    assert_eq!(analyst.judged.load(Ordering::Relaxed), 7);
    house.shutdown().await;
}

#[tokio::test]
async fn a_mate_needs_no_opinion_and_a_failure_is_told() {
    let (config, analyst) = with(Scripted {
        fails_at: Some(2),
        ..Scripted::default()
    });
    let (house, ann, bob) = house_with_bots(config).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    for (n, uci) in ["f2f3", "e7e5", "g2g4", "d8h4"].into_iter().enumerate() {
        let bot = if n % 2 == 0 { &ann } else { &bob };
        bot.play(&id, uci).await;
    }
    let zoe = Browser::guest(&house, "Zoe").await;
    let path = format!("/page/game/{id}/analysis");
    zoe.post(&path, &[]).await;
    let failed = until(&zoe, &id, &["failed"]).await;
    let reason = failed["reason"].as_str().unwrap();
    assert!(
        reason.contains("after 2 half-moves") && reason.contains("the abacus broke"),
        "{reason}"
    );
    // From the end: the mate needs nobody, the one before it was judged, the next one failed.
    assert_eq!(analyst.judged.load(Ordering::Relaxed), 2);
    // It may be asked for again.
    assert_eq!(zoe.post(&path, &[]).await.0, 200);
    until(&zoe, &id, &["failed"]).await;
    assert_eq!(analyst.judged.load(Ordering::Relaxed), 4);
    house.shutdown().await;
}

#[tokio::test]
async fn nobody_gets_advice_while_a_game_is_played() {
    let (config, analyst) = with(Scripted::default());
    let (house, ann, bob) = house_with_bots(config).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    ann.play(&id, "e2e4").await;
    let zoe = Browser::guest(&house, "Zoe").await;
    let path = format!("/page/game/{id}/analysis");
    let (code, refused) = zoe.post(&path, &[]).await;
    assert_eq!(code, 400);
    assert!(
        refused["error"].as_str().unwrap().contains("not over"),
        "{refused}"
    );
    assert_eq!(zoe.get(&path).await, (200, json!({"state": "none"})));
    // Nor does anybody without a session, or from another page.
    bob.command(&id, "resign").await;
    assert_eq!(Browser::new(&house).post(&path, &[]).await.0, 401);
    let foreign = zoe
        .http
        .post(format!("{}{path}", zoe.base))
        .header("cookie", zoe.cookie.clone().unwrap())
        .header("origin", "http://evil.example");
    assert_eq!(super::client::answer(foreign).await.0, 403);
    assert_eq!(zoe.get("/page/game/zzzzzzzz/analysis").await.0, 404);
    // What has no moves has nothing to analyse.
    let empty = begin(&ann, &bob, &BLITZ).await;
    bob.command(&empty, "abort").await;
    let refused = zoe.post(&format!("/page/game/{empty}/analysis"), &[]).await;
    assert_eq!(refused, (400, json!({"error": "No move was played"})));
    assert_eq!(analyst.judged.load(Ordering::Relaxed), 0);
    house.shutdown().await;
}

#[tokio::test]
async fn a_house_without_an_engine_says_so() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = lost_queen(&ann, &bob).await;
    let zoe = Browser::guest(&house, "Zoe").await;
    let path = format!("/page/game/{id}/analysis");
    assert_eq!(zoe.get(&path).await, (200, json!({"state": "none"})));
    assert_eq!(
        zoe.post(&path, &[]).await,
        (
            400,
            json!({"error": "This house has no engine to analyse with"})
        )
    );
    house.shutdown().await;
}

#[tokio::test]
async fn earlier_positions_can_be_seen_from_either_side_and_in_words() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &[("variant", "crazyhouse"), BLITZ[0], BLITZ[1]]).await;
    for (n, uci) in ["e2e4", "d7d5", "e4d5"].into_iter().enumerate() {
        let bot = if n % 2 == 0 { &ann } else { &bob };
        bot.play(&id, uci).await;
    }
    let zoe = Browser::new(&house);
    let at = |ply: &str| {
        let path = format!("/page/game/{id}/at/{ply}");
        let zoe = &zoe;
        async move { zoe.get(&path).await }
    };
    let (code, start) = at("0").await;
    assert_eq!(code, 200);
    let svg = start["svg"].as_str().unwrap();
    assert!(!svg.contains("class=\"last\"") && svg.contains("data-flipped=\"false\""));
    let (_, third) = at("3?side=black").await;
    let svg = third["svg"].as_str().unwrap();
    assert_eq!(svg.matches("class=\"last\"").count(), 2);
    assert!(svg.contains("data-flipped=\"true\""));
    let words = third["words"].as_str().unwrap();
    assert!(
        words.contains("in hand: 1 pawn") && words.ends_with("Black to move."),
        "{words}"
    );
    for (wrong, said) in [
        ("4", "The game has 3 half-moves, not 4"),
        ("-1", "-1 is no number"),
        ("99999999999999999999", "is no number"),
        ("%3Cb%3E", "<b> is no number"),
    ] {
        let (code, refused) = at(wrong).await;
        let error = refused["error"].as_str().unwrap().to_owned();
        assert!(code == 400 && error.contains(said), "{wrong}: {refused}");
    }
    assert_eq!(zoe.get("/page/game/zzzzzzzz/at/0").await.0, 404);
    house.shutdown().await;
}

#[tokio::test]
async fn the_archive_is_filtered_by_player_result_stakes_and_day() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let cyd = Bot::register(&house, "Cyd_Bot").await;
    let rated = [BLITZ[0], BLITZ[1], ("rated", "true")];
    let games = [
        (&ann, &bob, &BLITZ[..], "resign"),
        (&bob, &ann, &rated[..], "resign"),
        (&ann, &cyd, &BLITZ[..], "draw"),
    ];
    let mut ids = Vec::new();
    for (white, black, form, end) in games {
        let id = begin(white, black, form).await;
        white.play(&id, "e2e4").await;
        black.play(&id, "e7e5").await;
        if end == "draw" {
            white.command(&id, "draw/yes").await;
            black.command(&id, "draw/yes").await;
        } else {
            black.command(&id, "resign").await;
        }
        ids.push(id);
    }
    let aborted = begin(&ann, &bob, &BLITZ).await;
    bob.command(&aborted, "abort").await;
    ids.push(aborted);
    let zoe = Browser::new(&house);
    // Games are written a moment after they end.
    let all = async {
        while !ids
            .iter()
            .all(|id| house.hall().look(id, |game, _| game.status.is_over()) == Some(true))
            || listed(&zoe, "").await.len() < ids.len()
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, all).await.unwrap();
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    for (query, wanted) in [
        ("player=ann_bot", &[0, 1, 2, 3][..]),
        ("player=ann_bot&opponent=CYD_BOT", &[2]),
        ("opponent=cyd_bot", &[2]),
        ("player=ann_bot&result=won", &[0]),
        ("player=ann_bot&result=lost", &[1]),
        ("result=white", &[0, 1]),
        ("result=black", &[]),
        ("result=draw", &[2]),
        ("rated=rated", &[1]),
        ("rated=casual", &[0, 2, 3]),
        ("variant=crazyhouse", &[]),
        ("to=2001-01-01", &[]),
        ("from=2001-01-01", &[0, 1, 2, 3]),
        (&format!("from={today}&result=draw"), &[2]),
        ("player=nobody", &[]),
    ] {
        let mut found = listed(&zoe, query).await;
        found.sort_by_key(|id| ids.iter().position(|known| known == id));
        let wanted: Vec<&String> = wanted.iter().map(|n: &usize| &ids[*n]).collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{query}");
    }
    house.shutdown().await;
}

/// Ids of the games on a page of the archive.
async fn listed(browser: &Browser, query: &str) -> Vec<String> {
    let (code, page) = browser.get(&format!("/games?{query}")).await;
    assert_eq!(code, 200, "{page}");
    let page = page.as_str().unwrap().to_owned();
    page.split("<td><a href=\"/")
        .skip(1)
        .map(|rest| rest[..8].to_owned())
        .filter(|id| !id.contains('?'))
        .collect()
}
