//! Directories swapped with links, and moved out of the root and in again.

use crate::drive::Asks;
use crate::scenario::{Scenario, alone, fill, inodes, link};
use portcullis_tests::attack::{Swap, directory};
use portcullis_tests::{World, own};
use std::path::Path;

const DIRECTORY_WANTED: &[(&str, &str)] = &[
    ("read", "ok inside, INSIDE"),
    ("read", "refused escape"),
    ("stat", "ok inside, file"),
    ("stat", "refused escape"),
    ("list", "complete, with the files"),
    ("list", "refused escape"),
    ("list", "(a link seen as a link)"),
    ("glob", "complete, with the files"),
    ("glob", "refused escape"),
    ("search", "complete, with the files"),
    ("search", "refused escape"),
    ("search", "(something not regular passed over)"),
];

fn directory_and_link(name: &'static str, relative: bool) {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    fill(&world.inside().join("d"), "in-", "INSIDE\n");
    fill(&world.outside().join("d"), "out-", "OUTSIDE\n");
    let absolute = world.outside().join("d");
    let text = if relative {
        Path::new("../outside/d")
    } else {
        absolute.as_path()
    };
    link(text, world.inside().join("link"));
    Scenario {
        name,
        asks: Asks {
            files: vec!["d/file"],
            walks: vec!["d", "."],
            known: inodes(&world.inside()),
        },
        attack: |place| {
            vec![Swap::Exchange {
                directory: directory(place.join("inside")),
                names: ["d", "link"],
            }]
        },
        wanted: DIRECTORY_WANTED,
        refusals: &["escape", "contended"],
        caught: &["read", "stat", "list", "glob", "search"],
        denied: None,
        fifos: &[],
    }
    .run(&mut world);
}

#[test]
fn a_directory_swapped_with_a_relative_link_out_never_shows_what_is_outside() {
    directory_and_link("directory <-> relative link out", true);
}

#[test]
fn a_directory_swapped_with_an_absolute_link_out_never_shows_what_is_outside() {
    directory_and_link("directory <-> absolute link out", false);
}

#[test]
fn swaps_at_every_depth_at_once_never_show_what_is_outside() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    let (inside, outside) = (world.inside(), world.outside());
    fill(&inside.join("a/b/c"), "in-", "INSIDE\n");
    fill(&outside.join("a/b/c"), "out-", "OUTSIDE\n");
    link("../outside/a", inside.join("link"));
    link("../../outside/a/b", inside.join("a/link"));
    link("../../../outside/a/b/c", inside.join("a/b/link"));
    Scenario {
        name: "links out at every depth",
        asks: Asks {
            files: vec!["a/b/c/file"],
            walks: vec!["a/b", "."],
            known: inodes(&inside),
        },
        attack: |place| {
            [
                ("inside", ["a", "link"]),
                ("inside/a", ["b", "link"]),
                ("inside/a/b", ["c", "link"]),
            ]
            .map(|(at, names)| Swap::Exchange {
                directory: directory(place.join(at)),
                names,
            })
            .into()
        },
        wanted: &[
            ("read", "ok inside, INSIDE"),
            ("read", "refused escape"),
            ("stat", "ok inside, file"),
            ("stat", "refused escape"),
            ("list", "complete, with the files"),
            ("list", "refused escape"),
            ("glob", "complete, with the files"),
            ("search", "complete, with the files"),
            ("search", "refused escape"),
        ],
        refusals: &["escape", "contended"],
        caught: &["read", "stat", "list", "glob", "search"],
        denied: None,
        fifos: &[],
    }
    .run(&mut world);
}

#[test]
fn parents_moved_out_and_in_under_dot_dot_never_lead_out() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    let (inside, outside) = (world.inside(), world.outside());
    // `b/..` is `a` while `b` is at home, and the directory outside while it is away.
    fill(&inside.join("a"), "in-", "INSIDE\n");
    fill(&inside.join("a/b/c"), "in-", "INSIDE\n");
    fill(&outside, "out-", "OUTSIDE\n");
    Scenario {
        name: "parents moved out and in, with `..`",
        asks: Asks {
            files: vec!["a/b/../file", "a/b/c/../../file", "a/b/c/file"],
            walks: vec!["a/b/..", "a/b/c/..", "a"],
            known: inodes(&inside),
        },
        attack: |place| {
            vec![Swap::Shuttle {
                home: (directory(place.join("inside/a")), "b"),
                away: (directory(place.join("outside")), "in-b"),
            }]
        },
        wanted: &[
            ("read", "ok inside, INSIDE"),
            ("read", "refused not_found"),
            ("stat", "ok inside, file"),
            ("stat", "refused not_found"),
            ("list", "complete, with the files"),
            ("list", "refused not_found"),
            ("glob", "complete, with the files"),
            ("search", "complete, with the files"),
            ("search", "refused not_found"),
            ("search", "changed counted, with the files"),
        ],
        refusals: &["not_found", "contended"],
        caught: &["read", "stat"],
        denied: None,
        fifos: &[],
    }
    .run(&mut world);
}
