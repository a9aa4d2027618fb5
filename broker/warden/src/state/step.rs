//! One transaction of the journal. Its beginning and its end are prepared once, like all that is
//! between them, so that no effect waits for SQL to be read.

use super::StateError;
use rusqlite::Connection;
use std::ops::Deref;

/// A transaction that has begun. It is taken back where it is not committed.
pub(super) struct Step<'d>(&'d Connection);

impl<'d> Step<'d> {
    /// Begins one, as the one writer. Exclusive, so that there is no second one on the connection.
    pub(super) fn begin(database: &'d mut Connection) -> Result<Self, StateError> {
        database.prepare_cached("BEGIN IMMEDIATE")?.execute(())?;
        Ok(Self(database))
    }

    /// All of it, or an error and nothing.
    pub(super) fn commit(self) -> Result<(), StateError> {
        self.0.prepare_cached("COMMIT")?.execute(())?;
        Ok(())
    }
}

impl Deref for Step<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.0
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        // Over already where it was committed, and where an error has ended it.
        if !self.0.is_autocommit() {
            // One that cannot be taken back is, when its connection is closed.
            drop(self.0.execute_batch("ROLLBACK"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> Connection {
        let database = Connection::open_in_memory().unwrap();
        database
            .execute_batch("CREATE TABLE numbers (n INTEGER UNIQUE) STRICT")
            .unwrap();
        database
    }

    fn count(database: &Connection) -> i64 {
        database
            .query_row("SELECT count(*) FROM numbers", (), |row| row.get(0))
            .unwrap()
    }

    #[test]
    fn what_is_committed_stays_and_all_else_is_taken_back() {
        let mut database = database();
        let step = Step::begin(&mut database).unwrap();
        step.execute("INSERT INTO numbers VALUES (1)", ()).unwrap();
        step.commit().unwrap();
        let step = Step::begin(&mut database).unwrap();
        step.execute("INSERT INTO numbers VALUES (2)", ()).unwrap();
        drop(step);
        assert_eq!(count(&database), 1);
        // Nothing of it is left in the way of the next.
        let step = Step::begin(&mut database).unwrap();
        step.execute("INSERT INTO numbers VALUES (2)", ()).unwrap();
        step.execute("INSERT INTO numbers VALUES (1)", ())
            .unwrap_err();
        drop(step);
        assert_eq!(count(&database), 1);
        Step::begin(&mut database).unwrap().commit().unwrap();
    }
}
