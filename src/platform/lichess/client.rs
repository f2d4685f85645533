//! The actor of one account: checks who we are, keeps the event stream, carries out commands, and owns the actors of the
//! games.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::api::Api;
use super::events::{self, FromEvents};
use super::game::{self, FromGame, ToGame};
use super::identity::{api_for, identify};
use super::lobby::{self, Creation, Finished, Lists};
use super::translate::game::{Background, finish, notice};
use super::translate::lobby as read;
use super::{Identity, LichessConfig, Shared, wire};
use crate::game::{GameId, GameRules, PlayerKind, PlayerName};
use crate::lobby::{
    Challenge, ChallengeDirection, ChallengeId, ChallengeRefusal, ChallengeRequest, OnlineBot,
};
use crate::platform::backoff::{Backoff, BackoffConfig};
use crate::platform::error::{PlatformError, Recovery};
use crate::platform::{
    AccountCommand, AccountEvent, AccountPort, ClientEnd, GameLink, GameNotice, Received,
    game_channel,
};

/// Events of the stream that may wait for this actor.
const EVENT_QUEUE: usize = 256;
/// Events that may wait for a reconciliation.
const HELD_EVENTS: usize = 1024;
/// Tasks of one account apart from its games.
const MAX_TASKS: usize = 256;
/// Games and challenges of which terms are remembered.
const MAX_REMEMBERED: usize = 1024;
/// How long the daemon may take to make room for an event.
const DAEMON_PATIENCE: Duration = Duration::from_secs(10);
/// How long requests under way may take when the client ends.
const FAREWELL: Duration = Duration::from_secs(3);
/// The list of bots is the same for this long on the platform's side.
const BOTS_CACHED: Duration = Duration::from_secs(10);

/// What a task of this account ends with.
enum Ended {
    Events,
    Game(GameId),
    Task(Finished),
}

/// Where the account stands with the platform.
enum Phase {
    Offline,
    /// The stream is open, the lists are being fetched; events wait.
    Reconciling(Vec<(wire::EventLine, Instant)>),
    Live,
}

struct GameHandle {
    to: mpsc::Sender<ToGame>,
    abort: AbortHandle,
}

struct Client {
    config: LichessConfig,
    identity: Identity,
    api: Api,
    rng: SmallRng,
    port: AccountPort,
    tasks: JoinSet<Ended>,
    task_count: usize,
    games: BTreeMap<GameId, GameHandle>,
    from_games: mpsc::Sender<FromGame>,
    phase: Phase,
    /// Number of the event stream, so that lists fetched for an earlier one are not taken for this one's.
    stream: u64,
    background: Remembered<GameId, Background>,
    challenges: Remembered<ChallengeId, Heard>,
    started: Remembered<GameId, ()>,
    /// Our own challenges as the event stream showed them.
    echoes: VecDeque<(Instant, Challenge)>,
    known_bots: BTreeSet<String>,
    bots: Option<(Instant, Vec<OnlineBot>)>,
    tournaments_entered: bool,
    /// The daemon missed an event.
    missed: bool,
}

/// What is known about a challenge to us.
#[derive(Clone, Copy, Debug)]
struct Heard {
    at: Instant,
    replayed: bool,
    rules: GameRules,
}

/// A bounded map that forgets the oldest entries.
struct Remembered<K, V> {
    map: BTreeMap<K, V>,
    order: VecDeque<K>,
}

impl<K: Ord + Clone, V> Remembered<K, V> {
    fn new() -> Self {
        Remembered {
            map: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }

    fn insert(&mut self, key: K, value: V) {
        if self.map.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > MAX_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.map.remove(&oldest);
        }
    }

    fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key)
    }
}

