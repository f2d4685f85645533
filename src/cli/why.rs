//! `seneschal why`: what the lobby would say to a challenge.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};

use super::config::ConfigFlags;
use crate::daemon::Timeline;
use crate::daemon::assemble::Surroundings;
use crate::daemon::journal::Journal;
use crate::game::{GameRules, Player, PlayerKind, PlayerName, Rating, TimeControl};
use crate::lobby::admission::Verdict;
use crate::lobby::policy::{parse_clock, parse_variant};
use crate::lobby::{
    AccountName, AccountTerms, Challenge, ChallengeDirection, ChallengeId, ColorChoice, Lobby,
    LobbyCapabilities, OfferedVariant,
};
use crate::store::{Store, StoreOptions};

/// Arguments of `seneschal why`.
#[derive(Debug, Args)]
pub(super) struct Why {
    #[command(flatten)]
    flags: ConfigFlags,
    /// The account that is challenged
    #[arg(long)]
    account: String,
    /// Who challenges
    #[arg(long, default_value = "somebody")]
    opponent: String,
    /// What the challenger is
    #[arg(long, value_enum, default_value_t = Kind::Human)]
    kind: Kind,
    /// The challenger's rating
    #[arg(long)]
    rating: Option<i32>,
    /// Variant by its UCI name, 960 behind it for its Chess960 form
    #[arg(long, default_value = "crazyhouse")]
    variant: String,
    /// BANK+INCREMENT in seconds, DAYSd, or `unlimited`
    #[arg(long, default_value = "180+2")]
    clock: String,
    /// For rating
    #[arg(long)]
    rated: bool,
    /// With a custom first position
    #[arg(long)]
    fen: Option<String>,
    /// The game cannot be aborted
    #[arg(long)]
    no_abort: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Human,
    Bot,
    Guest,
}

impl Why {
    /// Asks every rule. Exit code 1: the challenge would be declined.
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let loaded = match self.flags.load_or_complain() {
            Ok(loaded) => loaded,
            Err(code) => return Ok(code),
        };
        let config = loaded.config;
        let account = AccountName::new(&self.account);
        if !config.accounts.contains_key(&self.account) {
            bail!("there is no account `{account}` in the configuration");
        }
        let terms = AccountTerms {
            name: account.clone(),
            capabilities: capabilities(),
            max_games: None,
            matchmaking: false,
        };
        let mut lobby = Lobby::new(config.lobby, config.matchmaking, vec![terms], 1);
        let path = config
            .daemon
            .state_dir(Surroundings::of_process().state_dir)
            .join("seneschal.db");
        let timeline = Timeline::start();
        if path.exists() {
            let store = Store::open(&path, &StoreOptions::default())?;
            let journal = Journal::new(store);
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .context("starting the runtime")?;
            lobby.recall(runtime.block_on(journal.recall(timeline.wall_ms())));
        }
        let challenge = self.challenge()?;
        for decision in lobby.explain(&account, &challenge, timeline.both()) {
            println!("{decision}");
        }
        Ok(match lobby.verdict(&account, &challenge, timeline.both()) {
            Verdict::Welcome => {
                println!("welcome: accepted as soon as a slot is free");
                ExitCode::SUCCESS
            }
            Verdict::Declined { rule, objection } => {
                println!("declined by {rule}: {}", objection.reason);
                ExitCode::FAILURE
            }
        })
    }

    fn challenge(&self) -> anyhow::Result<Challenge> {
        let variant = match parse_variant(&self.variant) {
            Some((variant, castling_mode)) => OfferedVariant::Known {
                variant,
                castling_mode,
            },
            None => OfferedVariant::Unknown(self.variant.clone()),
        };
        let kind = match self.kind {
            Kind::Human => PlayerKind::Human,
            Kind::Bot => PlayerKind::Bot,
            Kind::Guest => PlayerKind::Guest,
        };
        Ok(Challenge {
            id: ChallengeId::new("why"),
            direction: ChallengeDirection::Incoming,
            opponent: Player {
                name: PlayerName::new(&self.opponent),
                kind,
                rating: self.rating.map(|points| Rating {
                    points,
                    provisional: false,
                }),
            },
            variant,
            initial_fen: self.fen.clone(),
            time_control: time_control(&self.clock)?,
            opponent_time_control: None,
            rated: self.rated,
            color: ColorChoice::Random,
            rules: GameRules {
                no_abort: self.no_abort,
                ..GameRules::default()
            },
            rematch_of: None,
            resumes_adjourned: false,
            playable: true,
            replayed: false,
        })
    }
}

fn time_control(text: &str) -> anyhow::Result<TimeControl> {
    if text == "unlimited" {
        return Ok(TimeControl::Unlimited);
    }
    if let Some(days) = text.strip_suffix('d') {
        let days_per_turn = days.parse().context("days")?;
        return Ok(TimeControl::Correspondence { days_per_turn });
    }
    parse_clock(text)
        .with_context(|| format!("`{text}` is no clock: BANK+INCREMENT, DAYSd or unlimited"))
}

/// What matters to the rules: the daily limit of the strictest platform.
fn capabilities() -> LobbyCapabilities {
    LobbyCapabilities {
        create_challenges: false,
        list_bots: false,
        seeks: false,
        rated_games: true,
        challenge_lifetime: Duration::from_secs(20),
        tells_withdrawals: true,
        lists_running_games: true,
        variants: Vec::new(),
        bot_games_per_day: Some(100),
        challenges_per_minute: None,
        challenges_per_day: None,
        challenge_cost: (1, 5),
    }
}
