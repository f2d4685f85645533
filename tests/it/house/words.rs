//! Every ending that the page has words for, seen where people see it: on the page's stream.

use seneschal::house::{House, HouseHandle};
use serde_json::Value;

use super::browser::Browser;
use super::client::config;
use super::endings::quiet_move;

/// Form, moves, winner, words.
type Case = (
    &'static [(&'static str, &'static str)],
    &'static str,
    Option<&'static str>,
    &'static str,
);

/// A game of two at one device.
async fn device(zoe: &Browser, more: &[(&str, &str)]) -> String {
    let mut form = vec![("with", "device")];
    form.extend(more);
    zoe.ask(&form).await
}

/// The state with which a game ended, once these moves were played.
async fn end(house: &HouseHandle, form: &[(&str, &str)], moves: &str) -> Value {
    let name = format!("Guest{}", house.finished().total());
    let zoe = Browser::guest(house, &name).await;
    let id = device(&zoe, form).await;
    let mut page = zoe.watch(&id).await;
    for uci in moves.split_whitespace() {
        zoe.play(&id, uci).await;
    }
    page.over().await
}

#[tokio::test]
async fn the_page_says_in_words_how_a_game_ended_on_the_board() {
    let house = House::start(config()).await.unwrap();
    let knights = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8";
    let cases: [Case; 5] = [
        (
            &[("variant", "standard")],
            "f2f3 e7e5 g2g4 d8h4",
            Some("black"),
            "Checkmate: Black wins.",
        ),
        (
            &[("variant", "crazyhouse")],
            knights,
            None,
            "The same position, with the same pieces in hand, for the third time. Draw.",
        ),
        (
            &[
                ("variant", "fromPosition"),
                ("fen", "7k/5K2/8/6Q1/8/8/8/8 w - - 0 1"),
            ],
            "g5g6",
            None,
            "Stalemate: no move is left, and no check is given. Draw.",
        ),
        (
            &[
                ("variant", "fromPosition"),
                ("fen", "7k/8/8/8/8/8/5p2/6K1 w - - 0 1"),
            ],
            "g1f2",
            None,
            "Nobody can mate with what is left. Draw.",
        ),
        (
            &[
                ("variant", "fromPosition"),
                ("fen", "4k3/8/8/8/8/8/8/R3K3 w - - 99 80"),
            ],
            "a1a2",
            None,
            "Fifty moves of each side without a capture or a pawn move. Draw.",
        ),
    ];
    for (form, moves, winner, words) in cases {
        let state = end(&house, form, moves).await;
        assert_eq!(
            (state["end"].as_str(), state["winner"].as_str()),
            (Some(words), winner),
            "{form:?}"
        );
    }
    house.shutdown().await;
}

#[tokio::test]
async fn equal_boards_with_unequal_hands_are_no_repetition() {
    let house = House::start(config()).await.unwrap();
    let zoe = Browser::guest(&house, "Zoe").await;
    let fen = "4k1n1/8/8/8/8/8/8/R3K3[N] w - - 0 1";
    let id = device(&zoe, &[("variant", "crazyhouse960"), ("fen", fen)]).await;
    let mut page = zoe.watch(&id).await;
    // The board of the start stands there for the third time after sixteen half-moves, but the
    // knight that was in White's hand at first has been in Black's since.
    let third = "N@f6 g8f6 a1a2 f6g8 a2a1 g8f6 a1a2 f6g8 a2a3 g8f6 a3a1 f6g8 a1a2 g8f6 a2a1 f6g8";
    for uci in third.split(' ') {
        zoe.play(&id, uci).await;
    }
    let state = page.plies(16).await;
    assert_eq!(state["over"], false, "{}", state["end"]);
    for uci in ["a1a2", "g8f6", "a2a1"] {
        zoe.play(&id, uci).await;
    }
    let end = page.over().await["end"].clone();
    assert!(
        end.as_str().unwrap().contains("for the third time"),
        "{end}"
    );
    house.shutdown().await;
}

#[tokio::test]
async fn the_page_says_in_words_how_the_clock_ended_a_game() {
    let house = House::start(config()).await.unwrap();
    let short = [
        ("variant", "fromPosition"),
        ("clock.limit", "0"),
        ("clock.increment", "1"),
    ];
    let of = |fen: &'static str| {
        let mut form = short.to_vec();
        form.push(("fen", fen));
        form
    };
    let (with, without) = tokio::join!(
        async { end(&house, &of("k7/7p/8/8/8/8/7Q/K7 w - - 0 1"), "h2h3 a8b8").await },
        async {
            let zoe = Browser::guest(&house, "Zoe").await;
            let id = device(&zoe, &of("k7/8/8/8/8/8/7Q/K7 w - - 0 1")).await;
            let mut page = zoe.watch(&id).await;
            zoe.play(&id, "h2h3").await;
            zoe.play(&id, "a8b8").await;
            page.over().await
        }
    );
    assert_eq!(
        (with["end"].as_str(), with["winner"].as_str()),
        (Some("White has no time left: Black wins."), Some("black"))
    );
    assert_eq!(
        (without["end"].as_str(), without["winner"].as_str()),
        (
            Some("The time is up, but the other side could never have mated. Draw."),
            None
        )
    );
    house.shutdown().await;
}

#[tokio::test]
async fn the_page_says_in_words_that_six_hundred_moves_are_enough() {
    let house = House::start(config()).await.unwrap();
    let zoe = Browser::guest(&house, "Zoe").await;
    let id = device(&zoe, &[("variant", "crazyhouse")]).await;
    let mut seed = 7;
    for _ in 0..600 {
        let game = house.hall().look(&id, |game, _| game.clone()).unwrap();
        zoe.play(&id, &quiet_move(&game, &mut seed)).await;
    }
    let state = zoe.watch(&id).await.over().await;
    assert_eq!(state["moves"].as_array().unwrap().len(), 600);
    assert_eq!(
        (state["end"].as_str(), state["winner"].as_str()),
        (
            Some("The game has reached 600 moves, the most that are played here. Draw."),
            None
        )
    );
    house.shutdown().await;
}
