//! The endpoints: what each is called, how important it is, what it costs, and how its answer is read.

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::translate::outgoing;
use super::{Server, wire};
use crate::game::ChatRoom;
use crate::lobby::DeclineReason;
use crate::platform::call::{Call, Lane, Repeat};
use crate::platform::error::{PlatformError, excerpt};
use crate::platform::governor::{BudgetRule, BudgetScope, GovernorConfig};
use crate::platform::http::{Answer, ByteStream, HttpClient, Outgoing};
use crate::platform::ndjson::{Frame, FrameConfig, FrameReader};

/// The platform's name for the limit on games between bots.
pub(super) const BOT_GAMES_KEY: &str = "bot.vsBot.day";
const BOT_KEYS: &[&str] = &[BOT_GAMES_KEY];
/// Opens of the event stream.
const EVENT_OPENS: &str = "event_opens";
/// Credits for creating challenges.
const CHALLENGE_CREDITS: &str = "challenge_credits";
/// Challenges created from one address.
const CHALLENGES_OF_ADDRESS: &str = "challenges_of_address";
/// Reads of our own account.
const ACCOUNT_READS: &str = "account_reads";
/// Entries into tournaments.
const TOURNAMENT_JOINS: &str = "tournament_joins";

/// Credits for challenging a bot, and anybody else.
pub(super) const CHALLENGE_COST: (u32, u32) = (1, 5);
/// Credits per minute and per day.
pub(super) const CHALLENGE_CREDIT_LIMITS: (u32, u32) = (25, 200);

pub(super) const TOKEN_TEST: Call = Call::new("token.test", Lane::StreamOpen, Repeat::Safe);
pub(super) const ACCOUNT: Call = Call::new("account", Lane::StreamOpen, Repeat::Safe);
pub(super) const UPGRADE: Call = Call::new("bot.upgrade", Lane::Profile, Repeat::Never);
pub(super) const PLAYING: Call = Call::new("account.playing", Lane::StreamOpen, Repeat::Safe);
pub(super) const EVENTS: Call = Call::new("event.stream", Lane::StreamOpen, Repeat::Safe);
pub(super) const GAME_STREAM: Call =
    Call::new("game.stream", Lane::StreamOpen, Repeat::Safe).self_paced();
pub(super) const MOVE: Call = Call::new("game.move", Lane::Move, Repeat::AfterLook);
const ABORT: Call = Call::new("game.abort", Lane::GameControl, Repeat::Safe).self_paced();
const RESIGN: Call = Call::new("game.resign", Lane::GameControl, Repeat::Safe).self_paced();
const DRAW: Call = Call::new("game.draw", Lane::GameControl, Repeat::Safe).self_paced();
const TAKEBACK: Call = Call::new("game.takeback", Lane::GameControl, Repeat::Safe).self_paced();
const CLAIM_VICTORY: Call =
    Call::new("game.claim_victory", Lane::GameControl, Repeat::Safe).self_paced();
const CLAIM_DRAW: Call = Call::new("game.claim_draw", Lane::GameControl, Repeat::Safe).self_paced();
const CHAT: Call = Call::new("game.chat", Lane::Chat, Repeat::Never);
const CHALLENGE_LIST: Call = Call::new("challenge.list", Lane::ChallengeAnswer, Repeat::Safe);
const CHALLENGE_SHOW: Call = Call::new("challenge.show", Lane::ChallengeAnswer, Repeat::Safe);
const CHALLENGE_ACCEPT: Call = Call::new("challenge.accept", Lane::ChallengeAnswer, Repeat::Safe);
const CHALLENGE_DECLINE: Call = Call::new("challenge.decline", Lane::ChallengeAnswer, Repeat::Safe);
const CHALLENGE_CANCEL: Call = Call::new("challenge.cancel", Lane::ChallengeAnswer, Repeat::Safe);
pub(super) const CHALLENGE_CREATE: Call =
    Call::new("challenge.create", Lane::ChallengeCreate, Repeat::AfterLook);
const BOTS_ONLINE: Call = Call::new("bot.online", Lane::Profile, Repeat::Safe);
const USERS_STATUS: Call = Call::new("users.status", Lane::Profile, Repeat::Safe);
const TOURNAMENT: Call = Call::new("tournament", Lane::Profile, Repeat::Safe);
const TOURNAMENT_JOIN: Call = Call::new("tournament.join", Lane::ChallengeAnswer, Repeat::Safe);
const TOURNAMENT_WITHDRAW: Call =
    Call::new("tournament.withdraw", Lane::ChallengeAnswer, Repeat::Safe);

