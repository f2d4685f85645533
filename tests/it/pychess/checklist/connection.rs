//! Item 8: silence, refusals, restarts, one stream only.

use std::time::Duration;

use seneschal::game::{CommandFailure, GameCommand, GameEvent, GameSource};
use seneschal::platform::{AccountEvent, ClientEnd};
use seneschal::rules::Color;

use super::super::fake::State;
use super::super::fake::game::Offer;
use super::super::rig::Rig;
use super::{three_plies, zh};

// ---- 8: staying alive

#[tokio::test]
async fn item_8_silence_is_a_disconnect() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    rig.fake.silence(true);
    let words = rig.wait_for(|event| match event {
        AccountEvent::Offline { words, .. } => Some(words),
        _ => None,
    });
    assert!(words.await.contains("no byte"));
    table
        .wait_for(|event| matches!(event, GameEvent::LinkLost).then_some(()))
        .await;
    rig.fake.silence(false);
    rig.reconciled().await;
    table.full().await;
    assert_eq!(table.moves().len(), 3);
}

#[tokio::test]
async fn item_8_pings_alone_keep_the_streams() {
    let mut rig = Rig::online().await;
    let mut table = rig.sit_down(zh()).await;
    // Longer than the allowed silence, with nothing but pings.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    rig.fake.play(&table.id, "e2e4");
    table.plies(1).await;
    assert!(
        !table
            .seen
            .iter()
            .any(|event| matches!(event, GameEvent::LinkLost))
    );
    assert_eq!(
        rig.fake.with(|state| state
            .requests
            .iter()
            .filter(|(_, request)| request.path == "/api/stream/event")
            .count()),
        1
    );
}

#[tokio::test]
async fn item_8_there_is_never_a_second_event_stream() {
    let mut rig = Rig::online().await;
    for _ in 0..5 {
        rig.fake.cut_streams();
        rig.reconciled().await;
    }
    assert_eq!(rig.fake.most_event_streams(), 1);
}

#[tokio::test]
async fn item_8_a_refusal_inside_a_stream_is_a_lock_that_passes() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    rig.fake.with(|state| state.lock_stream(&table.id));
    rig.fake.cut_streams();
    table
        .wait_for(|event| matches!(event, GameEvent::LinkLost).then_some(()))
        .await;
    let opens = |state: &mut State| {
        let count = state
            .requests
            .iter()
            .filter(|(_, request)| request.path.contains("/stream/game"))
            .count();
        (count >= 3).then_some(())
    };
    rig.fake.until("two more attempts", opens).await;
    rig.fake.with(|state| state.unlock_stream(&table.id));
    table.full().await;
    assert!(
        !table
            .seen
            .iter()
            .any(|event| matches!(event, GameEvent::Ended(_)))
    );
}

#[tokio::test]
async fn item_8_a_server_that_stops_and_comes_back_finds_the_game_going_on() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    rig.fake.restart(Duration::from_millis(300)).await;
    table
        .wait_for(|event| matches!(event, GameEvent::LinkLost).then_some(()))
        .await;
    table.full().await;
    let start = table.start.clone().unwrap();
    assert_eq!(
        (start.initial_fen, table.moves().len()),
        (None, 3),
        "the word None is the usual start"
    );
    assert_eq!(start.source, GameSource::Challenge);
    rig.started(&table.id).await;
    table.play("b8c6").await;
    table.plies(4).await;
    // Told twice, played once.
    assert_eq!(rig.fake.posts("b8c6").len(), 1);
}

#[tokio::test]
async fn item_8_a_plug_pulled_and_put_back() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    rig.fake.unplug(true);
    rig.wait_for(|event| matches!(event, AccountEvent::Offline { .. }).then_some(()))
        .await;
    table.play("b8c6").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    rig.fake.unplug(false);
    rig.reconciled().await;
    // What is owed goes out by itself once the board was seen again, unless an attempt's fate is unknown: then the session is asked, and
    // decides anew once it has the whole state.
    let mut asked = false;
    while table.moves().len() < 4 {
        match table.event().await {
            GameEvent::Failed {
                failure: CommandFailure::Unanswered,
                ..
            } => {
                asked = true;
                table.command(GameCommand::Resync).await;
            }
            GameEvent::Full { .. } if asked && table.moves().len() == 3 => table.play("b8c6").await,
            _ => {}
        }
    }
    assert!(rig.fake.game(&table.id).unwrap().is_running());
}

#[tokio::test]
async fn item_8_a_rematch_whose_notice_was_lost_is_found_in_the_lists() {
    let mut rig = Rig::online().await;
    let mut table = rig
        .sit_down(Offer {
            color: Some(Color::Black),
            ..zh()
        })
        .await;
    rig.fake.human_ends(&table.id, 2);
    table.ended().await;
    let again = rig.fake.rematch_unheard(&table.id);
    rig.fake.play(&again, "a2a3");
    let notice = rig.started(&again).await;
    assert!(notice.playable);
    assert_eq!(
        (notice.our_turn, notice.color),
        (Some(true), Some(Color::Black))
    );
    let mut table = rig.open(&again).await;
    table.full().await;
    table.play("a7a6").await;
    table.plies(2).await;
}

#[tokio::test]
async fn item_8_a_refused_token_stops_the_account() {
    let rig = Rig::online().await;
    rig.fake.revoke();
    rig.fake.cut_streams();
    let ClientEnd::Stopped { words } = rig.end().await else {
        panic!("stopped")
    };
    assert!(words.contains("/account/bot"), "{words}");
    assert!(!words.contains("token-of"), "{words}");
}

#[tokio::test]
async fn item_8_an_account_that_is_no_bot_is_told_how_to_become_one() {
    let rig = Rig::start(|_| {}).await;
    rig.fake.with(|state| state.title = String::new());
    rig.fake.cut_streams();
    let ClientEnd::Stopped { words } = rig.end().await else {
        panic!("stopped")
    };
    assert!(words.contains("upgrade"), "{words}");
}

#[tokio::test]
async fn item_8_a_changed_interface_stops_new_games_and_not_the_running_one() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    rig.fake.change_header();
    rig.fake.cut_streams();
    let words = rig.wait_for(|event| match event {
        AccountEvent::Offline { words, retry_in } if retry_in > Duration::from_secs(3600) => {
            Some(words)
        }
        _ => None,
    });
    assert!(words.await.contains("interface"));
    table.full().await;
    table.play("b8c6").await;
    table.plies(4).await;
    assert!(rig.runs());
    rig.fake.human_ends(&table.id, 2);
    table.ended().await;
    drop(table);
    assert!(matches!(rig.end().await, ClientEnd::Stopped { .. }));
}
