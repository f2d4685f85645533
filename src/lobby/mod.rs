//! Whom to play: challenges, admission, slots, matchmaking, cooldowns and budgets. Pure decisions.

pub mod challenge;

pub use challenge::{
    Challenge, ChallengeDirection, ChallengeId, ChallengeRefusal, ChallengeRequest, ColorChoice,
    DeclineReason, LobbyCapabilities, OfferedVariant, OnlineBot, RequestId,
};
