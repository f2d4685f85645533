//! A league of the house's own: a round robin of bot accounts, played by itself.
//!
//! The house pairs, begins the games, and counts. Everything that a league has come to is in its
//! games, which say what they were played for; so a house that is started again goes on where it was.

mod director;
mod schedule;
mod table;

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::challenge::Terms;
use crate::rules::Color;

pub(super) use director::run;
pub use schedule::{Pairing, schedule};
pub use table::{Row, standings};

/// A game that was aborted so often is not begun again.
const TRIES: u32 = 3;

/// Longest name of a league.
const NAME_LENGTH: usize = 40;

/// What a league is to be.
#[derive(Debug, Clone)]
pub struct LeaguePlan {
    /// Name: letters, digits, spaces, `_` and `-`. A league of the same name goes on.
    pub name: String,
    /// Who plays; nobody in particular: every bot that has an account when the house starts.
    pub players: Vec<String>,
    /// What is played.
    pub terms: Terms,
    /// How often everybody meets everybody.
    pub times: usize,
    /// Games at the same time, at most.
    pub at_once: usize,
}

/// Why a league cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeagueError {
    /// The name is none.
    #[error("the league's name `{0}` must have 1 to 40 letters, digits, spaces, `_` or `-`")]
    Name(String),
    /// Somebody has no account, or a person's.
    #[error("the league's player `{0}` is no bot account of this house")]
    NoBot(String),
    /// Somebody is named twice.
    #[error("the league's player `{0}` is named twice")]
    Twice(String),
    /// Too few players.
    #[error("a league needs two players, not {0}")]
    TooFew(usize),
    /// Nobody would meet anybody.
    #[error(
        "everybody must meet everybody at least once, and at least one game be played at a time"
    )]
    Nothing,
}

/// What a game was played for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeagueTag {
    /// Name of the league.
    pub name: String,
    /// Which of its games, from 0.
    pub meeting: usize,
}

/// Where a game of the league stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MeetingState {
    /// It is to be played.
    Open,
    /// It is being played, at this address.
    Running(String),
    /// It was played.
    Done {
        /// Address of the game.
        game: String,
        /// Who has won; nobody: a draw.
        winner: Option<Color>,
    },
    /// It was begun and aborted too often.
    Void,
}

/// A game of the league.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meeting {
    /// Who meets whom.
    pub pairing: Pairing,
    /// Where it stands.
    pub state: MeetingState,
    /// How often it was aborted.
    pub aborted: u32,
}

impl Meeting {
    fn is_settled(&self) -> bool {
        matches!(self.state, MeetingState::Done { .. } | MeetingState::Void)
    }

    fn was_aborted(&mut self) {
        self.aborted += 1;
        self.state = if self.aborted < TRIES {
            MeetingState::Open
        } else {
            MeetingState::Void
        };
    }
}

/// A player of the league.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Player {
    /// Id of the account.
    pub account: String,
    /// Its name.
    pub name: String,
}

/// A league, while it is played and after.
#[derive(Debug)]
pub struct League {
    plan: LeaguePlan,
    players: Vec<Player>,
    meetings: Mutex<Vec<Meeting>>,
}

