//! Rows 1 to 15: what may be written as a name.

use portcullis_client::ask;
use portcullis_protocol::limits::PATH_BYTES_MAX;
use portcullis_protocol::path::{Label, escape, unescape};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Completeness, Found};
use portcullis_protocol::view::Kind;
use portcullis_tests::hostile::{Arena, NAMES, bytes, deep_tree, every, every_at};
use portcullis_tests::{os, own};

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("a/b", "inner\n");
    arena.write("x", "top\n");
    arena.write("b", "beside a\n");
    arena
}

#[test]
fn row_01_the_empty_name_is_invalid() {
    let mut arena = arena();
    let mut opened = arena.session();
    every(&mut opened.session, "").refused_even_as_link(Code::InvalidName);
}

#[test]
fn row_02_an_absolute_path_elsewhere_lies_in_no_root() {
    let mut arena = arena();
    let outside = arena.outside();
    let secret = outside.join("secret");
    let inside = arena.inside();
    let beside = [bytes(&inside), b"-evil"].concat();
    let mut opened = arena.session();
    let session = &mut opened.session;
    for path in [
        &b"/etc/passwd"[..],
        b"/",
        b"//",
        b"/.",
        b"/..",
        b"/../etc/passwd",
        b"/etc/",
        b"/proc/self/root/etc/passwd",
        b"/proc/self/fd/3",
        b"/nothing-here",
        bytes(&secret),
        bytes(&outside),
        bytes(inside.parent().unwrap()),
        &beside,
    ] {
        every(session, path).refused_even_as_link(Code::NoSuchRoot);
    }
}

#[test]
fn row_02_an_absolute_path_beneath_the_sealed_root_is_a_selector() {
    let mut arena = arena();
    let inside = arena.inside().canonicalize().unwrap();
    let mut opened = arena.session();
    let session = &mut opened.session;
    every(session, bytes(&inside.join("a/b"))).is_file("a/b", "inner\n");
    every(session, bytes(&inside)).is_directory("");
    every(session, [b"//", bytes(&inside), b"//a/./b"].concat()).is_file("a/b", "inner\n");
    every(session, "/workspace/a/b").is_file("a/b", "inner\n");
    every(session, "/workspace").is_directory("");
    let up = [bytes(&inside), b"/../outside/secret"].concat();
    every(session, up).refused_even_as_link(Code::Escape);
    every(session, "/workspace/../outside/secret").refused_even_as_link(Code::Escape);
    every(session, "/workspacex/a/b").refused_even_as_link(Code::NoSuchRoot);
    // An explicit root and a slash would be two roots at once.
    let label = Label::new("workspace").unwrap();
    let twice = ask::selector_in(label.clone(), "/workspace/a/b").unwrap();
    every_at(session, twice).refused_even_as_link(Code::NoSuchRoot);
    let named = ask::selector_in(label, "a/b").unwrap();
    every_at(session, named).is_file("a/b", "inner\n");
    let unknown = ask::selector_in(Label::new("other").unwrap(), "a/b").unwrap();
    every_at(session, unknown).refused_even_as_link(Code::NoSuchRoot);
}

#[test]
fn row_03_dotdot_above_the_root_is_an_escape() {
    let mut arena = arena();
    let mut opened = arena.session();
    let session = &mut opened.session;
    for path in [
        "..",
        "../",
        "../x",
        "../outside/secret",
        "../inside/x",
        "a/../../x",
        "a/../../outside/secret",
        "./..",
        ".//../x",
        "a/../..",
        "../../../../../../../../etc/passwd",
        "a/../../../../../../../../../../../../etc/passwd",
    ] {
        every(session, path).refused_even_as_link(Code::Escape);
    }
}

