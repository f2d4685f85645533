//! The PyChess client: against retold recordings, against noise, and against a fake server.

mod checklist;
mod configuration;
pub mod fake;
mod noise;
mod recordings;
mod replay;
pub mod rig;
mod scenario;
mod whole_games;
