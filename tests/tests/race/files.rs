//! Files swapped with links, hard links and FIFOs, and rewritten in place.

use crate::drive;
use crate::drive::Asks;
use crate::scenario::{CONTROL_ATTEMPTS, attempts};
use crate::scenario::{Scenario, alone, fill, inodes, link};
use crate::tally::Tally;
use portcullis_client::Session;
use portcullis_tests::attack::Attacker;
use portcullis_tests::attack::{Swap, directory};
use portcullis_tests::naive::{Naive, Style};
use portcullis_tests::{World, own};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::Path;

#[test]
fn a_file_swapped_with_a_link_to_a_file_outside_is_read_as_itself_or_refused() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    let (inside, outside) = (world.inside(), world.outside());
    fill(&inside.join("d"), "in-", "INSIDE\n");
    std::fs::write(outside.join("out-secret"), "OUTSIDE\n").unwrap();
    link("../../outside/out-secret", inside.join("d/link"));
    Scenario {
        name: "file <-> link to a file outside",
        asks: Asks {
            files: vec!["d/file"],
            walks: vec!["d"],
            known: inodes(&inside),
        },
        attack: |place| {
            vec![Swap::Exchange {
                directory: directory(place.join("inside/d")),
                names: ["file", "link"],
            }]
        },
        wanted: &[
            ("read", "ok inside, INSIDE"),
            ("read", "refused escape"),
            ("stat", "ok inside, file"),
            ("stat", "refused escape"),
            ("list", "(a link seen as a link)"),
            ("list", "complete, with the files"),
            ("glob", "complete, with the files"),
            ("search", "complete, with the files"),
            ("search", "changed counted, with the files"),
            ("search", "(something not regular passed over)"),
        ],
        refusals: &["escape", "contended"],
        caught: &["read", "stat"],
        denied: None,
        fifos: &[],
    }
    .run(&mut world);
}

#[test]
fn a_file_swapped_with_a_hard_link_of_a_denied_file_is_read_as_itself_or_denied() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    let (inside, outside) = (world.inside(), world.outside());
    fill(&inside.join("d"), "in-", "INSIDE\n");
    let known = inodes(&inside);
    std::fs::write(outside.join("out-secret"), "OUTSIDE\n").unwrap();
    std::fs::hard_link(outside.join("out-secret"), inside.join("d/alias")).unwrap();
    Scenario {
        name: "file <-> hard link of a denied file outside",
        asks: Asks {
            files: vec!["d/file", "d/alias"],
            walks: vec!["d"],
            known,
        },
        attack: |place| {
            vec![Swap::Exchange {
                directory: directory(place.join("inside/d")),
                names: ["file", "alias"],
            }]
        },
        wanted: &[
            ("read", "ok inside, INSIDE"),
            ("read", "refused denied"),
            ("stat", "ok inside, file"),
            ("stat", "refused denied"),
            ("list", "complete, with the files"),
            ("glob", "complete, with the files"),
            ("search", "complete, with the files"),
            ("search", "(something denied passed over)"),
        ],
        refusals: &["denied", "contended"],
        caught: &["read", "stat"],
        denied: Some("outside/out-secret"),
        fifos: &[],
    }
    .run(&mut world);
}

