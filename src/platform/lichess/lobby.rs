//! What concerns challenges and lists: each command of the daemon becomes one task that ends in a [`Finished`].

use std::time::Duration;

use tokio::time::Instant;

use super::api::{Api, BOT_GAMES_KEY, CHALLENGE_CREATE};
use super::translate::{lobby, outgoing};
use super::{Timing, Tournament, wire};
use crate::game::GameId;
use crate::game::PlayerName;
use crate::lobby::{
    Challenge, ChallengeDirection, ChallengeId, ChallengeRefusal, ChallengeRequest, DeclineReason,
    OnlineBot, RequestId,
};
use crate::platform::error::{PlatformError, Recovery};
use crate::platform::{GameNotice, LimitScope, Snapshot};

/// The outcome of one task.
#[derive(Debug)]
pub(super) enum Finished {
    /// The platform's lists, fetched for the stream with this number.
    Lists(u64, Box<Lists>),
    /// An accept worked, or did not.
    Accepted(ChallengeId, Result<(), AcceptFailure>),
    /// A challenge was created, refused, or nobody knows.
    Created(ChallengeRequest, Creation),
    /// The bots online.
    Bots(Option<Vec<OnlineBot>>),
    /// Nothing to tell but the error, if any.
    Plain(Option<PlatformError>),
}

/// Why an accept did not work.
#[derive(Debug)]
pub(super) struct AcceptFailure {
    pub words: String,
    pub our_budget: Option<Duration>,
    pub error: Option<PlatformError>,
}

/// What came of creating a challenge.
#[derive(Debug)]
pub(super) enum Creation {
    Done(Box<Challenge>),
    Refused(ChallengeRefusal, Option<PlatformError>),
    /// Sent at this moment, no clear answer: the event stream may have shown it since.
    Unknown(Instant),
}

/// What the platform lists.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub snapshot: Snapshot,
    pub error: Option<PlatformError>,
}

/// Games running and challenges open. Tried a few times: until it is there nothing is accepted.
pub(super) async fn reconcile(api: &Api, own_id: &str, reads_challenges: bool) -> Lists {
    let mut lists = Lists::default();
    for attempt in 0..3_u32 {
        match api.playing().await {
            Ok(playing) => {
                lists.snapshot.games = playing
                    .now_playing
                    .iter()
                    .filter_map(super::translate::game::notice)
                    .collect();
                // The list is cut at 50 games.
                lists.snapshot.games_complete = playing.now_playing.len() < 50;
                lists.error = None;
                break;
            }
            Err(error) => {
                let retry = matches!(error.recovery(), Recovery::Retry);
                lists.error = Some(error);
                if !retry {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(300) * 2_u32.pow(attempt)).await;
            }
        }
    }
    if reads_challenges {
        match api.challenges().await {
            Ok(challenges) => {
                let read = |list: &[wire::Challenge]| -> Vec<Challenge> {
                    let open = list.iter().filter(|challenge| is_open(challenge));
                    open.filter_map(|challenge| lobby::challenge(challenge, own_id, None, true))
                        .collect()
                };
                lists.snapshot.incoming = read(&challenges.incoming);
                lists.snapshot.outgoing = read(&challenges.outgoing);
                lists.snapshot.challenges_complete = true;
            }
            // Without the permission the event stream alone tells of challenges.
            Err(error) if error.own_status() == Some(403) => {}
            Err(error) => lists.error = lists.error.or(Some(error)),
        }
    }
    lists
}

fn is_open(challenge: &wire::Challenge) -> bool {
    matches!(challenge.status.as_deref(), None | Some("created"))
}

