//! Whole games, every variant, over HTTP: streams agree with the rules, results are kept.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use seneschal::house::variant::HouseVariant;
use seneschal::rules::notation::pgn::PgnReader;
use seneschal::rules::{History, Position};
use serde_json::Value;

use super::client::{Bot, Lines, begin, config, house_with_bots, status};

/// Replays what a `gameFull` tells, as a client would.
fn replay(full: &Value, moves: &str) -> History {
    let key = full["variant"]["key"].as_str().unwrap();
    let variant = HouseVariant::from_key(key).unwrap();
    let start = match full["initialFen"].as_str().unwrap() {
        "startpos" => Position::start(variant.rules()),
        fen => Position::from_fen(variant.rules(), variant.castling_mode(), fen).unwrap(),
    };
    let mut history = History::new(start);
    for uci in moves.split_whitespace() {
        let played = history.position().parse_uci(uci).unwrap();
        history.play(played).unwrap();
    }
    history
}

/// A random legal move in UCI, captures and promotions as often as not.
fn choose(position: &Position, rng: &mut StdRng) -> String {
    let moves = position.legal_moves();
    let captures: Vec<_> = moves.iter().filter(|m| position.is_capture(**m)).collect();
    let picked = if !captures.is_empty() && rng.random_bool(0.5) {
        *captures[rng.random_range(0..captures.len())]
    } else {
        moves[rng.random_range(0..moves.len())]
    };
    position.uci(picked)
}

async fn play_out(
    full: &Value,
    bots: [&Bot; 2],
    streams: &mut [Lines; 2],
    rng: &mut StdRng,
) -> Value {
    let id = full["id"].as_str().unwrap();
    let mut history = replay(full, "");
    for _ in 0..650 {
        let side = history.position().turn().index();
        let uci = choose(history.position(), rng);
        bots[side].play(id, &uci).await;
        let mut seen = Vec::new();
        for stream in streams.iter_mut() {
            seen.push(stream.json_of("gameState").await);
        }
        assert_eq!(seen[0], seen[1], "both players are told the same");
        let state = seen.remove(0);
        history = replay(full, state["moves"].as_str().unwrap());
        if status(&state) != "started" {
            return state;
        }
        assert_eq!(
            state["moves"].as_str().unwrap().split(' ').count(),
            history.moves().len()
        );
        if history.repetitions() >= 3 {
            // The draw by repetition follows as a state of its own.
            let mut last = Value::Null;
            for stream in streams.iter_mut() {
                last = stream.json_of("gameState").await;
            }
            assert_eq!(status(&last), "draw");
            return last;
        }
    }
    panic!("the game did not end: {history:?}");
}

#[tokio::test]
async fn every_variant_is_played_to_its_end_and_kept() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let mut rng = StdRng::seed_from_u64(4);
    let mut kinds_of_end = std::collections::BTreeSet::new();
    let mut played = 0;
    for variant in HouseVariant::all().filter(|v| *v != HouseVariant::FROM_POSITION) {
        let form = [
            ("clock.limit", "600"),
            ("clock.increment", "5"),
            ("variant", variant.key()),
        ];
        let id = begin(&ann, &bob, &form).await;
        let mut streams = [ann.game(&id).await, bob.game(&id).await];
        let full = streams[0].expect("gameFull").await;
        assert_eq!(full["variant"]["key"], variant.key());
        assert_eq!(full["white"]["id"], "ann_bot");
        streams[1].expect("gameFull").await;
        let end = play_out(&full, [&ann, &bob], &mut streams, &mut rng).await;
        kinds_of_end.insert(status(&end).to_owned());
        for stream in &mut streams {
            assert_eq!(stream.next().await, super::client::Next::End);
        }

        let history = replay(&full, end["moves"].as_str().unwrap());
        let (code, json) = {
            let url = ann.url(&format!("/game/export/{id}"));
            let request = ann.http.get(url).header("Accept", "application/json");
            super::client::answer(request).await
        };
        assert_eq!(code, 200);
        assert_eq!(json["status"], end["status"]);
        let sans = json["moves"].as_str().unwrap().split_whitespace().count();
        assert_eq!(sans, history.moves().len());
        let (code, pgn) = ann.get(&format!("/game/export/{id}")).await;
        assert_eq!(code, 200);
        let pgn = pgn.as_str().unwrap().to_owned();
        let read = PgnReader::new(pgn.as_bytes()).next().unwrap().unwrap();
        assert_eq!(
            read.history().position().fen(),
            history.position().fen(),
            "{pgn}"
        );
        let winner = read
            .result
            .and_then(|r| r.winner())
            .map(|c| c.to_string().to_lowercase());
        assert_eq!(winner.as_deref(), end.get("winner").and_then(Value::as_str));
        played += 1;
    }
    assert_eq!(house.finished().total(), played);
    assert_eq!(house.violations().total(), 0, "{:?}", house.violations());
    assert!(kinds_of_end.len() >= 3, "only {kinds_of_end:?}");
    house.shutdown().await;
}

#[tokio::test]
async fn many_games_run_side_by_side() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..12_u64 {
        let names = [format!("Left_{n}"), format!("Right_{n}")];
        let [left, right] = names.map(|name| -> &'static str { name.leak() });
        let (left, right) = (
            Bot::register(&house, left).await,
            Bot::register(&house, right).await,
        );
        tasks.spawn(async move {
            let variant = if n % 2 == 0 {
                "crazyhouse"
            } else {
                "capablanca"
            };
            let form = [
                ("clock.limit", "600"),
                ("clock.increment", "0"),
                ("variant", variant),
            ];
            let id = begin(&left, &right, &form).await;
            let mut streams = [left.game(&id).await, right.game(&id).await];
            let full = streams[0].expect("gameFull").await;
            streams[1].expect("gameFull").await;
            let mut rng = StdRng::seed_from_u64(n);
            play_out(&full, [&left, &right], &mut streams, &mut rng).await
        });
    }
    while let Some(joined) = tasks.join_next().await {
        joined.unwrap();
    }
    assert_eq!(house.finished().total(), 12);
    assert_eq!(house.violations().total(), 0, "{:?}", house.violations());
    drop((ann, bob));
    house.shutdown().await;
}
