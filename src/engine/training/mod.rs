//! Learning from own games: self-play, its records, and the fit of the hand-written evaluation to them.

pub mod datagen;
pub mod duel;
#[cfg(any(feature = "train", test))]
pub mod net;
pub mod record;
pub mod spsa;
#[cfg(any(feature = "train", test))]
pub mod tune;
