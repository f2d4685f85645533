//! The JSON that goes out, field by field as Lichess names and shapes it.
//!
//! Flags that are false and options that are absent are left out, as the server
//! does; where its own examples spell out `false` or `null`, clients must take both.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::game::TimeControl;
use crate::rules::Color;

use super::account::Account;
use super::challenge::{Challenge, ChallengeStatus};
use super::game::{ChatLine, Game, Seat, Term, color_word};
use super::lines::{Line, LineKind};
use super::status::Status;
use super::variant::{HouseVariant, perf_name, speed_key};

/// `{"key":...,"name":...,"short":...}`.
fn variant_json(variant: HouseVariant) -> Value {
    json!({ "key": variant.key(), "name": variant.name(), "short": variant.short() })
}

/// First line of a game stream. `type` stands behind the other fields, as on Lichess.
#[derive(Debug, Serialize)]
struct GameFull<'a> {
    id: &'a str,
    variant: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<Value>,
    speed: &'static str,
    perf: Value,
    rated: bool,
    #[serde(rename = "createdAt")]
    created_at: i64,
    white: Value,
    black: Value,
    #[serde(rename = "initialFen")]
    initial_fen: String,
    #[serde(rename = "daysPerTurn", skip_serializing_if = "Option::is_none")]
    days_per_turn: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<Term>,
    r#type: &'static str,
    state: GameState,
}

/// State of a game, as a line of its own and inside the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GameState {
    r#type: &'static str,
    /// All moves from the start, separated by spaces.
    pub moves: String,
    wtime: i64,
    btime: i64,
    winc: i64,
    binc: i64,
    #[serde(skip_serializing_if = "is_false")]
    wdraw: bool,
    #[serde(skip_serializing_if = "is_false")]
    bdraw: bool,
    #[serde(skip_serializing_if = "is_false")]
    wtakeback: bool,
    #[serde(skip_serializing_if = "is_false")]
    btakeback: bool,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    winner: Option<&'static str>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands fields over by reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// The state of a game at `now_ms`.
pub fn game_state(game: &Game, now_ms: i64) -> GameState {
    let turn = game.turn();
    let left = |side| game.clock.remaining(side, turn, now_ms);
    let increment = game.clock.increment_ms();
    GameState {
        r#type: "gameState",
        moves: game.moves.join(" "),
        wtime: left(Color::White),
        btime: left(Color::Black),
        winc: increment,
        binc: increment,
        wdraw: game.draw_offer == Some(Color::White),
        bdraw: game.draw_offer == Some(Color::Black),
        wtakeback: game.takeback_offer == Some(Color::White),
        btakeback: game.takeback_offer == Some(Color::Black),
        status: game.status,
        winner: game.winner.map(color_word),
    }
}

/// The line of a state.
pub fn game_state_line(game: &Game, now_ms: i64) -> Line {
    Line::new(LineKind::GameState, &game_state(game, now_ms))
}

/// The first line of a game stream.
pub fn game_full_line(game: &Game, now_ms: i64) -> Line {
    let time = game.clock.time();
    let full = GameFull {
        id: &game.id,
        variant: variant_json(game.variant),
        clock: match time {
            TimeControl::Clock { initial, increment } => Some(json!({
                "initial": initial.as_millis() as u64,
                "increment": increment.as_millis() as u64,
            })),
            _ => None,
        },
        speed: speed_key(game.speed()),
        perf: json!({ "name": perf_name(game.perf()) }),
        rated: game.rated,
        created_at: game.created_ms,
        white: seat_json(game.seat(Color::White)),
        black: seat_json(game.seat(Color::Black)),
        initial_fen: game
            .initial_fen
            .clone()
            .unwrap_or_else(|| "startpos".to_owned()),
        days_per_turn: match time {
            TimeControl::Correspondence { days_per_turn } => Some(days_per_turn),
            _ => None,
        },
        rules: game.terms.iter().copied().collect(),
        r#type: "gameFull",
        state: game_state(game, now_ms),
    };
    Line::new(LineKind::GameFull, &full)
}

fn seat_json(seat: &Seat) -> Value {
    let mut json = json!({
        "id": seat.account,
        "name": seat.name,
        "title": seat.title,
        "rating": seat.rating,
    });
    if seat.provisional {
        json["provisional"] = Value::Bool(true);
    }
    json
}

