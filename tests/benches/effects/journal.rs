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
            samples.time(Subject::Journalled, || self.begin());
            samples.time(Subject::Recorded, || self.finish());
        }
    }

    fn begin(&mut self) {
        self.database
            .prepare_cached("UPDATE sessions SET intent_ms = ?2, intent = ?3 WHERE id = ?1")
            .unwrap()
            .execute((1, 1_800_000_000_000_i64, &self.begin))
            .unwrap();
    }

    fn finish(&mut self) {
        self.receipts += 1;
        let step = self
            .database
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .unwrap();
        let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
            step.prepare_cached(sql).unwrap().execute(values).unwrap();
        };
        run(
            "INSERT INTO receipts VALUES (1, ?1, 1, 1800000000000, 'done', 'gate', 'exact', ?2, ?3,
             ?4, ?5)",
            &[
                &self.receipts,
                &"write /root/one/two/three/file-000.txt\n",
                &LINK,
                &self.finish,
                &self.difference,
            ],
        );
        run(
            "UPDATE sessions SET intent = NULL, intent_ms = NULL, done = done + 1, last = ?2,
             head = ?3 WHERE id = ?1",
            &[&1, &self.receipts, &LINK],
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
