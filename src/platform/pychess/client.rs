//! One account: takes the daemon's commands, tells it what the listener hears, and runs a task per open game.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};
use tracing::{debug, info, warn};

use crate::game::{GameId, PlayerName};
use crate::lobby::{ChallengeId, ChallengeRefusal, DeclineReason};
use crate::platform::http::HttpClient;
use crate::platform::{
    AccountCommand, AccountEvent, AccountPort, ClientEnd, FAREWELL_MAX, GameLink, Received,
    Snapshot, game_channel,
};

use super::answers::{self, AcceptOutcome};
use super::game::{GameSetup, GameTask};
use super::listener::{Barred, Heard, Listener, live_games};
use super::request::PathId;
use super::translate::{self, KnownGame};
use super::wire::{AccountLine, LiveGame};
use super::{PychessConfig, Shared, Timing};

/// Events that may wait for the daemon before the stream is left unread.
const OUTBOX_MAX: usize = 128;
/// Games and challenges that are remembered.
const KNOWN_MAX: usize = 1024;
/// Requests of the account under way at a time; beyond it the lists are not read.
const JOBS_MAX: usize = 32;
/// What "never" is in an offline notice: a year, so that nobody's clock overflows.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// Finished games that are remembered, so that a list that lags does not start them again.
const ENDED_MAX: usize = 256;

/// Runs the client of one account.
pub async fn run(config: PychessConfig, shared: Shared, port: AccountPort) -> ClientEnd {
    let header = match translate::capabilities(&config.variants).header() {
        Ok(header) => header,
        Err(error) => {
            return ClientEnd::Stopped {
                words: error.to_string(),
            };
        }
    };
    match HttpClient::new(
        shared.origin,
        &config.account,
        &config.product,
        Some(&config.token),
    ) {
        Ok(http) => {
            Client::new(http, &config, shared.seed, port)
                .run(header)
                .await
        }
        Err(error) => ClientEnd::Stopped {
            words: error.to_string(),
        },
    }
}

/// What was learnt about challenges and games, oldest forgotten first.
#[derive(Debug, Default)]
struct KnownGames(VecDeque<(PathId, KnownGame)>);

impl KnownGames {
    fn get(&self, id: &PathId) -> KnownGame {
        let found = self.0.iter().rev().find(|(known, _)| known == id);
        found.map(|(_, game)| game.clone()).unwrap_or_default()
    }

    /// Adds what is new; what was learnt first stays.
    fn learn(&mut self, id: &PathId, facts: &KnownGame) {
        if let Some((_, game)) = self.0.iter_mut().rev().find(|(known, _)| known == id) {
            game.complete(facts);
            return;
        }
        if self.0.len() >= KNOWN_MAX {
            self.0.pop_front();
        }
        self.0.push_back((id.clone(), facts.clone()));
    }
}

/// Something done in the background.
enum Job {
    Accepted {
        id: PathId,
        outcome: AcceptOutcome,
    },
    Declined {
        id: PathId,
        reason: DeclineReason,
        done: bool,
    },
    Polled {
        list: usize,
        live: Vec<LiveGame>,
    },
}

/// The client of one account.
struct Client {
    http: HttpClient,
    lists: Arc<[&'static str]>,
    timing: Timing,
    rng: SmallRng,
    port: AccountPort,
    outbox: VecDeque<Received<AccountEvent>>,
    us: watch::Sender<Option<PlayerName>>,
    online: bool,
    known: KnownGames,
    open: HashSet<PathId>,
    ended: VecDeque<PathId>,
    games: JoinSet<PathId>,
    jobs: JoinSet<Job>,
    barred: Option<Barred>,
    next_list: usize,
    /// Our games by each list, as it said last.
    running: Vec<Vec<LiveGame>>,
}

impl Client {
    /// A client that has not connected yet.
    fn new(http: HttpClient, config: &PychessConfig, seed: u64, port: AccountPort) -> Client {
        let list_name = |(variant, mode): &(_, _)| translate::list_name(*variant, *mode);
        Client {
            http,
            lists: config.variants.iter().filter_map(list_name).collect(),
            timing: config.timing,
            rng: SmallRng::seed_from_u64(seed),
            port,
            outbox: VecDeque::new(),
            us: watch::Sender::new(None),
            online: false,
            known: KnownGames::default(),
            open: HashSet::new(),
            ended: VecDeque::new(),
            games: JoinSet::new(),
            jobs: JoinSet::new(),
            barred: None,
            next_list: 0,
            running: vec![Vec::new(); config.variants.len()],
        }
    }

