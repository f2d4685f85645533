//! Whom to play: challenges, admission, slots, matchmaking, cooldowns and budgets.
//!
//! Pure decisions: what happened comes in as [`LobbyEvent`] with the time, what is to be done comes out as
//! [`LobbyAction`]s in order. One lobby serves all accounts, because they share the slots and the engine.
//!
//! | module | holds |
//! |---|---|
//! | [`challenge`] | offers to play, in neutral words |
//! | [`policy`] | sections `[lobby]` and `[matchmaking]` |
//! | [`admission`] | the ordered rules for challenges to us |
//! | [`slots`] | slots as leases |
//! | [`memory`] | rests, refusals and budgets, on disk before they are acted on |
//! | [`matchmaking`] | whom we challenge next |

pub mod admission;
pub mod challenge;
mod incoming;
pub mod matchmaking;
pub mod memory;
mod outgoing;
pub mod policy;
pub mod slots;
mod surprise;

use std::collections::BTreeMap;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::game::{Decision, GameId, GameSource, Moment, Player, PlayerKind, PlayerName};

pub use challenge::{
    BotRating, Challenge, ChallengeDirection, ChallengeId, ChallengeRefusal, ChallengeRequest,
    ColorChoice, DeclineReason, LobbyCapabilities, OfferedVariant, OnlineBot, RequestId,
};
pub use memory::{Memory, MemoryChange};
pub use policy::{LobbyPolicy, MatchmakingPolicy, Offer};

use incoming::Waiting;
use memory::DAY_MS;
use slots::{Holder, Lease, Slots};
use surprise::Unasked;

/// The name of an account in the configuration: `[accounts.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountName(String);

impl AccountName {
    /// Wraps the configuration's word.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The configuration's word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for AccountName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Now, on both time lines: the monotonic one for leases, the calendar's for what survives a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Monotonic.
    pub mono: Moment,
    /// Milliseconds since 1970.
    pub wall_ms: i64,
}

impl Now {
    fn wall_after(self, span: Duration) -> i64 {
        let ms = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        self.wall_ms.saturating_add(ms)
    }
}

/// What the lobby is told about an account when it is made.
#[derive(Debug, Clone)]
pub struct AccountTerms {
    /// Its name in the configuration.
    pub name: AccountName,
    /// What its platform can do outside games.
    pub capabilities: LobbyCapabilities,
    /// Games of this account at a time; `None`: only the common bound holds.
    pub max_games: Option<u32>,
    /// Whether this account challenges others.
    pub matchmaking: bool,
}

/// Something that concerns the lobby.
#[derive(Debug, Clone, PartialEq)]
pub enum LobbyEvent {
    /// An account is logged in, under this name.
    Online(PlayerName),
    /// An account lost its platform.
    Offline,
    /// The platform's own lists.
    Reconciled {
        /// Challenges to us that wait.
        incoming: Vec<Challenge>,
        /// Challenges of ours that wait.
        outgoing: Vec<Challenge>,
        /// Both lists are the whole truth.
        complete: bool,
    },
    /// A challenge to us, or the echo of one of ours.
    Challenged(Box<Challenge>),
    /// Withdrawn or lapsed.
    Canceled(ChallengeId),
    /// Declined, by them or by us.
    Declined(ChallengeId, DeclineReason),
    /// Ours exists.
    Created(RequestId, Box<Challenge>),
    /// Ours was not created.
    Refused(RequestId, ChallengeRefusal),
    /// An accept did not work.
    AcceptFailed {
        /// Which.
        id: ChallengeId,
        /// Our allowance of bot games is used up for this long.
        our_budget: Option<Duration>,
    },
    /// A game is on.
    GameStarted {
        /// Which.
        game: GameId,
        /// The challenge it came from, if the platform tells.
        challenge: Option<ChallengeId>,
        /// The opponent, if the platform tells.
        opponent: Option<Player>,
        /// How it came about.
        source: GameSource,
    },
    /// Who sits opposite is known now.
    OpponentKnown(GameId, Player),
    /// A game is over, or was left.
    GameEnded(GameId),
    /// The bots online, or `None` if the list could not be had.
    Bots(Option<Vec<OnlineBot>>),
    /// The platform limits challenges of ours.
    ChallengesLimited(Duration, String),
    /// The platform limits games against bots.
    BotGamesLimited(Duration, String),
    /// No new games from now on.
    Drain,
    /// Time passed: see [`Lobby::next_deadline`].
    Tick,
}

