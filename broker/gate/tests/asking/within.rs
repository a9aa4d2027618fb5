//! Sessions within one, and budgets, as far as a gate has to do with them.

use crate::session::{list, read, set, stat, write};
use crate::stage::{Gate, Sockets, Worker, authority, grant, selector, sockets};
use portcullis_protocol::authority::{Authority, AuthorityId, Budgets, Parts};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{Command, Duty, Event};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Acknowledge, Binary, Boundaries, Case, Deed, Delegate, Delegated, EndDelegated, Expect, Found,
    Identity, MultiLine, Noted, Passing, Reply, Request, Search, SearchMode, Sense, SessionId,
    Syntax, TextEncoding, Whoami,
};
use portcullis_protocol::verb::Verb;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

const CHILD: SessionId = SessionId(8);

fn with(budgets: Budgets) -> Authority {
    let granted = authority(vec![grant("", &Verb::ALL)], Vec::new(), Vec::new());
    Authority::seal(Parts {
        budgets,
        ..granted.parts().clone()
    })
    .unwrap()
}

fn serve(directory: &Path, budgets: Budgets) -> (Gate, Sockets) {
    let sockets = sockets();
    let served = Some(&sockets.served);
    let gate = Gate::start(directory, &with(budgets), Duty::Serve, served);
    sockets.worker.greets();
    (gate, sockets)
}

fn delegate(budgets: Budgets) -> Request {
    Request::Delegate(Delegate {
        request: Text::new("part").unwrap(),
        grants: Few::default(),
        asks: Few::default(),
        denials: Few::default(),
        budgets,
        expires_ms: None,
    })
}

/// Takes a wish for a session from the gate.
fn wish(gate: &Gate) -> (RequestId, Delegate) {
    match gate.says() {
        (id, Event::Delegate(wish), _, descriptors) => {
            assert!(descriptors.is_empty());
            (id, wish)
        }
        (_, other, ..) => panic!("{other:?}"),
    }
}

/// Makes a session as the warden would; gives the end that its gate would have.
fn make(gate: &Gate, id: RequestId) -> UnixStream {
    let (worker, served) = UnixStream::pair().unwrap();
    let delegated = Command::Delegated(Delegated {
        session: CHILD,
        authority: AuthorityId([5; 32]),
    });
    gate.pass(id, &delegated, worker.as_fd());
    served
}

