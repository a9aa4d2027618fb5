//! One change, made by a gate that meets a fault, and what came of it.

use portcullis_client::{Changes, Control, Error, ErrorCode, MintOrder, Session, ask, change};
use portcullis_protocol::authority::RootId;
use portcullis_protocol::control::{OverCause, Receipt, RunId};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{Changed, Outcome, SessionId, Touched};
use portcullis_protocol::verb::VerbSet;
use portcullis_protocol::view::{Kind, PathState};
use portcullis_tests::deeds::{self, Deed};
use portcullis_tests::faults::Faults;
use portcullis_tests::tree::{Tree, kind_of};
use portcullis_tests::{World, os, own};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A warden whose gates meet what is planned, and a tree that is made anew for each change.
pub(crate) struct Bench {
    pub(crate) world: World,
    faults: Faults,
    root: RootId,
    run: Option<RunId>,
    /// Number of the last receipt that was looked at.
    last: u64,
}

/// What came of one change.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) answer: Result<Changed, Error>,
    /// Those of this change.
    pub(crate) receipts: Vec<Receipt>,
    pub(crate) before: Tree,
    pub(crate) after: Tree,
    pub(crate) over: OverCause,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let faults = Faults::new(&own!("own-gate"));
        let mut world = World::new(faults.gate());
        let root = world.seal(&world.inside(), "workspace");
        Self {
            world,
            faults,
            root,
            run: None,
            last: 0,
        }
    }

    pub(crate) fn mint(&mut self) -> (Session, SessionId) {
        let order = MintOrder::new("tester").root(self.root, None).grant(
            self.root,
            RelPath::root(),
            VerbSet::ALL,
        );
        let (minted, session) = self.world.control.mint(&order).unwrap();
        self.run = Some(minted.run);
        (session, minted.session)
    }

    /// Makes the tree anew, and one change by a gate that meets `fault`.
    pub(crate) fn run(&mut self, deed: Deed, fault: Option<(u32, &str)>) -> Ran {
        let inside = self.world.inside();
        deeds::layout(&inside);
        let before = Tree::read(&inside);
        match fault {
            Some((nth, what)) => self.faults.set(nth, what),
            None => self.faults.clear(),
        }
        let (mut session, id) = self.mint();
        self.faults.clear();
        let answer = (deed.run)(&mut session);
        drop(session);
        let over = self.world.control.wait_over(id, None).unwrap().unwrap();
        Ran {
            answer,
            receipts: self.receipts(),
            before,
            after: Tree::read(&inside),
            over: over.cause,
        }
    }

    /// Receipts that were not looked at yet.
    fn receipts(&mut self) -> Vec<Receipt> {
        let all = log(&mut self.world.control, self.run.unwrap(), self.last);
        self.last = all.last().map_or(self.last, |last| last.id.number);
        all
    }

    /// Kinds, modes and contents after a change that nothing goes wrong with.
    pub(crate) fn ideal(&mut self, deed: Deed) -> BTreeMap<PathBuf, PathState> {
        let ran = self.run(deed, None);
        assert_eq!(ran.answer.as_ref().unwrap().outcome, Outcome::Done);
        ran.is_recorded();
        assert_eq!(ran.after.temporaries, Vec::<PathBuf>::new());
        ran.after.plain()
    }

    /// Every effect has its receipt, and all receipts hold together.
    pub(crate) fn verify(&mut self) -> u64 {
        let verified = self.world.control.verify().unwrap();
        assert_eq!(verified.broken, None);
        assert_eq!(verified.open, 0);
        verified.receipts
    }

    /// Another session can change all these names at once.
    pub(crate) fn touch_again(&mut self, touched: &[Touched]) {
        let (mut session, _) = self.mint();
        for one in touched {
            let at = || ask::selector(one.path.as_bytes()).unwrap();
            let path = self.world.inside().join(disk(one));
            let changes = match kind_of(&portcullis_tests::tree::state(&path)) {
                Some(Kind::Link) => Changes::new().with(change::delete(at())),
                Some(_) => Changes::new().with(change::chmod(at(), 0o700)),
                None if path.parent().unwrap().is_dir() => {
                    Changes::new().with(change::create(at(), "again\n"))
                }
                None => continue,
            };
            let changed = session.change(&changes).unwrap().changed;
            assert_eq!(changed.outcome, Outcome::Done);
        }
        drop(session);
        self.receipts();
    }
}

