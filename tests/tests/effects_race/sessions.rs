//! Two sessions of one warden: one moves a directory so that the name another one works below
//! becomes a denied one.

use crate::attack::{Attack, Event};
use crate::drive::{Answer, IN_HOOKS, at, make};
use crate::scenario::{Scenario, pace};
use crate::tree::{clear, contents, snapshot};
use portcullis_client::protocol::verb::VerbSet;
use portcullis_client::{Changes, Session, change};
use portcullis_tests::naive::Style;
use portcullis_tests::{World, anywhere};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A session that may move `x` to `.git`, and back. While it is there nothing in it may change.
struct Mover {
    session: Session,
    inside: PathBuf,
}

impl Mover {
    fn start(world: &mut World) -> Box<dyn Attack> {
        let inside = world.inside();
        let mut session = world.session().session;
        session.ping(b"").unwrap();
        Box::new(Self { session, inside })
    }

    fn moves(&mut self, from: &str, to: &str) -> bool {
        let changes = Changes::new().with(change::rename(at(from), at(to)));
        match make(&mut self.session, &changes) {
            Answer::Done(_) => true,
            Answer::Failed(_) | Answer::Refused(_) => false,
            Answer::Uncertain(changed) => panic!("a move of a directory: {changed:?}"),
        }
    }
}

impl Attack for Mover {
    fn turn(&mut self, events: &mut Vec<Event>) {
        if !self.moves("x", ".git") {
            return;
        }
        let git = self.inside.join(".git");
        let before = snapshot(&git);
        let until = Instant::now() + Duration::from_micros(300);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        if snapshot(&git) != before {
            events.push(Event::Escape);
        }
        if !self.moves(".git", "x") {
            // The other session made another `x` meanwhile: it goes, and what is in it.
            let flags = RenameFlags::EXCHANGE;
            renameat_with(CWD, &git, CWD, self.inside.join("x"), flags).unwrap();
            let found = contents(&git).files;
            events.extend(found.into_keys().map(Event::Destroyed));
            clear(&git);
        }
    }

    fn home(&mut self, _: &mut Vec<Event>) {}
}

#[test]
fn a_directory_that_becomes_a_denied_one_gets_nothing_new() {
    Scenario {
        name: "x -> .git by one session, x/hooks by another",
        asks: IN_HOOKS,
        share: 9,
        furnish: |place, n| {
            place.nothing("inside/.git");
            place.directory("inside/x/hooks");
            place.file("inside/x/hooks/file", n);
            place.file("inside/away", n);
            for name in ["new", "made", "link", "moved"] {
                place.nothing(&format!("inside/x/hooks/{name}"));
            }
        },
        mint: |order| order.deny("git", "not yours", VerbSet::WRITING, anywhere(".git")),
        attacks: |world| vec![Mover::start(world)],
        pace: pace(1, 1500),
        wanted: &[
            ("create", "done"),
            ("create", "failed not_found"),
            ("create", "refused not_found"),
            ("mkdir", "failed not_found"),
            ("link", "failed not_found"),
            ("replace", "failed not_found"),
            ("move in", "failed not_found"),
            ("delete", "failed not_found"),
        ],
        codes: &["not_found", "contended"],
        caught: &["create"],
        style: Style::Held,
        fifos: &[],
    }
    .run();
}