/// Something to do for an account, in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LobbyAction {
    /// Put this on disk before doing what follows.
    Remember(MemoryChange),
    /// Accept a challenge.
    Accept(ChallengeId),
    /// Decline a challenge.
    Decline(ChallengeId, DeclineReason),
    /// Withdraw a challenge of ours.
    Cancel(ChallengeId),
    /// Send a challenge.
    Create(ChallengeRequest),
    /// Ask for the bots online.
    ListBots,
    /// A game that nobody expected and for which there is no room: abort it if that is still possible.
    Unwanted(GameId, String),
    /// Tell the operator what was decided and why.
    Note(Decision),
    /// Who waits for a game, in order, for `!queue`.
    Queue(Vec<String>),
}

/// State of one account.
#[derive(Debug)]
pub(crate) struct Account {
    terms: AccountTerms,
    /// Our own name there.
    name: Option<PlayerName>,
    /// Logged in, and the lists of the platform are known.
    ready: bool,
    bots: Option<(Moment, Vec<OnlineBot>)>,
    /// A list was asked for at this moment.
    listing: Option<Moment>,
    next_challenge: Moment,
    /// How much each offer is ahead of or behind its share; see the drawing of offers.
    turns: Vec<i64>,
    /// Who played the last games, and how many in a row.
    row: Option<(String, u32)>,
}

/// The lobby of all accounts.
#[derive(Debug)]
pub struct Lobby {
    policy: LobbyPolicy,
    matchmaking: MatchmakingPolicy,
    accounts: BTreeMap<AccountName, Account>,
    slots: Slots,
    waiting: Vec<Waiting>,
    /// Running games that began without a promise of ours, until we know whether we want them.
    unasked: Vec<Unasked>,
    memory: Memory,
    /// Offers that the platform will never take: index and reason.
    disabled_offers: BTreeMap<usize, String>,
    /// Which offer a request of ours came from.
    requests: BTreeMap<RequestId, usize>,
    /// The terms last proposed to an opponent, for the memory of his refusal.
    proposals: BTreeMap<(AccountName, String), String>,
    draining: bool,
    next_request: u64,
    rng: SmallRng,
    out: Vec<(AccountName, LobbyAction)>,
}

impl Lobby {
    /// A lobby without memory. `seed` decides all of its draws.
    pub fn new(
        policy: LobbyPolicy,
        matchmaking: MatchmakingPolicy,
        accounts: Vec<AccountTerms>,
        seed: u64,
    ) -> Self {
        let account = |terms: AccountTerms| {
            let state = Account {
                name: None,
                ready: false,
                bots: None,
                listing: None,
                next_challenge: Moment::default(),
                turns: Vec::new(),
                row: None,
                terms,
            };
            (state.terms.name.clone(), state)
        };
        Self {
            policy,
            matchmaking,
            accounts: accounts.into_iter().map(account).collect(),
            slots: Slots::default(),
            waiting: Vec::new(),
            unasked: Vec::new(),
            memory: Memory::default(),
            disabled_offers: BTreeMap::new(),
            requests: BTreeMap::new(),
            proposals: BTreeMap::new(),
            draining: false,
            next_request: 1,
            rng: SmallRng::seed_from_u64(seed),
            out: Vec::new(),
        }
    }

