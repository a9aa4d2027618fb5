//! Rows 1 to 13 and 15, for what changes files: every verb with every hostile name.

use crate::deeds::Deed;
use crate::trial::{
    Unprotected, at, bytes, done, likeness, mode, no_temporaries, one, refused, set_mode,
};
use portcullis_client::{Changes, Session, change};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Deletion;
use portcullis_tests::hostile::{Arena, NAMES, bytes as bytes_of, census};
use portcullis_tests::{os, own};
use std::path::Path;

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("a/b", "old content\n");
    arena.write("x", "old content\n");
    arena.write("spare", "old content\n");
    arena
}

/// Every deed is refused with one of `codes`, dry or not, and so is an upload; the tree is as it
/// was to the last time stamp.
#[track_caller]
fn all_refused(session: &mut Session, inside: &Path, name: &[u8], codes: &[Code]) {
    let before = census(inside);
    for deed in Deed::ALL {
        let changes = deed.changes(name);
        let shown = format!("{deed:?} {}", name.escape_ascii());
        let dry = portcullis_tests::code(&session.plan(&changes).map(drop).unwrap_err());
        let refusal = refused(session, &changes);
        assert!(codes.contains(&refusal.code), "{shown}: {refusal}");
        assert_eq!(dry, refusal.code, "{shown}: dry");
        assert_eq!(census(inside), before, "{shown}");
    }
    let upload = session.upload(&at(name), &mut &b"part"[..]);
    let upload = portcullis_tests::code(&upload.map(drop).unwrap_err());
    assert!(codes.contains(&upload), "upload: {upload:?}");
    assert_eq!(census(inside), before, "upload");
}

/// How many of these names lead a server that joins strings outside its root, by each deed.
fn beaten(names: &[&[u8]]) -> Vec<(Deed, usize)> {
    let beats = |deed: Deed, name: &[u8]| {
        let control = Unprotected::new();
        let before = control.census();
        let directories = ["directory", "empty"].map(|name| control.outside().join(name));
        let modes = directories.each_ref().map(mode);
        // Whatever it answers, what counts is what became of the files outside.
        deed.naive(&control.inside(), name).ok();
        for (directory, before) in directories.iter().zip(modes) {
            // One that may not be entered any more is opened again, to be looked into.
            if directory.is_dir() && mode(directory) != before {
                set_mode(directory, before);
                return true;
            }
        }
        control.census() != before
    };
    Deed::ALL
        .into_iter()
        .map(|deed| (deed, names.iter().filter(|name| beats(deed, name)).count()))
        .collect()
}

#[test]
fn row_01_06_07_09_10_names_that_are_none_are_refused_by_every_verb() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let long = [vec![b'n'; 200], vec![b'/'; 1]].concat().repeat(25);
    let (invalid, too_long) = ([Code::InvalidName], [Code::NameTooLong]);
    all_refused(session, &inside, b"", &invalid);
    for name in [&b"\0"[..], b"a\0b", b"a/\0", b"x\0/../../outside/secret"] {
        all_refused(session, &inside, name, &invalid);
    }
    for name in [vec![b'n'; 256], vec![b'n'; 8192], long] {
        all_refused(session, &inside, &name, &too_long);
    }
    for name in ["x/", "x/.", "x//", "x/y", "x/y/z", "a/b/"] {
        // A directory of the name of a file is refused because the name is taken.
        let codes = [Code::NotADirectory, Code::Exists];
        all_refused(session, &inside, name.as_bytes(), &codes);
    }
    for name in [".", "./", "a/..", "/workspace", ".//.", "a/../."] {
        all_refused(session, &inside, name.as_bytes(), &[Code::OutOfRange]);
    }
    // The control: cut at a zero byte, as C does, a name is another one.
    let control = Unprotected::new();
    let cut = Path::new("x\0/../../outside/secret").to_str().unwrap();
    let cut = cut.split('\0').next().unwrap();
    Deed::Write.naive(&control.inside(), cut).unwrap();
    assert_eq!(bytes(control.inside().join("x")), b"new content\n");
}

#[test]
fn row_02_03_names_that_lead_out_are_refused_by_every_verb() {
    let mut arena = arena();
    let inside = arena.inside();
    let outside = arena.outside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let escapes: &[&[u8]] = &[
        b"..",
        b"../",
        b"../x",
        b"../outside/secret",
        b"../outside/new",
        b"../outside/new/deep/er",
        b"../outside/directory",
        b"../outside/empty",
        b"../inside/x",
        b"a/../../outside/secret",
        b"a/../../outside/new",
        b"./..",
        b".//../outside/directory/file",
        b"a/../..",
        b"../../../../../../../../../../etc/portcullis-new",
    ];
    for name in escapes {
        all_refused(session, &inside, name, &[Code::Escape]);
    }
    let secret = outside.join("secret");
    let beside = [bytes_of(&inside), b"-evil"].concat();
    for name in [
        &b"/etc/passwd"[..],
        b"/etc/portcullis-new",
        b"/",
        b"/..",
        b"/proc/self/root/etc/passwd",
        b"/proc/self/fd/3",
        b"/dev/null",
        bytes_of(&secret),
        bytes_of(&outside),
        bytes_of(inside.parent().unwrap()),
        &beside,
    ] {
        all_refused(session, &inside, name, &[Code::NoSuchRoot]);
    }
    let beaten = beaten(&escapes[3..8]);
    println!("names that lead out, against a server that joins strings: {beaten:?}");
    for (deed, times) in beaten {
        assert!(
            times > 0,
            "the control holds against {deed:?}: it shows nothing"
        );
    }
}

