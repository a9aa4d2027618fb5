//! A patch applied by git, and by a session.

use super::diffs::program;
use super::tree::Tree;
use super::{Case, Desk};
use portcullis_client::patch::{Format, parse};
use portcullis_client::{Changed, Changes, MintOrder, Session};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session;
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::World;
use portcullis_tests::patient::patiently;
use std::path::Path;

/// What became of a patch.
#[derive(Debug)]
pub(super) enum Verdict {
    Applied,
    /// What was said.
    Refused(String),
}

/// What git made of it.
#[derive(Debug)]
pub(super) struct Theirs {
    pub(super) verdict: Verdict,
    pub(super) after: Tree,
}

/// What a session made of it.
#[derive(Debug)]
pub(super) struct Ours {
    pub(super) verdict: Verdict,
    pub(super) after: Tree,
    /// The changes, and where they matched.
    pub(super) done: Option<(Changes, session::Changed)>,
}

/// A session with every verb on a directory.
pub(super) fn session(world: &mut World, inside: &Path) -> Session {
    let name = inside.parent().unwrap().file_name().unwrap();
    let root = world.seal(inside, &format!("desk-{}", name.to_str().unwrap()));
    let order =
        MintOrder::new("tester")
            .root(root, None)
            .grant(root, RelPath::root(), VerbSet::ALL);
    world.control.mint(&order).unwrap().1
}

/// What `git apply` does, with what only the maker of the patch knows: how names begin, and that
/// there is no context.
pub(super) fn git(desk: &Desk, case: &Case) -> Theirs {
    case.target.write(&desk.beside);
    let patch = desk.scratch.join("patch");
    std::fs::write(&patch, &case.patch).unwrap();
    let mut command = program("git", &desk.beside);
    command.args(["apply", "--whitespace=nowarn", case.style.strip()]);
    if case.style.context == 0 {
        command.arg("--unidiff-zero");
    }
    let output = command.arg(&patch).output().unwrap();
    let verdict = if output.status.success() {
        Verdict::Applied
    } else {
        Verdict::Refused(String::from_utf8_lossy(&output.stderr).into_owned())
    };
    Theirs {
        verdict,
        after: Tree::read(&desk.beside),
    }
}

/// What a session does with the patch of a case.
pub(super) fn ours(desk: &mut Desk, case: &Case) -> Ours {
    case.target.write(&desk.inside);
    apply(desk, &case.patch)
}

/// What a session does with a patch, with the tree as it is.
pub(super) fn apply(desk: &mut Desk, patch: &[u8]) -> Ours {
    let refused = |what: String, inside: &Path| Ours {
        verdict: Verdict::Refused(what),
        after: Tree::read(inside),
        done: None,
    };
    let changes = match parse(patch, Format::Unified, None) {
        Ok(changes) => changes,
        Err(error) => return refused(error.to_string(), &desk.inside),
    };
    match patiently(&mut desk.session, &changes) {
        Ok(changed) => Ours {
            verdict: Verdict::Applied,
            after: Tree::read(&desk.inside),
            done: Some((changes, changed.changed)),
        },
        Err(error) => {
            assert_eq!(error.changed(), Changed::Unchanged, "{error}");
            refused(error.to_string(), &desk.inside)
        }
    }
}
