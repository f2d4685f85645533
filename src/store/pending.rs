//! The answer of a call that another thread is still working on.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use super::StoreError;

/// Result of a call to the store, available once its transaction is committed.
///
/// Await it, or block on [`Pending::wait`]. Dropping it does not undo the call.
#[derive(Debug)]
#[must_use = "a write that nobody waits for may fail unseen"]
pub struct Pending<T> {
    shared: Arc<Shared<T>>,
}

/// The other end: delivers the result, exactly once.
#[derive(Debug)]
pub(super) struct Resolver<T> {
    shared: Option<Arc<Shared<T>>>,
    what: &'static str,
}

#[derive(Debug)]
struct Shared<T> {
    slot: Mutex<Slot<T>>,
    filled: Condvar,
}

#[derive(Debug)]
struct Slot<T> {
    value: Option<Result<T, StoreError>>,
    waker: Option<Waker>,
}

impl<T> Shared<T> {
    fn fill(&self, value: Result<T, StoreError>) {
        let waker = {
            // A waiter that panicked while holding the lock leaves the slot itself intact.
            let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
            slot.value = Some(value);
            slot.waker.take()
        };
        self.filled.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

pub(super) fn pair<T>(what: &'static str) -> (Resolver<T>, Pending<T>) {
    let shared = Arc::new(Shared {
        slot: Mutex::new(Slot {
            value: None,
            waker: None,
        }),
        filled: Condvar::new(),
    });
    let resolver = Resolver {
        shared: Some(Arc::clone(&shared)),
        what,
    };
    (resolver, Pending { shared })
}

/// An answer that is known before any thread was asked.
pub(super) fn failed<T>(error: StoreError) -> Pending<T> {
    let (resolver, pending) = pair("");
    resolver.resolve(Err(error));
    pending
}

impl<T> Resolver<T> {
    pub(super) fn resolve(mut self, value: Result<T, StoreError>) {
        if let Some(shared) = self.shared.take() {
            shared.fill(value);
        }
    }
}

impl<T> Drop for Resolver<T> {
    /// A call that is dropped unanswered (the writer ended) must not leave its caller waiting.
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.fill(Err(StoreError::Closed { what: self.what }));
        }
    }
}

impl<T> Pending<T> {
    /// Blocks the calling thread until the answer is there. Not for async code, which awaits instead.
    ///
    /// # Errors
    /// Whatever the call failed with.
    pub fn wait(self) -> Result<T, StoreError> {
        let mut slot = self
            .shared
            .slot
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(value) = slot.value.take() {
                return value;
            }
            slot = self
                .shared
                .filled
                .wait(slot)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, StoreError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut slot = self
            .shared
            .slot
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = slot.value.take() {
            return Poll::Ready(value);
        }
        match &mut slot.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            empty => *empty = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}
