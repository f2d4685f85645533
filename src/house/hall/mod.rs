//! Everything the house knows, behind one lock that is never held across a wait.
//!
//! [`Hall`] is the shared handle; [`State`] is what it guards. Commands arrive from
//! the API and the page with the id of the account that sent them, change the state
//! and push lines into the queues of the streams. Nothing in here waits.

mod answers;
mod challenges;
mod meetings;
mod page;
mod people;
mod play;
mod seeks;
mod streams;
mod tick;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::sync::{Notify, broadcast};

use crate::rules::Color;

use super::account::{Account, AccountError, AccountKind, Scopes, Token, TokenHash, account_id};
use super::archive::TokenRecord;
use super::challenge::Challenge;
use super::conn::ConnControl;
use super::endpoint::Endpoint;
use super::game::{Game, GameRecord};
use super::limits::{Limits, Meter};
use super::lines::LineQueue;
use super::refusal::Refusal;
use super::time::Timeline;
use super::violation::{Violation, ViolationKind, Violations};
use answers::Samples;
use seeks::Seek;

pub use answers::AnswerTimes;
pub use page::{Ahead, PageGuard, PageView, Viewer, Waiting};
pub use play::{ClaimAnswer, FinishedGames, GameSummary};
pub use seeks::SeekView;
pub use streams::{OpenStream, StreamKey};

/// Finished games that stay at hand for late streams; older ones come from the archive.
const RECENT_GAMES: usize = 512;

/// Changes that a watcher may be behind before it is told that it missed some.
const CHANGES: usize = 1_024;

/// Settings of the hall.
#[derive(Debug, Clone)]
pub struct HallSettings {
    /// How much accounts may ask for.
    pub limits: Limits,
    /// Milliseconds of absence after which a fast game may be claimed.
    pub gone_after_ms: i64,
    /// Games that an account may have at a time.
    pub max_playing: usize,
    /// Seed of ids, colours and shuffles; from the operating system if absent.
    pub seed: Option<u64>,
    /// Start of the addresses in answers, without a slash at the end.
    pub base_url: String,
}

/// Who is asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Id of the account.
    pub account: String,
    /// Hash of the token.
    pub token: TokenHash,
    /// What the token allows.
    pub scopes: Scopes,
}

/// The house's knowledge. Clones of the `Arc` around it are handed to every handler.
#[derive(Debug)]
pub struct Hall {
    state: Mutex<State>,
    /// Time of the house.
    pub timeline: Timeline,
    /// Wakes whoever writes changed games to the archive.
    pub dirty: Notify,
    /// Ids of games and challenges that have changed, for whoever shows them.
    pub changes: broadcast::Sender<Arc<str>>,
}

#[derive(Debug)]
struct State {
    settings: HallSettings,
    accounts: BTreeMap<String, Account>,
    tokens: HashMap<TokenHash, (String, Scopes)>,
    challenges: BTreeMap<String, Pending>,
    seeks: BTreeMap<String, Seek>,
    /// Offers that became games at another address, and when.
    moved_on: HashMap<String, (String, i64)>,
    games: HashMap<String, Live>,
    /// Ids of finished games in `games`, oldest first.
    recent: std::collections::VecDeque<String>,
    event_streams: HashMap<String, EventStream>,
    /// When accounts last had a stream open, ms since 1970.
    seen_ms: HashMap<String, i64>,
    meter: Meter,
    /// Until when an account was told to wait, by class of requests.
    told_to_wait: HashMap<(String, Endpoint), i64>,
    violations: Violations,
    judgements: Vec<Judgement>,
    dirty_games: BTreeSet<String>,
    dirty_accounts: BTreeSet<String>,
    /// Games and challenges that this command has changed.
    changed: BTreeSet<String>,
    finished: FinishedGames,
    answers: HashMap<String, Samples>,
    rng: StdRng,
    next_serial: u64,
    closing: bool,
}

/// A challenge and the answers that are kept open for it.
#[derive(Debug)]
struct Pending {
    challenge: Challenge,
    keep_alive: Vec<Arc<LineQueue>>,
    /// Pages on which the challenger waits.
    waiting: u32,
}

