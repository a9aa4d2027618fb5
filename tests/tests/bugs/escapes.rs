//! Rows 90 and 91.

use portcullis_protocol::refusal::Code;
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::hostile::{Arena, bytes, every};
use portcullis_tests::own;

#[test]
fn bug_90_no_link_dangling_or_not_leads_out() {
    let mut arena = Arena::new(own!("own-gate"));
    let outside = arena.outside();
    arena.directory("d");
    arena.link("absolute", outside.join("secret"));
    arena.link("relative", "../outside/secret");
    arena.link("directory", &outside);
    arena.link("dangling", outside.join("not-yet"));
    arena.link("dangling-relative", "../outside/not-yet");
    arena.link("d/chain", "../directory");
    let mut opened = arena.session();
    let session = &mut opened.session;
    for path in [
        "absolute",
        "relative",
        "directory",
        "directory/secret",
        "directory/not-yet",
        "directory/not-yet/deeper",
        "dangling",
        "dangling/x",
        "dangling-relative",
        "d/chain/secret",
        "d/chain/not-yet",
    ] {
        every(session, path).refused(Code::Escape);
    }
    // The branch "it does not exist yet, so look at its parent" has no parent outside to find.
    for path in [
        "d/not-yet/../../../outside/secret",
        "not-yet/../../outside/secret",
    ] {
        every(session, path).refused(Code::NotFound);
    }
    assert!(!outside.join("not-yet").exists());
}

#[test]
fn bug_90_a_sibling_whose_name_begins_like_the_root_is_outside() {
    let mut arena = Arena::new(own!("own-gate"));
    let inside = arena.inside();
    let sibling = arena.place.path().join("inside-private");
    std::fs::create_dir(&sibling).unwrap();
    std::fs::write(sibling.join("file"), "outside secret\n").unwrap();
    arena.link("way", &sibling);
    let mut opened = arena.session();
    every(&mut opened.session, bytes(&sibling.join("file"))).refused(Code::NoSuchRoot);
    every(&mut opened.session, "../inside-private/file").refused(Code::Escape);
    every(&mut opened.session, "way/file").refused(Code::Escape);
    let odd = [bytes(&inside), b"-private/file"].concat();
    every(&mut opened.session, odd).refused(Code::NoSuchRoot);
}

#[test]
fn bug_90_an_object_swapped_for_a_link_after_it_was_listed_is_not_followed_out() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("d/file", "content\n");
    let at = arena.inside().join("d");
    let outside = arena.outside();
    let mut opened = arena.session();
    assert_eq!(every(&mut opened.session, ".").found(), [b"d/file"]);
    std::fs::remove_dir_all(&at).unwrap();
    std::os::unix::fs::symlink(outside, &at).unwrap();
    every(&mut opened.session, "d/file").refused(Code::Escape);
    every(&mut opened.session, "d/secret").refused(Code::Escape);
    assert_eq!(every(&mut opened.session, ".").found(), Vec::<&[u8]>::new());
}

#[test]
fn bug_91_a_denial_holds_for_the_object_by_every_way_to_it() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("conf/.env", "TOKEN=1\n");
    arena.write("private/notes/a", "content\n");
    arena.link("link", "conf/.env");
    arena.link("far", "link");
    arena.link("door", "private");
    arena.link("conf/here", ".");
    let inside = arena.inside().canonicalize().unwrap();
    arena.link("absolute", inside.join("conf/.env"));
    let mut opened = arena.session_with(|order, root| {
        let private = portcullis_client::Pattern::below(root, "private/**");
        order.deny("private", "r", VerbSet::CONTENT, private)
    });
    let session = &mut opened.session;
    let host = [bytes(&inside), b"/conf/.env"].concat();
    for path in [
        &b"conf/.env"[..],
        b"./conf//.env",
        b"conf/../conf/.env",
        b"conf/here/here/.env",
        b"link",
        b"far",
        b"absolute",
        b"/workspace/conf/.env",
        b"conf/.ENV",
        b"conf/.env.local",
        b"not/yet/.env",
        &host,
    ] {
        every(session, path).content_denied("builtin:env");
    }
    for path in [
        "private/notes/a",
        "door/notes/a",
        "private/not-yet",
        "door/../private/notes/a",
    ] {
        every(session, path).content_denied("private");
    }
    // Walks that start above or beside it, and through the link.
    for path in [".", "conf", "conf/here", "private", "door"] {
        let all = every(session, path);
        assert!(all.search.is_err() || all.found().is_empty(), "{path}");
    }
}

#[test]
fn bug_91_a_link_does_not_change_what_is_allowed_either() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("real/file", "content\n");
    arena.link("agents", "real");
    let mut opened = arena.session();
    // Asked again and again through the link, it is the same object with the same answer.
    for _ in 0..3 {
        every(&mut opened.session, "agents/file").is_file("real/file", "content\n");
    }
    // A name that is only written like a denied one, but leads elsewhere, is judged as written.
    arena.link(".env", "real/file");
    every(&mut opened.session, ".env").content_denied("builtin:env");
}