    /// Takes over what an earlier run put on disk.
    pub fn recall(&mut self, changes: impl IntoIterator<Item = MemoryChange>) {
        for change in changes {
            self.memory.recall(change);
        }
    }

    /// The one entry: something happened to an account; here is what to do, in order. Unknown accounts are ignored.
    pub fn step(
        &mut self,
        account: &AccountName,
        event: LobbyEvent,
        now: Now,
    ) -> Vec<(AccountName, LobbyAction)> {
        if self.accounts.contains_key(account) {
            self.take(account, event, now);
            self.settle(now);
        }
        std::mem::take(&mut self.out)
    }

    /// Time passed, for all accounts.
    pub fn tick(&mut self, now: Now) -> Vec<(AccountName, LobbyAction)> {
        self.settle(now);
        self.matchmake(now);
        self.memory.prune(now.wall_ms);
        std::mem::take(&mut self.out)
    }

    /// No new games from now on, on any account: challenges of ours are withdrawn, waiting ones declined.
    pub fn drain(&mut self, now: Now) -> Vec<(AccountName, LobbyAction)> {
        self.draining = true;
        for waiting in std::mem::take(&mut self.waiting) {
            let decline = LobbyAction::Decline(waiting.challenge.id, DeclineReason::Later);
            self.out.push((waiting.account, decline));
        }
        self.withdraw_all();
        self.settle(now);
        std::mem::take(&mut self.out)
    }

    fn take(&mut self, account: &AccountName, event: LobbyEvent, now: Now) {
        match event {
            LobbyEvent::Online(name) => {
                let state = self.account(account);
                state.name = Some(name);
                state.ready = false;
            }
            LobbyEvent::Offline => self.account(account).ready = false,
            LobbyEvent::Reconciled {
                incoming,
                outgoing,
                complete,
            } => self.reconciled(account, incoming, &outgoing, complete, now),
            LobbyEvent::Challenged(challenge) => match challenge.direction {
                ChallengeDirection::Incoming => self.challenged(account, *challenge, now),
                ChallengeDirection::Outgoing => self.echoed(account, &challenge),
            },
            LobbyEvent::Canceled(id) => self.canceled(account, &id),
            LobbyEvent::Declined(id, reason) => self.declined(account, &id, reason, now),
            LobbyEvent::Created(request, challenge) => {
                self.created(account, request, &challenge, now);
            }
            LobbyEvent::Refused(request, refusal) => self.refused(account, request, refusal, now),
            LobbyEvent::AcceptFailed { id, our_budget } => {
                self.accept_failed(account, &id, our_budget, now);
            }
            LobbyEvent::GameStarted {
                game,
                challenge,
                opponent,
                source,
            } => self.game_started(account, game, challenge.as_ref(), opponent, &source, now),
            LobbyEvent::OpponentKnown(game, player) => {
                self.opponent_known(account, &game, &player, now);
            }
            LobbyEvent::GameEnded(game) => self.game_ended(account, &game, now),
            LobbyEvent::Bots(list) => {
                let state = self.account(account);
                state.listing = None;
                if let Some(list) = list {
                    state.bots = Some((now.mono, list));
                }
            }
            LobbyEvent::ChallengesLimited(span, words) => {
                self.limit(account, "limit:challenges", span, &words, now);
            }
            LobbyEvent::BotGamesLimited(span, words) => {
                self.limit(account, "limit:bot-games", span, &words, now);
            }
            LobbyEvent::Drain => {
                self.draining = true;
                self.withdraw_all();
            }
            LobbyEvent::Tick => self.matchmake(now),
        }
    }

    fn account(&mut self, name: &AccountName) -> &mut Account {
        self.accounts
            .get_mut(name)
            .expect("step lets only known accounts in, and none is ever removed")
    }

    fn act(&mut self, account: &AccountName, action: LobbyAction) {
        self.out.push((account.clone(), action));
    }