    /// Runs until the daemon drops the link, or the server will not have the account and no game is open any more.
    async fn run(mut self, header: String) -> ClientEnd {
        let (out, mut heard) = mpsc::channel(16);
        let mut listening = JoinSet::new();
        let listener = Listener {
            http: self.http.clone(),
            header,
            lists: Arc::clone(&self.lists),
            timing: self.timing,
            rng: SmallRng::seed_from_u64(self.rng.random()),
            out,
        };
        listening.spawn(listener.run());
        let lists = u32::try_from(self.lists.len()).unwrap_or(1).max(1);
        let mut poll =
            tokio::time::interval((self.timing.poll / lists).max(Duration::from_millis(1)));
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let events = self.port.events.clone();
        let end = loop {
            if self.games.is_empty()
                && let Some(barred) = &self.barred
            {
                break ClientEnd::Stopped {
                    words: barred.words.clone(),
                };
            }
            tokio::select! {
                biased;
                permit = events.reserve(), if !self.outbox.is_empty() => match (permit, self.outbox.pop_front()) {
                    (Ok(permit), Some(event)) => permit.send(event),
                    _ => break ClientEnd::Asked,
                },
                command = self.port.commands.recv(), if self.outbox.len() < OUTBOX_MAX * 2 => match command {
                    Some(command) => self.on_command(command),
                    None => break ClientEnd::Asked,
                },
                Some(job) = self.jobs.join_next(), if !self.jobs.is_empty() => match job {
                    Ok(job) => self.on_job(job),
                    Err(error) => warn!(%error, "a request of the account's client failed"),
                },
                Some(game) = self.games.join_next(), if !self.games.is_empty() => self.on_game_closed(game),
                Some(ended) = listening.join_next(), if !listening.is_empty() => match ended {
                    Ok(barred) => self.on_barred(barred),
                    Err(error) => self.on_barred(Some(Barred { words: format!("the listener failed: {error}") })),
                },
                Some(event) = heard.recv(), if self.outbox.len() < OUTBOX_MAX => self.on_heard(event),
                _ = poll.tick(), if self.online => self.poll(),
            }
        };
        listening.shutdown().await;
        self.close(&end).await;
        end
    }

    /// Lets what was asked for last get out, within its own deadlines, and closes everything.
    async fn close(mut self, end: &ClientEnd) {
        if *end == ClientEnd::Asked {
            let rest = async {
                while self.jobs.join_next().await.is_some() {}
                while self.games.join_next().await.is_some() {}
            };
            let patience = self.timing.request.min(FAREWELL_MAX / 2);
            if tokio::time::timeout(patience, rest).await.is_err() {
                debug!("requests were still under way when the account was closed");
            }
        } else {
            // The last events tell the daemon why.
            while let Some(event) = self.outbox.pop_front() {
                if self.port.events.try_send(event).is_err() {
                    break;
                }
            }
        }
        self.jobs.shutdown().await;
        self.games.shutdown().await;
    }

    fn tell(&mut self, event: AccountEvent) {
        self.tell_at(Instant::now(), event);
    }

    fn tell_at(&mut self, at: Instant, event: AccountEvent) {
        self.outbox.push_back(Received { at, event });
    }

    fn on_heard(&mut self, heard: Heard) {
        match heard {
            Heard::Up { account, live } => {
                let name = PlayerName::new(account.username);
                info!(%name, "online at PyChess");
                self.us.send_replace(Some(name.clone()));
                self.online = true;
                self.tell(AccountEvent::Online { name, is_bot: true });
                for (list, live) in live.into_iter().enumerate() {
                    self.remember(list, live);
                }
                self.reconciled();
            }
            Heard::Line { at, up_at, line } => self.on_line(at, at.duration_since(up_at), &line),
            Heard::Down { words, retry_in } => {
                info!(
                    words,
                    retry_s = retry_in.as_secs_f32(),
                    "offline at PyChess"
                );
                self.online = false;
                self.tell(AccountEvent::Offline { words, retry_in });
            }
        }
    }

