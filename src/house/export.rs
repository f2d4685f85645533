//! Finished and running games as others read them: PGN and the JSON of Lichess's export.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::game::TimeControl;
use crate::rules::notation::pgn::PgnGame;
use crate::rules::{Color, Outcome};

use super::analysis::grade::mark;
use super::game::{Game, GameRecord, RestoreError, Seat};
use super::status::Status;
use super::variant::speed_key;

fn restored(record: &GameRecord) -> Result<Game, RestoreError> {
    Game::restore(record.clone(), record.last_move_ms)
}

fn result_of(game: &Game) -> Option<Outcome> {
    match (game.status, game.winner) {
        (Status::Started | Status::Aborted, _) => None,
        (_, Some(winner)) => Some(Outcome::win(winner)),
        (_, None) => Some(Outcome::Draw),
    }
}

/// The game as PGN, with clocks.
///
/// # Errors
/// [`RestoreError`] if the record is damaged.
pub fn game_pgn(record: &GameRecord, base_url: &str) -> Result<String, RestoreError> {
    let game = restored(record)?;
    let mut pgn = PgnGame::from_history(game.history(), result_of(&game));
    let kind = if game.rated { "Rated" } else { "Casual" };
    let date = Timestamp::from_millisecond(game.created_ms).ok();
    let day = date.as_ref().map(|d| d.strftime("%Y.%m.%d").to_string());
    let time = date.as_ref().map(|d| d.strftime("%H:%M:%S").to_string());
    let (white, black) = (game.seat(Color::White), game.seat(Color::Black));
    let mut set = |name: &str, value: String| pgn.tags.set(name, value);
    set("Event", format!("{kind} {} game", game.variant.name()));
    set("Site", format!("{base_url}/{}", game.id));
    set(
        "Date",
        day.clone().unwrap_or_else(|| "????.??.??".to_owned()),
    );
    set("Round", "-".to_owned());
    set("White", white.name.clone());
    set("Black", black.name.clone());
    set("GameId", game.id.clone());
    if let (Some(day), Some(time)) = (day, time) {
        set("UTCDate", day);
        set("UTCTime", time);
    }
    set("WhiteElo", elo(white));
    set("BlackElo", elo(black));
    for (name, seat) in [("WhiteTitle", white), ("BlackTitle", black)] {
        if let Some(title) = &seat.title {
            set(name, title.clone());
        }
    }
    set("TimeControl", time_tag(game.clock.time()));
    set("Termination", termination(&game).to_owned());
    if game.clock.is_real_time() {
        for (step, shown_ms) in pgn.moves.iter_mut().zip(&game.clocks) {
            step.clock = Some(Duration::from_millis((*shown_ms).max(0) as u64));
        }
    }
    annotate(&mut pgn, &game);
    if let (Some(last), Some(reason)) = (pgn.moves.last_mut(), &game.reason) {
        last.comment = reason.clone();
    }
    Ok(pgn.to_string())
}

/// Values and marks, if the game was analysed.
fn annotate(pgn: &mut PgnGame, game: &Game) {
    let Some(analysis) = &game.analysis else {
        return;
    };
    pgn.tags.set("Annotator", analysis.by.clone());
    let mut mover = game.history().start().turn();
    let pairs = analysis.positions.windows(2);
    for ((step, pair), played) in pgn.moves.iter_mut().zip(pairs).zip(&game.moves) {
        let [before, after] = pair else { continue };
        step.evaluation = after.value.for_pgn();
        let earned = mark(mover, played, before, after);
        step.nags.extend(earned.map(|earned| earned.nag()));
        mover = !mover;
    }
}

fn elo(seat: &Seat) -> String {
    seat.rating.to_string()
}

fn time_tag(time: TimeControl) -> String {
    match time {
        TimeControl::Clock { initial, increment } => {
            format!("{}+{}", initial.as_secs(), increment.as_secs())
        }
        TimeControl::Correspondence { days_per_turn } => {
            format!("1/{}", u64::from(days_per_turn) * 86_400)
        }
        TimeControl::Unlimited => "-".to_owned(),
    }
}

fn termination(game: &Game) -> &'static str {
    match game.status {
        Status::Started => "Unterminated",
        Status::Aborted => "Abandoned",
        Status::OutOfTime => "Time forfeit",
        Status::Timeout => "Abandoned",
        _ => "Normal",
    }
}

/// The game as a JSON object, moves in SAN.
///
/// # Errors
/// [`RestoreError`] if the record is damaged.
pub fn game_json(record: &GameRecord) -> Result<Value, RestoreError> {
    let game = restored(record)?;
    let mut json = json!({
        "id": game.id,
        "rated": game.rated,
        "variant": game.variant.key(),
        "speed": speed_key(game.speed()),
        "perf": game.perf(),
        "createdAt": game.created_ms,
        "lastMoveAt": game.last_move_ms,
        "status": game.status.name(),
        "source": "friend",
        "players": {
            "white": player_json(game.seat(Color::White)),
            "black": player_json(game.seat(Color::Black)),
        },
        "moves": game.sans.join(" "),
    });
    let mut set = |key: &str, value: Value| json[key] = value;
    if let Some(winner) = game.winner {
        set("winner", json!(super::game::color_word(winner)));
    }
    if let Some(fen) = &game.initial_fen {
        set("initialFen", json!(fen));
    }
    match game.clock.time() {
        TimeControl::Clock { initial, increment } => set(
            "clock",
            json!({
                "initial": initial.as_secs(),
                "increment": increment.as_secs(),
                "totalTime": initial.as_secs() + 40 * increment.as_secs(),
            }),
        ),
        TimeControl::Correspondence { days_per_turn } => set("daysPerTurn", json!(days_per_turn)),
        TimeControl::Unlimited => {}
    }
    Ok(json)
}

fn player_json(seat: &Seat) -> Value {
    let mut user = json!({ "name": seat.name, "id": seat.account });
    if let Some(title) = &seat.title {
        user["title"] = json!(title);
    }
    let mut json = json!({ "user": user, "rating": seat.rating });
    if seat.provisional {
        json["provisional"] = json!(true);
    }
    if let Some(diff) = seat.rating_diff {
        json["ratingDiff"] = json!(diff);
    }
    json
}