#[test]
fn row_04_dotdot_inside_the_root_is_resolved_by_the_gate() {
    let mut arena = arena();
    arena.directory("deep/er");
    arena.link("short", "deep/er");
    arena.write("deep/here", "beside er\n");
    let mut opened = arena.session();
    let session = &mut opened.session;
    every(session, "a/../b").is_file("b", "beside a\n");
    every(session, "a/..").is_directory("");
    every(session, "a/../a/b").is_file("a/b", "inner\n");
    every(session, "deep/er/../../x").is_file("x", "top\n");
    // What `..` means depends on links, as the kernel sees it and unlike text.
    every(session, "short/../here").is_file("deep/here", "beside er\n");
    every(session, "short/../x").refused(Code::NotFound);
    // A component before it has to exist and be a directory.
    every(session, "missing/../x").refused(Code::NotFound);
    every(session, "x/../x").refused(Code::NotADirectory);
    every(session, "x/..").refused(Code::NotADirectory);
}

#[test]
fn row_05_noise_in_a_path_names_the_canonical_object() {
    let mut arena = arena();
    let mut opened = arena.session();
    let session = &mut opened.session;
    for path in [
        "a/b",
        "./a/b",
        "a//b",
        "a/./b",
        ".//a///.//b",
        "././a/././b",
    ] {
        every(session, path).is_file("a/b", "inner\n");
    }
    for path in [".", "./", ".//.", "./."] {
        every(session, path).is_directory("");
    }
    for path in ["a", "a/", "a/.", "a//", "./a/./"] {
        every(session, path).is_directory("a");
    }
}

#[test]
fn row_06_a_zero_byte_is_in_no_name() {
    let mut arena = arena();
    let mut opened = arena.session();
    for path in [
        &b"a\0"[..],
        b"\0",
        b"a/b\0",
        b"a\0/b",
        b"x\0/../../outside/secret",
        b"/\0",
    ] {
        every(&mut opened.session, path).refused_even_as_link(Code::InvalidName);
    }
}

#[test]
fn row_07_a_slash_after_a_file_is_not_a_directory() {
    let mut arena = arena();
    let mut opened = arena.session();
    let session = &mut opened.session;
    for path in ["x/", "x/.", "x//", "x/./", "a/b/", "x/y", "x/y/z"] {
        every(session, path).refused_even_as_link(Code::NotADirectory);
    }
}

#[test]
fn row_08_a_slash_after_a_link_wants_a_directory() {
    let mut arena = arena();
    arena.link("to-directory", "a");
    arena.link("to-file", "x");
    arena.link("to-outside", "../outside");
    arena.link("to-nothing", "missing");
    let mut opened = arena.session();
    let session = &mut opened.session;
    for end in ["/", "/.", "//"] {
        every(session, format!("to-directory{end}")).is_directory("a");
        every(session, format!("to-file{end}")).refused(Code::NotADirectory);
        every(session, format!("to-outside{end}")).refused(Code::Escape);
        every(session, format!("to-nothing{end}")).refused(Code::NotFound);
        // As a link it is no directory, whatever it leads to: never followed in silence.
        for link in ["to-directory", "to-file", "to-outside", "to-nothing"] {
            let look = every(session, format!("{link}{end}")).look;
            let code = look.map_err(|refusal| refusal.code);
            assert_eq!(code, Err(Code::NotADirectory), "{link}{end}");
        }
    }
}

#[test]
fn row_09_names_of_255_bytes_are_served_and_longer_ones_refused() {
    let mut arena = arena();
    let longest = "n".repeat(255);
    arena.write(format!("{longest}/{longest}"), "long\n");
    let mut opened = arena.session();
    let session = &mut opened.session;
    every(session, format!("{longest}/{longest}"))
        .is_file(format!("{longest}/{longest}"), "long\n");
    for path in [
        "n".repeat(256),
        format!("{}/x", "n".repeat(256)),
        format!("{longest}/{}", "n".repeat(256)),
        format!("{}/../x", "n".repeat(256)),
        "n".repeat(8192),
    ] {
        every(session, path).refused_even_as_link(Code::NameTooLong);
    }
}

