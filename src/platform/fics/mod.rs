//! Client for internet chess servers of the FICS family (freechess.org and any server with its protocol).

pub mod line;
pub mod wire;
pub mod outbound;
pub mod timeseal;
pub mod config;
pub mod translate;
pub mod protocol;