/// A line of chat.
pub fn chat_line(line: &ChatLine) -> Line {
    let json = json!({
        "type": "chatLine",
        "username": line.username,
        "text": line.text,
        "room": line.room,
    });
    Line::new(LineKind::ChatLine, &json)
}

/// The opponent left (`claim_in_s`) or came back.
pub fn opponent_gone_line(claim_in_s: Option<i64>) -> Line {
    let json = match claim_in_s {
        Some(seconds) => {
            json!({ "type": "opponentGone", "gone": true, "claimWinInSeconds": seconds })
        }
        None => json!({ "type": "opponentGone", "gone": false }),
    };
    Line::new(LineKind::OpponentGone, &json)
}

/// A game as its player sees it in the event stream and in `account/playing`.
fn game_of(game: &Game, color: Color, now_ms: i64) -> Map<String, Value> {
    let (seat, other) = (game.seat(color), game.seat(!color));
    let mut opponent = json!({
        "id": other.account,
        "username": other.name,
        "rating": other.rating,
    });
    if let Some(title) = &other.title {
        opponent["title"] = json!(title);
        opponent["username"] = json!(other.name);
    }
    if let Some(diff) = other.rating_diff {
        opponent["ratingDiff"] = json!(diff);
    }
    let mut json = Map::new();
    let mut set = |key: &str, value: Value| {
        json.insert(key.to_owned(), value);
    };
    set("fullId", json!(format!("{}{}", game.id, seat.secret)));
    set("gameId", json!(game.id));
    set("fen", json!(lichess_fen(&game.position().fen())));
    set("color", json!(color_word(color)));
    set(
        "lastMove",
        json!(game.moves.last().map_or(String::new(), |m| last_move(m))),
    );
    set("source", json!("friend"));
    set(
        "status",
        json!({ "id": game.status.number(), "name": game.status.name() }),
    );
    set(
        "variant",
        json!({ "key": game.variant.key(), "name": game.variant.name() }),
    );
    set("speed", json!(speed_key(game.speed())));
    set("perf", json!(game.perf()));
    set("rated", json!(game.rated));
    set("hasMoved", json!(has_moved(game, color)));
    set("opponent", opponent);
    set(
        "isMyTurn",
        json!(!game.status.is_over() && game.turn() == color),
    );
    if game.clock.time() != TimeControl::Unlimited {
        let left = game.clock.remaining(color, game.turn(), now_ms);
        set("secondsLeft", json!(left / 1000));
    }
    if let Some(winner) = game.winner {
        set("winner", json!(color_word(winner)));
    }
    if let Some(diff) = seat.rating_diff {
        set("ratingDiff", json!(diff));
    }
    set("rating", json!(seat.rating));
    set("id", json!(game.id));
    json
}

fn has_moved(game: &Game, color: Color) -> bool {
    let needed = if color == Color::White { 1 } else { 2 };
    game.plies() >= needed
}

/// Drops are shown as their square twice.
fn last_move(uci: &str) -> String {
    match uci.split_once('@') {
        Some((_, square)) => format!("{square}{square}"),
        None => uci.to_owned(),
    }
}

/// `gameStart` or `gameFinish` for one of the players.
pub fn game_event_line(kind: LineKind, game: &Game, color: Color, now_ms: i64) -> Line {
    let mut json = game_of(game, color, now_ms);
    json.insert("compat".to_owned(), compat_json());
    let name = match kind {
        LineKind::GameFinish => "gameFinish",
        _ => "gameStart",
    };
    Line::new(kind, &json!({ "type": name, "game": json }))
}

/// Every game of a house can be played by bots; none through the API for people.
fn compat_json() -> Value {
    json!({ "bot": true, "board": false })
}

/// Answer of `account/playing`.
pub fn now_playing(games: &[(&Game, Color)], limit: usize, now_ms: i64) -> Value {
    let my_turn = games
        .iter()
        .filter(|(game, color)| game.turn() == *color)
        .count();
    let list: Vec<Value> = games
        .iter()
        .take(limit)
        .map(|(game, color)| {
            let mut json = game_of(game, *color, now_ms);
            json.remove("id");
            json.remove("status");
            Value::Object(json)
        })
        .collect();
    json!({ "nowPlaying": list, "nbMyTurn": my_turn })
}

