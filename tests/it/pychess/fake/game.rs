//! One game on the fake server: its rules, its clock, and what it says about itself.

use std::str::FromStr;

use seneschal::game::GameResult;
use seneschal::platform::pychess::translate;
use seneschal::rules::{
    Adjudication, CastlingMode, Color, EndReason, History, Move, Outcome, Position, Variant,
};
use tokio::time::Instant;

/// Plies without a clock.
const UNTIMED_PLIES: usize = 2;

/// What a human asked for.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The human.
    pub from: String,
    /// The server's name, without `960`.
    pub variant: &'static str,
    /// Shuffled start.
    pub chess960: bool,
    /// A start of one's own; empty for the usual one.
    pub fen: String,
    /// Minutes at the start.
    pub minutes: f64,
    /// Seconds per move.
    pub increment: u64,
    /// The human's colour; `None` for the draw of lots, which this server always decides for White.
    pub color: Option<Color>,
    /// The game's states will be shown in a form that no client can read.
    pub garbled: bool,
}

impl Offer {
    /// Three minutes and two seconds; the human has White.
    pub fn new(from: &str, variant: &'static str) -> Offer {
        Offer {
            from: from.to_owned(),
            variant,
            chess960: false,
            fen: String::new(),
            minutes: 3.0,
            increment: 2,
            color: Some(Color::White),
            garbled: false,
        }
    }

    /// The name in capability headers and lists.
    pub fn list_name(&self) -> String {
        format!("{}{}", self.variant, if self.chess960 { "960" } else { "" })
    }

    /// The challenge's line.
    pub fn line(&self, id: &str) -> String {
        let key = if self.variant == "chess" {
            "standard"
        } else {
            self.variant
        };
        let color = match self.color {
            Some(Color::White) => "white",
            Some(Color::Black) => "black",
            None => "random",
        };
        let shown = if self.color == Some(Color::Black) {
            "black"
        } else {
            "white"
        };
        format!(
            r#"{{"type":"challenge","challenge":{{"id":"{id}","challenger":{{"name":"{}","rating":1500,"title":""}},"variant":{{"key":"{key}"}},"rated":false,"timeControl":{{"type":"clock","limit":{},"increment":{}}},"color":"{color}","finalColor":"{shown}","speed":"blitz","perf":{{"name":"{}"}},"level":6,"chess960":{}}}}}"#,
            self.from,
            (self.minutes * 60.0) as u64,
            self.increment,
            self.list_name(),
            self.chess960
        ) + "\n"
    }
}

/// What a bot's move came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BotMove {
    /// Out of turn, a repetition of the last move, or the game is over.
    Ignored,
    /// Played; the game goes on.
    Played,
    /// The game is over with it, one way or another.
    Ended,
}

/// A game.
#[derive(Clone, Debug)]
pub struct Game {
    /// Its id.
    pub id: String,
    /// What was agreed.
    pub offer: Offer,
    /// `""`, a FEN, or `None` after a restart.
    pub initial_fen: String,
    /// First player.
    pub white: String,
    /// Second player.
    pub black: String,
    /// As played, in the words in which the moves came.
    pub moves: Vec<String>,
    /// By the rules.
    pub history: History,
    /// Milliseconds as of the last move.
    pub clocks: [f64; 2],
    /// When the side to move began to think.
    pub since: Instant,
    /// The server's number.
    pub status: i32,
    /// The server's word.
    pub result: String,
    /// Lines that the human wrote or got: room and text.
    pub talk: Vec<(String, String)>,
    /// Its states are shown in a form that no client can read.
    pub garbled: bool,
}

impl Game {
    /// A game that has just been made, or `None` for an impossible start.
    pub fn new(id: &str, offer: &Offer, bot: &str) -> Option<Game> {
        let (variant, mode) = (variant(offer.variant)?, mode(offer.chess960));
        let fen = match (offer.fen.as_str(), mode) {
            ("", CastlingMode::Chess960) => shuffled(variant).to_owned(),
            (fen, _) => fen.to_owned(),
        };
        let start = match fen.as_str() {
            "" => Position::start(variant),
            fen => Position::from_fen(variant, mode, fen).ok()?,
        };
        let (white, black) = match offer.color {
            Some(Color::Black) => (bot.to_owned(), offer.from.clone()),
            _ => (offer.from.clone(), bot.to_owned()),
        };
        let base = offer.minutes * 60_000.0;
        Some(Game {
            id: id.to_owned(),
            offer: offer.clone(),
            initial_fen: fen,
            white,
            black,
            moves: Vec::new(),
            history: History::new(start),
            clocks: [base, base],
            since: Instant::now(),
            status: -2,
            result: "*".to_owned(),
            talk: Vec::new(),
            garbled: offer.garbled,
        })
    }

