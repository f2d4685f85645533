//! Offers to anybody: paired when two ask for the same, the closer in rating the sooner.

use serde::Serialize;

use super::super::challenge::Terms;
use super::super::refusal::Refusal;
use super::super::wire::show_clock;
use super::{Caller, Hall, State};
use crate::rules::Color;

/// Offers of one account at a time.
const MAX_SEEKS: usize = 3;

/// Difference in rating that is accepted at once.
const FIRST_REACH: i64 = 100;

/// By so much per second of waiting it grows, for each of the two.
const REACH_PER_SECOND: i64 = 20;

/// An offer.
#[derive(Debug, Clone)]
pub(super) struct Seek {
    pub(super) id: String,
    account: String,
    terms: Terms,
    since_ms: i64,
    /// Later offers have greater numbers: many may come within a millisecond.
    nth: u64,
    /// When its maker's page was last open.
    seen_ms: i64,
}

/// An offer as it is shown.
#[derive(Debug, Clone, Serialize)]
pub struct SeekView {
    /// Number of the offer.
    pub id: String,
    /// Id of who offers.
    pub account: String,
    /// His name.
    pub name: String,
    /// His rating.
    pub rating: i64,
    /// Variant.
    pub variant: &'static str,
    /// Clock, in words.
    pub clock: String,
    /// Whether it is rated.
    pub rated: bool,
}

/// Whether two offers ask for the same, leaving colours aside.
fn match_up(a: &Terms, b: &Terms) -> bool {
    let colors = a.color.is_none() || b.color.is_none() || a.color != b.color;
    colors
        && (a.variant, a.time, a.rated) == (b.variant, b.time, b.rated)
        && (a.fen.as_ref(), &a.special) == (b.fen.as_ref(), &b.special)
}

impl Hall {
    /// Offers a game to anybody; the offer's id, under which the game will be found.
    ///
    /// # Errors
    /// 400 if the account has enough offers already.
    pub fn seek(&self, caller: &Caller, terms: Terms) -> Result<String, Refusal> {
        self.command(|state, now_ms| {
            state.refuse_if_closing()?;
            state.account(&caller.account)?;
            let own = |seek: &&Seek| seek.account == caller.account;
            if state.seeks.values().filter(own).count() >= MAX_SEEKS {
                return Err(Refusal::bad("You have enough offers open already"));
            }
            let id = state.fresh_id();
            let nth = 1 + state.seeks.values().map(|seek| seek.nth).max().unwrap_or(0);
            let seek = Seek {
                id: id.clone(),
                account: caller.account.clone(),
                terms,
                since_ms: now_ms,
                nth,
                seen_ms: now_ms,
            };
            state.seeks.insert(id.clone(), seek);
            state.changed.insert(id.clone());
            state.pair_seeks(now_ms);
            Ok(id)
        })
    }

    /// Takes up somebody's offer; the game has its id.
    ///
    /// # Errors
    /// 404 if it is gone.
    pub fn take_seek(&self, caller: &Caller, id: &str) -> Result<(), Refusal> {
        self.command(|state, now_ms| {
            state.account(&caller.account)?;
            let Some(seek) = state.seeks.get(id).cloned() else {
                return Err(Refusal::NOT_FOUND);
            };
            if seek.account == caller.account {
                return Err(Refusal::bad("This is your own offer"));
            }
            state.seeks.remove(id);
            let side = state.draw_color(seek.terms.color);
            let players = in_order(side, &seek.account, &caller.account);
            state.start_game(id, players, &seek.terms, seek.terms.fen.clone(), now_ms)
        })
    }

    /// Withdraws an offer.
    pub fn withdraw_seek(&self, caller: &Caller, id: &str) {
        self.command(|state, _| {
            if state
                .seeks
                .get(id)
                .is_some_and(|seek| seek.account == caller.account)
            {
                state.seeks.remove(id);
                state.changed.insert(id.to_owned());
            }
        });
    }

