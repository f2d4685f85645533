//! One game on the house: rules, clocks, offers, chat, presence. No I/O; time is an argument.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::game::Speed;
use crate::rules::{
    Adjudication, CastlingMode, Color, EndReason, Ending, History, Move, Position,
};

use super::clock::ServerClock;
use super::status::Status;
use super::variant::HouseVariant;

/// Longest chat line, in characters.
pub const CHAT_LENGTH: usize = 140;

/// Lines of chat kept per game.
const CHAT_LINES: usize = 150;

/// A draw may be offered again after so many plies.
const PLIES_BETWEEN_OFFERS: usize = 20;

/// With the rule `noEarlyDraw`, a draw may be offered from this ply on.
const EARLY_PLIES: usize = 60;

/// A player as he was when the game began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// Id of the account.
    pub account: String,
    /// Name as displayed.
    pub name: String,
    /// `BOT` for bots.
    pub title: Option<String>,
    /// Rating at the start.
    pub rating: i64,
    /// Whether that rating was a guess.
    pub provisional: bool,
    /// Whether opponents may take back.
    pub takebacks: bool,
    /// Points won or lost, after a rated game.
    #[serde(default)]
    pub rating_diff: Option<i64>,
    /// The last four characters of the id under which this player knows the game.
    pub secret: String,
}

/// Who hears a line of chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Room {
    /// The players.
    Player,
    /// Those who watch.
    Spectator,
}

/// A line of chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatLine {
    /// Where it was said.
    pub room: Room,
    /// By whom; `lichess` for the house itself, a name that clients know to ignore.
    pub username: String,
    /// What.
    pub text: String,
    /// When, ms since 1970.
    pub at_ms: i64,
}

/// Name under which the house speaks.
pub const SYSTEM: &str = "lichess";

/// Special terms, by their names in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Term {
    /// No abort.
    NoAbort,
    /// No rematch.
    NoRematch,
    /// No time for the opponent.
    NoGiveTime,
    /// No claim of the win.
    NoClaimWin,
    /// No draw before move 30.
    NoEarlyDraw,
}

impl Term {
    /// The term of a name.
    pub fn parse(name: &str) -> Option<Term> {
        Some(match name {
            "noAbort" => Term::NoAbort,
            "noRematch" => Term::NoRematch,
            "noGiveTime" => Term::NoGiveTime,
            "noClaimWin" => Term::NoClaimWin,
            "noEarlyDraw" => Term::NoEarlyDraw,
            _ => return None,
        })
    }
}

/// Whether a player is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Presence {
    /// Streams and pages open.
    here: u32,
    /// Since when nobody is, ms since 1970.
    away_since: i64,
    /// Whether the opponent has been told, and when last.
    told_at: Option<i64>,
}

/// What the game's watchers must be told, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The state changed.
    State,
    /// Something was said.
    Chat(ChatLine),
    /// `absent` left (with the seconds after which the other may claim), or came back.
    Gone {
        /// Who.
        absent: Color,
        /// Seconds to the claim; `None` if he is back.
        claim_in_s: Option<i64>,
    },
    /// The game is over; the state has been told.
    Finished,
}

/// Why a move was not played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlayRefusal {
    /// The text is no move.
    Malformed(String),
    /// It is the opponent's turn, or the game is over.
    NotYourTurn,
    /// The rules refuse it; the sentence says why.
    Illegal(String),
}

/// What became of a move that was not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    /// Whether it stands on the board (otherwise the clock or a draw came first).
    pub on_board: bool,
    /// What to tell.
    pub notes: Vec<Note>,
}