impl League {
    /// A league of which nothing has been played.
    ///
    /// # Errors
    /// [`LeagueError`].
    pub fn new(plan: LeaguePlan, players: Vec<Player>) -> Result<League, LeagueError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-');
        let length = plan.name.trim().len();
        if length == 0 || length > NAME_LENGTH || !plan.name.chars().all(plain) {
            return Err(LeagueError::Name(plan.name));
        }
        for (n, player) in players.iter().enumerate() {
            if players[..n].iter().any(|p| p.account == player.account) {
                return Err(LeagueError::Twice(player.name.clone()));
            }
        }
        if players.len() < 2 {
            return Err(LeagueError::TooFew(players.len()));
        }
        if plan.times == 0 || plan.at_once == 0 {
            return Err(LeagueError::Nothing);
        }
        let meetings = schedule(players.len(), plan.times)
            .into_iter()
            .map(|pairing| Meeting {
                pairing,
                state: MeetingState::Open,
                aborted: 0,
            })
            .collect();
        Ok(League {
            plan,
            players,
            meetings: Mutex::new(meetings),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    /// What is played.
    pub fn terms(&self) -> &Terms {
        &self.plan.terms
    }

    /// Who plays.
    pub fn players(&self) -> &[Player] {
        &self.players
    }

    /// All its games.
    pub fn meetings(&self) -> Vec<Meeting> {
        self.lock().clone()
    }

    /// Whether everything has been played.
    pub fn is_over(&self) -> bool {
        self.lock().iter().all(Meeting::is_settled)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Meeting>> {
        // The list is whole between any two statements here.
        self.meetings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next games to begin: in order, nobody twice, as many as may be played at once.
    fn due(&self, is_ready: impl Fn(&Player) -> bool) -> Vec<(usize, Pairing)> {
        let meetings = self.lock();
        let mut busy = vec![false; self.players.len()];
        let mut running = 0;
        for meeting in meetings.iter() {
            if matches!(meeting.state, MeetingState::Running(_)) {
                busy[meeting.pairing.white] = true;
                busy[meeting.pairing.black] = true;
                running += 1;
            }
        }
        let mut due = Vec::new();
        for (number, meeting) in meetings.iter().enumerate() {
            let Pairing { white, black, .. } = meeting.pairing;
            if running >= self.plan.at_once {
                break;
            }
            if meeting.state != MeetingState::Open || busy[white] || busy[black] {
                continue;
            }
            if !is_ready(&self.players[white]) || !is_ready(&self.players[black]) {
                continue;
            }
            busy[white] = true;
            busy[black] = true;
            running += 1;
            due.push((number, meeting.pairing));
        }
        due
    }
}

#[cfg(test)]
pub(in crate::house) mod tests {
    use super::*;
    use crate::game::TimeControl;
    use crate::house::variant::HouseVariant;

    pub(in crate::house) fn plan(times: usize, at_once: usize) -> LeaguePlan {
        LeaguePlan {
            name: "Test league".to_owned(),
            players: Vec::new(),
            terms: Terms {
                variant: HouseVariant::from_key("crazyhouse").unwrap(),
                rated: true,
                time: TimeControl::clock(60, 1),
                color: None,
                fen: None,
                special: Default::default(),
            },
            times,
            at_once,
        }
    }

    pub(in crate::house) fn players(names: &[&str]) -> Vec<Player> {
        names
            .iter()
            .map(|name| Player {
                account: name.to_lowercase(),
                name: (*name).to_owned(),
            })
            .collect()
    }

    #[test]
    fn leagues_that_cannot_be_are_refused() {
        let four = || players(&["A", "B", "C", "D"]);
        let refused = |plan: LeaguePlan, players| League::new(plan, players).unwrap_err();
        for name in ["", "  ", "<b>", "a\n", &"x".repeat(41)] {
            let plan = LeaguePlan {
                name: name.to_owned(),
                ..plan(1, 1)
            };
            assert_eq!(refused(plan, four()), LeagueError::Name(name.to_owned()));
        }
        assert_eq!(refused(plan(0, 1), four()), LeagueError::Nothing);
        assert_eq!(refused(plan(1, 0), four()), LeagueError::Nothing);
        let one = refused(plan(1, 1), players(&["A"]));
        assert_eq!(one, LeagueError::TooFew(1));
        let twice = refused(plan(1, 1), players(&["A", "B", "a"]));
        assert_eq!(twice, LeagueError::Twice("a".to_owned()));
    }

    #[test]
    fn games_are_due_while_players_are_free_and_there() {
        let league = League::new(plan(2, 2), players(&["A", "B", "C", "D", "E"])).unwrap();
        let due = league.due(|_| true);
        assert_eq!(due.len(), 2, "two at once");
        let busy: Vec<usize> = due.iter().flat_map(|(_, p)| [p.white, p.black]).collect();
        let distinct: std::collections::BTreeSet<_> = busy.iter().collect();
        assert_eq!(distinct.len(), 4, "nobody twice");
        assert!(
            league
                .due(|player| player.name != "A")
                .iter()
                .all(|(_, p)| {
                    let names = [p.white, p.black].map(|n| league.players()[n].name.clone());
                    !names.contains(&"A".to_owned())
                })
        );
        assert!(league.due(|_| false).is_empty());
        for (number, _) in &due {
            league.lock()[*number].state = MeetingState::Running("abcdefgh".to_owned());
        }
        assert!(league.due(|_| true).is_empty(), "enough are running");
    }

    #[test]
    fn a_game_that_is_aborted_three_times_is_void() {
        let league = League::new(plan(1, 1), players(&["A", "B"])).unwrap();
        for n in 0..3 {
            assert!(!league.is_over(), "after {n} aborts");
            league.lock()[0].was_aborted();
        }
        assert_eq!(league.meetings()[0].state, MeetingState::Void);
        assert!(league.is_over());
    }
}
