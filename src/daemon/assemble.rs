//! From a configuration to a daemon that can be run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use rand::TryRngCore;
use rand::rngs::OsRng;
use secrecy::SecretString;

use crate::config::accounts::{LichessSection, PychessSection};
use crate::config::secrets::{self, SecretSource};
use crate::config::{AccountConfig, Config, EngineSection, PlatformConfig};
use crate::engine::book::Books;
use crate::engine::network::Networks;
use crate::engine::{EngineConfig, Pool, PoolConfig, searcher_factory};
use crate::game::{GamePolicy, PlayerName};
use crate::lobby::AccountName;
use crate::observability::HiddenWords;
use crate::platform::fics::{self, FicsConfig, FicsShared};
use crate::platform::lichess::{self, LichessConfig, Server};
use crate::platform::pychess::{self, PychessConfig};
use crate::platform::{AccountLink, Capabilities};
use crate::store::{Store, StoreOptions};

use super::origins::Origins;
use super::stats::Stats;
use super::supervise::{AccountSetup, ClientFuture, Daemon};
use super::tapes::TapeDesk;

/// The engine's name for chat and PGN.
pub const ENGINE_NAME: &str = concat!("Seneschal ", env!("CARGO_PKG_VERSION"));

/// What is taken from the process's surroundings, so that tests can bring their own.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// `$STATE_DIRECTORY`.
    pub state_dir: Option<PathBuf>,
    /// `$CREDENTIALS_DIRECTORY`.
    pub credentials_dir: Option<PathBuf>,
    /// Where the secrets of the accounts are noted, for the log to leave them out.
    pub hidden: HiddenWords,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Self {
        let path = |name: &str| std::env::var_os(name).map(PathBuf::from);
        Self {
            state_dir: path("STATE_DIRECTORY"),
            credentials_dir: path("CREDENTIALS_DIRECTORY"),
            hidden: HiddenWords::default(),
        }
    }
}

/// Builds the daemon: opens the store, starts the pool, prepares the clients. Nothing is sent yet.
///
/// # Errors
/// What is missing or cannot be opened, with its name.
pub async fn assemble(config: &Config, surroundings: &Surroundings) -> anyhow::Result<Daemon> {
    let state_dir = config.daemon.state_dir(surroundings.state_dir.clone());
    make_state_dir(&state_dir)?;
    let path = state_dir.join("seneschal.db");
    let store = Store::open(&path, &StoreOptions::default())
        .with_context(|| format!("opening the database {}", path.display()))?;
    let tapes = match config.daemon.tapes {
        true => {
            let dir = state_dir.join("tapes");
            let desk = TapeDesk::open(&dir, config.daemon.max_tapes)
                .with_context(|| format!("opening the directory of tapes {}", dir.display()))?;
            Some((desk, dir))
        }
        false => None,
    };
    let seed = match config.daemon.seed {
        0 => OsRng
            .try_next_u64()
            .context("reading the system's randomness")?,
        seed => seed,
    };
    let mut origins = Origins::new(store.clone());
    let mut accounts = Vec::new();
    for (name, account) in config.accounts.iter().filter(|(_, a)| a.common.enabled) {
        let secret = match account.platform.needs_secret() {
            true => Some(secret_of(name, account, surroundings)?),
            false => None,
        };
        let setup = set_up(name, account, secret, &mut origins, seed)
            .await
            .with_context(|| format!("setting up account `{name}`"))?;
        accounts.push(setup);
    }
    if accounts.is_empty() {
        bail!("no account is enabled; see the section [accounts.NAME] of the configuration");
    }
    Ok(Daemon {
        accounts,
        game: config.game.clone(),
        lobby: config.lobby.clone(),
        matchmaking: config.matchmaking.clone(),
        pool: Arc::new(pool(&config.engine, &config.game)?),
        engine: ENGINE_NAME.to_owned(),
        store,
        tapes,
        stats: Stats::default(),
        seed,
        drain_timeout: config.daemon.drain_timeout,
        reconcile: config.daemon.reconcile,
        companions: origins.keepers(),
    })
}

/// Starts the search threads.
///
/// # Errors
/// If a network or book is refused, or the system gives no thread.
pub fn pool(engine: &EngineSection, game: &GamePolicy) -> anyhow::Result<Pool> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let time = &game.time;
    let longest = time
        .max_move
        .max(time.no_clock_move)
        .max(time.correspondence_move)
        .max(time.first_move);
    let config = PoolConfig {
        threads: engine.threads(processors),
        queue_limit: engine.queue as usize,
        slice: engine.slice,
        max_think: longest,
        ..PoolConfig::default()
    };
    let searcher = EngineConfig {
        networks: Networks::parse(&engine.eval_file)
            .with_context(|| format!("engine.eval_file = {:?}", engine.eval_file))?,
        books: Books::parse(&engine.book_file)
            .with_context(|| format!("engine.book_file = {:?}", engine.book_file))?,
        hash_bytes: (engine.hash_mib as usize) << 20,
        threads: 1,
    };
    Pool::new(config, searcher_factory(searcher)).context("starting the search threads")
}

