//! Learning from own games: self-play, its records, and the fit of the hand-written evaluation to them.

pub mod datagen;
pub mod duel;
#[cfg(feature = "train")]
pub mod net;
pub mod record;
pub mod spsa;
#[cfg(feature = "train")]
pub mod tune;
