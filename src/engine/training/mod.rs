//! Learning from own games: self-play, its records, and the fit of the hand-written evaluation to them.

pub mod datagen;
#[cfg(feature = "train")]
pub mod net;
pub mod record;
pub mod tune;