    /// Whether moves are taken.
    pub fn is_running(&self) -> bool {
        self.status < 0
    }

    /// Who is to move.
    pub fn on_move(&self) -> &str {
        match self.history.position().turn() {
            Color::White => &self.white,
            Color::Black => &self.black,
        }
    }

    /// The other player.
    pub fn opponent_of(&self, name: &str) -> &str {
        if self.white == name {
            &self.black
        } else {
            &self.white
        }
    }

    fn color_of(&self, name: &str) -> Color {
        if self.white == name {
            Color::White
        } else {
            Color::Black
        }
    }

    /// The legal move of exactly this spelling; only a promotion's letter may be of either case.
    fn legal(&self, word: &str) -> Option<Move> {
        let position = self.history.position();
        let notation = mode(self.offer.chess960);
        let plain = if word.contains('@') || word.len() < 5 {
            word.to_owned()
        } else {
            lower_last(word)
        };
        position
            .legal_moves()
            .iter()
            .copied()
            .find(|m| position.uci_with(*m, notation) == plain)
    }

    /// Spellings of all legal moves.
    pub fn legal_words(&self) -> Vec<String> {
        let position = self.history.position();
        let notation = mode(self.offer.chess960);
        position
            .legal_moves()
            .iter()
            .map(|m| position.uci_with(*m, notation))
            .collect()
    }

    /// A bot's move. Anything illegal on its turn loses at once.
    pub fn bot_move(&mut self, name: &str, word: &str) -> BotMove {
        if !self.is_running()
            || self.moves.last().is_some_and(|last| last == word)
            || self.on_move() != name
        {
            return BotMove::Ignored;
        }
        let Some(m) = self.legal(word) else {
            let winner = !self.color_of(name);
            self.end(10, Outcome::win(winner).result());
            return BotMove::Ended;
        };
        if self.moves.len() >= UNTIMED_PLIES {
            let color = self.color_of(name);
            let clock = &mut self.clocks[color.index()];
            let left = *clock - self.since.elapsed().as_secs_f64() * 1000.0
                + self.offer.increment as f64 * 1000.0;
            *clock = left.max(0.0).round();
            if left <= 0.0 {
                self.end(6, Outcome::win(!color).result());
                return BotMove::Ended;
            }
        }
        self.play(m, word)
    }

    /// A human's move, with the clock its browser claims.
    ///
    /// # Errors
    /// What is wrong with it; the server refuses and nothing happens.
    pub fn human_move(&mut self, word: &str) -> Result<BotMove, String> {
        if !self.is_running() {
            return Err("the game is over".to_owned());
        }
        let m = self
            .legal(word)
            .ok_or_else(|| format!("{word} is illegal"))?;
        Ok(self.play(m, word))
    }

    fn play(&mut self, m: Move, word: &str) -> BotMove {
        self.history.play_unchecked(m);
        self.moves.push(word.to_owned());
        self.status = -1;
        self.since = Instant::now();
        let Some(ending) = Adjudication::PYCHESS.verdict(&self.history).ending else {
            return BotMove::Played;
        };
        let status = match ending.reason {
            EndReason::Checkmate => 1,
            EndReason::Stalemate => 3,
            _ if ending.outcome == Outcome::Draw => 5,
            _ => 12,
        };
        self.end(status, ending.outcome.result());
        BotMove::Ended
    }

    /// Ends the game, unless it has ended already.
    pub fn end(&mut self, status: i32, result: &str) {
        if self.is_running() {
            self.status = status;
            self.result = result.to_owned();
        }
    }

    /// Takes back as many plies as bring the human to move again.
    pub fn take_back(&mut self, human: &str) {
        let plies = if self.on_move() == human { 2 } else { 1 };
        let left = self.moves.len().saturating_sub(plies);
        self.moves.truncate(left);
        self.history.truncate(left);
        self.since = Instant::now();
    }

    /// After a restart of the server nothing but the moves is left.
    pub fn forget(&mut self) {
        let base = self.offer.minutes * 60_000.0;
        self.clocks = [base, base];
        self.since = Instant::now();
        if self.initial_fen.is_empty() {
            self.initial_fen = "None".to_owned();
        }
    }

    /// The server writes fractions as soon as the minutes have one.
    fn clock(&self, index: usize) -> String {
        if self.offer.minutes.fract() == 0.0 {
            format!("{}", self.clocks[index] as i64)
        } else {
            format!("{:.1}", self.clocks[index])
        }
    }

