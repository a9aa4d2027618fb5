//! Change sets made by a real gate in a real directory: after each the tree is what the changes
//! come to one after the other, or what it was. Nothing else has a name, what no change concerns
//! is the object it was, and every read answers what is there.
#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use portcullis_client::{Changes, Error, ErrorCode, Made, Session};
use portcullis_fuzz::commit::disk::{Disk, Identity, Node, Tree};
use portcullis_fuzz::commit::gate::{Gate, Meddling};
use portcullis_fuzz::commit::known::Known;
use portcullis_fuzz::commit::made::{self, Deed, Planned};
use portcullis_fuzz::commit::model::{No, Run, digest};
use portcullis_fuzz::commit::read;
use portcullis_gate::sys::fault::{Fault, arm_again};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Outcome, Touched};
use portcullis_protocol::view::{Kind, PathState};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

static DISK: LazyLock<Arc<Disk>> = LazyLock::new(|| Arc::new(Disk::new()));

fuzz_target!(|input: &[u8]| {
    let bytes = made::lasting(input);
    let mut u = Unstructured::new(&bytes);
    let Ok(tree) = made::tree(&mut u) else {
        return;
    };
    DISK.lay_out(&tree);
    let (gate, session) = Gate::start(&DISK);
    let mut bench = Bench {
        gate: &gate,
        session,
        tree,
        known: Known::default(),
    };
    for _ in 0..12 {
        if bench.next(&mut u).is_err() {
            break;
        }
    }
    drop(bench);
    gate.end();
});

struct Bench<'g> {
    gate: &'g Gate,
    session: Session,
    /// What is there.
    tree: Tree,
    /// What the session can know.
    known: Known,
}

/// How a set ended.
#[derive(Debug)]
enum End {
    Done(Vec<Touched>),
    Unmade(Code),
    /// A call failed where nothing could be said any more.
    Unknown,
}

impl Bench<'_> {
    fn next(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match made::deed(u, &self.tree)? {
            Deed::List => read::list(&mut self.session, &self.tree),
            Deed::Read { name, read } => {
                let Self {
                    session,
                    tree,
                    known,
                    ..
                } = self;
                read::read(session, tree, known, (name, &read));
            }
            Deed::Change {
                changes,
                meddling,
                fault,
                planned,
            } => {
                match planned {
                    Planned::Before => self.plan(&changes),
                    Planned::No => {}
                }
                self.change(&changes, meddling, fault);
            }
        }
        Ok(())
    }

    /// A dry run leaves everything as it is.
    fn plan(&mut self, changes: &Changes) {
        let before = DISK.identities();
        let planned = self.session.plan(changes);
        assert_eq!(DISK.read(), self.tree, "{changes:?}");
        assert_eq!(DISK.identities(), before, "{changes:?}");
        match planned {
            Ok(plan) => {
                let run = follow(&self.tree, changes).expect("what must be refused is planned");
                told(plan.planned.touched.as_slice(), [&self.tree, &run.tree()]);
            }
            Err(error) => drop(code(&error)),
        }
    }

    fn change(
        &mut self,
        changes: &Changes,
        meddling: Option<Meddling>,
        fault: Option<(u32, Fault)>,
    ) {
        let wish = meddling.clone();
        {
            let mut watch = self.gate.watch.lock().expect("a whole watch");
            watch.tree.clone_from(&self.tree);
            (watch.meddling, watch.meddled) = (meddling, false);
            (watch.faulty, watch.left) = (fault.is_some(), 0);
        }
        let before = DISK.identities();
        arm_again(fault);
        let end = ended(self.session.change(changes));
        arm_again(None);
        let (base, meddled) = {
            let mut watch = self.gate.watch.lock().expect("a whole watch");
            watch.meddling = None;
            if watch.left > 0 {
                assert!(DISK.clean() <= watch.left, "more is left than is told");
            }
            (std::mem::take(&mut watch.tree), watch.meddled)
        };
        let is = DISK.read();
        let undisturbed = !meddled && fault.is_none();
        match end {
            End::Unmade(code) => {
                assert_eq!(is, base, "{code:?} of {changes:#?}");
                // What somebody else changed is another object.
                if !meddled {
                    same(&before, &DISK.identities(), fault.is_some());
                }
                if undisturbed {
                    self.refused(changes, code);
                }
            }
            End::Done(touched) => {
                self.made(changes, [&base, &is], wish.filter(|_| meddled));
                if undisturbed {
                    told(&touched, [&self.tree, &is]);
                    alone(&touched, &before, changes);
                }
            }
            End::Unknown => {
                assert!(fault.is_some(), "nothing failed: {changes:#?}");
                // Whatever it wrote is no secret.
                for content in is.values() {
                    if let Node::File { content, .. } = content {
                        self.known.wrote(content);
                    }
                }
            }
        }
        self.tree = is;
    }

    /// A set is refused for a reason.
    fn refused(&self, changes: &Changes, code: Code) {
        let Ok(run) = follow(&self.tree, changes) else {
            return;
        };
        let unseen = run
            .given_up
            .iter()
            .any(|content| !self.known.has_whole(content));
        let fits = match code {
            // What each of several may, all of them together may not.
            Code::Collision => changes.items().len() > 1 || !run.changes_anything(),
            Code::NotSeen | Code::Conflict => unseen || believes(changes),
            Code::Exists | Code::HardLinked => !run.changes_anything(),
            _ => false,
        };
        assert!(
            fits,
            "{code:?} without a reason: {changes:#?} of {:#?}",
            self.tree
        );
    }

    /// A set is made as its changes come to one after the other.
    fn made(&mut self, changes: &Changes, [base, is]: [&Tree; 2], meddled: Option<Meddling>) {
        let run = follow(base, changes);
        let right = run.as_ref().is_ok_and(|run| run.tree() == *is);
        let run = if right {
            run.expect("it is right")
        } else {
            // Or what was done meanwhile was as good as done after it.
            let first = follow(&self.tree, changes).expect("what must be refused is made");
            let tree = first.tree();
            let then = meddled.and_then(|meddling| meddling.of(&tree));
            assert_eq!(*is, then.unwrap_or(tree), "{changes:#?}");
            first
        };
        for content in &run.given_up {
            assert!(self.known.has_whole(content), "unseen: {changes:#?}");
        }
        for (content, old) in run.made() {
            match old {
                None => self.known.wrote(&content),
                Some(old) => self.known.edited(&old, &content),
            }
        }
    }
}

