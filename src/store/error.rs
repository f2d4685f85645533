//! What can go wrong in the store.

use std::path::PathBuf;

/// Why a call to the store failed. Nothing of the failed call was kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database file cannot be opened.
    #[error("cannot open the database {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The database was written by a later version of this program.
    #[error("the database has schema version {found}, this program knows versions up to {known}")]
    Newer {
        /// `PRAGMA user_version` of the file.
        found: i64,
        /// The last version this program can write.
        known: i64,
    },
    /// The operating system refused the writer's thread.
    #[error("cannot start the store's thread: {0}")]
    Thread(#[source] std::io::Error),
    /// The queue to the writer is full: the disk does not keep up. Try again later.
    #[error("{what}: the store's queue of {bound} calls is full")]
    Busy {
        /// The refused call.
        what: &'static str,
        /// Length of the queue.
        bound: usize,
    },
    /// The writer has ended.
    #[error("{what}: the store is closed")]
    Closed {
        /// The refused call.
        what: &'static str,
    },
    /// SQLite refused the call.
    #[error("{what}: {source}")]
    Sqlite {
        /// The refused call.
        what: &'static str,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The value cannot be written as JSON (a map with keys that are no strings, for instance).
    #[error("{what}: {source}")]
    Encode {
        /// The refused call.
        what: &'static str,
        /// What the serializer said.
        source: serde_json::Error,
    },
    /// The call went well, but the transaction around it could not be committed.
    #[error("{what}: the commit failed: {reason}")]
    Commit {
        /// The refused call.
        what: &'static str,
        /// What SQLite said.
        reason: String,
    },
}

impl StoreError {
    /// Whether the same call may succeed a moment later.
    pub fn is_transient(&self) -> bool {
        match self {
            StoreError::Busy { .. } | StoreError::Commit { .. } => true,
            StoreError::Sqlite { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(
                    rusqlite::ErrorCode::DatabaseBusy
                        | rusqlite::ErrorCode::DatabaseLocked
                        | rusqlite::ErrorCode::DiskFull
                )
            ),
            StoreError::Open { .. }
            | StoreError::Newer { .. }
            | StoreError::Thread(_)
            | StoreError::Encode { .. }
            | StoreError::Closed { .. } => false,
        }
    }
}
