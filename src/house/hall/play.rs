//! Commands in games, and what the players and watchers are told of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};

use crate::rules::Color;

use super::super::account::Account;
use super::super::analysis::Analysis;
use super::super::game::{Claim, Game, GameRecord, Note, PlayRefusal, Room, color_word};
use super::super::glicko::after_game;
use super::super::limits::Limited;
use super::super::lines::{Line, LineKind};
use super::super::refusal::Refusal;
use super::super::status::Status;
use super::super::violation::ViolationKind;
use super::super::wire::{
    chat_line, game_event_line, game_state_line, now_playing, opponent_gone_line,
};
use super::{Caller, Hall, Live, RECENT_GAMES, State};

/// After the end was told, a client has this long to know it, ms.
const END_KNOWN_MS: i64 = 1_000;

/// A finished game in a few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GameSummary {
    /// Eight characters.
    pub id: String,
    /// Key of the variant.
    pub variant: &'static str,
    /// Account id of White.
    pub white: String,
    /// Account id of Black.
    pub black: String,
    /// State at the end.
    pub status: &'static str,
    /// `white`, `black` or nobody.
    pub winner: Option<&'static str>,
    /// Why, in a sentence.
    pub reason: String,
    /// Moves made.
    pub plies: usize,
}

impl GameSummary {
    /// The summary of a game.
    pub fn of(game: &Game) -> GameSummary {
        GameSummary {
            id: game.id.clone(),
            variant: game.variant.key(),
            white: game.seat(Color::White).account.clone(),
            black: game.seat(Color::Black).account.clone(),
            status: game.status.name(),
            winner: game.winner.map(color_word),
            reason: game.reason.clone().unwrap_or_default(),
            plies: game.plies(),
        }
    }
}

/// Games that finished since the house was started: the latest in order, all of them as counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FinishedGames {
    /// The last [`FinishedGames::KEPT`], oldest first.
    pub latest: VecDeque<GameSummary>,
    /// Number of games by variant, aborted ones left out.
    pub by_variant: BTreeMap<&'static str, u64>,
    /// Number of aborted games.
    pub aborted: u64,
}

impl FinishedGames {
    /// Summaries that are kept.
    pub const KEPT: usize = 4_096;

    fn add(&mut self, summary: GameSummary) {
        if summary.status == Status::Aborted.name() {
            self.aborted += 1;
        } else {
            *self.by_variant.entry(summary.variant).or_default() += 1;
        }
        if self.latest.len() == Self::KEPT {
            self.latest.pop_front();
        }
        self.latest.push_back(summary);
    }

    /// Number of games that were not aborted.
    pub fn total(&self) -> u64 {
        self.by_variant.values().sum()
    }
}

/// What a claim against an absent opponent is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimAnswer {
    /// 200, whether anything happened or not.
    Accepted,
    /// 400, after half a second.
    Refused,
}

impl Hall {
    /// A move.
    ///
    /// # Errors
    /// 400 and 404 as Lichess answers them; every one is also reported as a violation, except moves that crossed the game's end.
    pub fn play(
        &self,
        caller: &Caller,
        game: &str,
        uci: &str,
        offering_draw: Option<bool>,
    ) -> Result<(), Refusal> {
        self.command(|state, now_ms| {
            let color = state.seat_for_bot(game, caller, now_ms)?;
            let Some(live) = state.games.get_mut(game) else {
                return Err(Refusal::NotFound("No such game"));
            };
            match live.game.play(color, uci, offering_draw, now_ms) {
                Ok(played) => {
                    if played.on_board {
                        let plies = live.game.plies();
                        live.accepted[color.index()] = Some((plies, uci.to_owned()));
                        if let Some((told, at, when)) = live.told.take()
                            && (told, at + 1) == (color, plies)
                        {
                            let samples = state.answers.entry(caller.account.clone());
                            samples.or_default().add(when.elapsed());
                        }
                    }
                    state.deliver(game, played.notes, now_ms);
                    Ok(())
                }
                Err(refusal) => {
                    let kind = live.kind_of(&refusal, color, uci, now_ms);
                    let answer = match refusal {
                        PlayRefusal::Malformed(uci) => format!("Invalid UCI: {uci}"),
                        PlayRefusal::NotYourTurn => {
                            "Not your turn, or game already over".to_owned()
                        }
                        PlayRefusal::Illegal(reason) => reason,
                    };
                    if let Some(kind) = kind {
                        let ply = state.games.get(game).map_or(0, |live| live.game.plies());
                        let detail = format!("{uci} at ply {ply}: {answer}");
                        let account = Some(caller.account.as_str());
                        state.report(kind, account, Some(game), detail, now_ms);
                    }
                    Err(Refusal::BadRequest(answer))
                }
            }
        })
    }

