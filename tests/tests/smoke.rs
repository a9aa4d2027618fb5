//! One of everything: a worker lists, reads and searches through a socket.

use portcullis_client::ask;
use portcullis_protocol::session::Found;
use portcullis_tests::{World, names, own, read};

#[test]
fn a_worker_lists_reads_and_searches_through_a_socket() {
    let mut world = World::new(own!("own-gate"));
    world.write("a/b.txt", "hello\nneedle here\n");
    world.write("c.txt", "nothing\n");
    let mut opened = world.session();
    let session = &mut opened.session;
    assert_eq!(names(session, ".", 5), [&b"a"[..], b"a/b.txt", b"c.txt"]);
    assert_eq!(read(session, "a/b.txt").unwrap(), b"hello\nneedle here\n");
    let found: Vec<_> = session
        .search(&ask::search(ask::selector(".").unwrap(), "needle").unwrap())
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(found.len(), 2);
    assert!(matches!(&found[1], Found::Line(line) if line.number == 2 && line.column == 1));
    let who = session.whoami().unwrap();
    assert_eq!(who.roots.as_slice()[0].label.as_str(), "workspace");
    world.control.end(opened.id).unwrap();
    let after = session
        .stat(&ask::stat(ask::selector("c.txt").unwrap()))
        .unwrap_err();
    assert_eq!(after.code_name(), "connection_closed");
}
