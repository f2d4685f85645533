//! Group C of the cases from public bug reports: game stream, clock and restart, replayed on a house. Streams that break
//! (C27), many slow games (C31), engines that hang (C32), absent opponents (C33) and unknown lines (C34) are in
//! `daemon_cases`.

use seneschal::house::account::{AccountKind, Scopes};
use seneschal::house::endpoint::Endpoint;
use seneschal::house::fault::{Effect, Fault, Loss, When};
use seneschal::house::lines::LineKind;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::daemon_rig::{
    Options, PATIENCE, Stage, at, count, form, of, play_first_moves, quick_house, scripted,
    stage_with, until,
};
use crate::house::client::{Bot, Lines, status};

/// A game of the robot, which has White if so wanted, against a player of the test.
async fn begin(stage: &Stage, player: &Bot, form: &[(&str, &str)], robot_is_white: bool) -> String {
    let mut form = form.to_vec();
    form.push(("color", if robot_is_white { "black" } else { "white" }));
    stage.online("robot").await;
    stage.begin(player, "robot", &form).await
}

/// Reads states until so many plies are there, or the game is over.
async fn plies(lines: &mut Lines, count: usize) -> Value {
    let read = async {
        loop {
            let mut line = lines.json().await;
            if line["type"] == "gameFull" {
                line = line["state"].clone();
            }
            if line["type"] != "gameState" {
                continue;
            }
            let moves = line["moves"].as_str().expect("moves").split_whitespace();
            if moves.count() >= count || status(&line) != "started" {
                return line;
            }
        }
    };
    timeout(PATIENCE, read).await.expect("the game goes on")
}

