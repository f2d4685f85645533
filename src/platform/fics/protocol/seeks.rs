//! Our advertisements: posted while we are idle, always manual, one at a time.

use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, info};

use super::super::outbound::Lane;
use super::super::translate;
use super::super::wire::ServerLine;
use super::{Phase, Protocol};

/// Time between a game's end and our seeks standing again.
const SEEK_DELAY: Duration = Duration::from_secs(1);
/// Time until a refused or unanswered seek is tried again.
const SEEK_RETRY: Duration = Duration::from_secs(60);

/// Our advertisements.
#[derive(Debug)]
pub(super) struct Seeks {
    /// Number of each configured seek while it stands.
    posted: Vec<Option<u32>>,
    /// Index of the seek whose confirmation is due.
    asked: Option<usize>,
    due: Option<Instant>,
}

impl Seeks {
    pub(super) fn new(count: usize) -> Seeks {
        Seeks {
            posted: vec![None; count],
            asked: None,
            due: None,
        }
    }

    pub(super) fn reset(&mut self) {
        self.posted.fill(None);
        self.asked = None;
        self.due = None;
    }

    /// Seeks may stand from now on.
    pub(super) fn allow(&mut self, now: Instant) {
        if !self.posted.is_empty() {
            self.due = Some(now);
        }
    }
}

impl Protocol {
    pub(super) fn seek_wake_at(&self) -> Option<Instant> {
        self.seeks.due
    }

    /// All our seeks are gone with the start of a game.
    pub(super) fn seeks_void(&mut self) {
        self.seeks.reset();
    }

    pub(super) fn seeks_after_game(&mut self, now: Instant) {
        self.seeks.allow(now + SEEK_DELAY);
    }

    pub(super) fn withdraw_seeks(&mut self) {
        if self.seeks.posted.iter().any(Option::is_some) || self.seeks.asked.is_some() {
            self.outbound.push(Lane::Control, "unseek");
        }
        self.seeks.reset();
    }

    /// Posts the next missing seek, one at a time.
    pub(super) fn seek_tick(&mut self, now: Instant) {
        if self.phase != Phase::Ready || self.seeks.due.is_none_or(|at| now < at) {
            return;
        }
        self.seeks.due = None;
        // Without numbered offers the server is of the family that knows no manual seeks; an automatic one would start
        // games that nobody judged.
        if self.quiesced
            || self.games.is_playing()
            || self.lobby.has_accepted()
            || !self.numbered_offers
        {
            return;
        }
        let Some(index) = self.seeks.posted.iter().position(Option::is_none) else {
            return;
        };
        let Some(seek) = self.config.seeks.get(index) else {
            return;
        };
        let command = translate::seek_command(seek);
        self.seeks.asked = Some(index);
        self.outbound.push(Lane::Command, &command);
        // Should no answer come, try again.
        self.seeks.due = Some(now + SEEK_RETRY);
    }

    pub(super) fn seek_line(&mut self, line: &ServerLine, now: Instant) {
        match line {
            ServerLine::SeekPosted(number) => {
                if let Some(slot) = self
                    .seeks
                    .asked
                    .take()
                    .and_then(|index| self.seeks.posted.get_mut(index))
                {
                    *slot = Some(*number);
                }
                self.seeks.due = self.seeks.posted.iter().any(Option::is_none).then_some(now);
            }
            ServerLine::SeeksRemoved(numbers) => {
                let mut ours = false;
                for slot in &mut self.seeks.posted {
                    if slot.is_some_and(|number| numbers.contains(&number)) {
                        *slot = None;
                        ours = true;
                    }
                }
                if ours && !self.quiesced {
                    self.seeks.due = Some(now + SEEK_DELAY);
                }
            }
            ServerLine::OwnSeeksRemoved => self.seeks.posted.fill(None),
            ServerLine::SeekRefused { words } => self.seek_refused(words),
            ServerLine::SeekMatched => debug!("our seek met another one; a game starts"),
            _ => {}
        }
    }

    /// The server does not take the seek: leave it, a later attempt may do better.
    pub(super) fn seek_refused(&mut self, words: &str) {
        if self.seeks.asked.take().is_some() {
            info!(words, "the server refuses a seek");
        }
    }
}
