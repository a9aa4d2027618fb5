//! Sessions that change hands: to a child, and among processes that share one socket.

use super::*;
use crate::{AttachError, SOCKET_VARIABLE};
use portcullis_protocol::authority::AuthorityId;
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::session::{
    Completeness, Delegated, Done, Entries, Identity, Noted, Statistics,
};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A shell line that prints what descriptor `$1` is, or `none`.
const SHOW: &str = "readlink /proc/self/fd/$1 || echo none";

fn show(number: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", SHOW, "sh", number])
        .stdin(Stdio::null());
    command
}

fn output(command: &mut Command) -> String {
    let output = command.stderr(Stdio::null()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn only_the_attached_child_inherits_the_socket() {
    let (ours, _gate) = pair().unwrap();
    let number = ours.as_raw_fd().to_string();
    let mut attached = show(&number);
    Session::from_socket(ours)
        .unwrap()
        .attach(&mut attached)
        .unwrap();
    let variable = attached
        .get_envs()
        .find(|(name, _)| *name == SOCKET_VARIABLE);
    assert_eq!(variable.unwrap().1.unwrap().to_str(), Some(number.as_str()));

    // Other children are started all the while; none of them may get it.
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            let mut seen = Vec::new();
            while !stop.load(Ordering::Relaxed) || seen.len() < 5 {
                seen.push(output(&mut show(&number)));
            }
            seen
        });
        for _ in 0..20 {
            let inherited = output(&mut attached);
            assert!(inherited.starts_with("socket:["), "{inherited}");
        }
        stop.store(true, Ordering::Relaxed);
        for other in others.join().unwrap() {
            assert_eq!(other, "none");
        }
    });
}

#[test]
fn the_gate_sees_the_end_when_child_and_command_are_gone() {
    let (ours, theirs) = pair().unwrap();
    let mut child = Command::new("true");
    Session::from_socket(ours)
        .unwrap()
        .attach(&mut child)
        .unwrap();
    child.status().unwrap();
    drop(child);
    assert!(Gate::new(theirs).try_next().is_none());
}

#[test]
fn a_session_in_use_is_given_back() {
    let (mut session, gate) = session(|gate| {
        for _ in 0..2 {
            let (id, ..) = gate.next();
            gate.send(id, &Reply::Pong(Ping {}), &[]);
        }
    });
    session.ping(b"").unwrap();
    let Err(AttachError::Greeted(mut session)) = session.attach(&mut Command::new("true")) else {
        panic!("a used session was handed over");
    };
    session.ping(b"").unwrap();
    gate.join().unwrap();
}

#[test]
fn what_is_no_session_socket_is_refused() {
    let (a, _b) = std::os::unix::net::UnixStream::pair().unwrap();
    let error = Session::from_socket(a.into()).unwrap_err();
    assert_eq!(error.code_name(), "invalid_argument");
    let file = std::fs::File::open("/").unwrap();
    assert!(Session::from_socket(file.into()).is_err());
}

/// What this test program does when a test started it as a worker.
const TASK: &str = "PORTCULLIS_TEST_TASK";

/// This program as a worker that does `task` with the session `socket`.
fn worker(task: &str, socket: OwnedFd) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "tests::attached::worker_task",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(TASK, task);
    crate::attach::attach(socket, &mut command).unwrap();
    command
}

/// Not a test of its own: what a child does. Without a task it does nothing.
#[test]
fn worker_task() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    match task.as_str() {
        "lock" => {
            let socket = crate::sys::inherited_socket().unwrap();
            let taken = crate::lock::ProcessLock::take_within(&socket, Duration::ZERO);
            println!(
                "result: {}",
                taken.map_or_else(|e| e.to_string(), |_| "free".to_owned())
            );
        }
        "ping" => {
            let mut session = Session::from_env().unwrap();
            session.ping(b"from the child").unwrap();
            println!("result: {}", session.id().unwrap().0);
            println!("again: {}", Session::from_env().unwrap_err());
        }
        "list" => {
            let mut session = Session::from_env().unwrap();
            let list = ask::list(ask::selector("d").unwrap());
            let entries = session.list(&list).unwrap().map(Result::unwrap).count();
            println!("result: {entries} of {}", session.id().unwrap().0);
        }
        other => panic!("{other}"),
    }
}

fn result(command: &mut Command) -> String {
    let said = output(command);
    let line = said.lines().find_map(|line| line.split_once("result: "));
    line.unwrap_or_else(|| panic!("{said}")).1.to_owned()
}

#[test]
fn a_second_process_on_one_socket_waits_for_its_turn() {
    let (ours, _gate) = pair().unwrap();
    let lock = crate::lock::ProcessLock::take(&ours).unwrap();
    let mut worker = worker("lock", ours);
    let busy = result(&mut worker);
    assert!(
        busy.contains("another process has been using this session"),
        "{busy}"
    );
    drop(lock);
    assert_eq!(result(&mut worker), "free");
}