/// Which side of a challenge an answer is for, where it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the account that asks.
    In,
    /// From it.
    Out,
}

/// A challenge, as in events and answers.
pub fn challenge_json(
    challenge: &Challenge,
    challenger: &Account,
    dest: &Account,
    online: (bool, bool),
    direction: Option<Direction>,
    base: &str,
) -> Value {
    let terms = &challenge.terms;
    let perf = terms.variant.perf(terms.time);
    let mut json = json!({
        "id": challenge.id,
        "url": format!("{base}/{}", challenge.id),
        "status": challenge.status,
        "challenger": challenge_user(challenger, perf, online.0),
        "destUser": challenge_user(dest, perf, online.1),
        "variant": variant_json(terms.variant),
        "rated": terms.rated,
        "speed": speed_key(terms.time.speed()),
        "timeControl": time_control_json(terms.time),
        "color": terms.color.map_or("random", color_word),
        "finalColor": color_word(challenge.final_color),
        "perf": { "icon": "\u{e019}", "name": perf_name(perf) },
    });
    let mut set = |key: &str, value: Value| json[key] = value;
    if let Some(game) = &challenge.rematch_of {
        set("rematchOf", json!(game));
    }
    if let Some(direction) = direction {
        let word = if direction == Direction::In {
            "in"
        } else {
            "out"
        };
        set("direction", json!(word));
    }
    let start = challenge.initial_fen.clone().or_else(|| {
        let variant = terms.variant;
        variant
            .always_tells_start()
            .then(|| variant.rules().start_fen().to_owned())
    });
    if let Some(fen) = start {
        set("initialFen", json!(fen));
    }
    if let (ChallengeStatus::Declined, Some(reason)) = (challenge.status, challenge.declined) {
        set("declineReason", json!(reason.sentence()));
        set("declineReasonKey", json!(reason.key()));
    }
    if !terms.special.is_empty() {
        set("rules", json!(terms.special));
    }
    json
}

fn challenge_user(account: &Account, perf: &str, online: bool) -> Value {
    let perf = account.perf(perf);
    let mut json = json!({
        "id": account.id(),
        "name": account.name,
        "title": account.title(),
        "rating": perf.shown(),
    });
    if perf.is_provisional() {
        json["provisional"] = Value::Bool(true);
    }
    if online {
        json["online"] = Value::Bool(true);
    }
    json
}

fn time_control_json(time: TimeControl) -> Value {
    match time {
        TimeControl::Clock { initial, increment } => json!({
            "type": "clock",
            "limit": initial.as_secs(),
            "increment": increment.as_secs(),
            "show": show_clock(time),
        }),
        TimeControl::Correspondence { days_per_turn } => {
            json!({ "type": "correspondence", "daysPerTurn": days_per_turn })
        }
        TimeControl::Unlimited => json!({ "type": "unlimited" }),
    }
}

/// A time control for people: `3+2`, `½+0`, `2 days`, `no clock`.
pub fn show_clock(time: TimeControl) -> String {
    match time {
        TimeControl::Clock { initial, increment } => {
            let minutes = match initial.as_secs() {
                15 => "¼".to_owned(),
                30 => "½".to_owned(),
                45 => "¾".to_owned(),
                90 => "1.5".to_owned(),
                seconds => (seconds / 60).to_string(),
            };
            format!("{minutes}+{}", increment.as_secs())
        }
        TimeControl::Correspondence { days_per_turn: 1 } => "1 day".to_owned(),
        TimeControl::Correspondence { days_per_turn } => format!("{days_per_turn} days"),
        TimeControl::Unlimited => "no clock".to_owned(),
    }
}

/// An event about a challenge; `compat` stands beside it only when it is new.
pub fn challenge_event_line(kind: LineKind, challenge: Value, with_compat: bool) -> Line {
    let name = match kind {
        LineKind::ChallengeCanceled => "challengeCanceled",
        LineKind::ChallengeDeclined => "challengeDeclined",
        _ => "challenge",
    };
    let mut json = json!({ "type": name, "challenge": challenge });
    if with_compat {
        json["compat"] = compat_json();
    }
    Line::new(kind, &json)
}

