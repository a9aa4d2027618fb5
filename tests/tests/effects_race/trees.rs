//! A tree is removed while somebody outside the broker works in it.

use crate::attack::{Attack, Event};
use crate::drive::TREE;
use crate::scenario::{PART, Scenario, furnish, pace};
use portcullis_tests::naive::Style;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// Holds directories of the tree open, fills one, and swaps it with a link out of the root.
struct Inhabit {
    tree: PathBuf,
    held: Option<(OwnedFd, OwnedFd)>,
    next: u64,
}

impl Inhabit {
    fn hold(&self) -> Result<(OwnedFd, OwnedFd), Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let tree = openat(CWD, &self.tree, flags, Mode::empty())?;
        let below = openat(&tree, "a", flags, Mode::empty())?;
        Ok((tree, below))
    }
}

impl Attack for Inhabit {
    fn turn(&mut self, _: &mut Vec<Event>) {
        if self.held.is_none() {
            self.held = self.hold().ok();
        }
        let Some((tree, below)) = &self.held else {
            return;
        };
        self.next += 1;
        if self.next.is_multiple_of(3) {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let name = format!("new-{}", self.next);
            // It fails when the directory is gone.
            if let Ok(file) = openat(below, &name, flags, Mode::RUSR | Mode::WUSR) {
                rustix::io::write(&file, PART).unwrap();
            }
        } else {
            // It fails when one of them is gone.
            let flags = RenameFlags::EXCHANGE;
            renameat_with(tree, "a", tree, "link", flags).unwrap_or_default();
        }
    }

    fn home(&mut self, _: &mut Vec<Event>) {
        self.held = None;
    }
}

#[test]
fn a_tree_that_others_work_in_is_removed_without_leading_out() {
    Scenario {
        name: "tree removed while others are in it",
        asks: TREE,
        share: 2,
        furnish: |place, n| {
            place.nothing("inside/d/tree");
            furnish(place, n);
            for name in ["b", "b/c", "b/c/d", "z"] {
                place.directory(&format!("inside/d/tree/{name}"));
                place.part(&format!("inside/d/tree/{name}/part"));
            }
            place.link("../../../outside/d", "inside/d/tree/link");
        },
        mint: |order| order,
        attacks: |world| {
            vec![Box::new(Inhabit {
                tree: world.inside().join("d/tree"),
                held: None,
                next: 0,
            })]
        },
        pace: pace(24, 60),
        wanted: &[("tree", "done")],
        codes: &["contended"],
        caught: &["tree"],
        lead: 200,
        style: Style::Paths,
        fifos: &[],
    }
    .run();
}
