//! Tests of the root.

use tokio::time::timeout;

use super::super::game_task::GameOutcome;
use super::root::AccountState;
use super::*;
use crate::engine::{EngineConfig, PoolConfig, searcher_factory};
use crate::game::{GameEnd, GameId, Termination};
use crate::platform::{AccountCommand, Received};
use crate::store::StoreOptions;

/// A root without accounts, so that only what a test starts is there.
fn root() -> Root {
    let store = Store::in_memory(&StoreOptions::default()).expect("a store");
    Root::new(
        Shutdown::default(),
        Journal::new(store),
        Stats::default(),
        GamePolicy::default(),
        String::new(),
    )
}

fn inbox() -> Inbox {
    Inbox {
        news: mpsc::channel(1).1,
        unwanted: mpsc::channel(1).1,
        known: mpsc::channel(1).1,
        promised: watch::channel(0).1,
        pulse: Pulse::default(),
    }
}

fn account(root: &mut Root, commands: mpsc::Sender<AccountCommand>) -> AccountName {
    let name = AccountName::new("main");
    let setup = crate::platform::lichess::LichessConfig::new(
        "main",
        secrecy::SecretString::from("token".to_owned()),
    );
    let engine = EngineConfig::new(1 << 20, 1);
    let pool = Pool::new(PoolConfig::default(), searcher_factory(engine)).expect("threads");
    let shared = GameShared {
        account: name.clone(),
        platform: "lichess",
        commands,
        pool: Arc::new(pool),
        journal: root.journal.clone(),
        tapes: None,
        overhead: Overhead::default(),
        stats: root.stats.clone(),
        timeline: root.timeline,
        waiting: watch::channel(Vec::new()).1,
        news: mpsc::channel(1).0,
        abort: root.shutdown.abort().clone(),
    };
    let state = AccountState {
        shared,
        capabilities: crate::platform::lichess::capabilities(&setup),
        owners: vec![PlayerName::new("Boss")],
        stopped: false,
    };
    root.accounts.insert(name.clone(), state);
    name
}

/// A game's task that panics, in the place of one that was started.
fn panicking(root: &mut Root, account: &AccountName, game: &str) {
    let key = (account.clone(), GameId::new(game));
    let handle = root
        .games
        .spawn(async { panic!("a bug in one game, on purpose") });
    root.running.insert(handle.id(), key.clone());
    root.controls.insert(key, mpsc::channel(1).0);
}

#[tokio::test]
async fn a_panic_in_one_game_gives_it_a_fresh_session_and_leaves_the_others_alone() {
    let mut root = root();
    let (commands, mut client) = mpsc::channel(16);
    let account = account(&mut root, commands);
    let other = (account.clone(), GameId::new("other"));
    let handle = root.games.spawn({
        let (account, game) = other.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            GameOutcome {
                account,
                game,
                end: None,
            }
        }
    });
    root.running.insert(handle.id(), other.clone());
    root.controls.insert(other, mpsc::channel(1).0);
    panicking(&mut root, &account, "bad");
    let shutdown = root.shutdown.clone();
    let stats = root.stats.clone();
    let work = root.run(
        inbox(),
        Duration::from_secs(5),
        Duration::from_secs(60),
        ServiceManager,
    );
    let check = async {
        // The fresh session asks for the game's link.
        let order = timeout(Duration::from_secs(10), client.recv()).await;
        let Ok(Some(AccountCommand::OpenGame { id, reply })) = order else {
            panic!("no link is asked for: {order:?}");
        };
        assert_eq!(id.as_str(), "bad");
        drop(reply);
        shutdown.drain().cancel();
    };
    tokio::join!(work, check);
    assert_eq!(stats.snapshot().faults, 1);
    assert!(root.games.is_empty() && root.running.is_empty() && root.controls.is_empty());
}

#[tokio::test]
async fn a_game_that_panics_twice_is_abandoned_by_resigning() {
    let mut root = root();
    let (commands, mut client) = mpsc::channel(16);
    let account = account(&mut root, commands);
    root.panics.insert((account.clone(), GameId::new("bad")), 1);
    panicking(&mut root, &account, "bad");
    let shutdown = root.shutdown.clone();
    let work = root.run(
        inbox(),
        Duration::from_secs(5),
        Duration::from_secs(60),
        ServiceManager,
    );
    let check = async {
        let order = timeout(Duration::from_secs(10), client.recv()).await;
        let Ok(Some(AccountCommand::OpenGame { reply, .. })) = order else {
            panic!("no link is asked for: {order:?}");
        };
        let (link, mut port) = crate::platform::game_channel();
        reply.send(link).expect("somebody waits");
        let state = crate::game::GameState {
            base_fen: None,
            moves: ["e2e4", "e7e5"].map(str::to_owned).to_vec(),
            clocks: None,
            offers: crate::game::Offers::default(),
            status: crate::game::Status::Running,
            move_within: None,
        };
        let event = crate::game::GameEvent::State(state);
        port.events.send(Received::now(event)).await.expect("room");
        let command = timeout(Duration::from_secs(10), port.commands.recv()).await;
        assert!(
            matches!(command, Ok(Some(crate::game::GameCommand::Resign))),
            "{command:?}"
        );
        let end = GameEnd {
            result: crate::game::GameResult::NoResult,
            termination: Termination::Resignation,
            words: String::new(),
        };
        let event = crate::game::GameEvent::Ended(end);
        port.events.send(Received::now(event)).await.expect("room");
        shutdown.drain().cancel();
    };
    tokio::join!(work, check);
    assert!(root.games.is_empty() && root.panics.is_empty());
}

#[tokio::test]
async fn a_part_that_dies_drains_the_rest_and_shows_in_the_report() {
    let mut root = root();
    root.add_part("events of account main".to_owned(), async {
        panic!("a bug in a part, on purpose")
    });
    let work = root.run(
        inbox(),
        Duration::from_secs(5),
        Duration::from_secs(60),
        ServiceManager,
    );
    timeout(Duration::from_secs(10), work)
        .await
        .expect("the root ends");
    assert_eq!(root.report.died, ["events of account main"]);
    assert!(!root.report.is_clean());
}

#[tokio::test]
async fn an_owner_is_obeyed_and_a_stranger_is_not() {
    let mut root = root();
    let (commands, mut client) = mpsc::channel(16);
    let account = account(&mut root, commands);
    root.told(&account, PlayerName::new("stranger"), "drain");
    assert!(!root.shutdown.drain().is_cancelled());
    assert!(client.try_recv().is_err());
    root.told(&account, PlayerName::new("boss"), "Status");
    let Ok(AccountCommand::Tell { to, text }) = client.try_recv() else {
        panic!("no answer");
    };
    assert_eq!(to, PlayerName::new("Boss"));
    assert_eq!(text, "playing: 0 games on, 0 finished");
    root.told(&account, PlayerName::new("Boss"), "drain");
    assert!(root.shutdown.drain().is_cancelled());
}
