//! Challenges: made, answered, taken back, turned into games.

use std::sync::Arc;

use rand::Rng;
use serde_json::{Value, json};

use crate::game::TimeControl;
use crate::rules::Color;

use super::super::account::{Account, account_id};
use super::super::challenge::{Challenge, ChallengeStatus, DeclineReason, Terms};
use super::super::game::{Game, NewGame, Seat, start_position};
use super::super::limits::Limited;
use super::super::lines::{Line, LineKind, LineQueue};
use super::super::refusal::Refusal;
use super::super::violation::ViolationKind;
use super::super::wire::{Direction, challenge_json};
use super::{Caller, Hall, Live, OpenStream, Pending, State};

/// Lists of challenges are cut here.
const MAX_IN: usize = 300;
const MAX_OUT: usize = 50;

impl Hall {
    /// Makes a challenge. An open one to the same account is taken back for it.
    ///
    /// # Errors
    /// 400, 404 and 429 as Lichess answers them.
    pub fn challenge(&self, caller: &Caller, dest: &str, terms: Terms) -> Result<Value, Refusal> {
        self.command(|state, now_ms| {
            let id = state.create_challenge(&caller.account, dest, terms, None, now_ms)?;
            state
                .challenge_json(&id, Some(Direction::Out), now_ms)
                .ok_or(Refusal::NOT_FOUND)
        })
    }

    /// The same, with an answer that stays open until the challenge is decided.
    ///
    /// # Errors
    /// As [`Hall::challenge`].
    pub fn challenge_kept_alive(
        self: &Arc<Hall>,
        caller: &Caller,
        dest: &str,
        terms: Terms,
    ) -> Result<OpenStream, Refusal> {
        self.command(|state, now_ms| {
            let id = state.create_challenge(&caller.account, dest, terms, None, now_ms)?;
            let json = state
                .challenge_json(&id, Some(Direction::Out), now_ms)
                .ok_or(Refusal::NOT_FOUND)?;
            let first = Line::new(LineKind::Challenge, &json);
            let queue = Arc::new(LineQueue::with(vec![first]));
            if let Some(pending) = state.challenges.get_mut(&id) {
                pending.keep_alive.push(Arc::clone(&queue));
            }
            Ok(self.challenge_stream(queue, &caller.account, &id))
        })
    }

    /// Accepts a challenge; the game begins at once.
    ///
    /// # Errors
    /// 404 if it is not for the caller, 400 if it is no longer open.
    pub fn accept(&self, caller: &Caller, id: &str) -> Result<(), Refusal> {
        self.command(|state, now_ms| {
            state.refuse_if_closing()?;
            let challenge = state.challenge_for(caller, id, now_ms)?;
            match challenge.status {
                ChallengeStatus::Canceled => {
                    return Err(Refusal::bad("The challenge has been canceled."));
                }
                ChallengeStatus::Declined => {
                    return Err(Refusal::bad("The challenge has been declined."));
                }
                ChallengeStatus::Accepted => {
                    return Err(Refusal::bad("The challenge has already been accepted"));
                }
                ChallengeStatus::Created | ChallengeStatus::Offline => {}
            }
            state.charge_bot_game(&challenge, &caller.account, now_ms)?;
            state.begin(challenge, now_ms)
        })
    }

    /// Declines a challenge.
    ///
    /// # Errors
    /// 404 if it is not open or not for the caller.
    pub fn decline(&self, caller: &Caller, id: &str, reason: DeclineReason) -> Result<(), Refusal> {
        self.command(|state, now_ms| {
            let challenge = state.challenge_for(caller, id, now_ms)?;
            if !challenge.status.is_open() {
                return Err(Refusal::NOT_FOUND);
            }
            state.close_challenge(id, ChallengeStatus::Declined, Some(reason), now_ms);
            Ok(())
        })
    }

