//! The client plays whole games against the fake, through every fault.

use std::time::Duration;

use seneschal::game::{GameResult, Termination};
use seneschal::platform::ClientEnd;
use seneschal::rules::Variant;

use crate::lichess::fake::{Answer, Fake, FakeGame, Send};
use crate::lichess::rig::{Player, Rig, config};

/// Every ply of ours was accepted once, and the plies are the ones that we owed.
pub fn assert_one_move_per_ply(fake: &Fake, id: &str) {
    let state = fake.state();
    let game = &state.games[id];
    let ours: Vec<usize> = state
        .accepted
        .iter()
        .filter(|(game, ..)| game == id)
        .map(|(_, ply, _)| *ply)
        .collect();
    let first = usize::from(!game.we_are_white);
    let due: Vec<usize> = (first..game.moves.len()).step_by(2).collect();
    assert_eq!(ours, due, "accepted plies of {id}");
}

#[tokio::test]
async fn a_whole_game_is_played() {
    for (variant, white) in [
        (Variant::Crazyhouse, true),
        (Variant::Chess, false),
        (Variant::Atomic, true),
    ] {
        let mut rig = Rig::online().await;
        let game = FakeGame::new(variant, white);
        rig.fake.start_game("game0001", game);
        if !white {
            let mv = rig.fake.state().games["game0001"].some_move();
            rig.fake.opponent_moves("game0001", &mv);
        }
        let notice = rig.started().await;
        assert!(notice.playable);
        let mut player = Player::new(rig.open(notice.id.as_str()).await);
        player.play_until(|state| state.moves.len() >= 60).await;
        drop(player);
        assert_one_move_per_ply(&rig.fake, "game0001");
        let (end, fake) = rig.end().await;
        assert_eq!(end, ClientEnd::Asked);
        assert_eq!(
            fake.count("POST", "/move/"),
            fake.state().accepted.len(),
            "no superfluous request"
        );
    }
}

#[tokio::test]
async fn a_game_survives_each_fault() {
    let html = "<html><head><title>502 Bad Gateway</title></head></html>";
    let faults: Vec<(&str, Vec<Answer>)> = vec![
        ("502 before", vec![Answer::status(502, html)]),
        ("502 after", vec![Answer::status(502, html).done()]),
        (
            "429 empty",
            vec![Answer::status(429, ""), Answer::status(429, "")],
        ),
        (
            "429 worded",
            vec![Answer::status(
                429,
                r#"{"error":"Too many requests. Try again later."}"#,
            )],
        ),
        (
            "429 retry after",
            vec![Answer::WithHeaders(
                429,
                vec![("Retry-After", "1".to_owned())],
                String::new(),
            )],
        ),
        (
            "429 named",
            vec![Answer::status(
                429,
                r#"{"error":"x","ratelimit":{"key":"move","seconds":1}}"#,
            )],
        ),
        ("429 html", vec![Answer::status(429, html)]),
        ("reset before", vec![Answer::Reset]),
        ("reset after", vec![Answer::Reset.done()]),
        ("no answer", vec![Answer::Hang]),
        ("no answer, but done", vec![Answer::Hang.done()]),
        ("half an answer, but done", vec![Answer::HalfHead.done()]),
        (
            "slow",
            vec![Answer::Normal.after(Duration::from_millis(500))],
        ),
        (
            "slower than the deadline",
            vec![Answer::Normal.after(Duration::from_millis(1500))],
        ),
        (
            "503 three times",
            vec![
                Answer::status(503, ""),
                Answer::status(503, ""),
                Answer::status(503, ""),
            ],
        ),
        ("404 page", vec![Answer::status(404, html)]),
        (
            "redirect",
            vec![Answer::WithHeaders(
                302,
                vec![("Location", "http://127.0.0.1:9/".to_owned())],
                String::new(),
            )],
        ),
    ];
    for (name, answers) in faults {
        let mut rig = Rig::online().await;
        rig.fake
            .start_game("game0001", FakeGame::new(Variant::Crazyhouse, true));
        let mut player = Player::new(rig.open("game0001").await);
        player.play_until(|state| state.moves.len() >= 4).await;
        let faulty = answers.len();
        rig.fake.script("POST", "/move/", answers);
        player.play_until(|state| state.moves.len() >= 12).await;
        assert_one_move_per_ply(&rig.fake, "game0001");
        let accepted = rig.fake.state().accepted.len();
        let sent = rig.fake.count("POST", "/move/");
        assert!(
            sent <= accepted + faulty,
            "{name}: {sent} requests for {accepted} moves"
        );
        rig.started().await;
    }
}

