//! Rows 61, 71, 72 and 114 to 118: the kernel's own rights, descriptors, cursors and limits.

use portcullis_client::{Session, ask};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Completeness, CutReason};
use portcullis_tests::hostile::{Arena, every, limit_descriptors, within_bounds};
use portcullis_tests::{own, privileged, read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn row_61_directories_and_files_without_permission_are_said_to_be_so() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("no-read/file", "content\n");
    arena.write("no-search/file", "content\n");
    arena.write("closed/file", "content\n");
    arena.write("file", "content\n");
    arena.write("open", "content\n");
    arena.link("way", "no-search/file");
    let inside = arena.inside();
    let modes = [
        ("no-read", 0o311),
        ("no-search", 0o644),
        ("closed", 0),
        ("file", 0),
    ];
    for (name, bits) in modes {
        mode(&inside.join(name), bits);
    }
    let mut opened = arena.session();
    let session = &mut opened.session;
    // The gate has no capability, also when root started it: the file's own mode decides.
    let no = Some(Code::Permission);
    every(session, "no-read/file").is_file("no-read/file", "content\n");
    let all = every(session, "no-read");
    assert_eq!(all.codes(), [None, all.codes()[1], no, no, no]);
    assert!(matches!(
        all.codes()[1],
        Some(Code::IsADirectory | Code::Permission)
    ));
    for path in ["no-search/file", "no-search/missing", "closed/file", "way"] {
        every(session, path).refused(Code::Permission);
    }
    let file = every(session, "file");
    assert_eq!(
        [file.codes()[0], file.codes()[1], file.codes()[4]],
        [None, no, no]
    );
    let whole = every(session, ".");
    assert_eq!(whole.found(), [b"open"]);
    // Unreadable: no-read and closed, whose names cannot be had; no-search's file and `file`.
    assert_eq!(whole.search.as_ref().unwrap().1.statistics.unreadable, 4);
    assert_eq!(
        whole.listed(),
        [
            &b"closed"[..],
            b"file",
            b"no-read",
            b"no-search",
            b"no-search/file",
            b"open",
            b"way"
        ]
    );
    for (name, _) in modes {
        mode(&inside.join(name), 0o755);
    }
}

#[test]
fn row_61_a_file_of_another_user_is_refused_by_its_own_mode() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("theirs", "content\n");
    let at = arena.inside().join("theirs");
    mode(&at, 0o600);
    let given = std::os::unix::fs::chown(&at, Some(4242), Some(4242));
    if !privileged() {
        assert_eq!(given.unwrap_err().raw_os_error(), Some(1));
        println!("row 61 with another owner needs root: proven in the run as root");
        return;
    }
    given.unwrap();
    let mut opened = arena.session();
    let all = every(&mut opened.session, "theirs");
    assert_eq!(
        [all.codes()[1], all.codes()[4]],
        [Some(Code::Permission); 2]
    );
    assert!(all.stat.is_ok());
}

#[test]
fn row_61_a_root_of_another_user_is_served_with_that_users_rights() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("theirs", "content\n");
    arena.write("mine", "content\n");
    let inside = arena.inside();
    if !privileged() {
        println!("a root of another user needs root: proven in the run as root");
        let given = std::os::unix::fs::chown(&inside, Some(4242), Some(4242));
        assert_eq!(given.unwrap_err().raw_os_error(), Some(1));
        return;
    }
    for name in ["theirs", "mine"] {
        mode(&inside.join(name), 0o600);
    }
    mode(arena.place.path(), 0o755);
    for path in [inside.clone(), inside.join("theirs")] {
        std::os::unix::fs::chown(path, Some(4242), Some(4242)).unwrap();
    }
    let mut opened = arena.session();
    every(&mut opened.session, "theirs").is_file("theirs", "content\n");
    assert_eq!(
        read(&mut opened.session, "mine"),
        Err(Code::Permission),
        "root's file"
    );
}

