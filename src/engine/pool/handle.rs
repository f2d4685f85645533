//! The caller's end of a search.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::sync::oneshot;

use super::{Shared, plan_of};
use crate::engine::fallback::fallback_move;
use crate::engine::limits::SearchLimits;
use crate::engine::report::{ReportOrigin, SearchReport};
use crate::engine::time::Situation;
use crate::rules::History;

/// A search in the pool. A future of its report; dropping it stops the search and frees the thread.
///
/// There is always a report with a legal move, whatever happens to the search or to the pool.
/// Waiting on `&mut handle` in a `select!` is cancel safe.
pub struct SearchHandle {
    shared: Arc<Shared>,
    id: u64,
    ticket: u64,
    history: Arc<History>,
    submitted: Instant,
    receiver: oneshot::Receiver<SearchReport>,
    answered: bool,
}

impl SearchHandle {
    pub(super) fn new(
        shared: Arc<Shared>,
        id: u64,
        ticket: u64,
        history: Arc<History>,
        submitted: Instant,
        receiver: oneshot::Receiver<SearchReport>,
    ) -> SearchHandle {
        SearchHandle {
            shared,
            id,
            ticket,
            history,
            submitted,
            receiver,
            answered: false,
        }
    }

    /// The caller's number of the search.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Asks for the answer now; it comes within milliseconds through the same handle.
    pub fn stop(&self) {
        let mut state = self.shared.lock();
        state.stop(self.ticket);
        self.shared.look.notify_one();
    }

    /// The opponent played the move that a search with `ponder` expected: the search goes on, as a
    /// real one, with the clocks in `limits`. What it has thought already counts.
    pub fn ponder_hit(&self, limits: SearchLimits) {
        let position = self.history.position();
        let situation = Situation {
            variant: position.variant(),
            ply: position.ply(),
            n_legal: position.legal_moves().len(),
        };
        let limits = SearchLimits {
            ponder: false,
            ..limits
        };
        let plan = plan_of(&self.shared.config, &limits, situation);
        let mut state = self.shared.lock();
        state.ponder_hit(self.ticket, limits, plan);
        state.rebalance(&self.shared.config);
        self.shared.work.notify_one();
        self.shared.look.notify_one();
    }

    /// Waits for the report on a thread outside any async runtime.
    pub fn wait(mut self) -> SearchReport {
        self.answered = true;
        let (_, placeholder) = oneshot::channel();
        let receiver = std::mem::replace(&mut self.receiver, placeholder);
        receiver
            .blocking_recv()
            .unwrap_or_else(|_| self.last_resort())
    }

    /// The pool gave no answer, which a bug in it would be needed for.
    fn last_resort(&self) -> SearchReport {
        let best = fallback_move(&self.history)
            .expect("a search is only taken for a position with a legal move");
        SearchReport::without_search(best, ReportOrigin::Fallback, self.submitted.elapsed())
    }
}

impl Future for SearchHandle {
    type Output = SearchReport;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<SearchReport> {
        match Pin::new(&mut self.receiver).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(result) => {
                self.answered = true;
                Poll::Ready(result.unwrap_or_else(|_| self.last_resort()))
            }
        }
    }
}

impl Drop for SearchHandle {
    fn drop(&mut self) {
        if !self.answered {
            let mut state = self.shared.lock();
            state.cancel(self.ticket);
            state.rebalance(&self.shared.config);
            self.shared.look.notify_one();
        }
    }
}

impl fmt::Debug for SearchHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchHandle")
            .field("id", &self.id)
            .field("ticket", &self.ticket)
            .field("answered", &self.answered)
            .finish_non_exhaustive()
    }
}
