//! Item 7: how games end, and what is known of it.

use seneschal::game::{
    ChatRoom, CommandFailure, CommandKind, GameCommand, GameEvent, GameResult, Termination,
};
use seneschal::rules::Color;

use super::super::fake::game::Offer;
use super::super::fake::{State, Trouble};
use super::super::rig::Rig;
use super::{three_plies, zh};

// ---- 7: the end

#[tokio::test]
async fn item_7_every_end_has_the_result_of_the_page() {
    let mut rig = Rig::online().await;
    let white = GameResult::Decisive {
        winner: Color::White,
    };
    let black = GameResult::Decisive {
        winner: Color::Black,
    };
    for (status, result, termination) in [
        (2, black, Termination::Resignation),
        (6, black, Termination::OutOfTime),
        (7, black, Termination::Abandoned),
        (0, GameResult::NoResult, Termination::Aborted),
    ] {
        let mut table = three_plies(&mut rig).await;
        rig.fake.human_ends(&table.id, status);
        let end = table.ended().await;
        assert_eq!((end.result, end.termination), (result, termination));
        let streaming = |state: &mut State| (!state.is_streaming(&table.id)).then_some(());
        rig.fake
            .until("the stream to be closed by us", streaming)
            .await;
    }
    let mut table = three_plies(&mut rig).await;
    rig.fake.bot_flags(&table.id);
    let end = table.ended().await;
    assert_eq!(
        (end.result, end.termination),
        (white, Termination::OutOfTime)
    );
}

#[tokio::test]
async fn item_7_a_game_too_short_to_be_kept_has_no_result() {
    // The server deletes what ends before the third half-move, so there is no page to ask.
    let mut rig = Rig::online().await;
    let mut table = rig.sit_down(zh()).await;
    rig.fake.play(&table.id, "e2e4");
    table.plies(1).await;
    rig.fake.with(|state| state.hide_pages(true));
    rig.fake.human_ends(&table.id, 7);
    rig.fake.with(|state| {
        state.games.remove(&table.id);
        state.hide_pages(false);
    });
    let end = table.ended().await;
    assert_eq!(
        (end.result, end.termination),
        (GameResult::NoResult, Termination::NoStart)
    );
}

#[tokio::test]
async fn item_7_what_the_page_leaves_open_is_told_by_the_board() {
    // A number for the end that says nothing, and no result: the board is mate all the same.
    let mut rig = Rig::online().await;
    let mut table = rig.sit_down(zh()).await;
    for (ply, word) in ["f2f3", "e7e5", "g2g4"].into_iter().enumerate() {
        if ply % 2 == 0 {
            rig.fake.play(&table.id, word);
        } else {
            table.play(word).await;
        }
        table.plies(ply + 1).await;
    }
    rig.fake.with(|state| state.odd_ends = true);
    table.play("d8h4").await;
    let end = table.ended().await;
    assert_eq!(
        (end.result, end.termination),
        (
            GameResult::Decisive {
                winner: Color::Black
            },
            Termination::Mate
        )
    );
    assert!(end.words.contains("status 11"), "{}", end.words);
}

#[tokio::test]
async fn item_7_the_mating_move_is_never_shown_and_the_result_is_known() {
    let mut rig = Rig::online().await;
    // The human mates.
    let mut table = rig
        .sit_down(Offer {
            color: Some(Color::Black),
            ..zh()
        })
        .await;
    for (ours, theirs) in [("f2f3", "e7e5"), ("g2g4", "d8h4")] {
        let plies = table.moves().len();
        table.play(ours).await;
        table.plies(plies + 1).await;
        rig.fake.play(&table.id, theirs);
        if theirs != "d8h4" {
            table.plies(plies + 2).await;
        }
    }
    let end = table.ended().await;
    assert_eq!(
        (end.result, end.termination),
        (
            GameResult::Decisive {
                winner: Color::Black
            },
            Termination::Mate
        )
    );
    // We mate, and the page cannot be read: our rules know.
    let mut table = rig.sit_down(zh()).await;
    for (theirs, ours) in [("f2f3", "e7e5"), ("g2g4", "d8h4")] {
        let plies = table.moves().len();
        rig.fake.play(&table.id, theirs);
        table.plies(plies + 1).await;
        if ours == "d8h4" {
            rig.fake
                .fault(&format!("/{}", table.id), 0, Trouble::Refuse(500));
            rig.fake.with(|state| state.hide_pages(true));
        }
        table.play(ours).await;
        if ours != "d8h4" {
            table.plies(plies + 2).await;
        }
    }
    let end = table.ended().await;
    assert_eq!(
        (end.result, end.termination),
        (
            GameResult::Decisive {
                winner: Color::Black
            },
            Termination::Mate
        )
    );
    // Neither page nor rules: it is over all the same.
    let mut table = three_plies(&mut rig).await;
    rig.fake.human_ends(&table.id, 2);
    let end = table.ended().await;
    assert_eq!(
        (end.result, end.termination),
        (GameResult::Unknown, Termination::Unknown)
    );
}