#[test]
fn row_04_05_noise_and_dotdot_inside_the_root_name_the_canonical_object() {
    let mut arena = arena();
    arena.directory("deep/er");
    arena.link("short", "deep/er");
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let made = done(session, &one(change::create(at("./a/..//a/./new"), "1\n")));
    assert_eq!(made.touched.as_slice()[0].path.as_bytes(), b"a/new");
    // What `..` means depends on links: by text this would be beside `short`.
    let made = done(session, &one(change::create(at("short/../here"), "2\n")));
    assert_eq!(made.touched.as_slice()[0].path.as_bytes(), b"deep/here");
    let absolute = [bytes_of(&inside), b"//a/.././a/abs"].concat();
    done(session, &one(change::create(at(absolute), "3\n")));
    done(
        session,
        &one(change::create(at("/workspace/a/label"), "4\n")),
    );
    done(session, &one(change::mkdir(at("a/sub/"))));
    done(session, &one(change::rename(at("a/sub/."), at("a/./bus/"))));
    for (file, content) in [
        ("a/new", "1\n"),
        ("deep/here", "2\n"),
        ("a/abs", "3\n"),
        ("a/label", "4\n"),
    ] {
        assert_eq!(bytes(inside.join(file)), content.as_bytes());
    }
    assert!(inside.join("a/bus").is_dir() && !inside.join("here").exists());
    // The control resolves it by text.
    let control = Unprotected::new();
    std::fs::create_dir_all(control.inside().join("deep/er")).unwrap();
    std::os::unix::fs::symlink("deep/er", control.inside().join("short")).unwrap();
    let lexical = control.inside().join("here");
    std::fs::write(&lexical, "2\n").unwrap();
    assert!(!control.inside().join("deep/here").exists());
    // Two spellings of one name in a set are one name.
    let twice = Changes::new()
        .with(change::write(at("a/b"), "one"))
        .with(change::write(at("./a/../a//b"), "two"));
    assert_eq!(done(session, &twice).touched.as_slice().len(), 1);
    assert_eq!(bytes(inside.join("a/b")), b"two");
}

#[test]
fn row_07_08_a_slash_after_the_name_of_a_file_to_be_is_refused() {
    let mut arena = arena();
    arena.link("to-file", "x");
    arena.link("to-directory", "a");
    arena.link("to-outside", "../outside");
    arena.link("to-nothing", "missing");
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for end in ["/", "/.", "//"] {
        for deed in [
            Deed::Write,
            Deed::Create,
            Deed::CreateBelow,
            Deed::MoveTo,
            Deed::Link,
        ] {
            let refusal = refused(session, &deed.changes(format!("new{end}")));
            let codes = [Code::NotADirectory, Code::IsADirectory, Code::NotFound];
            assert!(
                codes.contains(&refusal.code),
                "{deed:?} new{end}: {refusal}"
            );
        }
        // A link is no directory, whatever it leads to: it is not followed in silence.
        for link in ["to-file", "to-directory", "to-outside", "to-nothing"] {
            for deed in Deed::ALL {
                let follows = matches!(deed, Deed::Write | Deed::Chmod | Deed::Edit);
                if follows && link == "to-directory" {
                    continue;
                }
                refused(session, &deed.changes(format!("{link}{end}")));
                assert_eq!(census(&inside), before, "{deed:?} {link}{end}");
            }
        }
    }
    // The control: the kernel follows a link before a slash.
    let control = Unprotected::new();
    std::os::unix::fs::symlink("../outside/new", control.inside().join("dangling")).unwrap();
    let naive = Deed::Mkdir.naive(&control.inside(), "dangling/");
    let follows = control.outside().join("new").is_dir();
    println!("mkdir `dangling/` without protection: {naive:?}, made outside: {follows}");
    std::os::unix::fs::symlink("../outside/directory", control.inside().join("link")).unwrap();
    Deed::Write.naive(&control.inside(), "link/file").unwrap();
    assert_eq!(
        bytes(control.outside().join("directory/file")),
        b"new content\n"
    );
}

#[test]
fn row_09_a_name_of_255_bytes_is_made_changed_and_removed() {
    let mut arena = arena();
    let inside = arena.inside();
    let longest = "n".repeat(255);
    let mut opened = arena.session();
    let session = &mut opened.session;
    let path = format!("{longest}/{longest}");
    done(session, &Deed::CreateBelow.changes(&path));
    done(session, &one(change::write(at(&path), "old content\n")));
    done(session, &Deed::Edit.changes(&path));
    done(session, &Deed::Chmod.changes(&path));
    done(session, &Deed::MoveFrom.changes(&path));
    done(session, &one(change::rename(at("free"), at(&path))));
    assert_eq!(bytes(inside.join(&path)), b"new content\n");
    done(session, &Deed::Delete.changes(&path));
    done(session, &Deed::DeleteTree.changes(&longest));
    assert!(!inside.join(&longest).exists());
}