/// A game.
#[derive(Debug, Clone)]
pub struct Game {
    /// Eight characters.
    pub id: String,
    /// Variant.
    pub variant: HouseVariant,
    /// Whether ratings are at stake.
    pub rated: bool,
    /// White and Black.
    pub seats: [Seat; 2],
    /// Clock.
    pub clock: ServerClock,
    /// When it was made, ms since 1970.
    pub created_ms: i64,
    /// When the last move was made (or the game), ms since 1970.
    pub last_move_ms: i64,
    /// Start position if it is not the variant's own.
    pub initial_fen: Option<String>,
    /// Special terms.
    pub terms: BTreeSet<Term>,
    /// State.
    pub status: Status,
    /// Winner.
    pub winner: Option<Color>,
    /// Why it ended, in words.
    pub reason: Option<String>,
    /// When it ended, ms since 1970.
    pub ended_ms: Option<i64>,
    /// Who offers a draw.
    pub draw_offer: Option<Color>,
    /// Who proposes to take back.
    pub takeback_offer: Option<Color>,
    /// Chat of both rooms.
    pub chat: Vec<ChatLine>,
    /// The moves as the API tells them.
    pub moves: Vec<String>,
    /// What the mover's clock showed after each move, in ms.
    pub clocks: Vec<i64>,
    history: History,
    adjudication: Adjudication,
    offered_at: [Option<usize>; 2],
    presence: [Presence; 2],
}

/// What a new game is made of.
#[derive(Debug, Clone)]
pub struct NewGame {
    /// Eight characters.
    pub id: String,
    /// Variant.
    pub variant: HouseVariant,
    /// Whether ratings are at stake.
    pub rated: bool,
    /// White and Black.
    pub seats: [Seat; 2],
    /// Time control.
    pub time: crate::game::TimeControl,
    /// Start position if it is not the variant's own.
    pub initial_fen: Option<String>,
    /// The same as a position.
    pub start: Position,
    /// Special terms.
    pub terms: BTreeSet<Term>,
}

impl Game {
    /// Starts a game.
    pub fn new(new: NewGame, now_ms: i64) -> Game {
        let away = Presence {
            here: 0,
            away_since: now_ms,
            told_at: None,
        };
        Game {
            id: new.id,
            variant: new.variant,
            rated: new.rated,
            seats: new.seats,
            clock: ServerClock::new(new.time, now_ms),
            created_ms: now_ms,
            last_move_ms: now_ms,
            initial_fen: new.initial_fen,
            terms: new.terms,
            status: Status::Started,
            winner: None,
            reason: None,
            ended_ms: None,
            draw_offer: None,
            takeback_offer: None,
            chat: Vec::new(),
            moves: Vec::new(),
            clocks: Vec::new(),
            history: History::new(new.start),
            adjudication: Adjudication::SEED,
            offered_at: [None; 2],
            presence: [away; 2],
        }
    }

    /// The position on the board.
    pub fn position(&self) -> &Position {
        self.history.position()
    }

    /// Start, moves and all.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Whose turn it is.
    pub fn turn(&self) -> Color {
        self.position().turn()
    }

    /// Moves made.
    pub fn plies(&self) -> usize {
        self.moves.len()
    }

    /// Speed.
    pub fn speed(&self) -> Speed {
        self.clock.time().speed()
    }

