//! The house: a platform of one's own. It speaks the part of Lichess's API that bots
//! need, keeps clocks and rules for every variant of [`crate::rules`], counts what
//! clients do wrong, and misbehaves on request so that they can rehearse.
//!
//! | module | holds |
//! |---|---|
//! | [`account`], [`challenge`], [`game`], [`clock`], [`variant`], [`status`] | the nouns: plain data and rules, time as an argument |
//! | [`hall`] | all of them together behind one lock; commands in, lines out |
//! | [`wire`], [`refusal`], [`form`], [`export`] | the JSON, the errors, the bodies, the downloads |
//! | [`api`] | HTTP: who asks, what is answered |
//! | [`conn`], [`lines`], [`fault`], [`limits`], [`violation`] | connections, stream queues, faults on purpose, limits, reports |
//! | [`archive`] | what is kept; the place is brought by who starts the house |
//! | [`analysis`] | what an engine, brought by who starts the house, thinks of finished games |
//! | [`league`] | a round robin of bots that plays itself |
//! | [`web`] | the page |
//!
//! ```no_run
//! # async fn example() -> Result<(), seneschal::house::HouseError> {
//! use seneschal::house::account::{AccountKind, Scopes};
//! use seneschal::house::{House, HouseConfig};
//!
//! let house = House::start(HouseConfig::default()).await?;
//! let token = house.register("My_Bot", AccountKind::Bot, Scopes::bot()).await?;
//! println!("{} {}", house.base_url(), token.reveal());
//! house.shutdown().await;
//! # Ok(())
//! # }
//! ```

pub mod account;
pub mod analysis;
pub mod api;
pub mod archive;
pub mod challenge;
pub mod clock;
pub mod conn;
pub mod endpoint;
pub mod export;
pub mod fault;
pub mod form;
pub mod game;
pub mod glicko;
pub mod hall;
pub mod league;
pub mod limits;
pub mod lines;
pub mod load;
pub mod refusal;
mod server;
pub mod status;
pub mod time;
pub mod variant;
pub mod violation;
pub mod web;
pub mod wire;

pub use server::{House, HouseConfig, HouseError, HouseHandle};
