//! The client of the Lichess interface against a fake: the contract point by point, and whole games through every fault.
//! Which point is tested where is told by `docs/lichess.md`.

mod account;
mod challenges;
mod coverage;
mod events;
pub mod fake;
mod game;
mod game_moves;
mod game_offers;
mod game_streams;
mod limits;
mod lists;
pub mod rig;
mod whole_games;

use std::time::Duration;

use seneschal::lobby::{ChallengeId, ChallengeRefusal};
use seneschal::platform::AccountEvent;
use serde_json::{Value, json};

use crate::lichess::rig::Rig;

pub fn challenge_event(challenge: &Value) -> Value {
    json!({"type": "challenge", "challenge": challenge, "compat": {"bot": true, "board": true}})
}

pub async fn challenged(rig: &mut Rig) -> seneschal::lobby::Challenge {
    rig.find(|event| match event {
        AccountEvent::Challenged(challenge) => Some(*challenge),
        _ => None,
    })
    .await
}

pub async fn accept_failed(rig: &mut Rig) -> (ChallengeId, String, Option<Duration>) {
    rig.find(|event| match event {
        AccountEvent::AcceptFailed {
            id,
            words,
            our_budget,
        } => Some((id, words, our_budget)),
        _ => None,
    })
    .await
}

pub async fn refused(rig: &mut Rig) -> ChallengeRefusal {
    rig.find(|event| match event {
        AccountEvent::ChallengeRefused { refusal, .. } => Some(refusal),
        AccountEvent::ChallengeCreated { .. } => panic!("created"),
        _ => None,
    })
    .await
}
