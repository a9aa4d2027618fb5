//! What a client asks, and what it is answered: the same for Portcullis and for the naive server.

use portcullis_client::protocol::session::{Changed, Deletion, Expect, Onto, Parents, Selector};
use portcullis_client::{Changes, Error, ErrorCode, Session, ask, change};

pub(crate) fn at(path: &str) -> Selector {
    ask::selector(path).unwrap()
}

/// One request: how it is counted, and what it asks for in its nth round.
#[derive(Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) verb: &'static str,
    pub(crate) build: fn(u64) -> Changes,
}

/// What came of a request.
#[derive(Debug)]
pub(crate) enum Answer {
    Done(Changed),
    Failed(Changed),
    Uncertain(Changed),
    /// With its code.
    Refused(&'static str),
}

impl Answer {
    /// How it is counted.
    pub(crate) fn name(&self) -> String {
        let code = |changed: &Changed| {
            let refusal = changed.refusal.as_ref();
            refusal.map_or("for no reason", |refusal| refusal.code.name())
        };
        match self {
            Self::Done(_) => "done".to_owned(),
            Self::Failed(changed) => format!("failed {}", code(changed)),
            Self::Uncertain(changed) => format!("uncertain {}", code(changed)),
            Self::Refused(code) => format!("refused {code}"),
        }
    }