    /// Takes a challenge back, declines it if it was for the caller, or aborts the game it has become.
    ///
    /// # Errors
    /// 404 if there is nothing of that id, 400 if the game has gone too far.
    pub fn cancel(&self, caller: &Caller, id: &str) -> Result<(), Refusal> {
        self.command(|state, now_ms| {
            let open = state
                .challenges
                .get(id)
                .map(|pending| &pending.challenge)
                .filter(|challenge| challenge.status.is_open());
            match open {
                Some(challenge) if challenge.challenger == caller.account => {
                    state.close_challenge(id, ChallengeStatus::Canceled, None, now_ms);
                    return Ok(());
                }
                Some(challenge) if challenge.is_for(&caller.account) => {
                    let generic = Some(DeclineReason::read(None));
                    state.close_challenge(id, ChallengeStatus::Declined, generic, now_ms);
                    return Ok(());
                }
                _ => {}
            }
            let Some(live) = state.games.get_mut(id) else {
                return Err(Refusal::NOT_FOUND);
            };
            if live.game.color_of(&caller.account).is_none() {
                return Err(Refusal::NOT_FOUND);
            }
            if !live.game.is_abortable() {
                return Err(if live.game.status.is_over() {
                    Refusal::bad("The game can no longer be aborted")
                } else {
                    Refusal::bad("Missing opponentToken")
                });
            }
            let notes = live.game.abort_now(now_ms);
            state.deliver(id, notes, now_ms);
            Ok(())
        })
    }

    /// The open challenges to and from the caller.
    pub fn challenges(&self, caller: &Caller) -> Value {
        self.command(|state, now_ms| {
            let list = |state: &State, direction: Direction, max: usize| -> Vec<Value> {
                let mine = |pending: &&Pending| {
                    let challenge = &pending.challenge;
                    let owner = match direction {
                        Direction::In => challenge.dest.as_deref(),
                        Direction::Out => Some(challenge.challenger.as_str()),
                    };
                    owner == Some(caller.account.as_str())
                        && challenge.status == ChallengeStatus::Created
                };
                let mut found: Vec<&Challenge> = state
                    .challenges
                    .values()
                    .filter(mine)
                    .map(|pending| &pending.challenge)
                    .collect();
                found.sort_by_key(|challenge| challenge.created_ms);
                found
                    .into_iter()
                    .take(max)
                    .filter_map(|c| state.challenge_json(&c.id, Some(direction), now_ms))
                    .collect()
            };
            json!({
                "in": list(state, Direction::In, MAX_IN),
                "out": list(state, Direction::Out, MAX_OUT),
            })
        })
    }

    /// One challenge of the caller, open or decided a while ago.
    ///
    /// # Errors
    /// 404.
    pub fn show_challenge(&self, caller: &Caller, id: &str) -> Result<Value, Refusal> {
        self.command(|state, now_ms| {
            let direction = match state.challenges.get(id).map(|p| &p.challenge) {
                Some(c) if c.challenger == caller.account => Direction::Out,
                Some(c) if c.is_for(&caller.account) => Direction::In,
                _ => return Err(Refusal::NOT_FOUND),
            };
            let mut json = state
                .challenge_json(id, Some(direction), now_ms)
                .ok_or(Refusal::NOT_FOUND)?;
            if let Some(live) = state.games.get(id)
                && let Some(color) = live.game.color_of(&caller.account)
            {
                let secret = &live.game.seat(color).secret;
                json["fullId"] = json!(format!("{id}{secret}"));
            }
            Ok(json)
        })
    }
}

impl State {
    pub(super) fn create_challenge(
        &mut self,
        challenger: &str,
        dest: &str,
        terms: Terms,
        rematch_of: Option<String>,
        now_ms: i64,
    ) -> Result<String, Refusal> {
        self.refuse_if_closing()?;
        let dest_id = account_id(dest);
        if dest_id == challenger {
            return Err(Refusal::NOT_FOUND);
        }
        let Some(dest_account) = self.accounts.get(&dest_id).cloned() else {
            return Err(Refusal::bad(format!("No such user: {dest}")));
        };
        let own_account = self.account(challenger)?.clone();
        self.charge_credits(&own_account, &dest_account, now_ms)?;
        if dest_account.is_bot() && !terms.special.is_empty() {
            return Err(Refusal::bad("Rules not applicable for bots"));
        }
        self.check_bot_games(&own_account, &dest_account, challenger, now_ms)?;
        let real_time = matches!(terms.time, TimeControl::Clock { .. });
        let full = |id: &str| self.running_games_of(id).count() >= self.settings.max_playing;
        if real_time && (full(challenger) || full(&dest_id)) {
            return Err(Refusal::bad("Challenge not created"));
        }

        self.cancel_pending(challenger, &dest_id, now_ms);
        let id = self.fresh_id();
        let final_color = self.draw_color(terms.color);
        self.add_challenge(Challenge {
            id: id.clone(),
            challenger: challenger.to_owned(),
            dest: Some(dest_id),
            initial_fen: terms.fen.clone(),
            terms,
            final_color,
            status: ChallengeStatus::Created,
            declined: None,
            created_ms: now_ms,
            seen_ms: now_ms,
            rematch_of,
        });
        self.tell_challenge(&id, LineKind::Challenge, now_ms);
        Ok(id)
    }