    /// Rating category.
    pub fn perf(&self) -> &'static str {
        self.variant.perf(self.clock.time())
    }

    /// The seat of a side.
    pub fn seat(&self, color: Color) -> &Seat {
        &self.seats[color.index()]
    }

    /// The side of an account.
    pub fn color_of(&self, account: &str) -> Option<Color> {
        Color::ALL
            .into_iter()
            .find(|color| self.seat(*color).account == account)
    }

    /// Whether the game could still be aborted by a player.
    pub fn is_abortable(&self) -> bool {
        self.status == Status::Started && self.plies() < 2 && !self.terms.contains(&Term::NoAbort)
    }

    /// Plays a move for `color`.
    ///
    /// A draw that the opponent offers is taken first if `offering_draw` says so, and the move is then not played.
    ///
    /// # Errors
    /// [`PlayRefusal`]; nothing changed.
    pub fn play(
        &mut self,
        color: Color,
        uci: &str,
        offering_draw: Option<bool>,
        now_ms: i64,
    ) -> Result<Played, PlayRefusal> {
        if !looks_like_uci(uci, self.variant.rules().files()) {
            return Err(PlayRefusal::Malformed(uci.to_owned()));
        }
        if self.status.is_over() || self.turn() != color {
            return Err(PlayRefusal::NotYourTurn);
        }
        if let Some(notes) = self.flag_if_due(now_ms) {
            return Ok(Played {
                on_board: false,
                notes,
            });
        }
        let position = self.position();
        let uci = with_default_promotion(position, uci);
        let played = position
            .parse_uci(&uci)
            .map_err(|error| PlayRefusal::Illegal(error.to_string()))?;

        let mut notes = Vec::new();
        match offering_draw {
            Some(true) if self.draw_offer == Some(!color) => {
                notes.extend(self.finish(Ending::draw(EndReason::Agreement), now_ms));
                return Ok(Played {
                    on_board: false,
                    notes,
                });
            }
            Some(true) => notes.extend(self.offer_draw(color, now_ms)),
            Some(false) | None => {}
        }
        self.put_on_board(color, played, now_ms);
        // A move is also the answer "no" to whatever the opponent had proposed.
        if self.draw_offer == Some(!color) {
            self.draw_offer = None;
            notes.push(self.say(color, "declines draw", now_ms));
        }
        self.takeback_offer = None;
        match self.adjudication.verdict(&self.history).ending {
            Some(ending) => notes.extend(self.finish(ending, now_ms)),
            None => notes.push(Note::State),
        }
        Ok(Played {
            on_board: true,
            notes,
        })
    }

    fn put_on_board(&mut self, color: Color, played: Move, now_ms: i64) {
        let told = self.position().uci(played);
        self.history.play(played);
        self.moves.push(told);
        self.clock.moved(color, self.moves.len(), now_ms);
        let shown = self.clock.remaining(color, !color, now_ms);
        self.clocks.push(shown);
        self.last_move_ms = now_ms;
    }

    /// `color` offers, accepts (`yes`) or declines a draw. What may not be done has no effect, as on Lichess.
    pub fn answer_draw(&mut self, color: Color, yes: bool, now_ms: i64) -> Vec<Note> {
        if self.status.is_over() {
            return Vec::new();
        }
        match (yes, self.draw_offer) {
            (true, Some(by)) if by != color => {
                self.finish(Ending::draw(EndReason::Agreement), now_ms)
            }
            (true, _) => self.offer_draw(color, now_ms),
            (false, Some(by)) if by != color => {
                self.draw_offer = None;
                vec![self.say(color, "declines draw", now_ms), Note::State]
            }
            (false, Some(_)) => {
                self.draw_offer = None;
                vec![self.say(color, "cancels the draw offer", now_ms), Note::State]
            }
            (false, None) => Vec::new(),
        }
    }

    fn offer_draw(&mut self, color: Color, now_ms: i64) -> Vec<Note> {
        let plies = self.plies();
        let too_soon = self.offered_at[color.index()]
            .is_some_and(|at| plies.saturating_sub(at) < PLIES_BETWEEN_OFFERS);
        let too_early = self.terms.contains(&Term::NoEarlyDraw) && plies < EARLY_PLIES;
        if plies < 2 || self.draw_offer.is_some() || too_soon || too_early {
            return Vec::new();
        }
        self.draw_offer = Some(color);
        self.offered_at[color.index()] = Some(plies);
        vec![self.say(color, "offers draw", now_ms), Note::State]
    }

    /// `color` proposes, accepts (`yes`) or declines to take moves back.
    pub fn answer_takeback(&mut self, color: Color, yes: bool, now_ms: i64) -> Vec<Note> {
        let allowed = self.seats.iter().all(|seat| seat.takebacks);
        if self.status.is_over() || !allowed || self.plies() == 0 {
            return Vec::new();
        }
        match (yes, self.takeback_offer) {
            (true, Some(by)) if by != color => {
                // The proposer gets his own last move back, and with it the answer to it.
                let plies = if self.turn() == by { 2 } else { 1 };
                self.take_back(plies.min(self.plies()), now_ms);
                vec![
                    self.system("Takeback accepted".to_owned(), now_ms),
                    Note::State,
                ]
            }
            (true, None) => {
                let own_moves = (self.plies() + usize::from(self.first_mover() == color)) / 2;
                if own_moves == 0 {
                    return Vec::new();
                }
                self.takeback_offer = Some(color);
                vec![self.system("Takeback sent".to_owned(), now_ms), Note::State]
            }
            (true, Some(_)) => Vec::new(),
            (false, Some(by)) => {
                self.takeback_offer = None;
                let text = if by == color {
                    "Takeback cancelled"
                } else {
                    "Takeback declined"
                };
                vec![self.system(text.to_owned(), now_ms), Note::State]
            }
            (false, None) => Vec::new(),
        }
    }

    fn first_mover(&self) -> Color {
        if self.plies().is_multiple_of(2) {
            self.turn()
        } else {
            !self.turn()
        }
    }

    fn take_back(&mut self, plies: usize, now_ms: i64) {
        let before = self.turn();
        let left = self.plies() - plies;
        self.history.truncate(left);
        self.moves.truncate(left);
        self.clocks.truncate(left);
        self.clock.taken_back(before, left, now_ms);
        self.takeback_offer = None;
        self.draw_offer = None;
    }

    /// A player aborts.
    ///
    /// # Errors
    /// If it is too late for that.
    pub fn abort(&mut self, now_ms: i64) -> Result<Vec<Note>, &'static str> {
        if !self.is_abortable() {
            return Err("This game can no longer be aborted");
        }
        Ok(self.abort_now(now_ms))
    }

    /// Ends the game without a result, whoever wants it.
    pub fn abort_now(&mut self, now_ms: i64) -> Vec<Note> {
        self.close(Status::Aborted, None, "aborted".to_owned(), now_ms)
    }

    /// `color` resigns; while the game can be aborted that is what happens instead.
    ///
    /// # Errors
    /// If the game is over.
    pub fn resign(&mut self, color: Color, now_ms: i64) -> Result<Vec<Note>, &'static str> {
        if self.is_abortable() {
            return Ok(self.abort_now(now_ms));
        }
        if self.status.is_over() {
            return Err("This game cannot be resigned");
        }
        Ok(self.finish(Ending::win(!color, EndReason::Resignation), now_ms))
    }

    /// `color` gives the opponent time.
    ///
    /// # Errors
    /// If this game allows none.
    pub fn give_time(&mut self, color: Color, seconds: i64) -> Result<Vec<Note>, &'static str> {
        let allowed = self.status == Status::Started
            && self.clock.is_real_time()
            && !self.terms.contains(&Term::NoGiveTime);
        if !allowed {
            return Err("This game doesn't allow giving time");
        }
        self.clock.add(!color, seconds.clamp(5, 60) * 1000);
        Ok(vec![Note::State])
    }

    /// Somebody speaks. `None` if the line is dropped: a near copy of one of the last
    /// two of the same speaker, or the fifth within ten seconds.
    pub fn chat(&mut self, username: &str, room: Room, text: &str, now_ms: i64) -> Option<Note> {
        let own = |line: &&ChatLine| line.username == username && line.room == room;
        let recent = self
            .chat
            .iter()
            .filter(own)
            .filter(|line| now_ms - line.at_ms < 10_000)
            .count();
        let mut last_two = self.chat.iter().rev().filter(own).take(2);
        let flood = recent >= 4 || last_two.any(|line| is_near_copy(&line.text, text));
        if flood {
            return None;
        }
        Some(self.add_line(ChatLine {
            room,
            username: username.to_owned(),
            text: text.to_owned(),
            at_ms: now_ms,
        }))
    }

    fn say(&mut self, color: Color, what: &str, now_ms: i64) -> Note {
        self.system(format!("{color} {what}"), now_ms)
    }

    fn system(&mut self, text: String, now_ms: i64) -> Note {
        self.add_line(ChatLine {
            room: Room::Player,
            username: SYSTEM.to_owned(),
            text,
            at_ms: now_ms,
        })
    }

    fn add_line(&mut self, line: ChatLine) -> Note {
        if self.chat.len() == CHAT_LINES {
            self.chat.remove(0);
        }
        self.chat.push(line.clone());
        Note::Chat(line)
    }

    /// Ends the game if the side to move has overstepped the time.
    pub fn flag_if_due(&mut self, now_ms: i64) -> Option<Vec<Note>> {
        let turn = self.turn();
        if self.status.is_over() || !self.clock.has_flagged(turn, now_ms) {
            return None;
        }
        if self.draw_offer == Some(!turn) {
            // Who offered a draw and then sees the flag fall gets the draw.
            return Some(self.finish(Ending::draw(EndReason::Agreement), now_ms));
        }
        let ending = self.adjudication.flag(self.position(), turn);
        Some(self.finish(ending, now_ms))
    }

    fn finish(&mut self, ending: Ending, now_ms: i64) -> Vec<Note> {
        let mut notes = Vec::new();
        if self.says_why(ending.reason) {
            notes.push(self.system(ending.reason.words().to_owned(), now_ms));
        }
        notes.extend(self.close(
            Status::of(ending),
            ending.outcome.winner(),
            ending.reason.words().to_owned(),
            now_ms,
        ));
        notes
    }

    /// The status alone does not tell which of the rules drew the game.
    fn says_why(&self, reason: EndReason) -> bool {
        !matches!(
            reason,
            EndReason::Checkmate
                | EndReason::Stalemate
                | EndReason::Resignation
                | EndReason::TimeForfeit
                | EndReason::Abandonment
        )
    }

    fn close(
        &mut self,
        status: Status,
        winner: Option<Color>,
        reason: String,
        now_ms: i64,
    ) -> Vec<Note> {
        let turn = self.turn();
        self.clock.stop(turn, now_ms);
        self.status = status;
        self.winner = winner;
        self.reason = Some(reason);
        self.ended_ms = Some(now_ms);
        self.draw_offer = None;
        self.takeback_offer = None;
        vec![Note::State, Note::Finished]
    }
}

