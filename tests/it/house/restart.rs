//! What survives: accounts, tokens and games, after a clean stop, a crash of the house and `kill -9` of the process.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use seneschal::daemon::house_archive::StoreArchive;
use seneschal::house::account::{AccountKind, Scopes};
use seneschal::house::{House, HouseConfig, HouseHandle};
use seneschal::store::{Durability, Store, StoreOptions};
use serde_json::json;

use super::client::{BLITZ, Bot, Next, begin, config, status};

fn open(path: &Path) -> Store {
    let options = StoreOptions {
        durability: Durability::Process,
        ..StoreOptions::default()
    };
    Store::open(path, &options).unwrap()
}

async fn house_at(path: &Path) -> HouseHandle {
    House::start(HouseConfig {
        archive: Arc::new(StoreArchive::new(open(path))),
        ..config()
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn accounts_tokens_and_running_games_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("house.db");
    let house = house_at(&path).await;
    let (ann, bob) = (
        Bot::register(&house, "Ann_Bot").await,
        Bot::register(&house, "Bob_Bot").await,
    );
    let mut ids = Vec::new();
    for variant in ["crazyhouse", "capablanca960"] {
        let mut form = BLITZ.to_vec();
        form.push(("variant", variant));
        let id = begin(&ann, &bob, &form).await;
        let mut stream = ann.game(&id).await;
        let full = stream.expect("gameFull").await;
        let (_, playing) = ann.get("/api/account/playing").await;
        assert_eq!(playing["nowPlaying"][0]["isMyTurn"], true);
        let pawn = if variant == "crazyhouse" {
            ("e2e4", "d7d5")
        } else {
            ("e2e3", "e7e6")
        };
        ann.play(&id, pawn.0).await;
        bob.play(&id, pawn.1).await;
        ids.push((
            id,
            full["initialFen"].clone(),
            format!("{} {}", pawn.0, pawn.1),
        ));
    }
    let finished = begin(&ann, &bob, &BLITZ).await;
    bob.command(&finished, "abort").await;
    // Time for the changes to be written; then the house dies without a word.
    tokio::time::sleep(Duration::from_millis(200)).await;
    house.crash().await;

    let house = house_at(&path).await;
    let ann = Bot::with_token(house.base_url(), "Ann_Bot", &ann.token);
    assert_eq!(house.running().len(), 2);
    let mut events = ann.events().await;
    for _ in 0..2 {
        events.expect("gameStart").await;
    }
    for (id, start, moves) in &ids {
        let mut stream = ann.game(id).await;
        let full = stream.expect("gameFull").await;
        assert_eq!(
            (&full["initialFen"], &full["state"]["moves"]),
            (start, &json!(moves))
        );
        assert!(
            full["state"]["wtime"].as_i64().unwrap() > 180_000,
            "recompensed for the time away"
        );
    }
    let mut late = ann.game(&finished).await;
    assert_eq!(
        status(&late.expect("gameFull").await),
        "aborted",
        "from the archive"
    );
    assert_eq!(late.next().await, Next::End);
    house.shutdown().await;

    let raw = std::fs::read(&path).unwrap();
    let holds = |token: &str| raw.windows(token.len()).any(|w| w == token.as_bytes());
    assert!(
        !holds(&ann.token),
        "the token itself must not be in the database"
    );
}

#[tokio::test]
async fn accounts_made_by_another_process_are_taken_in() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("house.db");
    let house = house_at(&path).await;
    let ann = Bot::register(&house, "Ann_Bot").await;
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    // A second connection stands for the second process.
    let other = House::start(HouseConfig {
        archive: Arc::new(StoreArchive::new(open(&path))),
        ..config()
    })
    .await
    .unwrap();
    let token = other
        .register("New_Bot", AccountKind::Bot, Scopes::bot())
        .await
        .unwrap();
    other.shutdown().await;
    let new = Bot::with_token(house.base_url(), "New_Bot", token.reveal());
    for _ in 0..40 {
        if new.get("/api/account").await.0 == 200 {
            assert_eq!(ann.get("/api/account").await.0, 200);
            house.shutdown().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the new account was not taken in");
}

fn command(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seneschal"));
    command
        .env("SENESCHAL_HOUSE_DATA", data)
        .env("RUST_LOG", "warn");
    command
}

/// Starts `seneschal house` and reads its address.
fn start_process(data: &Path, listen: &str) -> (Child, String) {
    let mut child = command(data)
        .args(["house", "--listen", listen])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let base = line.trim().strip_prefix("the house is open: ").unwrap();
    (child, base.to_owned())
}

fn add_account(data: &Path, name: &str) -> String {
    let output = command(data)
        .args(["house", "account", "add", name, "--bot"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn the_command_survives_kill_9_and_ends_in_order_on_a_signal() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let (ann_token, bob_token) = (add_account(data, "Ann_Bot"), add_account(data, "Bob_Bot"));
    let again = command(data)
        .args(["house", "account", "add", "ann_bot", "--bot"])
        .output()
        .unwrap();
    assert!(!again.status.success());

    let (mut child, base) = start_process(data, "127.0.0.1:0");
    let ann = Bot::with_token(&base, "Ann_Bot", &ann_token);
    let bob = Bot::with_token(&base, "Bob_Bot", &bob_token);
    let id = begin(&ann, &bob, &BLITZ).await;
    ann.play(&id, "e2e4").await;
    bob.play(&id, "e7e5").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    child.kill().unwrap();
    child.wait().unwrap();

    let (mut child, base) = start_process(data, "127.0.0.1:0");
    let ann = Bot::with_token(&base, "Ann_Bot", &ann_token);
    let mut stream = ann.game(&id).await;
    assert_eq!(
        stream.expect("gameFull").await["state"]["moves"],
        "e2e4 e7e5"
    );
    ann.command(&id, "resign").await;
    let ended = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(ended.success());
    let mut rest = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(
        rest.contains("1 games finished: 1 standard; 0 violations"),
        "{rest}"
    );
    let list = command(data)
        .args(["house", "account", "list"])
        .output()
        .unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("Ann_Bot (bot), 1 games"), "{list}");
}

#[test]
fn the_command_refuses_what_it_should() {
    let dir = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = command(dir.path()).args(args).output().unwrap();
        assert!(!output.status.success(), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let open = run(&["house", "--listen", "0.0.0.0:0"]);
    assert!(open.contains("--open"), "{open}");
    let plan = dir.path().join("plan.toml");
    std::fs::write(&plan, "[[fault]]\non = \"move\"\neffect = \"cut\"\n").unwrap();
    let refused = run(&[
        "house",
        "--listen",
        "127.0.0.1:0",
        "--fault-plan",
        plan.to_str().unwrap(),
    ]);
    assert!(refused.contains("fault 1"), "{refused}");
    let name = run(&["house", "account", "add", "no name"]);
    assert!(name.contains("no account name"), "{name}");
}