#[tokio::test]
async fn item_7_resigning_is_resign_and_then_abort() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    rig.fake.fault("/resign", 1, Trouble::Refuse(503));
    rig.fake.fault("/abort", 1, Trouble::LoseAnswer);
    table.command(GameCommand::Resign).await;
    let end = table.ended().await;
    assert_eq!(
        (end.result, end.termination),
        (
            GameResult::Decisive {
                winner: Color::White
            },
            Termination::Resignation
        )
    );
    let controls: Vec<String> = rig
        .fake
        .posts(&table.id)
        .into_iter()
        .filter(|path| !path.contains("move"))
        .collect();
    let words: Vec<&str> = controls
        .iter()
        .map(|path| path.rsplit('/').next().unwrap())
        .collect();
    let first_abort = words.iter().position(|word| *word == "abort").unwrap();
    assert_eq!(words[first_abort - 1], "resign", "{words:?}");
    assert!(!words[first_abort..].contains(&"resign"), "{words:?}");
    assert_eq!(rig.fake.game(&table.id).unwrap().result, "1-0");
}

#[tokio::test]
async fn item_7_a_resignation_that_nobody_announces_frees_the_slot() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    // The stream is away, the page cannot be read, and both halves of the resignation are taken.
    rig.fake.with(|state| {
        state.hide_pages(true);
        state.lock_stream(&table.id);
    });
    rig.fake.cut_streams();
    table
        .wait_for(|event| matches!(event, GameEvent::LinkLost).then_some(()))
        .await;
    table.command(GameCommand::Resign).await;
    let end = table.ended().await;
    assert_eq!(
        (end.result, end.termination),
        (
            GameResult::Decisive {
                winner: Color::White
            },
            Termination::Resignation
        )
    );
}

#[tokio::test]
async fn item_7_aborting_ends_without_a_result() {
    let mut rig = Rig::online().await;
    let mut table = rig.sit_down(zh()).await;
    table.command(GameCommand::Abort).await;
    let end = table.ended().await;
    assert_eq!(
        (end.result, end.termination),
        (GameResult::NoResult, Termination::Aborted)
    );
    assert!(rig.fake.posts("resign").is_empty());
}

#[tokio::test]
async fn item_7_after_the_end_a_greeting_still_goes_out_and_no_move() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    rig.fake.human_ends(&table.id, 2);
    table.ended().await;
    table.play("b8c6").await;
    table
        .command(GameCommand::Say {
            room: ChatRoom::Players,
            text: "thank you & goodbye".to_owned(),
        })
        .await;
    table
        .wait_for(|event| {
            matches!(
                event,
                GameEvent::Accepted {
                    command: CommandKind::Say,
                    ..
                }
            )
            .then_some(())
        })
        .await;
    let talk = rig.fake.game(&table.id).unwrap().talk;
    assert_eq!(
        talk,
        [("player".to_owned(), "thank you & goodbye".to_owned())]
    );
    assert!(rig.fake.posts("b8c6").is_empty());
    assert!(table.left().await, "then the client leaves");
}

#[tokio::test]
async fn item_7_a_greeting_on_leaving_still_goes_out() {
    let mut rig = Rig::online().await;
    let table = three_plies(&mut rig).await;
    let id = table.id.clone();
    table
        .command(GameCommand::Say {
            room: ChatRoom::Spectators,
            text: "bye".to_owned(),
        })
        .await;
    drop(table);
    rig.fake
        .until("the greeting", |state| {
            (state.games[&id].talk.len() == 1).then_some(())
        })
        .await;
}

#[tokio::test]
async fn item_7_what_the_server_does_not_have_is_refused_without_asking_it() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    let before = rig.fake.posts(&table.id).len();
    for command in [
        GameCommand::OfferDraw,
        GameCommand::ClaimVictory,
        GameCommand::CallFlag,
    ] {
        table.command(command).await;
        table
            .wait_for(|event| {
                matches!(
                    event,
                    GameEvent::Failed {
                        failure: CommandFailure::Refused { .. },
                        ..
                    }
                )
                .then_some(())
            })
            .await;
    }
    assert_eq!(rig.fake.posts(&table.id).len(), before);
}

#[tokio::test]
async fn item_7_chat_comes_and_goes_by_room() {
    let mut rig = Rig::online().await;
    let mut table = rig.sit_down(zh()).await;
    rig.fake.talk(&table.id, "player", "hé");
    rig.fake.talk(&table.id, "spectator", "who wins?");
    for (room, text) in [
        (ChatRoom::Players, "hé"),
        (ChatRoom::Spectators, "who wins?"),
    ] {
        let line = table.wait_for(|event| match event {
            GameEvent::Chatted(line) => Some(line.clone()),
            _ => None,
        });
        let line = line.await;
        assert_eq!(
            (line.room, line.text.as_str(), line.from.as_str()),
            (room, text, "visitor")
        );
    }
}