/// Presence and what follows from it.
impl Game {
    /// A stream or page of `color` was opened.
    pub fn came(&mut self, color: Color) -> Option<Note> {
        let presence = &mut self.presence[color.index()];
        presence.here += 1;
        presence.told_at.take().map(|_| Note::Gone {
            absent: color,
            claim_in_s: None,
        })
    }

    /// A stream or page of `color` was closed.
    pub fn left(&mut self, color: Color, now_ms: i64) {
        let presence = &mut self.presence[color.index()];
        presence.here = presence.here.saturating_sub(1);
        if presence.here == 0 {
            presence.away_since = now_ms;
        }
    }

    /// Whether `color` is there.
    pub fn is_here(&self, color: Color) -> bool {
        self.presence[color.index()].here > 0
    }

    /// Milliseconds after which an absent player may be claimed against: 40 s, twice that in rapid, thrice in slower games.
    fn patience_ms(&self, base_ms: i64) -> i64 {
        match self.speed() {
            Speed::UltraBullet | Speed::Bullet | Speed::Blitz => base_ms,
            Speed::Rapid => base_ms * 2,
            Speed::Classical | Speed::Correspondence => base_ms * 3,
        }
    }

    fn claim_in_ms(&self, absent: Color, base_ms: i64, now_ms: i64) -> Option<i64> {
        let presence = &self.presence[absent.index()];
        let counts = presence.here == 0
            && self.status == Status::Started
            && self.clock.is_real_time()
            && self.plies() >= 2;
        counts.then(|| {
            let gone_for = now_ms - presence.away_since.max(self.created_ms);
            (self.patience_ms(base_ms) - gone_for).max(0)
        })
    }