/// 64 plies of a real game; the last position occurs for the third time, with White to move.
const THREEFOLD: &str = "b1c3 d7d5 b2b3 d5d4 c3b1 e7e5 c1a3 g8f6 a3f8 h8f8 h2h3 c8f5 c2c3 c7c5 g2g4 f5e4 g1f3 f6d5 d2d3 \
    e4f3 e2f3 d4c3 h3h4 b8c6 h4h5 d8a5 d1c1 c6d4 b3b4 a5b4 f3f4 c3c2 b1d2 d5f4 h1h3 f4h3 f1h3 b4c3 h5h6 d4f3 e1e2 f3d2 \
    h6g7 f8g8 c1d2 c3a1 d2c2 a1h1 c2c5 h1h3 c5e5 e8d7 e5d5 d7e8 d5b5 e8e7 b5e5 e7d7 e5d5 d7e8 d5e4 e8d8 e4d5 d8e8";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c21_a_third_occurrence_that_the_platform_calls_running_leads_to_no_loop() {
    let mut stage = Stage::open(quick_house()).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let options = Options {
        searcher: scripted(THREEFOLD),
        ..Options::default()
    };
    let daemon = stage.run(&options).await;
    let stats = daemon.stats.clone();
    let game = begin(&stage, &anna, &form("standard", "180", "4"), true).await;
    let mut lines = anna.game(&game).await;
    let moves: Vec<&str> = THREEFOLD.split_whitespace().collect();
    for ply in (1..moves.len()).step_by(2) {
        let state = plies(&mut lines, ply).await;
        assert_eq!(
            state["moves"],
            moves[..ply].join(" "),
            "the script is played"
        );
        if ply + 1 == moves.len() {
            // The platform shows the last position as running, and for some time nothing else.
            let running = json!({"type": "gameState", "moves": THREEFOLD.split_whitespace().collect::<Vec<_>>().join(" "),
                "wtime": 191_330, "btime": 72_430, "winc": 4_000, "binc": 4_000, "status": "started"});
            let insert = Effect::Insert {
                line: running.to_string(),
            };
            let on_state = |effect| Fault {
                line: Some(LineKind::GameState),
                ..of("robot", at(Endpoint::GameStream, When::Always, effect))
            };
            stage.set_faults(vec![
                count(Endpoint::Move),
                count(Endpoint::Draw),
                count(Endpoint::Resign),
                Fault {
                    limit: Some(1),
                    ..on_state(insert)
                },
            ]);
        }
        anna.play(&game, moves[ply]).await;
    }
    let last = plies(&mut lines, usize::MAX).await;
    assert_eq!(status(&last), "draw");
    until("the end at our side", || {
        stats.snapshot().finished.values().sum::<u64>() == 1
    })
    .await;
    let struck = stage.house.faults_struck();
    assert_eq!(struck[3], 1, "the running state was shown");
    // One move is the test's own.
    assert!(
        struck[0] <= 2 && struck[1] <= 1 && struck[2] == 0,
        "{struck:?}"
    );
    daemon.stop().await;
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c22_the_echo_of_our_own_draw_offer_brings_no_second_move() {
    let mut stage = stage_with(vec![of("robot", count(Endpoint::Move))]).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let mut options = Options {
        searcher: scripted(""),
        ..Options::default()
    };
    options.game.draw.min_ply = 2;
    options.game.draw.moves = 1;
    let daemon = stage.run(&options).await;
    let game = begin(&stage, &anna, &form("crazyhouse", "180", "0"), true).await;
    let mut lines = anna.game(&game).await;
    let mut offered = 0;
    let mut known = 0;
    let mut moves = 0;
    while moves < 24 {
        let state = plies(&mut lines, 0).await;
        if status(&state) != "started" {
            break;
        }
        offered += usize::from(state["wdraw"] == true);
        moves = state["moves"]
            .as_str()
            .expect("moves")
            .split_whitespace()
            .count();
        if moves % 2 == 1 && moves > known {
            known = moves;
            let words: Vec<&str> = state["moves"]
                .as_str()
                .expect("moves")
                .split_whitespace()
                .collect();
            let position = crate::daemon_rig::replay("crazyhouse", None, &words);
            let legal = position.legal_moves();
            let Some(&m) = legal.iter().next() else { break };
            anna.play(&game, &position.uci(m)).await;
        }
    }
    assert!(offered > 0, "a draw was offered, and the platform said so");
    daemon.stop().await;
    // One request a ply of ours: the states that repeat the moves brought no other.
    let played = stage.house.hall().look(&game, |game, _| game.plies());
    let ours = played.expect("the game").div_ceil(2);
    assert_eq!(stage.house.faults_struck()[0] as usize, ours);
    stage.expect_no_violations();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c25_positions_in_which_a_draw_was_claimed_too_early_are_played_on() {
    let positions = [
        "rn1qk2r/1p2n3/2pp1p2/p3p3/4P1b1/1P1PPN2/PBPN2B1/3R1RK1 w kq - 0 18",
        "8/8/8/8/6k1/6p1/6K1/8 w - - 10 83",
    ];
    for fen in positions {
        let mut stage = Stage::open(quick_house()).await;
        let anna = stage.player("Anna", AccountKind::Bot).await;
        let mut options = Options::default();
        options.lobby.accept.custom_positions = true;
        options.game.resign.enabled = false;
        options.game.draw.offer = false;
        options.game.draw.accept = false;
        let daemon = stage.run(&options).await;
        let mut form = form("fromPosition", "120", "1").to_vec();
        form.push(("fen", fen));
        let game = begin(&stage, &anna, &form, true).await;
        let last = play_first_moves(&anna, &game, 12).await;
        let moves = last["moves"]
            .as_str()
            .expect("moves")
            .split_whitespace()
            .count();
        let over = status(&last) != "started";
        assert!(moves >= 12 || (over && moves > 0), "{fen}: {last}");
        assert!(
            !["outoftime", "resign", "aborted"].contains(&status(&last)),
            "{fen}: {last}"
        );
        daemon.stop().await;
        stage.expect_no_violations();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c28_after_a_gap_of_three_plies_everything_is_rebuilt() {
    let mut stage = Stage::open(quick_house()).await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let options = Options {
        searcher: scripted("e2e4"),
        ..Options::default()
    };
    let daemon = stage.run(&options).await;
    let game = begin(&stage, &anna, &form("standard", "120", "1"), true).await;
    let mut lines = anna.game(&game).await;
    plies(&mut lines, 1).await;
    // Its stream is lost and does not come back, and somebody else moves for it meanwhile.
    let closed = Effect::Html { status: 502 };
    stage.set_faults(vec![of(
        "robot",
        at(Endpoint::GameStream, When::Always, closed),
    )]);
    assert_eq!(
        stage.house.cut_streams("robot", false, true, Loss::Reset),
        1
    );
    until("the attempts to come back", || stage.struck() >= 2).await;
    let token = stage
        .house
        .issue_token("Robot", Scopes::bot())
        .await
        .expect("a token");
    let hand = Bot::with_token(stage.house.base_url(), "Robot", token.reveal());
    anna.play(&game, "e7e5").await;
    hand.play(&game, "g1f3").await;
    anna.play(&game, "b8c6").await;
    stage.set_faults(Vec::new());
    let state = plies(&mut lines, 5).await;
    let moves = state["moves"].as_str().expect("moves");
    assert!(moves.starts_with("e2e4 e7e5 g1f3 b8c6 "), "{moves}");
    assert_eq!(status(&state), "started");
    let last = play_first_moves(&anna, &game, 11).await;
    assert_ne!(status(&last), "outoftime");
    daemon.stop().await;
    stage.expect_no_violations();
}