    /// Abort.
    ///
    /// # Errors
    /// 400 if it is too late.
    pub fn abort(&self, caller: &Caller, game: &str) -> Result<(), Refusal> {
        self.in_game(caller, game, |game, _, now_ms| {
            game.abort(now_ms).map_err(Refusal::bad)
        })
    }

    /// Resignation.
    ///
    /// # Errors
    /// 400 if the game is over.
    pub fn resign(&self, caller: &Caller, game: &str) -> Result<(), Refusal> {
        self.in_game(caller, game, |game, color, now_ms| {
            game.resign(color, now_ms).map_err(Refusal::bad)
        })
    }

    /// Draw offer, or an answer to one.
    ///
    /// # Errors
    /// 404 for games of others; nothing else is ever refused.
    pub fn draw(&self, caller: &Caller, game: &str, yes: bool) -> Result<(), Refusal> {
        self.in_game(caller, game, |game, color, now_ms| {
            Ok(game.answer_draw(color, yes, now_ms))
        })
    }

    /// Takeback proposal, or an answer to one.
    ///
    /// # Errors
    /// 404 for games of others; nothing else is ever refused.
    pub fn takeback(&self, caller: &Caller, game: &str, yes: bool) -> Result<(), Refusal> {
        self.in_game(caller, game, |game, color, now_ms| {
            Ok(game.answer_takeback(color, yes, now_ms))
        })
    }

    /// Time for the opponent.
    ///
    /// # Errors
    /// 400 if this game allows none.
    pub fn give_time(&self, caller: &Caller, game: &str, seconds: i64) -> Result<(), Refusal> {
        self.in_game(caller, game, |game, color, _| {
            game.give_time(color, seconds).map_err(Refusal::bad)
        })
    }

    /// A claim of the win or a draw against an opponent who is not there.
    ///
    /// # Errors
    /// 404 for games of others.
    pub fn claim(
        &self,
        caller: &Caller,
        game: &str,
        victory: bool,
    ) -> Result<ClaimAnswer, Refusal> {
        self.command(|state, now_ms| {
            let color = state.seat_for_bot(game, caller, now_ms)?;
            let base_ms = state.settings.gone_after_ms;
            let Some(live) = state.games.get_mut(game) else {
                return Err(Refusal::NotFound("No such game"));
            };
            let (answer, notes) = match live.game.claim(color, victory, base_ms, now_ms) {
                Claim::Ignored => (ClaimAnswer::Accepted, Vec::new()),
                Claim::Refused => (ClaimAnswer::Refused, Vec::new()),
                Claim::Done(notes) => (ClaimAnswer::Accepted, notes),
                Claim::DrawnButRefused(notes) => (ClaimAnswer::Refused, notes),
            };
            state.deliver(game, notes, now_ms);
            Ok(answer)
        })
    }