    /// Tells the opponent of an absent player how long he must wait, every five seconds.
    pub fn watch_absence(&mut self, base_ms: i64, now_ms: i64) -> Vec<Note> {
        const AGAIN_MS: i64 = 5_000;
        let mut notes = Vec::new();
        for absent in Color::ALL {
            let Some(claim_in) = self.claim_in_ms(absent, base_ms, now_ms) else {
                continue;
            };
            let presence = &mut self.presence[absent.index()];
            // A second of absence is a reconnect, not a departure.
            let counts = now_ms - presence.away_since >= 1_000.min(base_ms);
            let due = presence
                .told_at
                .is_none_or(|at| now_ms - at >= AGAIN_MS.min(base_ms.max(1)));
            if counts && due {
                presence.told_at = Some(now_ms);
                notes.push(Note::Gone {
                    absent,
                    claim_in_s: Some((claim_in + 999) / 1000),
                });
            }
        }
        notes
    }

    /// `color` claims the win (`victory`) or a draw against an absent opponent.
    pub fn claim(&mut self, color: Color, victory: bool, base_ms: i64, now_ms: i64) -> Claim {
        let refused_terms = if victory {
            !self.clock.is_real_time()
                || self.terms.contains(&Term::NoClaimWin)
                || self.turn() == color
        } else {
            self.plies() < 2
                || (self.terms.contains(&Term::NoEarlyDraw) && self.plies() < EARLY_PLIES)
        };
        if self.status.is_over() || refused_terms {
            return Claim::Ignored;
        }
        let gone = self.claim_in_ms(!color, base_ms, now_ms) == Some(0);
        if !gone || self.turn() == color {
            return Claim::Refused;
        }
        let could_win = self
            .adjudication
            .flag(self.position(), !color)
            .outcome
            .winner()
            .is_some();
        let winner = (victory && could_win).then_some(color);
        let words = EndReason::Abandonment.words().to_owned();
        let notes = self.close(Status::Timeout, winner, words, now_ms);
        if victory && winner.is_none() {
            Claim::DrawnButRefused(notes)
        } else {
            Claim::Done(notes)
        }
    }
}

