//! The store: what is acknowledged is kept, what fails fails alone, every kind of record round-trips.

use seneschal::store::games::{GameFilter, StoredGame};
use seneschal::store::house::{HouseAccountRow, HouseGameFilter, HouseGameRow, HouseTokenRow};
use seneschal::store::opponents::Score;
use seneschal::store::records::{
    Cooldown, DayBudget, DeclineMemory, GovernorState, Keyed, OwedGame, TakebackCount,
};
use seneschal::store::{Durability, Store, StoreError, StoreOptions};

fn memory() -> Store {
    Store::in_memory(&StoreOptions::default()).unwrap()
}

fn round_trip<T: Keyed + PartialEq + std::fmt::Debug>(store: &Store, value: T) {
    store
        .put("owner", "key", &value, Some(1_000), 5)
        .wait()
        .unwrap();
    let found = store.get::<T>("owner", "key", 999).wait().unwrap().unwrap();
    assert_eq!(found.value, value);
    assert_eq!((found.until_ms, found.updated_ms), (Some(1_000), 5));
    assert_eq!(store.get::<T>("owner", "key", 1_000).wait().unwrap(), None);
    assert_eq!(store.get::<T>("other", "key", 0).wait().unwrap(), None);
    store.remove::<T>("owner", "key").wait().unwrap();
    assert_eq!(store.get::<T>("owner", "key", 0).wait().unwrap(), None);
}

#[test]
fn every_kind_of_record_round_trips_and_expires() {
    let store = memory();
    round_trip(
        &store,
        OwedGame {
            opponent: "Somebody".into(),
            ply: 7,
            since_ms: 3,
            extra: serde_json::json!({"seen": ["e2e4"]}),
        },
    );
    round_trip(
        &store,
        Cooldown {
            reason: "declined".into(),
            strikes: 2,
        },
    );
    round_trip(
        &store,
        DayBudget {
            since_ms: 1,
            used: 99,
        },
    );
    round_trip(
        &store,
        DeclineMemory {
            reason: "too fast".into(),
            count: 3,
            last_ms: 9,
        },
    );
    round_trip(&store, TakebackCount { granted: 1 });
    round_trip(
        &store,
        GovernorState(serde_json::json!({"lane": {"until": 12}})),
    );
}

#[test]
fn lists_are_per_owner_and_skip_the_expired_until_purged() {
    let store = memory();
    let used = |used| DayBudget { since_ms: 0, used };
    for (owner, key, until) in [("a", "x", Some(10)), ("a", "y", None), ("b", "x", Some(20))] {
        store.put(owner, key, &used(1), until, 0).wait().unwrap();
    }
    let keys = |now| -> Vec<(String, String)> {
        let all = store.list_all::<DayBudget>(now).wait().unwrap();
        all.into_iter().map(|r| (r.owner, r.key)).collect()
    };
    assert_eq!(keys(9).len(), 3);
    assert_eq!(
        keys(10),
        [("a".into(), "y".into()), ("b".into(), "x".into())]
    );
    assert_eq!(store.list::<DayBudget>("a", 9).wait().unwrap().len(), 2);
    assert_eq!(store.list::<Cooldown>("a", 9).wait().unwrap().len(), 0);
    assert_eq!(store.purge_expired(10).wait().unwrap(), 1);
    assert_eq!(keys(0).len(), 2);
}

#[test]
fn update_is_one_step_even_from_many_threads() {
    let store = memory();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let counted = store.update::<DayBudget, _>("me", "games", 1, |old| {
                        let used = old.map_or(0, |record| record.value.used) + 1;
                        Some((DayBudget { since_ms: 0, used }, None))
                    });
                    counted.wait().unwrap().unwrap();
                }
            });
        }
    });
    let found = store.get::<DayBudget>("me", "games", 1).wait().unwrap();
    assert_eq!(found.unwrap().value.used, 400);
    let removed = store.update::<DayBudget, _>("me", "games", 1, |_| None);
    assert_eq!(removed.wait().unwrap(), None);
    assert_eq!(
        store.get::<DayBudget>("me", "games", 1).wait().unwrap(),
        None
    );
}