/// The budgets of a server. A house has no limit on challenges: only what it counts as a violation is kept.
#[must_use]
pub fn governor_config(server: Server) -> GovernorConfig {
    let minute = Duration::from_secs(60);
    let day = Duration::from_secs(24 * 3600);
    let account = |name, limit, per| BudgetRule::new(name, BudgetScope::Account, limit, per);
    let mut rules = vec![
        account(EVENT_OPENS, 3, minute),
        account(EVENT_OPENS, 28, 10 * minute),
        account(ACCOUNT_READS, 28, 5 * minute),
        account(TOURNAMENT_JOINS, 28, 10 * minute),
    ];
    if server == Server::Lichess {
        rules.push(account(
            CHALLENGE_CREDITS,
            CHALLENGE_CREDIT_LIMITS.0,
            minute,
        ));
        rules.push(account(CHALLENGE_CREDITS, CHALLENGE_CREDIT_LIMITS.1, day));
        rules.push(BudgetRule::new(
            CHALLENGES_OF_ADDRESS,
            BudgetScope::Origin,
            400,
            day,
        ));
    }
    GovernorConfig {
        rules,
        ..GovernorConfig::default()
    }
}

/// The interface of one account.
#[derive(Clone, Debug)]
pub(super) struct Api {
    http: HttpClient,
}

impl Api {
    pub(super) fn new(http: HttpClient) -> Api {
        Api { http }
    }

    pub(super) fn http(&self) -> &HttpClient {
        &self.http
    }

    /// What the platform knows about a token; `None` if it does not know the token. The answer holds the token, so no
    /// part of it is ever shown.
    pub(super) async fn test_token(
        &self,
        token: &SecretString,
    ) -> Result<Option<wire::TokenInfo>, PlatformError> {
        let body = token.expose_secret().to_owned();
        let outgoing = Outgoing::post(TOKEN_TEST, &["api", "token", "test"])
            .text(body)
            .anonymous();
        let answer = self.http.send(outgoing).await?;
        let unreadable = || PlatformError::Unreadable {
            call: TOKEN_TEST,
            detail: "not a map of tokens".to_owned(),
        };
        let tokens: BTreeMap<String, Value> =
            serde_json::from_slice(&answer.body).map_err(|_| unreadable())?;
        match tokens.get(token.expose_secret()) {
            None => Err(unreadable()),
            Some(Value::Null) => Ok(None),
            Some(entry) => serde_json::from_value(entry.clone())
                .map(Some)
                .map_err(|_| unreadable()),
        }
    }

    pub(super) async fn account(&self) -> Result<wire::Account, PlatformError> {
        self.http
            .send(Outgoing::get(ACCOUNT, &["api", "account"]).charge(ACCOUNT_READS, 1))
            .await?
            .json()
    }

    /// Makes the account a bot account. This cannot be undone.
    pub(super) async fn upgrade(&self) -> Result<Answer, PlatformError> {
        self.http
            .send(Outgoing::post(
                UPGRADE,
                &["api", "bot", "account", "upgrade"],
            ))
            .await
    }

    pub(super) async fn playing(&self) -> Result<wire::Playing, PlatformError> {
        let outgoing = Outgoing::get(PLAYING, &["api", "account", "playing"]).query("nb", "50");
        self.http
            .send(outgoing.patience(Duration::from_secs(5)))
            .await?
            .json()
    }

    /// Time until the account may open an event stream again.
    pub(super) fn event_opening_in(&self) -> Duration {
        let governor = self.http.governor();
        governor.room(self.http.account(), EVENT_OPENS).free_in
    }

    /// Opens the event stream; waits until the account's allowance for opening it has room.
    pub(super) async fn open_events(
        &self,
        frames: FrameConfig,
    ) -> Result<FrameReader<ByteStream>, PlatformError> {
        let outgoing = Outgoing::get(EVENTS, &["api", "stream", "event"])
            .accept("application/x-ndjson")
            .charge(EVENT_OPENS, 1)
            // A declared limit may last for hours; the caller comes back.
            .patience(Duration::from_secs(120));
        self.http.open(outgoing, frames).await
    }

