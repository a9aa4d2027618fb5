//! Names that a change touches, one line each.

use super::show;
use portcullis_protocol::session::{RootView, Touched};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Kind, PathState, Present};

/// What was done, or would be: one line for each name, and one for both names of a move.
pub fn done(touched: &[Touched], roots: &[RootView]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut taken = vec![false; touched.len()];
    for (at, one) in touched.iter().enumerate() {
        if taken.get(at) == Some(&true) {
            continue;
        }
        let to = (one.verb == Verb::Move && one.after == PathState::Absent)
            .then(|| arrival(touched, at, &taken))
            .flatten();
        match to {
            Some((to_at, to)) => {
                if let Some(place) = taken.get_mut(to_at) {
                    *place = true;
                }
                let from = name(one, &one.before, roots);
                lines.push(format!("moved {from} -> {}", name(to, &to.after, roots)));
            }
            None => lines.push(line(one, roots)),
        }
    }
    lines
}

/// The name an object moved to: the next one of a move where something is afterwards.
fn arrival<'t>(
    touched: &'t [Touched],
    from: usize,
    taken: &[bool],
) -> Option<(usize, &'t Touched)> {
    let later = touched.iter().enumerate().skip(from + 1);
    later
        .filter(|(at, _)| taken.get(*at) == Some(&false))
        .find(|(_, to)| to.verb == Verb::Move && matches!(to.after, PathState::Present(_)))
}

fn line(one: &Touched, roots: &[RootView]) -> String {
    match (&one.before, &one.after) {
        (PathState::Absent, PathState::Present(now)) => {
            let made = if now.kind == Kind::Link {
                "linked"
            } else {
                "created"
            };
            format!("{made} {}", name(one, &one.after, roots))
        }
        (PathState::Present(_), PathState::Absent) => {
            format!("deleted {}", name(one, &one.before, roots))
        }
        (PathState::Present(was), PathState::Present(now)) => replaced(one, was, now, roots),
        (PathState::Absent, PathState::Absent) => {
            format!("unchanged {}", name(one, &one.after, roots))
        }
        (PathState::Unknown, _) | (_, PathState::Unknown) => state(one, roots),
    }
}

fn replaced(one: &Touched, was: &Present, now: &Present, roots: &[RootView]) -> String {
    let name = name(one, &one.after, roots);
    let done = match one.verb {
        Verb::Edit => "edited",
        Verb::Chmod => return format!("mode {:o} -> {:o} {name}", was.mode, now.mode),
        // Nothing replaces a directory: it was as wanted already.
        Verb::Mkdir => return format!("unchanged {name}"),
        Verb::Stat
        | Verb::Read
        | Verb::List
        | Verb::Glob
        | Verb::Search
        | Verb::Write
        | Verb::Move
        | Verb::Delete
        | Verb::DeleteTree
        | Verb::Link => "replaced",
    };
    if was.mode == now.mode {
        format!("{done} {name}")
    } else {
        format!("{done} {name}, mode {:o} -> {:o}", was.mode, now.mode)
    }
}

/// What was seen of each name, for an effect that is not done.
pub fn states(touched: &[Touched], roots: &[RootView]) -> Vec<String> {
    touched.iter().map(|one| state(one, roots)).collect()
}

fn state(one: &Touched, roots: &[RootView]) -> String {
    format!(
        "{}: was {}, is {}",
        name(one, &PathState::Unknown, roots),
        said(&one.before),
        said(&one.after)
    )
}

fn said(state: &PathState) -> String {
    match state {
        PathState::Absent => "absent".to_owned(),
        PathState::Unknown => "not known".to_owned(),
        PathState::Present(now) => match now.kind {
            Kind::File => format!("a file of {} bytes, mode {:o}", now.size, now.mode),
            Kind::Directory
            | Kind::Link
            | Kind::Fifo
            | Kind::Socket
            | Kind::Device
            | Kind::Unknown => format!("a {}", now.kind.name()),
        },
    }
}

/// The name as it is shown, with the root when it is not the first.
fn name(one: &Touched, state: &PathState, roots: &[RootView]) -> String {
    let kind = match state {
        PathState::Present(present) => present.kind,
        PathState::Absent | PathState::Unknown => Kind::Unknown,
    };
    let shown = show::name(one.path.as_kernel_bytes(), kind);
    match (one.root.0, roots.get(usize::from(one.root.0))) {
        (0, _) => shown,
        (_, Some(root)) => format!("/{}/{shown}", root.label),
        (index, None) => format!("root {index}: {shown}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_protocol::authority::Scope;
    use portcullis_protocol::path::{Label, RelPath};
    use portcullis_protocol::view::RootIndex;

    fn is(kind: Kind, mode: u16) -> PathState {
        PathState::Present(Present {
            kind,
            mode,
            size: 3,
            digest: None,
            stamp: None,
        })
    }

    fn touch(verb: Verb, path: &str, before: PathState, after: PathState) -> Touched {
        Touched {
            verb,
            root: RootIndex(0),
            path: RelPath::parse(path.as_bytes()).unwrap(),
            before,
            after,
        }
    }

    #[test]
    fn a_directory_that_is_there_already_is_not_said_to_be_replaced() {
        let there = is(Kind::Directory, 0o755);
        let made = touch(Verb::Mkdir, "d", PathState::Absent, there);
        let found = touch(Verb::Mkdir, "d", there, there);
        assert_eq!(done(&[made, found], &[]), ["created d/", "unchanged d/"]);
    }

    #[test]
    fn each_name_is_one_line_and_a_move_is_one() {
        let (file, absent) = (is(Kind::File, 0o644), PathState::Absent);
        let touched = [
            touch(Verb::Write, "new\n", absent, file),
            touch(Verb::Write, "w", file, is(Kind::File, 0o755)),
            touch(Verb::Edit, "e", file, file),
            touch(Verb::Move, "a", file, absent),
            touch(Verb::Mkdir, "d", absent, is(Kind::Directory, 0o755)),
            touch(Verb::Move, "d/b", absent, file),
            touch(Verb::Move, "x", is(Kind::Directory, 0o755), absent),
            touch(Verb::Move, "y", absent, is(Kind::Directory, 0o755)),
            touch(Verb::Delete, "gone", file, absent),
            touch(Verb::DeleteTree, "t", is(Kind::Directory, 0o755), absent),
            touch(Verb::Chmod, "c", file, is(Kind::File, 0o600)),
            touch(Verb::Link, "l", absent, is(Kind::Link, 0o777)),
            touch(Verb::Move, "odd", file, absent),
            touch(Verb::Write, "u", file, PathState::Unknown),
        ];
        assert_eq!(
            done(&touched, &[]),
            [
                "created new\\x0a",
                "replaced w, mode 644 -> 755",
                "edited e",
                "moved a -> d/b",
                "created d/",
                "moved x/ -> y/",
                "deleted gone",
                "deleted t/",
                "mode 644 -> 600 c",
                "linked l",
                "deleted odd",
                "u: was a file of 3 bytes, mode 644, is not known",
            ]
        );
    }

    #[test]
    fn another_root_is_named() {
        let mut one = touch(Verb::Write, "a", PathState::Absent, is(Kind::File, 0o644));
        one.root = RootIndex(1);
        let root = |label| RootView {
            label: Label::new(label).unwrap(),
            scope: Scope::Workspace,
        };
        let roots = [root("one"), root("two")];
        assert_eq!(done(&[one.clone()], &roots), ["created /two/a"]);
        assert_eq!(done(&[one], &[]), ["created root 1: a"]);
    }
}
