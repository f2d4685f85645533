//! `seneschal house`: a Lichess-shaped server of one's own, and its accounts.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::config::EngineSection;
use crate::daemon::assemble::{ENGINE_NAME, pool};
use crate::daemon::house_analyst::PoolAnalyst;
use crate::daemon::house_archive::StoreArchive;
use crate::game::{GamePolicy, TimeControl};
use crate::house::account::{Account, AccountKind, Scopes, Token, account_id};
use crate::house::analysis::Analyst;
use crate::house::archive::{Archive, TokenRecord};
use crate::house::challenge::Terms;
use crate::house::fault::FaultPlan;
use crate::house::league::LeaguePlan;
use crate::house::limits::Limits;
use crate::house::load::{self, LoadPlan};
use crate::house::time::Timeline;
use crate::house::variant::HouseVariant;
use crate::house::{House as Server, HouseConfig, HouseHandle};
use crate::store::{Durability, Store, StoreOptions};

/// Arguments of `seneschal house`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct House {
    #[command(subcommand)]
    command: Option<HouseCommand>,
    /// Where to listen; port 0 takes any free port
    #[arg(long, default_value = "127.0.0.1:8080", env = "SENESCHAL_HOUSE_LISTEN")]
    listen: SocketAddr,
    /// Listen where other machines can reach the house: anybody who does may watch all games and read all profiles
    #[arg(long)]
    open: bool,
    /// A name under which the house answers, besides addresses and localhost (may be repeated)
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Start of the addresses that the house tells, as `http://chess.example`; from the listening address if left out
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// A file that says how the house is to misbehave
    #[arg(long, value_name = "FILE")]
    fault_plan: Option<PathBuf>,
    /// Threads that analyse finished games when somebody asks for it; 0: no analysis
    #[arg(long, value_name = "THREADS", default_value_t = 1)]
    analysis_threads: u32,
    /// Play a league of this name: everybody meets everybody. One that was begun before goes on
    #[arg(long, value_name = "NAME")]
    league: Option<String>,
    /// Who plays in it, separated by commas; every bot with an account if left out
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "league")]
    league_players: Vec<String>,
    /// Its variant
    #[arg(
        long,
        value_name = "VARIANT",
        default_value = "crazyhouse",
        requires = "league"
    )]
    league_variant: String,
    /// Its clock: minutes and seconds per move, as 3+2
    #[arg(long, value_name = "CLOCK", default_value = "3+2", requires = "league")]
    league_clock: String,
    /// How often everybody meets everybody
    #[arg(long, value_name = "N", default_value_t = 2, requires = "league")]
    league_rounds: usize,
    /// Its games at the same time, at most
    #[arg(long, value_name = "N", default_value_t = 4, requires = "league")]
    league_at_once: usize,
    /// Its games are not rated
    #[arg(long, requires = "league")]
    league_casual: bool,
    /// Limit challenges and bot games per day as Lichess does
    #[arg(long)]
    lichess_limits: bool,
    /// Let this many opponents challenge every bot that is online, and measure how fast it answers
    #[arg(long, value_name = "GAMES")]
    load: Option<usize>,
    /// Seconds that the opponents play before the house closes with its report
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "load")]
    load_for: u64,
    /// What they ask for in turn, by the house's keys
    #[arg(
        long,
        value_name = "VARIANTS",
        value_delimiter = ',',
        default_value = "crazyhouse,capablanca",
        requires = "load"
    )]
    load_variants: Vec<String>,
    /// Milliseconds that they think about a move on average; 0: the bot's throughput is measured
    #[arg(long, value_name = "MS", default_value_t = 0, requires = "load")]
    load_pause: u64,
    #[command(flatten)]
    data: DataDirectory,
}

#[derive(Debug, clap::Subcommand)]
enum HouseCommand {
    /// Accounts of the house
    #[command(subcommand)]
    Account(AccountCommand),
}

/// Where the house keeps its database.
#[derive(Debug, clap::Args)]
struct DataDirectory {
    /// Directory of the house's database; it is made if it is not there
    #[arg(
        long = "data",
        value_name = "DIR",
        default_value = "house-data",
        env = "SENESCHAL_HOUSE_DATA"
    )]
    path: PathBuf,
}

#[derive(Debug, clap::Subcommand)]
enum AccountCommand {
    /// Make an account and print its token, once
    Add {
        /// Name: 2 to 30 letters, digits, _ or -
        name: String,
        /// The account is a program
        #[arg(long)]
        bot: bool,
        #[command(flatten)]
        data: DataDirectory,
    },
    /// Print another token for an account
    Token {
        /// Name of the account
        name: String,
        #[command(flatten)]
        data: DataDirectory,
    },
    /// Take all tokens away from an account
    Revoke {
        /// Name of the account
        name: String,
        #[command(flatten)]
        data: DataDirectory,
    },
    /// List the accounts
    List {
        #[command(flatten)]
        data: DataDirectory,
    },
}

