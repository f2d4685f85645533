//! One game on the house: rules, clocks, offers, chat, presence. No I/O; time is an argument.

mod presence;
mod record;
mod text;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::game::Speed;
use crate::rules::{Adjudication, Color, EndReason, Ending, History, Move, Position};

use super::analysis::Analysis;
use super::clock::ServerClock;
use super::league::LeagueTag;
use super::status::{Status, sentence};
use super::variant::HouseVariant;
use super::wire::{GameState, game_state};

pub use presence::Claim;
pub use record::{GameRecord, RestoreError};
pub use text::{color_of_word, color_word, start_position};

use presence::Presence;
use text::{is_near_copy, looks_like_uci, with_default_promotion};

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

/// What the game's watchers must be told, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The state changed.
    State,
    /// A state that has passed already, but was there to be seen.
    Passing(Box<GameState>),
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
    /// The moves as people write them.
    pub sans: Vec<String>,
    /// What an engine thought of it afterwards.
    pub analysis: Option<Arc<Analysis>>,
    /// The league that it is played for.
    pub league: Option<LeagueTag>,
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
            sans: Vec::new(),
            analysis: None,
            league: None,
            history: History::new(new.start),
            adjudication: Adjudication::SEED,
            offered_at: [None; 2],
            presence: [Presence::away(now_ms); 2],
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

    /// Whether one account plays both sides, at one device.
    pub fn is_shared(&self) -> bool {
        self.seats[0].account == self.seats[1].account
    }

    /// The side of an account; of a shared game, the side whose turn it is.
    pub fn color_of(&self, account: &str) -> Option<Color> {
        if self.is_shared() {
            return (self.seats[0].account == account).then(|| self.turn());
        }
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
            Some(ending) => {
                if ending.reason == EndReason::Threefold {
                    // Lichess claims this draw a moment after the move: the state before it is told too.
                    notes.push(Note::Passing(Box::new(game_state(self, now_ms))));
                }
                notes.extend(self.finish(ending, now_ms));
            }
            None => notes.push(Note::State),
        }
        Ok(Played {
            on_board: true,
            notes,
        })
    }

    fn put_on_board(&mut self, color: Color, played: Move, now_ms: i64) {
        let told = self.position().uci(played);
        self.sans.push(self.position().san(played));
        self.history.play_unchecked(played);
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
        if yes && self.is_shared() {
            // Two at one device have agreed before they press the button.
            return self.finish(Ending::draw(EndReason::Agreement), now_ms);
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
                vec![
                    self.say(color, "cancels the draw offer", now_ms),
                    Note::State,
                ]
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
        if yes && self.is_shared() {
            self.take_back(1, now_ms);
            return vec![Note::State];
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
        self.sans.truncate(left);
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
        self.close(
            Status::Aborted,
            None,
            "The game was aborted.".to_owned(),
            now_ms,
        )
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
        let sentence = sentence(ending);
        if Status::of(ending) == Status::Draw {
            // The status alone does not tell which of the rules drew the game.
            notes.push(self.system(sentence.clone(), now_ms));
        }
        let (status, winner) = (Status::of(ending), ending.outcome.winner());
        notes.extend(self.close(status, winner, sentence, now_ms));
        notes
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
