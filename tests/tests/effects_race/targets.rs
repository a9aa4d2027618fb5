//! The object of a name is swapped between the look at it and the change of it.

use crate::attack::{Exchange, Save, Way};
use crate::drive::{ON_FILE, ON_NEW};
use crate::scenario::{Place, Scenario, pace};
use portcullis_tests::naive::Style;

/// `file`, `other` and `source`, each with a version of its own.
fn files(place: &Place, n: u64) {
    for name in ["inside/file", "inside/other", "inside/source"] {
        place.file(name, n);
    }
    place.nothing("inside/moved");
}

#[test]
fn a_file_swapped_with_another_loses_no_version() {
    Scenario {
        name: "file <-> another file",
        asks: ON_FILE,
        share: 14,
        furnish: files,
        attacks: |place| vec![Exchange::of(place.join("inside"), ["file", "other"])],
        pace: pace(6, 200),
        wanted: &[("replace", "done")],
        codes: &["contended", "not_found"],
        caught: &["replace", "edit", "delete", "onto"],
        style: Style::Paths,
        fifos: &[],
    }
    .run();
}

#[test]
fn a_file_saved_by_others_loses_no_version() {
    Scenario {
        name: "file saved by others",
        asks: ON_FILE,
        share: 14,
        furnish: files,
        attacks: |place| {
            vec![
                Save::of(place, "inside/file", Way::Either),
                Save::of(place, "inside/file", Way::Apart),
            ]
        },
        pace: pace(4, 200),
        wanted: &[("replace", "done")],
        codes: &["contended", "not_found"],
        caught: &["replace", "edit", "delete", "onto"],
        style: Style::Paths,
        fifos: &[],
    }
    .run();
}

#[test]
fn a_newcomer_under_a_new_name_survives() {
    Scenario {
        name: "newcomer <-> new name",
        asks: ON_NEW,
        share: 12,
        furnish: |place, n| {
            place.file("inside/source", n);
            place.nothing("inside/new");
            place.nothing("inside/other");
        },
        attacks: |place| vec![Save::of(place, "inside/new", Way::New)],
        pace: pace(1, 900),
        wanted: &[("create", "done"), ("create", "refused exists")],
        codes: &["contended", "exists", "not_found"],
        caught: &["create", "move"],
        style: Style::Paths,
        fifos: &[],
    }
    .run();
}
