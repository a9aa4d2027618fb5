//! A session's own gate: what it asks the warden, and what it lets a worker know.

use crate::stage::{Gate, Sockets, asked, authority, grant, selector, sockets};
use portcullis_protocol::approval::ProposalId;
use portcullis_protocol::authority::{Denial, DenialTarget, Effect};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{Answered, Asked, Claimed, Command, Duty, Event};
use portcullis_protocol::refusal::{Code, Refusal, Rule};
use portcullis_protocol::session::{
    Binary, Boundaries, Case, Change, ChangeSet, Deed, DeleteObject, Deletion, Detail, Expect,
    Links, List, MultiLine, Order, Parents, Passing, Ping, Range, Read, Reply, Request, Search,
    SearchMode, Sense, Source, Span, Stat, Survey, Syntax, TextEncoding, WriteFile,
};
use portcullis_protocol::verb::{Verb, VerbSet};
use std::os::fd::OwnedFd;
use std::path::Path;

pub(crate) fn stat(path: &str) -> Request {
    Request::Stat(Stat {
        selector: selector(path),
        links: Links::Keep,
    })
}

pub(crate) fn read(paths: &[&str]) -> Request {
    Request::Read(Read {
        selectors: Few::new(paths.iter().map(|path| selector(path)).collect()).unwrap(),
        range: Range::Bytes {
            offset: 0,
            length: u64::MAX,
        },
        survey: Survey::None,
    })
}

pub(crate) fn list(path: &str) -> Request {
    Request::List(List {
        selector: selector(path),
        depth: 1,
        detail: Detail::Names,
        passing: Passing::nothing(),
        kinds: Few::default(),
        order: Order::Name,
        limit: 100,
        cursor: None,
    })
}

pub(crate) fn search(path: &str, pattern: &str) -> Request {
    Request::Search(Search {
        selector: selector(path),
        pattern: Bytes::new(pattern).unwrap(),
        syntax: Syntax::Literal,
        case: Case::Sensitive,
        boundaries: Boundaries::Anywhere,
        mode: SearchMode::Files,
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
    })
}

pub(crate) fn write(path: &str, content: &[u8], expect: Expect) -> Change {
    Change::Write(WriteFile {
        selector: selector(path),
        source: Source::Inline(Span {
            start: 0,
            len: u32::try_from(content.len()).unwrap(),
        }),
        expect,
        parents: Parents::Exist,
        mode: None,
    })
}

pub(crate) fn delete(path: &str, what: Deletion) -> Change {
    Change::Delete(DeleteObject {
        selector: selector(path),
        what,
        expect: Expect::Any,
    })
}

pub(crate) fn set(deed: Deed, changes: Vec<Change>) -> Request {
    Request::Change(ChangeSet {
        changes: Few::new(changes).unwrap(),
        deed,
    })
}

fn serve(directory: &Path, asks: &[(&str, &[Verb])], denials: Vec<Denial>) -> (Gate, Sockets) {
    let granted = grant("open", &Verb::ALL);
    let asks = asks.iter().map(|(prefix, verbs)| grant(prefix, verbs));
    let authority = authority(vec![granted], asks.collect(), denials);
    let sockets = sockets();
    let gate = Gate::start(directory, &authority, Duty::Serve, Some(&sockets.served));
    sockets.worker.greets();
    (gate, sockets)
}

/// A denial of everything, by its pattern as its name.
pub(crate) fn denial(pattern: &str, effect: Effect) -> Denial {
    Denial {
        rule: Rule {
            name: Text::new(pattern).unwrap(),
            reason: Text::new("of the test").unwrap(),
        },
        verbs: VerbSet::ALL,
        target: DenialTarget::Pattern {
            anchor: None,
            pattern: Bytes::new(pattern).unwrap(),
        },
        effect,
    }
}

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["open", "closed"] {
        std::fs::create_dir(directory.path().join(name)).unwrap();
        std::fs::write(directory.path().join(name).join("there"), name).unwrap();
    }
    directory
}