fn open_store(directory: &Path) -> anyhow::Result<Store> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the directory {}", directory.display()))?;
    let options = StoreOptions {
        // A house's games are worth a flush per game, not per move.
        durability: Durability::Process,
        ..StoreOptions::default()
    };
    Ok(Store::open(&directory.join("house.db"), &options)?)
}

fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(future)
}

impl House {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Some(HouseCommand::Account(command)) => block_on(command.run()),
            None => block_on(self.serve()),
        }
    }

    /// The league that the arguments ask for.
    fn league_plan(&self) -> anyhow::Result<Option<LeaguePlan>> {
        let Some(name) = &self.league else {
            return Ok(None);
        };
        let key = &self.league_variant;
        let variant = HouseVariant::from_key(key)
            .filter(|variant| *variant != HouseVariant::FROM_POSITION)
            .with_context(|| format!("--league-variant: there is no variant `{key}`"))?;
        Ok(Some(LeaguePlan {
            name: name.clone(),
            players: self.league_players.clone(),
            terms: Terms {
                variant,
                rated: !self.league_casual,
                time: league_clock(&self.league_clock)?,
                color: None,
                fen: None,
                special: BTreeSet::new(),
            },
            times: self.league_rounds,
            at_once: self.league_at_once,
        }))
    }

    async fn serve(self) -> anyhow::Result<ExitCode> {
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .init();
        let faults = match &self.fault_plan {
            None => FaultPlan::default(),
            Some(file) => {
                let text = std::fs::read_to_string(file)
                    .with_context(|| format!("cannot read {}", file.display()))?;
                FaultPlan::parse(&text).with_context(|| file.display().to_string())?
            }
        };
        let league = self.league_plan()?;
        let terms = self.load_variants.iter().map(|key| load_terms(key));
        let terms = terms.collect::<anyhow::Result<Vec<Terms>>>()?;
        let store = open_store(&self.data.path)?;
        let limits = if self.lichess_limits {
            Limits::lichess()
        } else {
            Limits::house()
        };
        let house = Server::start(HouseConfig {
            listen: self.listen,
            open_to_network: self.open,
            hosts: self.hosts,
            base_url: self.base_url,
            archive: Arc::new(StoreArchive::new(store)),
            faults,
            limits,
            analyst: analyst(self.analysis_threads)?,
            league,
            ..HouseConfig::default()
        })
        .await?;
        println!("the house is open: {}", house.base_url());
        let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
        let load = async {
            match self.load {
                Some(games) => {
                    let pause = Duration::from_millis(self.load_pause);
                    let time = Duration::from_secs(self.load_for);
                    run_load(&house, games, terms, pause, time).await
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot wait for SIGINT")?,
            _ = terminate.recv() => {}
            loaded = load => loaded?,
        }
        let (finished, violations) = (house.finished(), house.violations());
        house.shutdown().await;
        let by_variant: Vec<String> = finished
            .by_variant
            .iter()
            .map(|(variant, n)| format!("{n} {variant}"))
            .collect();
        println!(
            "{} games finished: {}; {} violations",
            finished.total(),
            by_variant.join(", "),
            violations.total()
        );
        for (kind, count) in violations.counts() {
            println!("  {count} {kind:?}");
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// `3+2`: three minutes, two seconds per move. Minutes may be halves or quarters.
fn league_clock(text: &str) -> anyhow::Result<TimeControl> {
    let wrong =
        || format!("--league-clock `{text}`: expected minutes and seconds, as 3+2 or 0.5+1");
    let (minutes, increment) = text.split_once('+').with_context(wrong)?;
    let minutes: f64 = minutes.parse().with_context(wrong)?;
    let increment: u64 = increment.parse().with_context(wrong)?;
    let seconds = minutes * 60.0;
    let whole = seconds.fract() == 0.0 && (0.0..=10_800.0).contains(&seconds);
    anyhow::ensure!(whole && increment <= 60, wrong());
    anyhow::ensure!(
        seconds > 0.0 || increment > 0,
        "--league-clock `{text}`: nobody would have any time"
    );
    Ok(TimeControl::clock(seconds as u64, increment))
}

/// Memory of the analyst's transposition table, in MiB.
const ANALYSIS_HASH_MIB: u32 = 32;

/// The embedded engine as analyst of the house.
fn analyst(threads: u32) -> anyhow::Result<Option<Arc<dyn Analyst>>> {
    if threads == 0 {
        return Ok(None);
    }
    let engine = EngineSection {
        threads,
        hash_mib: ANALYSIS_HASH_MIB,
        ..EngineSection::default()
    };
    let problems = engine.problems();
    anyhow::ensure!(
        problems.is_empty(),
        "--analysis-threads {threads}: at most 256 threads can be had"
    );
    let pool = pool(&engine, &GamePolicy::default())?;
    Ok(Some(Arc::new(PoolAnalyst::new(
        Arc::new(pool),
        ENGINE_NAME,
    ))))
}

/// Plays `games` games at a time against the bots that are online, and prints how fast they answered.
async fn run_load(
    house: &HouseHandle,
    games: usize,
    terms: Vec<Terms>,
    pause: Duration,
    time: Duration,
) -> anyhow::Result<()> {
    let targets = loop {
        let online = house.hall().online_bots();
        if !online.is_empty() {
            break online
                .into_iter()
                .map(|(account, _)| account.id())
                .collect::<Vec<_>>();
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    println!("{games} opponents challenge {}", targets.join(", "));
    let plan = LoadPlan {
        games,
        targets: targets.clone(),
        terms,
        pause,
        seed: 1,
    };
    let stop = CancellationToken::new();
    let timer = async {
        tokio::time::sleep(time).await;
        stop.cancel();
    };
    let (ran, ()) = tokio::join!(load::run(house, &plan, &stop), timer);
    ran?;
    for target in targets {
        match house.hall().answer_times(&target) {
            Some(times) => println!(
                "{target}: {} moves; answer p50 {} us, p90 {} us, p99 {} us, max {} us",
                times.count, times.p50_us, times.p90_us, times.p99_us, times.max_us
            ),
            None => println!("{target}: no answer"),
        }
    }
    Ok(())
}

fn load_terms(key: &str) -> anyhow::Result<Terms> {
    let known = HouseVariant::all().filter(|v| *v != HouseVariant::FROM_POSITION);
    let known: Vec<&str> = known.map(HouseVariant::key).collect();
    let variant = HouseVariant::from_key(key).filter(|v| known.contains(&v.key()));
    let variant = variant.with_context(|| {
        let known = known.join(", ");
        format!("--load-variants: a house has no variant `{key}`; it has {known}")
    })?;
    Ok(Terms {
        variant,
        rated: false,
        time: TimeControl::clock(300, 3),
        color: None,
        fen: None,
        special: BTreeSet::new(),
    })
}

impl AccountCommand {
    async fn run(self) -> anyhow::Result<ExitCode> {
        let now_ms = Timeline::start().now_ms();
        match self {
            AccountCommand::Add { name, bot, data } => {
                let archive = StoreArchive::new(open_store(&data.path)?);
                let kind = if bot {
                    AccountKind::Bot
                } else {
                    AccountKind::Human
                };
                let mut account = Account::new(&name, kind, now_ms)?;
                let taken = archive.accounts().await?;
                anyhow::ensure!(
                    taken.iter().all(|known| known.id() != account.id()),
                    "the name `{name}` is taken"
                );
                if bot {
                    account.bio = "A program that plays in this house.".to_owned();
                }
                archive.save_account(account).await?;
                print_token(&archive, &name, now_ms).await?;
            }
            AccountCommand::Token { name, data } => {
                let archive = StoreArchive::new(open_store(&data.path)?);
                let known = archive.accounts().await?;
                anyhow::ensure!(
                    known
                        .iter()
                        .any(|account| account.id() == account_id(&name)),
                    "there is no account `{name}`"
                );
                print_token(&archive, &name, now_ms).await?;
            }
            AccountCommand::Revoke { name, data } => {
                let store = open_store(&data.path)?;
                let revoked = store.revoke_house_tokens(&account_id(&name)).await?;
                println!("{revoked} tokens of {name} revoked");
            }
            AccountCommand::List { data } => {
                let archive = StoreArchive::new(open_store(&data.path)?);
                for account in archive.accounts().await? {
                    let kind = match account.kind {
                        AccountKind::Bot => "bot",
                        AccountKind::Human => "human",
                        AccountKind::Guest => "guest",
                    };
                    println!("{} ({kind}), {} games", account.name, account.counts.all);
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Makes a token and prints it: the only time that it is seen.
async fn print_token(archive: &StoreArchive, name: &str, now_ms: i64) -> anyhow::Result<()> {
    use rand::SeedableRng;
    let token = Token::draw(&mut rand::rngs::StdRng::from_os_rng());
    let record = TokenRecord {
        hash: token.hash(),
        account: account_id(name),
        scopes: Scopes::bot(),
    };
    archive.save_token(record, now_ms).await?;
    println!("{}", token.reveal());
    Ok(())
}
