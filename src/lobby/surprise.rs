//! Games that begin without a promise of ours: rematches, and what a platform starts by itself.

use crate::game::{GameId, GameSource, Player, TimeControl};

use super::admission::{self, Verdict};
use super::challenge::{Challenge, ChallengeDirection, ChallengeId, ColorChoice, OfferedVariant};
use super::{AccountName, Lobby, LobbyAction, Now};

/// A running game that nobody asked us about.
#[derive(Debug, Clone)]
pub(super) struct Unasked {
    account: AccountName,
    game: GameId,
    /// Known later than the game on PyChess.
    opponent: Option<Player>,
    /// It began just now; otherwise it may be one that we agreed to before a connection was lost.
    fresh: bool,
}

impl Unasked {
    pub(super) fn is(&self, account: &AccountName, game: &GameId) -> bool {
        &self.account == account && &self.game == game
    }
}

impl Lobby {
    /// A game that no slot was promised to: play it where there is room or a little beyond, else it is not wanted.
    pub(super) fn surprise(
        &mut self,
        account: &AccountName,
        game: &GameId,
        bot: bool,
        source: &GameSource,
    ) {
        if self.has_room(account, bot) {
            return;
        }
        let bound = (self.policy.max_games + self.policy.overcommit) as usize;
        let kept = matches!(source, GameSource::Tournament(_) | GameSource::Resumed);
        let (taken, total) = (self.slots.taken(), self.policy.max_games);
        if taken < bound || kept {
            let reason = format!("{taken} of {total} slots were taken");
            self.note(account, "slots.surprise", "plays it all the same", reason);
        } else {
            let reason = format!("{taken} of {total} slots and the reserve are taken");
            self.note(
                account,
                "slots.surprise",
                "does not want it",
                reason.clone(),
            );
            self.act(account, LobbyAction::Unwanted(game.clone(), reason));
        }
    }

    /// Notes a game that began without a promise, if it is of a kind that somebody else can begin at will.
    pub(super) fn note_unasked(
        &mut self,
        account: &AccountName,
        game: &GameId,
        opponent: Option<&Player>,
        source: &GameSource,
    ) {
        if matches!(source, GameSource::Rematch | GameSource::Other) {
            self.unasked.push(Unasked {
                account: account.clone(),
                game: game.clone(),
                opponent: opponent.cloned(),
                fresh: *source == GameSource::Rematch,
            });
        }
    }

    pub(super) fn unasked_opponent(
        &mut self,
        account: &AccountName,
        game: &GameId,
        opponent: &Player,
    ) {
        let mut games = self.unasked.iter_mut();
        if let Some(unasked) = games.find(|unasked| unasked.is(account, game)) {
            unasked.opponent = Some(opponent.clone());
        }
    }

    /// Asks the rules about the opponents of games that nobody asked us about; a game that one objects to is not wanted.
    pub(super) fn review_unasked(&mut self, account: &AccountName, now: Now) {
        let mut objections = Vec::new();
        for unasked in self.unasked.iter().filter(|u| &u.account == account) {
            let Some(opponent) = &unasked.opponent else {
                continue;
            };
            let challenge = as_challenge(&unasked.game, opponent);
            let case = self.case(account, &challenge, now);
            let verdict = admission::admit_unasked(&case);
            if unasked.fresh && self.draining {
                let reason = "the daemon is shutting down".to_owned();
                objections.push((unasked.game.clone(), "drain", reason));
            } else if let Verdict::Declined { rule, objection } = verdict {
                objections.push((unasked.game.clone(), rule, objection.reason));
            }
        }
        for (game, rule, reason) in objections {
            self.unasked.retain(|unasked| !unasked.is(account, &game));
            let words = format!("{game}: {reason}");
            self.note(account, rule, "does not want it", words);
            self.act(account, LobbyAction::Unwanted(game, reason));
        }
    }
}

/// The game as the rules about opponents see it: what is played they do not look at.
fn as_challenge(game: &GameId, opponent: &Player) -> Challenge {
    Challenge {
        id: ChallengeId::new(game.as_str()),
        direction: ChallengeDirection::Incoming,
        opponent: opponent.clone(),
        variant: OfferedVariant::Unknown(String::new()),
        initial_fen: None,
        time_control: TimeControl::Unlimited,
        opponent_time_control: None,
        rated: false,
        color: ColorChoice::Random,
        rules: crate::game::GameRules::default(),
        rematch_of: None,
        resumes_adjourned: false,
        playable: true,
        replayed: false,
    }
}
