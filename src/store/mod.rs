//! What must survive a restart: one SQLite file, one writer.
//!
//! [`Store`] is a cheap handle. Every call travels over a bounded queue to one
//! operating-system thread that owns the connection, and comes back through a
//! [`Pending`], which can be awaited (async callers) or waited for (others).
//! Calls that arrive together are committed together, so a burst costs one
//! disk flush; nobody is told "done" before the commit that holds his change.
//!
//! | module | holds |
//! |---|---|
//! | [`records`] | small keyed records with an expiry: owed games, cooldowns, day budgets, declines, takebacks, governor state |
//! | [`games`] | games, finished and running, as the daemon saw them |
//! | [`opponents`] | whom we met and how it went |
//! | [`house`] | accounts, token hashes and games of the house |
//!
//! Times are milliseconds since the Unix epoch and always handed in.

mod error;
pub mod games;
pub mod house;
pub mod opponents;
mod pending;
pub mod records;
mod schema;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags};

pub use error::StoreError;
pub use pending::Pending;

use writer::Writer;

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Loss of power: the log is flushed to the disk at every commit.
    #[default]
    Power,
    /// Death of the process (`kill -9`), but not of the machine. No flush per commit.
    Process,
}

/// How a [`Store`] is opened.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// What an acknowledged write survives.
    pub durability: Durability,
    /// Calls that may wait for the writer; one more is refused with [`StoreError::Busy`].
    pub queue: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            durability: Durability::default(),
            queue: 4096,
        }
    }
}

/// Handle of the database. Clones share one writer; the last one to go joins it.
#[derive(Debug, Clone)]
pub struct Store {
    writer: Arc<Writer>,
    path: Option<PathBuf>,
}

impl Store {
    /// Opens or creates the database file and brings its schema up to date.
    ///
    /// # Errors
    /// [`StoreError::Open`] if the file cannot be opened, [`StoreError::Newer`] if a
    /// later version of the program wrote it, [`StoreError::Sqlite`] if it is damaged.
    pub fn open(path: &Path, options: &StoreOptions) -> Result<Store, StoreError> {
        let connection = Connection::open(path).map_err(|source| StoreError::Open {
            path: path.to_owned(),
            source,
        })?;
        Store::start(connection, Some(path.to_owned()), options)
    }

    /// A database that lives in memory and dies with its last handle.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn in_memory(options: &StoreOptions) -> Result<Store, StoreError> {
        let connection = Connection::open_in_memory().map_err(|source| StoreError::Open {
            path: PathBuf::from(":memory:"),
            source,
        })?;
        Store::start(connection, None, options)
    }

    fn start(
        mut connection: Connection,
        path: Option<PathBuf>,
        options: &StoreOptions,
    ) -> Result<Store, StoreError> {
        schema::prepare(&connection, options.durability)?;
        schema::migrate(&mut connection)?;
        let writer = Writer::spawn(connection, options.queue)?;
        Ok(Store {
            writer: Arc::new(writer),
            path,
        })
    }

    /// The file behind this store; `None` for one in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// A second, read-only connection for long queries (the archive page, exports),
    /// so that they never stand before a write. `None` for a store in memory.
    ///
    /// # Errors
    /// [`StoreError::Open`] if the file has gone.
    pub fn reader(&self) -> Result<Option<Connection>, StoreError> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(path, flags)
            .map(Some)
            .map_err(|source| StoreError::Open {
                path: path.clone(),
                source,
            })
    }

    /// A number that changes when another connection, in this process or another, has written.
    pub fn foreign_version(&self) -> Pending<i64> {
        self.submit("read the data version", |c| {
            c.pragma_query_value(None, "data_version", |row| row.get(0))
        })
    }

    /// Resolves once everything submitted before it is committed.
    pub fn flush(&self) -> Pending<()> {
        self.submit("flush", |_| Ok(()))
    }

    /// Runs `work` on the writer's thread, inside the next transaction.
    ///
    /// If `work` fails, its changes alone are rolled back and its caller alone is told.
    fn submit<T, F>(&self, what: &'static str, work: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.writer.submit(what, work)
    }
}
