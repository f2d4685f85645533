//! The eight points a PyChess client must keep, each as one or more tests named after it. Every one plays against the fake server.

use std::time::Duration;

use seneschal::game::{
    ChatRoom, CommandFailure, CommandKind, GameCommand, GameEvent, GameResult, GameSource,
    PlayerKind, Termination, TimeControl,
};
use seneschal::lobby::{ChallengeRefusal, ColorChoice, DeclineReason, OfferedVariant};
use seneschal::platform::{AccountCommand, AccountEvent, ClientEnd};
use seneschal::rules::{CastlingMode, Color, Variant};

use super::fake::Trouble;
use super::fake::game::Offer;
use super::rig::{Rig, Table};

const GUEST: &str = "Anon\u{2013}q7Xz";
const EMBASSY: &str = "rnbqkcabnr/pppppppppp/10/10/10/10/PPPPPPPPPP/RNBQKCABNR w KQkq - 0 1";

fn zh() -> Offer {
    Offer::new("visitor", "crazyhouse")
}

fn unanswered(event: &GameEvent) -> Option<()> {
    matches!(
        event,
        GameEvent::Failed {
            failure: CommandFailure::Unanswered,
            ..
        }
    )
    .then_some(())
}

/// e4 e5 Nf3, the bot to move.
async fn three_plies(rig: &mut Rig) -> Table {
    let mut table = rig.sit_down(zh()).await;
    rig.fake.play(&table.id, "e2e4");
    table.plies(1).await;
    table.play("e7e5").await;
    table.plies(2).await;
    rig.fake.play(&table.id, "g1f3");
    table.plies(3).await;
    table
}

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

// ---- 2: the capability header

#[tokio::test]
async fn item_2_the_header_lists_twins_and_nothing_on_two_boards() {
    let mut rig = Rig::start(|config| {
        config.variants = vec![
            (Variant::Crazyhouse, CastlingMode::Standard),
            (Variant::Crazyhouse, CastlingMode::Chess960),
            (Variant::Capahouse, CastlingMode::Standard),
            (Variant::Suicide, CastlingMode::Standard),
        ];
    })
    .await;
    rig.reconciled().await;
    let names = rig.fake.with(|state| state.capabilities.clone()).unwrap();
    assert_eq!(names, ["crazyhouse", "crazyhouse960", "capahouse"]);
    assert!(
        rig.fake
            .challenge(Offer::new("visitor", "capablanca"))
            .is_err()
    );
    assert!(
        rig.fake
            .challenge(Offer {
                chess960: true,
                ..zh()
            })
            .is_ok()
    );
}

#[tokio::test]
async fn item_2_without_variants_nothing_is_sent() {
    let rig = Rig::start(|config| config.variants.clear()).await;
    let requests = rig.fake.with(|state| state.requests.len());
    assert!(matches!(rig.end().await, ClientEnd::Stopped { words } if words.contains("variant")));
    assert_eq!(requests, 0);
}

// ---- 3: challenges

#[tokio::test]
async fn item_3_challenges_show_variant_flag_clock_and_guest() {
    let mut rig = Rig::online().await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    rig.fake
        .challenge(Offer {
            chess960: true,
            minutes: 0.25,
            increment: 0,
            color: None,
            ..Offer::new(GUEST, "capahouse")
        })
        .unwrap();
    let challenge = rig.challenged().await;
    assert_eq!(challenge.opponent.kind, PlayerKind::Guest);
    assert_eq!(
        challenge.variant,
        OfferedVariant::Known {
            variant: Variant::Capahouse,
            castling_mode: CastlingMode::Chess960
        }
    );
    assert_eq!(challenge.time_control, TimeControl::clock(15, 0));
    assert_eq!(challenge.color, ColorChoice::Random);
    assert!(!challenge.rated && !challenge.replayed);
    rig.fake
        .challenge(Offer {
            color: Some(Color::Black),
            ..Offer::new("visitor", "chess")
        })
        .unwrap();
    let challenge = rig.challenged().await;
    assert_eq!(
        challenge.variant,
        OfferedVariant::Known {
            variant: Variant::Chess,
            castling_mode: CastlingMode::Standard
        }
    );
    assert_eq!(
        (challenge.color, challenge.opponent.kind),
        (ColorChoice::White, PlayerKind::Human)
    );
}

#[tokio::test]
async fn item_3_declining_travels_as_a_form() {
    let mut rig = Rig::online().await;
    for (reason, word) in [
        (DeclineReason::Later, "later"),
        (DeclineReason::Variant, "variant"),
        (DeclineReason::TooFast, "tooFast"),
    ] {
        let id = rig.fake.challenge(zh()).unwrap();
        rig.challenged().await;
        rig.decline(&id, reason).await;
        let shown = rig
            .fake
            .until("the refusal", |state| state.invites[&id].declined.clone())
            .await;
        assert_eq!(shown, word);
        let told = rig.wait_for(|event| match event {
            AccountEvent::ChallengeDeclined { id, reason } => Some((id.to_string(), reason)),
            _ => None,
        });
        assert_eq!(told.await, (id, reason));
    }
}

#[tokio::test]
async fn item_3_a_challenge_right_after_connecting_may_be_old() {
    let mut rig = Rig::online().await;
    rig.fake.challenge(zh()).unwrap();
    assert!(rig.challenged().await.replayed);
}