    pub(super) async fn open_game(
        &self,
        game: &str,
        frames: FrameConfig,
    ) -> Result<FrameReader<ByteStream>, PlatformError> {
        let path = ["api", "bot", "game", "stream", game];
        self.http
            .open(
                Outgoing::get(GAME_STREAM, &path).accept("application/x-ndjson"),
                frames,
            )
            .await
    }

    pub(super) async fn play(
        &self,
        game: &str,
        uci: &str,
        offer_draw: bool,
        deadline: Duration,
    ) -> Result<Answer, PlatformError> {
        let mut outgoing =
            Outgoing::post(MOVE, &["api", "bot", "game", game, "move", uci]).deadline(deadline);
        if offer_draw {
            outgoing = outgoing.query("offeringDraw", "true");
        }
        self.http.send(outgoing).await
    }

    async fn control(
        &self,
        call: Call,
        game: &str,
        command: &[&str],
    ) -> Result<Answer, PlatformError> {
        let mut path = vec!["api", "bot", "game", game];
        path.extend(command);
        self.http
            .send(Outgoing::post(call, &path).patience(Duration::from_secs(10)))
            .await
    }

    pub(super) async fn abort(&self, game: &str) -> Result<Answer, PlatformError> {
        self.control(ABORT, game, &["abort"]).await
    }

    pub(super) async fn resign(&self, game: &str) -> Result<Answer, PlatformError> {
        self.control(RESIGN, game, &["resign"]).await
    }

    pub(super) async fn draw(&self, game: &str, yes: bool) -> Result<Answer, PlatformError> {
        self.control(DRAW, game, &["draw", yes_or_no(yes)]).await
    }

    pub(super) async fn takeback(&self, game: &str, yes: bool) -> Result<Answer, PlatformError> {
        self.control(TAKEBACK, game, &["takeback", yes_or_no(yes)])
            .await
    }

    pub(super) async fn claim_victory(&self, game: &str) -> Result<Answer, PlatformError> {
        self.control(CLAIM_VICTORY, game, &["claim-victory"]).await
    }

    pub(super) async fn claim_draw(&self, game: &str) -> Result<Answer, PlatformError> {
        self.control(CLAIM_DRAW, game, &["claim-draw"]).await
    }

    pub(super) async fn chat(
        &self,
        game: &str,
        room: ChatRoom,
        line: &str,
    ) -> Result<Answer, PlatformError> {
        let outgoing = Outgoing::post(CHAT, &["api", "bot", "game", game, "chat"])
            .form("room", outgoing::room(room))
            .form("text", line)
            .deadline(Duration::from_secs(3))
            .patience(Duration::from_secs(10));
        self.http.send(outgoing).await
    }

    pub(super) async fn challenges(&self) -> Result<wire::Challenges, PlatformError> {
        let outgoing = Outgoing::get(CHALLENGE_LIST, &["api", "challenge"]);
        self.http
            .send(outgoing.patience(Duration::from_secs(5)))
            .await?
            .json()
    }

    pub(super) async fn show(&self, challenge: &str) -> Result<wire::Challenge, PlatformError> {
        let outgoing = Outgoing::get(CHALLENGE_SHOW, &["api", "challenge", challenge, "show"]);
        self.http
            .send(outgoing.patience(Duration::from_secs(5)))
            .await?
            .json()
    }

    /// `left`: the time that the challenge has to live.
    pub(super) async fn accept(
        &self,
        challenge: &str,
        left: Duration,
    ) -> Result<Answer, PlatformError> {
        let outgoing = Outgoing::post(CHALLENGE_ACCEPT, &["api", "challenge", challenge, "accept"])
            .deadline(left.min(Duration::from_secs(8)))
            .patience(left)
            .keys(BOT_KEYS);
        self.http.send(outgoing).await
    }

    pub(super) async fn decline(
        &self,
        challenge: &str,
        reason: DeclineReason,
    ) -> Result<Answer, PlatformError> {
        let outgoing = Outgoing::post(
            CHALLENGE_DECLINE,
            &["api", "challenge", challenge, "decline"],
        )
        .form("reason", outgoing::decline_reason(reason));
        self.http
            .send(outgoing.patience(Duration::from_secs(20)))
            .await
    }

