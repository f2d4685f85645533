//! The page: what it serves, with which headers, and the stream behind the boards.

use std::time::Duration;

use seneschal::house::variant::HouseVariant;
use seneschal::house::web::board::{BoardView, PlayerStrip, board_svg};
use seneschal::rules::{CastlingMode, Position, Square, Variant};
use serde_json::Value;

use super::client::{BLITZ, Next, begin, config, house_with_bots};

fn position(variant: Variant, fen: &str) -> Position {
    Position::from_fen(variant, CastlingMode::Standard, fen).unwrap()
}

#[test]
fn a_board_shows_pieces_pockets_promoted_marks_check_and_the_last_move() {
    let fen = "rnQ~q1b1r/ppp1k1pp/5n2/8/8/8/PPPP1PPP/RNBQKBNR[BPPP] b KQ - 0 5";
    let crazyhouse = position(Variant::Crazyhouse, fen);
    let svg = board_svg(&crazyhouse, &BoardView::default());
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"));
    assert_eq!(svg.matches("class=\"promoted\"").count(), 1);
    assert_eq!(
        svg.matches("class=\"count\"").count(),
        2,
        "two kinds in White's pocket"
    );
    assert!(svg.contains(">3</text>"), "three pawns");
    assert_eq!(
        svg.matches("class=\"gone\"").count(),
        8,
        "the empty places of both pockets"
    );
    assert!(!svg.contains("class=\"check\""));
    assert!(!svg.contains("style="), "no inline styles");
    let pieces = fen.split(' ').next().unwrap().split('[').next().unwrap();
    let on_board = pieces.chars().filter(char::is_ascii_alphabetic).count();
    assert_eq!(svg.matches("<use ").count(), on_board + 10);

    let mate = position(
        Variant::Chess,
        "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3",
    );
    let view = BoardView {
        last_move: vec![Square::new(3, 7, 8), Square::new(7, 3, 8)],
        ..BoardView::default()
    };
    let svg = board_svg(&mate, &view);
    assert_eq!(svg.matches("class=\"check\"").count(), 1);
    assert_eq!(svg.matches("class=\"last\"").count(), 2);
    assert!(
        svg.contains("viewBox=\"0 0 800 800\""),
        "no pockets without drops"
    );
}

#[test]
fn wide_boards_and_turned_boards_keep_their_proportions() {
    let wide = Position::start(Variant::Capahouse);
    let svg = board_svg(&wide, &BoardView::default());
    assert!(svg.contains("viewBox=\"0 0 1000 984\""), "{}", &svg[..160]);
    for symbol in ["#p-wa", "#p-ba", "#p-wc", "#p-bc"] {
        assert!(svg.contains(symbol), "{symbol}");
    }
    assert!(svg.contains(">j</text>"), "ten files are named");
    let start = Position::start(Variant::Chess);
    let king_at = |flipped| {
        let view = BoardView {
            flipped,
            ..BoardView::default()
        };
        let svg = board_svg(&start, &view);
        let rest = svg.split("#p-wk\" x=\"").nth(1).unwrap().to_owned();
        rest.split(" width").next().unwrap().to_owned()
    };
    assert_eq!(king_at(false), "400\" y=\"700\"");
    assert_eq!(king_at(true), "300\" y=\"0\"");
}

#[test]
fn names_in_pictures_are_escaped() {
    let strip = PlayerStrip {
        name: "</text><script>x</script>".to_owned(),
        clock: "1:00".to_owned(),
        running: true,
    };
    let view = BoardView {
        players: Some([strip.clone(), strip]),
        standalone: true,
        label: "\"><script>".to_owned(),
        ..BoardView::default()
    };
    let svg = board_svg(&Position::start(Variant::Chess), &view);
    assert!(!svg.contains("<script"), "{svg}");
    assert!(svg.contains("&lt;script&gt;"));
    assert_eq!(svg.matches("class=\"clock on\"").count(), 2);
}

