//! Many sessions at once, and many requests in one.

use crate::raw::pid;
use portcullis_client::{Session, ask};
use portcullis_tests::{World, own, privileged, read};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::time::{Duration, Instant};

const SESSIONS: usize = 1_000;
const READS: usize = 8_000;

#[test]
fn a_thousand_sessions_at_once_are_minted_and_served() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = 4 * SESSIONS as u64;
    let most = limit.maximum.unwrap_or(u64::MAX);
    assert!(
        most >= wanted,
        "this test needs {wanted} descriptors, the hard limit is {most}"
    );
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(most.min(65_536)),
            ..limit
        },
    )
    .unwrap();
    let mut world = World::new(own!("own-gate"));
    world.write("f", "f");
    let began = Instant::now();
    let mut sessions: Vec<Session> = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(world.session().session);
    }
    let minted = began.elapsed();
    assert_eq!(world.control.status().unwrap().running as usize, SESSIONS);
    for session in &mut sessions {
        assert_eq!(read(session, "f").unwrap(), b"f");
    }
    eprintln!(
        "{SESSIONS} sessions minted in {minted:?}, all served after {:?}",
        began.elapsed()
    );
    drop(sessions);
    crate::raw::wait_until("all are over", || {
        world.control.status().unwrap().running == 0
    });
}

#[test]
fn thousands_of_requests_leave_no_descriptor_in_the_gate() {
    let mut world = World::new(own!("own-gate"));
    world.write("d/f", "f");
    std::os::unix::fs::symlink("d/f", world.inside().join("link")).unwrap();
    std::os::unix::fs::symlink("../outside/secret", world.inside().join("out")).unwrap();
    let mut opened = world.session();
    let gate = pid(&mut world, &opened);
    let descriptors = || std::fs::read_dir(format!("/proc/{gate}/fd")).map(Iterator::count);
    read(&mut opened.session, "d/f").unwrap();
    // What was read is closed a moment after it was answered.
    std::thread::sleep(Duration::from_millis(200));
    let before = descriptors();
    let names = ["d/f", "link", "out", "d", "none", "d/../d/f"];
    let reads: Vec<_> = names
        .iter()
        .cycle()
        .take(READS)
        .map(|name| {
            let mut read = ask::read(ask::selector(name).unwrap());
            read.range = portcullis_client::protocol::session::Range::Bytes {
                offset: 0,
                length: 10,
            };
            read
        })
        .collect();
    // More than sixteen times the descriptors a gate may have: a leak of one in any of these
    // kinds of request would end in `exhausted`, also where `/proc` cannot be read.
    for (n, answer) in opened
        .session
        .pipeline_read(&reads)
        .unwrap()
        .into_iter()
        .enumerate()
    {
        let code = match answer {
            Ok(mut files) => files.remove(0).err().map(|refusal| refusal.code),
            Err(error) => Some(portcullis_tests::code(&error)),
        };
        use portcullis_client::protocol::refusal::Code;
        let wanted = [
            None,
            None,
            Some(Code::Escape),
            Some(Code::IsADirectory),
            Some(Code::NotFound),
            None,
        ];
        assert_eq!(code, wanted[n % names.len()], "{}", names[n % names.len()]);
    }
    for _ in 0..700 {
        let found = opened
            .session
            .search(&ask::search(ask::selector(".").unwrap(), "f").unwrap());
        assert!(found.unwrap().count() > 0);
        assert_eq!(
            portcullis_tests::names(&mut opened.session, ".", 9).len(),
            4
        );
        opened
            .session
            .stat(&ask::stat(ask::selector("link").unwrap()))
            .unwrap();
    }
    match (before, descriptors()) {
        (Ok(before), Ok(_)) => crate::raw::wait_until("as few descriptors as before", || {
            descriptors().unwrap() <= before
        }),
        (Err(_), Err(_)) => assert!(!privileged()),
        other => panic!("{other:?}"),
    }
}