#[test]
fn row_71_descriptors_a_worker_passes_are_closed_and_the_session_with_them() {
    use portcullis_protocol::frame::RequestId;
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    use std::os::fd::AsFd as _;
    within_bounds(|| {
        let mut arena = Arena::new(own!("own-gate"));
        arena.write("a", "content\n");
        let opened = arena.session();
        let socket = opened.session.into_socket().unwrap();
        let (kept, passed) = rustix::pipe::pipe().unwrap();
        let fds = [passed.as_fd()];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        let ping =
            portcullis_protocol::session::Request::Ping(portcullis_protocol::session::Ping {});
        let mut frame = Vec::new();
        portcullis_protocol::frame::encode(RequestId(7), &ping, 0, &mut frame).unwrap();
        let data = [std::io::IoSlice::new(&frame)];
        match sendmsg(&socket, &data, &mut control, SendFlags::empty()) {
            // The kernel takes none for a socket that wants none (Linux 6.16).
            Err(rustix::io::Errno::PERM) => {}
            sent => assert_eq!(sent, Ok(frame.len())),
        }
        drop(passed);
        // Nobody has the writing end any more: the gate never got it, or closed its copy.
        let mut byte = [0; 1];
        assert_eq!(rustix::io::read(&kept, &mut byte).unwrap(), 0);
        drop(socket);
        arena
            .control
            .wait_over(opened.id, Some(std::time::Duration::from_secs(15)))
            .unwrap()
            .unwrap();
    });
}

#[test]
fn row_72_no_answer_brings_a_descriptor() {
    use portcullis_protocol::frame::{RequestId, decode, encode};
    use portcullis_protocol::session::{Hello, Reply, Request};
    use rustix::net::{RecvAncillaryBuffer, RecvFlags, SendFlags, recvmsg, send};
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("d/file", "content\n");
    let opened = arena.session();
    let socket = opened.session.into_socket().unwrap();
    let selector = |path: &str| ask::selector(path).unwrap();
    let all = [
        Request::Hello(Hello {
            version: portcullis_protocol::VERSION,
            limits: portcullis_warden::default_limits(),
            incarnation: None,
            client: portcullis_protocol::bounded::Text::default(),
        }),
        Request::Whoami(portcullis_protocol::session::Whoami {}),
        Request::Stat(ask::stat(selector("d"))),
        Request::Read(ask::read(selector("d/file"))),
        Request::List(ask::list(selector("d"))),
        Request::Glob(ask::glob(selector("."), "*").unwrap()),
        Request::Search(ask::search(selector("."), "content").unwrap()),
        Request::Why(ask::why(
            portcullis_protocol::verb::Verb::Read,
            selector("d/file"),
        )),
    ];
    for (n, request) in all.iter().enumerate() {
        let mut frame = Vec::new();
        encode(RequestId(u32::try_from(n).unwrap()), request, 0, &mut frame).unwrap();
        send(&socket, &frame, SendFlags::empty()).unwrap();
        loop {
            let mut room = vec![0; portcullis_protocol::limits::FRAME_BYTES_MAX];
            let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut data = [std::io::IoSliceMut::new(&mut room)];
            let got = recvmsg(&socket, &mut data, &mut control, RecvFlags::empty()).unwrap();
            assert_eq!(control.drain().count(), 0, "{request:?}");
            let frame = decode::<Reply>(&room[..got.bytes]).unwrap();
            match frame.message {
                Reply::Entries(_) | Reply::Matches(_) | Reply::Progress(_) => {}
                Reply::Refused(refusal) => panic!("{request:?}: {refusal}"),
                Reply::ReadPart(part) => {
                    if part.tail.is_some() {
                        break;
                    }
                }
                Reply::Welcome(_)
                | Reply::Whoami(_)
                | Reply::Stat(_)
                | Reply::Done(_)
                | Reply::Why(_)
                | Reply::Pong(_)
                | Reply::Planned(_)
                | Reply::Changed(_)
                | Reply::Uploaded(_)
                | Reply::Composed(_)
                | Reply::Conflicted(_)
                | Reply::Noted(_) => break,
                Reply::Delegated(_) => panic!("{request:?}: a session was delegated"),
                Reply::Closing(closing) => panic!("{request:?}: {closing:?}"),
            }
        }
    }
}

