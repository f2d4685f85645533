//! Starting, running and stopping a house.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::account::{AccountError, AccountKind, Scopes, Token};
use super::analysis::{self, Analyst, Desk};
use super::api::{App, router};
use super::archive::{Archive, ArchiveError, GameQuery, MemoryArchive};
use super::conn::{Connections, Gate, HouseListener, Peer};
use super::fault::{FaultEngine, FaultPlan, FaultPlanError, Loss};
use super::hall::{FinishedGames, Hall, HallSettings};
use super::league::{self, League, LeagueError, LeaguePlan, Player};
use super::limits::Limits;
use super::time::Timeline;
use super::violation::Violations;
use super::web;

/// Settings of a house.
#[derive(Debug, Clone)]
pub struct HouseConfig {
    /// Where it listens; port 0 lets the operating system choose.
    pub listen: SocketAddr,
    /// Whether an address that others can reach is meant. Anybody who reaches the house
    /// may then watch and open guest games; accounts stay behind their tokens.
    pub open_to_network: bool,
    /// Names under which the house answers, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Start of the addresses in answers; from the listening address if absent.
    pub base_url: Option<String>,
    /// Where accounts and games are kept.
    pub archive: Arc<dyn Archive>,
    /// What goes wrong on purpose.
    pub faults: FaultPlan,
    /// How much accounts may ask for.
    pub limits: Limits,
    /// Pause after which an idle stream sends an empty line.
    pub keep_alive: Duration,
    /// How often clocks are looked at.
    pub tick: Duration,
    /// Absence after which a fast game may be claimed.
    pub gone_after: Duration,
    /// What a refused claim costs in time.
    pub claim_delay: Duration,
    /// Connections at a time.
    pub max_connections: usize,
    /// Games that an account may have at a time.
    pub max_playing: usize,
    /// Judges finished games for the page; without one, games have no values.
    pub analyst: Option<Arc<dyn Analyst>>,
    /// A league to be played.
    pub league: Option<LeaguePlan>,
    /// Seed of ids, colours and shuffled starts; from the operating system if absent.
    pub seed: Option<u64>,
}

impl Default for HouseConfig {
    fn default() -> Self {
        HouseConfig {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            open_to_network: false,
            hosts: Vec::new(),
            base_url: None,
            archive: Arc::new(MemoryArchive::default()),
            faults: FaultPlan::default(),
            limits: Limits::house(),
            keep_alive: Duration::from_secs(6),
            tick: Duration::from_millis(50),
            gone_after: Duration::from_secs(40),
            claim_delay: Duration::from_millis(500),
            max_connections: 2_048,
            max_playing: 200,
            analyst: None,
            league: None,
            seed: None,
        }
    }
}