/// Accepts a challenge. `look`: nobody knows how old it is, so its status is read first.
pub(super) async fn accept(
    api: &Api,
    id: &ChallengeId,
    look: bool,
    timing: &Timing,
) -> Result<(), AcceptFailure> {
    let deadline = Instant::now() + timing.challenge_lifetime;
    let gone = |words: String| AcceptFailure {
        words,
        our_budget: None,
        error: None,
    };
    if look {
        match api.show(id.as_str()).await {
            Ok(challenge) if !is_open(&challenge) => {
                let status = challenge.status.unwrap_or_default();
                return Err(gone(format!(
                    "the challenge is {}",
                    crate::platform::error::excerpt(&status)
                )));
            }
            Err(error) if error.own_status() == Some(404) => {
                return Err(gone("the challenge is gone".to_owned()));
            }
            // The platform may not let us look; then the answer to the accept must do.
            Ok(_) | Err(_) => {}
        }
    }
    let mut pause = Duration::from_millis(400);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let error = match api.accept(id.as_str(), left).await {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        let wait = match error.recovery() {
            Recovery::Retry => pause,
            Recovery::WaitUntil { delay, .. } => delay,
            _ => Duration::MAX,
        };
        pause *= 2;
        if wait >= deadline.saturating_duration_since(Instant::now()) {
            return Err(AcceptFailure {
                words: error.to_string(),
                our_budget: own_bot_limit(&error),
                error: Some(error),
            });
        }
        tokio::time::sleep(wait).await;
    }
}

/// The rest of our own daily limit on games against bots, if the error is about it.
fn own_bot_limit(error: &PlatformError) -> Option<Duration> {
    let refusal = error.refusal().filter(|refusal| refusal.status == 429)?;
    let limit = refusal
        .limit
        .as_ref()
        .filter(|limit| limit.key == BOT_GAMES_KEY)?;
    Some(limit.wait)
}

/// Declines a challenge; tried three times.
pub(super) async fn decline(
    api: &Api,
    id: &ChallengeId,
    reason: DeclineReason,
) -> Option<PlatformError> {
    repeat(|| api.decline(id.as_str(), reason)).await
}

/// Withdraws a challenge; tried three times.
pub(super) async fn cancel(api: &Api, id: &ChallengeId) -> Option<PlatformError> {
    repeat(|| api.cancel(id.as_str())).await
}

