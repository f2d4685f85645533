//! Tables and how they came to be, one step per schema version.

use std::time::Duration;

use rusqlite::Connection;

use super::{Durability, StoreError};

/// Step `n` brings a database from version `n` to `n + 1`. A released step is never changed.
const STEPS: &[&str] = &[
    // 1: everything the first release keeps.
    "CREATE TABLE records (
        space      TEXT NOT NULL,
        owner      TEXT NOT NULL,
        key        TEXT NOT NULL,
        value      TEXT NOT NULL,
        until_ms   INTEGER,
        updated_ms INTEGER NOT NULL,
        PRIMARY KEY (space, owner, key)
    ) WITHOUT ROWID;

    CREATE TABLE games (
        platform        TEXT NOT NULL,
        account         TEXT NOT NULL,
        id              TEXT NOT NULL,
        variant         TEXT NOT NULL,
        chess960        INTEGER NOT NULL,
        rated           INTEGER NOT NULL,
        speed           TEXT NOT NULL,
        clock           TEXT NOT NULL,
        color           TEXT NOT NULL,
        opponent        TEXT NOT NULL,
        opponent_title  TEXT,
        opponent_rating INTEGER,
        initial_fen     TEXT,
        moves           TEXT NOT NULL,
        status          TEXT NOT NULL,
        winner          TEXT,
        reason          TEXT,
        started_ms      INTEGER NOT NULL,
        ended_ms        INTEGER,
        extra           TEXT NOT NULL,
        PRIMARY KEY (platform, account, id)
    );
    CREATE INDEX games_running ON games (platform, account) WHERE ended_ms IS NULL;
    CREATE INDEX games_by_end ON games (ended_ms) WHERE ended_ms IS NOT NULL;
    CREATE INDEX games_by_opponent ON games (platform, opponent COLLATE NOCASE);

    CREATE TABLE opponents (
        platform TEXT NOT NULL,
        name     TEXT NOT NULL COLLATE NOCASE,
        title    TEXT,
        rating   INTEGER,
        wins     INTEGER NOT NULL,
        draws    INTEGER NOT NULL,
        losses   INTEGER NOT NULL,
        aborted  INTEGER NOT NULL,
        first_ms INTEGER NOT NULL,
        last_ms  INTEGER NOT NULL,
        PRIMARY KEY (platform, name)
    );

    CREATE TABLE house_accounts (
        id         TEXT NOT NULL PRIMARY KEY,
        data       TEXT NOT NULL,
        created_ms INTEGER NOT NULL
    );
    CREATE TABLE house_tokens (
        hash       BLOB NOT NULL PRIMARY KEY,
        account    TEXT NOT NULL REFERENCES house_accounts (id) ON DELETE CASCADE,
        scopes     TEXT NOT NULL,
        created_ms INTEGER NOT NULL
    );
    CREATE TABLE house_games (
        id         TEXT NOT NULL PRIMARY KEY,
        white      TEXT NOT NULL,
        black      TEXT NOT NULL,
        variant    TEXT NOT NULL,
        running    INTEGER NOT NULL,
        data       TEXT NOT NULL,
        started_ms INTEGER NOT NULL,
        ended_ms   INTEGER
    );
    CREATE INDEX house_games_running ON house_games (running) WHERE running = 1;
    CREATE INDEX house_games_white ON house_games (white, started_ms);
    CREATE INDEX house_games_black ON house_games (black, started_ms);
    CREATE INDEX house_games_started ON house_games (started_ms);",
];

/// Settings of the connection, as opposed to the file.
pub(super) fn prepare(connection: &Connection, durability: Durability) -> Result<(), StoreError> {
    let synchronous = match durability {
        Durability::Power => "FULL",
        Durability::Process => "NORMAL",
    };
    let set = || -> rusqlite::Result<()> {
        // A reader's short lock must not fail a write.
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(())
    };
    set().map_err(|source| StoreError::Sqlite {
        what: "prepare the database",
        source,
    })
}

/// Runs the steps that the file has not seen, each in its own transaction.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let failed = |source| StoreError::Sqlite {
        what: "migrate the database",
        source,
    };
    let found: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(failed)?;
    let known = STEPS.len() as i64;
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    for (version, step) in (1..).zip(STEPS).skip(found.max(0) as usize) {
        let transaction = connection.transaction().map_err(failed)?;
        transaction.execute_batch(step).map_err(failed)?;
        transaction
            .pragma_update(None, "user_version", version as i64)
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}

/// Runs `work`; if it fails, undoes what it did and nothing else.
pub(super) fn under_savepoint<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.execute_batch("SAVEPOINT job")?;
    match work(connection) {
        Ok(value) => {
            connection.execute_batch("RELEASE job")?;
            Ok(value)
        }
        Err(error) => {
            connection.execute_batch("ROLLBACK TO job; RELEASE job")?;
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_file_has_the_last_version_and_a_newer_one_is_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        let version: i64 = connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap();
        assert_eq!(version, STEPS.len() as i64);
        migrate(&mut connection).unwrap();
        connection
            .pragma_update(None, "user_version", version + 1)
            .unwrap();
        let refused = migrate(&mut connection).unwrap_err();
        assert!(
            matches!(refused, StoreError::Newer { found, known } if found == version + 1 && known == version)
        );
    }

    #[test]
    fn a_failing_job_undoes_only_itself() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t (x INTEGER UNIQUE); BEGIN; INSERT INTO t VALUES (1)")
            .unwrap();
        let failed = under_savepoint(&connection, |c| {
            c.execute("INSERT INTO t VALUES (2)", [])?;
            c.execute("INSERT INTO t VALUES (1)", [])
        });
        assert!(failed.is_err());
        connection.execute_batch("COMMIT").unwrap();
        let rows: i64 = connection
            .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
            .unwrap();
        assert_eq!(rows, 1);
    }
}
