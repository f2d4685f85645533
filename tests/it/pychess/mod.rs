//! The PyChess client: against retold recordings, against noise, and against a fake server.

mod noise;
mod recordings;
mod replay;
mod scenario;
