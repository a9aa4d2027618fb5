//! The directory of a name is swapped or moved while something in it is changed.

use crate::attack::{Exchange, Shuttle};
use crate::drive::IN_D;
use crate::scenario::{Scenario, furnish, pace};
use portcullis_tests::attack::directory;
use portcullis_tests::naive::Style;

#[test]
fn a_directory_swapped_with_a_link_out_never_leads_a_change_out() {
    Scenario {
        name: "directory <-> link out",
        asks: IN_D,
        share: 12,
        furnish,
        mint: |order| order,
        attacks: |world| vec![Exchange::of(world.inside(), ["d", "link"])],
        pace: pace(4, 300),
        wanted: &[
            ("create", "done"),
            ("create", "refused escape"),
            ("replace", "done"),
            ("mkdir", "done"),
            ("mkdir", "refused escape"),
            ("move", "done"),
            ("delete", "done"),
            ("tree", "done"),
            ("chmod", "done"),
            ("link", "done"),
        ],
        codes: &["escape", "contended"],
        caught: &[
            "create", "replace", "edit", "mkdir", "move", "delete", "tree", "chmod", "link",
        ],
        lead: 200,
        style: Style::Paths,
        fifos: &[],
    }
    .run();
}

#[test]
fn a_directory_moved_out_and_in_is_not_changed_while_it_is_away() {
    Scenario {
        name: "directory moved out and in",
        asks: IN_D,
        share: 12,
        furnish,
        mint: |order| order,
        attacks: |world| {
            let place = world.place.path();
            vec![Box::new(Shuttle {
                home: (directory(place.join("inside")), "d"),
                away: (directory(place.join("outside")), "guest"),
                place: place.join("outside/guest"),
            })]
        },
        pace: pace(3, 300),
        wanted: &[
            ("create", "done"),
            ("create", "refused not_found"),
            ("mkdir", "done"),
            ("move", "done"),
            ("delete", "done"),
        ],
        codes: &["not_found", "contended", "permission"],
        caught: &["create"],
        lead: 200,
        style: Style::Held,
        fifos: &[],
    }
    .run();
}