    pub(super) async fn cancel(&self, challenge: &str) -> Result<Answer, PlatformError> {
        let outgoing = Outgoing::post(CHALLENGE_CANCEL, &["api", "challenge", challenge, "cancel"]);
        self.http
            .send(outgoing.patience(Duration::from_secs(20)))
            .await
    }

    /// Creates a challenge. `to_bot`: what we believe the opponent is; it decides what the challenge costs.
    pub(super) async fn create(
        &self,
        opponent: &str,
        form: Vec<(&'static str, String)>,
        to_bot: bool,
    ) -> Result<wire::Challenge, PlatformError> {
        let (to_a_bot, to_a_person) = CHALLENGE_COST;
        let cost = if to_bot { to_a_bot } else { to_a_person };
        let mut outgoing = Outgoing::post(CHALLENGE_CREATE, &["api", "challenge", opponent])
            .charge(CHALLENGE_CREDITS, cost)
            .charge(CHALLENGES_OF_ADDRESS, 1)
            .keys(if to_bot { BOT_KEYS } else { &[] })
            // A challenge that nobody waits for any more is not worth sending.
            .patience(Duration::from_secs(5));
        for (name, value) in form {
            outgoing = outgoing.form(name, value);
        }
        let value: Value = self.http.send(outgoing).await?.json()?;
        // Older servers wrap the challenge.
        let inner = value
            .get("challenge")
            .filter(|inner| inner.is_object())
            .cloned()
            .unwrap_or(value);
        serde_json::from_value(inner).map_err(|error| PlatformError::Unreadable {
            call: CHALLENGE_CREATE,
            detail: excerpt(&error.to_string()),
        })
    }

    /// The bots that are online, as the platform orders them. Unreadable lines are left out.
    pub(super) async fn bots_online(&self) -> Result<Vec<wire::Account>, PlatformError> {
        let outgoing = Outgoing::get(BOTS_ONLINE, &["api", "bot", "online"])
            .query("nb", "300")
            .accept("application/x-ndjson")
            .anonymous();
        let answer = self
            .http
            .send(outgoing.deadline(Duration::from_secs(15)))
            .await?;
        // The last line has no end.
        let frames = FrameConfig {
            keep_last: true,
            ..FrameConfig::default()
        };
        let bytes = futures_util::stream::iter([Ok::<_, String>(answer.body)]);
        let mut reader = FrameReader::new(bytes, frames);
        let mut bots = Vec::new();
        while let Ok(frame) = reader.next().await {
            if let Frame::Line(line) = frame
                && let Ok(bot) = serde_json::from_str(&line)
            {
                bots.push(bot);
            }
        }
        Ok(bots)
    }

    /// Who of at most 100 users is online or playing.
    pub(super) async fn users_status(
        &self,
        ids: &[String],
    ) -> Result<Vec<wire::UserStatus>, PlatformError> {
        let ids = ids
            .iter()
            .take(100)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(",");
        let outgoing = Outgoing::get(USERS_STATUS, &["api", "users", "status"])
            .query("ids", ids)
            .anonymous();
        let all: Vec<Value> = self.http.send(outgoing).await?.json()?;
        Ok(all
            .into_iter()
            .filter_map(|user| serde_json::from_value(user).ok())
            .collect())
    }

    pub(super) async fn tournament(&self, id: &str) -> Result<wire::Tournament, PlatformError> {
        self.http
            .send(Outgoing::get(TOURNAMENT, &["api", "tournament", id]))
            .await?
            .json()
    }

    pub(super) async fn join_tournament(
        &self,
        id: &str,
        team: Option<&str>,
    ) -> Result<Answer, PlatformError> {
        let mut outgoing = Outgoing::post(TOURNAMENT_JOIN, &["api", "tournament", id, "join"]);
        if let Some(team) = team {
            outgoing = outgoing.form("team", team);
        }
        self.http.send(outgoing.charge(TOURNAMENT_JOINS, 1)).await
    }

    pub(super) async fn withdraw_tournament(&self, id: &str) -> Result<Answer, PlatformError> {
        self.http
            .send(Outgoing::post(
                TOURNAMENT_WITHDRAW,
                &["api", "tournament", id, "withdraw"],
            ))
            .await
    }
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}
