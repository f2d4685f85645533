//! Ending in two steps.

use tokio_util::sync::CancellationToken;

/// `drain`: no new games, running ones go on. `abort`: everything ends now. Aborting drains as well.
#[derive(Debug, Clone)]
pub struct Shutdown {
    drain: CancellationToken,
    abort: CancellationToken,
}

impl Default for Shutdown {
    fn default() -> Self {
        let abort = CancellationToken::new();
        Self {
            drain: abort.child_token(),
            abort,
        }
    }
}

impl Shutdown {
    /// Cancelled when no new games are wanted.
    pub fn drain(&self) -> &CancellationToken {
        &self.drain
    }

    /// Cancelled when everything has to end.
    pub fn abort(&self) -> &CancellationToken {
        &self.abort
    }

    /// One signal: the first drains, the second aborts.
    pub fn signal(&self) {
        if self.drain.is_cancelled() {
            self.abort.cancel();
        } else {
            self.drain.cancel();
        }
    }
}
