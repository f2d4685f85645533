//! Items 1 and 5: units, flags and starts; the board from start and moves.

use std::time::Duration;

use seneschal::game::{GameEvent, GameResult, TimeControl};
use seneschal::rules::CastlingMode;

use super::super::fake::game::Offer;
use super::super::rig::Rig;
use super::{EMBASSY, three_plies, zh};

// ---- 1: types and units of its own

#[tokio::test]
async fn item_1_units_flags_and_starts_are_read_as_the_server_means_them() {
    let mut rig = Rig::online().await;
    // Fractions of minutes make fractional milliseconds; increments are seconds.
    let offer = Offer {
        minutes: 1.5,
        increment: 3,
        ..zh()
    };
    let mut table = rig.sit_down(offer).await;
    let start = table.start.clone().unwrap();
    assert_eq!(start.time_control, TimeControl::clock(90, 3));
    assert_eq!(
        (start.castling_mode, start.initial_fen, start.rated),
        (CastlingMode::Standard, None, false)
    );
    let clocks = table.state.as_ref().unwrap().clocks.unwrap();
    assert_eq!(clocks.white, Duration::from_secs(90));
    // Capital words for truth values, and a start of its own.
    let fen = "4k3/P7/8/8/8/8/7p/4K3[] b - - 0 1";
    let other = rig
        .sit_down(Offer {
            fen: fen.to_owned(),
            ..zh()
        })
        .await;
    assert_eq!(
        other.start.as_ref().unwrap().initial_fen.as_deref(),
        Some(fen)
    );
    assert!(other.our_turn(), "Black begins here");
    other.play("h2h1q").await;
    rig.fake
        .until("the promotion", |state| {
            (state.games[&other.id].moves == ["h2h1q"]).then_some(())
        })
        .await;
    rig.fake.human_ends(&table.id, 0);
    assert_eq!(table.ended().await.result, GameResult::NoResult);
}

// ---- 5: positions

#[tokio::test]
async fn item_5_takebacks_come_without_a_word_and_are_believed() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    table.play("b8c6").await;
    table.plies(4).await;
    rig.fake.take_back(&table.id);
    rig.fake.play(&table.id, "d2d4");
    table.plies(3).await;
    assert_eq!(table.moves(), ["e2e4", "e7e5", "d2d4"]);
    table.play("e5d4").await;
    table.plies(4).await;
    assert_eq!(
        rig.fake.game(&table.id).unwrap().moves.last().unwrap(),
        "e5d4"
    );
}

#[tokio::test]
async fn item_5_embassy_castling_behind_the_name_capablanca() {
    let mut rig = Rig::online().await;
    let fen = "r3k4r/pppppppppp/10/10/10/10/PPPPPPPPPP/R3K4R w KQkq - 0 1";
    for (fen, ours) in [(EMBASSY, None), (fen, Some("e8h8")), (fen, Some("e8b8"))] {
        let mut table = rig
            .sit_down(Offer {
                fen: fen.to_owned(),
                ..Offer::new("visitor", "capablanca")
            })
            .await;
        assert_eq!(
            table.start.as_ref().unwrap().castling_mode,
            CastlingMode::Standard
        );
        rig.fake.play(&table.id, "a2a3");
        table.plies(1).await;
        if let Some(castling) = ours {
            table.play(castling).await;
            table.plies(2).await;
            let sent = rig.fake.posts(&format!("{}/move", table.id));
            assert!(sent[0].ends_with(castling), "{sent:?}");
        }
    }
}

#[tokio::test]
async fn item_5_castling_of_both_kinds_is_spelt_as_the_server_spells_it() {
    let mut rig = Rig::online().await;
    let capablanca = "r4k3r/pppppppppp/10/10/10/10/PPPPPPPPPP/R4K3R b KQkq - 0 1";
    let shuffled = "r1k5r1/pppppppppp/10/10/10/10/PPPPPPPPPP/R1K5R1 b IAia - 0 1";
    let zh = "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R[] b KQkq - 0 1";
    for (variant, chess960, fen, castling) in [
        ("capablanca", false, capablanca, "f8i8"),
        ("capablanca", false, capablanca, "f8c8"),
        ("capablanca", true, shuffled, "c8i8"),
        ("capablanca", true, shuffled, "c8a8"),
        ("crazyhouse", false, zh, "e8g8"),
        ("crazyhouse", true, zh, "e8h8"),
    ] {
        let offer = Offer {
            chess960,
            fen: fen.to_owned(),
            ..Offer::new("visitor", variant)
        };
        let mut table = rig.sit_down(offer).await;
        table.play(castling).await;
        table.plies(1).await;
        let sent = rig.fake.posts(&format!("{}/move", table.id));
        assert!(
            sent[0].ends_with(castling),
            "{variant} {chess960}: {sent:?}"
        );
    }
}

#[tokio::test]
async fn item_5_another_full_state_replaces_everything() {
    let mut rig = Rig::online().await;
    let mut table = three_plies(&mut rig).await;
    rig.fake.cut_streams();
    table
        .wait_for(|event| matches!(event, GameEvent::LinkLost).then_some(()))
        .await;
    table.full().await;
    assert_eq!(table.moves().len(), 3);
    table.play("b8c6").await;
    table.plies(4).await;
}
