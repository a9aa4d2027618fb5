//! A runtime against a warden that follows a script.

use super::*;
use crate::{Control, MintOrder};
use portcullis_protocol::authority::{AuthorityId, RootId, RootIdentity, Scope};
use portcullis_protocol::bounded::Few;
use portcullis_protocol::control::{
    self, Answer, Build, Minted, Order, Over, OverCause, RunId, Sealed, Sharing,
};
use portcullis_protocol::ledger::CageReport;
use portcullis_protocol::path::Label;
use portcullis_protocol::verb::VerbSet;
use portcullis_transport::ControlSide;
use std::os::fd::AsFd;
use std::time::Duration;

pub(super) struct Warden {
    endpoint: Endpoint<ControlSide>,
    buffer: Buffer,
}

impl Warden {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self {
            endpoint: Endpoint::new(socket).unwrap(),
            buffer: Buffer::new(),
        }
    }

    pub(super) fn next(&mut self) -> (RequestId, Order, Vec<OwnedFd>) {
        let packet = self.endpoint.receive(&mut self.buffer).unwrap();
        let (frame, descriptors) = packet.decode().unwrap();
        (frame.id, frame.message, descriptors)
    }

    pub(super) fn send(&self, id: RequestId, answer: &Answer, with: &[BorrowedFd<'_>]) {
        self.endpoint.send_with(id, answer, with).unwrap();
    }

    pub(super) fn send_content(&self, id: RequestId, answer: &Answer, content: &[u8]) {
        self.endpoint
            .send(&mut Vec::new(), id, answer, content)
            .unwrap();
    }
}

pub(super) fn control(
    script: impl FnOnce(&mut Warden) + Send + 'static,
) -> (Control, JoinHandle<()>) {
    let (ours, theirs) = pair().unwrap();
    let warden = std::thread::spawn(move || {
        let mut warden = Warden::new(theirs);
        let (id, order, _) = warden.next();
        assert!(matches!(order, Order::Hello(_)));
        let welcome = control::Welcome {
            version: VERSION,
            incarnation: Incarnation([4; 16]),
            build: Build(77),
            sharing: Sharing::User,
        };
        warden.send(id, &Answer::Welcome(welcome), &[]);
        script(&mut warden);
    });
    (Control::new(ours).unwrap(), warden)
}

pub(super) fn minted() -> Answer {
    Answer::Minted(Minted {
        session: SessionId(9),
        authority: AuthorityId([0; 32]),
        run: RunId(3),
        merged: Few::default(),
        cage: CageReport {
            landlock_abi: 5,
            landlock_handled: 1,
            landlock_rules: 1,
            seccomp_mode: 2,
            seccomp_digest: [0; 32],
            no_new_privs: 1,
            capabilities: 0,
            dumpable: 0,
            user: 1,
            group: 1,
            probes_refused: 1,
            probes_made: 1,
        },
    })
}

fn over(session: u64) -> Answer {
    Answer::Over(Over {
        session: SessionId(session),
        cause: OverCause::WorkerLeft,
        tally: None,
        refusals: Few::default(),
        note: None,
        parent: None,
    })
}

#[test]
fn sealing_passes_a_readable_directory() {
    let (mut control, warden) = control(|warden| {
        let (id, order, descriptors) = warden.next();
        assert!(matches!(order, Order::Seal(_)));
        let [directory] = <[OwnedFd; 1]>::try_from(descriptors).unwrap();
        let names = rustix::fs::Dir::read_from(&directory).unwrap();
        assert!(names.count() >= 2, "it can be read here");
        let stat = rustix::fs::fstat(&directory).unwrap();
        let sealed = Sealed {
            root: RootId(1),
            location: RelPath::root(),
            identity: RootIdentity {
                device: stat.st_dev,
                inode: stat.st_ino,
                born: None,
                mount: 0,
            },
        };
        warden.send(id, &Answer::Sealed(sealed), &[]);
    });
    assert_eq!(control.incarnation(), Incarnation([4; 16]));
    assert_eq!(
        (control.build(), control.sharing()),
        (Build(77), Sharing::User)
    );
    let label = || Label::new("root").unwrap();
    let sealed = control
        .seal_path("/".as_ref(), label(), Scope::External)
        .unwrap();
    assert_eq!(sealed.root, RootId(1));
    warden.join().unwrap();
    let missing = control.seal_path("/nowhere/at/all".as_ref(), label(), Scope::External);
    assert_eq!(missing.unwrap_err().code_name(), "cannot_open");
}