/// A gate whose worker is one process after another, some of which ended in the middle.
fn after_others(gate: &mut Gate) {
    gate.greet();
    let (first, _, content) = gate.next();
    gate.send(first, &Reply::Pong(Ping {}), &content);
    // An answer that its process did not wait for: the next one must not take it for its own.
    gate.send(
        RequestId(first.0.wrapping_add(1 << 30)),
        &Reply::Stat(bound("stale")),
        &[],
    );
    // Nor a session that was made for it: nobody has its socket any more.
    let gone = RequestId(first.0.wrapping_add(1 << 29));
    let delegated = Delegated {
        session: SessionId(21),
        authority: AuthorityId([0; 32]),
    };
    gate.send(gone, &Reply::Delegated(delegated), &[]);
    let (id, ..) = gate.next();
    let second_hello = Refusal::new(Code::OutOfTurn);
    gate.send(id, &Reply::Refused(second_hello), &[]);
    let mut cancelled = Vec::new();
    let mut acknowledged = 0;
    while let Some((id, request, content)) = gate.try_next() {
        match request {
            Request::Cancel(cancel) => cancelled.push(cancel.request),
            Request::Acknowledge(it) => {
                assert_eq!((id, it.session), (gone, SessionId(21)));
                gate.send(id, &Reply::Noted(Noted {}), &[]);
                acknowledged += 1;
            }
            Request::Whoami(_) => gate.send(id, &Reply::Whoami(identity()), &[]),
            Request::Ping(_) => gate.send(id, &Reply::Pong(Ping {}), &content),
            Request::Hello(_)
            | Request::Stat(_)
            | Request::Read(_)
            | Request::List(_)
            | Request::Glob(_)
            | Request::Search(_)
            | Request::Why(_)
            | Request::Change(_)
            | Request::Upload(_)
            | Request::DropUpload(_)
            | Request::Compose(_)
            | Request::ChangeComposed(_)
            | Request::Delegate(_)
            | Request::EndDelegated(_) => panic!("not asked by this worker"),
        }
    }
    assert_eq!(cancelled, [first.0.wrapping_add(1 << 30), gone.0]);
    assert_eq!(acknowledged, 1);
}

#[test]
fn processes_that_share_a_socket_use_it_one_after_the_other() {
    let (ours, theirs) = pair().unwrap();
    let gate = std::thread::spawn(move || after_others(&mut Gate::new(theirs)));
    let mut worker = worker("ping", ours);
    assert_eq!(result(&mut worker), "9");
    let second = output(&mut worker);
    assert!(second.contains("result: 9"), "{second}");
    assert!(
        second.contains("already in use in this process"),
        "{second}"
    );
    drop(worker);
    gate.join().unwrap();
}

pub(crate) fn identity() -> Identity {
    Identity {
        session: SessionId(9),
        authority: AuthorityId([0; 32]),
        owner: Text::default(),
        conversation: Text::default(),
        parent: None,
        expires_ms: None,
        roots: Few::default(),
        grants: Few::default(),
        asks: Few::default(),
        budgets: portcullis_protocol::authority::Budgets::UNLIMITED,
        used: portcullis_protocol::session::Used::default(),
        denials: Few::default(),
        limits: LIMITS,
    }
}

/// A gate that takes one hello and no second, which was said before with what comes now.
fn refuses_a_second_hello(gate: &mut Gate) {
    let (hello, ..) = gate.next();
    let (asked, request, _) = gate.next();
    assert!(matches!(request, Request::List(_)), "{request:?}");
    let refusal = Refusal::new(Code::OutOfTurn);
    gate.send(hello, &Reply::Refused(refusal), &[]);
    // The session was greeted before, so that this is answered.
    let entries = || Entries {
        start: Some(bound("d")),
        entries: Vec::new(),
    };
    let done = || {
        Reply::Done(Done {
            completeness: Completeness::Complete,
            statistics: Statistics::default(),
        })
    };
    gate.send(asked, &Reply::Entries(entries()), &[]);
    gate.send(asked, &done(), &[]);
    let (_, request, _) = gate.next();
    assert!(matches!(request, Request::Cancel(cancel) if cancel.request == asked.0));
    let (id, request, _) = gate.next();
    assert!(matches!(request, Request::Whoami(_)), "{request:?}");
    gate.send(id, &Reply::Whoami(identity()), &[]);
    let (id, request, _) = gate.next();
    assert!(matches!(request, Request::List(_)), "{request:?}");
    assert_ne!(id, asked);
    gate.send(id, &Reply::Entries(entries()), &[]);
    gate.send(id, &done(), &[]);
}

#[test]
fn a_stream_asked_for_with_a_hello_that_is_refused_is_asked_for_again() {
    let (ours, theirs) = pair().unwrap();
    let gate = std::thread::spawn(move || refuses_a_second_hello(&mut Gate::new(theirs)));
    let mut worker = worker("list", ours);
    assert_eq!(result(&mut worker), "0 of 9");
    drop(worker);
    gate.join().unwrap();
}
