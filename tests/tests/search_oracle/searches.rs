//! Random searches on generated trees and on these sources.

use crate::compare::compare;
use crate::random::{Random, number, say};
use crate::request::draw;
use crate::rg::Rg;
use crate::tree::Git;
use crate::{flags, ours, tree};
use portcullis_client::protocol::session::Search;
use portcullis_tests::{World, own};
use std::path::Path;

/// Searches in all.
const CASES: usize = 500;
/// Generated trees that most of them are on.
const TREES: usize = 10;
/// Differences that are shown before the test gives up.
const SHOWN: usize = 8;

/// What came of some searches.
#[derive(Default)]
struct Came {
    searches: usize,
    refused: usize,
    /// Searches that found something.
    found: usize,
    differences: Vec<String>,
}

fn cases() -> usize {
    number("PORTCULLIS_ORACLE_CASES", CASES)
}

/// Runs `many` searches on what is in the root.
fn run(rg: &Rg, (world, git): (&mut World, Git), random: &mut Random, many: usize) -> Came {
    let mut opened = world.session();
    let inside = world.inside();
    let mut came = Came::default();
    for n in 0..many {
        let search = draw(random);
        came.searches += 1;
        let ours = ours::search(&mut opened.session, &search);
        let theirs = rg.search((&inside, git), &flags::search(&search), search.mode);
        let differs = match (ours, theirs) {
            (Ok((ours, _)), Ok(theirs)) => {
                came.found += usize::from(!ours.is_empty());
                compare(&search, &ours, &theirs)
            }
            (Err(_), Err(_)) => {
                came.refused += 1;
                None
            }
            (Ok(_), Err(error)) => Some(format!("only rg refuses: {error}")),
            (Err(error), Ok(_)) => Some(format!("only ours refuses: {error}")),
        };
        if let Some(differs) = differs {
            let what = describe(&inside, git, &search);
            came.differences
                .push(format!("case {n}: {differs}\n    {what}"));
        }
        if came.differences.len() >= SHOWN {
            break;
        }
    }
    came
}

fn describe(inside: &Path, git: Git, search: &Search) -> String {
    let flags = flags::search(search);
    let quoted = flags.iter().map(|flag| format!("{flag:?}"));
    format!(
        "in {}: {} {}",
        inside.display(),
        git.flag(),
        quoted.collect::<Vec<_>>().join(" ")
    )
}

/// Says what came; fails where anything differs, or hardly anything was found.
fn conclude(name: &str, world: &mut World, came: &Came) {
    say(&format!(
        "{name}: {} searches, {} found something, {} refused by both, {} differ",
        came.searches,
        came.found,
        came.refused,
        came.differences.len()
    ));
    if !came.differences.is_empty() {
        world.place.disable_cleanup(true);
        panic!("{name}:\n{}", came.differences.join("\n"));
    }
    assert!(
        came.found * 3 > came.searches,
        "{name}: patterns find nothing"
    );
}

#[test]
fn random_searches_of_generated_trees_are_those_of_rg() {
    let Some(rg) = Rg::here("a comparison on generated trees") else {
        return;
    };
    let random = Random::seeded("generated trees");
    for part in 0..TREES {
        let mut random = random.part(part);
        let mut world = World::new(own!("own-gate"));
        let git = Git::of(part);
        tree::generate(&mut random, &world.inside(), git);
        let many = (cases() * 4).div_ceil(5 * TREES);
        let came = run(&rg, (&mut world, git), &mut random, many);
        conclude(&format!("generated tree {part}"), &mut world, &came);
    }
}

#[test]
fn random_searches_of_these_sources_are_those_of_rg() {
    let Some(rg) = Rg::here("a comparison on these sources") else {
        return;
    };
    let mut random = Random::seeded("these sources").part(999);
    let mut world = World::new(own!("own-gate"));
    tree::sources(&world.inside());
    let came = run(
        &rg,
        (&mut world, Git::None),
        &mut random,
        cases().div_ceil(5),
    );
    conclude("these sources", &mut world, &came);
}