#[test]
fn a_file_swapped_with_a_hard_link_of_another_is_one_object_in_judgement_and_content() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    let inside = world.inside();
    fill(&inside.join("d"), "in-", "INSIDE\n");
    world.write("other", "OTHER and longer\n");
    std::fs::hard_link(inside.join("other"), inside.join("d/alias")).unwrap();
    let mut opened = world.session();
    let sizes = [(7_usize, 1_u32), (17, 2)];
    let attack = |place: &Path| {
        vec![Swap::Exchange {
            directory: directory(place.join("inside/d")),
            names: ["file", "alias"],
        }]
    };
    let reads = drive::reads(&["d/file"]);
    // Judgement and content belong together when size and links are those of the bytes' file.
    let count = |session: &mut Session, tally: &mut Tally| {
        for answer in session.pipeline_read(&reads).unwrap() {
            let file = answer.unwrap().remove(0).unwrap();
            let seen = file.binding.observation;
            let is = (file.bytes.len(), seen.links);
            match sizes.iter().position(|size| *size == is) {
                Some(which) if seen.stamp.size == file.bytes.len() as u64 => {
                    tally.count(
                        "read",
                        format!("ok inside, object {which} with its content"),
                    );
                }
                Some(_) | None => tally.escape("read", format!("{is:?} seen as {seen:?}")),
            }
        }
    };
    let place = world.place.path().to_owned();
    let attacker = Attacker::start(attack(&place));
    let mut tally = Tally::default();
    while tally.attempts < attempts() {
        count(&mut opened.session, &mut tally);
    }
    tally.print(
        "file <-> hard link of another",
        "portcullis",
        attacker.stop(),
        "",
    );
    let naive = Naive {
        root: inside.canonicalize().unwrap(),
        denied: None,
        fifos: Vec::new(),
        style: Style::Paths,
    };
    let mut serving = naive.start();
    let mut session = Session::from_socket(serving.socket()).unwrap();
    let attacker = Attacker::start(attack(&place));
    let mut control = Tally::default();
    while control.attempts < CONTROL_ATTEMPTS && control.escapes() == 0 {
        count(&mut session, &mut control);
    }
    control.print(
        "file <-> hard link of another",
        "naive control",
        attacker.stop(),
        "",
    );
    drop(session);
    serving.stop();
    assert_eq!(tally.escapes(), 0, "{:?}", tally.example);
    for which in 0..2 {
        assert!(
            tally.of(
                "read",
                &format!("ok inside, object {which} with its content")
            ) > 0
        );
    }
    assert!(control.escapes() > 0, "the control is blind");
}

#[test]
fn a_file_swapped_with_a_fifo_never_hangs() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    let inside = world.inside();
    fill(&inside.join("d"), "in-", "INSIDE\n");
    let mode = Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(CWD, inside.join("d/pipe"), FileType::Fifo, mode, 0).unwrap();
    Scenario {
        name: "file <-> FIFO",
        asks: Asks {
            files: vec!["d/file"],
            walks: vec!["d"],
            known: inodes(&inside),
        },
        attack: |place| {
            vec![Swap::Exchange {
                directory: directory(place.join("inside/d")),
                names: ["file", "pipe"],
            }]
        },
        wanted: &[
            ("read", "ok inside, INSIDE"),
            ("read", "refused not_regular"),
            ("stat", "ok inside, file"),
            ("stat", "ok inside, fifo"),
            ("list", "(a FIFO seen as a FIFO)"),
            ("list", "complete, with the files"),
            ("glob", "complete, with the files"),
            ("search", "complete, with the files"),
            ("search", "changed counted, with the files"),
            ("search", "(something not regular passed over)"),
        ],
        refusals: &["not_regular", "contended"],
        caught: &[],
        denied: None,
        fifos: &["inside/d/file", "inside/d/pipe"],
    }
    .run(&mut world);
}

#[test]
fn a_file_rewritten_in_place_is_read_in_one_version_or_said_to_be_torn() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    world.write("file", vec![b'A'; 32 * 1024]);
    Scenario {
        name: "file rewritten in place",
        asks: Asks {
            files: vec!["file"],
            walks: Vec::new(),
            known: inodes(&world.inside()),
        },
        attack: |place| {
            let flags = OFlags::WRONLY | OFlags::CLOEXEC;
            let file: OwnedFd =
                rustix::fs::openat(CWD, place.join("inside/file"), flags, Mode::empty()).unwrap();
            let versions = [vec![b'A'; 32 * 1024], vec![b'B'; 32 * 1024]];
            vec![Swap::Rewrite { file, versions }]
        },
        wanted: &[
            ("read", "ok inside, all A"),
            ("read", "ok inside, all B"),
            ("read", "two versions, said torn"),
        ],
        refusals: &[],
        caught: &[],
        denied: None,
        fifos: &[],
    }
    .run(&mut world);
}