/// Runs one account until the daemon drops its link or the platform will not have us.
pub(super) async fn run(config: LichessConfig, shared: Shared, mut port: AccountPort) -> ClientEnd {
    let mut rng = SmallRng::seed_from_u64(shared.seed);
    let identity = match log_in(&config, &shared, &mut port, &mut rng).await {
        Ok(identity) => identity,
        Err(end) => return end,
    };
    let api = match api_for(&config, &shared.origin, Some(&identity.name)) {
        Ok(api) => api,
        Err(error) => {
            return ClientEnd::Stopped {
                words: error.to_string(),
            };
        }
    };
    let (from_games, game_messages) = mpsc::channel(64);
    let client = Client {
        config,
        identity,
        api,
        rng,
        port,
        tasks: JoinSet::new(),
        task_count: 0,
        games: BTreeMap::new(),
        from_games,
        phase: Phase::Offline,
        stream: 0,
        background: Remembered::new(),
        challenges: Remembered::new(),
        started: Remembered::new(),
        echoes: VecDeque::new(),
        known_bots: BTreeSet::new(),
        bots: None,
        tournaments_entered: false,
        missed: false,
    };
    client.serve(game_messages).await
}

/// Checks who we are, however long the platform takes to answer.
async fn log_in(
    config: &LichessConfig,
    shared: &Shared,
    port: &mut AccountPort,
    rng: &mut SmallRng,
) -> Result<Identity, ClientEnd> {
    let mut backoff = Backoff::new(BackoffConfig {
        cap: config.timing.event_backoff_cap,
        ..BackoffConfig::default()
    });
    loop {
        let result = tokio::select! {
            result = identify(config, &shared.origin) => result,
            () = port.events.closed() => return Err(ClientEnd::Asked),
        };
        let error = match result {
            Ok(identity) => return Ok(identity),
            Err(error) => error,
        };
        if let Some(end) = error.end() {
            return Err(end);
        }
        let mut retry_in = backoff.failed(Instant::now(), rng);
        if let super::identity::IdentityError::Platform(error) = &error
            && let Recovery::WaitUntil { delay, .. } = error.recovery()
        {
            retry_in = retry_in.max(delay);
        }
        let event = AccountEvent::Offline {
            words: error.to_string(),
            retry_in,
        };
        // If the daemon does not listen, it does not need to know either.
        drop(port.events.try_send(Received::now(event)));
        tokio::select! {
            () = tokio::time::sleep(retry_in) => {}
            () = port.events.closed() => return Err(ClientEnd::Asked),
        }
    }
}

impl Client {
    async fn serve(mut self, mut game_messages: mpsc::Receiver<FromGame>) -> ClientEnd {
        let (to, mut events) = mpsc::channel(EVENT_QUEUE);
        let seed = self.rng.random();
        let reader = events::run(
            self.api.clone(),
            self.config.timing,
            SmallRng::seed_from_u64(seed),
            to,
        );
        self.tasks.spawn(async move {
            reader.await;
            Ended::Events
        });
        let end = loop {
            let stopped = tokio::select! {
                biased;
                command = self.port.commands.recv() => match command {
                    Some(command) => {
                        self.on_command(command);
                        None
                    }
                    None => break ClientEnd::Asked,
                },
                Some(event) = events.recv() => self.on_event(event).await,
                Some(FromGame::Trouble(error)) = game_messages.recv() => self.on_trouble(&error).await,
                Some(ended) = self.tasks.join_next() => self.on_ended(ended).await,
            };
            if let Some(end) = stopped {
                break end;
            }
            if self.missed && matches!(self.phase, Phase::Live) {
                self.missed = false;
                self.reconcile();
            }
        };
        self.close(events).await;
        end
    }