    fn on_line(&mut self, at: Instant, since_up: Duration, line: &AccountLine) {
        let replayed = since_up < self.timing.replay;
        match line {
            AccountLine::Challenge(challenge) => match translate::challenge(challenge, replayed) {
                Ok(translated) => {
                    if let Ok(id) = PathId::new(&challenge.id) {
                        self.known.learn(&id, &KnownGame::from_challenge(challenge));
                    }
                    self.tell_at(at, AccountEvent::Challenged(Box::new(translated)));
                }
                Err(error) => warn!(%error, "a challenge was dropped"),
            },
            AccountLine::GameStart(start) => match PathId::new(&start.id) {
                Ok(id) => {
                    self.known
                        .learn(&id, &KnownGame::from_start(start, replayed));
                    let notice = translate::started(&id, &self.known.get(&id));
                    self.tell_at(at, AccountEvent::GameStarted(notice));
                }
                Err(error) => warn!(%error, "the start of a game was dropped"),
            },
            AccountLine::Ping | AccountLine::Terminated | AccountLine::Other(_) => {}
        }
    }

    fn on_command(&mut self, command: AccountCommand) {
        match command {
            AccountCommand::OpenGame { id, reply } => self.open_game(&id, reply),
            AccountCommand::Accept(id) => self.accept(&id),
            AccountCommand::Decline { id, reason } => self.decline(&id, reason),
            AccountCommand::Create(request) => self.tell(AccountEvent::ChallengeRefused {
                request: request.request,
                refusal: ChallengeRefusal::BadRequest {
                    words: "PyChess lets no bot challenge anybody".to_owned(),
                },
            }),
            AccountCommand::ListBots => self.tell(AccountEvent::BotsOnline(None)),
            AccountCommand::Reconcile => self.reconciled(),
            // The server has no list of open challenges, no tells, no adjourned games, and offers nothing in our name; what
            // arrives after this is declined by the daemon.
            AccountCommand::Cancel(_)
            | AccountCommand::Tell { .. }
            | AccountCommand::Resume(_)
            | AccountCommand::Quiesce => debug!(?command, "nothing to do for this on PyChess"),
        }
    }

    fn open_game(&mut self, id: &GameId, reply: oneshot::Sender<GameLink>) {
        let (link, port) = game_channel();
        match PathId::new(id.as_str()) {
            Ok(id) => {
                let setup = GameSetup {
                    http: self.http.clone(),
                    known: self.known.get(&id),
                    id: id.clone(),
                    us: self.us.subscribe(),
                    timing: self.timing,
                    seed: self.rng.random(),
                };
                self.open.insert(id.clone());
                let task = GameTask::new(setup, port);
                self.games.spawn(async move {
                    task.run().await;
                    id
                });
            }
            // The port is dropped, so that the link's events end at once.
            Err(error) => warn!(%error, "a game cannot be opened"),
        }
        if reply.send(link).is_err() {
            debug!(%id, "nobody waits for the game any more");
        }
    }

    fn on_game_closed(&mut self, game: Result<PathId, tokio::task::JoinError>) {
        match game {
            Ok(id) => {
                self.open.remove(&id);
                if self.ended.len() >= ENDED_MAX {
                    self.ended.pop_front();
                }
                self.ended.push_back(id);
            }
            Err(error) => warn!(%error, "a game's client failed"),
        }
    }

    fn accept(&mut self, id: &ChallengeId) {
        let Ok(path_id) = PathId::new(id.as_str()) else {
            let words = "no such challenge".to_owned();
            return self.tell(AccountEvent::AcceptFailed {
                id: id.clone(),
                words,
                our_budget: None,
            });
        };
        let (http, timing, seed) = (self.http.clone(), self.timing, self.rng.random());
        self.jobs.spawn(async move {
            let outcome = answers::accept(&http, &timing, &path_id, seed).await;
            Job::Accepted {
                id: path_id,
                outcome,
            }
        });
    }

    fn decline(&mut self, id: &ChallengeId, reason: DeclineReason) {
        let Ok(id) = PathId::new(id.as_str()) else {
            return;
        };
        let (http, timing) = (self.http.clone(), self.timing);
        self.jobs.spawn(async move {
            let done = answers::decline(&http, &timing, &id, reason).await;
            Job::Declined { id, reason, done }
        });
    }