#[test]
fn a_full_queue_refuses_at_once_and_says_so() {
    let store = Store::in_memory(&StoreOptions {
        queue: 1,
        ..StoreOptions::default()
    })
    .unwrap();
    let (go, gate) = std::sync::mpsc::channel::<()>();
    // The writer hangs in this update until the gate opens.
    let held = store.update::<TakebackCount, _>("o", "k", 0, move |_| {
        gate.recv().unwrap();
        None
    });
    let mut refused = 0;
    let mut accepted = Vec::new();
    for n in 0..20 {
        let pending = store.put("o", &n.to_string(), &TakebackCount { granted: n }, None, 0);
        accepted.push(pending);
    }
    go.send(()).unwrap();
    held.wait().unwrap();
    for pending in accepted {
        match pending.wait() {
            Ok(()) => {}
            Err(error @ StoreError::Busy { bound: 1, .. }) => {
                assert!(error.is_transient());
                refused += 1;
            }
            Err(other) => panic!("unexpected: {other}"),
        }
    }
    let kept = store.list::<TakebackCount>("o", 0).wait().unwrap().len();
    assert!(refused >= 17, "only {refused} of 20 refused");
    assert_eq!(kept, 20 - refused);
}

#[test]
fn a_damaged_record_is_an_error_of_its_reader_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.db");
    let store = Store::open(&path, &StoreOptions::default()).unwrap();
    let value = TakebackCount { granted: 1 };
    store.put("o", "bad", &value, None, 0).wait().unwrap();
    store.put("o2", "good", &value, None, 0).wait().unwrap();
    drop(store);
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute("UPDATE records SET value = '{' WHERE key = 'bad'", [])
        .unwrap();
    let store = Store::open(&path, &StoreOptions::default()).unwrap();
    let bad = store.get::<TakebackCount>("o", "bad", 0);
    let good = store.get::<TakebackCount>("o2", "good", 0);
    assert!(matches!(bad.wait(), Err(StoreError::Sqlite { .. })));
    assert_eq!(good.wait().unwrap().unwrap().value, value);
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.db");
    std::fs::write(
        &path,
        "this is no database, but long enough to be read as a header...",
    )
    .unwrap();
    let refused = Store::open(&path, &StoreOptions::default()).unwrap_err();
    assert!(matches!(refused, StoreError::Sqlite { .. }), "{refused}");
}

#[tokio::test]
async fn pending_can_be_awaited() {
    let store = memory();
    let value = TakebackCount { granted: 4 };
    store.put("o", "k", &value, None, 0).await.unwrap();
    let found = store.get::<TakebackCount>("o", "k", 0).await.unwrap();
    assert_eq!(found.unwrap().value, value);
    store.flush().await.unwrap();
}

fn a_game(id: &str, opponent: &str, started_ms: i64, ended_ms: Option<i64>) -> StoredGame {
    StoredGame {
        platform: "house".into(),
        account: "me".into(),
        id: id.into(),
        variant: "crazyhouse".into(),
        chess960: false,
        rated: true,
        speed: "blitz".into(),
        clock: "3+2".into(),
        color: "white".into(),
        opponent: opponent.into(),
        opponent_title: Some("BOT".into()),
        opponent_rating: Some(1500),
        initial_fen: None,
        moves: "e2e4 e7e5".into(),
        status: "started".into(),
        winner: None,
        reason: None,
        started_ms,
        ended_ms,
        extra: "{}".into(),
    }
}

