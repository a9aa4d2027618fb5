//! Rows 48 to 54 and 113: objects that are neither files nor directories, and one for the other.

use portcullis_protocol::refusal::Code;
use portcullis_protocol::view::Kind;
use portcullis_tests::hostile::{Arena, bytes, events, every, watch, within_bounds};
use portcullis_tests::{own, privileged};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::os::unix::net::UnixListener;
use std::path::Path;

fn fifo(at: &Path) {
    mknodat(CWD, at, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
}

/// A character device; an ordinary user may not make one.
fn device(at: &Path, major: u32, minor: u32) -> Result<(), rustix::io::Errno> {
    let number = rustix::fs::makedev(major, minor);
    mknodat(
        CWD,
        at,
        FileType::CharacterDevice,
        Mode::from_raw_mode(0o666),
        number,
    )
}

#[test]
fn row_48_a_fifo_without_a_writer_is_refused_at_once() {
    within_bounds(|| {
        let mut arena = Arena::new(own!("own-gate"));
        fifo(&arena.inside().join("pipe"));
        arena.link("to-pipe", "pipe");
        arena.write("sub/file", "content\n");
        fifo(&arena.inside().join("sub/pipe"));
        let opens = watch(&[
            &arena.inside().join("pipe"),
            &arena.inside().join("sub/pipe"),
        ]);
        let mut opened = arena.session();
        let session = &mut opened.session;
        for path in ["pipe", "to-pipe", "sub/pipe", "./sub/../pipe"] {
            every(session, path).is_special(Kind::Fifo);
        }
        every(session, "pipe/").refused(Code::NotADirectory);
        every(session, "pipe/x").refused(Code::NotADirectory);
        if privileged() {
            assert_eq!(
                events(&opens),
                Vec::<String>::new(),
                "root's gate opens no FIFO"
            );
        }
        drop(events(&opens));
        let whole = every(session, ".");
        assert_eq!(whole.entry("pipe").kind, Kind::Fifo);
        assert_eq!(whole.found(), [b"sub/file"]);
        assert_eq!(whole.search.as_ref().unwrap().1.statistics.not_regular, 3);
        assert_eq!(events(&opens), Vec::<String>::new(), "a walk opens no FIFO");
    });
}

#[test]
fn row_48_a_fifo_with_a_writer_gives_no_byte() {
    within_bounds(|| {
        let mut arena = Arena::new(own!("own-gate"));
        let at = arena.inside().join("pipe");
        fifo(&at);
        // Opened for both, so that neither end waits.
        let writer = std::fs::File::options()
            .read(true)
            .write(true)
            .open(&at)
            .unwrap();
        rustix::io::write(&writer, b"outside secret\n").unwrap();
        let mut opened = arena.session();
        every(&mut opened.session, "pipe").is_special(Kind::Fifo);
        assert!(every(&mut opened.session, ".").found().is_empty());
        let mut left = [0; 32];
        assert_eq!(
            rustix::io::read(&writer, &mut left).unwrap(),
            15,
            "it was read from"
        );
    });
}

#[test]
fn row_50_a_socket_is_refused() {
    within_bounds(|| {
        let mut arena = Arena::new(own!("own-gate"));
        let listener = UnixListener::bind(arena.inside().join("socket")).unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut opened = arena.session();
        every(&mut opened.session, "socket").is_special(Kind::Socket);
        let whole = every(&mut opened.session, ".");
        assert_eq!(whole.entry("socket").kind, Kind::Socket);
        assert!(whole.found().is_empty());
        let connected = listener.accept().unwrap_err();
        assert_eq!(
            connected.kind(),
            std::io::ErrorKind::WouldBlock,
            "it was connected to"
        );
    });
}

#[test]
fn row_51_a_device_node_is_refused_and_not_opened() {
    within_bounds(|| {
        let mut arena = Arena::new(own!("own-gate"));
        let inside = arena.inside();
        let made = device(&inside.join("zero"), 1, 5);
        if !privileged() {
            assert_eq!(made, Err(rustix::io::Errno::PERM));
            println!("row 51 needs root: proven in the run as root");
            return;
        }
        made.unwrap();
        device(&inside.join("mem"), 1, 1).unwrap();
        device(&inside.join("tty"), 5, 0).unwrap();
        device(&inside.join("nothing"), 4000, 1).unwrap();
        let number = rustix::fs::makedev(7, 0);
        mknodat(
            CWD,
            inside.join("disk"),
            FileType::BlockDevice,
            Mode::from_raw_mode(0o666),
            number,
        )
        .unwrap();
        arena.link("link", "zero");
        let all = ["zero", "mem", "tty", "nothing", "disk"].map(|name| inside.join(name));
        let opens = watch(&all.each_ref().map(|path| path.as_path()));
        let mut opened = arena.session();
        for path in ["zero", "mem", "tty", "nothing", "disk", "link"] {
            every(&mut opened.session, path).is_special(Kind::Device);
        }
        let whole = every(&mut opened.session, ".");
        assert_eq!(whole.entry("disk").kind, Kind::Device);
        assert!(whole.found().is_empty());
        assert_eq!(whole.search.as_ref().unwrap().1.statistics.not_regular, 6);
        assert_eq!(events(&opens), Vec::<String>::new(), "a device was opened");
    });
}

#[test]
fn row_53_a_directory_given_to_read_is_a_directory() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.directory("d/e");
    arena.link("l", "d");
    let mut opened = arena.session();
    for (path, canonical) in [
        ("d", "d"),
        ("d/e", "d/e"),
        ("l", "d"),
        (".", ""),
        ("l/e/..", "d"),
    ] {
        every(&mut opened.session, path).is_directory(canonical);
    }
}

#[test]
fn row_54_a_file_given_to_list_or_glob_is_not_a_directory() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("d/file", "content\n");
    arena.write("empty", "");
    arena.link("l", "d/file");
    let mut opened = arena.session();
    every(&mut opened.session, "d/file").is_file("d/file", "content\n");
    every(&mut opened.session, "l").is_file("d/file", "content\n");
    every(&mut opened.session, "empty").is_file("empty", "");
}

#[test]
fn row_113_a_search_opens_files_and_directories_only() {
    within_bounds(|| {
        let mut arena = Arena::new(own!("own-gate"));
        let inside = arena.inside();
        arena.write("tree/file", "content\n");
        arena.link("tree/out", "../../outside/secret");
        arena.link("tree/out-directory", "../../outside");
        arena.link("tree/dangling", "missing");
        fifo(&inside.join("tree/pipe"));
        let _socket = UnixListener::bind(inside.join("tree/socket")).unwrap();
        let mut special = vec![inside.join("tree/pipe"), inside.join("tree/socket")];
        if device(&inside.join("tree/zero"), 1, 5).is_ok() {
            special.push(inside.join("tree/zero"));
        }
        assert_eq!(special.len(), if privileged() { 3 } else { 2 });
        let opens = watch(
            &special
                .iter()
                .map(|path| path.as_path())
                .collect::<Vec<_>>(),
        );
        let mut opened = arena.session();
        let whole = every(&mut opened.session, "tree");
        assert_eq!(whole.found(), [b"tree/file"]);
        let passed_over = 3 + u64::try_from(special.len()).unwrap();
        assert_eq!(
            whole.search.as_ref().unwrap().1.statistics.not_regular,
            passed_over
        );
        assert_eq!(whole.search.as_ref().unwrap().1.statistics.files, 1);
        assert_eq!(events(&opens), Vec::<String>::new());
        assert_eq!(whole.entry("tree/out").kind, Kind::Link);
        assert!(!bytes(&special[0]).is_empty());
    });
}