/// What became of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// This game knows no such claim (now); the API says 200 and nothing happens.
    Ignored,
    /// The opponent is not gone (long enough): 400.
    Refused,
    /// The game is over.
    Done(Vec<Note>),
    /// The claimant could never have won: the game is drawn, and the API says 400 all the same.
    DrawnButRefused(Vec<Note>),
}

/// What of a game is written to the disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GameRecord {
    /// Eight characters.
    pub id: String,
    /// The house's key of the variant.
    pub variant: String,
    /// Whether ratings are at stake.
    pub rated: bool,
    /// White and Black.
    pub seats: [Seat; 2],
    /// Clock.
    pub clock: ServerClock,
    /// When it was made, ms since 1970.
    pub created_ms: i64,
    /// When the last move was made, ms since 1970.
    pub last_move_ms: i64,
    /// Start position if it is not the variant's own.
    pub initial_fen: Option<String>,
    /// Special terms.
    pub terms: BTreeSet<Term>,
    /// State.
    pub status: Status,
    /// `white`, `black` or nobody.
    pub winner: Option<String>,
    /// Why it ended, in words.
    pub reason: Option<String>,
    /// When it ended, ms since 1970.
    pub ended_ms: Option<i64>,
    /// Chat.
    pub chat: Vec<ChatLine>,
    /// Moves in UCI, separated by spaces.
    pub moves: String,
    /// What the mover's clock showed after each move, in ms.
    pub clocks: Vec<i64>,
}

/// Why a record cannot be brought back to life.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// A variant that is not on offer (any more).
    #[error("game {id}: unknown variant `{variant}`")]
    Variant {
        /// The game.
        id: String,
        /// The key.
        variant: String,
    },
    /// The start position cannot be read.
    #[error("game {id}: start position `{fen}`: {reason}")]
    Start {
        /// The game.
        id: String,
        /// The position.
        fen: String,
        /// What is wrong.
        reason: String,
    },
    /// A move that the rules refuse.
    #[error("game {id}: move {number} `{uci}`: {reason}")]
    Move {
        /// The game.
        id: String,
        /// Which one, counted from 1.
        number: usize,
        /// The move.
        uci: String,
        /// What is wrong.
        reason: String,
    },
}

impl Game {
    /// What of the game is written to the disk.
    pub fn record(&self) -> GameRecord {
        GameRecord {
            id: self.id.clone(),
            variant: self.variant.key().to_owned(),
            rated: self.rated,
            seats: self.seats.clone(),
            clock: self.clock.clone(),
            created_ms: self.created_ms,
            last_move_ms: self.last_move_ms,
            initial_fen: self.initial_fen.clone(),
            terms: self.terms.clone(),
            status: self.status,
            winner: self.winner.map(|c| color_word(c).to_owned()),
            reason: self.reason.clone(),
            ended_ms: self.ended_ms,
            chat: self.chat.clone(),
            moves: self.moves.join(" "),
            clocks: self.clocks.clone(),
        }
    }