/// What changes come to one after the other.
fn follow<'t>(tree: &'t Tree, changes: &Changes) -> std::result::Result<Run<'t>, No> {
    let mut run = Run::new(tree);
    for item in changes.items() {
        run.step(item)?;
    }
    Ok(run)
}

/// Whether a change asks for what was seen.
fn believes(changes: &Changes) -> bool {
    format!("{changes:?}").contains("Seen")
}

fn ended(answer: std::result::Result<Made, Error>) -> End {
    match answer {
        Ok(made) => {
            assert_eq!(made.changed.outcome, Outcome::Done);
            End::Done(made.changed.touched.as_slice().to_vec())
        }
        Err(error) => match error.code() {
            ErrorCode::Uncertain(_) => End::Unknown,
            _ => End::Unmade(code(&error)),
        },
    }
}

/// Why nothing was changed; anything else is a fault.
fn code(error: &Error) -> Code {
    match error.code() {
        ErrorCode::Refused(refusal) => refusal.code,
        ErrorCode::Failed(changed) => changed.refusal.as_ref().expect("a reason").code,
        _ => panic!("{error:?}"),
    }
}

/// Every object is what it was, though it may have had another name for a moment where a call
/// failed.
fn same(before: &BTreeMap<String, Identity>, after: &BTreeMap<String, Identity>, undone: bool) {
    if undone {
        let plain = |all: &BTreeMap<String, Identity>| -> Vec<_> {
            let each = all.iter();
            each.map(|(name, (inode, written, _))| (name.clone(), *inode, *written))
                .collect()
        };
        assert_eq!(plain(before), plain(after));
    } else {
        assert_eq!(before, after);
    }
}

/// Every name that changed is told once, with what was there and what is.
fn told(touched: &[Touched], [before, after]: [&Tree; 2]) {
    let mut names = BTreeSet::new();
    for one in touched {
        let name = std::str::from_utf8(one.path.as_bytes()).expect("a name of ours");
        assert!(names.insert(name), "{name} is told twice");
        for (state, tree) in [(&one.before, before), (&one.after, after)] {
            assert!(
                is_told(state, tree.get(name)),
                "{one:?}: {:?}",
                tree.get(name)
            );
        }
    }
    for name in before.keys().chain(after.keys()) {
        let covers = |top: &str| {
            let rest = name.strip_prefix(top);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_told = names.iter().any(|top| covers(top));
        assert!(
            is_told || before.get(name) == after.get(name),
            "{name} is not told"
        );
    }
}

fn is_told(state: &PathState, node: Option<&Node>) -> bool {
    let PathState::Present(present) = state else {
        return *state == PathState::Absent && node.is_none();
    };
    let file = |content: &[u8]| {
        present.size == content.len() as u64 && present.digest == Some(digest(content))
    };
    match node {
        Some(Node::File { content, mode }) => {
            present.kind == Kind::File && present.mode == *mode && file(content)
        }
        Some(Node::Directory { mode }) => present.kind == Kind::Directory && present.mode == *mode,
        Some(Node::Link(text)) => present.kind == Kind::Link && file(text),
        None => false,
    }
}

/// What is not told of is the object it was, untouched.
fn alone(touched: &[Touched], before: &BTreeMap<String, Identity>, changes: &Changes) {
    let after = DISK.identities();
    let is_told = |name: &str| {
        touched.iter().any(|one| {
            let rest = name.as_bytes().strip_prefix(one.path.as_bytes());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        })
    };
    for (name, was) in before.iter().filter(|(name, _)| !is_told(name)) {
        assert_eq!(
            after.get(name),
            Some(was),
            "{name} was touched by {changes:#?}"
        );
    }
}