    /// Temporaries that it says are left.
    pub(crate) fn left(&self) -> u32 {
        match self {
            Self::Done(changed) | Self::Failed(changed) | Self::Uncertain(changed) => changed.left,
            Self::Refused(_) => 0,
        }
    }
}

pub(crate) fn make(session: &mut Session, changes: &Changes) -> Answer {
    match session.change(changes) {
        Ok(made) => Answer::Done(made.changed),
        Err(error) => ended(error),
    }
}

fn ended(error: Error) -> Answer {
    match error.code() {
        ErrorCode::Failed(changed) => Answer::Failed((**changed).clone()),
        ErrorCode::Uncertain(changed) => Answer::Uncertain((**changed).clone()),
        _ => match error.refusal() {
            Some(refusal) => Answer::Refused(refusal.code.name()),
            None => panic!("the connection broke: {error}"),
        },
    }
}

fn content(n: u64) -> String {
    format!("worker's version {n}\nline\n")
}

/// Requests on the files and directories that [`crate::scenario::furnish`] makes in `d`.
pub(crate) const IN_D: &[Ask] = &[
    Ask {
        verb: "create",
        build: |n| Changes::new().with(change::create(at("d/new"), content(n))),
    },
    Ask {
        verb: "replace",
        build: |n| Changes::new().with(change::write(at("d/file"), content(n))),
    },
    Ask {
        verb: "edit",
        build: |n| Changes::new().with(edit("d/file", n)),
    },
    Ask {
        verb: "mkdir",
        build: |_| Changes::new().with(change::mkdir(at("d/made"))),
    },
    Ask {
        verb: "mkdir -p",
        build: |_| {
            let mut deep = change::mkdir(at("d/deep/er"));
            deep.parents = Parents::Make;
            Changes::new().with(deep)
        },
    },
    Ask {
        verb: "move",
        build: |_| Changes::new().with(change::rename(at("d/file"), at("d/moved"))),
    },
    Ask {
        verb: "move in",
        build: |_| Changes::new().with(change::rename(at("away"), at("d/moved"))),
    },
    Ask {
        verb: "move dir",
        build: |_| Changes::new().with(change::rename(at("d/sub"), at("sub"))),
    },
    Ask {
        verb: "delete",
        build: |_| Changes::new().with(change::delete(at("d/file"))),
    },
    Ask {
        verb: "rmdir",
        build: |_| Changes::new().with(remove("d/empty", Deletion::Directory)),
    },
    Ask {
        verb: "tree",
        build: |_| Changes::new().with(remove("d/tree", Deletion::Tree)),
    },
    Ask {
        verb: "chmod",
        build: |n| Changes::new().with(change::chmod(at("d/file"), mode(n))),
    },
    Ask {
        verb: "link",
        build: |_| Changes::new().with(change::link(at("d/link"), "file").unwrap()),
    },
];

/// Requests on one file, `file`, beside which there may be others.
pub(crate) const ON_FILE: &[Ask] = &[
    Ask {
        verb: "replace",
        build: |n| Changes::new().with(change::write(at("file"), content(n))),
    },
    Ask {
        verb: "edit",
        build: |n| Changes::new().with(edit("file", n)),
    },
    Ask {
        verb: "delete",
        build: |_| Changes::new().with(change::delete(at("file"))),
    },
    Ask {
        verb: "move",
        build: |_| Changes::new().with(change::rename(at("file"), at("moved"))),
    },
    Ask {
        verb: "onto",
        build: |_| Changes::new().with(onto("source", "file")),
    },
    Ask {
        verb: "chmod",
        build: |n| Changes::new().with(change::chmod(at("file"), mode(n))),
    },
    Ask {
        verb: "set",
        // Two changes: when the second cannot be made, the first is taken back.
        build: |n| {
            Changes::new()
                .with(change::write(at("file"), content(n)))
                .with(change::rename(at("source"), at("moved")))
        },
    },
];

/// Sets whose changes follow each other on `file`, with `source` beside it.
pub(crate) const COMPOSED: &[Ask] = &[
    Ask {
        verb: "swap",
        build: |_| swap("file", "source"),
    },
    Ask {
        verb: "swap-edit",
        build: |n| swap("file", "source").with(edit("source", n)),
    },
    Ask {
        verb: "again",
        build: |n| {
            Changes::new()
                .with(change::delete(at("file")))
                .with(change::create(at("file"), content(n)))
        },
    },
    Ask {
        verb: "move-edit",
        build: |n| {
            Changes::new()
                .with(change::rename(at("file"), at("moved")))
                .with(edit("moved", n))
        },
    },
    Ask {
        verb: "chain",
        build: |n| {
            Changes::new()
                .with(onto("file", "source"))
                .with(change::create(at("file"), content(n)))
        },
    },
];

/// Two names exchanged by way of a third.
fn swap(one: &str, other: &str) -> Changes {
    Changes::new()
        .with(change::rename(at(one), at("third")))
        .with(change::rename(at(other), at(one)))
        .with(change::rename(at("third"), at(other)))
}

/// Requests that give `new` to something, and never to the cost of what has the name.
pub(crate) const ON_NEW: &[Ask] = &[
    Ask {
        verb: "create",
        build: |n| Changes::new().with(change::create(at("new"), content(n))),
    },
    Ask {
        verb: "mkdir",
        build: |_| Changes::new().with(change::mkdir(at("new"))),
    },
    Ask {
        verb: "move",
        build: |_| Changes::new().with(change::rename(at("source"), at("new"))),
    },
    Ask {
        verb: "link",
        build: |_| Changes::new().with(change::link(at("new"), "source").unwrap()),
    },
    Ask {
        verb: "set",
        // The second fails now and then, so that a newcomer meets the way back as well.
        build: |n| {
            Changes::new()
                .with(change::create(at("other"), content(n)))
                .with(change::rename(at("source"), at("new")))
        },
    },
];

/// Requests that rename `a` onto `b`, which is now and then a hard link of it.
pub(crate) const ONTO: &[Ask] = &[
    Ask {
        verb: "onto",
        build: |_| Changes::new().with(onto("a", "b")),
    },
    Ask {
        verb: "move",
        build: |_| Changes::new().with(change::rename(at("a"), at("b"))),
    },
    Ask {
        verb: "edit",
        build: |n| Changes::new().with(edit("b", n)),
    },
];

/// The request that removes `d/tree`.
pub(crate) const TREE: &[Ask] = &[Ask {
    verb: "tree",
    build: |_| Changes::new().with(remove("d/tree", Deletion::Tree)),
}];

/// Requests in `x/hooks`, whose path another session makes a denied one.
pub(crate) const IN_HOOKS: &[Ask] = &[
    Ask {
        verb: "create",
        build: |n| Changes::new().with(change::create(at("x/hooks/new"), content(n))),
    },
    Ask {
        verb: "mkdir",
        build: |_| Changes::new().with(change::mkdir(at("x/hooks/made"))),
    },
    Ask {
        verb: "link",
        build: |_| Changes::new().with(change::link(at("x/hooks/link"), "file").unwrap()),
    },
    Ask {
        verb: "replace",
        build: |n| Changes::new().with(change::write(at("x/hooks/file"), content(n))),
    },
    Ask {
        verb: "move in",
        build: |_| Changes::new().with(change::rename(at("away"), at("x/hooks/moved"))),
    },
    Ask {
        verb: "delete",
        build: |_| Changes::new().with(change::delete(at("x/hooks/file"))),
    },
    Ask {
        verb: "chmod",
        build: |n| Changes::new().with(change::chmod(at("x/hooks/file"), mode(n))),
    },
];

pub(crate) fn edit(path: &str, n: u64) -> change::Edit {
    change::replace(at(path), "line\n", format!("edit {n}\nline\n"))
}

pub(crate) fn remove(
    path: &str,
    what: Deletion,
) -> portcullis_client::protocol::session::DeleteObject {
    let mut delete = change::delete(at(path));
    delete.what = what;
    delete
}

pub(crate) fn onto(source: &str, path: &str) -> portcullis_client::protocol::session::MoveObject {
    let mut order = change::rename(at(source), at(path));
    order.onto = Onto::Replace(Expect::Any);
    order
}

fn mode(n: u64) -> u16 {
    if n.is_multiple_of(2) { 0o600 } else { 0o640 }
}