#[test]
fn row_114_a_cursor_is_good_for_the_directory_it_was_made_in_only() {
    let mut arena = Arena::new(own!("own-gate"));
    for name in ["d/a", "d/b", "d/c", "e/a", "e/b", "e/c"] {
        arena.write(name, "content\n");
    }
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let mut list = ask::list(ask::selector("d").unwrap());
    list.limit = 1;
    let page = |session: &mut Session, list: &_| {
        let mut stream = session.list(list).unwrap();
        let paths: Vec<_> = stream
            .by_ref()
            .map(|e| e.unwrap().path.as_bytes().to_vec())
            .collect();
        (paths, stream.finish().unwrap().completeness)
    };
    let (first, end) = page(session, &list);
    assert_eq!(first, [b"d/a"]);
    let Completeness::Cut {
        reason: CutReason::Limit,
        cursor: Some(cursor),
    } = end
    else {
        panic!("{end:?}");
    };
    list.cursor = Some(cursor.clone());
    assert_eq!(page(session, &list).0, [b"d/b"]);
    // The same bytes for another directory, for the same name that is another directory, damaged.
    let bad = |session: &mut Session, list: &_| {
        portcullis_tests::code(&session.list(list).map(drop).unwrap_err())
    };
    list.selector = ask::selector("e").unwrap();
    assert_eq!(bad(session, &list), Code::BadCursor);
    let mut glob = ask::glob(ask::selector("e").unwrap(), "*").unwrap();
    glob.cursor = Some(cursor.clone());
    let globbed = session.glob(&glob).map(drop).unwrap_err();
    assert_eq!(portcullis_tests::code(&globbed), Code::BadCursor);
    list.selector = ask::selector("d").unwrap();
    for n in 0..cursor.as_slice().len() {
        let cut = cursor.as_slice()[..n].to_vec();
        list.cursor = Some(portcullis_protocol::bounded::Bytes::new(cut).unwrap());
        // A cursor is no secret: one that names a shorter name of the same directory is one.
        if n < cursor.as_slice().len() - 1 {
            assert_eq!(bad(session, &list), Code::BadCursor, "{n} bytes");
        }
    }
    for path in ["../outside/x", "d/../../outside", "d", "", "e/a", "/etc"] {
        let mut forged = cursor.as_slice()[..17].to_vec();
        forged.extend_from_slice(path.as_bytes());
        list.cursor = Some(portcullis_protocol::bounded::Bytes::new(forged).unwrap());
        assert_eq!(bad(session, &list), Code::BadCursor, "{path:?}");
    }
    std::fs::rename(inside.join("d"), inside.join("old")).unwrap();
    std::fs::create_dir(inside.join("d")).unwrap();
    std::fs::write(inside.join("d/b"), "content\n").unwrap();
    list.cursor = Some(cursor);
    assert_eq!(bad(session, &list), Code::BadCursor);
}

#[test]
fn row_111_names_that_come_and_go_between_pages_are_missed_or_met_and_never_invented() {
    let mut arena = Arena::new(own!("own-gate"));
    for n in 0..20 {
        arena.write(format!("d/{n:02}"), "content\n");
    }
    let inside = arena.inside();
    let mut opened = arena.session();
    let mut list = ask::list(ask::selector("d").unwrap());
    list.limit = 5;
    let mut seen = Vec::new();
    for round in 0.. {
        let mut stream = opened.session.list(&list).unwrap();
        seen.extend(
            stream
                .by_ref()
                .map(|entry| entry.unwrap().path.as_bytes().to_vec()),
        );
        match stream.finish().unwrap().completeness {
            Completeness::Complete => break,
            Completeness::Cut { cursor, .. } => list.cursor = cursor,
        }
        if round == 0 {
            // The name the cursor stands on, one before it, one after it.
            std::fs::remove_file(inside.join("d/04")).unwrap();
            std::fs::rename(inside.join("d/01"), inside.join("d/zz")).unwrap();
            std::fs::rename(inside.join("d/19"), inside.join("d/00-early")).unwrap();
        }
    }
    let mut expected: Vec<_> = (0..19).map(|n| format!("d/{n:02}").into_bytes()).collect();
    expected.push(b"d/zz".to_vec());
    assert_eq!(seen, expected);
}

#[test]
fn row_115_thousands_of_opens_leave_no_descriptor_open() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("d/file", "content\n");
    arena.link("link", "d/file");
    arena.link("out", "../outside/secret");
    let mut opened = arena.session();
    let gate = arena.control.status().unwrap().sessions.as_slice()[0].gate;
    // Half of these would be too many if one in a hundred stayed open.
    limit_descriptors(gate, 40);
    let session = &mut opened.session;
    for _ in 0..2000 {
        assert_eq!(read(session, "d/file").unwrap(), b"content\n");
        assert_eq!(read(session, "link").unwrap(), b"content\n");
        assert_eq!(read(session, "out"), Err(Code::Escape));
        session
            .list(&ask::list(ask::selector("d").unwrap()))
            .unwrap()
            .finish()
            .unwrap();
    }
}

