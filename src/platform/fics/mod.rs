//! Client for internet chess servers of the FICS family: freechess.org and any server with its protocol.
//!
//! ```text
//! bytes -> line -> wire (shape, meaning) -> protocol (login, lobby, games) + translate -> AccountEvent, GameEvent
//! AccountCommand, GameCommand -> protocol + translate -> outbound -> bytes
//! ```
//!
//! [`protocol`] is a state machine without I/O; [`client`] moves it over a socket. One account holds one connection and
//! plays one game at a time. See `docs/fics.md` for what an account on such a server needs and must keep to.

pub mod client;
pub mod config;
pub mod line;
pub mod outbound;
pub mod protocol;
pub mod timeseal;
pub mod translate;
pub mod wire;

pub use client::{FicsShared, connect, connect_with};
pub use config::{FicsConfig, FicsConfigError, FicsVariant, SeekConfig, capabilities};
