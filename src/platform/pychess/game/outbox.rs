//! Events of one game on their way to the daemon: bounded, and without losing anything that matters.

use std::collections::VecDeque;

use tokio::time::Instant;

use crate::game::{GameEvent, GameStart, GameState};
use crate::platform::Received;

/// Waiting lines of chat.
const CHAT_MAX: usize = 8;
/// Waiting events at which commands are left in their queue, since each of them is answered.
const FULL: usize = 64;

/// The events that wait. Every state is the whole state, so a newer one replaces those that wait; if a full state was among
/// them, the newer one becomes full.
#[derive(Debug, Default)]
pub struct Outbox {
    waiting: VecDeque<Received<GameEvent>>,
}

impl Outbox {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether commands may be taken: each adds an event.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < FULL
    }

    /// Takes the oldest.
    pub fn pop(&mut self) -> Option<Received<GameEvent>> {
        self.waiting.pop_front()
    }

    /// The whole state after (re)connecting.
    pub fn full(&mut self, at: Instant, start: &GameStart, state: GameState) {
        self.forget_states();
        let event = GameEvent::Full {
            start: Box::new(start.clone()),
            state,
        };
        self.waiting.push_back(Received { at, event });
    }

    /// A newer state.
    pub fn state(&mut self, at: Instant, start: &GameStart, state: GameState) {
        if self.forget_states() {
            return self.full(at, start, state);
        }
        self.waiting.push_back(Received {
            at,
            event: GameEvent::State(state),
        });
    }

    /// Anything else. Chat is dropped when too much of it waits.
    pub fn push(&mut self, at: Instant, event: GameEvent) {
        let is_chat = |event: &GameEvent| matches!(event, GameEvent::Chatted(_));
        if is_chat(&event)
            && self
                .waiting
                .iter()
                .filter(|waiting| is_chat(&waiting.event))
                .count()
                >= CHAT_MAX
        {
            return;
        }
        self.waiting.push_back(Received { at, event });
    }

    /// Drops the states that wait; true if a full one was among them.
    fn forget_states(&mut self) -> bool {
        let was_full = self
            .waiting
            .iter()
            .any(|waiting| matches!(waiting.event, GameEvent::Full { .. }));
        self.waiting.retain(|waiting| {
            !matches!(waiting.event, GameEvent::Full { .. } | GameEvent::State(_))
        });
        was_full
    }
}