#[test]
fn every_variant_has_a_picture() {
    for variant in HouseVariant::all() {
        let svg = board_svg(&Position::start(variant.rules()), &BoardView::default());
        let width = 100 * u32::from(variant.rules().files());
        assert!(
            svg.contains(&format!("viewBox=\"0 0 {width} ")),
            "{}",
            variant.key()
        );
        let opened = svg.matches('<').count();
        assert_eq!(opened, svg.matches('>').count());
    }
}

#[tokio::test]
async fn pages_come_with_their_policy_and_without_inline_script() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let id = begin(&ann, &bob, &[("variant", "crazyhouse")]).await;
    ann.play(&id, "e2e4").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    for path in ["/".to_owned(), format!("/{id}")] {
        let response = ann.http.get(ann.url(&path)).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        let policy = response.headers()["content-security-policy"]
            .to_str()
            .unwrap()
            .to_owned();
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"));
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        let html = response.text().await.unwrap();
        assert!(html.contains(&format!("data-id=\"{id}\"")), "{html}");
        assert!(html.contains("Ann_Bot") && html.contains("class=\"board\""));
        assert!(!html.contains("<style") && !html.contains(" style=") && !html.contains("onclick"));
        for script in html.split("<script").skip(1) {
            assert!(script.contains("src=\"/assets/") && script.contains("></script>"));
        }
    }
    let picture = ann
        .http
        .get(ann.url(&format!("/{id}/board.svg")))
        .send()
        .await
        .unwrap();
    assert_eq!(picture.headers()["content-type"], "image/svg+xml");
    assert!(
        picture
            .text()
            .await
            .unwrap()
            .contains("<symbol id=\"p-wk\"")
    );
    for file in [
        "house.css",
        "live.js",
        "lobby.js",
        "game.js",
        "board.js",
        "page.js",
        "review.js",
        "league.js",
        "icon.svg",
    ] {
        assert_eq!(
            ann.http
                .get(ann.url(&format!("/assets/{file}")))
                .send()
                .await
                .unwrap()
                .status(),
            200
        );
    }
    assert_eq!(ann.get("/assets/../Cargo.toml").await.0, 404);
    assert_eq!(ann.get("/zzzzzzzz").await.0, 404);
    house.shutdown().await;
}

/// Events of `/live`: name and data.
async fn live_event(lines: &mut super::client::Lines) -> (String, Value) {
    let mut name = String::new();
    loop {
        match lines.next().await {
            Next::Text(line) => {
                if let Some(event) = line.strip_prefix("event: ") {
                    name = event.to_owned();
                }
                if let Some(data) = line.strip_prefix("data: ") {
                    return (name, serde_json::from_str(data).unwrap());
                }
            }
            other => panic!("unexpected {other:?}"),
        }
    }
}

#[tokio::test]
async fn one_stream_carries_the_boards_of_all_games() {
    let (house, ann, bob) = house_with_bots(config()).await;
    let first = begin(&ann, &bob, &BLITZ).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (code, mut live) = ann.open("/live").await;
    assert_eq!(code, 200);
    let (name, all) = live_event(&mut live).await;
    assert_eq!(
        (name.as_str(), all[0]["id"].as_str()),
        ("all", Some(first.as_str()))
    );
    let second = begin(&bob, &ann, &BLITZ).await;
    let (name, board) = live_event(&mut live).await;
    assert_eq!(
        (name.as_str(), board["id"].as_str()),
        ("game", Some(second.as_str()))
    );
    ann.play(&first, "g1f3").await;
    let (_, board) = live_event(&mut live).await;
    assert_eq!(
        (board["id"].as_str(), board["last"].as_str()),
        (Some(first.as_str()), Some("1. Nf3"))
    );
    assert_eq!(board["turn"], "black");
    assert!(board["svg"].as_str().unwrap().contains("class=\"last\""));
    bob.command(&first, "abort").await;
    let (_, board) = live_event(&mut live).await;
    assert_eq!(
        (board["turn"].as_str(), board["end"].as_str()),
        (None, Some("The game was aborted."))
    );
    house.shutdown().await;
}
