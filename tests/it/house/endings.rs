//! Every way a game ends: by rule, by clock, by absence; what the streams and the page say of it.

use std::time::Duration;

use seneschal::game::TimeControl;
use seneschal::house::game::{Game, NewGame, Note, PlayRefusal, Seat, start_position};
use seneschal::house::status::Status;
use seneschal::house::variant::HouseVariant;
use seneschal::rules::Color;
use serde_json::json;

use super::client::{BLITZ, Next, begin, config, house_with_bots, status};

fn seat(name: &str) -> Seat {
    Seat {
        account: name.to_lowercase(),
        name: name.to_owned(),
        title: Some("BOT".to_owned()),
        rating: 1500,
        provisional: true,
        takebacks: false,
        rating_diff: None,
        secret: "abcd".to_owned(),
    }
}

fn game(variant: &str, fen: Option<&str>, time: TimeControl) -> Game {
    let variant = HouseVariant::from_key(variant).unwrap();
    let new = NewGame {
        id: "abcdefgh".to_owned(),
        variant,
        rated: false,
        seats: [seat("Ann"), seat("Bob")],
        time,
        initial_fen: fen.map(str::to_owned),
        start: start_position(variant, fen).unwrap(),
        terms: Default::default(),
    };
    Game::new(new, 0)
}

/// Plays moves at the given time; the last one's notes.
fn play(game: &mut Game, moves: &str, now_ms: i64) -> Vec<Note> {
    let mut notes = Vec::new();
    for uci in moves.split_whitespace() {
        let color = game.turn();
        notes = game.play(color, uci, None, now_ms).unwrap().notes;
    }
    notes
}

/// Status, winner and sentence after these moves.
fn end_of(variant: &str, fen: Option<&str>, moves: &str) -> (Status, Option<Color>, String) {
    let mut game = game(variant, fen, TimeControl::Unlimited);
    play(&mut game, moves, 0);
    let reason = game.reason.clone().unwrap_or_default();
    (game.status, game.winner, reason)
}

#[test]
fn rules_end_games_with_their_status_and_a_sentence() {
    use Color::{Black, White};
    let check = |variant, fen, moves, status, winner, words: &str| {
        let (got_status, got_winner, reason) = end_of(variant, fen, moves);
        assert_eq!(
            (got_status, got_winner),
            (status, winner),
            "{variant} {moves}: {reason}"
        );
        assert!(reason.contains(words), "{variant}: {reason}");
    };
    check(
        "standard",
        None,
        "f2f3 e7e5 g2g4 d8h4",
        Status::Mate,
        Some(Black),
        "Checkmate",
    );
    let stalemate = Some("7k/5K2/8/6Q1/8/8/8/8 w - - 0 1");
    check(
        "fromPosition",
        stalemate,
        "g5g6",
        Status::Stalemate,
        None,
        "Stalemate",
    );
    let bare = Some("7k/8/8/8/8/8/5p2/6K1 w - - 0 1");
    check(
        "fromPosition",
        bare,
        "g1f2",
        Status::Draw,
        None,
        "mate with what is left",
    );
    let knights = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8";
    check("standard", None, knights, Status::Draw, None, "third time");
    check("crazyhouse", None, knights, Status::Draw, None, "in hand");
    check(
        "capablanca",
        None,
        "b1c3 b8c6 c3b1 c6b8 b1c3 b8c6 c3b1 c6b8",
        Status::Draw,
        None,
        "third time",
    );
    let hill = "e2e4 a7a6 e1e2 a6a5 e2e3 a5a4 e3d4";
    check(
        "kingOfTheHill",
        None,
        hill,
        Status::VariantEnd,
        Some(White),
        "centre",
    );
    let bomb = "g1f3 a7a6 f3e5 a6a5 e5d7";
    check(
        "atomic",
        None,
        bomb,
        Status::VariantEnd,
        Some(White),
        "exploded",
    );
    let checks = "e2e4 e7e5 f1c4 a7a6 c4f7 e8f7 d1h5 g7g6";
    let (status, ..) = end_of("threeCheck", None, checks);
    assert_eq!(status, Status::Started, "two checks are not three");
    let third = "e2e4 e7e5 f1c4 a7a6 c4f7 e8f7 d1h5 g7g6 h5g6";
    check(
        "threeCheck",
        None,
        third,
        Status::VariantEnd,
        Some(White),
        "last check",
    );
    let fifty = Some("4k3/8/8/8/8/8/8/R3K3 w - - 99 80");
    check(
        "fromPosition",
        fifty,
        "a1a2",
        Status::Draw,
        None,
        "Fifty moves",
    );
}