#[test]
fn a_minted_session_speaks_and_expects_its_broker() {
    let (mut control, warden) = control(|warden| {
        let (id, order, descriptors) = warden.next();
        let Order::Mint(mint) = order else {
            panic!("{order:?}");
        };
        assert_eq!(mint.denials.as_slice().len(), 1);
        assert_eq!(descriptors.len(), 1, "the denied object");
        let (worker, gate) = pair().unwrap();
        warden.send(id, &minted(), &[worker.as_fd()]);
        drop(worker);
        let mut gate = Gate::new(gate);
        let (id, request, _) = gate.next();
        assert!(
            matches!(request, Request::Hello(h) if h.incarnation == Some(Incarnation([4; 16])))
        );
        gate.send(id, &Reply::Welcome(welcome(VERSION)), &[]);
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Stat(bound("a")), &[]);
    });
    let object = OwnedFd::from(std::fs::File::open("/").unwrap());
    let order = MintOrder::new("ann")
        .root(RootId(1), None)
        .grant(RootId(1), RelPath::root(), VerbSet::READING)
        .deny_object("keys", "secret", VerbSet::CONTENT, object);
    let (minted, mut session) = control.mint(&order).unwrap();
    assert_eq!((minted.session, minted.run), (SessionId(9), RunId(3)));
    let stat = ask::stat(ask::selector("a").unwrap());
    assert_eq!(session.stat(&stat).unwrap(), bound("a"));
    warden.join().unwrap();
}

#[test]
fn a_session_without_its_socket_or_with_two_is_a_violation() {
    for count in [0, 2] {
        let (mut control, warden) = control(move |warden| {
            let (id, ..) = warden.next();
            let (a, b) = pair().unwrap();
            let both = [a.as_fd(), b.as_fd()];
            warden.send(id, &minted(), &both[..count]);
        });
        let error = control.mint(&MintOrder::new("ann")).unwrap_err();
        assert_eq!(violation(&error), Violation::Descriptors);
        warden.join().unwrap();
    }
}

#[test]
fn ends_of_sessions_that_come_early_are_kept_for_their_waiter() {
    let (mut control, warden) = control(|warden| {
        let (id, ..) = warden.next();
        warden.send(RequestId::NONE, &over(1), &[]);
        warden.send(RequestId::NONE, &over(2), &[]);
        warden.send(id, &Answer::Ended(control::Ended {}), &[]);
        warden.send(RequestId::NONE, &over(3), &[]);
    });
    control.end(SessionId(1)).unwrap();
    let mut wait = |n| control.wait_over(SessionId(n), Some(Duration::from_secs(5)));
    assert_eq!(wait(3).unwrap().unwrap().session, SessionId(3));
    assert_eq!(wait(2).unwrap().unwrap().session, SessionId(2));
    assert_eq!(wait(1).unwrap().unwrap().session, SessionId(1));
    warden.join().unwrap();
    assert_eq!(wait(1).unwrap_err().code(), &ErrorCode::Closed(None));
}

#[test]
fn waiting_ends_at_its_timeout() {
    let (mut control, warden) = control(|warden| {
        let (id, ..) = warden.next();
        warden.send(id, &Answer::Ended(control::Ended {}), &[]);
    });
    let short = Some(Duration::from_millis(20));
    assert_eq!(control.wait_over(SessionId(1), short).unwrap(), None);
    control.end(SessionId(1)).unwrap();
    warden.join().unwrap();
}

#[test]
fn a_refused_order_keeps_the_connection_and_a_wrong_id_ends_it() {
    let (mut control, warden) = control(|warden| {
        let (id, ..) = warden.next();
        warden.send(
            id,
            &Answer::Refused(Refusal::new(Code::UnknownSession)),
            &[],
        );
        let (id, ..) = warden.next();
        let wrong = RequestId(id.0 + 1);
        warden.send(wrong, &Answer::Ended(control::Ended {}), &[]);
    });
    let unknown = control.end(SessionId(1)).unwrap_err();
    assert_eq!(unknown.code_name(), "unknown_session");
    let error = control.unseal(RootId(1)).unwrap_err();
    assert!(matches!(violation(&error), Violation::UnknownId(_)));
    assert_eq!(control.status().unwrap_err(), error);
    warden.join().unwrap();
}
