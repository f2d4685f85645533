//! What operators and the service manager see of the daemon.

pub mod log;
pub mod notify;

pub use log::{LogConfig, LogFormat};