/// An account, as `user` and `account` answer it.
pub fn user_json(account: &Account, base: &str, seen_ms: Option<i64>) -> Value {
    let perfs: Map<String, Value> = account
        .perfs
        .iter()
        .map(|(key, perf)| {
            let mut json = json!({
                "games": perf.games,
                "rating": perf.shown(),
                "rd": perf.deviation.round() as i64,
                "prog": 0,
            });
            if perf.is_provisional() {
                json["prov"] = Value::Bool(true);
            }
            (key.clone(), json)
        })
        .collect();
    let counts = account.counts;
    let mut json = json!({
        "id": account.id(),
        "username": account.name,
        "perfs": perfs,
        "createdAt": account.created_ms,
        "profile": { "bio": account.bio },
        "url": format!("{base}/@/{}", account.name),
        "playTime": { "total": 0, "tv": 0 },
        "count": {
            "all": counts.all,
            "rated": counts.rated,
            "draw": counts.draw,
            "loss": counts.loss,
            "win": counts.win,
        },
        "followable": true,
        "following": false,
        "blocking": false,
    });
    if let Some(title) = account.title() {
        json["title"] = json!(title);
    }
    if let Some(seen_ms) = seen_ms {
        json["seenAt"] = json!(seen_ms);
    }
    json
}

/// A FEN in the dialect of Lichess: pockets as a ninth field between slashes, checks given at the end.
pub fn lichess_fen(fen: &str) -> String {
    let mut fields: Vec<String> = fen.split(' ').map(str::to_owned).collect();
    let board = &mut fields[0];
    if let Some((squares, pocket)) = board.split_once('[') {
        let pocket = pocket.trim_end_matches(']');
        let white: String = in_pocket_order(pocket, |c| c.is_ascii_uppercase());
        let black: String = in_pocket_order(pocket, |c| c.is_ascii_lowercase());
        *board = format!("{squares}/{white}{black}");
    }
    // Remaining checks, `3+3` in the fifth field, become checks given, `+0+0` in the last.
    if fields.len() == 7 {
        let left: Option<(u8, u8)> = fields[4]
            .split_once('+')
            .and_then(|(w, b)| Some((w.parse().ok()?, b.parse().ok()?)));
        if let Some((white, black)) = left {
            fields.remove(4);
            // White's remaining checks are those that White still has to give.
            let (given_w, given_b) = (3_u8.saturating_sub(white), 3_u8.saturating_sub(black));
            fields.push(format!("+{given_w}+{given_b}"));
        }
    }
    fields.join(" ")
}

fn in_pocket_order(pocket: &str, side: impl Fn(char) -> bool) -> String {
    let mut pieces: Vec<char> = pocket.chars().filter(|c| side(*c)).collect();
    let rank = |c: &char| "pnbrqac".find(c.to_ascii_lowercase()).unwrap_or(9);
    pieces.sort_by_key(rank);
    pieces.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fens_are_told_in_the_dialect_of_lichess() {
        let told = lichess_fen("rnQ~q1b1r/ppp1k1pp/8/8/8/8/PPPP1PPP/RNBQKBNR[BPPPqn] b KQ - 0 5");
        assert_eq!(
            told,
            "rnQ~q1b1r/ppp1k1pp/8/8/8/8/PPPP1PPP/RNBQKBNR/PPPBnq b KQ - 0 5"
        );
        assert_eq!(lichess_fen("8/8[] w - - 0 1"), "8/8/ w - - 0 1");
        assert_eq!(lichess_fen("8/8 w KQkq - 3+1 4 9"), "8/8 w KQkq - 4 9 +0+2");
        assert_eq!(lichess_fen("8/8 w - - 0 1"), "8/8 w - - 0 1");
    }

    #[test]
    fn clocks_are_shown_as_players_say_them() {
        let show = |limit, increment| show_clock(TimeControl::clock(limit, increment));
        assert_eq!(show(180, 2), "3+2");
        assert_eq!(show(15, 0), "¼+0");
        assert_eq!(show(45, 1), "¾+1");
        assert_eq!(show(90, 0), "1.5+0");
        assert_eq!(show(0, 3), "0+3");
    }

    #[test]
    fn drops_show_their_square_twice() {
        assert_eq!(last_move("P@e4"), "e4e4");
        assert_eq!(last_move("e2e4"), "e2e4");
    }
}
