//! The two transactions of an effect alone: the same rows in the same tables, and nothing of the
//! warden around them. What is left when they are taken from what a warden needs is its own.

use crate::subject::{CYCLES, Samples, Subject};
use crate::wire;
use portcullis_protocol::frame::{self, RequestId};
use portcullis_protocol::ledger::Event;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::path::Path;

const LINK: &str = "0707070707070707070707070707070707070707070707070707070707070707";

/// A database with the tables of a state, and one session in it.
pub struct Journal {
    database: Connection,
    receipts: i64,
    begin: Vec<u8>,
    finish: Vec<u8>,
    difference: Vec<u8>,
}

impl Journal {
    /// Makes one at `place`, with the tables of the `state` of a warden.
    pub fn new(state: &Path, place: &Path) -> Self {
        let theirs = Connection::open_with_flags(state, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let mut tables = theirs
            .prepare(
                "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'",
            )
            .unwrap();
        let tables: Vec<String> = tables
            .query_map((), |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let database = Connection::open(place).unwrap();
        database.set_prepared_statement_cache_capacity(64);
        for (name, value) in [("journal_mode", "wal"), ("synchronous", "normal")] {
            database.pragma_update(None, name, value).unwrap();
        }
        database.pragma_update(None, "foreign_keys", true).unwrap();
        database
            .pragma_update(None, "wal_autocheckpoint", 0)
            .unwrap();
        database.execute_batch(&tables.join(";")).unwrap();
        database
            .execute(
                "INSERT INTO runs (request, owner, began_ms) VALUES ('a', 'b', 1)",
                (),
            )
            .unwrap();
        database
            .execute(
                "INSERT INTO sessions (run, incarnation, session, request, owner, authority, roots,
                 began_ms, head) VALUES (1, 'a', 1, 'a', 'b', 'c', 'root', 1, ?1)",
                (LINK,),
            )
            .unwrap();
        Self {
            database,
            receipts: 0,
            begin: encoded(&Event::Begin(wire::begin())),
            finish: encoded(&Event::Finish(wire::finish())),
            difference: wire::difference(),
        }
    }

    /// Both transactions, some times.
    pub fn turn(&mut self, samples: &mut Samples) {
        for _ in 0..CYCLES {
            let id = samples.time(Subject::Journalled, || self.begin());
            samples.time(Subject::Recorded, || self.finish(id));
        }
    }

    fn begin(&mut self) -> i64 {
        self.database
            .prepare_cached("INSERT INTO intents (session, began_ms, body) VALUES (?1, ?2, ?3)")
            .unwrap()
            .execute((1, 1_800_000_000_000_i64, &self.begin))
            .unwrap();
        self.database.last_insert_rowid()
    }

    fn finish(&mut self, id: i64) {
        self.receipts += 1;
        let step = self
            .database
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .unwrap();
        let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
            step.prepare_cached(sql).unwrap().execute(values).unwrap();
        };
        run("DELETE FROM intents WHERE id = ?1", &[&id]);
        run(
            "INSERT INTO receipts VALUES (?1, 1, 1, 1800000000000, 'done', 'gate', 'exact', ?2, ?3, ?4)",
            &[
                &self.receipts,
                &"write /root/one/two/three/file-000.txt\n",
                &self.finish,
                &LINK,
            ],
        );
        run(
            "INSERT INTO diffs VALUES (?1, ?2)",
            &[&self.receipts, &self.difference],
        );
        run(
            "UPDATE sessions SET receipts = receipts + 1, done = done + 1, head = ?2 WHERE id = ?1",
            &[&1, &LINK],
        );
        step.commit().unwrap();
    }
}

/// About as many bytes as a record has.
fn encoded(event: &Event) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::encode(RequestId::NONE, event, 0, &mut bytes).unwrap();
    bytes
}
