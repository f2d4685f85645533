//! Item 6: a move is sent onto the board it was meant for, once.

use std::time::Duration;

use seneschal::game::{CommandFailure, CommandKind, GameCommand, GameEvent};

use super::super::fake::Trouble;
use super::super::rig::Rig;
use super::{three_plies, unanswered};

// ---- 6: moves

#[tokio::test]
async fn item_6_a_move_for_another_board_is_not_sent() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    let before = table.history();
    // The human takes back and plays something else while we think.
    rig.fake.take_back(&table.id);
    rig.fake.play(&table.id, "d2d4");
    table
        .wait_for(|event| {
            matches!(event, GameEvent::State(state) if state.moves.last().unwrap() == "d2d4")
                .then_some(())
        })
        .await;
    let m = before.position().parse_uci("b8c6").unwrap();
    table.send(before.position().clone(), m, 3).await;
    let failed = table.wait_for(|event| match event {
        GameEvent::Failed { command, failure } => Some((*command, failure.clone())),
        _ => None,
    });
    assert_eq!(
        failed.await,
        (CommandKind::Play { ply: 3 }, CommandFailure::NotSent)
    );
    assert!(
        !rig.fake
            .posts("move")
            .iter()
            .any(|path| path.ends_with("b8c6"))
    );
    // Out of turn neither.
    table.play("e5d4").await;
    table.plies(4).await;
    let ours = table.history();
    let m = before.position().parse_uci("b8c6").unwrap();
    table.send(ours.position().clone(), m, 4).await;
    table
        .wait_for(|event| matches!(event, GameEvent::Failed { .. }).then_some(()))
        .await;
    assert_eq!(rig.fake.posts("move").len(), 2, "e7e5 and e5d4");
}

#[tokio::test]
async fn item_6_an_answer_that_is_lost_costs_nothing() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    rig.fake.fault("move/b8c6", 1, Trouble::LoseAnswer);
    table.play("b8c6").await;
    table.plies(4).await;
    rig.fake.play(&table.id, "f1c4");
    table.plies(5).await;
    table.play("g8f6").await;
    table.plies(6).await;
    let sent: Vec<String> = rig.fake.posts("move");
    assert_eq!(
        sent.iter().filter(|path| path.ends_with("b8c6")).count(),
        1,
        "{sent:?}"
    );
    assert!(rig.fake.game(&table.id).unwrap().is_running());
}

#[tokio::test]
async fn item_6_a_move_that_was_lost_is_sent_again_only_after_a_look() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    rig.fake.fault("move/b8c6", 1, Trouble::LoseRequest);
    table.play("b8c6").await;
    table.wait_for(unanswered).await;
    // A session would ask first; one that does not is kept from harm.
    table.play("b8c6").await;
    table.plies(4).await;
    let order: Vec<String> = rig.fake.with(|state| {
        let paths = state
            .requests
            .iter()
            .map(|(_, request)| request.path.clone());
        paths
            .filter(|path| path.ends_with("b8c6") || *path == format!("/{}", table.id))
            .collect()
    });
    assert_eq!(order.len(), 3, "{order:?}");
    assert!(
        order[0].ends_with("b8c6")
            && order[2].ends_with("b8c6")
            && order[1] == format!("/{}", table.id),
        "{order:?}"
    );
}

#[tokio::test]
async fn item_6_an_error_after_the_move_was_taken_is_no_reason_to_repeat_it() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    for status in [500, 502] {
        rig.fake.fault("move/", 1, Trouble::DoneBut(status));
        let plies = table.moves().len();
        let word = if plies == 3 { "b8c6" } else { "g8f6" };
        table.play(word).await;
        table.plies(plies + 1).await;
        rig.fake
            .play(&table.id, if plies == 3 { "f1c4" } else { "d2d3" });
        table.plies(plies + 2).await;
    }
    assert_eq!(rig.fake.posts("move").len(), 3);
    assert!(rig.fake.game(&table.id).unwrap().is_running());
}

#[tokio::test]
async fn item_6_a_request_that_was_refused_for_now_is_sent_again() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    rig.fake.fault("move/b8c6", 1, Trouble::Refuse(429));
    table.play("b8c6").await;
    table.plies(4).await;
    assert_eq!(rig.fake.posts("b8c6").len(), 2);
}

#[tokio::test]
async fn item_6_a_slow_answer_never_meets_a_second_move() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    // Longer than our deadline: the move arrives after we have given up on it.
    rig.fake
        .fault("move/b8c6", 1, Trouble::Late(Duration::from_millis(1560)));
    table.play("b8c6").await;
    table.wait_for(unanswered).await;
    table.command(GameCommand::Resync).await;
    table.plies(4).await;
    assert_eq!(rig.fake.posts("b8c6").len(), 1);
    assert!(rig.fake.game(&table.id).unwrap().is_running());
}

#[tokio::test]
async fn item_6_a_yes_that_is_not_followed_by_the_move_is_doubted() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    // The human has taken back without our hearing of it, so our move is out of turn: yes, and nothing happens.
    rig.fake.take_back(&table.id);
    table.play("b8c6").await;
    table
        .wait_for(|event| matches!(event, GameEvent::Accepted { .. }).then_some(()))
        .await;
    table.wait_for(unanswered).await;
    table.command(GameCommand::Resync).await;
    table.full().await;
    assert_eq!(
        table.moves(),
        ["e2e4", "e7e5"],
        "the stream was opened anew"
    );
    assert!(rig.fake.game(&table.id).unwrap().is_running());
}

#[tokio::test]
async fn item_6_a_move_goes_out_while_the_stream_is_locked() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    // The dead stream holds its lock; the page shows that the board is unchanged.
    rig.fake.with(|state| state.lock_stream(&table.id));
    rig.fake.cut_streams();
    table
        .wait_for(|event| matches!(event, GameEvent::LinkLost).then_some(()))
        .await;
    table.play("b8c6").await;
    rig.fake
        .until("the move", |state| {
            (state.games[&table.id].moves.len() == 4).then_some(())
        })
        .await;
    rig.fake.with(|state| state.unlock_stream(&table.id));
    table.plies(4).await;
}