fn refused(reply: Reply) -> Refusal {
    match reply {
        Reply::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

fn note(reply: Reply) -> String {
    let refusal = refused(reply);
    assert_eq!(refusal.code, Code::OutOfBudget);
    refusal.note.unwrap().as_str().to_owned()
}

fn whoami(worker: &Worker) -> Identity {
    worker.asks(90, &Request::Whoami(Whoami {}), b"");
    match worker.hears().1 {
        Reply::Whoami(me) => me,
        other => panic!("{other:?}"),
    }
}

fn ends(gate: &Gate) {
    match gate.says() {
        (id, Event::EndDelegated(end), ..) => {
            assert_eq!(end.session, CHILD);
            gate.tell(id, &Command::Noted(Noted {}));
        }
        (_, other, ..) => panic!("{other:?}"),
    }
}

#[test]
fn a_session_within_is_handed_on_once_and_has_its_part_of_the_budgets() {
    let place = tempfile::tempdir().unwrap();
    let limits = Budgets {
        operations: Some(100),
        read_bytes: Some(1000),
        creates: Some(2),
        ..Budgets::UNLIMITED
    };
    let (gate, mut sockets) = serve(place.path(), limits);
    sockets.worker.takes_sockets();
    let worker = &sockets.worker;
    let wished = Budgets {
        read_bytes: Some(5000),
        creates: Some(3),
        ..Budgets::UNLIMITED
    };
    worker.asks(2, &delegate(wished), b"");
    let (id, asked) = wish(&gate);
    let expected = Budgets {
        operations: Some(49),
        read_bytes: Some(1000),
        ..wished
    };
    assert_eq!(asked.budgets, expected, "half of 99, and all there is");
    let served = make(&gate, id);
    let (2, Reply::Delegated(made), sockets_of) = worker.hears_with() else {
        panic!("no session");
    };
    assert_eq!(made.session, CHILD);
    let [socket] = <[OwnedFd; 1]>::try_from(sockets_of).unwrap();
    // It is that very socket, and nobody else has it.
    drop(socket);
    assert_eq!((&served).read(&mut [0]).unwrap(), 0);

    worker.asks(3, &delegate(Budgets::UNLIMITED), b"");
    assert_eq!(refused(worker.hears().1).code, Code::TooManyInFlight);
    let acknowledge = |session| Request::Acknowledge(Acknowledge { session });
    worker.asks(4, &acknowledge(SessionId(9)), b"");
    assert_eq!(refused(worker.hears().1).code, Code::UnknownSession);
    worker.asks(5, &acknowledge(CHILD), b"");
    assert!(matches!(worker.hears(), (5, Reply::Noted(_), _)));
    let used = whoami(worker).used;
    assert_eq!(
        (used.operations, used.read_bytes, used.creates),
        (53, 1000, 2)
    );

    worker.asks(
        6,
        &Request::EndDelegated(EndDelegated { session: CHILD }),
        b"",
    );
    ends(&gate);
    assert!(matches!(worker.hears(), (6, Reply::Noted(_), _)));
    worker.asks(7, &delegate(Budgets::UNLIMITED), b"");
    let (id, asked) = wish(&gate);
    assert_eq!(asked.budgets.read_bytes, Some(0));
    gate.tell(id, &Command::NotBegun(Refusal::new(Code::TooManySessions)));
    assert_eq!(refused(worker.hears().1).code, Code::TooManySessions);
    let operations = whoami(worker).used.operations;
    assert_eq!(operations, 55, "what no session got is there again");
}

#[test]
fn a_worker_that_takes_no_socket_now_gets_none_and_blocks_no_other() {
    let place = tempfile::tempdir().unwrap();
    let (gate, sockets) = serve(place.path(), Budgets::UNLIMITED);
    let worker = &sockets.worker;
    for number in [2, 3] {
        worker.asks(number, &delegate(Budgets::UNLIMITED), b"");
        let (id, _) = wish(&gate);
        let served = make(&gate, id);
        let (heard, reply, _) = worker.hears();
        assert_eq!((heard, refused(reply).code), (number, Code::OutOfTurn));
        assert_eq!(
            (&served).read(&mut [0]).unwrap(),
            0,
            "nobody has its socket"
        );
    }
}

#[test]
fn what_a_program_did_not_acknowledge_ends_with_its_turn() {
    let place = tempfile::tempdir().unwrap();
    let (gate, mut sockets) = serve(place.path(), Budgets::UNLIMITED);
    sockets.worker.takes_sockets();
    sockets.worker.asks(2, &delegate(Budgets::UNLIMITED), b"");
    let (id, _) = wish(&gate);
    let _served = make(&gate, id);
    assert!(matches!(
        sockets.worker.hears_with(),
        (2, Reply::Delegated(_), _)
    ));
    std::thread::scope(|scope| {
        scope.spawn(|| ends(&gate));
        sockets.worker.greets();
    });
    sockets.worker.asks(3, &delegate(Budgets::UNLIMITED), b"");
    wish(&gate);
}

fn read_bytes(limit: u64) -> Budgets {
    Budgets {
        read_bytes: Some(limit),
        ..Budgets::UNLIMITED
    }
}

#[test]
fn a_read_that_would_show_too_much_shows_none_of_that() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("ten"), "0123456789").unwrap();
    std::fs::write(place.path().join("long"), vec![b'x'; 200_000]).unwrap();
    let (_gate, sockets) = serve(place.path(), read_bytes(100_000));
    let worker = &sockets.worker;
    worker.asks(2, &read(&["ten"]), b"");
    let (2, Reply::ReadPart(_), content) = worker.hears() else {
        panic!("not read");
    };
    assert_eq!(content, b"0123456789");
    worker.asks(3, &read(&["long"]), b"");
    let (3, Reply::ReadPart(_), first) = worker.hears() else {
        panic!("not read");
    };
    let left = 100_000 - 10 - first.len();
    let (heard, reply, behind) = worker.hears();
    assert_eq!((heard, behind.len()), (3, 0));
    let refusal = refused(reply);
    assert_eq!(refusal.verb, Some(Verb::Read));
    assert_eq!(refusal.object, Some(Bytes::new("long").unwrap()));
    let said = note(Reply::Refused(refusal));
    let expected = format!(
        "read-bytes: 100000 in all, {left} left, {} needed",
        first.len()
    );
    assert_eq!(said, expected);
    assert_eq!(whoami(worker).used.read_bytes, 10 + first.len() as u64);
    // What is left may be used still.
    worker.asks(4, &read(&["ten"]), b"");
    assert!(matches!(worker.hears(), (4, Reply::ReadPart(_), _)));
}