#[test]
fn row_116_without_a_free_descriptor_a_request_is_refused_and_the_next_one_served() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("d/file", "content\n");
    arena.link("link", "d/file");
    let mut opened = arena.session();
    let session = &mut opened.session;
    every(session, "d/file").is_file("d/file", "content\n");
    let gate = arena.control.status().unwrap().sessions.as_slice()[0].gate;
    let before = limit_descriptors(gate, 1);
    for path in ["d/file", "link", "d", "."] {
        every(session, path).refused(Code::Exhausted);
    }
    limit_descriptors(gate, before);
    every(session, "d/file").is_file("d/file", "content\n");
    every(session, "link").is_file("d/file", "content\n");
}

#[test]
fn row_116_a_walk_that_runs_out_of_descriptors_counts_what_it_passed_over() {
    let mut arena = Arena::new(own!("own-gate"));
    for n in 0..2000 {
        arena.write(format!("d{n:04}/file"), "content\n");
    }
    let mut opened = arena.session();
    let gate = arena.control.status().unwrap().sessions.as_slice()[0].gate;
    let mut list = ask::list(ask::selector(".").unwrap());
    list.depth = 2;
    let mut stream = opened.session.list(&list).unwrap();
    assert!(stream.next().is_some());
    limit_descriptors(gate, 1);
    let seen = 1 + stream.by_ref().map(Result::unwrap).count();
    let done = stream.finish().unwrap();
    let passed_over = usize::try_from(done.statistics.unreadable).unwrap();
    assert!(done.completeness == Completeness::Complete, "{done:?}");
    assert_eq!(
        seen + passed_over,
        4000,
        "every file is listed or its directory counted"
    );
}

#[test]
fn row_117_a_session_that_takes_all_it_may_disturbs_no_other() {
    within_bounds(|| {
        let mut arena = Arena::new(own!("own-gate"));
        for n in 0..3000 {
            arena.write(format!("d/{n:0200}"), "content\n");
        }
        let hog = arena.session();
        let inside = arena.inside();
        // Streams that nobody reads fill the hog's socket and hold its gate.
        let mut hog = hog.session;
        let mut list = ask::list(ask::selector("d").unwrap());
        list.depth = 9;
        let held = hog.list(&list).unwrap();
        let root = arena.seal(&inside, "other");
        let order = portcullis_client::MintOrder::new("t")
            .root(root, None)
            .grant(
                root,
                portcullis_protocol::path::RelPath::root(),
                portcullis_protocol::verb::VerbSet::READING,
            );
        let (_, mut other) = arena.control.mint(&order).unwrap();
        for n in 0..50 {
            let path = format!("d/{n:0200}");
            assert_eq!(read(&mut other, &path).unwrap(), b"content\n");
        }
        assert_eq!(held.count(), 3000);
    });
}

#[test]
fn row_118_a_lease_held_by_another_process_makes_a_read_wait_bounded() {
    within_bounds(|| {
        let mut arena = Arena::new(own!("own-gate"));
        arena.write("leased", "content\n");
        arena.write("other", "content\n");
        // A child holds the lease: a break of its own is signalled to it, and it does nothing.
        let script = "import fcntl,os,signal,sys\n\
            signal.signal(signal.SIGIO, signal.SIG_IGN)\n\
            f=os.open(sys.argv[1], os.O_RDWR)\n\
            fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n\
            print('held', flush=True)\n\
            sys.stdin.read()\n";
        let mut child = std::process::Command::new("python3")
            .args(["-c", script])
            .arg(arena.inside().join("leased"))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
        let mut opened = arena.session();
        let session = &mut opened.session;
        assert_eq!(read(session, "leased"), Err(Code::Contended));
        assert_eq!(read(session, "other").unwrap(), b"content\n");
        assert!(
            session
                .stat(&ask::stat(ask::selector("leased").unwrap()))
                .is_ok()
        );
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(read(session, "leased").unwrap(), b"content\n");
    });
}