    /// The state's line without its end.
    fn state(&self) -> String {
        let inc = self.offer.increment;
        if self.garbled {
            return r#"{"type": "gameState", "moves": [12, 28], "wtime": "soon"}"#.to_owned();
        }
        format!(
            r#"{{"type": "gameState", "moves": "{}", "wtime": {}, "btime": {}, "winc": {inc}, "binc": {inc}, "wdraw": false, "bdraw": false, "wtakeback": false, "btakeback": false, "status": "started"}}"#,
            self.moves.join(" "),
            self.clock(0),
            self.clock(1)
        )
    }

    /// The state's line.
    pub fn state_line(&self) -> String {
        self.state() + "\n"
    }

    /// The whole game's line.
    pub fn full_line(&self) -> String {
        format!(
            r#"{{"type": "gameFull", "id": "{}", "variant": {{"name": "{}"}}, "white": {{"name": "{}"}}, "black": {{"name": "{}"}}, "initialFen": "{}", "createdAt": 1796019512, "state": {}}}"#,
            self.id,
            self.offer.variant,
            self.white,
            self.black,
            self.initial_fen,
            self.state()
        ) + "\n"
    }

    /// The end's line.
    pub fn end_line(&self) -> String {
        format!(r#"{{"type": "gameEnd", "game": {{"id": "{}"}}}}"#, self.id) + "\n"
    }

    /// The start's line.
    pub fn start_line(&self) -> String {
        let flag = if self.offer.chess960 { "True" } else { "False" };
        format!(
            r#"{{"type": "gameStart", "game": {{"id": "{}", "skill_level": "6", "chess960": "{flag}"}}}}"#,
            self.id
        ) + "\n"
    }

    /// The public page.
    pub fn page(&self) -> String {
        format!(
            "<!DOCTYPE html>\n<html><head><title>a game</title></head><body>\n<div id=\"pychess-variants\" data-gameid=\"{}\" data-ply=\"{}\" data-initialfen=\"{}\" data-result=\"{}\" data-status=\"{}\" data-variant=\"{}\" data-chess960=\"{}\" data-fen=\"{}\"></div></body></html>",
            self.id,
            self.moves.len() as i64 - 1,
            self.initial_fen,
            self.result,
            self.status,
            self.offer.variant,
            if self.offer.chess960 { "True" } else { "False" },
            self.history.position().fen()
        )
    }

    /// The entry in the lists of running games.
    pub fn entry(&self) -> String {
        format!(
            r#"{{"gameId":"{}","variant":"{}","fen":"{}","lastMove":"{}","tp":"{}","w":"{}","wTitle":"","b":"{}","bTitle":"BOT","chess960":{},"base":{},"inc":{},"byoyomi":0,"level":6,"day":0}}"#,
            self.id,
            self.offer.variant,
            self.history.position().fen(),
            self.moves.last().map_or("", String::as_str),
            self.on_move(),
            self.white,
            self.black,
            self.offer.chess960,
            self.offer.minutes,
            self.offer.increment
        )
    }

    /// The result in our words.
    pub fn outcome(&self) -> Option<GameResult> {
        match self.result.as_str() {
            "1-0" => Some(GameResult::Decisive {
                winner: Color::White,
            }),
            "0-1" => Some(GameResult::Decisive {
                winner: Color::Black,
            }),
            "1/2-1/2" => Some(GameResult::Draw),
            _ if self.status == 0 => Some(GameResult::NoResult),
            _ => None,
        }
    }
}

fn mode(chess960: bool) -> CastlingMode {
    if chess960 {
        CastlingMode::Chess960
    } else {
        CastlingMode::Standard
    }
}

fn variant(name: &str) -> Option<Variant> {
    translate::variant(name)
}

fn lower_last(word: &str) -> String {
    let mut text = String::from_str(word).unwrap();
    if let Some(last) = text.pop() {
        text.push(last.to_ascii_lowercase());
    }
    text
}

/// One shuffled start for each board; castling letters in the server's order.
fn shuffled(variant: Variant) -> &'static str {
    match variant {
        Variant::Capablanca => {
            "arkbqncbrn/pppppppppp/10/10/10/10/PPPPPPPPPP/ARKBQNCBRN w BIbi - 0 1"
        }
        Variant::Capahouse => {
            "crkbqnabrn/pppppppppp/10/10/10/10/PPPPPPPPPP/CRKBQNABRN[] w BIbi - 0 1"
        }
        Variant::Crazyhouse => "qnrnbbkr/pppppppp/8/8/8/8/PPPPPPPP/QNRNBBKR[] w CHch - 0 1",
        Variant::Atomic => "qrkbbnrn/pppppppp/8/8/8/8/PPPPPPPP/QRKBBNRN w BGbg - 0 1",
        _ => "bbrnkqrn/pppppppp/8/8/8/8/PPPPPPPP/BBRNKQRN w CGcg - 0 1",
    }
}