    pub(super) fn add_challenge(&mut self, challenge: Challenge) {
        let pending = Pending {
            challenge,
            keep_alive: Vec::new(),
            waiting: 0,
        };
        self.challenges
            .insert(pending.challenge.id.clone(), pending);
    }

    /// The challenger's side, drawn if the terms leave it open.
    pub(super) fn draw_color(&mut self, wish: Option<Color>) -> Color {
        wish.unwrap_or_else(|| {
            if self.rng.random() {
                Color::White
            } else {
                Color::Black
            }
        })
    }

    /// A person costs five credits, a bot one; only bots are limited.
    fn charge_credits(
        &mut self,
        own: &Account,
        dest: &Account,
        now_ms: i64,
    ) -> Result<(), Refusal> {
        if !own.is_bot() {
            return Ok(());
        }
        let cost = if dest.is_bot() { 1 } else { 5 };
        for what in [Limited::ChallengeMinute, Limited::ChallengeDay] {
            if self.meter.charge(what, &own.id(), cost, now_ms).is_err() {
                return Err(Refusal::too_many());
            }
        }
        Ok(())
    }

    /// Whether both may still play a bot today. Who asks gets 429 for himself and 400 for the other.
    fn check_bot_games(
        &self,
        one: &Account,
        other: &Account,
        asking: &str,
        now_ms: i64,
    ) -> Result<(), Refusal> {
        if !one.is_bot() || !other.is_bot() {
            return Ok(());
        }
        for account in [one, other] {
            let id = account.id();
            let checked = self.meter.check(Limited::BotGamesDay, &id, 1, now_ms);
            let Err(seconds) = checked else {
                continue;
            };
            let own = id == asking;
            return Err(Refusal::Limited {
                status: if own { 429 } else { 400 },
                message: if own {
                    "You played 100 games against other bots today, please wait before challenging another bot.".to_owned()
                } else {
                    format!(
                        "{} played 100 games against other bots today, please wait to challenge them.",
                        account.name
                    )
                },
                key: "bot.vsBot.day",
                seconds,
            });
        }
        Ok(())
    }

    fn charge_bot_game(
        &mut self,
        challenge: &Challenge,
        asking: &str,
        now_ms: i64,
    ) -> Result<(), Refusal> {
        let Some(dest_id) = &challenge.dest else {
            return Ok(());
        };
        let challenger = self.account(&challenge.challenger)?.clone();
        let dest = self.account(dest_id)?.clone();
        self.check_bot_games(&challenger, &dest, asking, now_ms)?;
        if challenger.is_bot() && dest.is_bot() {
            for id in [&challenge.challenger, dest_id] {
                let counted = self.meter.charge(Limited::BotGamesDay, id, 1, now_ms);
                debug_assert!(counted.is_ok(), "it was checked just now");
            }
        }
        Ok(())
    }

    fn cancel_pending(&mut self, challenger: &str, dest: &str, now_ms: i64) {
        let same: Vec<String> = self
            .challenges
            .values()
            .map(|pending| &pending.challenge)
            .filter(|c| c.challenger == challenger && c.is_for(dest) && c.status.is_open())
            .map(|c| c.id.clone())
            .collect();
        for id in same {
            self.close_challenge(&id, ChallengeStatus::Canceled, None, now_ms);
        }
    }

    /// The challenge of this id, if it is for the caller.
    fn challenge_for(
        &mut self,
        caller: &Caller,
        id: &str,
        now_ms: i64,
    ) -> Result<Challenge, Refusal> {
        let Some(pending) = self.challenges.get(id) else {
            return Err(Refusal::NOT_FOUND);
        };
        let challenge = pending.challenge.clone();
        if challenge.is_for(&caller.account) {
            return Ok(challenge);
        }
        if challenge.challenger == caller.account {
            self.report(
                ViolationKind::AnsweredOwnChallenge,
                Some(&caller.account),
                None,
                format!("challenge {id} is the caller's own"),
                now_ms,
            );
        }
        Err(Refusal::NOT_FOUND)
    }