/// The directory is the daemon's own: tapes and database are nobody else's business.
fn make_state_dir(path: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(path)
        .with_context(|| format!("making the state directory {}", path.display()))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let private = std::fs::Permissions::from_mode(0o700);
        // A directory that the service manager gave may not be ours to change; it is private already.
        if let Err(error) = std::fs::set_permissions(path, private) {
            tracing::debug!(%error, path = %path.display(), "the state directory keeps its mode");
        }
    }
    Ok(())
}

fn secret_of(
    name: &str,
    account: &AccountConfig,
    surroundings: &Surroundings,
) -> anyhow::Result<SecretString> {
    let source = SecretSource {
        account: name,
        file: account.common.token_file.as_deref(),
        credential: account.common.credential.as_deref(),
        credentials_dir: surroundings.credentials_dir.as_deref(),
    };
    let secret = secrets::find(&source, |variable| std::env::var(variable).ok())?;
    surroundings.hidden.add(&secret);
    Ok(secret)
}

async fn set_up(
    name: &str,
    account: &AccountConfig,
    secret: Option<SecretString>,
    origins: &mut Origins,
    seed: u64,
) -> anyhow::Result<AccountSetup> {
    let seed = seed ^ fingerprint(name);
    let token = || secret.clone().context("the account has no token");
    let (capabilities, link, client, owners) = match &account.platform {
        PlatformConfig::Lichess(own) => {
            lichess_client(name, own, Server::Lichess, token()?, origins, seed).await?
        }
        PlatformConfig::House(own) => {
            lichess_client(name, own, Server::House, token()?, origins, seed).await?
        }
        PlatformConfig::Pychess(own) => pychess_client(name, own, token()?, origins, seed).await?,
        PlatformConfig::Fics(own) => fics_client(own, secret.clone(), seed),
    };
    Ok(AccountSetup {
        name: AccountName::new(name),
        platform: account.platform.word(),
        capabilities,
        max_games: Some(account.common.max_games).filter(|&bound| bound > 0),
        matchmaking: account.common.matchmaking,
        owners,
        link,
        client,
    })
}

/// What every platform's client comes to.
type Client = (Capabilities, AccountLink, ClientFuture, Vec<PlayerName>);

async fn lichess_client(
    name: &str,
    own: &LichessSection,
    server: Server,
    token: SecretString,
    origins: &mut Origins,
    seed: u64,
) -> anyhow::Result<Client> {
    let origin = origins
        .get(&own.base_url, lichess::governor_config(server))
        .await?;
    let tournament = |id: &String| lichess::Tournament {
        id: id.clone(),
        team: None,
    };
    let client = LichessConfig {
        server,
        expected_user: Some(own.user.clone()).filter(|user| !user.is_empty()),
        upgrade_to_bot: own.upgrade_to_bot,
        tournaments: own.tournaments.iter().map(tournament).collect(),
        ..LichessConfig::new(name, token)
    };
    let capabilities = lichess::capabilities(&client);
    let (link, future) = lichess::connect(client, lichess::Shared { origin, seed });
    Ok((capabilities, link, Box::pin(future), Vec::new()))
}

async fn pychess_client(
    name: &str,
    own: &PychessSection,
    token: SecretString,
    origins: &mut Origins,
    seed: u64,
) -> anyhow::Result<Client> {
    let origin = origins
        .get(&own.base_url, pychess::governor_config())
        .await?;
    let mut client = PychessConfig::new(name, token);
    if !own.variants.is_empty() {
        let known = own.variants.iter();
        client.variants = known
            .filter_map(|name| pychess::variant_named(name))
            .collect();
    }
    let capabilities = pychess::capabilities(&client);
    let (link, future) = pychess::connect(client, pychess::Shared { origin, seed });
    Ok((capabilities, link, Box::pin(future), Vec::new()))
}

fn fics_client(own: &FicsConfig, password: Option<SecretString>, seed: u64) -> Client {
    let capabilities = fics::capabilities(own);
    let owners = own.owners.iter().map(PlayerName::new).collect();
    let shared = FicsShared { password, seed };
    let (link, future) = fics::connect(own.clone(), shared);
    (capabilities, link, Box::pin(future), owners)
}

/// Accounts shall not draw the same numbers.
fn fingerprint(name: &str) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, fold)
}