    /// A line of chat. What floods is dropped without a word.
    ///
    /// # Errors
    /// 404 for games of others.
    pub fn chat(&self, caller: &Caller, game: &str, room: Room, text: &str) -> Result<(), Refusal> {
        self.command(|state, now_ms| {
            let color = state.seat_for_bot(game, caller, now_ms)?;
            let Some(live) = state.games.get_mut(game) else {
                return Err(Refusal::NotFound("No such game"));
            };
            let name = live.game.seat(color).name.clone();
            let note = live.game.chat(&name, room, text, now_ms);
            state.deliver(game, note.into_iter().collect(), now_ms);
            Ok(())
        })
    }

    /// The lines of the players' room.
    ///
    /// # Errors
    /// 404 for games of others.
    pub fn read_chat(&self, caller: &Caller, game: &str) -> Result<Value, Refusal> {
        self.command(|state, now_ms| {
            state.seat_for_bot(game, caller, now_ms)?;
            let lines = state.games.get(game).map(|live| {
                live.game
                    .chat
                    .iter()
                    .filter(|line| line.room == Room::Player)
                    .map(|line| json!({ "text": line.text, "user": line.username }))
                    .collect()
            });
            Ok(Value::Array(lines.unwrap_or_default()))
        })
    }

    /// Answer of `account/playing`.
    ///
    /// # Errors
    /// 429 if it is asked for too often.
    pub fn playing(&self, caller: &Caller, limit: usize) -> Result<Value, Refusal> {
        self.command(|state, now_ms| {
            state.charge_reading(Limited::Playing, &caller.account, now_ms)?;
            let mut games: Vec<(&Game, Color)> = state
                .running_games_of(&caller.account)
                .map(|(live, color)| (&live.game, color))
                .collect();
            games.sort_by_key(|(game, color)| {
                let left = game.clock.remaining(*color, game.turn(), now_ms);
                (game.turn() != *color, left, game.created_ms)
            });
            Ok(now_playing(&games, limit, now_ms))
        })
    }

    /// Records of games at hand, running or finished a while ago.
    pub fn record(&self, game: &str) -> Option<GameRecord> {
        Some(self.lock().games.get(game)?.game.record())
    }

    /// Writes an analysis to a finished game at hand. Gives it back if the game is not at hand.
    pub fn keep_analysis(&self, game: &str, analysis: Analysis) -> Option<Analysis> {
        self.command(|state, _| {
            let Some(live) = state.games.get_mut(game) else {
                return Some(analysis);
            };
            if live.game.status.is_over() {
                live.game.analysis = Some(Arc::new(analysis));
                state.dirty_games.insert(game.to_owned());
                state.changed.insert(game.to_owned());
            }
            None
        })
    }

    /// Runs `look` on a game at hand.
    pub fn look<T>(&self, game: &str, look: impl FnOnce(&Game, i64) -> T) -> Option<T> {
        let state = self.lock();
        let now_ms = self.timeline.now_ms();
        Some(look(&state.games.get(game)?.game, now_ms))
    }

    /// Ids of running games, newest first.
    pub fn running(&self) -> Vec<String> {
        let state = self.lock();
        let mut games: Vec<&Game> = state
            .games
            .values()
            .map(|live| &live.game)
            .filter(|game| !game.status.is_over())
            .collect();
        games.sort_by(|a, b| b.created_ms.cmp(&a.created_ms).then(a.id.cmp(&b.id)));
        games.into_iter().map(|game| game.id.clone()).collect()
    }

    /// Games that finished since the house was started.
    pub fn finished(&self) -> FinishedGames {
        self.lock().finished.clone()
    }

    /// Runs a command of a player in his game and tells what came of it.
    pub(in super::super) fn in_game(
        &self,
        caller: &Caller,
        game: &str,
        run: impl FnOnce(&mut Game, Color, i64) -> Result<Vec<Note>, Refusal>,
    ) -> Result<(), Refusal> {
        self.command(|state, now_ms| {
            let color = state.seat_for_bot(game, caller, now_ms)?;
            let Some(live) = state.games.get_mut(game) else {
                return Err(Refusal::NotFound("No such game"));
            };
            let notes = run(&mut live.game, color, now_ms)?;
            state.deliver(game, notes, now_ms);
            Ok(())
        })
    }
}

