//! Nested roots: judged for each authority by ancestor identity, and made one root with subtrees.

use crate::root::{PATH_ONLY, SealError, SealedRoot, observe};
use portcullis_protocol::authority::RootIdentity;
use portcullis_protocol::limits::PATH_BYTES_MAX;
use portcullis_protocol::path::RelPath;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};

/// Steps up from a root at most: a path has no more components.
const STEPS_MAX: usize = PATH_BYTES_MAX / 2 + 1;

/// A root's place in another one of the same order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inside {
    /// Which root of the order holds it.
    pub(crate) outer: usize,
    /// Where. The empty path is the same directory.
    pub(crate) prefix: RelPath,
}

/// How the roots of one order stand to each other, each index one of the order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The roots that stay, in the order they have in the authority.
    pub(crate) kept: Vec<usize>,
    /// For each root of the order: the one it became a subtree of, if it did. What it is inside
    /// of is always kept.
    pub(crate) inside: Vec<Option<Inside>>,
}

/// Why roots do not make a layout. For the runtime: may name host things.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OverlapError {
    #[error("root {inner} lies in root {outer}, but not where both were sealed; seal them again")]
    Moved { inner: u64, outer: u64 },
    #[error("root {0} lies deeper than any path reaches")]
    TooDeep(u64),
    #[error("roots were moved into each other while the session was made")]
    Unsteady,
    #[error("the directories above root {root}: {errno}")]
    Kernel { root: u64, errno: Errno },
    #[error(transparent)]
    Observe(#[from] SealError),
}

/// Finds which roots lie in others. A root in a bind mount or on another mount than the outer
/// one is not inside of it: no name leads from the one to the other in a session.
pub(crate) fn layout(roots: &[&SealedRoot]) -> Result<Layout, OverlapError> {
    let mut first = BTreeMap::new();
    for (n, root) in roots.iter().enumerate() {
        first.entry(root.root().identity).or_insert(n);
    }
    let mut inside = Vec::with_capacity(roots.len());
    for (n, root) in roots.iter().enumerate() {
        let twin = first.get(&root.root().identity).copied().unwrap_or(n);
        inside.push(match outermost(root, &first)? {
            Some(outer) => Some(Inside {
                prefix: prefix(roots, n, outer)?,
                outer,
            }),
            None if twin != n => Some(Inside {
                outer: twin,
                prefix: RelPath::root(),
            }),
            None => None,
        });
    }
    arrange(inside).ok_or(OverlapError::Unsteady)
}

/// Puts each kept root where the first root it stands for was in the order.
fn arrange(inside: Vec<Option<Inside>>) -> Option<Layout> {
    let mut kept = Vec::new();
    for (n, place) in inside.iter().enumerate() {
        let stands = match place {
            None => n,
            Some(Inside { outer, .. }) => match inside.get(*outer)? {
                None => *outer,
                Some(_) => return None,
            },
        };
        if !kept.contains(&stands) {
            kept.push(stands);
        }
    }
    Some(Layout { kept, inside })
}