    fn note(
        &mut self,
        account: &AccountName,
        rule: &str,
        verdict: &str,
        reason: impl Into<String>,
    ) {
        let decision = Decision::new(rule, verdict, reason);
        self.act(account, LobbyAction::Note(decision));
    }

    fn limit(&mut self, account: &AccountName, key: &str, span: Duration, words: &str, now: Now) {
        let until_ms = now.wall_after(span);
        let change = self
            .memory
            .let_rest(account, key, until_ms, words, 1, now.wall_ms);
        self.act(account, LobbyAction::Remember(change));
        let reason = format!("for {} s: {}", span.as_secs(), words.escape_debug());
        self.note(account, key, "rests", reason);
    }

    /// Bot games per day that an account may begin: the platform's bound or the operator's, whichever is lower.
    fn bot_games_per_day(&self, account: &AccountName) -> Option<u32> {
        let platform = self
            .accounts
            .get(account)
            .and_then(|state| state.terms.capabilities.bot_games_per_day);
        let own = Some(self.matchmaking.max_bot_games_per_day).filter(|&bound| bound > 0);
        platform.into_iter().chain(own).min()
    }

    fn has_room(&self, account: &AccountName, bot: bool) -> bool {
        let bound = self
            .accounts
            .get(account)
            .and_then(|state| state.terms.max_games);
        let own = bound.is_none_or(|bound| self.slots.taken_by(account) < bound as usize);
        own && self.slots.has_room(&self.policy, bot)
    }

    fn game_started(
        &mut self,
        account: &AccountName,
        game: GameId,
        challenge: Option<&ChallengeId>,
        opponent: Option<Player>,
        source: &GameSource,
        now: Now,
    ) {
        let is_this =
            |lease: &Lease| &lease.account == account && lease.holder == Holder::Game(game.clone());
        if self.slots.leases().iter().any(is_this) {
            return;
        }
        let key = opponent.as_ref().map(|player| player.name.key());
        let bot = opponent.as_ref().is_none_or(|p| p.kind == PlayerKind::Bot);
        let promised = |lease: &Lease| {
            &lease.account == account
                && match &lease.holder {
                    Holder::Incoming(id) => {
                        Some(id) == challenge || (challenge.is_none() && lease.opponent == key)
                    }
                    Holder::Outgoing { challenge: id, .. } => {
                        (id.is_some() && id.as_ref() == challenge)
                            || (lease.opponent.is_some() && lease.opponent == key)
                    }
                    Holder::Game(_) => false,
                }
        };
        let holder = Holder::Game(game.clone());
        if let Some(lease) = self.slots.find(|lease| promised(lease)) {
            lease.holder = holder;
            lease.until = None;
            lease.opponent = lease.opponent.take().or(key);
            if opponent.is_some() {
                lease.bot = bot;
            }
        } else {
            self.surprise(account, &game, bot, source);
            self.note_unasked(account, &game, opponent.as_ref(), source);
            self.slots.take(Lease {
                account: account.clone(),
                opponent: key,
                bot,
                holder,
                until: None,
            });
        }
        self.waiting
            .retain(|w| &w.account != account || Some(&w.challenge.id) != challenge);
        if let Some(player) = opponent {
            self.count_game(account, &player, now);
        }
        self.review_unasked(account, now);
        self.withdraw_excess(now);
    }

    fn opponent_known(&mut self, account: &AccountName, game: &GameId, player: &Player, now: Now) {
        let holder = Holder::Game(game.clone());
        let lease = self
            .slots
            .find(|l| &l.account == account && l.holder == holder);
        let Some(lease) = lease else { return };
        lease.bot = player.kind == PlayerKind::Bot;
        if lease.opponent.is_none() {
            lease.opponent = Some(player.name.key());
            self.count_game(account, player, now);
        }
        self.unasked_opponent(account, game, player);
        self.review_unasked(account, now);
    }

