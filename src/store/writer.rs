//! The thread that owns the connection.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::pending::{self, Pending, Resolver};
use super::{StoreError, schema};

/// Calls committed together at most: bounds both the transaction and the wait of its first caller.
const BATCH: usize = 256;

/// Tells one caller how its call ended; the argument is how the commit ended.
type Answer = Box<dyn FnOnce(Result<(), String>) + Send>;

/// One call. Runs inside a transaction and returns the answer to give after the commit;
/// without a connection (no transaction could be begun) it does nothing and fails with the commit.
type Job = Box<dyn FnOnce(Option<&Connection>) -> Answer + Send>;

#[derive(Debug)]
pub(super) struct Writer {
    /// `None` only while the writer is being dropped.
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    bound: usize,
}

impl Writer {
    pub(super) fn spawn(connection: Connection, bound: usize) -> Result<Writer, StoreError> {
        let (queue, jobs) = sync_channel(bound);
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || run(&connection, &jobs))
            .map_err(StoreError::Thread)?;
        Ok(Writer {
            queue: Some(queue),
            thread: Some(thread),
            bound,
        })
    }

    pub(super) fn submit<T, F>(&self, what: &'static str, work: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (resolver, pending) = pending::pair(what);
        // The resolver travels inside the job: a job that is dropped unrun answers `Closed` by itself.
        let job: Job = Box::new(move |connection| carry_out(connection, what, work, resolver));
        let Some(queue) = &self.queue else {
            return pending;
        };
        match queue.try_send(job) {
            Ok(()) => pending,
            Err(TrySendError::Full(_)) => pending::failed(StoreError::Busy {
                what,
                bound: self.bound,
            }),
            // The refused job was dropped just now and has answered `Closed`.
            Err(TrySendError::Disconnected(_)) => pending,
        }
    }
}

impl Drop for Writer {
    /// Closes the queue and waits until what is in it is committed.
    fn drop(&mut self) {
        self.queue.take();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's thread panicked; its last calls were answered as closed");
        }
    }
}

/// Runs one call under a savepoint, so that its failure undoes nothing but itself.
fn carry_out<T, F>(
    connection: Option<&Connection>,
    what: &'static str,
    work: F,
    resolver: Resolver<T>,
) -> Answer
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
{
    let outcome = connection.map(|connection| schema::under_savepoint(connection, work));
    Box::new(move |committed| {
        resolver.resolve(match (outcome, committed) {
            (Some(Err(source)), _) => Err(StoreError::Sqlite { what, source }),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (_, committed) => Err(StoreError::Commit {
                what,
                reason: committed.err().unwrap_or_default(),
            }),
        });
    })
}

fn run(connection: &Connection, jobs: &Receiver<Job>) {
    let mut answers = Vec::with_capacity(BATCH);
    while let Ok(first) = jobs.recv() {
        let begun = connection.execute_batch("BEGIN IMMEDIATE");
        let usable = begun.is_ok().then_some(connection);
        answers.push(first(usable));
        while answers.len() < BATCH
            && let Ok(next) = jobs.try_recv()
        {
            answers.push(next(usable));
        }
        let committed = begun.and_then(|()| connection.execute_batch("COMMIT"));
        if committed.is_err() && !connection.is_autocommit() {
            // After a failed commit the transaction is still open; leaving it so would
            // make every later BEGIN fail.
            if let Err(error) = connection.execute_batch("ROLLBACK") {
                tracing::error!(%error, "cannot roll back a failed transaction");
            }
        }
        let committed = committed.map_err(|error| error.to_string());
        for answer in answers.drain(..) {
            answer(committed.clone());
        }
    }
}
