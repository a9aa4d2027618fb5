//! The object of a name is swapped between the look at it and the change of it.

use crate::attack::{Attack, Exchange, Save, Way};
use crate::drive::{COMPOSED, ON_FILE, ON_NEW, ONTO};
use crate::scenario::{Place, Scenario, pace};
use portcullis_tests::World;
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
        mint: |order| order,
        attacks: |world| vec![Exchange::of(world.inside(), ["file", "other"])],
        pace: pace(6, 200),
        wanted: &[("replace", "done")],
        codes: &["contended", "not_found"],
        caught: &["replace", "edit", "delete", "onto"],
        lead: 200,
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
        mint: |order| order,
        attacks: |world| {
            let place = world.place.path();
            vec![
                Save::of(place, "inside/file", Way::Either),
                Save::of(place, "inside/file", Way::Apart),
            ]
        },
        pace: pace(4, 200),
        wanted: &[("replace", "done")],
        codes: &["contended", "not_found"],
        caught: &["replace", "edit", "delete", "onto"],
        lead: 200,
        style: Style::Paths,
        fifos: &[],
    }
    .run();
}

#[test]
fn changes_that_follow_each_other_lose_no_version_of_others() {
    for (name, attacks) in [
        ("composed, file <-> another file", exchanged as Attacks),
        ("composed, file saved by others", saved),
    ] {
        Scenario {
            name,
            asks: COMPOSED,
            share: 5,
            furnish: files,
            attacks,
            pace: pace(4, 200),
            wanted: &[("swap", "done"), ("again", "done"), ("move-edit", "done")],
            codes: &["contended", "not_found"],
            ..UNSET
        }
        .run();
    }
}

type Attacks = fn(&mut World) -> Vec<Box<dyn Attack>>;

fn exchanged(world: &mut World) -> Vec<Box<dyn Attack>> {
    vec![Exchange::of(world.inside(), ["file", "other"])]
}

fn saved(world: &mut World) -> Vec<Box<dyn Attack>> {
    let place = world.place.path();
    vec![
        Save::of(place, "inside/file", Way::Either),
        Save::of(place, "inside/file", Way::Apart),
    ]
}

#[test]
fn a_newcomer_under_a_new_name_survives() {
    Scenario {
        name: "newcomer <-> new name",
        asks: ON_NEW,
        share: 14,
        furnish: |place, n| {
            place.file("inside/source", n);
            place.nothing("inside/new");
            place.nothing("inside/other");
        },
        mint: |order| order,
        attacks: |world| vec![Save::of(world.place.path(), "inside/new", Way::New)],
        pace: pace(1, 900),
        wanted: &[("create", "done"), ("create", "refused exists")],
        codes: &["contended", "exists", "not_found"],
        caught: &["create", "move"],
        lead: 200,
        style: Style::Paths,
        fifos: &[],
    }
    .run();
}

/// One scenario of `file` swapped with something that is no file of the tree's own.
fn swapped(scenario: Scenario) {
    Scenario {
        asks: ON_FILE,
        share: 8,
        mint: |order| order,
        attacks: |world| vec![Exchange::of(world.inside(), ["file", "other"])],
        pace: pace(4, 200),
        style: Style::Paths,
        ..scenario
    }
    .run();
}

const UNSET: Scenario = Scenario {
    name: "",
    asks: ON_FILE,
    share: 0,
    furnish: files,
    mint: |order| order,
    attacks: |_| Vec::new(),
    pace: pace(1, 1),
    wanted: &[],
    codes: &[],
    caught: &[],
    lead: 200,
    style: Style::Paths,
    fifos: &[],
};

#[test]
fn a_file_swapped_with_a_link_out_never_leads_a_change_out() {
    swapped(Scenario {
        name: "file <-> link out",
        furnish: |place, n| {
            files(place, n);
            place.file("outside/secret", n);
            place.link("../outside/secret", "inside/other");
        },
        wanted: &[
            ("replace", "done"),
            ("replace", "refused escape"),
            ("edit", "done"),
            ("delete", "done"),
            ("onto", "done"),
            ("chmod", "refused escape"),
        ],
        codes: &["escape", "contended", "exists", "not_found"],
        caught: &["replace", "edit", "chmod"],
        ..UNSET
    });
}

#[test]
fn a_file_swapped_with_a_hard_link_never_changes_what_is_outside() {
    swapped(Scenario {
        name: "file <-> hard link of one outside",
        furnish: |place, n| {
            place.file("outside/secret", n);
            place.name("outside/secret", "inside/other");
            place.nothing("inside/moved");
            // After a move or an exchange that stood, either may be the link.
            for name in ["inside/source", "inside/file"] {
                place.nothing(name);
                place.file(name, n);
            }
        },
        wanted: &[
            ("replace", "done"),
            ("replace", "refused hard_linked"),
            ("edit", "done"),
            ("chmod", "refused hard_linked"),
        ],
        codes: &["hard_linked", "contended", "not_found"],
        caught: &["replace", "edit", "chmod"],
        ..UNSET
    });
}

#[test]
fn a_file_swapped_with_a_fifo_never_hangs() {
    swapped(Scenario {
        name: "file <-> FIFO",
        furnish: |place, n| {
            files(place, n);
            place.fifo("inside/other");
        },
        wanted: &[("replace", "done"), ("replace", "refused not_regular")],
        // A FIFO that gets the name just before the call: the cage lets none be moved.
        codes: &[
            "not_regular",
            "contended",
            "exists",
            "not_found",
            "permission",
        ],
        fifos: &["inside/file", "inside/other"],
        ..UNSET
    });
}

#[test]
fn a_move_onto_a_hard_link_of_itself_is_not_said_to_be_done() {
    Scenario {
        name: "moved onto a hard link of itself",
        asks: ONTO,
        share: 8,
        furnish: |place, n| {
            place.nothing("inside/a");
            place.nothing("inside/b");
            place.file("inside/a", n);
            place.file("inside/b", n);
            place.name("inside/a", "inside/h");
        },
        attacks: |world| vec![Exchange::of(world.inside(), ["b", "h"])],
        pace: pace(4, 200),
        wanted: &[
            ("onto", "done"),
            ("onto", "refused hard_linked"),
            ("move", "refused exists"),
        ],
        codes: &["hard_linked", "contended", "exists", "not_found"],
        caught: &["onto"],
        ..UNSET
    }
    .run();
}