    /// Lets requests under way end, then stops everything and joins it.
    async fn close(mut self, events: mpsc::Receiver<FromEvents>) {
        // The reader ends when nobody listens; games end when the daemon has dropped their links.
        drop(events);
        drop(self.port);
        let farewell = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, farewell).await.is_err() {
            self.tasks.shutdown().await;
        }
    }

    /// Hands an event to the daemon. An event that it does not take in time is made up for by a reconciliation.
    async fn emit(&mut self, event: AccountEvent, at: Instant) {
        let sending = self.port.events.send(Received { at, event });
        match tokio::time::timeout(DAEMON_PATIENCE, sending).await {
            // A daemon that is gone closes the commands too, which ends the loop.
            Ok(Ok(()) | Err(_)) => {}
            Err(_) => {
                tracing::error!(account = %self.config.account, "the daemon does not take events; it will be told anew");
                self.missed = true;
            }
        }
    }

    fn spawn(&mut self, task: impl Future<Output = Finished> + Send + 'static) {
        self.task_count += 1;
        self.tasks.spawn(async move { Ended::Task(task.await) });
    }

    fn reconcile(&mut self) {
        let (api, own_id, stream) = (self.api.clone(), self.identity.id.clone(), self.stream);
        let reads = self.identity.reads_challenges;
        self.spawn(async move {
            Finished::Lists(
                stream,
                Box::new(lobby::reconcile(&api, &own_id, reads).await),
            )
        });
    }

    async fn on_event(&mut self, event: FromEvents) -> Option<ClientEnd> {
        match event {
            FromEvents::Opened => {
                self.stream += 1;
                self.phase = Phase::Reconciling(Vec::new());
                self.reconcile();
            }
            FromEvents::Line(line, at) => match &mut self.phase {
                Phase::Reconciling(held) if held.len() < HELD_EVENTS => held.push((*line, at)),
                _ => self.on_line(*line, at, false).await,
            },
            FromEvents::Lost {
                words,
                retry_in,
                error,
            } => {
                self.phase = Phase::Offline;
                if let Some(error) = error {
                    self.tell_limit(&error).await;
                }
                self.emit(AccountEvent::Offline { words, retry_in }, Instant::now())
                    .await;
            }
            FromEvents::Stopped(error) => return Some(stopped(&error)),
        }
        None
    }

    /// A live event, or one that waited for the reconciliation (`replayed`).
    async fn on_line(&mut self, line: wire::EventLine, at: Instant, replayed: bool) {
        match line {
            wire::EventLine::GameStart(info) => {
                if let Some(notice) = self.hear_game(&info) {
                    self.emit(AccountEvent::GameStarted(notice), at).await;
                }
            }
            wire::EventLine::GameFinish(info) => {
                let Some(id) = info.id().map(GameId::new) else {
                    return;
                };
                let end = finish(&info);
                if let (Some(end), Some(game)) = (&end, self.games.get(&id)) {
                    // Its queue is full only if it has been told before.
                    drop(game.to.try_send(ToGame::Finished(end.clone())));
                }
                self.emit(AccountEvent::GameFinished { id, end }, at).await;
            }
            wire::EventLine::Challenge(challenge, compat) => {
                // Challenges that a new stream repeats come without a word on compatibility.
                let replayed = replayed || compat.is_none();
                let challenge =
                    read::challenge(&challenge, &self.identity.id, compat.as_ref(), replayed);
                if let Some(challenge) = challenge {
                    self.hear_challenge(&challenge, at);
                    self.emit(AccountEvent::Challenged(Box::new(challenge)), at)
                        .await;
                }
            }
            wire::EventLine::ChallengeCanceled(challenge) => {
                if let Some(id) = challenge.id {
                    self.emit(AccountEvent::ChallengeCanceled(ChallengeId::new(id)), at)
                        .await;
                }
            }
            wire::EventLine::ChallengeDeclined(challenge) => {
                let reason = read::decline_reason(challenge.decline_reason_key.as_deref());
                if let Some(id) = challenge.id {
                    self.emit(
                        AccountEvent::ChallengeDeclined {
                            id: ChallengeId::new(id),
                            reason,
                        },
                        at,
                    )
                    .await;
                }
            }
            wire::EventLine::Error(words) => tracing::warn!(%words, "an error on the event stream"),
            wire::EventLine::Unknown(kind) => {
                tracing::debug!(account = %self.config.account, %kind, "an unknown kind of event");
            }
        }
    }

    fn hear_game(&mut self, info: &wire::GameInfo) -> Option<GameNotice> {
        let mut notice = notice(info)?;
        if let Some(opponent) = &mut notice.opponent
            && self.known_bots.contains(&opponent.name.key())
        {
            opponent.kind = PlayerKind::Bot;
        }
        self.remember_game(&notice);
        Some(notice)
    }

    fn remember_game(&mut self, notice: &GameNotice) {
        let challenge = ChallengeId::new(notice.id.as_str());
        let rules = self
            .challenges
            .get(&challenge)
            .map(|heard| heard.rules)
            .unwrap_or_default();
        let background = Background {
            source: Some(notice.source.clone()),
            color: notice.color,
            rules,
        };
        self.background.insert(notice.id.clone(), background);
        self.started.insert(notice.id.clone(), ());
    }

    fn hear_challenge(&mut self, challenge: &Challenge, at: Instant) {
        if challenge.opponent.kind == PlayerKind::Bot {
            self.remember_bot(&challenge.opponent.name);
        }
        let heard = Heard {
            at,
            replayed: challenge.replayed,
            rules: challenge.rules,
        };
        self.challenges.insert(challenge.id.clone(), heard);
        if challenge.direction == ChallengeDirection::Outgoing {
            if self.echoes.len() == 32 {
                self.echoes.pop_front();
            }
            self.echoes.push_back((at, challenge.clone()));
        }
    }

    fn remember_bot(&mut self, name: &PlayerName) {
        if self.known_bots.len() < 10_000 {
            self.known_bots.insert(name.key());
        }
    }

    fn on_command(&mut self, command: AccountCommand) {
        let api = self.api.clone();
        match command {
            AccountCommand::OpenGame { id, reply } => self.open_game(id, reply),
            AccountCommand::Accept(id) => {
                let fresh = self.config.timing.challenge_fresh;
                let heard = self.challenges.get(&id);
                let look = heard.is_none_or(|heard| heard.replayed || heard.at.elapsed() > fresh);
                let timing = self.config.timing;
                self.spawn(async move {
                    let result = lobby::accept(&api, &id, look, &timing).await;
                    Finished::Accepted(id, result)
                });
            }
            AccountCommand::Decline { id, reason } => {
                self.spawn(async move { Finished::Plain(lobby::decline(&api, &id, reason).await) });
            }
            AccountCommand::Cancel(id) => {
                self.spawn(async move { Finished::Plain(lobby::cancel(&api, &id).await) })
            }
            AccountCommand::Create(request) => self.create(request),
            AccountCommand::ListBots => {
                let own_id = self.identity.id.clone();
                let cached = self
                    .bots
                    .as_ref()
                    .filter(|(at, _)| at.elapsed() < BOTS_CACHED);
                let cached = cached.map(|(_, bots)| bots.clone());
                self.spawn(async move {
                    match cached {
                        Some(bots) => Finished::Bots(Some(bots)),
                        None => match lobby::bots(&api, &own_id).await {
                            Ok(bots) => Finished::Bots(Some(bots)),
                            Err(error) => {
                                tracing::info!(%error, "no list of bots");
                                Finished::Bots(None)
                            }
                        },
                    }
                });
            }
            AccountCommand::Reconcile => self.reconcile(),
            AccountCommand::Quiesce => {
                let tournaments = self.config.tournaments.clone();
                if self.tournaments_entered && !tournaments.is_empty() {
                    self.spawn(async move {
                        Finished::Plain(lobby::withdraw_tournaments(&api, &tournaments).await)
                    });
                }
            }
            AccountCommand::Tell { .. } | AccountCommand::Resume(_) => {
                tracing::debug!(account = %self.config.account, "this platform has no private messages and no adjournments");
            }
        }
    }

    fn create(&mut self, request: ChallengeRequest) {
        let (api, own_id) = (self.api.clone(), self.identity.id.clone());
        if self.task_count >= MAX_TASKS {
            let (_, refusal) = lobby::too_many(request.request);
            self.spawn(async move { Finished::Created(request, Creation::Refused(refusal, None)) });
            return;
        }
        let to_bot = self.known_bots.contains(&request.opponent.key());
        self.spawn(async move {
            let creation = lobby::create(&api, &own_id, &request, to_bot).await;
            Finished::Created(request, creation)
        });
    }

    fn open_game(&mut self, id: GameId, reply: oneshot::Sender<GameLink>) {
        // A second request for the same game replaces the first: the daemon has lost its link.
        if let Some(old) = self.games.remove(&id) {
            old.abort.abort();
        }
        let (link, port) = game_channel();
        let (to, inbox) = mpsc::channel(4);
        let terms = game::Terms {
            api: self.api.clone(),
            id: id.clone(),
            own_id: self.identity.id.clone(),
            background: self.background.get(&id).cloned().unwrap_or_default(),
            timing: self.config.timing,
            rng: SmallRng::seed_from_u64(self.rng.random()),
        };
        let actor = game::run(terms, port, inbox, self.from_games.clone());
        let abort = self.tasks.spawn(async move { Ended::Game(actor.await) });
        self.games.insert(id, GameHandle { to, abort });
        // If nobody waits for the answer any more, the link is dropped and the actor ends.
        drop(reply.send(link));
    }

    async fn on_trouble(&mut self, error: &PlatformError) -> Option<ClientEnd> {
        self.tell_limit(error).await;
        (error.recovery() == Recovery::StopAccount).then(|| stopped(error))
    }

    async fn tell_limit(&mut self, error: &PlatformError) {
        if let Some((scope, rest, words)) = lobby::limit_of(error) {
            self.emit(AccountEvent::Limited { scope, rest, words }, Instant::now())
                .await;
        }
    }

    async fn on_ended(
        &mut self,
        ended: Result<Ended, tokio::task::JoinError>,
    ) -> Option<ClientEnd> {
        match ended {
            Ok(Ended::Task(finished)) => {
                self.task_count = self.task_count.saturating_sub(1);
                self.on_finished(finished).await
            }
            Ok(Ended::Game(id)) => {
                // It may have been replaced meanwhile.
                if self
                    .games
                    .get(&id)
                    .is_some_and(|game| game.abort.is_finished())
                {
                    self.games.remove(&id);
                }
                None
            }
            Ok(Ended::Events) => None,
            Err(error) if error.is_cancelled() => None,
            Err(error) => {
                // A panic is a bug of ours, and it stays where it happened: one game, one request.
                tracing::error!(account = %self.config.account, %error, "a task of the account panicked");
                self.task_count = self.task_count.saturating_sub(1);
                self.games.retain(|_, game| !game.abort.is_finished());
                None
            }
        }
    }

    async fn on_finished(&mut self, finished: Finished) -> Option<ClientEnd> {
        let now = Instant::now();
        match finished {
            Finished::Lists(stream, lists) => return self.on_lists(stream, *lists).await,
            Finished::Accepted(_, Ok(())) => {}
            Finished::Accepted(id, Err(failure)) => {
                if let Some(error) = &failure.error {
                    self.tell_limit(error).await;
                    if error.recovery() == Recovery::StopAccount && error.own_status() == Some(401)
                    {
                        return Some(stopped(error));
                    }
                }
                // The first attempt may have worked without an answer.
                if self.started.get(&GameId::new(id.as_str())).is_none() {
                    let event = AccountEvent::AcceptFailed {
                        id,
                        words: failure.words,
                        our_budget: failure.our_budget,
                    };
                    self.emit(event, now).await;
                }
            }
            Finished::Created(request, creation) => self.on_created(request, creation).await,
            Finished::Bots(bots) => {
                if let Some(bots) = &bots {
                    for bot in bots {
                        self.remember_bot(&bot.name);
                    }
                    self.bots = Some((now, bots.clone()));
                }
                self.emit(AccountEvent::BotsOnline(bots), now).await;
            }
            Finished::Plain(None) => {}
            Finished::Plain(Some(error)) => {
                tracing::info!(account = %self.config.account, %error, "a request did not succeed");
                self.tell_limit(&error).await;
            }
        }
        None
    }

    async fn on_created(&mut self, request: ChallengeRequest, creation: Creation) {
        let now = Instant::now();
        let number = request.request;
        match creation {
            Creation::Done(challenge) => {
                self.hear_challenge(&challenge, now);
                self.emit(
                    AccountEvent::ChallengeCreated {
                        request: number,
                        challenge,
                    },
                    now,
                )
                .await;
            }
            Creation::Refused(refusal, error) => {
                if let Some(error) = &error {
                    self.tell_limit(error).await;
                }
                self.emit(
                    AccountEvent::ChallengeRefused {
                        request: number,
                        refusal,
                    },
                    now,
                )
                .await;
            }
            Creation::Unknown(sent) => {
                let mut echoes = self.echoes.iter().rev();
                let echo =
                    echoes.find(|(at, echo)| *at >= sent && echo.opponent.name == request.opponent);
                if let Some((_, echo)) = echo {
                    let challenge = Box::new(echo.clone());
                    self.emit(
                        AccountEvent::ChallengeCreated {
                            request: number,
                            challenge,
                        },
                        now,
                    )
                    .await;
                    return;
                }
                let (api, own_id) = (self.api.clone(), self.identity.id.clone());
                self.spawn(async move {
                    let found = lobby::look_for(&api, &own_id, &request).await;
                    let creation = match found {
                        Some(challenge) => Creation::Done(Box::new(challenge)),
                        None => Creation::Refused(ChallengeRefusal::Lost, None),
                    };
                    Finished::Created(request, creation)
                });
            }
        }
    }

    async fn on_lists(&mut self, stream: u64, lists: Lists) -> Option<ClientEnd> {
        if let Some(error) = &lists.error {
            tracing::warn!(account = %self.config.account, %error, "the reconciliation is incomplete");
            self.tell_limit(error).await;
            if error.own_status() == Some(401) {
                return Some(stopped(error));
            }
        }
        // Lists that were fetched for an earlier stream say nothing about what this one missed.
        if stream != self.stream {
            return None;
        }
        let held = match std::mem::replace(&mut self.phase, Phase::Live) {
            Phase::Reconciling(held) => {
                let name = PlayerName::new(self.identity.name.clone());
                let event = AccountEvent::Online {
                    name,
                    is_bot: self.identity.is_bot,
                };
                self.emit(event, Instant::now()).await;
                held
            }
            Phase::Live => Vec::new(),
            Phase::Offline => {
                self.phase = Phase::Offline;
                return None;
            }
        };
        self.missed = false;
        let mut snapshot = lists.snapshot;
        let mut heard = Vec::new();
        for (line, _) in &held {
            if let wire::EventLine::GameStart(info) = line {
                heard.extend(notice(info));
            }
        }
        snapshot.games = lobby::merge_games(snapshot.games, heard);
        for notice in &snapshot.games {
            self.remember_game(notice);
        }
        for challenge in snapshot.incoming.iter().chain(&snapshot.outgoing) {
            // What was heard live keeps its time.
            if self.challenges.get(&challenge.id).is_none() {
                let heard = Heard {
                    at: Instant::now(),
                    replayed: true,
                    rules: challenge.rules,
                };
                self.challenges.insert(challenge.id.clone(), heard);
            }
        }
        self.emit(AccountEvent::Reconciled(snapshot), Instant::now())
            .await;
        for (line, at) in held {
            self.on_line(line, at, true).await;
        }
        if !self.tournaments_entered && !self.config.tournaments.is_empty() {
            self.tournaments_entered = true;
            let (api, tournaments) = (self.api.clone(), self.config.tournaments.clone());
            self.spawn(async move {
                Finished::Plain(lobby::join_tournaments(&api, &tournaments).await)
            });
        }
        None
    }
}

fn stopped(error: &PlatformError) -> ClientEnd {
    ClientEnd::Stopped {
        words: error.to_string(),
    }
}