/// A move that ends no game by itself, unless it is the last one that may be played.
pub(super) fn quiet_move(game: &Game, seed: &mut u64) -> String {
    let moves = game.position().legal_moves();
    let ucis: Vec<String> = moves.iter().map(|m| game.position().uci(*m)).collect();
    for _ in 0..400 {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let uci = &ucis[(*seed >> 33) as usize % ucis.len()];
        let mut trial = game.clone();
        play(&mut trial, uci, 0);
        let at_limit = trial.plies() >= 600;
        if (at_limit || !trial.status.is_over()) && trial.position().has_legal_move() {
            return uci.clone();
        }
    }
    panic!("no move goes on");
}

#[test]
fn six_hundred_moves_end_a_drop_game_with_a_message() {
    let mut game = game("crazyhouse", None, TimeControl::Unlimited);
    let mut seed = 7_u64;
    let mut last = Vec::new();
    while !game.status.is_over() {
        let uci = quiet_move(&game, &mut seed);
        last = play(&mut game, &uci, 0);
    }
    assert_eq!(game.plies(), 600);
    assert_eq!((game.status, game.winner), (Status::Draw, None));
    let Some(Note::Chat(line)) = last.first() else {
        panic!("the message comes first: {last:?}");
    };
    assert!(line.text.contains("600 moves"), "{}", line.text);
    assert_eq!(line.username, "lichess");
    let refused = game.play(game.turn(), "e2e4", None, 0).unwrap_err();
    assert_eq!(refused, PlayRefusal::NotYourTurn);
}

#[test]
fn a_fallen_flag_wins_only_against_what_could_mate() {
    let flag = |variant: &str, fen: Option<&str>, moves: &str| {
        let mut game = game(variant, fen, TimeControl::clock(1, 0));
        play(&mut game, moves, 0);
        assert!(game.flag_if_due(999).is_none());
        game.flag_if_due(1_000).expect("the flag has fallen");
        (game.status, game.winner, game.reason.clone().unwrap())
    };
    let (status, winner, reason) = flag("standard", None, "e2e4 e7e5");
    assert_eq!((status, winner), (Status::OutOfTime, Some(Color::Black)));
    assert!(reason.contains("White has no time left"), "{reason}");
    let bare = Some("k7/7p/8/8/8/8/7Q/K7 b - - 0 1");
    let (status, winner, _) = flag("fromPosition", bare, "a8b7 h2h3");
    assert_eq!((status, winner), (Status::OutOfTime, Some(Color::White)));
    let bare = Some("k7/8/8/8/8/8/7Q/K7 w - - 0 1");
    let (status, winner, reason) = flag("fromPosition", bare, "h2h3 a8b8");
    assert_eq!((status, winner), (Status::OutOfTime, None));
    assert!(reason.contains("could never have mated"), "{reason}");
    // With drops there is no dead material.
    let bare = Some("k7/8/8/8/8/8/7Q/K7[] w - - 0 1");
    let (_, winner, _) = flag("crazyhouse960", bare, "h2h3 a8b8");
    assert_eq!(winner, Some(Color::Black));
}

#[test]
fn who_offered_a_draw_gets_it_when_the_flag_falls() {
    let mut game = game("standard", None, TimeControl::clock(1, 0));
    play(&mut game, "e2e4 e7e5 g1f3", 0);
    game.answer_draw(Color::White, true, 0);
    game.flag_if_due(5_000).unwrap();
    assert_eq!((game.status, game.winner), (Status::Draw, None));
}

#[test]
fn a_move_after_the_flag_is_not_played() {
    let mut game = game("standard", None, TimeControl::clock(1, 0));
    play(&mut game, "e2e4 e7e5", 0);
    let played = game.play(Color::White, "g1f3", None, 1_500).unwrap();
    assert!(!played.on_board);
    assert_eq!(game.plies(), 2);
    assert_eq!(game.status, Status::OutOfTime);
}

