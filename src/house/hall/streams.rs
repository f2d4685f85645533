//! Opening and closing of streams.

use std::sync::Arc;

use crate::rules::Color;

use super::super::challenge::ChallengeStatus;
use super::super::conn::ConnControl;
use super::super::endpoint::Endpoint;
use super::super::limits::Limited;
use super::super::lines::{Line, LineKind, LineQueue};
use super::super::refusal::Refusal;
use super::super::violation::{Violation, ViolationKind};
use super::super::wire::{challenge_event_line, game_event_line, game_full_line};
use super::{Caller, EventStream, GameStream, Hall, Judgement, State};

/// After this long it is seen whether the first of two streams was really alive, ms.
const JUDGEMENT_MS: i64 = 100;

/// Which stream, for closing it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamKey {
    /// Event stream of an account.
    Events {
        /// The account.
        account: String,
        /// Number of the stream.
        serial: u64,
    },
    /// A player's stream of a game.
    Game {
        /// The game.
        game: String,
        /// Number of the stream.
        serial: u64,
    },
    /// A challenge that is kept alive.
    Challenge {
        /// The challenge.
        challenge: String,
    },
    /// A game that was over before the stream was opened.
    Past,
}

/// An open stream. Dropping it closes it.
#[derive(Debug)]
pub struct OpenStream {
    /// Its lines.
    pub queue: Arc<LineQueue>,
    /// What kind of requests opened it.
    pub endpoint: Endpoint,
    /// For whom.
    pub account: String,
    /// Which one.
    pub key: StreamKey,
    hall: Arc<Hall>,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.hall.close_stream(&self.key);
    }
}

impl Hall {
    /// Opens the event stream of an account. One that is open already is closed, and reported if it was alive.
    ///
    /// # Errors
    /// 429 if it is opened too often.
    pub fn open_events(
        self: &Arc<Hall>,
        caller: &Caller,
        control: &Arc<ConnControl>,
    ) -> Result<OpenStream, Refusal> {
        self.command(|state, now_ms| {
            state.refuse_if_closing()?;
            let account = &caller.account;
            if let Err(seconds) = state.meter.charge(Limited::EventStream, account, 1, now_ms) {
                let detail = format!("opened too often; free again in {seconds} s");
                state.report(
                    ViolationKind::EventStreamPolling,
                    Some(account),
                    None,
                    detail,
                    now_ms,
                );
                return Err(Refusal::TooMany(
                    "Please don't poll this endpoint, it is intended to be streamed.".to_owned(),
                ));
            }
            let serial = state.serial();
            let queue = Arc::new(LineQueue::with(state.first_events(account, now_ms)));
            let stream = EventStream {
                serial,
                queue: Arc::clone(&queue),
                control: Arc::clone(control),
            };
            if let Some(old) = state.event_streams.insert(account.clone(), stream) {
                let violation = Violation {
                    kind: ViolationKind::SecondEventStream,
                    account: Some(account.clone()),
                    game: None,
                    at_ms: now_ms,
                    detail: "the event stream was open already".to_owned(),
                };
                state.judge_later(old.queue, old.control, violation, now_ms);
            }
            state.seen_ms.insert(account.clone(), now_ms);
            Ok(OpenStream {
                queue,
                endpoint: Endpoint::EventStream,
                account: account.clone(),
                key: StreamKey::Events {
                    account: account.clone(),
                    serial,
                },
                hall: Arc::clone(self),
            })
        })
    }