#[test]
fn games_are_kept_replaced_and_filtered() {
    let store = memory();
    store
        .save_game(a_game("g1", "Ann", 10, None))
        .wait()
        .unwrap();
    store
        .save_game(a_game("g2", "Bob", 20, Some(30)))
        .wait()
        .unwrap();
    let mut first = a_game("g1", "Ann", 10, Some(40));
    first.moves.push_str(" g1f3");
    store.save_game(first.clone()).wait().unwrap();
    let read = store.game("house", "me", "g1").wait().unwrap();
    assert_eq!(read, Some(first));
    let list = |filter: GameFilter| -> Vec<String> {
        let games = store.games(filter, 10).wait().unwrap();
        games.into_iter().map(|g| g.id).collect()
    };
    assert_eq!(list(GameFilter::default()), ["g2", "g1"]);
    let by_opponent = GameFilter {
        opponent: Some("ANN".into()),
        ..GameFilter::default()
    };
    assert_eq!(list(by_opponent), ["g1"]);
    let running = GameFilter {
        running: Some(true),
        ..GameFilter::default()
    };
    assert!(list(running).is_empty());
}

#[test]
fn opponents_are_counted_case_blind() {
    let store = memory();
    for (name, score) in [
        ("Ann", Score::Win),
        ("ann", Score::Loss),
        ("ANN", Score::Win),
    ] {
        store
            .met("house", name, None, Some(1600), score, 7)
            .wait()
            .unwrap();
    }
    let ann = store.opponent("house", "aNN").wait().unwrap().unwrap();
    assert_eq!((ann.wins, ann.draws, ann.losses, ann.aborted), (2, 0, 1, 0));
    assert_eq!(ann.name, "ANN");
    assert_eq!(store.opponents("house", 5).wait().unwrap().len(), 1);
    assert_eq!(store.opponent("other", "ann").wait().unwrap(), None);
}

#[test]
fn the_house_keeps_accounts_tokens_and_games() {
    let store = memory();
    let account = HouseAccountRow {
        id: "bot_a".into(),
        data: r#"{"name":"Bot_A"}"#.into(),
        created_ms: 1,
    };
    store.save_house_account(account.clone()).wait().unwrap();
    let token = HouseTokenRow {
        hash: [7; 32],
        account: "bot_a".into(),
        scopes: "bot:play".into(),
        created_ms: 2,
    };
    store.save_house_token(token.clone()).wait().unwrap();
    let stray = HouseTokenRow {
        hash: [8; 32],
        account: "nobody".into(),
        ..token.clone()
    };
    assert!(store.save_house_token(stray).wait().is_err());
    assert_eq!(store.house_accounts().wait().unwrap(), [account]);
    assert_eq!(store.house_tokens().wait().unwrap(), [token]);

    let game = HouseGameRow {
        id: "abcdefgh".into(),
        white: "bot_a".into(),
        black: "bot_b".into(),
        variant: "capablanca".into(),
        running: true,
        data: "{}".into(),
        started_ms: 5,
        ended_ms: None,
    };
    store.save_house_games(vec![game.clone()]).wait().unwrap();
    let running = HouseGameFilter {
        running: Some(true),
        ..HouseGameFilter::default()
    };
    assert_eq!(
        store.house_games(running.clone(), 9).wait().unwrap(),
        std::slice::from_ref(&game)
    );
    let ended = HouseGameRow {
        running: false,
        ended_ms: Some(9),
        ..game
    };
    store.save_house_games(vec![ended.clone()]).wait().unwrap();
    assert!(store.house_games(running, 9).wait().unwrap().is_empty());
    let black = HouseGameFilter {
        player: Some("bot_b".into()),
        ..HouseGameFilter::default()
    };
    assert_eq!(store.house_games(black, 9).wait().unwrap(), [ended]);

    assert!(store.remove_house_account("bot_a").wait().unwrap());
    assert!(store.house_tokens().wait().unwrap().is_empty());
}

#[test]
fn a_reader_sees_committed_games_beside_the_writer() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        durability: Durability::Process,
        ..StoreOptions::default()
    };
    let store = Store::open(&dir.path().join("s.db"), &options).unwrap();
    store
        .save_game(a_game("g1", "Ann", 10, None))
        .wait()
        .unwrap();
    let reader = store.reader().unwrap().expect("a file has readers");
    let found = seneschal::store::games::list_games(&reader, &GameFilter::default(), 10).unwrap();
    assert_eq!(found.len(), 1);
    assert!(reader.execute("DELETE FROM games", []).is_err());
}