/// A game and the streams on it.
#[derive(Debug)]
struct Live {
    game: Game,
    streams: Vec<GameStream>,
    /// Who wants another game with the same opponent, by which challenge.
    rematch: Option<(Color, String)>,
    /// The game after this one.
    next: Option<String>,
    /// Grows with every change.
    version: u64,
    /// Who was told that it is his turn, at which ply and when, to measure his answer.
    told: Option<(Color, usize, Instant)>,
    /// Last move accepted from each side and the ply it made, to recognise repetitions of a request.
    accepted: [Option<(usize, String)>; 2],
}

#[derive(Debug)]
struct GameStream {
    serial: u64,
    color: Color,
    user_agent: String,
    queue: Arc<LineQueue>,
    control: Arc<ConnControl>,
}

#[derive(Debug)]
struct EventStream {
    serial: u64,
    queue: Arc<LineQueue>,
    control: Arc<ConnControl>,
}

/// A second stream was opened while the first seemed alive. Whether it was is seen a
/// moment later: a client that closed the first has done nothing wrong.
#[derive(Debug)]
struct Judgement {
    at_ms: i64,
    control: Arc<ConnControl>,
    queue: Arc<LineQueue>,
    violation: Violation,
}

impl Hall {
    /// An empty hall.
    pub fn new(settings: HallSettings, timeline: Timeline) -> Hall {
        let rng = match settings.seed {
            Some(seed) => StdRng::seed_from_u64(seed),
            None => StdRng::from_os_rng(),
        };
        let meter = Meter::new(settings.limits.clone());
        Hall {
            state: Mutex::new(State {
                settings,
                accounts: BTreeMap::new(),
                tokens: HashMap::new(),
                challenges: BTreeMap::new(),
                seeks: BTreeMap::new(),
                moved_on: HashMap::new(),
                games: HashMap::new(),
                recent: std::collections::VecDeque::new(),
                event_streams: HashMap::new(),
                seen_ms: HashMap::new(),
                meter,
                told_to_wait: HashMap::new(),
                violations: Violations::default(),
                judgements: Vec::new(),
                dirty_games: BTreeSet::new(),
                dirty_accounts: BTreeSet::new(),
                changed: BTreeSet::new(),
                finished: FinishedGames::default(),
                answers: HashMap::new(),
                rng,
                next_serial: 0,
                closing: false,
            }),
            timeline,
            dirty: Notify::new(),
            changes: broadcast::channel(CHANGES).0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock is a bug in one command; the others must go on.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one command and wakes the archive and the watchers if it changed games.
    fn command<T>(&self, run: impl FnOnce(&mut State, i64) -> T) -> T {
        let (result, dirty, changed) = {
            let mut state = self.lock();
            let now_ms = self.timeline.now_ms();
            let result = run(&mut state, now_ms);
            let dirty = !state.dirty_games.is_empty() || !state.dirty_accounts.is_empty();
            let changed = std::mem::take(&mut state.changed);
            for id in &changed {
                if let Some(live) = state.games.get_mut(id) {
                    live.version += 1;
                }
            }
            (result, dirty, changed)
        };
        if dirty {
            self.dirty.notify_one();
        }
        for id in changed {
            // Nobody watches: that is no error.
            drop(self.changes.send(id.into()));
        }
        result
    }

    /// What changed since the last call and must be written to the archive.
    pub fn take_dirty(&self) -> (Vec<Account>, Vec<GameRecord>) {
        let mut state = self.lock();
        let accounts = std::mem::take(&mut state.dirty_accounts);
        let accounts = accounts
            .iter()
            .filter_map(|id| state.accounts.get(id).cloned())
            .collect();
        let games = std::mem::take(&mut state.dirty_games);
        let games = games
            .iter()
            .filter_map(|id| state.games.get(id).map(|live| live.game.record()))
            .collect();
        (accounts, games)
    }

    /// Writing failed: the same must be tried again.
    pub fn still_dirty(&self, accounts: &[Account], games: &[GameRecord]) {
        let mut state = self.lock();
        let ids = accounts.iter().map(Account::id);
        state.dirty_accounts.extend(ids);
        let ids = games.iter().map(|game| game.id.clone());
        state.dirty_games.extend(ids);
    }

    /// Puts in what the archive had. Games that cannot be brought back are left out and named in the log.
    pub fn load(&self, accounts: Vec<Account>, tokens: Vec<TokenRecord>, games: Vec<GameRecord>) {
        self.command(|state, now_ms| {
            for account in accounts {
                state.accounts.insert(account.id(), account);
            }
            for token in tokens {
                state
                    .tokens
                    .insert(token.hash, (token.account, token.scopes));
            }
            for record in games {
                state.resume(record, now_ms);
            }
        });
    }

    /// Takes in accounts that are new, and exactly these tokens: others have been revoked.
    pub fn refresh(&self, accounts: Vec<Account>, tokens: Vec<TokenRecord>) {
        self.command(|state, _| {
            for account in accounts {
                state.accounts.entry(account.id()).or_insert(account);
            }
            let entry = |token: TokenRecord| (token.hash, (token.account, token.scopes));
            state.tokens = tokens.into_iter().map(entry).collect();
        });
    }

    /// Forgets what a restart forgets: streams, challenges, games in memory.
    pub fn forget_volatile(&self) {
        self.command(|state, _| {
            state.close_everything();
            state.challenges.clear();
            state.games.clear();
            state.recent.clear();
        });
    }

    /// Ends every stream; what is asked from now on is refused.
    pub fn close(&self) {
        self.command(|state, _| {
            state.closing = true;
            state.close_everything();
        });
    }

    /// Makes an account.
    ///
    /// # Errors
    /// [`AccountError`] if the name is no name or taken.
    pub fn create_account(&self, name: &str, kind: AccountKind) -> Result<Account, AccountError> {
        self.command(|state, now_ms| {
            let mut account = Account::new(name, kind, now_ms)?;
            if state.accounts.contains_key(&account.id()) {
                return Err(AccountError::Taken(name.to_owned()));
            }
            if kind == AccountKind::Bot {
                account.bio = "A program that plays in this house.".to_owned();
            }
            state.accounts.insert(account.id(), account.clone());
            state.dirty_accounts.insert(account.id());
            Ok(account)
        })
    }

    /// Makes a token for an account and returns it with what is to be kept of it.
    ///
    /// # Errors
    /// [`AccountError::Unknown`].
    pub fn create_token(
        &self,
        name: &str,
        scopes: Scopes,
    ) -> Result<(Token, TokenRecord), AccountError> {
        self.command(|state, _| {
            let account = account_id(name);
            if !state.accounts.contains_key(&account) {
                return Err(AccountError::Unknown(name.to_owned()));
            }
            // Tokens are secrets: never from a seeded generator.
            let token = Token::draw(&mut StdRng::from_os_rng());
            let record = TokenRecord {
                hash: token.hash(),
                account,
                scopes,
            };
            let entry = (record.account.clone(), record.scopes.clone());
            state.tokens.insert(record.hash, entry);
            Ok((token, record))
        })
    }

    /// Changes an account.
    ///
    /// # Errors
    /// [`AccountError::Unknown`].
    pub fn change_account(
        &self,
        name: &str,
        change: impl FnOnce(&mut Account),
    ) -> Result<(), AccountError> {
        self.command(|state, _| {
            let id = account_id(name);
            let Some(account) = state.accounts.get_mut(&id) else {
                return Err(AccountError::Unknown(name.to_owned()));
            };
            change(account);
            state.dirty_accounts.insert(id);
            Ok(())
        })
    }

    /// Who is behind a token of the API; sessions of browsers are none.
    pub fn caller(&self, token: TokenHash) -> Option<Caller> {
        self.caller_of_any(token)
            .filter(|caller| !caller.scopes.has_any(&[page::PAGE_SCOPE]))
    }

    fn caller_of_any(&self, token: TokenHash) -> Option<Caller> {
        let state = self.lock();
        let (account, scopes) = state.tokens.get(&token)?;
        Some(Caller {
            account: account.clone(),
            token,
            scopes: scopes.clone(),
        })
    }

    /// An account by name or id, and when it was last seen.
    pub fn account(&self, name: &str) -> Option<(Account, Option<i64>)> {
        let state = self.lock();
        let id = account_id(name);
        let account = state.accounts.get(&id)?.clone();
        Some((account, state.seen_ms.get(&id).copied()))
    }

    /// All accounts.
    pub fn accounts(&self) -> Vec<Account> {
        self.lock().accounts.values().cloned().collect()
    }

    /// What was done against the contract so far.
    pub fn violations(&self) -> Violations {
        self.lock().violations.clone()
    }

    /// Reports a violation that was seen outside of the hall.
    pub fn report(
        &self,
        kind: ViolationKind,
        account: Option<&str>,
        game: Option<&str>,
        detail: impl Into<String>,
    ) {
        let detail = detail.into();
        self.command(|state, now_ms| state.report(kind, account, game, detail, now_ms));
    }

    /// Notes that `account` was told to leave `endpoint` alone for some seconds.
    pub fn told_to_wait(&self, account: &str, endpoint: Endpoint, seconds: u64) {
        self.command(|state, now_ms| {
            let until = now_ms + seconds.min(86_400 * 2) as i64 * 1000;
            state
                .told_to_wait
                .insert((account.to_owned(), endpoint), until);
        });
    }

    /// A request arrived: if it should have waited, that is reported.
    pub fn check_waiting(&self, account: &str, endpoint: Endpoint) {
        // A tenth of a second is clocks and networks, not impatience.
        const TOLERANCE_MS: i64 = 100;
        self.command(|state, now_ms| {
            let key = (account.to_owned(), endpoint);
            let Some(until) = state.told_to_wait.get(&key).copied() else {
                return;
            };
            if now_ms + TOLERANCE_MS < until {
                let early = until - now_ms;
                let detail = format!("{} came {early} ms too early", endpoint.name());
                state.report(
                    ViolationKind::IgnoredRateLimit,
                    Some(account),
                    None,
                    detail,
                    now_ms,
                );
            } else {
                state.told_to_wait.remove(&key);
            }
        });
    }
}

impl State {
    fn report(
        &mut self,
        kind: ViolationKind,
        account: Option<&str>,
        game: Option<&str>,
        detail: String,
        now_ms: i64,
    ) {
        self.violations.report(Violation {
            kind,
            account: account.map(str::to_owned),
            game: game.map(str::to_owned),
            at_ms: now_ms,
            detail,
        });
    }

    /// A new id of `length` letters and digits.
    fn draw_id(&mut self, length: usize) -> String {
        const ALPHABET: &[u8; 62] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        (0..length)
            .map(|_| char::from(ALPHABET[self.rng.random_range(0..ALPHABET.len())]))
            .collect()
    }

    /// An id that neither a game nor a challenge has.
    fn fresh_id(&mut self) -> String {
        loop {
            let id = self.draw_id(8);
            if !self.games.contains_key(&id) && !self.challenges.contains_key(&id) {
                return id;
            }
        }
    }

    fn serial(&mut self) -> u64 {
        self.next_serial += 1;
        self.next_serial
    }

    fn account(&self, id: &str) -> Result<&Account, Refusal> {
        self.accounts
            .get(id)
            .ok_or(Refusal::Unauthorized("No such user"))
    }

    /// Whether an account has a stream open, or had one just now.
    fn is_online(&self, account: &str, now_ms: i64) -> bool {
        const MEMORY_MS: i64 = 10_000;
        let playing = || {
            self.games.values().any(|live| {
                !live.streams.is_empty()
                    && live
                        .game
                        .color_of(account)
                        .is_some_and(|color| live.game.is_here(color))
            })
        };
        self.event_streams.contains_key(account)
            || self
                .seen_ms
                .get(account)
                .is_some_and(|seen| now_ms - seen < MEMORY_MS)
            || playing()
    }

    fn running_games_of(&self, account: &str) -> impl Iterator<Item = (&Live, Color)> {
        self.games.values().filter_map(move |live| {
            let color = live.game.color_of(account)?;
            (!live.game.status.is_over()).then_some((live, color))
        })
    }

    fn close_everything(&mut self) {
        for stream in self.event_streams.values() {
            stream.queue.close();
        }
        self.event_streams.clear();
        for live in self.games.values_mut() {
            for stream in live.streams.drain(..) {
                stream.queue.close();
            }
        }
        for pending in self.challenges.values_mut() {
            for queue in pending.keep_alive.drain(..) {
                queue.close();
            }
        }
    }
}