    /// Brings a game back.
    ///
    /// # Errors
    /// [`RestoreError`] if the record does not hold a game by the rules.
    pub fn restore(record: GameRecord, now_ms: i64) -> Result<Game, RestoreError> {
        let id = record.id.clone();
        let Some(variant) = HouseVariant::from_key(&record.variant) else {
            return Err(RestoreError::Variant {
                id,
                variant: record.variant,
            });
        };
        let start =
            start_position(variant, record.initial_fen.as_deref()).map_err(|error| {
                RestoreError::Start {
                    id: id.clone(),
                    fen: record.initial_fen.clone().unwrap_or_default(),
                    reason: error,
                }
            })?;
        let mut history = History::new(start);
        for (number, uci) in (1..).zip(record.moves.split_whitespace()) {
            let parsed = history.position().parse_uci(uci);
            let played = parsed.map_err(|error| RestoreError::Move {
                id: id.clone(),
                number,
                uci: uci.to_owned(),
                reason: error.to_string(),
            })?;
            history.play(played);
        }
        let away = Presence {
            here: 0,
            away_since: now_ms,
            told_at: None,
        };
        Ok(Game {
            id,
            variant,
            rated: record.rated,
            seats: record.seats,
            clock: record.clock,
            created_ms: record.created_ms,
            last_move_ms: record.last_move_ms,
            initial_fen: record.initial_fen,
            terms: record.terms,
            status: record.status,
            winner: record.winner.as_deref().and_then(color_of_word),
            reason: record.reason,
            ended_ms: record.ended_ms,
            draw_offer: None,
            takeback_offer: None,
            chat: record.chat,
            moves: record.moves.split_whitespace().map(str::to_owned).collect(),
            clocks: record.clocks,
            history,
            adjudication: Adjudication::SEED,
            offered_at: [None; 2],
            presence: [away; 2],
        })
    }
}

/// The start position of a game.
///
/// # Errors
/// What the rules say against the position.
pub fn start_position(variant: HouseVariant, fen: Option<&str>) -> Result<Position, String> {
    let mode = variant.castling_mode();
    match fen {
        Some(fen) => {
            Position::from_fen(variant.rules(), mode, fen).map_err(|error| error.to_string())
        }
        None if mode == CastlingMode::Standard => Ok(Position::start(variant.rules())),
        None => Position::from_fen(variant.rules(), mode, variant.rules().start_fen())
            .map_err(|error| error.to_string()),
    }
}

/// `white` or `black`.
pub fn color_word(color: Color) -> &'static str {
    crate::game::words::color::word(color)
}

/// The side of a word.
pub fn color_of_word(word: &str) -> Option<Color> {
    crate::game::words::color::parse(word)
}

/// Whether a text has the form of a move, legal or not.
fn looks_like_uci(text: &str, files: u8) -> bool {
    let bytes = text.as_bytes();
    let last_file = b'a' + files - 1;
    let square = |s: &[u8]| {
        matches!(s, [file, rank] if (b'a'..=last_file).contains(file) && (b'1'..=b'8').contains(rank))
    };
    match bytes {
        [role, b'@', to @ ..] if to.len() == 2 => b"PNBRQKAC".contains(role) && square(to),
        [from @ .., t1, t2] if from.len() == 2 => square(from) && square(&[*t1, *t2]),
        [f1, f2, t1, t2, role] => {
            square(&[*f1, *f2]) && square(&[*t1, *t2]) && role.is_ascii_alphabetic()
        }
        _ => false,
    }
}

/// A pawn that reaches the last rank without saying what it becomes, or says it in a way
/// that Lichess does not understand, becomes a queen.
fn with_default_promotion(position: &Position, uci: &str) -> String {
    let known = uci.len() == 5
        && uci
            .chars()
            .last()
            .is_some_and(|c| c.is_ascii_lowercase() && crate::rules::Role::from_char(c).is_some());
    if known || uci.contains('@') {
        return uci.to_owned();
    }
    let bare = uci.get(..4).unwrap_or(uci);
    if uci.len() == 4 && position.parse_uci(bare).is_ok() {
        return bare.to_owned();
    }
    let queened = format!("{bare}q");
    if position.parse_uci(&queened).is_ok() {
        queened
    } else {
        bare.to_owned()
    }
}

/// Whether two lines differ by less than an eighth (or two letters).
fn is_near_copy(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let bound = 2.max(a.len().min(b.len()) / 8);
    if a.len().abs_diff(b.len()) >= bound {
        return false;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()] < bound
}
