//! What operators and the service manager see of the daemon.

pub mod hidden;
pub mod log;
pub mod notify;
pub mod panics;

pub use hidden::HiddenWords;
pub use log::{LogConfig, LogFormat};