async fn repeat<T, F>(mut attempt: impl FnMut() -> F) -> Option<PlatformError>
where
    F: Future<Output = Result<T, PlatformError>>,
{
    let mut pause = Duration::from_millis(500);
    for left in [2, 1, 0] {
        let error = attempt().await.err()?;
        if left == 0 || error.recovery() != Recovery::Retry {
            return Some(error);
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    None
}

/// Creates a challenge. Never repeated: an unclear outcome is looked up in the platform's list.
pub(super) async fn create(
    api: &Api,
    own_id: &str,
    request: &ChallengeRequest,
    to_bot: bool,
) -> Creation {
    let form = match outgoing::challenge_form(request) {
        Ok(form) => form,
        Err(error) => {
            return Creation::Refused(
                ChallengeRefusal::BadRequest {
                    words: error.to_string(),
                },
                None,
            );
        }
    };
    let sent = Instant::now();
    match api.create(request.opponent.as_str(), form, to_bot).await {
        Ok(challenge) => match lobby::challenge(&challenge, own_id, None, false) {
            Some(challenge) => Creation::Done(Box::new(outgoing_one(challenge))),
            None => Creation::Unknown(sent),
        },
        Err(error) => match lobby::refusal(&error) {
            Some(refusal) => Creation::Refused(refusal, Some(error)),
            None => Creation::Unknown(sent),
        },
    }
}

/// Looks for a challenge of ours whose creation was not answered.
pub(super) async fn look_for(
    api: &Api,
    own_id: &str,
    request: &ChallengeRequest,
) -> Option<Challenge> {
    // A slow server may still be about to create it.
    for pause in [Duration::from_millis(500), Duration::from_secs(2)] {
        tokio::time::sleep(pause).await;
        let Ok(challenges) = api.challenges().await else {
            continue;
        };
        let open = challenges
            .outgoing
            .iter()
            .filter(|challenge| is_open(challenge));
        let mut read =
            open.filter_map(|challenge| lobby::challenge(challenge, own_id, None, false));
        if let Some(found) = read.find(|challenge| challenge.opponent.name == request.opponent) {
            return Some(outgoing_one(found));
        }
    }
    None
}

fn outgoing_one(challenge: Challenge) -> Challenge {
    Challenge {
        direction: ChallengeDirection::Outgoing,
        ..challenge
    }
}

/// The bots online, and whether the first hundred of them play right now.
pub(super) async fn bots(api: &Api, own_id: &str) -> Result<Vec<OnlineBot>, PlatformError> {
    let accounts = api.bots_online().await?;
    let mut bots: Vec<OnlineBot> = accounts
        .iter()
        .filter_map(lobby::online_bot)
        .take(500)
        .collect();
    bots.retain(|bot| bot.name != PlayerName::new(own_id));
    let ids: Vec<String> = bots.iter().take(100).map(|bot| bot.name.key()).collect();
    if ids.is_empty() {
        return Ok(bots);
    }
    // Without it the list is of use as well.
    if let Ok(statuses) = api.users_status(&ids).await {
        for bot in bots.iter_mut().take(100) {
            let key = bot.name.key();
            let status = statuses
                .iter()
                .find(|status| status.id.as_deref() == Some(key.as_str()));
            bot.playing = status.map(is_playing);
            // The list of bots is some seconds old.
            bot.unavailable |= status.is_some_and(|status| !status.online && !is_playing(status));
        }
    }
    Ok(bots)
}

fn is_playing(status: &wire::UserStatus) -> bool {
    match &status.playing {
        None | Some(serde_json::Value::Null | serde_json::Value::Bool(false)) => false,
        Some(_) => true,
    }
}

/// Enters the tournaments that allow bots and are not over.
pub(super) async fn join_tournaments(
    api: &Api,
    tournaments: &[Tournament],
) -> Option<PlatformError> {
    let mut worst = None;
    for tournament in tournaments {
        let joined = async {
            let state = api.tournament(&tournament.id).await?;
            if state.is_finished || !state.bots_allowed {
                tracing::warn!(tournament = %tournament.id, finished = state.is_finished, "not entered: over, or closed to bots");
                return Ok(());
            }
            api.join_tournament(&tournament.id, tournament.team.as_deref())
                .await
                .map(drop)
        };
        if let Err(error) = joined.await {
            tracing::warn!(tournament = %tournament.id, %error, "not entered");
            worst = Some(error);
        }
    }
    worst
}

/// Leaves the tournaments: no more pairings.
pub(super) async fn withdraw_tournaments(
    api: &Api,
    tournaments: &[Tournament],
) -> Option<PlatformError> {
    let mut worst = None;
    for tournament in tournaments {
        worst = repeat(|| api.withdraw_tournament(&tournament.id))
            .await
            .or(worst);
    }
    worst
}

/// The limit that an error tells of, for the daemon.
pub(super) fn limit_of(error: &PlatformError) -> Option<(LimitScope, Duration, String)> {
    let refusal = error.refusal().filter(|refusal| refusal.status == 429)?;
    let Recovery::WaitUntil { delay, .. } = error.recovery() else {
        return None;
    };
    let named = refusal.limit.as_ref().map(|limit| limit.key.as_str());
    let scope = match named {
        Some(BOT_GAMES_KEY) => LimitScope::BotGames,
        Some(_) if refusal.call == CHALLENGE_CREATE => LimitScope::Challenges,
        _ => LimitScope::Everything,
    };
    Some((scope, delay, refusal.body.to_string()))
}

/// A list of games without repetitions; the first mention counts.
pub(super) fn merge_games(listed: Vec<GameNotice>, heard: Vec<GameNotice>) -> Vec<GameNotice> {
    let mut seen: std::collections::BTreeSet<GameId> = std::collections::BTreeSet::new();
    listed
        .into_iter()
        .chain(heard)
        .filter(|notice| seen.insert(notice.id.clone()))
        .collect()
}

/// The answer to a request that cannot be taken because too many are under way.
pub(super) fn too_many(request: RequestId) -> (RequestId, ChallengeRefusal) {
    let words = "too many requests are under way".to_owned();
    (
        request,
        ChallengeRefusal::OurBudget {
            words,
            retry_after: Duration::from_secs(10),
        },
    )
}