/// Takes a proposal from the gate.
fn proposal(gate: &Gate) -> (RequestId, Asked, Vec<u8>, OwnedFd) {
    match gate.says() {
        (id, Event::Propose(asked), content, mut descriptors) => {
            assert!(id != RequestId::NONE && descriptors.len() == 1);
            (id, asked, content, descriptors.pop().unwrap())
        }
        (_, other, ..) => panic!("{other:?}"),
    }
}

fn pending(number: u64) -> Command {
    let refusal = Refusal::new(Code::NeedsApproval).awaiting(ProposalId(number));
    Command::NotBegun(refusal)
}

fn refused(reply: Reply) -> Refusal {
    match reply {
        Reply::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

const ALL: &[Verb] = &Verb::ALL;

#[test]
fn every_operation_is_asked_for_as_it_came_and_the_worker_hears_the_number() {
    let directory = directory();
    let (gate, sockets) = serve(directory.path(), &[("closed", ALL)], Vec::new());
    let worker = &sockets.worker;
    let change = set(
        Deed::Commit,
        vec![write("closed/new", b"text", Expect::Any)],
    );
    for (n, (request, content)) in [
        (stat("closed/there"), &b""[..]),
        (read(&["closed/there"]), b""),
        (list("closed"), b""),
        (search("closed", "x"), b""),
        (change, b"text"),
    ]
    .into_iter()
    .enumerate()
    {
        let number = u32::try_from(n).unwrap() + 10;
        worker.asks(number, &request, content);
        let (id, came, behind, _socket) = proposal(&gate);
        assert_eq!(came, asked(number, &request, content));
        assert_eq!(behind, content);
        gate.tell(id, &pending(7));
        let (heard, reply, _) = worker.hears();
        let refusal = refused(reply);
        assert_eq!((heard, refusal.code), (number, Code::NeedsApproval));
        assert_eq!(refusal.proposal, Some(ProposalId(7)));
        assert!(
            refusal.object.is_some() && refusal.verb.is_some(),
            "{refusal:?}"
        );
    }
    assert!(!directory.path().join("closed/new").exists());
}

/// Nothing of a place that is only asked about shows before somebody decided: what is there, what is
/// not, and by which way it is written.
#[test]
fn whether_a_name_is_there_shows_in_nothing() {
    let directory = directory();
    let hidden = vec![denial("hidden", Effect::Hide)];
    std::fs::write(directory.path().join("closed/hidden"), "h").unwrap();
    let (gate, sockets) = serve(directory.path(), &[("closed", ALL)], hidden);
    let worker = &sockets.worker;
    for pair in [
        ["closed/there", "closed/gone"],
        ["open/../closed/there", "open/../closed/gone"],
        ["closed/there/below", "closed/gone/below"],
        ["closed/hidden", "closed/gone"],
        ["open/../closed/hidden", "open/../closed/gone"],
        ["closed/../closed/there", "closed/../closed/gone"],
    ] {
        let mut told = Vec::new();
        for path in pair {
            for request in [stat(path), read(&[path]), list(path), search(path, "x")] {
                worker.asks(5, &request, b"");
                let (id, came, ..) = proposal(&gate);
                gate.tell(id, &pending(7));
                let refusal = refused(worker.hears().1);
                told.push((came.code, refusal.code, refusal.note, refusal.rule));
            }
        }
        let (there, gone) = told.split_at(4);
        assert_eq!(there, gone, "{pair:?}");
    }
}

#[test]
fn what_was_approved_is_answered_by_another_and_the_session_goes_on() {
    let directory = directory();
    let (gate, sockets) = serve(directory.path(), &[("closed", ALL)], Vec::new());
    let worker = &sockets.worker;
    // On the first thread and on a stream's; the same number each time, and more often than streams
    // may run.
    for request in [stat("closed/there"), search("closed", "x"), list("closed")] {
        for _ in 0..4 {
            // A thread that was answered elsewhere may not know it yet, and is one of two.
            let came = loop {
                worker.asks(5, &request, b"");
                if let Some(came) = gate.says_or(worker) {
                    break came;
                }
                assert_eq!(refused(worker.hears().1).code, Code::TooManyInFlight);
            };
            let (id, Event::Propose(_), _, mut descriptors) = came else {
                panic!("{:?}", came.1);
            };
            let socket = descriptors.pop().unwrap();
            let served =
                portcullis_transport::Endpoint::<portcullis_transport::SessionSide>::new(socket)
                    .unwrap();
            let reply = Reply::Pong(Ping {});
            served
                .send(&mut Vec::new(), RequestId(5), &reply, b"from elsewhere")
                .unwrap();
            let (heard, reply, content) = worker.hears();
            assert!(matches!(reply, Reply::Pong(_)) && heard == 5);
            assert_eq!(content, b"from elsewhere");
            gate.tell(id, &Command::Answered(Answered { used: Claimed::Yes }));
        }
    }
    loop {
        worker.asks(6, &list("open"), b"");
        match worker.hears() {
            (6, Reply::Entries(_), _) => break,
            (6, reply, _) => assert_eq!(refused(reply).code, Code::TooManyInFlight),
            (_, reply, _) => panic!("{reply:?}"),
        }
    }
    assert!(matches!(worker.hears(), (6, Reply::Done(_), _)));
    assert!(worker.has_heard_nothing());
}

/// A number is free as soon as its answer may have come, though the thread that asked does not know;
/// and that thread counts as one that streams until it does.
#[test]
fn a_stream_that_is_answered_elsewhere_frees_its_number_and_keeps_its_place() {
    let directory = directory();
    let (gate, sockets) = serve(directory.path(), &[("closed", ALL)], Vec::new());
    let worker = &sockets.worker;
    worker.asks(5, &list("closed"), b"");
    let (first, ..) = proposal(&gate);
    worker.asks(5, &list("closed"), b"");
    let (second, ..) = proposal(&gate);
    worker.asks(5, &list("closed"), b"");
    let refusal = refused(worker.hears().1);
    assert_eq!(refusal.code, Code::TooManyInFlight, "two may stream");
    gate.tell(second, &pending(2));
    assert_eq!(refused(worker.hears().1).proposal, Some(ProposalId(2)));
    gate.tell(first, &Command::Answered(Answered { used: Claimed::Yes }));
    worker.asks(5, &list("open"), b"");
    assert!(matches!(worker.hears(), (5, Reply::Entries(_), _)));
    assert!(matches!(worker.hears(), (5, Reply::Done(_), _)));
}

/// While what was approved is done elsewhere for a stream, an effect of the session begins and ends.
#[test]
fn an_effect_does_not_wait_for_what_is_done_elsewhere() {
    let directory = directory();
    let (gate, sockets) = serve(directory.path(), &[("closed", ALL)], Vec::new());
    let worker = &sockets.worker;
    worker.asks(5, &list("closed"), b"");
    let (waits, ..) = proposal(&gate);
    let change = set(Deed::Commit, vec![write("open/new", b"text", Expect::Any)]);
    worker.asks(6, &change, b"text");
    let (id, event, ..) = gate.says();
    assert!(matches!(event, Event::Begin(_)), "{event:?}");
    gate.tell(id, &Command::Begun(portcullis_protocol::ledger::Begun {}));
    let (id, event, ..) = gate.says();
    assert!(matches!(event, Event::Finish(_)), "{event:?}");
    let receipt = portcullis_protocol::ledger::ReceiptId {
        number: 1,
        chain: portcullis_protocol::view::Digest([1; 32]),
    };
    gate.tell(id, &Command::Receipted(receipt));
    assert!(matches!(worker.hears(), (6, Reply::Changed(_), _)));
    gate.tell(waits, &pending(3));
    assert_eq!(refused(worker.hears().1).proposal, Some(ProposalId(3)));
}

#[test]
fn what_cannot_be_asked_for_is_refused_without_a_number_and_says_how_it_can() {
    let directory = directory();
    let (gate, sockets) = serve(directory.path(), &[("closed", ALL)], Vec::new());
    let worker = &sockets.worker;
    let dry = set(Deed::DryRun, vec![delete("closed/there", Deletion::File)]);
    worker.asks(5, &dry, b"");
    let refusal = refused(worker.hears().1);
    assert_eq!(
        (refusal.code, refusal.proposal),
        (Code::NeedsApproval, None)
    );
    assert!(refusal.note.is_some());
    worker.asks(6, &read(&["open/there", "closed/there"]), b"");
    let Reply::ReadPart(_) = worker.hears().1 else {
        panic!("the first is granted");
    };
    let Reply::ReadPart(part) = worker.hears().1 else {
        panic!("the second is a part of the answer");
    };
    let Some(portcullis_protocol::session::ReadTail::Refused(refusal)) = part.tail else {
        panic!("{part:?}");
    };
    assert_eq!(
        (refusal.code, refusal.proposal),
        (Code::NeedsApproval, None)
    );
    assert!(refusal.note.is_some());
    // Nothing was asked of the warden meanwhile: what it hears next is another request.
    worker.asks(7, &stat("closed/there"), b"");
    let (_, came, ..) = proposal(&gate);
    assert_eq!(came.id, 7);
}

/// A denial that makes an approval needed is named; one that denies or hides asks nobody.
#[test]
fn a_denial_that_asks_lowers_a_grant_and_one_that_denies_lowers_it_further() {
    let directory = directory();
    let denials = vec![
        denial("ask*", Effect::Ask),
        denial("*deny", Effect::Deny),
        denial("*hide", Effect::Hide),
    ];
    let (gate, sockets) = serve(directory.path(), &[], denials);
    let worker = &sockets.worker;
    for (path, code) in [
        ("open/askdeny", Code::Denied),
        ("open/hide", Code::NotFound),
        ("closed/ask", Code::NotGranted),
    ] {
        worker.asks(5, &read(&[path]), b"");
        assert_eq!(refused(worker.hears().1).code, code, "{path}");
    }
    // The hidden one is asked about like one that is not there.
    for path in ["open/ask", "open/askhide"] {
        worker.asks(5, &read(&[path]), b"");
        let (id, came, ..) = proposal(&gate);
        assert_eq!(came, asked(5, &read(&[path]), b""));
        gate.tell(id, &pending(1));
        let refusal = refused(worker.hears().1);
        assert_eq!(refusal.rule.unwrap().name.as_str(), "ask*");
    }
    // What the warden says for another reason is not said to be by that rule.
    worker.asks(5, &read(&["open/ask"]), b"");
    let (id, ..) = proposal(&gate);
    gate.tell(
        id,
        &Command::NotBegun(Refusal::new(Code::Denied).noting("proposal 1 was refused")),
    );
    let refusal = refused(worker.hears().1);
    assert_eq!((refusal.code, refusal.rule), (Code::Denied, None));
}

/// A worker that asks as often as it can is answered one by one, and holds nothing of the gate.
#[test]
fn a_thousand_asks_leave_the_gate_as_it_was() {
    let directory = directory();
    let (mut gate, sockets) = serve(directory.path(), &[("closed", ALL)], Vec::new());
    let worker = &sockets.worker;
    for n in 0..1000 {
        worker.asks(5, &stat(&format!("closed/{n}")), b"");
        let (id, ..) = proposal(&gate);
        let over = Refusal::new(Code::TooManyInFlight).noting("too many proposals");
        gate.tell(id, &Command::NotBegun(over));
        assert_eq!(refused(worker.hears().1).code, Code::TooManyInFlight);
    }
    worker.asks(6, &stat("open/there"), b"");
    assert!(matches!(worker.hears(), (6, Reply::Stat(_), _)));
    assert!(gate.is_alive());
}