    /// Counts a begun game in the budgets of the day.
    fn count_game(&mut self, account: &AccountName, player: &Player, now: Now) {
        if player.kind != PlayerKind::Bot {
            return;
        }
        let key = format!("games:{}", player.name.key());
        for key in ["bot-games", &key] {
            let change = self.memory.count(account, key, 1, DAY_MS, now.wall_ms);
            self.act(account, LobbyAction::Remember(change));
        }
    }

    fn game_ended(&mut self, account: &AccountName, game: &GameId, now: Now) {
        let holder = Holder::Game(game.clone());
        let freed = self
            .slots
            .free(|l| &l.account == account && l.holder == holder);
        self.unasked.retain(|unasked| !unasked.is(account, game));
        for opponent in freed.iter().filter_map(|lease| lease.opponent.as_deref()) {
            self.count_row(account, opponent, now);
        }
        // A rematch can be heard of before the end of the game that it follows.
        self.review_unasked(account, now);
        for opponent in freed
            .into_iter()
            .filter(|l| l.bot)
            .filter_map(|l| l.opponent)
        {
            let rest = self.matchmaking.rematch_after;
            if !rest.is_zero() {
                let until_ms = now.wall_after(rest);
                let key = format!("player:{opponent}");
                let strikes = 0;
                let change = self.memory.let_rest(
                    account,
                    &key,
                    until_ms,
                    "a game was played",
                    strikes,
                    now.wall_ms,
                );
                self.act(account, LobbyAction::Remember(change));
            }
        }
    }

    /// Counts games with the same opponent in a row; after so many he rests.
    fn count_row(&mut self, account: &AccountName, opponent: &str, now: Now) {
        let bound = self.policy.max_games_in_a_row;
        let state = self.account(account);
        let before = state.row.take().filter(|(last, _)| last == opponent);
        let count = before.map_or(1, |(_, count)| count.saturating_add(1));
        if bound == 0 || count < bound {
            state.row = Some((opponent.to_owned(), count));
            return;
        }
        let until_ms = now.wall_after(self.policy.rest_after_row);
        let key = admission::row_key(opponent);
        let reason = format!("{count} games in a row");
        let change = self
            .memory
            .let_rest(account, &key, until_ms, &reason, 0, now.wall_ms);
        self.act(account, LobbyAction::Remember(change));
    }

    /// Brings everything in line after any event: expired leases, waiting challenges, the queue as told to players.
    fn settle(&mut self, now: Now) {
        for lease in self.slots.expire(now.mono) {
            self.lease_expired(&lease);
        }
        self.serve_waiting(now);
    }

    fn lease_expired(&mut self, lease: &Lease) {
        let what = match &lease.holder {
            Holder::Incoming(id) => format!("accepted challenge {id} did not start"),
            Holder::Outgoing {
                challenge: Some(id),
                ..
            } => format!("challenge {id} was not answered"),
            Holder::Outgoing {
                challenge: None, ..
            } => "challenge was never created".to_owned(),
            Holder::Game(id) => format!("game {id}"),
        };
        let account = lease.account.clone();
        if let Holder::Outgoing {
            challenge: Some(id),
            withdrawn: false,
            ..
        } = &lease.holder
        {
            self.act(&account, LobbyAction::Cancel(id.clone()));
        }
        self.note(&account, "slots.lease", "frees the slot", what);
    }

    /// When [`Lobby::tick`] is due next, if nothing else happens before.
    pub fn next_deadline(&self, now: Now) -> Option<Moment> {
        let waiting = self.waiting.iter().map(|waiting| waiting.until).min();
        let graces = self.waiting.iter().map(|waiting| waiting.grace);
        let grace = graces.filter(|grace| *grace > now.mono).min();
        let matchmaking = self.matchmaking_due(now);
        [waiting, grace, self.slots.next_expiry(), matchmaking]
            .into_iter()
            .flatten()
            .min()
    }

    /// Slots in use, for status and tests.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Rests and budgets, for status and `why`.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }
}