/// Walks up from a root on its own mount, and gives the last root it meets.
fn outermost(
    root: &SealedRoot,
    first: &BTreeMap<RootIdentity, usize>,
) -> Result<Option<usize>, OverlapError> {
    let start = root.root().identity;
    let mut found = None;
    climb(root, |there| {
        if there.mount != start.mount || there.device != start.device {
            return ControlFlow::Break(());
        }
        if let Some(outer) = first.get(there) {
            found = Some(*outer);
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Whether a root lies below the directory of this device and inode, on whatever mount. Where the
/// broker may not look further up this is an error: what cannot be seen may be denied.
pub(crate) fn lies_below(root: &SealedRoot, object: (u64, u64)) -> Result<bool, OverlapError> {
    let mut found = false;
    let top = climb(root, |there| {
        found = (there.device, there.inode) == object;
        if found {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    match top {
        Top::Reached | Top::Gone => Ok(found),
        Top::Closed => Err(OverlapError::Kernel {
            root: root.root().id.0,
            errno: Errno::ACCESS,
        }),
    }
}

/// How far a climb went.
enum Top {
    /// To the top of the tree, or as far as was wanted.
    Reached,
    /// To a directory that may not be searched.
    Closed,
    /// Nowhere: the root was deleted, and is inside of nothing.
    Gone,
}

/// Shows `visit` the directories above a root, innermost first, until it breaks.
fn climb(
    root: &SealedRoot,
    mut visit: impl FnMut(&RootIdentity) -> ControlFlow<()>,
) -> Result<Top, OverlapError> {
    let id = root.root().id.0;
    let mut here = root.root().identity;
    let mut held: Option<OwnedFd> = None;
    for _ in 0..STEPS_MAX {
        let from = held.as_ref().map_or(root.directory(), AsFd::as_fd);
        let above = match rustix::fs::openat(from, "..", PATH_ONLY, Mode::empty()) {
            Ok(above) => above,
            Err(Errno::ACCESS) => return Ok(Top::Closed),
            Err(Errno::NOENT) => return Ok(Top::Gone),
            Err(errno) => return Err(OverlapError::Kernel { root: id, errno }),
        };
        let there = observe(above.as_fd())?;
        if there == here || visit(&there).is_break() {
            return Ok(Top::Reached);
        }
        here = there;
        held = Some(above);
    }
    Err(OverlapError::TooDeep(id))
}

/// The path from an outer root to an inner one: computed from where they were sealed, and proved
/// by one resolution.
fn prefix(roots: &[&SealedRoot], inner: usize, outer: usize) -> Result<RelPath, OverlapError> {
    let (Some(inner), Some(outer)) = (roots.get(inner), roots.get(outer)) else {
        return Err(OverlapError::Unsteady);
    };
    let moved = || OverlapError::Moved {
        inner: inner.root().id.0,
        outer: outer.root().id.0,
    };
    let prefix = inner
        .root()
        .location
        .below(&outer.root().location)
        .and_then(|rest| RelPath::parse(rest).ok())
        .ok_or_else(moved)?;
    let reached = rustix::fs::openat2(
        outer.directory(),
        prefix.as_kernel_bytes(),
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV,
    )
    .map_err(|_| moved())?;
    if observe(reached.as_fd())? != inner.root().identity {
        return Err(moved());
    }
    Ok(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TempDir, sealed};

    fn path(text: &str) -> RelPath {
        RelPath::parse(text.as_bytes()).unwrap()
    }

    fn inside(outer: usize, prefix: &str) -> Option<Inside> {
        Some(Inside {
            outer,
            prefix: path(prefix),
        })
    }

    #[test]
    fn separate_roots_stay_as_they_are() {
        let dir = TempDir::new();
        let (a, b) = (sealed(1, &dir.make("a")), sealed(2, &dir.make("ab")));
        let layout = layout(&[&b, &a]).unwrap();
        assert_eq!(layout.kept, [0, 1]);
        assert_eq!(layout.inside, [None, None]);
    }

    #[test]
    fn an_inner_root_that_came_first_gives_its_place_to_the_outer_one() {
        let dir = TempDir::new();
        let inner = sealed(1, &dir.make("services/a"));
        let sibling = TempDir::new();
        let (other, outer) = (sealed(2, sibling.path()), sealed(3, dir.path()));
        let layout = layout(&[&inner, &other, &outer]).unwrap();
        assert_eq!(layout.kept, [2, 1]);
        assert_eq!(layout.inside, [inside(2, "services/a"), None, None]);
    }

    #[test]
    fn a_chain_of_roots_becomes_one() {
        let dir = TempDir::new();
        let c = sealed(3, &dir.make("a/b/c"));
        let b = sealed(2, &dir.make("a/b"));
        let a = sealed(1, &dir.make("a"));
        let other = sealed(4, &dir.make("x"));
        let layout = layout(&[&other, &b, &c, &a]).unwrap();
        assert_eq!(layout.kept, [0, 3]);
        assert_eq!(
            layout.inside,
            [None, inside(3, "b"), inside(3, "b/c"), None]
        );
    }

    #[test]
    fn the_same_directory_twice_is_one_root() {
        let dir = TempDir::new();
        let (one, two) = (sealed(1, dir.path()), sealed(2, dir.path()));
        let inner = sealed(3, &dir.make("in"));
        let layout = layout(&[&one, &two, &inner]).unwrap();
        assert_eq!(layout.kept, [0]);
        assert_eq!(layout.inside, [None, inside(0, ""), inside(0, "in")]);
    }

    #[test]
    fn a_root_that_moved_below_another_is_refused() {
        let dir = TempDir::new();
        let moving = dir.make("moving");
        let (inner, outer) = (sealed(1, &moving), sealed(2, &dir.make("outer")));
        std::fs::rename(&moving, dir.path().join("outer/moved")).unwrap();
        let refused = layout(&[&inner, &outer]);
        assert!(matches!(
            refused,
            Err(OverlapError::Moved { inner: 1, outer: 2 })
        ));
    }

    #[test]
    fn a_root_that_moved_inside_the_outer_one_is_refused() {
        let dir = TempDir::new();
        let (inner, outer) = (sealed(1, &dir.make("a")), sealed(2, dir.path()));
        std::fs::rename(dir.path().join("a"), dir.path().join("b")).unwrap();
        dir.make("a");
        assert!(matches!(
            layout(&[&outer, &inner]),
            Err(OverlapError::Moved { inner: 1, outer: 2 })
        ));
    }

    #[test]
    fn a_root_that_moved_out_is_no_longer_inside() {
        let dir = TempDir::new();
        let (inner, outer) = (sealed(1, &dir.make("o/a")), sealed(2, &dir.make("o")));
        std::fs::rename(dir.path().join("o/a"), dir.path().join("a")).unwrap();
        let layout = layout(&[&outer, &inner]).unwrap();
        assert_eq!(layout.kept, [0, 1]);
    }

    #[test]
    fn roots_inside_of_roots_that_are_themselves_inside_make_no_layout() {
        assert_eq!(arrange(vec![None, inside(0, "a"), inside(1, "b")]), None);
    }
}