impl Live {
    /// Which violation a refused move is; `None` for one that merely crossed the news.
    fn kind_of(
        &self,
        refusal: &PlayRefusal,
        color: Color,
        uci: &str,
        now_ms: i64,
    ) -> Option<ViolationKind> {
        match refusal {
            PlayRefusal::Malformed(_) => Some(ViolationKind::MalformedMove),
            PlayRefusal::Illegal(_) => Some(ViolationKind::IllegalMove),
            PlayRefusal::NotYourTurn => {
                let game = &self.game;
                if game.status.is_over() {
                    let ended = game.ended_ms.unwrap_or(now_ms);
                    return (now_ms - ended > END_KNOWN_MS).then_some(ViolationKind::MoveAfterEnd);
                }
                match &self.accepted[color.index()] {
                    Some((ply, _)) if *ply == game.plies() => {
                        // His own move is the last on the board: this is another one for the same ply.
                        Some(ViolationKind::SecondMoveForPly)
                    }
                    Some((_, last)) if last == uci => Some(ViolationKind::SecondMoveForPly),
                    _ => Some(ViolationKind::MoveOutOfTurn),
                }
            }
        }
    }
}

impl State {
    /// The checks before every command in a game, in Lichess's order.
    pub(super) fn seat_for_bot(
        &mut self,
        game: &str,
        caller: &Caller,
        now_ms: i64,
    ) -> Result<Color, Refusal> {
        self.refuse_if_closing()?;
        self.color_in(game, &caller.account, now_ms)
    }

    pub(super) fn charge_reading(
        &mut self,
        what: Limited,
        account: &str,
        now_ms: i64,
    ) -> Result<(), Refusal> {
        let Err(seconds) = self.meter.charge(what, account, 1, now_ms) else {
            return Ok(());
        };
        let detail = format!("{what:?}: free again in {seconds} s");
        self.report(ViolationKind::Polling, Some(account), None, detail, now_ms);
        Err(match what {
            Limited::Account => Refusal::TooMany(
                "Please don't poll this endpoint. Stream the events instead.".to_owned(),
            ),
            _ => Refusal::too_many(),
        })
    }

    /// Tells the streams of a game what happened, and the archive and the watchers that it did.
    pub(super) fn deliver(&mut self, id: &str, notes: Vec<Note>, now_ms: i64) {
        if notes.is_empty() {
            return;
        }
        let Some(live) = self.games.get_mut(id) else {
            return;
        };
        let mut finished = false;
        let (turn, plies) = (live.game.turn(), live.game.plies());
        if plies >= 2 && live.told.is_none_or(|(_, at, _)| at != plies) {
            live.told = Some((turn, plies, Instant::now()));
        }
        for note in notes {
            match note {
                Note::State => live.tell(&game_state_line(&live.game, now_ms)),
                Note::Passing(state) => live.tell(&Line::new(LineKind::GameState, &*state)),
                Note::Chat(line) => live.tell(&chat_line(&line)),
                Note::Gone { absent, claim_in_s } => {
                    let line = opponent_gone_line(claim_in_s);
                    for stream in live.streams.iter().filter(|s| s.color != absent) {
                        stream.queue.push(line.clone());
                    }
                }
                Note::Finished => finished = true,
            }
        }
        self.dirty_games.insert(id.to_owned());
        self.changed.insert(id.to_owned());
        if finished {
            self.finish(id, now_ms);
        }
    }

    /// The last acts of a game: streams end, results are counted, both players hear of it.
    fn finish(&mut self, id: &str, now_ms: i64) {
        let Some(live) = self.games.get_mut(id) else {
            return;
        };
        for stream in &live.streams {
            stream.queue.close();
        }
        let summary = GameSummary::of(&live.game);
        tracing::info!(
            game.id = id,
            variant = summary.variant,
            status = summary.status,
            plies = summary.plies,
            "game over"
        );
        self.count_result(id);
        self.finished.add(summary);
        self.tell_players(id, LineKind::GameFinish, now_ms);
        self.recent.push_back(id.to_owned());
        if self.recent.len() > RECENT_GAMES
            && let Some(oldest) = self.recent.pop_front()
            && !self.dirty_games.contains(&oldest)
        {
            self.games.remove(&oldest);
        }
    }

