//! Boards and holdings of the running game, and the move lists that explain them.

use std::time::Duration;

use tokio::time::Instant;
use tracing::debug;

use crate::game::{CommandKind, GameEvent};
use crate::lobby::OfferedVariant;

use super::super::outbound::Lane;
use super::super::wire::{Hand, Holdings, MoveRow, Relation, Style12};
use super::dealings::clear_offers_to;
use super::games::ListRequest;
use super::track::{Step, Track};
use super::{Output, Protocol};

/// How long a resumed game waits for its move list before it is announced without.
const LIST_WAIT: Duration = Duration::from_secs(1);
/// Move lists asked for in one game because a board was not understood.
const LISTS_MAX: u32 = 8;
/// Rows kept of one move list.
const ROWS_MAX: usize = 2000;

impl Protocol {
    pub(super) fn board(&mut self, board: Box<Style12>, now: Instant) {
        if board.relation == Relation::InitialPosition {
            if let Some(track) = self
                .games
                .running
                .as_mut()
                .filter(|running| running.is(board.game))
                .and_then(|running| running.track.as_mut())
            {
                track.learn_first(&board);
            }
            return;
        }
        if !board.relation.is_playing() {
            return;
        }
        if self.games.running.is_none() {
            if !self.open_game(&board, now) {
                return;
            }
        } else if !self
            .games
            .running
            .as_ref()
            .is_some_and(|running| running.is(board.game))
        {
            debug!(game = board.game, "a board of another game while one is on");
            return;
        }
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if !running.needs_hands() {
            self.complete_board(board, now);
            return;
        }
        let until = now + Duration::from_millis(self.config.holdings_wait_ms);
        // A board that still waits when the next one comes will not get its holdings any more.
        if let Some((unfinished, _)) = running.held.replace((board, until)) {
            running.hands = None;
            self.complete_board(unfinished, now);
        }
    }

    pub(super) fn holdings(&mut self, holdings: Holdings, now: Instant) {
        let Some(running) = self
            .games
            .running
            .as_mut()
            .filter(|running| running.is(holdings.game))
        else {
            return;
        };
        // A line that tells an arrival precedes its board; after a resume the whole past comes in such lines.
        if holdings.arrival.is_some() {
            return;
        }
        let hands = (holdings.white, holdings.black);
        if let Some((board, _)) = running.held.take() {
            running.hands = Some(hands);
            self.complete_board(board, now);
        } else if running.needs_hands()
            && running.hands.as_ref() != Some(&hands)
            && let Some(board) = running.board.clone()
        {
            // Late holdings: they correct what we counted ourselves.
            running.hands = Some(hands);
            self.complete_board(board, now);
        }
    }

    /// Takes a board with its holdings.
    pub(super) fn complete_board(&mut self, board: Box<Style12>, now: Instant) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        let hands = running
            .hands
            .as_ref()
            .map(|(white, black)| (white, black))
            .filter(|_| running.needs_hands());
        let OfferedVariant::Known {
            variant,
            castling_mode,
        } = running.variant
        else {
            let words = format!(
                "games of the kind `{}` are not known here",
                running.opening.kind
            );
            running.board = Some(board);
            self.unreadable(words);
            return;
        };
        let no_hands = (Hand::default(), Hand::default());
        let outcome = match &mut running.track {
            Some(track) => track.board(&board, hands).map(|step| (step, false)),
            none => {
                let from_start = !running.opening.continued
                    && board.move_number == 1
                    && board.last_san.is_none();
                let hands = hands.or(variant.has_drops().then_some((&no_hands.0, &no_hands.1)));
                Track::new(&board, hands, variant, castling_mode, from_start).map(|track| {
                    *none = Some(track);
                    (Step::Rebased, true)
                })
            }
        };
        running.board = Some(board);
        let (step, first) = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                self.unreadable(format!("our rules refuse a board: {error}"));
                return;
            }
        };
        self.stepped(step, first, now);
    }

    /// A board was understood: tell, or ask for the moves that explain it.
    pub(super) fn stepped(&mut self, step: Step, first: bool, now: Instant) {
        let numbered = self.numbered_offers;
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        let Some(track) = &running.track else { return };
        match step {
            Step::Moved => {
                let mover = !track.position().turn();
                let echoed = running
                    .sent
                    .take_if(|sent| sent.ply + 1 == track.len() && mover == running.color);
                // Without numbered offers nothing else tells that a move declined what was offered to the mover.
                if !numbered {
                    clear_offers_to(&mut running.open.offers, mover);
                }
                if let Some(sent) = echoed {
                    let event = GameEvent::Accepted {
                        command: CommandKind::Play { ply: sent.ply },
                        took: now.duration_since(sent.at),
                    };
                    let id = running.id.clone();
                    self.outputs.push_back(Output::Game { id, event });
                }
            }
            Step::TakenBack | Step::Rebased => {
                running.sent = None;
                running.open.offers.takeback = None;
                self.outbound.clear_moves();
            }
            Step::Repeated => {}
        }
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        let whole = running.track.as_ref().is_some_and(Track::is_whole);
        if step == Step::Rebased && !whole && running.lists_asked < LISTS_MAX {
            running.lists_asked += 1;
            running.list = Some(ListRequest {
                until: now + LIST_WAIT,
                ours: true,
                rows: Vec::new(),
            });
            self.outbound.push(Lane::Control, "moves");
            if first && !running.announced {
                // Announced with the list, or without it when it does not come.
                return;
            }
        }
        self.announce_or_tell();
    }

    pub(super) fn list_begins(&mut self, white: &str, black: &str, now: Instant) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        let ours = running.opening.white == white && running.opening.black == black;
        match &mut running.list {
            Some(list) => {
                list.ours = ours;
                list.rows.clear();
            }
            None => {
                running.list = Some(ListRequest {
                    until: now + LIST_WAIT,
                    ours,
                    rows: Vec::new(),
                })
            }
        }
    }

    pub(super) fn list_row(&mut self, row: MoveRow) {
        if let Some(list) = self
            .games
            .running
            .as_mut()
            .and_then(|running| running.list.as_mut())
            && list.ours
            && list.rows.len() < ROWS_MAX
        {
            list.rows.push(row);
        }
    }

    pub(super) fn list_ends(&mut self, _now: Instant) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        let Some(list) = running.list.take() else {
            return;
        };
        let adopted = list.ours
            && running
                .track
                .as_mut()
                .is_some_and(|track| !track.is_whole() && track.adopt(&list.rows));
        if !running.announced {
            self.announce_or_tell();
        } else if adopted {
            self.tell_state(false);
        }
    }
}
