//! `seneschal house`: a Lichess-shaped server of one's own, and its accounts.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::daemon::house_archive::StoreArchive;
use crate::house::account::{Account, AccountKind, Scopes, Token, account_id};
use crate::house::archive::{Archive, TokenRecord};
use crate::house::fault::FaultPlan;
use crate::house::limits::Limits;
use crate::house::time::Timeline;
use crate::house::{House as Server, HouseConfig};
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
    /// Start of the addresses that the house tells, as http://chess.example; from the listening address if left out
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// A file that says how the house is to misbehave
    #[arg(long, value_name = "FILE")]
    fault_plan: Option<PathBuf>,
    /// Limit challenges and bot games per day as Lichess does
    #[arg(long)]
    lichess_limits: bool,
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
            ..HouseConfig::default()
        })
        .await?;
        println!("the house is open: {}", house.base_url());
        let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot wait for SIGINT")?,
            _ = terminate.recv() => {}
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