    /// `gameStart` or `gameFinish` for both players.
    pub(super) fn tell_players(&mut self, id: &str, kind: LineKind, now_ms: i64) {
        let Some(live) = self.games.get(id) else {
            return;
        };
        for color in Color::ALL {
            let account = &live.game.seat(color).account;
            if let Some(stream) = self.event_streams.get(account) {
                stream
                    .queue
                    .push(game_event_line(kind, &live.game, color, now_ms));
            }
        }
    }

    fn count_result(&mut self, id: &str) {
        let Some(live) = self.games.get(id) else {
            return;
        };
        let game = &live.game;
        if game.status == Status::Aborted || game.is_shared() {
            return;
        }
        let (winner, rated) = (game.winner, game.rated);
        if rated && game.plies() >= 2 {
            self.rate(id);
        }
        let Some(live) = self.games.get(id) else {
            return;
        };
        let game = &live.game;
        let accounts = Color::ALL.map(|color| game.seat(color).account.clone());
        for (color, account) in Color::ALL.into_iter().zip(accounts) {
            let Some(entry) = self.accounts.get_mut(&account) else {
                continue;
            };
            count(entry, winner.map(|w| w == color), rated);
            self.dirty_accounts.insert(account);
        }
    }

    /// New ratings for both players, from what they were before the game.
    fn rate(&mut self, id: &str) {
        let Some(live) = self.games.get_mut(id) else {
            return;
        };
        let game = &mut live.game;
        let perf = game.perf();
        let score = match game.winner {
            Some(Color::White) => 1.0,
            Some(Color::Black) => 0.0,
            None => 0.5,
        };
        let ids = Color::ALL.map(|color| game.seat(color).account.clone());
        let before = [0, 1].map(|n: usize| self.accounts.get(&ids[n]).map(|a| a.perf(perf)));
        let [Some(white), Some(black)] = before else {
            return;
        };
        let after = after_game(&white, &black, score);
        for (n, (old, new)) in [white, black].into_iter().zip(after).enumerate() {
            game.seats[n].rating_diff = Some(new.shown() - old.shown());
            if let Some(account) = self.accounts.get_mut(&ids[n]) {
                account.perfs.insert(perf.to_owned(), new);
            }
        }
    }

    /// Puts a game of the archive back on the board.
    pub(super) fn resume(&mut self, record: GameRecord, now_ms: i64) {
        let last_move_ms = record.last_move_ms;
        match Game::restore(record, now_ms) {
            Ok(mut game) => {
                let turn = game.turn();
                game.clock.resumed(last_move_ms, turn, now_ms);
                tracing::info!(game.id = %game.id, plies = game.plies(), "game resumed");
                self.changed.insert(game.id.clone());
                self.dirty_games.insert(game.id.clone());
                self.games.insert(game.id.clone(), Live::new(game));
            }
            Err(error) => tracing::error!(%error, "a running game cannot be resumed"),
        }
    }
}

impl Live {
    pub(super) fn new(game: Game) -> Live {
        Live {
            game,
            streams: Vec::new(),
            rematch: None,
            next: None,
            version: 0,
            told: None,
            accepted: [None, None],
        }
    }

    fn tell(&self, line: &Line) {
        for stream in &self.streams {
            stream.queue.push(line.clone());
        }
    }
}

fn count(account: &mut Account, won: Option<bool>, rated: bool) {
    let counts = &mut account.counts;
    counts.all += 1;
    counts.rated += u32::from(rated);
    match won {
        Some(true) => counts.win += 1,
        Some(false) => counts.loss += 1,
        None => counts.draw += 1,
    }
}
