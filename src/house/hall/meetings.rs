//! Games that the house itself begins, for its league.

use super::super::challenge::Terms;
use super::super::league::LeagueTag;
use super::super::refusal::Refusal;
use super::Hall;

impl Hall {
    /// Whether an account has its event stream open, so that it hears of a game that begins.
    pub fn listens(&self, account: &str) -> bool {
        self.lock().event_streams.contains_key(account)
    }

    /// Begins a game of the league between White and Black; its id.
    ///
    /// # Errors
    /// 503 if the house is closing, 401 if there is no such account.
    pub fn start_meeting(
        &self,
        tag: LeagueTag,
        players: [&str; 2],
        terms: &Terms,
    ) -> Result<String, Refusal> {
        self.command(|state, now_ms| {
            state.refuse_if_closing()?;
            let id = state.fresh_id();
            state.start_game(&id, players, terms, terms.fen.clone(), now_ms)?;
            if let Some(live) = state.games.get_mut(&id) {
                live.game.league = Some(tag);
            }
            Ok(id)
        })
    }

    /// Aborts a game that nobody begins.
    pub fn abandon_meeting(&self, id: &str) {
        self.command(|state, now_ms| {
            let Some(live) = state.games.get_mut(id) else {
                return;
            };
            if live.game.status.is_over() || live.game.plies() >= 2 {
                return;
            }
            let notes = live.game.abort_now(now_ms);
            state.deliver(id, notes, now_ms);
        });
    }
}