#[test]
fn row_11_12_15_every_plain_name_is_bytes_to_every_verb() {
    let mut arena = arena();
    let inside = arena.inside();
    let before = likeness(&inside);
    let mut opened = arena.session();
    let session = &mut opened.session;
    for name in NAMES {
        let path = inside.join(os(name));
        let shown = name.escape_ascii();
        for making in [Deed::Create, Deed::Write] {
            let changed = done(session, &making.changes(name));
            assert_eq!(
                changed.touched.as_slice()[0].path.as_bytes(),
                *name,
                "{shown}"
            );
            assert_eq!(bytes(&path), b"new content\n", "{shown}");
        }
        assert_eq!(
            refused(session, &Deed::Create.changes(name)).code,
            Code::Exists
        );
        done(session, &one(change::replace(at(name), "new", "old")));
        done(session, &Deed::Chmod.changes(name));
        assert_eq!(
            (bytes(&path), crate::trial::mode(&path)),
            (b"old content\n".to_vec(), 0o600)
        );
        done(session, &Deed::MoveFrom.changes(name));
        assert!(!path.exists() && inside.join("free").exists(), "{shown}");
        done(session, &one(change::rename(at("free"), at(name))));
        done(session, &Deed::Delete.changes(name));
        assert!(std::fs::symlink_metadata(&path).is_err(), "{shown}");
        done(session, &Deed::Link.changes(name));
        assert_eq!(
            std::fs::read_link(&path).unwrap(),
            Path::new("spare"),
            "{shown}"
        );
        done(session, &Deed::Delete.changes(name));
        done(
            session,
            &Deed::CreateBelow.changes([*name, b"/", *name].concat()),
        );
        assert_eq!(bytes(path.join(os(name))), b"new content\n", "{shown}");
        done(session, &Deed::DeleteTree.changes(name));
        done(session, &Deed::Mkdir.changes(name));
        done(session, &Deed::DeleteDirectory.changes(name));
        assert_eq!(likeness(&inside), before, "{shown}");
    }
    // As the text of a link too: what can be a name below the root can be said.
    for name in NAMES {
        done(session, &one(change::link(at("link"), name).unwrap()));
        let text = std::fs::read_link(inside.join("link")).unwrap();
        assert_eq!(bytes_of(&text), *name);
        done(session, &one(change::delete(at("link"))));
    }
    assert_eq!(likeness(&inside), before);
}

#[test]
fn row_13_names_of_the_broker_are_refused_by_every_verb_hidden_and_counted() {
    let mut arena = arena();
    let inside = arena.inside();
    let bits = "0123456789abcdef0123456789ABCDEF";
    let own = format!(".portcullis-{bits}");
    let shouted = format!(".PORTCULLIS-{bits}");
    let absent = format!(".portcullis-{}", "f".repeat(32));
    arena.write(&own, "old content\n");
    arena.directory(&shouted);
    arena.write(format!("{shouted}/inner"), "old content\n");
    arena.link("link", &own);
    let mut opened = arena.session();
    let session = &mut opened.session;
    let codes = [Code::NotFound, Code::InvalidName, Code::Denied];
    for name in [
        own.clone(),
        shouted.clone(),
        format!("{shouted}/inner"),
        absent.clone(),
        format!("{absent}/x"),
        format!("a/{absent}"),
        format!("./a/../{own}"),
    ] {
        all_refused(session, &inside, name.as_bytes(), &codes);
    }
    for text in [own.as_str(), absent.as_str()] {
        let link = change::link(at("new-link"), text).unwrap();
        assert_eq!(
            refused(session, &one(link)).code,
            Code::Escape,
            "a link that says {text}"
        );
    }
    // Names that only look like one are ordinary.
    for name in [
        ".portcullis-",
        ".portcullis-1",
        ".portcullis-0123456789abcdef0123456789abcdeg",
    ] {
        done(session, &Deed::Create.changes(name));
        done(session, &Deed::Delete.changes(name));
    }
    let all = portcullis_tests::hostile::every(session, ".");
    assert_eq!(all.listed(), [&b"a"[..], b"a/b", b"link", b"spare", b"x"]);
    let counted = all.list.as_ref().unwrap().1.statistics;
    assert_eq!(counted.temporaries, 2, "{counted:?}");
    // The control has no such names to keep.
    assert!(Deed::Delete.naive(&inside, &own).is_ok());
    std::fs::remove_dir_all(inside.join(&shouted)).unwrap();
    std::fs::remove_file(inside.join("link")).unwrap();
    no_temporaries(&inside);
    let mut tree = change::delete(at("a"));
    tree.what = Deletion::Tree;
    done(session, &one(tree));
}
