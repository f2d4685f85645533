//! Composition root and task tree.
//!
//! ```text
//! supervise    root loop: shutdown tokens, the parts below, all games
//!   account    one pump per account, beside its platform's client
//!   lobby_task one: the only one that accepts, declines, challenges
//!   game_task  one per game: its session, its link, its search, the sole right to send for it
//! ```
//! Every task is in a `JoinSet` of the root and is joined. `drain` is a child of `abort`: the first signal stops new games
//! and plays running ones on, the second (or the drain's limit) ends everything.
//!
//! | module | holds |
//! |---|---|
//! | [`supervise`] | [`supervise::run`]: the root |
//! | [`assemble`] | from a configuration to accounts, pool, store |
//! | `origins` | one governor per server, with its limits on disk |
//! | [`journal`] | what is on disk before it is acted on |
//! | [`tapes`] | one thread that writes the tapes of all games |
//! | [`house_archive`], [`house_analyst`] | a house's games in the store, and judged by the pool |
//! | [`stats`], [`overhead`] | what is counted and measured |

mod abandon;
pub mod assemble;
mod game_task;
pub mod house_analyst;
pub mod house_archive;
pub mod journal;
mod lobby_task;
mod origins;
pub mod overhead;
pub mod shutdown;
pub mod stats;
pub mod supervise;
pub mod tapes;
pub mod timeline;

pub use shutdown::Shutdown;
pub use stats::Stats;
pub use supervise::{AccountSetup, Daemon, RunReport, run};
pub use timeline::Timeline;