/// Why a house could not be started or changed.
#[derive(Debug, thiserror::Error)]
pub enum HouseError {
    /// The address is not this machine's alone, and nobody said that this is meant.
    #[error(
        "{0} can be reached from other machines; set `open_to_network` (--open) if that is meant"
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The fault plan cannot be carried out.
    #[error(transparent)]
    Faults(#[from] FaultPlanError),
    /// Accounts and games cannot be read or written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The league cannot be.
    #[error(transparent)]
    League(#[from] LeagueError),
    /// The account cannot be had.
    #[error(transparent)]
    Account(#[from] AccountError),
}

/// Starts houses.
#[derive(Debug)]
pub struct House;

/// A running house. Dropping it stops it without ceremony; [`HouseHandle::shutdown`] does it in order.
#[derive(Debug)]
pub struct HouseHandle {
    address: SocketAddr,
    app: Arc<App>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl House {
    /// Starts a house with what its archive holds: accounts, tokens, running games.
    ///
    /// # Errors
    /// [`HouseError`]; nothing is left running.
    pub async fn start(config: HouseConfig) -> Result<HouseHandle, HouseError> {
        config.faults.check()?;
        if !config.listen.ip().is_loopback() && !config.open_to_network {
            return Err(HouseError::NotLoopback(config.listen));
        }
        let listening = |source| HouseError::Listen {
            address: config.listen,
            source,
        };
        let listener = TcpListener::bind(config.listen).await.map_err(listening)?;
        let address = listener.local_addr().map_err(listening)?;
        let base_url = config
            .base_url
            .clone()
            .unwrap_or_else(|| format!("http://{address}"));
        let timeline = Timeline::start();
        let settings = HallSettings {
            limits: config.limits.clone(),
            gone_after_ms: config.gone_after.as_millis() as i64,
            max_playing: config.max_playing,
            seed: config.seed,
            base_url: base_url.clone(),
        };
        let hall = Arc::new(Hall::new(settings, timeline));
        fill(&hall, &*config.archive).await?;
        let league = config.league.map(|plan| open_league(&hall, plan));
        let league = league.transpose()?.map(Arc::new);

        let connections = Connections::default();
        let gate = Gate::default();
        let listener = HouseListener::new(
            listener,
            config.max_connections,
            connections.clone(),
            gate.clone(),
            timeline,
        );
        let (restart, restarts) = mpsc::channel(1);
        let (desk, games_to_analyse) = Desk::new(config.analyst);
        let app = Arc::new(App {
            hall,
            faults: FaultEngine::new(config.faults),
            archive: config.archive,
            connections,
            keep_alive: config.keep_alive,
            claim_delay: config.claim_delay,
            base_url,
            hosts: config.hosts,
            restart,
            page: web::Page::default(),
            desk,
            league,
        });
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, Arc::clone(&app), stop.clone()));
        tasks.spawn(tick(Arc::clone(&app), config.tick, stop.clone()));
        tasks.spawn(keep(Arc::clone(&app), stop.clone()));
        tasks.spawn(watch_archive(Arc::clone(&app), stop.clone()));
        tasks.spawn(restart_on_demand(
            Arc::clone(&app),
            gate,
            restarts,
            stop.clone(),
        ));
        tasks.spawn(league::run(Arc::clone(&app), stop.clone()));
        tasks.spawn(analysis::run(
            Arc::clone(&app),
            games_to_analyse,
            stop.clone(),
        ));
        tasks.spawn(web::live::run(Arc::clone(&app), stop.clone()));
        tracing::info!(%address, "the house is open");
        Ok(HouseHandle {
            address,
            app,
            stop,
            tasks,
        })
    }
}

impl HouseHandle {
    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// Start of its addresses, without a slash at the end.
    pub fn base_url(&self) -> &str {
        &self.app.base_url
    }

    /// Makes an account and a token for it.
    ///
    /// # Errors
    /// [`HouseError::Account`] if the name is taken, [`HouseError::Archive`] if it cannot be kept.
    pub async fn register(
        &self,
        name: &str,
        kind: AccountKind,
        scopes: Scopes,
    ) -> Result<Token, HouseError> {
        let account = self.app.hall.create_account(name, kind)?;
        self.app.archive.save_account(account).await?;
        self.issue_token(name, scopes).await
    }

    /// Makes another token for an account.
    ///
    /// # Errors
    /// As [`HouseHandle::register`].
    pub async fn issue_token(&self, name: &str, scopes: Scopes) -> Result<Token, HouseError> {
        let (token, record) = self.app.hall.create_token(name, scopes)?;
        let now_ms = self.app.hall.timeline.now_ms();
        self.app.archive.save_token(record, now_ms).await?;
        Ok(token)
    }

    /// Lets the opponents of an account take moves back, or not.
    ///
    /// # Errors
    /// [`HouseError::Account`] if there is no such account.
    pub fn allow_takebacks(&self, name: &str, allowed: bool) -> Result<(), HouseError> {
        let change = |account: &mut super::account::Account| account.takebacks = allowed;
        Ok(self.app.hall.change_account(name, change)?)
    }

    /// What clients did wrong so far.
    pub fn violations(&self) -> Violations {
        self.app.hall.violations()
    }

    /// Games that finished so far.
    pub fn finished(&self) -> FinishedGames {
        self.app.hall.finished()
    }

    /// Ids of running games, newest first.
    pub fn running(&self) -> Vec<String> {
        self.app.hall.running()
    }

    /// The hall itself, for tests that look closely.
    pub fn hall(&self) -> &Arc<Hall> {
        &self.app.hall
    }

    /// Replaces the fault plan; counting starts again.
    ///
    /// # Errors
    /// [`HouseError::Faults`] if it cannot be carried out.
    pub fn set_faults(&self, plan: FaultPlan) -> Result<(), HouseError> {
        plan.check()?;
        self.app.faults.replace(plan);
        Ok(())
    }

    /// How often each fault of the plan has struck.
    pub fn faults_struck(&self) -> Vec<u32> {
        self.app.faults.struck()
    }

    /// Loses the connections of an account's open streams; how many there were.
    pub fn cut_streams(&self, account: &str, events: bool, games: bool, how: Loss) -> usize {
        let controls = self.app.hall.stream_controls(account, events, games);
        for control in &controls {
            control.lose(how);
        }
        controls.len()
    }

    /// Ends streams in good order: one account's, or all.
    pub fn end_streams(&self, account: Option<&str>) {
        self.app.hall.end_streams(account);
    }

    /// Restarts the house in place: all connections are reset, nobody is at home for
    /// `down`, then games come back from the archive.
    pub async fn restart(&self, down: Duration) {
        if self.app.restart.send(down).await.is_err() {
            tracing::debug!("the house is closing and will not restart");
        }
    }

    /// Number of open connections.
    pub fn connections(&self) -> usize {
        self.app.connections.count()
    }

    /// Stops in order: streams end, requests are answered, games are written.
    pub async fn shutdown(mut self) {
        self.app.hall.close();
        self.stop.cancel();
        let join_all = async {
            while let Some(joined) = self.tasks.join_next().await {
                report_panic(joined);
            }
        };
        if tokio::time::timeout(Duration::from_secs(2), join_all)
            .await
            .is_err()
        {
            // What is left are connections that nobody reads.
            self.app.connections.lose_all(Loss::Close);
            self.tasks.shutdown().await;
        }
        if let Err(error) = write_changes(&self.app).await {
            tracing::error!(%error, "the last changes are lost");
        }
        tracing::info!("the house is closed");
    }

    /// Stops as `kill -9` would: connections are reset, what is not written is lost.
    pub async fn crash(mut self) {
        self.app.connections.lose_all(Loss::Reset);
        self.tasks.shutdown().await;
    }
}

fn report_panic(joined: Result<(), tokio::task::JoinError>) {
    if let Err(error) = joined
        && error.is_panic()
    {
        tracing::error!(%error, "a part of the house panicked");
    }
}

async fn fill(hall: &Hall, archive: &dyn Archive) -> Result<(), ArchiveError> {
    let accounts = archive.accounts().await?;
    let tokens = archive.tokens().await?;
    let games = archive
        .games(GameQuery {
            running: Some(true),
            limit: u32::MAX,
            ..GameQuery::default()
        })
        .await?;
    hall.load(accounts, tokens, games);
    Ok(())
}

/// A league of the bots that have an account now, or of those that are named.
fn open_league(hall: &Hall, plan: LeaguePlan) -> Result<League, LeagueError> {
    let player = |account: &super::account::Account| Player {
        account: account.id(),
        name: account.name.clone(),
    };
    let players: Vec<Player> = if plan.players.is_empty() {
        let accounts = hall.accounts();
        accounts.iter().filter(|a| a.is_bot()).map(player).collect()
    } else {
        let named = plan.players.iter().map(|name| match hall.account(name) {
            Some((account, _)) if account.is_bot() => Ok(player(&account)),
            _ => Err(LeagueError::NoBot(name.clone())),
        });
        named.collect::<Result<_, _>>()?
    };
    League::new(plan, players)
}

async fn serve(listener: HouseListener, app: Arc<App>, stop: CancellationToken) {
    let service = router(app).into_make_service_with_connect_info::<Peer>();
    let served = axum::serve(listener, service)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await;
    if let Err(error) = served {
        tracing::error!(%error, "the house's server ended");
    }
}

async fn tick(app: Arc<App>, period: Duration, stop: CancellationToken) {
    let mut fast = tokio::time::interval(period);
    let mut slow = tokio::time::interval(Duration::from_secs(3));
    fast.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = slow.tick() => {
                app.hall.slow_tick();
                app.connections.reap(app.hall.timeline.now_ms());
            }
            _ = fast.tick() => app.hall.tick(),
        }
    }
}

