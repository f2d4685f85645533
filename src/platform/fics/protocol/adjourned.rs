//! Adjourned games: whose opponent is here, offers to go on with them, and what became of a game that was on when the
//! connection was lost.

use tokio::time::Instant;
use tracing::{debug, info};

use crate::game::{GameEnd, GameResult, PlayerName, Termination};

use super::super::outbound::Lane;
use super::super::wire::{HistoryRow, ServerLine, StoredRow, shape};
use super::games::LostGame;
use super::{Phase, Protocol};

/// Names and rows kept from a list.
const NAMES_MAX: usize = 64;

/// An opponent in an adjourned game who is online.
#[derive(Debug)]
struct Opponent {
    name: String,
    /// We offered to go on since he or we logged in, or the game was adjourned before our eyes. Whoever does not want to go on
    /// now is not asked a second time.
    asked: bool,
}

/// What the server told about adjourned and past games since the login.
#[derive(Debug, Default)]
pub(super) struct Adjourned {
    stored: Vec<StoredRow>,
    last_game: Option<HistoryRow>,
    online: Vec<Opponent>,
    awaits_names: bool,
}

impl Adjourned {
    /// The server's lists are about to come.
    pub(super) fn begin_listing(&mut self) {
        self.stored.clear();
        self.last_game = None;
    }

    pub(super) fn len(&self) -> usize {
        self.stored.len() + self.online.len()
    }

    /// Names follow on the next line.
    pub(super) fn awaits_names(&self) -> bool {
        self.awaits_names
    }

    /// Opponents who are here, for the daemon.
    pub(super) fn online(&self) -> Vec<PlayerName> {
        let names = self.online.iter();
        names
            .map(|opponent| PlayerName::new(opponent.name.clone()))
            .collect()
    }

    /// He is not here any more; his game stays.
    fn forget_arrival(&mut self, name: &str) {
        self.online
            .retain(|opponent| !opponent.name.eq_ignore_ascii_case(name));
    }

    /// The game with this opponent goes on, or another one began, which the server allows only without an adjourned one.
    pub(super) fn forget(&mut self, name: &str) {
        self.forget_arrival(name);
        self.stored
            .retain(|row| !row.opponent.eq_ignore_ascii_case(name));
    }

    fn entry(&mut self, name: &str) -> Option<&mut Opponent> {
        let known = |opponent: &Opponent| opponent.name.eq_ignore_ascii_case(name);
        if let Some(index) = self.online.iter().position(known) {
            return self.online.get_mut(index);
        }
        if self.online.len() >= NAMES_MAX {
            return None;
        }
        self.online.push(Opponent {
            name: name.to_owned(),
            asked: false,
        });
        self.online.last_mut()
    }

    /// What became of a game that was on when the connection was lost: by the lists fetched afterwards, and by the rules where
    /// the board was decided. Nothing is guessed beyond them.
    pub(super) fn fate_of(&self, lost: &LostGame) -> GameEnd {
        let is_his = |name: &str| name.eq_ignore_ascii_case(&lost.opponent);
        if self.stored.iter().any(|row| is_his(&row.opponent)) {
            return GameEnd {
                result: GameResult::NoResult,
                termination: Termination::Adjourned,
                words: "our connection was lost; the server keeps the game".to_owned(),
            };
        }
        let last = self
            .last_game
            .as_ref()
            .filter(|row| is_his(&row.opponent))
            .map(|row| (row, result_of(row, lost)));
        if let Some((_, result)) = last.filter(|(row, _)| row.reason.eq_ignore_ascii_case("dis")) {
            return GameEnd {
                result,
                termination: Termination::Abandoned,
                words: "our connection was lost".to_owned(),
            };
        }
        if let Some(end) = &lost.decided {
            return end.clone();
        }
        // Our last move may or may not have arrived. If the list's newest game is with this opponent and ended as the move
        // would have ended it, it did.
        if let Some(end) = &lost.deciding
            && last.is_some_and(|(_, result)| result == end.result)
        {
            return end.clone();
        }
        GameEnd {
            result: GameResult::Unknown,
            termination: Termination::Unknown,
            words: "our connection was lost and the server keeps no such game".to_owned(),
        }
    }
}

/// The result that a row of past games tells from our side.
fn result_of(row: &HistoryRow, lost: &LostGame) -> GameResult {
    match row.outcome {
        '+' => GameResult::Decisive { winner: lost.color },
        '-' => GameResult::Decisive {
            winner: !lost.color,
        },
        _ => GameResult::Draw,
    }
}

impl Protocol {
    /// Lines about adjourned and past games. Gives back what concerns something else.
    pub(super) fn adjourned_line(&mut self, line: ServerLine) -> Option<ServerLine> {
        match line {
            ServerLine::StoredRow(row) => {
                if self.adjourned.stored.len() < NAMES_MAX {
                    // The row tells nothing new about somebody whose arrival was told.
                    if row.online && !self.is_own(&row.opponent) {
                        self.adjourned.entry(&row.opponent);
                    }
                    self.adjourned.stored.push(row);
                }
            }
            ServerLine::HistoryRow(row) => self.adjourned.last_game = Some(row),
            ServerLine::NothingStored => {}
            ServerLine::AdjournedOnline(names) => {
                self.adjourned.awaits_names = names.is_empty();
                self.adjourned_arrived(&names);
            }
            other => return Some(other),
        }
        None
    }

    /// Names on the line after the announcement of adjourned opponents.
    pub(super) fn adjourned_names(&mut self, text: &str) {
        self.adjourned.awaits_names = false;
        let names: Vec<String> = text
            .split_ascii_whitespace()
            .filter_map(shape::split_name)
            .map(|(name, _)| name.to_owned())
            .collect();
        self.adjourned_arrived(&names);
    }

    /// Opponents who are here since now, or since we are: each may be asked once.
    fn adjourned_arrived(&mut self, names: &[String]) {
        for name in names {
            if !self.is_own(name)
                && let Some(opponent) = self.adjourned.entry(name)
            {
                opponent.asked = false;
            }
        }
        if !names.is_empty() && self.phase == Phase::Ready {
            self.reconcile();
        }
    }

    /// A game was adjourned before our eyes. Nobody is pressed to go on at once: it is offered when he logs in anew. Only after
    /// an agreement is he still here; the other reasons are all ways to leave, and the server tells when he comes back.
    pub(super) fn note_adjourned(&mut self, opponent: &str, words: &str) {
        if !words.to_ascii_lowercase().contains("agreement") {
            self.adjourned.forget_arrival(opponent);
        } else if let Some(opponent) = self.adjourned.entry(opponent) {
            opponent.asked = true;
        }
    }

    /// Offers to go on with an adjourned game, once since both of us are here.
    pub(super) fn resume(&mut self, name: &PlayerName, now: Instant) {
        let name = name.as_str();
        let busy = self.games.is_playing()
            || self.lobby.is_creating()
            || self.lobby.has_accepted()
            || self.quiesced
            || self.phase != Phase::Ready;
        let opponent = self
            .adjourned
            .online
            .iter_mut()
            .find(|opponent| opponent.name.eq_ignore_ascii_case(name));
        match opponent {
            Some(opponent) if !busy && !opponent.asked => opponent.asked = true,
            Some(opponent) => {
                debug!(name, busy, asked = opponent.asked, "no offer to resume now");
                return;
            }
            None => {
                info!(name, "nothing to resume with this player now");
                return;
            }
        }
        self.outbound.push(Lane::Command, &format!("match {name}"));
        self.lobby.resuming(name, now);
    }
}