#[test]
fn a_search_that_would_show_too_much_ends_after_what_it_showed() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("a"), "one x\ntwo x\nthree x\n").unwrap();
    let (_gate, sockets) = serve(place.path(), read_bytes(12));
    let worker = &sockets.worker;
    let lines = Request::Search(Search {
        selector: selector("."),
        pattern: Bytes::new("x").unwrap(),
        syntax: Syntax::Literal,
        case: Case::Sensitive,
        boundaries: Boundaries::Anywhere,
        mode: SearchMode::Content {
            before: 0,
            after: 0,
        },
        multi_line: MultiLine::Off,
        sense: Sense::Matching,
        binary: Binary::Stop,
        encoding: TextEncoding::Auto,
        depth: 2048,
        passing: Passing::usual(),
        include: Few::default(),
        types: Few::default(),
        types_not: Few::default(),
        limit: 10,
        limit_per_file: 10,
        file_bytes_max: 1000,
        time_ms: 1000,
        cursor: None,
    });
    worker.asks(2, &lines, b"");
    let (2, Reply::Matches(matches), _) = worker.hears() else {
        panic!("no matches");
    };
    let found = matches.found.iter();
    let texts = found.filter_map(|found| match found {
        Found::Line(line) => Some(line.text.as_slice()),
        Found::File { .. } | Found::Count { .. } => None,
    });
    assert_eq!(texts.collect::<Vec<_>>(), [b"one x", b"two x"]);
    let said = note(worker.hears().1);
    assert_eq!(said, "read-bytes: 12 in all, 2 left, 7 needed");
    worker.asks(3, &stat("a"), b"");
    assert!(
        matches!(worker.hears(), (3, Reply::Stat(_), _)),
        "what shows no content goes on"
    );
}

#[test]
fn without_operations_left_a_session_can_only_look_at_itself() {
    let place = tempfile::tempdir().unwrap();
    let limits = Budgets {
        operations: Some(2),
        ..Budgets::UNLIMITED
    };
    let (_gate, sockets) = serve(place.path(), limits);
    let worker = &sockets.worker;
    worker.asks(2, &stat("gone"), b"");
    assert_eq!(refused(worker.hears().1).code, Code::NotFound);
    worker.asks(3, &list("."), b"");
    assert!(matches!(worker.hears(), (3, Reply::Entries(_), _)));
    assert!(matches!(worker.hears(), (3, Reply::Done(_), _)));
    for request in [stat("gone"), list("."), delegate(Budgets::UNLIMITED)] {
        worker.asks(4, &request, b"");
        let said = note(worker.hears().1);
        assert_eq!(said, "operations: 2 in all, 0 left, 1 needed");
    }
    let me = whoami(worker);
    assert_eq!((me.budgets, me.used.operations), (limits, 2));
}

#[test]
fn what_a_dry_run_shows_of_a_file_is_shown_like_a_read() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("a"), "0123456789\n").unwrap();
    let (_gate, sockets) = serve(place.path(), read_bytes(20));
    let worker = &sockets.worker;
    let change = set(Deed::DryRun, vec![write("a", b"new\n", Expect::Any)]);
    let mut told = Vec::new();
    for number in [2, 3] {
        worker.asks(number, &change, b"new\n");
        let (heard, Reply::Planned(planned), diff) = worker.hears() else {
            panic!("not planned");
        };
        assert_eq!(heard, number);
        told.push((diff.is_empty(), planned.diff_cut > 0));
    }
    assert_eq!(told, [(false, false), (true, true)]);
    // The line with its mark; of the head what names the file.
    assert_eq!(
        whoami(worker).used.read_bytes,
        12 + "--- a/a\n".len() as u64
    );
}