#[tokio::test]
async fn a_repetition_is_told_in_two_steps() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    let mut stream = ann.game(&id).await;
    stream.expect("gameFull").await;
    let knights = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8";
    for (n, uci) in knights.split(' ').enumerate() {
        let bot = if n % 2 == 0 { &ann } else { &bob };
        bot.play(&id, uci).await;
        let state = stream.expect("gameState").await;
        assert_eq!(status(&state), "started");
    }
    let said = stream.expect("chatLine").await;
    assert!(
        said["text"].as_str().unwrap().contains("third time"),
        "{said}"
    );
    let last = stream.expect("gameState").await;
    assert_eq!((status(&last), last.get("winner")), ("draw", None));
    assert_eq!(last["moves"], knights);
    assert_eq!(stream.next().await, Next::End);
    house.shutdown().await;
}

#[tokio::test]
async fn the_server_calls_the_flag_by_itself() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let mut events = bob.events().await;
    // The shortest clock that bots may have: three seconds to begin with.
    let form = [("clock.limit", "0"), ("clock.increment", "1")];
    let id = begin(&ann, &bob, &form).await;
    let mut stream = ann.game(&id).await;
    stream.expect("gameFull").await;
    let _bobs = bob.game(&id).await;
    ann.play(&id, "e2e4").await;
    bob.play(&id, "e7e5").await;
    let last = loop {
        let state = stream.json_of("gameState").await;
        if status(&state) != "started" {
            break state;
        }
    };
    assert_eq!(
        (status(&last), &last["winner"], &last["wtime"]),
        ("outoftime", &json!("black"), &json!(0))
    );
    let finish = events.json_of("gameFinish").await;
    assert_eq!(
        finish["game"]["status"],
        json!({"id": 35, "name": "outoftime"})
    );
    assert_eq!(house.violations().total(), 0);
    house.shutdown().await;
}

#[tokio::test]
async fn an_absent_opponent_is_announced_and_can_be_claimed() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    let mut stream = ann.game(&id).await;
    stream.expect("gameFull").await;
    let bobs = bob.game(&id).await;
    ann.play(&id, "e2e4").await;
    bob.play(&id, "e7e5").await;
    ann.play(&id, "g1f3").await;
    for _ in 0..3 {
        stream.expect("gameState").await;
    }
    let here = ann.command(&id, "claim-victory").await;
    assert_eq!(
        here,
        (
            400,
            json!({"error": "You cannot claim the win on this game"})
        )
    );
    let quiet = stream.next_within(Duration::from_millis(500)).await;
    assert_eq!(quiet, Next::Quiet, "nobody is gone");

    drop(bobs);
    let gone = stream.expect("opponentGone").await;
    assert_eq!(gone["gone"], true);
    assert!(gone["claimWinInSeconds"].as_i64().unwrap() <= 1, "{gone}");
    let back = bob.game(&id).await;
    assert_eq!(
        stream.expect("opponentGone").await,
        json!({"type": "opponentGone", "gone": false})
    );
    drop(back);
    loop {
        let gone = stream.expect("opponentGone").await;
        if gone["claimWinInSeconds"] == 0 {
            break;
        }
    }
    assert_eq!(
        ann.command(&id, "claim-victory").await,
        (200, json!({"ok": true}))
    );
    let last = stream.json_of("gameState").await;
    assert_eq!(
        (status(&last), &last["winner"]),
        ("timeout", &json!("white"))
    );
    house.shutdown().await;
}

#[tokio::test]
async fn claims_that_cannot_be_are_quietly_ignored() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &BLITZ).await;
    // It is Ann's own turn: 200, and nothing happens.
    assert_eq!(ann.command(&id, "claim-victory").await.0, 200);
    assert_eq!(ann.command(&id, "claim-draw").await.0, 200);
    ann.play(&id, "e2e4").await;
    bob.play(&id, "e7e5").await;
    assert_eq!(ann.command(&id, "claim-victory").await.0, 200);
    let draw = ann.command(&id, "claim-draw").await;
    assert_eq!(
        draw,
        (400, json!({"error": "You cannot claim draw on this game"}))
    );
    assert_eq!(house.running(), [id]);
    house.shutdown().await;
}