    pub(super) fn close_challenge(
        &mut self,
        id: &str,
        status: ChallengeStatus,
        reason: Option<DeclineReason>,
        now_ms: i64,
    ) {
        let Some(pending) = self.challenges.get_mut(id) else {
            return;
        };
        pending.challenge.status = status;
        pending.challenge.declined = reason;
        self.changed.insert(id.to_owned());
        let word = match status {
            ChallengeStatus::Accepted => "accepted",
            ChallengeStatus::Declined => "declined",
            _ => "canceled",
        };
        let outcome = Line::new(LineKind::ChallengeOutcome, &json!({ "done": word }));
        for queue in pending.keep_alive.drain(..) {
            queue.push(outcome.clone());
            queue.close();
        }
        match status {
            ChallengeStatus::Declined => {
                self.tell_challenge(id, LineKind::ChallengeDeclined, now_ms);
            }
            ChallengeStatus::Canceled => {
                self.tell_challenge(id, LineKind::ChallengeCanceled, now_ms);
            }
            // There is no event for this: the game's start says it.
            _ => {}
        }
    }

    /// The game of an accepted challenge.
    pub(super) fn begin(&mut self, challenge: Challenge, now_ms: i64) -> Result<(), Refusal> {
        let Some(dest) = &challenge.dest else {
            return Err(Refusal::NOT_FOUND);
        };
        let challenger = &challenge.challenger;
        let players = match challenge.final_color {
            Color::White => [challenger.as_str(), dest.as_str()],
            Color::Black => [dest.as_str(), challenger.as_str()],
        };
        let terms = &challenge.terms;
        let fen = challenge.initial_fen.clone();
        self.start_game(&challenge.id, players, terms, fen, now_ms)?;
        self.close_challenge(&challenge.id, ChallengeStatus::Accepted, None, now_ms);
        if let Some(before) = &challenge.rematch_of
            && let Some(live) = self.games.get_mut(before)
        {
            live.next = Some(challenge.id.clone());
            self.changed.insert(before.clone());
        }
        Ok(())
    }

    /// Starts a game between White and Black.
    pub(super) fn start_game(
        &mut self,
        id: &str,
        players: [&str; 2],
        terms: &Terms,
        fen: Option<String>,
        now_ms: i64,
    ) -> Result<(), Refusal> {
        let variant = terms.variant;
        let initial_fen = fen.or_else(|| variant.shuffled_start(&mut self.rng));
        let start = start_position(variant, initial_fen.as_deref())
            .map_err(|reason| Refusal::bad(format!("invalidFen: {reason}")))?;
        let perf = variant.perf(terms.time);
        let [white, black] = players;
        let seats = [self.seat(white, perf)?, self.seat(black, perf)?];
        let new = NewGame {
            id: id.to_owned(),
            variant,
            rated: terms.rated,
            seats,
            time: terms.time,
            initial_fen,
            start,
            terms: terms.special.clone(),
        };
        self.games
            .insert(id.to_owned(), Live::new(Game::new(new, now_ms)));
        self.dirty_games.insert(id.to_owned());
        self.changed.insert(id.to_owned());
        tracing::info!(game.id = id, variant = variant.key(), "game begins");
        self.tell_players(id, LineKind::GameStart, now_ms);
        Ok(())
    }

    fn seat(&mut self, account: &str, perf: &str) -> Result<Seat, Refusal> {
        let secret = self.draw_id(4);
        let account = self.account(account)?;
        let rating = account.perf(perf);
        Ok(Seat {
            account: account.id(),
            name: account.name.clone(),
            title: account.title().map(str::to_owned),
            rating: rating.shown(),
            provisional: rating.is_provisional(),
            takebacks: account.takebacks,
            rating_diff: None,
            secret,
        })
    }

    pub(super) fn challenge_json(
        &self,
        id: &str,
        direction: Option<Direction>,
        now_ms: i64,
    ) -> Option<Value> {
        let challenge = &self.challenges.get(id)?.challenge;
        let challenger = self.accounts.get(&challenge.challenger)?;
        let dest_id = challenge.dest.as_ref()?;
        let dest = self.accounts.get(dest_id)?;
        let online = (
            self.is_online(&challenge.challenger, now_ms),
            self.is_online(dest_id, now_ms),
        );
        let base = &self.settings.base_url;
        Some(challenge_json(
            challenge, challenger, dest, online, direction, base,
        ))
    }
}
