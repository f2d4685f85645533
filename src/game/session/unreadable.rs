//! A game that the client cannot read. It would stand unplayed until our flag falls, so the whole state is asked for once more,
//! and if that is not understood either, the game is left: aborted where that is still possible, else resigned, by policy.

use super::super::command::{CommandFailure, CommandKind, GameCommand};
use super::super::policy::LeavePolicy;
use super::super::time::Moment;
use super::{Doubt, GameSession, LEAVE_WAIT, Leaving, RESYNC_WAIT};

/// How often a game that was never understood is resigned before it is left to its clock.
const MAX_RESIGNATIONS: u32 = 3;

/// A game of which nothing was ever understood: there is no record that could tell whether it may still be aborted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Blind {
    /// The whole state was asked for, and is asked for again then.
    Asked(Moment),
    /// We are leaving.
    Leaving(Leaving),
    /// All was tried.
    GivenUp,
}

impl Blind {
    /// When something is to be done about it.
    pub(super) fn due(&self) -> Option<Moment> {
        match self {
            Self::Asked(at) => Some(*at),
            Self::Leaving(leaving) => Some(leaving.check),
            Self::GivenUp => None,
        }
    }
}

impl GameSession {
    /// The client does not understand what the platform shows. Once: look again. Twice: leave in good order.
    pub(super) fn unreadable(&mut self, words: &str, now: Moment) {
        let doubt = match (&self.game, &self.blind) {
            (Some(game), _) => game.doubt.map(|doubt| doubt.hopeless),
            (None, Some(Blind::Asked(_))) => Some(false),
            (None, Some(_)) => Some(true),
            (None, None) => None,
        };
        match doubt {
            None => {
                self.note("state.unreadable", "asks for the whole state", words);
                self.doubt_or_blind(now, false);
                self.send(GameCommand::Resync);
            }
            Some(false) => {
                self.note("state.unreadable", "leaves the game", words);
                self.doubt_or_blind(now, true);
                if self.game.is_some() {
                    self.leave(now);
                } else {
                    self.leave_blind(CommandKind::Abort, 1, now);
                }
            }
            Some(true) => {}
        }
    }

    fn doubt_or_blind(&mut self, now: Moment, hopeless: bool) {
        self.cancel_search();
        let ask_again = now + RESYNC_WAIT;
        match &mut self.game {
            Some(game) => {
                game.doubt = Some(Doubt {
                    ask_again,
                    hopeless,
                });
            }
            None => self.blind = Some(Blind::Asked(ask_again)),
        }
    }

    fn leave_blind(&mut self, by: CommandKind, tries: u32, now: Moment) {
        self.blind = Some(Blind::Leaving(Leaving {
            by,
            check: now + LEAVE_WAIT,
            tries,
        }));
        self.send(match by {
            CommandKind::Abort => GameCommand::Abort,
            _ => GameCommand::Resign,
        });
    }

    /// What we tried did not end the game: the next thing.
    fn leave_blind_otherwise(&mut self, leaving: Leaving, now: Moment) {
        let resigns = self.terms.policy.on_rules_error == LeavePolicy::Resign;
        match leaving.by {
            CommandKind::Abort if resigns => self.leave_blind(CommandKind::Resign, 1, now),
            CommandKind::Resign if leaving.tries < MAX_RESIGNATIONS => {
                self.leave_blind(CommandKind::Resign, leaving.tries + 1, now);
            }
            _ => {
                let reason = "the platform keeps a game running that cannot be read";
                self.note("leave.refused", "leaves it to the clock", reason);
                self.blind = Some(Blind::GivenUp);
            }
        }
    }

    /// An answer to a command in a game that was never understood.
    pub(super) fn blind_failed(
        &mut self,
        command: CommandKind,
        failure: &CommandFailure,
        now: Moment,
    ) {
        let Some(Blind::Leaving(leaving)) = self.blind else {
            return;
        };
        // A resignation that was not taken is repeated in its time: the platform may just be slow.
        let refused = matches!(failure, CommandFailure::Refused { .. });
        if command == leaving.by && command == CommandKind::Abort && refused {
            self.leave_blind_otherwise(leaving, now);
        }
    }

    pub(super) fn tick_unreadable(&mut self, now: Moment) {
        match self.blind {
            Some(Blind::Asked(at)) if at <= now => {
                self.blind = Some(Blind::Asked(now + RESYNC_WAIT));
                self.send(GameCommand::Resync);
            }
            Some(Blind::Leaving(leaving)) if leaving.check <= now => {
                self.leave_blind_otherwise(leaving, now);
            }
            _ => {}
        }
        // Once a game is known, but not how it stands, an abort may be a mere offer to the opponent: no answer is one, too.
        let Some(game) = &mut self.game else { return };
        let hopeless = game.doubt.is_some_and(|doubt| doubt.hopeless);
        let late = |leaving: &mut Leaving| leaving.check <= now;
        if hopeless
            && game.link_up
            && game
                .leaving
                .take_if(|leaving| leaving.by == CommandKind::Abort && late(leaving))
                .is_some()
        {
            game.absence.forbid_abort();
            self.leave(now);
        }
    }
}
