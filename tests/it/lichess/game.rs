//! A game that is open and quiet, and what the tests of games wait for.

use std::time::Duration;

use seneschal::game::{CommandFailure, CommandKind, GameEvent, GameState};
use seneschal::rules::Variant;
use tokio::time::Instant;

use crate::lichess::fake::FakeGame;
use crate::lichess::rig::{Player, Rig};

pub const ID: &str = "game0001";

pub const OK: &str = r#"{"ok":true}"#;

/// A game of ours that is open; the opponent moves only when told to.
pub async fn quiet_game(game: FakeGame) -> (Rig, Player) {
    let rig = Rig::online().await;
    rig.fake.start_game(
        ID,
        FakeGame {
            replies: false,
            ..game
        },
    );
    let mut player = Player::new(rig.open(ID).await);
    let GameEvent::Full { start, state } = player.receive().await.unwrap() else {
        panic!("a full state comes first")
    };
    player.start = Some(*start);
    player.state = Some(state);
    (rig, player)
}

pub async fn quiet(variant: Variant) -> (Rig, Player) {
    quiet_game(FakeGame::new(variant, true)).await
}

/// Waits for an event of interest; others are passed over.
pub async fn find<T>(player: &mut Player, mut wanted: impl FnMut(GameEvent) -> Option<T>) -> T {
    loop {
        let event = player.receive().await.expect("the link stays open");
        if let Some(found) = wanted(event) {
            return found;
        }
    }
}

pub async fn next_state(player: &mut Player) -> GameState {
    find(player, |event| match event {
        GameEvent::State(state) | GameEvent::Full { state, .. } => Some(state),
        _ => None,
    })
    .await
}

pub async fn failure(player: &mut Player) -> (CommandKind, CommandFailure) {
    find(player, |event| match event {
        GameEvent::Failed { command, failure } => Some((command, failure)),
        _ => None,
    })
    .await
}

/// Nothing of this kind comes for a while.
pub async fn nothing(player: &mut Player, span: Duration, unwanted: impl Fn(&GameEvent) -> bool) {
    let end = Instant::now() + span;
    while let Ok(Some(received)) = tokio::time::timeout_at(end, player.link.events.recv()).await {
        assert!(!unwanted(&received.event), "{:?}", received.event);
    }
}