#[test]
fn row_10_paths_over_4095_bytes_are_refused_and_counted_by_walks_never_cut() {
    let mut arena = arena();
    // 15 levels of 255 bytes and their slashes are 3839 bytes.
    let name = vec![b'd'; 255];
    arena.directory("long");
    let deepest = deep_tree(&arena.inside().join("long"), &name, 15);
    let used = 4 + 15 * 256;
    let fits = vec![b'f'; PATH_BYTES_MAX - used - 1];
    let over = vec![b'g'; PATH_BYTES_MAX - used];
    for file in [&fits, &over] {
        let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        let file = rustix::fs::openat(&deepest, file.as_slice(), flags, mode).unwrap();
        rustix::io::write(&file, b"far down\n").unwrap();
    }
    let mut above = b"long".to_vec();
    for _ in 0..15 {
        above.push(b'/');
        above.extend_from_slice(&name);
    }
    let path = |last: &[u8]| [&above, &b"/"[..], last].concat();
    assert_eq!(
        (path(&fits).len(), path(&over).len()),
        (PATH_BYTES_MAX, PATH_BYTES_MAX + 1)
    );
    let mut opened = arena.session();
    let session = &mut opened.session;
    every(session, path(&fits)).is_file(path(&fits), "far down\n");
    every(session, path(&over)).refused_even_as_link(Code::NameTooLong);
    every(session, [b"./a/../", path(&over).as_slice()].concat())
        .refused_even_as_link(Code::NameTooLong);
    // The written form may be longer than what it comes to.
    every(session, [b"././a/../", path(&fits).as_slice()].concat())
        .is_file(path(&fits), "far down\n");
    let whole = every(session, "long");
    whole.is_directory("long");
    assert!(whole.listed().contains(&path(&fits).as_slice()));
    assert!(whole.globbed().contains(&path(&fits).as_slice()));
    assert_eq!(whole.found(), [path(&fits).as_slice()]);
    let ends = [
        &whole.list.as_ref().unwrap().1,
        &whole.glob.as_ref().unwrap().1,
        &whole.search.as_ref().unwrap().1,
    ];
    for done in ends {
        assert_eq!(done.statistics.too_deep, 1, "{done:?}");
        assert_eq!(done.completeness, Completeness::Complete);
    }
}

#[test]
fn row_11_12_15_every_name_is_plain_bytes_to_every_verb() {
    let mut arena = Arena::new(own!("own-gate"));
    for name in NAMES {
        arena.write(
            os(&[b"files/", *name].concat()),
            [*name, b" is here\n"].concat(),
        );
        arena.write(os(&[b"directories/", *name, b"/inner"].concat()), "inner\n");
        arena.link(
            os(&[b"links/", *name].concat()),
            os(&[b"../files/", *name].concat()),
        );
    }
    let mut opened = arena.session();
    let session = &mut opened.session;
    let everything = every(session, ".");
    for name in NAMES {
        let file = [b"files/", *name].concat();
        let content = [*name, b" is here\n"].concat();
        every(session, &file).is_file(&file, &content);
        every(session, [b"links/", *name].concat()).is_file(&file, &content);
        let look = every(session, [b"links/", *name].concat()).look.unwrap();
        assert_eq!(look.observation.kind, Kind::Link);
        let text = [b"../files/", *name].concat();
        assert_eq!(look.link.unwrap().as_slice(), text.as_slice());
        let inner = [b"directories/", *name, b"/inner"].concat();
        every(session, &inner).is_file(&inner, "inner\n");
        let directory = [b"directories/", *name].concat();
        let below = every(session, &directory);
        below.is_directory(&directory);
        assert_eq!(below.listed(), [inner.as_slice()]);
        assert_eq!(below.globbed(), [inner.as_slice()]);
        assert_eq!(below.found(), [inner.as_slice()]);
        for path in [&file, &inner, &directory] {
            assert!(
                everything.listed().contains(&path.as_slice()),
                "{}",
                path.escape_ascii()
            );
            assert!(
                everything.globbed().contains(&path.as_slice()),
                "{}",
                path.escape_ascii()
            );
        }
        for path in [&file, &inner] {
            assert!(
                everything.found().contains(&path.as_slice()),
                "{}",
                path.escape_ascii()
            );
        }
        let shown = escape(name);
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
        assert_eq!(unescape(&shown).as_deref(), Some(*name));
    }
    let links = everything.list.as_ref().unwrap().0.iter();
    assert_eq!(
        links.filter(|entry| entry.kind == Kind::Link).count(),
        NAMES.len()
    );
}

