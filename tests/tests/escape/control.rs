//! Controls: the suite's own instruments catch what they are there to catch.

use portcullis_tests::hostile::{Arena, events, every, watch, within_bounds};
use portcullis_tests::own;

#[test]
#[should_panic(expected = "outside the root was touched")]
fn an_open_outside_the_root_is_noticed() {
    let arena = Arena::new(own!("own-gate"));
    std::fs::read(arena.outside().join("secret")).unwrap();
}

#[test]
#[should_panic(expected = "outside the root")]
fn a_change_outside_the_root_is_noticed() {
    let arena = Arena::new(own!("own-gate"));
    std::fs::write(arena.outside().join("directory/new"), "x").unwrap();
}

#[test]
#[should_panic(expected = "shows outside secret")]
fn a_secret_in_a_reply_is_noticed() {
    let mut arena = Arena::new(own!("own-gate"));
    // As if it had come from there.
    arena.write("copy", "outside secret\n");
    let mut opened = arena.session();
    every(&mut opened.session, "copy");
}

#[test]
fn a_watch_sees_an_open_of_a_fifo() {
    within_bounds(|| {
        let arena = Arena::new(own!("own-gate"));
        let at = arena.inside().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &at, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let opens = watch(&[&at]);
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK;
        drop(rustix::fs::open(&at, flags, rustix::fs::Mode::empty()).unwrap());
        assert!(!events(&opens).is_empty());
    });
}

#[test]
#[should_panic(expected = "left")]
fn an_escape_that_is_served_fails_its_row() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("real", "content\n");
    arena.link("link", "real");
    let mut opened = arena.session();
    every(&mut opened.session, "link").refused(portcullis_protocol::refusal::Code::Escape);
}
