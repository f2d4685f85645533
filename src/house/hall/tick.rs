//! What happens because time passes.

use super::super::lines::LineKind;
use super::super::wire::challenge_event_line;
use super::{Hall, State};

/// Challenges that are no longer open are forgotten after this long, ms.
const PAST_CHALLENGE_MS: i64 = 60_000;

/// Challenges in real time can be accepted for so long, ms.
const CHALLENGE_LIFE_MS: i64 = 3 * 3_600_000;

impl Hall {
    /// Flags, absences, forgotten challenges. Called several times a second.
    pub fn tick(&self) {
        self.command(|state, now_ms| {
            state.judge(now_ms);
            state.tick_games(now_ms);
            state.pair_seeks(now_ms);
        });
    }

    /// What can wait for seconds.
    pub fn slow_tick(&self) {
        self.command(|state, now_ms| {
            state.sweep_challenges(now_ms);
            state.meter.sweep(now_ms);
            state
                .moved_on
                .retain(|_, (_, at_ms)| now_ms - *at_ms < PAST_CHALLENGE_MS);
            state.told_to_wait.retain(|_, until| *until > now_ms);
        });
    }
}

impl State {
    fn tick_games(&mut self, now_ms: i64) {
        let base_ms = self.settings.gone_after_ms;
        let mut told = Vec::new();
        for (id, live) in &mut self.games {
            if live.game.status.is_over() {
                continue;
            }
            let mut notes = live.game.flag_if_due(now_ms).unwrap_or_default();
            if notes.is_empty() {
                notes = live.game.watch_absence(base_ms, now_ms);
            }
            if !notes.is_empty() {
                told.push((id.clone(), notes));
            }
        }
        for (id, notes) in told {
            self.deliver(&id, notes, now_ms);
        }
    }

    fn sweep_challenges(&mut self, now_ms: i64) {
        let mut gone = Vec::new();
        for (id, pending) in &mut self.challenges {
            let challenge = &mut pending.challenge;
            if !pending.keep_alive.is_empty() || pending.waiting > 0 {
                challenge.seen_ms = now_ms;
            }
            challenge.sweep(now_ms);
            let age = now_ms - challenge.created_ms;
            let past = !challenge.status.is_open() && age > PAST_CHALLENGE_MS;
            if past || age > CHALLENGE_LIFE_MS {
                gone.push(id.clone());
            }
        }
        for id in gone {
            self.challenges.remove(&id);
        }
    }

    /// An event about a challenge, for both sides.
    pub(super) fn tell_challenge(&mut self, id: &str, kind: LineKind, now_ms: i64) {
        let Some(json) = self.challenge_json(id, None, now_ms) else {
            return;
        };
        let Some(pending) = self.challenges.get(id) else {
            return;
        };
        let with_compat = kind == LineKind::Challenge;
        let line = challenge_event_line(kind, json, with_compat);
        let challenge = &pending.challenge;
        for account in [Some(&challenge.challenger), challenge.dest.as_ref()]
            .into_iter()
            .flatten()
        {
            if let Some(stream) = self.event_streams.get(account) {
                stream.queue.push(line.clone());
            }
        }
    }
}
