//! Seneschal: a long-running bot and matchmaking daemon for variant chess, with its own engine.
//!
//! The README's section "Map" tells what lives where; `tests/it/architecture.rs` enforces who may use whom.

pub mod cli;
pub mod config;
pub mod daemon;
pub mod engine;
pub mod game;
pub mod house;
pub mod lobby;
pub mod observability;
pub mod platform;
pub mod rules;
pub mod store;
