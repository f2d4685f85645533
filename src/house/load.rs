//! A crowd of opponents inside the house, to see how fast and how well a client answers.
//!
//! The opponents play random legal moves the moment it is their turn, without HTTP of
//! their own, so that all of the work is on the client's side.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::account::{AccountKind, Scopes};
use super::challenge::Terms;
use super::hall::{Caller, Hall};
use super::server::{HouseError, HouseHandle};

/// What the crowd does.
#[derive(Debug, Clone)]
pub struct LoadPlan {
    /// Number of opponents, each with one game at a time.
    pub games: usize,
    /// Ids of the accounts they challenge, in turn.
    pub targets: Vec<String>,
    /// What they ask for, in turn.
    pub terms: Vec<Terms>,
    /// How long they think about a move, on average; the single times differ. Without a pause the client's throughput is what
    /// is measured.
    pub pause: Duration,
    /// Seed of their moves.
    pub seed: u64,
}

/// Runs the crowd until `stop`, then until its games in progress are left alone.
///
/// # Errors
/// [`HouseError`] if the opponents' accounts cannot be made.
pub async fn run(
    house: &HouseHandle,
    plan: &LoadPlan,
    stop: &CancellationToken,
) -> Result<(), HouseError> {
    let mut crowd = JoinSet::new();
    for n in 0..plan.games {
        let name = format!("Load_{n:03}");
        let token = house
            .register(&name, AccountKind::Bot, Scopes::bot())
            .await?;
        let caller = Caller {
            account: name.to_lowercase(),
            token: token.hash(),
            scopes: Scopes::bot(),
        };
        let opponent = Opponent {
            hall: Arc::clone(house.hall()),
            caller,
            target: plan.targets[n % plan.targets.len()].clone(),
            terms: plan.terms[n % plan.terms.len()].clone(),
            pause: plan.pause,
            rng: StdRng::seed_from_u64(plan.seed ^ n as u64),
        };
        let stop = stop.clone();
        crowd.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = opponent.play_on() => {}
            }
        });
    }
    while let Some(joined) = crowd.join_next().await {
        if let Err(error) = joined {
            tracing::error!(%error, "an opponent of the load died");
        }
    }
    Ok(())
}

/// Pause before asking again, when nothing came of a challenge.
const AGAIN: Duration = Duration::from_millis(500);

/// A challenge that nobody has answered by then is made anew.
const ANSWER_TIME: Duration = Duration::from_secs(15);

struct Opponent {
    hall: Arc<Hall>,
    caller: Caller,
    target: String,
    terms: Terms,
    pause: Duration,
    rng: StdRng,
}

impl Opponent {
    async fn play_on(mut self) {
        loop {
            let mut changes = self.hall.changes.subscribe();
            let made = self
                .hall
                .challenge(&self.caller, &self.target, self.terms.clone());
            let Some(id) = made
                .ok()
                .and_then(|json| Some(json["id"].as_str()?.to_owned()))
            else {
                tokio::time::sleep(AGAIN).await;
                continue;
            };
            let begun = async {
                while !self.has_begun(&id) {
                    wait(&mut changes, &id).await;
                }
            };
            if tokio::time::timeout(ANSWER_TIME, begun).await.is_err() {
                continue;
            }
            self.hall.sit(&id, &self.caller.account, true);
            while self.hall.look(&id, |game, _| !game.status.is_over()) == Some(true) {
                if !self.pause.is_zero() && self.is_due(&id) {
                    let share = self.rng.random_range(0.5..1.5);
                    tokio::time::sleep(self.pause.mul_f64(share)).await;
                }
                self.move_if_due(&id);
                wait(&mut changes, &id).await;
            }
        }
    }

    fn has_begun(&self, id: &str) -> bool {
        self.hall.look(id, |_, _| ()).is_some()
    }

    fn is_due(&self, id: &str) -> bool {
        let account = &self.caller.account;
        let due = |color| {
            self.hall
                .look(id, |game, _| game.turn() == color && !game.status.is_over())
        };
        let color = self
            .hall
            .look(id, |game, _| game.color_of(account))
            .flatten();
        color.and_then(due) == Some(true)
    }

    fn move_if_due(&mut self, id: &str) {
        let rng = &mut self.rng;
        let account = &self.caller.account;
        let chosen = self.hall.look(id, |game, _| {
            let color = game.color_of(account)?;
            let moves = game.position().legal_moves();
            let due = game.turn() == color && !game.status.is_over() && !moves.is_empty();
            due.then(|| game.position().uci(moves[rng.random_range(0..moves.len())]))
        });
        if let Some(Some(uci)) = chosen
            && let Err(refusal) = self.hall.play(&self.caller, id, &uci, None)
        {
            tracing::debug!(%refusal, game.id = id, "the game was over");
        }
    }
}

/// Waits for a change of this game; one that may have been missed counts.
async fn wait(changes: &mut tokio::sync::broadcast::Receiver<Arc<str>>, id: &str) {
    loop {
        match changes.recv().await {
            Ok(changed) if &*changed == id => return,
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return,
            // The house is gone, and this task with it in a moment.
            Err(RecvError::Closed) => tokio::time::sleep(AGAIN).await,
        }
    }
}