    /// The offers that are open, oldest first.
    pub fn seeks(&self) -> Vec<SeekView> {
        let state = self.lock();
        let mut open: Vec<&Seek> = state.seeks.values().collect();
        open.sort_by_key(|seek| seek.nth);
        open.iter()
            .filter_map(|seek| {
                let account = state.accounts.get(&seek.account)?;
                let perf = seek.terms.variant.perf(seek.terms.time);
                Some(SeekView {
                    id: seek.id.clone(),
                    account: seek.account.clone(),
                    name: account.name.clone(),
                    rating: account.perf(perf).shown(),
                    variant: seek.terms.variant.name(),
                    clock: show_clock(seek.terms.time),
                    rated: seek.terms.rated,
                })
            })
            .collect()
    }
}

fn in_order<'a>(first_side: Color, first: &'a str, second: &'a str) -> [&'a str; 2] {
    match first_side {
        Color::White => [first, second],
        Color::Black => [second, first],
    }
}

impl State {
    /// Who made an offer.
    pub(super) fn seek_owner(&self, id: &str) -> Option<&str> {
        Some(self.seeks.get(id)?.account.as_str())
    }

    /// Who made an offer, and what it asks for.
    pub(super) fn seek_view(&self, id: &str) -> Option<(String, Terms)> {
        let seek = self.seeks.get(id)?;
        Some((seek.account.clone(), seek.terms.clone()))
    }

    /// Whether the page of an offer is open; without one it is forgotten after a while.
    pub(super) fn saw_seek(&mut self, id: &str, now_ms: i64) {
        if let Some(seek) = self.seeks.get_mut(id) {
            seek.seen_ms = now_ms;
        }
    }

    /// Starts the games of offers that match. The longest wait is served first, and gets
    /// the opponent closest in rating that is within both sides' reach.
    pub(super) fn pair_seeks(&mut self, now_ms: i64) {
        const UNSEEN_MS: i64 = 20_000;
        let gone: Vec<String> = self
            .seeks
            .values()
            .filter(|seek| now_ms - seek.seen_ms > UNSEEN_MS)
            .map(|seek| seek.id.clone())
            .collect();
        for id in gone {
            self.seeks.remove(&id);
            self.changed.insert(id);
        }
        while let Some((first, second)) = self.best_pair(now_ms) {
            let (Some(a), Some(b)) = (self.seeks.remove(&first), self.seeks.remove(&second)) else {
                return;
            };
            let wish = a.terms.color.or(b.terms.color.map(|color| !color));
            let side = self.draw_color(wish);
            let players = in_order(side, &a.account, &b.account);
            let started = self.start_game(&a.id, players, &a.terms, a.terms.fen.clone(), now_ms);
            match started {
                Ok(()) => {
                    // Who waits at the other offer's address is sent on.
                    self.moved_on.insert(b.id.clone(), (a.id.clone(), now_ms));
                }
                Err(refusal) => tracing::warn!(%refusal, "two offers could not be paired"),
            }
            self.changed.insert(b.id);
        }
    }

    fn best_pair(&self, now_ms: i64) -> Option<(String, String)> {
        let mut open: Vec<(&Seek, i64)> = self
            .seeks
            .values()
            .filter_map(|seek| {
                let perf = seek.terms.variant.perf(seek.terms.time);
                Some((seek, self.accounts.get(&seek.account)?.perf(perf).shown()))
            })
            .collect();
        open.sort_by_key(|(seek, _)| seek.nth);
        let reach = |seek: &Seek| FIRST_REACH + (now_ms - seek.since_ms) / 1000 * REACH_PER_SECOND;
        for (n, (a, rating_a)) in open.iter().enumerate() {
            let best = open[n + 1..]
                .iter()
                .filter(|(b, rating_b)| {
                    let apart = (rating_a - rating_b).abs();
                    a.account != b.account
                        && match_up(&a.terms, &b.terms)
                        && apart <= reach(a)
                        && apart <= reach(b)
                })
                .min_by_key(|(_, rating_b)| (rating_a - rating_b).abs());
            if let Some((b, _)) = best {
                return Some((a.id.clone(), b.id.clone()));
            }
        }
        None
    }
}
