//! Every file system call of every verb fails: full disk, full quota, broken disk, no descriptors.

use crate::bench::{Bench, Ran};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Outcome;
use portcullis_protocol::view::PathState;
use portcullis_tests::deeds::{self, Deed};
use std::collections::BTreeMap;
use std::path::PathBuf;

const ENOSPC: i32 = 28;
const EDQUOT: i32 = 122;
const EIO: i32 = 5;
const EMFILE: i32 = 24;

/// How the runs of one verb ended.
#[derive(Debug, Default)]
pub(crate) struct Count {
    runs: u32,
    refused: u32,
    failed: u32,
    done: u32,
    uncertain: u32,
    /// Runs that left temporaries, as their receipts say.
    left: u32,
}

impl Count {
    fn of(&mut self, ran: &Ran) {
        self.runs += 1;
        match ran.told() {
            None => self.refused += 1,
            Some(told) => {
                match told.outcome {
                    Outcome::Done => self.done += 1,
                    Outcome::Failed => self.failed += 1,
                    Outcome::Uncertain => self.uncertain += 1,
                }
                self.left += u32::from(told.left > 0);
            }
        }
    }
}

/// How many file system calls a change makes: a gate dies at each, and not at one more.
fn calls(bench: &mut Bench, deed: Deed) -> u32 {
    let mut dies = |nth| bench.run(deed, Some((nth, "die"))).answer.is_err();
    assert!(dies(1), "{}: no call can be made to fail", deed.name);
    let mut above = 2;
    while dies(above) {
        above *= 2;
    }
    let mut below = above / 2;
    while above - below > 1 {
        let middle = below.midpoint(above);
        if dies(middle) {
            below = middle;
        } else {
            above = middle;
        }
    }
    below
}

/// What holds however it ended, and what the answer and the receipt say is the truth.
fn check(ran: &Ran, ideal: &BTreeMap<PathBuf, PathState>) {
    ran.is_recorded();
    let temporaries = u32::try_from(ran.after.temporaries.len()).unwrap();
    match ran.told() {
        None => {
            assert!(ran.is_refused(), "{:?}", ran.answer);
            ran.is_unchanged();
            assert_eq!(temporaries, 0, "{:?}", ran.after.temporaries);
        }
        Some(told) => {
            match told.outcome {
                Outcome::Done => assert_eq!(&ran.after.plain(), ideal),
                Outcome::Failed => ran.is_unchanged(),
                Outcome::Uncertain => {}
            }
            match told.outcome {
                Outcome::Done | Outcome::Failed => assert_eq!(temporaries, told.left),
                // Also what is no temporary and could not be taken back.
                Outcome::Uncertain => assert!(temporaries <= told.left, "{told:#?}"),
            }
        }
    }
}

/// What failed is what the worker is told. A full disk is none for a call that only looks.
fn is_said(errno: i32, code: Code) {
    let codes: &[Code] = match errno {
        EMFILE => &[Code::Exhausted],
        EIO => &[Code::Io],
        _ => &[Code::DiskFull, Code::Io],
    };
    assert!(codes.contains(&code), "{errno}: {code:?}");
}

/// One call fails, and no other.
#[test]
fn one_failing_call_changes_nothing_or_nothing_but_the_whole() {
    let mut bench = Bench::new();
    let mut uncertain = Vec::new();
    for deed in deeds::ALL {
        let ideal = bench.ideal(*deed);
        let calls = calls(&mut bench, *deed);
        let mut count = Count::default();
        let mut codes = BTreeMap::new();
        for errno in [ENOSPC, EDQUOT, EIO, EMFILE] {
            for nth in 1..=calls {
                let ran = bench.run(*deed, Some((nth, &errno.to_string())));
                println!("{} {nth} {errno}", deed.name);
                check(&ran, &ideal);
                ran.is_all_told();
                count.of(&ran);
                if let Err(error) = &ran.answer {
                    let code = error.refusal().unwrap().code;
                    is_said(errno, code);
                    *codes.entry((errno, code.name())).or_insert(0) += 1;
                }
                let told = ran.told();
                if told.is_some_and(|told| told.outcome == Outcome::Uncertain || told.left > 0) {
                    uncertain.push((deed.name, nth, errno));
                }
            }
        }
        println!("== {}: {calls} calls, {count:?} {codes:?}", deed.name);
    }
    assert!(uncertain.is_empty(), "{uncertain:#?}");
    println!("== {} receipts", bench.verify());
}

/// One call fails and every later one of the effect: the disk stays full or broken.
#[test]
fn a_disk_that_stays_broken_is_told_as_it_is() {
    let mut bench = Bench::new();
    for deed in deeds::ALL {
        let ideal = bench.ideal(*deed);
        let calls = calls(&mut bench, *deed);
        let mut count = Count::default();
        for errno in [ENOSPC, EIO] {
            for nth in 1..=calls {
                let ran = bench.run(*deed, Some((nth, &format!("from-{errno}"))));
                println!("{} {nth} from-{errno}", deed.name);
                check(&ran, &ideal);
                count.of(&ran);
            }
        }
        println!("== {}: {calls} calls, {count:?}", deed.name);
    }
    println!("== {} receipts", bench.verify());
}