#[tokio::test]
async fn a_game_survives_each_end_of_its_stream() {
    let ends: Vec<(&str, Vec<Send>)> = vec![
        ("orderly end", vec![Send::End]),
        ("cut", vec![Send::Cut]),
        ("reset", vec![Send::Reset]),
        (
            "cut inside a line",
            vec![
                Send::Bytes(b"{\"type\":\"gameState\",\"moves\":\"e2".to_vec()),
                Send::Cut,
            ],
        ),
        (
            "end inside a line",
            vec![Send::Bytes(b"{\"type\":\"gameSta".to_vec()), Send::End],
        ),
        ("silence", vec![Send::Silence]),
        (
            "a line that never ends",
            vec![
                Send::Bytes(vec![b'x'; 1 << 20]),
                Send::Bytes(vec![b'x'; 64]),
            ],
        ),
        (
            "bad UTF-8",
            vec![Send::Bytes(b"{\"type\":\"gameState\xff\"}\n".to_vec())],
        ),
        ("not JSON", vec![Send::Line("<html>502</html>".to_owned())]),
        (
            "a state without moves",
            vec![Send::Line(
                r#"{"type":"gameState","status":"started"}"#.to_owned(),
            )],
        ),
        (
            "an error object",
            vec![Send::Line(
                r#"{"error":"Too many requests. Try again later."}"#.to_owned(),
            )],
        ),
    ];
    for (name, ends) in ends {
        let rig = Rig::online().await;
        rig.fake
            .start_game("game0001", FakeGame::new(Variant::Crazyhouse, true));
        let mut player = Player::new(rig.open("game0001").await);
        player.play_until(|state| state.moves.len() >= 4).await;
        // The opponent thinks while the stream breaks, and moves before it is back.
        let replies = |on: bool| rig.fake.state().games.get_mut("game0001").unwrap().replies = on;
        replies(false);
        player.play_until(|state| state.moves.len() % 2 == 1).await;
        let fulls = player.fulls;
        let plies = {
            let mut state = rig.fake.state();
            let game = state.games.get_mut("game0001").unwrap();
            let reply = game.some_move();
            game.play(&reply).unwrap();
            game.moves.len()
        };
        for end in ends {
            assert!(rig.fake.send_game("game0001", end), "{name}");
        }
        replies(true);
        player
            .play_until(|state| state.moves.len() >= plies + 8)
            .await;
        assert_eq!(player.lost, 1, "{name}");
        assert!(player.fulls > fulls, "{name}: the state was sent anew");
        assert_one_move_per_ply(&rig.fake, "game0001");
    }
}

/// Pseudo-random cuts over several games at the same time: nothing is lost, nothing is doubled.
#[tokio::test]
async fn many_cuts_over_several_games_lose_and_double_nothing() {
    const GAMES: usize = 4;
    let mut rig = Rig::online().await;
    let ids: Vec<String> = (0..GAMES).map(|n| format!("game{n:04}")).collect();
    let mut players = tokio::task::JoinSet::new();
    for id in &ids {
        rig.fake
            .start_game(id, FakeGame::new(Variant::Crazyhouse, true));
        let mut player = Player::new(rig.open(id).await);
        players.spawn(async move {
            while player
                .state
                .as_ref()
                .is_none_or(|state| state.moves.len() < 80)
            {
                let event = player
                    .receive()
                    .await
                    .expect("the link stays open until the end");
                if player.on_event(event).await.is_some() {
                    break;
                }
            }
            player.lost
        });
    }
    let mut random = 12_345_u32;
    let mut draw = |sides: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) % sides
    };
    let answers = (0..400).map(|_| match draw(10) {
        0 => Answer::Reset.done(),
        1 => Answer::status(502, "<html>").done(),
        2 => Answer::status(502, "<html>"),
        _ => Answer::Normal.after(Duration::from_millis(20)),
    });
    let answers: Vec<Answer> = answers.collect();
    rig.fake.script("POST", "/move/", answers);
    for _ in 0..60 {
        let id = &ids[draw(GAMES as u32) as usize];
        match draw(4) {
            0 => rig.fake.send_game(id, Send::End),
            1 => rig.fake.send_game(id, Send::Cut),
            2 => rig.fake.send_game(id, Send::Reset),
            _ => {
                rig.fake
                    .send_game(id, Send::Bytes(b"{\"type\":\"gameState\",\"mo".to_vec()));
                rig.fake.send_game(id, Send::Cut)
            }
        };
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    let lost: usize = players.join_all().await.into_iter().sum();
    assert!(lost >= 10, "the cuts were felt: {lost}");
    for id in &ids {
        assert_one_move_per_ply(&rig.fake, id);
    }
    rig.started().await;
}

#[tokio::test]
async fn the_end_of_a_game_is_learned_while_the_stream_is_down() {
    let mut rig = Rig::online().await;
    rig.fake.start_game(
        "game0001",
        FakeGame {
            replies: false,
            ..FakeGame::new(Variant::Crazyhouse, true)
        },
    );
    let mut player = Player::new(rig.open("game0001").await);
    player.play_until(|state| state.moves.len() == 1).await;
    {
        let mut state = rig.fake.state();
        let game = state.games.get_mut("game0001").unwrap();
        game.status = "resign".to_owned();
        game.winner = Some("white");
    }
    rig.fake.send_game("game0001", Send::Cut);
    let end = player.play_out().await;
    assert_eq!(end.termination, Termination::Resignation);
    assert!(matches!(end.result, GameResult::Decisive { .. }));
    drop(player);
    rig.started().await;
    let (end, fake) = rig.end().await;
    assert_eq!(end, ClientEnd::Asked);
    assert_eq!(fake.count("GET", "/api/bot/game/stream/"), 2);
}

/// The client's own configuration does not matter to the daemon's links: a game can be opened again.
#[tokio::test]
async fn a_game_can_be_opened_again_after_its_link_was_dropped() {
    let mut rig = Rig::with(Fake::start().await, config());
    rig.reconciled().await;
    rig.fake
        .start_game("game0001", FakeGame::new(Variant::Chess, true));
    let mut first = Player::new(rig.open("game0001").await);
    first.play_until(|state| state.moves.len() >= 2).await;
    drop(first);
    let mut second = Player::new(rig.open("game0001").await);
    second.play_until(|state| state.moves.len() >= 8).await;
    assert_one_move_per_ply(&rig.fake, "game0001");
}
