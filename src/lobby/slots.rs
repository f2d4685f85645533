//! Slots as leases: taken before we accept or challenge, confirmed by the game, falling free by themselves.

use crate::game::{GameId, Moment};

use super::challenge::{ChallengeId, RequestId};
use super::{AccountName, LobbyPolicy};

/// What a slot is held for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// A challenge that we accepted.
    Incoming(ChallengeId),
    /// A challenge of ours; its id is known once the platform answered.
    Outgoing {
        /// Our number.
        request: RequestId,
        /// The platform's id.
        challenge: Option<ChallengeId>,
        /// We withdrew it; a game may start all the same.
        withdrawn: bool,
    },
    /// A running game.
    Game(GameId),
}

/// One slot that is not free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Which account plays.
    pub account: AccountName,
    /// Key of the opponent's name; `None` while the platform has not told (PyChess).
    pub opponent: Option<String>,
    /// Whether a bot sits opposite (or may, while nobody knows).
    pub bot: bool,
    /// What it is held for.
    pub holder: Holder,
    /// It falls free by itself at this moment; `None` for running games.
    pub until: Option<Moment>,
}

/// All slots that are not free.
#[derive(Debug, Clone, Default)]
pub struct Slots {
    leases: Vec<Lease>,
}

impl Slots {
    /// Every lease.
    pub fn leases(&self) -> &[Lease] {
        &self.leases
    }

    /// Slots in use.
    pub fn taken(&self) -> usize {
        self.leases.len()
    }

    /// Slots in use by bots.
    pub fn taken_by_bots(&self) -> usize {
        self.leases.iter().filter(|lease| lease.bot).count()
    }

    /// Running games of one account.
    pub fn games_of(&self, account: &AccountName) -> usize {
        self.leases
            .iter()
            .filter(|l| &l.account == account && matches!(l.holder, Holder::Game(_)))
            .count()
    }

    /// Slots in use by one account.
    pub fn taken_by(&self, account: &AccountName) -> usize {
        self.leases.iter().filter(|l| &l.account == account).count()
    }

    /// Slots in use by one account against one opponent.
    pub fn with_opponent(&self, account: &AccountName, opponent: &str) -> usize {
        self.leases
            .iter()
            .filter(|l| &l.account == account && l.opponent.as_deref() == Some(opponent))
            .count()
    }

    /// Running games of one account against one opponent.
    pub fn games_with(&self, account: &AccountName, opponent: &str) -> usize {
        let with = |l: &&Lease| {
            &l.account == account
                && l.opponent.as_deref() == Some(opponent)
                && matches!(l.holder, Holder::Game(_))
        };
        self.leases.iter().filter(with).count()
    }

    /// Whether one more game fits, against a bot or not.
    pub fn has_room(&self, policy: &LobbyPolicy, bot: bool) -> bool {
        let total = policy.max_games as usize;
        let for_bots = total - (policy.reserved_for_humans as usize).min(total);
        self.taken() < total && (!bot || self.taken_by_bots() < for_bots)
    }

    /// Takes a slot. The caller asked for room before, or knows why there need not be any.
    pub fn take(&mut self, lease: Lease) {
        self.leases.push(lease);
    }

    /// The lease that matches, to be changed in place.
    pub fn find(&mut self, mut which: impl FnMut(&Lease) -> bool) -> Option<&mut Lease> {
        self.leases.iter_mut().find(|lease| which(lease))
    }

    /// Challenges of ours that hold a slot.
    pub fn outgoing_mut(&mut self) -> impl Iterator<Item = &mut Lease> {
        self.leases
            .iter_mut()
            .filter(|lease| matches!(lease.holder, Holder::Outgoing { .. }))
    }

    /// Frees the leases that match and returns them.
    pub fn free(&mut self, which: impl FnMut(&mut Lease) -> bool) -> Vec<Lease> {
        let mut which = which;
        self.leases.extract_if(.., |lease| which(lease)).collect()
    }

    /// Frees the leases whose time is up.
    pub fn expire(&mut self, now: Moment) -> Vec<Lease> {
        self.free(|lease| lease.until.is_some_and(|until| until <= now))
    }

    /// When the next lease falls free by itself.
    pub fn next_expiry(&self) -> Option<Moment> {
        self.leases.iter().filter_map(|lease| lease.until).min()
    }
}
