//! The house as its clients meet it, over real HTTP on a port of 127.0.0.1.

mod analysis;
mod browser;
pub mod client;
mod contract;
mod crowd;
mod endings;
mod faults;
mod games;
mod hostile;
mod hostile_page;
mod league;
mod page;
mod play;
mod restart;
mod words;
