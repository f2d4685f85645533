//! Messages to the service manager: ready, alive, stopping. Without one every call does nothing.

use std::time::Duration;

use sd_notify::NotifyState;

/// The end of the line to the service manager.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServiceManager;

impl ServiceManager {
    fn send(self, states: &[NotifyState<'_>]) {
        if let Err(error) = sd_notify::notify(states) {
            tracing::debug!(%error, "the service manager was not reached");
        }
    }

    /// Start-up is over.
    pub fn ready(self) {
        self.send(&[NotifyState::Ready]);
    }

    /// We are alive; sent at half the watchdog's period.
    pub fn alive(self) {
        self.send(&[NotifyState::Watchdog]);
    }

    /// We are ending.
    pub fn stopping(self) {
        self.send(&[NotifyState::Stopping]);
    }

    /// One line for `systemctl status`.
    pub fn status(self, words: &str) {
        self.send(&[NotifyState::Status(words)]);
    }

    /// Ending takes so much longer.
    pub fn extend(self, span: Duration) {
        let us = u32::try_from(span.as_micros()).unwrap_or(u32::MAX);
        self.send(&[NotifyState::ExtendTimeoutUsec(us)]);
    }

    /// How often the service manager wants to hear that we are alive; `None`: it does not ask.
    pub fn watchdog(self) -> Option<Duration> {
        sd_notify::watchdog_enabled()
    }
}