    fn on_job(&mut self, job: Job) {
        match job {
            // The start notice may be lost on its way, so the accepted challenge itself is the start of the game.
            Job::Accepted {
                id,
                outcome: AcceptOutcome::Taken,
            } => {
                let notice = translate::started(&id, &self.known.get(&id));
                self.tell(AccountEvent::GameStarted(notice));
            }
            Job::Accepted {
                id,
                outcome: AcceptOutcome::Failed { words, rest },
            } => {
                let id = ChallengeId::new(id.as_str());
                self.tell(AccountEvent::AcceptFailed {
                    id,
                    words,
                    our_budget: rest,
                });
            }
            Job::Declined {
                id,
                reason,
                done: true,
            } => {
                let id = ChallengeId::new(id.as_str());
                self.tell(AccountEvent::ChallengeDeclined { id, reason });
            }
            Job::Declined { done: false, .. } => {}
            Job::Polled { list, live } => {
                let notices = self.ours(&live);
                self.remember(list, live);
                for notice in notices {
                    let id = PathId::new(notice.id.as_str()).ok();
                    if id.is_some_and(|id| !self.open.contains(&id) && !self.ended.contains(&id)) {
                        info!(game = %notice.id, "a running game was found in the public lists");
                        self.tell(AccountEvent::GameStarted(notice));
                    }
                }
            }
        }
    }

    /// Our games among running ones; what the list says about them is kept for when they are opened.
    fn ours(&mut self, live: &[LiveGame]) -> Vec<crate::platform::GameNotice> {
        let Some(us) = self.us.borrow().clone() else {
            return Vec::new();
        };
        let mut notices = Vec::new();
        for game in live {
            let Ok(id) = PathId::new(&game.game_id) else {
                continue;
            };
            if translate::our_color(&game.w, &game.b, &us).is_none() {
                continue;
            }
            self.known.learn(&id, &KnownGame::from_list(game));
            notices.extend(translate::listed(&id, game, &self.known.get(&id), &us));
        }
        notices
    }

    /// Keeps what a list said last, as far as it concerns us.
    fn remember(&mut self, list: usize, mut live: Vec<LiveGame>) {
        let us = self.us.borrow().clone();
        live.retain(|game| {
            us.as_ref()
                .is_some_and(|us| translate::our_color(&game.w, &game.b, us).is_some())
        });
        if let Some(last) = self.running.get_mut(list) {
            *last = live;
        }
    }

    /// Tells what the lists said last. They are read round and round, so they are never asked for this alone.
    fn reconciled(&mut self) {
        let running: Vec<LiveGame> = self.running.iter().flatten().cloned().collect();
        let mut games = self.ours(&running);
        games.retain(|notice| {
            !self
                .ended
                .iter()
                .any(|id| id.as_str() == notice.id.as_str())
        });
        let snapshot = Snapshot {
            games,
            ..Snapshot::default()
        };
        self.tell(AccountEvent::Reconciled(snapshot));
    }

    /// Reads the next list. Together the lists are read once per poll period.
    fn poll(&mut self) {
        let list = self.next_list % self.lists.len().max(1);
        self.next_list = self.next_list.wrapping_add(1);
        let Some(variant) = self
            .lists
            .get(list)
            .copied()
            .filter(|_| self.jobs.len() < JOBS_MAX)
        else {
            return;
        };
        let (http, timing) = (self.http.clone(), self.timing);
        self.jobs.spawn(async move {
            let live = live_games(&http, &timing, variant)
                .await
                .unwrap_or_else(|error| {
                    debug!(%error, variant, "no list of running games");
                    Vec::new()
                });
            Job::Polled { list, live }
        });
    }

    /// Without the stream no challenge comes any more; games that run are played to their end.
    fn on_barred(&mut self, barred: Option<Barred>) {
        let Some(barred) = barred else { return };
        warn!(words = barred.words, "PyChess does not want this account");
        self.online = false;
        self.tell(AccountEvent::Offline {
            words: barred.words.clone(),
            retry_in: NEVER,
        });
        self.barred = Some(barred);
    }
}