/// Every receipt of a run after the one of this number.
pub(crate) fn log(control: &mut Control, run: RunId, mut after: u64) -> Vec<Receipt> {
    let mut all = Vec::new();
    loop {
        let page = control.log(run, after).unwrap();
        let Some(last) = page.last() else {
            return all;
        };
        after = last.id.number;
        all.extend(page);
    }
}

/// Where a name is on disk, below the root.
pub(crate) fn disk(touched: &Touched) -> &Path {
    Path::new(os(touched.path.as_bytes()))
}

impl Ran {
    /// The receipt that came with the answer.
    pub(crate) fn told(&self) -> Option<&Changed> {
        match &self.answer {
            Ok(changed) => Some(changed),
            Err(error) => error.receipt(),
        }
    }

    /// The last receipt on record says what the answer said, and the truth.
    pub(crate) fn is_recorded(&self) {
        let Some(told) = self.told() else {
            assert_eq!(self.receipts, Vec::new(), "refused, and on record");
            return;
        };
        let [receipt] = self.receipts.as_slice() else {
            panic!("one receipt: {:#?}", self.receipts);
        };
        assert_eq!(receipt.id, told.receipt);
        let end = &receipt.end;
        assert_eq!(
            (end.outcome, end.guarantee, &end.touched, &end.refusal),
            (told.outcome, told.guarantee, &told.touched, &told.refusal)
        );
        assert_eq!(end.left, told.left);
        self.is_true(receipt);
    }

    /// Every name is as the receipt says, before and after.
    pub(crate) fn is_true(&self, receipt: &Receipt) {
        for touched in receipt.end.touched.as_slice() {
            let path = disk(touched);
            let (was, is) = (self.before.at(path), self.after.at(path));
            if touched.before == PathState::Unknown {
                // What was not changed and cannot be looked at.
                let said = (receipt.end.outcome, touched.after);
                assert_eq!(said, (Outcome::Failed, PathState::Unknown));
                continue;
            }
            assert!(touched.before.agrees(&was), "{touched:#?} was {was:#?}");
            match touched.after {
                PathState::Unknown => assert_eq!(receipt.end.outcome, Outcome::Uncertain),
                PathState::Absent | PathState::Present(_) => {
                    assert!(touched.after.agrees(&is), "{touched:#?} is {is:#?}");
                }
            }
        }
        self.is_untouched_elsewhere(receipt.end.touched.as_slice());
    }

    /// What no name of these leads to or through is the same object as before, in every respect.
    fn is_untouched_elsewhere(&self, touched: &[Touched]) {
        let elsewhere = |tree: &Tree| -> BTreeMap<PathBuf, PathState> {
            let is_touched = |path: &Path| {
                touched
                    .iter()
                    .any(|touched| path.starts_with(disk(touched)))
            };
            let mut names = tree.names.clone();
            names.retain(|path, _| !is_touched(path));
            names
        };
        assert_eq!(elsewhere(&self.before), elsewhere(&self.after));
    }

    /// The answer says of every name what is there.
    pub(crate) fn is_all_told(&self) {
        let touched = self
            .told()
            .into_iter()
            .flat_map(|told| told.touched.as_slice());
        let known = |one: &Touched| ![one.before, one.after].contains(&PathState::Unknown);
        assert!(touched.into_iter().all(known), "{:#?}", self.told());
    }

    /// Nothing was changed: every object is the same, and has all it had.
    pub(crate) fn is_unchanged(&self) {
        assert_eq!(self.before.names, self.after.names);
    }

    /// Whether the answer is a refusal before anything was begun.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(
            self.answer.as_ref().map_err(Error::code),
            Err(ErrorCode::Refused(_))
        )
    }
}