#[test]
fn row_15_a_pattern_finds_a_name_of_metacharacters_when_they_are_escaped() {
    let mut arena = Arena::new(own!("own-gate"));
    for name in NAMES {
        arena.write(os(&[b"files/", *name].concat()), "needle\n");
    }
    let mut opened = arena.session();
    let session = &mut opened.session;
    for name in NAMES
        .iter()
        .filter_map(|name| std::str::from_utf8(name).ok())
    {
        let pattern: String = name
            .chars()
            .flat_map(|c| {
                ["\\".to_owned(), c.to_string()]
                    .into_iter()
                    .skip(usize::from(!r"\*?[]{},!".contains(c)))
            })
            .collect();
        let directory = ask::selector("files").unwrap();
        let glob = ask::glob(directory.clone(), &pattern).unwrap();
        let hits: Vec<_> = session
            .glob(&glob)
            .unwrap()
            .map(|entry| entry.unwrap().path.as_bytes().to_vec())
            .collect();
        assert_eq!(
            hits,
            [format!("files/{name}").as_bytes()],
            "glob {pattern:?}"
        );
        let mut search = ask::search(directory, "needle").unwrap();
        search.include = portcullis_protocol::bounded::Few::new(vec![
            portcullis_protocol::bounded::Bytes::new(pattern.as_bytes()).unwrap(),
        ])
        .unwrap();
        let hits: Vec<_> = session
            .search(&search)
            .unwrap()
            .filter_map(|found| match found.unwrap() {
                Found::File { path } => Some(path.as_bytes().to_vec()),
                Found::Line(_) | Found::Count { .. } => None,
            })
            .collect();
        assert_eq!(
            hits,
            [format!("files/{name}").as_bytes()],
            "search in {pattern:?}"
        );
    }
}

#[test]
fn row_14_every_alias_of_a_denied_directory_is_denied() {
    let mut arena = arena();
    for alias in [
        ".git",
        ".GIT",
        ".Git",
        ".g\u{200c}it",
        "\u{feff}.git",
        ".g\u{131}t",
    ] {
        arena.write(format!("repo-{}/{alias}/config", alias.len()), "token\n");
    }
    let mut opened = arena.session_with(|order, _| {
        let verbs = portcullis_protocol::verb::VerbSet::CONTENT;
        order.deny(
            "no-git",
            "history",
            verbs,
            portcullis_tests::anywhere(".git"),
        )
    });
    let session = &mut opened.session;
    for alias in [".git", ".GIT", ".Git", ".g\u{200c}it", "\u{feff}.git"] {
        let at = format!("repo-{}/{alias}", alias.len());
        every(session, format!("{at}/config")).content_denied("no-git");
        every(session, format!("{at}/./config")).content_denied("no-git");
        every(session, format!("{at}/missing")).content_denied("no-git");
        every(session, &at).content_denied("no-git");
        every(session, format!("a/../{at}/config")).content_denied("no-git");
    }
    // A dotless i is another letter.
    let other = format!("repo-{}/.g\u{131}t/config", ".g\u{131}t".len());
    every(session, &other).is_file(&other, "token\n");
}