/// Changes of this much time are written together.
const GATHER: Duration = Duration::from_millis(5);

/// Writes changed games until the house closes.
async fn keep(app: Arc<App>, stop: CancellationToken) {
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = app.hall.dirty.notified() => {}
        }
        tokio::time::sleep(GATHER).await;
        if let Err(error) = write_changes(&app).await {
            tracing::warn!(%error, "changes cannot be written; they are tried again");
            tokio::time::sleep(Duration::from_millis(500)).await;
            app.hall.dirty.notify_one();
        }
    }
}

/// Accounts and tokens that another process has added are taken in.
async fn watch_archive(app: Arc<App>, stop: CancellationToken) {
    let mut look = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = look.tick() => {}
        }
        let news = async {
            if !app.archive.changed_elsewhere().await? {
                return Ok(None);
            }
            let accounts = app.archive.accounts().await?;
            Ok::<_, ArchiveError>(Some((accounts, app.archive.tokens().await?)))
        };
        match news.await {
            Ok(None) => {}
            Ok(Some((accounts, tokens))) => app.hall.refresh(accounts, tokens),
            Err(error) => tracing::warn!(%error, "accounts cannot be read again"),
        }
    }
}

async fn write_changes(app: &App) -> Result<(), ArchiveError> {
    let (accounts, games) = app.hall.take_dirty();
    let write = async {
        for account in &accounts {
            app.archive.save_account(account.clone()).await?;
        }
        if !games.is_empty() {
            app.archive.save_games(games.clone()).await?;
        }
        Ok(())
    };
    let written = write.await;
    if written.is_err() {
        app.hall.still_dirty(&accounts, &games);
    }
    written
}

async fn restart_on_demand(
    app: Arc<App>,
    gate: Gate,
    mut restarts: mpsc::Receiver<Duration>,
    stop: CancellationToken,
) {
    loop {
        let down = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            down = restarts.recv() => match down {
                Some(down) => down,
                None => return,
            },
        };
        tracing::warn!(?down, "the house restarts");
        gate.shut(true);
        app.connections.lose_all(Loss::Reset);
        if let Err(error) = write_changes(&app).await {
            tracing::error!(%error, "changes are lost in the restart");
        }
        app.hall.forget_volatile();
        tokio::time::sleep(down).await;
        if let Err(error) = fill(&app.hall, &*app.archive).await {
            tracing::error!(%error, "games are lost in the restart");
        }
        gate.shut(false);
    }
}
