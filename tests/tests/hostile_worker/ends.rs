//! However a session ends, its gate is gone, nothing is left to reap, and the runtime is told.

use crate::raw::{Raw, cause, exists, haystack, long_search, over, pid, wait_until};
use portcullis_client::protocol::control::OverCause;
use portcullis_client::protocol::session::Request;
use portcullis_tests::{Opened, World, own, read};
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};

/// A session in the middle of a long search.
fn searching(world: &mut World) -> (Raw, Opened, u32) {
    let opened = world.session();
    let gate = pid(world, &opened);
    let Opened { session, id, root } = opened;
    let raw = Raw::greeted(session);
    raw.ask(1, &Request::Search(long_search()));
    std::thread::sleep(Duration::from_millis(100));
    // A placeholder that keeps id and root together; its own session is ended with the world.
    let spare = world.session();
    (
        raw,
        Opened {
            session: spare.session,
            id,
            root,
        },
        gate,
    )
}

#[test]
fn a_revoked_session_ends_at_once_in_the_middle_of_a_search() {
    let mut world = World::new(own!("own-gate"));
    world.write("f", "f");
    haystack(&world);
    let (mut raw, opened, gate) = searching(&mut world);
    let mut other = world.session();
    let began = Instant::now();
    world.control.end(opened.id).unwrap();
    let took = began.elapsed();
    assert!(!exists(gate), "the gate, or its corpse, is still there");
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(raw.end(), None);
    assert_eq!(cause(&mut world, opened.id), OverCause::Revoked);
    assert_eq!(read(&mut other.session, "f").unwrap(), b"f");
}

#[test]
fn closing_the_control_connection_kills_all_its_gates_and_no_others() {
    let mut world = World::new(own!("own-gate"));
    world.write("f", "f");
    haystack(&world);
    let (mut raw, _spare, searching) = searching(&mut world);
    let idle = world.session();
    let idle_gate = pid(&mut world, &idle);
    let fresh = portcullis_client::Control::new(world.warden.connect().unwrap()).unwrap();
    let first = std::mem::replace(&mut world.control, fresh);
    let mut other = world.session();
    drop(first);
    wait_until("the gates are gone", || {
        !exists(searching) && !exists(idle_gate)
    });
    assert_eq!(raw.end(), None);
    assert_eq!(read(&mut other.session, "f").unwrap(), b"f");
}

#[test]
fn dropping_the_warden_kills_every_gate_before_it_returns() {
    let mut world = World::new(own!("own-gate"));
    haystack(&world);
    let (mut raw, _spare, searching) = searching(&mut world);
    let idle = world.session();
    let idle_gate = pid(&mut world, &idle);
    let World {
        control,
        warden,
        place,
    } = world;
    drop(warden);
    assert!(!exists(searching) && !exists(idle_gate));
    assert_eq!(raw.end(), None);
    drop((control, place));
}

#[test]
fn a_gate_that_is_killed_is_reported_as_dead_and_reaped() {
    let mut world = World::new(own!("own-gate"));
    world.write("f", "f");
    let mut opened = world.session();
    let mut other = world.session();
    read(&mut opened.session, "f").unwrap();
    let gate = pid(&mut world, &opened);
    kill_process(
        Pid::from_raw(i32::try_from(gate).unwrap()).unwrap(),
        Signal::KILL,
    )
    .unwrap();
    let over = over(&mut world, opened.id);
    assert_eq!(over.cause, OverCause::GateDied);
    assert!(over.note.unwrap().as_str().contains("signal 9"));
    assert!(!exists(gate));
    let error = read_error(&mut opened);
    assert_eq!(error, "connection_closed");
    assert_eq!(read(&mut other.session, "f").unwrap(), b"f");
}

fn read_error(opened: &mut Opened) -> &'static str {
    let selector = portcullis_client::ask::selector("f").unwrap();
    opened.session.read_file(selector).unwrap_err().code_name()
}