    /// Opens a player's stream of a game that is at hand. `None` if it is not.
    ///
    /// # Errors
    /// 404 if it is a game of others.
    pub fn open_game(
        self: &Arc<Hall>,
        caller: &Caller,
        game: &str,
        user_agent: &str,
        control: &Arc<ConnControl>,
    ) -> Result<Option<OpenStream>, Refusal> {
        self.command(|state, now_ms| {
            state.refuse_if_closing()?;
            if !state.games.contains_key(game) {
                return Ok(None);
            }
            let color = state.color_in(game, &caller.account, now_ms)?;
            let serial = state.serial();
            let Some(live) = state.games.get_mut(game) else {
                return Ok(None);
            };
            let queue = Arc::new(LineQueue::with(vec![game_full_line(&live.game, now_ms)]));
            let account = caller.account.clone();
            if live.game.status.is_over() {
                queue.close();
                return Ok(Some(self.past(queue, account)));
            }
            let note = live.game.came(color);
            let same =
                |stream: &&mut GameStream| stream.color == color && stream.user_agent == user_agent;
            let old = live.streams.iter_mut().find(same).map(|stream| {
                let fresh = GameStream {
                    serial,
                    color,
                    user_agent: user_agent.to_owned(),
                    queue: Arc::clone(&queue),
                    control: Arc::clone(control),
                };
                std::mem::replace(stream, fresh)
            });
            if let Some(old) = old {
                // The replaced stream will not find itself when it is closed, so it leaves now.
                live.game.left(color, now_ms);
                let violation = Violation {
                    kind: ViolationKind::SecondGameStream,
                    account: Some(account.clone()),
                    game: Some(game.to_owned()),
                    at_ms: now_ms,
                    detail: "this game's stream was open already".to_owned(),
                };
                state.judge_later(old.queue, old.control, violation, now_ms);
            } else {
                live.streams.push(GameStream {
                    serial,
                    color,
                    user_agent: user_agent.to_owned(),
                    queue: Arc::clone(&queue),
                    control: Arc::clone(control),
                });
            }
            if let Some(note) = note {
                state.deliver(game, vec![note], now_ms);
            }
            Ok(Some(OpenStream {
                queue,
                endpoint: Endpoint::GameStream,
                account,
                key: StreamKey::Game {
                    game: game.to_owned(),
                    serial,
                },
                hall: Arc::clone(self),
            }))
        })
    }

    /// A stream of a game that is over: its lines are in the queue already.
    pub fn past(self: &Arc<Hall>, queue: Arc<LineQueue>, account: String) -> OpenStream {
        OpenStream {
            queue,
            endpoint: Endpoint::GameStream,
            account,
            key: StreamKey::Past,
            hall: Arc::clone(self),
        }
    }

    /// The answer of a challenge that is kept alive.
    pub(super) fn challenge_stream(
        self: &Arc<Hall>,
        queue: Arc<LineQueue>,
        account: &str,
        challenge: &str,
    ) -> OpenStream {
        OpenStream {
            queue,
            endpoint: Endpoint::ChallengeCreate,
            account: account.to_owned(),
            key: StreamKey::Challenge {
                challenge: challenge.to_owned(),
            },
            hall: Arc::clone(self),
        }
    }

    fn close_stream(&self, key: &StreamKey) {
        self.command(|state, now_ms| match key {
            StreamKey::Events { account, serial } => {
                state.seen_ms.insert(account.clone(), now_ms);
                let mine = |stream: &EventStream| stream.serial == *serial;
                if state.event_streams.get(account).is_some_and(mine) {
                    state.event_streams.remove(account);
                }
            }
            StreamKey::Game { game, serial } => {
                let Some(live) = state.games.get_mut(game) else {
                    return;
                };
                let Some(place) = live.streams.iter().position(|s| s.serial == *serial) else {
                    return;
                };
                let stream = live.streams.swap_remove(place);
                live.game.left(stream.color, now_ms);
                let account = live.game.seat(stream.color).account.clone();
                state.seen_ms.insert(account, now_ms);
            }
            StreamKey::Challenge { challenge } => {
                // Letting go does not cancel; the challenge is no longer kept alive.
                if let Some(pending) = state.challenges.get_mut(challenge) {
                    pending
                        .keep_alive
                        .retain(|queue| Arc::strong_count(queue) > 1);
                }
            }
            StreamKey::Past => {}
        });
    }

