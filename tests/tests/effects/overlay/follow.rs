//! Sets at random: what a set leaves is what its changes leave, sent one after the other.

use super::{arena, chmod, create, delete, edit, link, mkdir, onto, remove, rename, write};
use crate::changeset::set;
use crate::trial::no_temporaries;
use portcullis_client::Error;
use portcullis_client::change::Item;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Deletion;
use portcullis_protocol::view::{Kind, PathState};
use portcullis_tests::tree::Tree;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const NAMES: [&str; 12] = [
    "a",
    "b",
    "c",
    "d",
    "d/x",
    "d/y",
    "n",
    "n/m",
    "n/m/k",
    "empty",
    "empty/o",
    "tree/deep/z",
];

fn any_item() -> impl Strategy<Value = Item> {
    let name = || proptest::sample::select(NAMES.as_slice());
    prop_oneof![
        3 => name().prop_map(|n| write(n, "written\n")),
        2 => name().prop_map(|n| create(n, "made\n")),
        3 => name().prop_map(|n| edit(n, "\n", " e\n")),
        2 => name().prop_map(mkdir),
        6 => (name(), name()).prop_map(|(from, to)| rename(from, to)),
        3 => (name(), name()).prop_map(|(from, to)| onto(from, to)),
        4 => name().prop_map(delete),
        1 => name().prop_map(|n| remove(n, Deletion::Directory)),
        1 => name().prop_map(|n| remove(n, Deletion::Tree)),
        1 => name().prop_map(|n| chmod(n, 0o750)),
        1 => name().prop_map(|n| link(n, "a")),
    ]
}

/// The refusal of a set, if it was refused before it began.
fn refusal(error: &Error) -> Code {
    assert!(error.receipt().is_none(), "{error:?}");
    let refusal = error.refusal().unwrap_or_else(|| panic!("{error:?}"));
    refusal.code
}

/// Kinds and contents, and of files their bits; a file that is made anew in the place of one that
/// was deleted keeps bits that one made later would not have.
fn likeness(tree: &Tree) -> BTreeMap<PathBuf, PathState> {
    let mut plain = tree.plain();
    for state in plain.values_mut() {
        if let PathState::Present(present) = state
            && present.kind == Kind::File
        {
            present.mode = 0;
        }
    }
    plain
}

#[test]
fn a_set_comes_to_what_its_changes_come_to_one_after_the_other() {
    let (mut whole, mut single) = (arena(), arena());
    let cases = 1500;
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let (mut at_once, mut one_by_one) = (whole.session(), single.session());
    let strategy = proptest::collection::vec(any_item(), 1..7);
    for _ in 0..cases {
        use proptest::strategy::ValueTree as _;
        let mut items = strategy.new_tree(&mut runner).unwrap().current();
        lay_out(&whole.inside());
        lay_out(&single.inside());
        let before = Tree::read(&whole.inside());
        let mut first = None;
        // What cannot be done alone is left out, so that most sets can be done.
        items.retain(
            |item| match one_by_one.session.change(&set([item.clone()])) {
                Ok(_) => true,
                Err(error) => {
                    first.get_or_insert(refusal(&error));
                    false
                }
            },
        );
        if items.is_empty() {
            continue;
        }
        let made = at_once.session.change(&set(items.clone()));
        let (is, wanted) = (Tree::read(&whole.inside()), Tree::read(&single.inside()));
        no_temporaries(&whole.inside());
        match made {
            Ok(changed) => {
                *counts.entry("done".to_owned()).or_default() += 1;
                assert_eq!(likeness(&is), likeness(&wanted), "{items:#?}");
                for touched in changed.changed.touched.as_slice() {
                    let path = Path::new(portcullis_tests::os(touched.path.as_bytes()));
                    assert!(touched.before.agrees(&before.at(path)), "{touched:?}");
                    assert!(touched.after.agrees(&is.at(path)), "{touched:?}");
                }
            }
            Err(error) => {
                let code = refusal(&error);
                *counts.entry(code.name().to_owned()).or_default() += 1;
                assert_eq!(is.names, before.names, "{items:#?}");
                assert_eq!(code, Code::Collision, "{error}: {items:#?}");
            }
        }
    }
    println!("{counts:?}");
    assert!(counts["done"] > cases / 3, "{counts:?}");
}

/// The tree of an arena, anew.
fn lay_out(inside: &Path) {
    for entry in std::fs::read_dir(inside).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            std::fs::remove_dir_all(entry.path()).unwrap();
        } else {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    for directory in ["d", "tree/deep", "empty"] {
        std::fs::create_dir_all(inside.join(directory)).unwrap();
    }
    for file in ["a", "b", "c", "d/x", "d/y", "tree/deep/z"] {
        std::fs::write(inside.join(file), format!("{file}\n")).unwrap();
    }
}
