//! How a game's task learns that its game is over, and how it ended.

use tokio::time::Instant;
use tracing::info;

use crate::game::{CommandFailure, GameEnd, GameEvent, GameResult, Termination};

use super::{END_LOOKS_MAX, GameTask, Link, Wants};

impl GameTask {
    pub(super) fn on_end(&mut self) {
        // The server keeps the stream open for ever; closing it is our part.
        self.link = Link::Closed;
        self.owed = None;
        self.end_looks = 0;
        self.look(Instant::now(), |wants| wants.end = true);
    }

    pub(super) fn finish(&mut self, end: GameEnd) {
        self.link = Link::Closed;
        self.owed = None;
        self.closing = None;
        self.wants = Wants::default();
        if self.finished_at.is_none() {
            info!(id = %self.calls.id, ?end, "the game is over");
            self.finished_at = Some(Instant::now());
            self.push(GameEvent::Ended(end));
        }
    }

    /// The end without the page's word: by our rules if the board tells.
    pub(super) fn finish_by_rules(&mut self, words: &str) {
        self.finish(self.end_by_rules().unwrap_or_else(|| GameEnd {
            result: GameResult::Unknown,
            termination: Termination::Unknown,
            words: words.to_owned(),
        }));
    }

    /// The end that the board tells: as it was shown last, or with our last move, which the server does not repeat when it ends
    /// the game.
    pub(super) fn end_by_rules(&self) -> Option<GameEnd> {
        let track = self.track.as_ref()?;
        let with_ours = || track.end_by_rules(Some(self.unconfirmed?.1));
        track.end_by_rules(None).or_else(with_ours)
    }

    pub(super) fn moves_known(&self) -> usize {
        self.track.as_ref().map_or(0, |track| track.moves().len())
    }

    /// The end was announced, or our command must have brought it, and the page does not show it (yet).
    pub(super) fn look_for_the_end(&mut self, now: Instant, wants: Wants) {
        if wants.end {
            self.end_looks += 1;
            if self.end_looks >= END_LOOKS_MAX {
                return self.finish_by_rules("the server told only that the game is over");
            }
            return self.look(now + self.timing.look_gap, |wants| wants.end = true);
        }
        let Some(closing) = self.closing.as_mut().filter(|_| wants.closing) else {
            return;
        };
        closing.looks += 1;
        let (command, resigned) = (closing.command, closing.resigned);
        let (answered, looks) = (closing.answered, closing.looks);
        if looks < END_LOOKS_MAX || !answered {
            return self.look(now + self.timing.look_gap * 2, |wants| wants.closing = true);
        }
        self.closing = None;
        match (&self.track, resigned) {
            (Some(track), true) => {
                let end = track.end_by_resigning();
                self.finish(end);
            }
            _ => self.fail(command, CommandFailure::Unanswered),
        }
    }
}