#[tokio::test]
async fn item_3_what_bots_cannot_do_there_is_refused_here() {
    let mut rig = Rig::online().await;
    let request = seneschal::lobby::ChallengeRequest {
        request: seneschal::lobby::RequestId(4),
        opponent: seneschal::game::PlayerName::new("visitor"),
        variant: Variant::Crazyhouse,
        castling_mode: CastlingMode::Standard,
        time_control: TimeControl::clock(60, 0),
        rated: false,
        color: ColorChoice::Random,
    };
    rig.command(AccountCommand::Create(request)).await;
    let refusal = rig.wait_for(|event| match event {
        AccountEvent::ChallengeRefused { request, refusal } => Some((request.0, refusal)),
        _ => None,
    });
    assert!(matches!(
        refusal.await,
        (4, ChallengeRefusal::BadRequest { .. })
    ));
    rig.command(AccountCommand::ListBots).await;
    rig.wait_for(|event| matches!(event, AccountEvent::BotsOnline(None)).then_some(()))
        .await;
    assert!(rig.fake.posts("").is_empty());
}

// ---- 4: accepting

#[tokio::test]
async fn item_4_an_accepted_challenge_is_a_game_without_waiting_for_its_notice() {
    let mut rig = Rig::online().await;
    let id = rig.fake.challenge(zh()).unwrap();
    rig.challenged().await;
    // The notice would come through the account's stream, but that one says nothing any more.
    rig.fake.silence(true);
    rig.accept(&id).await;
    let notice = rig.started(&id).await;
    assert_eq!(
        (notice.source, notice.challenge.unwrap().as_str()),
        (GameSource::Challenge, id.as_str())
    );
    rig.fake.silence(false);
    let mut table = rig.open(&id).await;
    table.full().await;
    assert_eq!(table.start.unwrap().source, GameSource::Challenge);
}

#[tokio::test]
async fn item_4_a_game_that_was_never_made_frees_its_slot() {
    let mut rig = Rig::online().await;
    let id = rig
        .fake
        .challenge(Offer {
            fen: "8/8/8/8/8/8/8/8[] w - - 0 1".to_owned(),
            ..zh()
        })
        .unwrap();
    rig.challenged().await;
    rig.accept(&id).await;
    rig.started(&id).await;
    let mut table = rig.open(&id).await;
    let end = table.ended().await;
    assert_eq!(
        (end.result, end.termination),
        (GameResult::NoResult, Termination::NoStart)
    );
}

#[tokio::test]
async fn item_4_a_withdrawn_challenge_fails_once() {
    let mut rig = Rig::online().await;
    let id = rig.fake.challenge(zh()).unwrap();
    rig.challenged().await;
    rig.fake.cancel(&id);
    rig.accept(&id).await;
    let failed = rig.wait_for(|event| match event {
        AccountEvent::AcceptFailed { id, .. } => Some(id.to_string()),
        _ => None,
    });
    assert_eq!(failed.await, id);
    assert_eq!(rig.fake.posts("accept").len(), 1);
}

#[tokio::test]
async fn item_4_an_accept_whose_answer_is_lost_still_becomes_a_game() {
    let mut rig = Rig::online().await;
    rig.fake.fault("accept", 1, Trouble::LoseAnswer);
    let table = rig.sit_down(zh()).await;
    assert_eq!(table.moves().len(), 0);
}

#[tokio::test]
async fn item_4_an_accept_that_did_not_arrive_is_sent_again() {
    let mut rig = Rig::online().await;
    rig.fake.fault("accept", 1, Trouble::Refuse(503));
    let table = rig.sit_down(zh()).await;
    assert_eq!(table.moves().len(), 0);
    assert_eq!(rig.fake.posts("accept").len(), 2);
}

#[tokio::test]
async fn item_4_the_shuffled_flag_comes_from_challenge_notice_list_or_page() {
    let mut rig = Rig::online().await;
    let shuffled = Offer {
        chess960: true,
        ..Offer::new("visitor", "capablanca")
    };
    let mut table = rig.sit_down(shuffled).await;
    let start = table.start.clone().unwrap();
    assert_eq!(
        start.castling_mode,
        CastlingMode::Chess960,
        "from the challenge"
    );
    rig.fake.human_ends(&table.id, 2);
    table.ended().await;

    // Later than what might have waited for us.
    tokio::time::sleep(Duration::from_millis(150)).await;
    let again = rig.fake.rematch(&table.id);
    assert_eq!(rig.started(&again).await.source, GameSource::Rematch);
    let mut table = rig.open(&again).await;
    table.full().await;
    assert_eq!(
        table.start.clone().unwrap().castling_mode,
        CastlingMode::Chess960,
        "from the start notice"
    );

    // The daemon comes back and knows nothing but the id; the account's stream does not mention a game without moves.
    drop(table);
    let mut rig = rig.restart_client().await;
    rig.reconciled().await;
    let mut table = rig.open(&again).await;
    table.full().await;
    assert_eq!(
        table.start.clone().unwrap().castling_mode,
        CastlingMode::Chess960,
        "from the page"
    );
    let pages = rig.fake.with(|state| {
        state
            .requests
            .iter()
            .filter(|(_, request)| request.path == format!("/{again}"))
            .count()
    });
    assert!(pages >= 1);

    table
        .play(
            &table
                .history()
                .position()
                .uci(table.history().position().legal_moves()[0]),
        )
        .await;
    table.plies(1).await;
    drop(table);
    let mut rig = rig.restart_client().await;
    let snapshot = rig.reconciled().await;
    assert_eq!(snapshot.games.len(), 1, "from the lists");
    assert!(!snapshot.games_complete, "the lists prove nothing");
    let mut table = rig.open(&again).await;
    table.full().await;
    assert_eq!(
        table.start.unwrap().castling_mode,
        CastlingMode::Chess960,
        "from the lists"
    );
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
        let streaming =
            |state: &mut super::fake::State| (!state.is_streaming(&table.id)).then_some(());
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
    let opens = |state: &mut super::fake::State| {
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