    /// Ends streams of running games and events in good order, as a server does that is
    /// updated. Both kinds, or one account's only.
    pub fn end_streams(&self, account: Option<&str>) {
        self.command(|state, _| {
            for (owner, stream) in &state.event_streams {
                if account.is_none_or(|a| a == owner) {
                    stream.queue.close();
                }
            }
            for live in state.games.values() {
                for stream in &live.streams {
                    let owner = &live.game.seat(stream.color).account;
                    if account.is_none_or(|a| a == owner) {
                        stream.queue.close();
                    }
                }
            }
        });
    }

    /// The connections of an account's open streams: its event stream if `events`, its
    /// streams of running games if `games`. To be lost on purpose.
    pub fn stream_controls(
        &self,
        account: &str,
        events: bool,
        games: bool,
    ) -> Vec<Arc<ConnControl>> {
        let state = self.lock();
        let mut found = Vec::new();
        if events && let Some(stream) = state.event_streams.get(account) {
            found.push(Arc::clone(&stream.control));
        }
        if games {
            for (live, color) in state.running_games_of(account) {
                let own = live.streams.iter().filter(|s| s.color == color);
                found.extend(own.map(|s| Arc::clone(&s.control)));
            }
        }
        found
    }
}

impl State {
    pub(super) fn refuse_if_closing(&self) -> Result<(), Refusal> {
        if self.closing {
            Err(Refusal::Unavailable("The house is closing"))
        } else {
            Ok(())
        }
    }

    /// All running games, then the challenges that wait: what an event stream begins with.
    fn first_events(&mut self, account: &str, now_ms: i64) -> Vec<Line> {
        let mut games: Vec<(i64, Line)> = self
            .running_games_of(account)
            .map(|(live, color)| {
                let line = game_event_line(LineKind::GameStart, &live.game, color, now_ms);
                (live.game.created_ms, line)
            })
            .collect();
        games.sort_by_key(|(created_ms, _)| *created_ms);
        let mut lines: Vec<Line> = games.into_iter().map(|(_, line)| line).collect();
        let waiting: Vec<&str> = self
            .challenges
            .iter()
            .filter(|(_, pending)| {
                pending.challenge.is_for(account)
                    && pending.challenge.status == ChallengeStatus::Created
            })
            .map(|(id, _)| id.as_str())
            .collect();
        for id in waiting {
            if let Some(json) = self.challenge_json(id, None, now_ms) {
                // Replayed challenges carry no `compat`, as on Lichess.
                lines.push(challenge_event_line(LineKind::Challenge, json, false));
            }
        }
        lines
    }

    fn judge_later(
        &mut self,
        queue: Arc<LineQueue>,
        control: Arc<ConnControl>,
        violation: Violation,
        now_ms: i64,
    ) {
        if control.is_lost() {
            queue.close();
            return;
        }
        self.judgements.push(Judgement {
            at_ms: now_ms + JUDGEMENT_MS,
            control,
            queue,
            violation,
        });
    }

    /// Decides about streams that were replaced a moment ago.
    pub(super) fn judge(&mut self, now_ms: i64) {
        let (due, waiting) = std::mem::take(&mut self.judgements)
            .into_iter()
            .partition(|judgement: &Judgement| judgement.at_ms <= now_ms);
        self.judgements = waiting;
        for judgement in due {
            if !judgement.control.is_lost() {
                self.violations.report(judgement.violation);
            }
            judgement.queue.close();
        }
    }

    /// The side of `account` in a game.
    pub(super) fn color_in(
        &mut self,
        game: &str,
        account: &str,
        now_ms: i64,
    ) -> Result<Color, Refusal> {
        let Some(live) = self.games.get(game) else {
            return Err(Refusal::NotFound("No such game"));
        };
        match live.game.color_of(account) {
            Some(color) => Ok(color),
            None => {
                self.report(
                    ViolationKind::ForeignGame,
                    Some(account),
                    Some(game),
                    "a game of others".to_owned(),
                    now_ms,
                );
                Err(Refusal::NotFound("Not your game"))
            }
        }
    }
}
