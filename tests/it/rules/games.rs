//! Whole games: a collection of our own, and any folder of games with an index.

use std::path::Path;

use seneschal::rules::notation::{PgnGame, PgnReader};
use seneschal::rules::{CastlingMode, Position, Variant};

use super::data;

fn read_all(text: &[u8], variant: Variant) -> Vec<Result<PgnGame, String>> {
    PgnReader::new(text)
        .assuming(variant, CastlingMode::Standard)
        .map(|game| game.map_err(|error| error.to_string()))
        .collect()
}

/// Written, read and written again, a game has the same moves, annotations, tags and result.
fn assert_comes_back(game: &PgnGame, name: &str) {
    let text = game.to_string();
    assert!(
        text.lines()
            .filter(|line| !line.starts_with('['))
            .all(|line| line.chars().count() <= 80),
        "{name}"
    );
    let again = PgnReader::new(text.as_bytes())
        .next()
        .unwrap()
        .unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
    // A brace cannot be escaped, so it comes back as a round bracket.
    let mut expected = game.moves.clone();
    for step in &mut expected {
        step.comment = step.comment.replace('{', "(").replace('}', ")");
    }
    assert_eq!(again.moves, expected, "{name}\n{text}");
    assert_eq!(again.result, game.result, "{name}");
    assert_eq!(again.comment, game.comment, "{name}");
    assert_eq!(again.start.fen(), game.start.fen(), "{name}");
    assert_eq!(again.to_string(), text, "{name}");
    for (tag, value) in game
        .tags
        .iter()
        .filter(|(tag, _)| !matches!(*tag, "Variant" | "FEN" | "SetUp" | "Result"))
    {
        assert_eq!(again.tags.get(tag), Some(value), "{name}");
    }
}

#[test]
fn own_collection_replays() {
    let games = read_all(data("games.pgn").as_bytes(), Variant::Chess);
    assert_eq!(games.len(), 32);
    let (mut clocks, mut evaluations, mut nags, mut castlings, mut drops) = (0, 0, 0, 0, 0);
    for game in games {
        let game = game.unwrap();
        let name = game.tags.get("Event").unwrap().to_owned();
        let history = game.history();
        assert_eq!(
            history.position().fen(),
            game.tags.get("FinalPosition").unwrap(),
            "{name}"
        );
        assert_eq!(
            game.result_mark(),
            game.tags.get("Result").unwrap(),
            "{name}"
        );
        if let Some(ending) = history.position().ending() {
            assert_eq!(Some(ending.outcome), game.result, "{name}");
        }
        clocks += game
            .moves
            .iter()
            .filter(|step| step.clock.is_some())
            .count();
        evaluations += game
            .moves
            .iter()
            .filter(|step| step.evaluation.is_some())
            .count();
        nags += game.moves.iter().map(|step| step.nags.len()).sum::<usize>();
        castlings += game
            .moves
            .iter()
            .filter(|step| step.played.is_castle())
            .count();
        drops += game
            .moves
            .iter()
            .filter(|step| step.played.is_drop())
            .count();
        assert_comes_back(&game, &name);
    }
    assert!(clocks > 100 && evaluations > 50 && nags > 50 && castlings > 10 && drops > 100);
}

/// Replays every game of a folder with `index.json`, one record a game: `file`, `n` (its number in the file), `variant`,
/// `parse_error`, `final_fen_fsf`. The folder is named by `SENESCHAL_GAMES`; without it there is nothing to do here.
#[test]
fn collection_of_the_environment_replays() {
    let Ok(folder) = std::env::var("SENESCHAL_GAMES") else {
        return;
    };
    let folder = Path::new(&folder);
    let index = std::fs::read_to_string(folder.join("index.json")).unwrap();
    let records: Vec<serde_json::Value> = serde_json::from_str(&index).unwrap();
    let (mut replayed, mut broken, mut plies) = (0, 0, 0);
    let mut file = (String::new(), Vec::new());
    for record in &records {
        let text = |key: &str| record[key].as_str().unwrap_or_default();
        if file.0 != text("file") {
            let (variant, _) = Variant::parse_name(text("variant")).unwrap();
            let bytes = std::fs::read(folder.join(text("file"))).unwrap();
            file = (text("file").to_owned(), read_all(&bytes, variant));
        }
        let name = format!("{} game {}", text("file"), record["n"]);
        let number = usize::try_from(record["n"].as_u64().unwrap()).unwrap();
        let game = &file.1[number - 1];
        // Other readers stumble over an illegal move inside a variation; here variations are skipped.
        broken += u32::from(!record["parse_error"].is_null());
        let game = game
            .as_ref()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let position = game.history().position().clone();
        assert_eq!(
            game.moves.len() as u64,
            record["plies"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(position.fen(), text("final_fen_fsf"), "{name}");
        if let Some(legal) = record["legal_moves"].as_u64() {
            assert_eq!(position.legal_moves().len() as u64, legal, "{name}");
        }
        assert_comes_back(game, &name);
        replayed += 1;
        plies += game.moves.len();
    }
    println!(
        "{replayed} games of {plies} half-moves replayed, {broken} of them with an illegal variation"
    );
    assert!(replayed > 0);
}

/// The same for games listed with their moves in UCI: `SENESCHAL_GAMES/generated_here/index.json` with `variant`,
/// `start_fen`, `uci`, `final_fen`.
#[test]
fn move_lists_of_the_environment_replay() {
    let Ok(folder) = std::env::var("SENESCHAL_GAMES") else {
        return;
    };
    let folder = Path::new(&folder).join("generated_here");
    let Ok(index) = std::fs::read_to_string(folder.join("index.json")) else {
        return;
    };
    let records: Vec<serde_json::Value> = serde_json::from_str(&index).unwrap();
    let mut files = std::collections::HashMap::new();
    for record in &records {
        let name = record["variant"].as_str().unwrap();
        let (variant, mode) = Variant::from_uci_name(name).unwrap();
        let mut position =
            Position::from_fen(variant, mode, record["start_fen"].as_str().unwrap()).unwrap();
        for text in record["uci"].as_array().unwrap() {
            let text = text.as_str().unwrap();
            let m = position
                .parse_uci(text)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(position.uci(m), text);
            position.play(m).unwrap();
        }
        let final_fen = record["final_fen"].as_str().unwrap();
        assert_eq!(
            position.fen(),
            final_fen,
            "{name} round {}",
            record["round"]
        );
        let games = files.entry(name).or_insert_with(|| {
            read_all(
                &std::fs::read(folder.join(format!("{name}.pgn"))).unwrap(),
                variant,
            )
        });
        let round = record["round"].as_u64().unwrap().to_string();
        let game = games
            .iter()
            .flatten()
            .find(|game| game.tags.get("Round") == Some(&round))
            .unwrap();
        assert_eq!(
            game.history().position().fen(),
            final_fen,
            "{name} round {round}"
        );
        assert_comes_back(game, name);
    }
    println!("{} games with move lists replayed", records.len());
}
