//! Denied is visible and named; hidden is absent and never counted; and neither is shed by
//! another spelling, another name of the object, or a narrower root.

use portcullis_client::{MintOrder, Pattern, ask};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Detail, Statistics};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_tests::hostile::{All, Arena, every};
use portcullis_tests::{anywhere, os, own};
use std::os::fd::OwnedFd;
use std::path::Path;

fn held(path: &Path) -> OwnedFd {
    use rustix::fs::{Mode, OFlags};
    rustix::fs::open(
        path,
        OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .unwrap()
}

fn tallies(all: &All) -> [Statistics; 3] {
    [
        all.list.as_ref().unwrap().1.statistics,
        all.glob.as_ref().unwrap().1.statistics,
        all.search.as_ref().unwrap().1.statistics,
    ]
}

#[test]
fn denied_is_refused_by_name_and_still_listed() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("plans/secret.txt", "content\n");
    arena.write("plans/open.txt", "content\n");
    arena.write("vault/a/b", "content\n");
    arena.link("way", "plans/secret.txt");
    arena.link("door", "vault");
    let mut opened = arena.session_with(|order, _| {
        order
            .deny(
                "no-secrets",
                "ask first",
                VerbSet::CONTENT,
                anywhere("secret.*"),
            )
            .deny("no-vault", "closed", VerbSet::READING, anywhere("vault"))
    });
    let session = &mut opened.session;
    for path in [
        "plans/secret.txt",
        "way",
        "plans/../way",
        "plans/secret.missing",
    ] {
        every(session, path).content_denied("no-secrets");
    }
    let stat = every(session, "plans/secret.txt").stat.unwrap();
    assert_eq!(stat.observation.stamp.size, 8, "metadata is not denied");
    for path in [
        "vault",
        "vault/a",
        "vault/a/b",
        "door/a/b",
        "vault/missing",
        "door",
        "vault/../way",
    ] {
        every(session, path).denied("no-vault");
    }
    let whole = every(session, ".");
    let listed = [
        &b"door"[..],
        b"plans",
        b"plans/open.txt",
        b"plans/secret.txt",
        b"vault",
        b"way",
    ];
    assert_eq!(
        whole.listed(),
        listed,
        "what is denied has a name, what is below it has none"
    );
    assert_eq!(whole.globbed(), listed);
    assert_eq!(whole.found(), [b"plans/open.txt"]);
    assert_eq!(whole.search.as_ref().unwrap().1.statistics.denied, 2);
    let rule = |path: &str| {
        whole
            .entry(path)
            .denied
            .as_ref()
            .map(|rule| rule.as_str().to_owned())
    };
    assert_eq!(rule("plans/secret.txt").as_deref(), Some("no-secrets"));
    assert_eq!(rule("vault").as_deref(), Some("no-vault"));
    assert_eq!(rule("plans/open.txt"), None);
    let who = session.whoami().unwrap();
    let named = |name: &str| {
        who.denials
            .as_slice()
            .iter()
            .any(|d| d.rule.name.as_str() == name)
    };
    assert!(named("no-secrets") && named("no-vault"));
}

#[test]
fn hidden_is_absent_and_never_counted() {
    // Two trees, one of them with more that is hidden: a session must not tell them apart.
    let [with, without] = [true, false].map(|more| {
        let mut arena = Arena::new(own!("own-gate"));
        arena.write("plans/open.txt", "content\n");
        arena.link("way", "plans/ghost.txt");
        if more {
            arena.write("plans/ghost.txt", "ghostly content\n");
            arena.write("plans/ghost/deep/er", "ghostly content\n");
            arena.write("a-ghost", "ghostly content\n");
            arena.link("ghost-link", "plans");
        }
        let mut opened = arena.session_with(|order, _| order.hide("h", "r", anywhere("*ghost*")));
        let session = &mut opened.session;
        let paths = [
            "plans/ghost.txt",
            "plans/GHOST.txt",
            "plans/ghost",
            "plans/ghost/",
            "plans/ghost/deep/er",
            "plans/ghost/../open.txt",
            "plans/ghost.txt/x",
            "a-ghost",
            "ghost-link",
            "ghost-link/open.txt",
            "way",
        ];
        let mut answers = Vec::new();
        for path in paths {
            let all = every(session, path);
            all.refused(Code::NotFound);
            let [read, list] = [all.read.unwrap_err(), all.list.unwrap_err()];
            answers.push(format!("{read:?} {list:?}"));
        }
        let whole = every(session, ".");
        let plans = every(session, "plans");
        let who = session.whoami().unwrap();
        let hidden = |all: &All| {
            let mut paths = [all.listed(), all.globbed(), all.found()].concat();
            paths.retain(|path| path.windows(5).any(|part| part == b"ghost"));
            assert_eq!(paths, Vec::<&[u8]>::new());
            (all.listed().len(), tallies(all))
        };
        let seen = (hidden(&whole), hidden(&plans));
        assert!(!format!("{who:?}").contains("ghost"));
        (answers, seen, who.denials)
    });
    assert_eq!(with, without);
}

#[test]
fn hidden_is_not_counted_even_where_its_path_is_too_long() {
    let [with, without] = [true, false].map(|more| {
        let mut arena = Arena::new(own!("own-gate"));
        arena.directory("long");
        let top = arena.inside().join("long");
        let deepest = portcullis_tests::hostile::deep_tree(&top, &[b'd'; 255], 15);
        if more {
            let name = [&b"ghost"[..], &[b'g'; 250]].concat();
            rustix::fs::mkdirat(&deepest, name.as_slice(), rustix::fs::Mode::RWXU).unwrap();
        }
        let mut opened = arena.session_with(|order, _| order.hide("h", "r", anywhere("ghost*")));
        tallies(&every(&mut opened.session, "long"))
    });
    assert_eq!(with, without);
}

/// Spellings of `.env`, `.ssh`, `server.key` and a name with an accent.
const SPELLINGS: &[(&str, &str)] = &[
    (".ENV", "builtin:env"),
    (".Env", "builtin:env"),
    (".eNV.PRODUCTION", "builtin:env"),
    (".e\u{200b}nv", "builtin:env"),
    ("\u{feff}.env", "builtin:env"),
    (".env\u{ad}", "builtin:env"),
    (".en\u{2060}v.local", "builtin:env"),
    (".e\u{fe0f}nv", "builtin:env"),
    (".env\u{e0041}", "builtin:env"),
    (".SSH/config", "builtin:ssh"),
    (".\u{17f}sh/config", "builtin:ssh"),
    (".s\u{200d}sh/config", "builtin:ssh"),
    ("ID_RSA", "builtin:ssh"),
    ("id_r\u{17f}a", "builtin:ssh"),
    ("server.KEY", "builtin:key-files"),
    ("server.\u{212a}ey", "builtin:key-files"),
    (".AWS/Credentials", "builtin:cloud"),
    (".Npmrc", "builtin:packages"),
    ("stra\u{df}e", "mine"),
    ("STRASSE", "mine"),
    ("caf\u{e9}", "mine"),
    ("cafe\u{301}", "mine"),
    ("CAFE\u{301}", "mine"),
    ("CAF\u{c9}", "mine"),
    ("c\u{200b}afe\u{301}", "mine"),
];

#[test]
fn every_spelling_of_a_denied_name_is_denied_existing_or_not() {
    for exists in [true, false] {
        let mut arena = Arena::new(own!("own-gate"));
        arena.directory("d");
        if exists {
            for (name, _) in SPELLINGS {
                arena.write(Path::new("d").join(name), "content\n");
            }
        }
        let mut opened = arena.session_with(|order, _| {
            order
                .deny("mine", "r", VerbSet::CONTENT, anywhere("Stra\u{df}e"))
                .deny("mine", "r", VerbSet::CONTENT, anywhere("caf\u{e9}"))
        });
        let session = &mut opened.session;
        for (name, rule) in SPELLINGS {
            every(session, format!("d/{name}")).content_denied(rule);
            every(session, format!("./d/../d//{name}")).content_denied(rule);
        }
        let whole = every(session, "d");
        assert_eq!(whole.found(), Vec::<&[u8]>::new());
        for (name, rule) in SPELLINGS.iter().filter(|_| exists) {
            let said = whole
                .entry(format!("d/{name}"))
                .denied
                .as_ref()
                .map(|said| said.as_str());
            assert_eq!(said, Some(*rule), "{name:?}");
        }
    }
}

#[test]
fn every_spelling_of_a_hidden_name_is_absent_existing_or_not() {
    let spellings = [
        "private",
        "PRIVATE",
        "Private",
        "priv\u{200b}ate",
        "\u{feff}private",
        "pr\u{ad}ivate",
        "caf\u{e9}",
        "cafe\u{301}",
        "CAF\u{c9}",
        "\u{212a}elvin",
        "kelvin",
        "KELVIN",
    ];
    for exists in [true, false] {
        let mut arena = Arena::new(own!("own-gate"));
        arena.write("d/shown", "content\n");
        if exists {
            for name in spellings {
                arena.write(Path::new("d").join(name).join("inner"), "content\n");
            }
        }
        let mut opened = arena.session_with(|order, _| {
            ["private", "cafe\u{301}", "kelvin"]
                .iter()
                .fold(order, |order, name| order.hide("h", "r", anywhere(name)))
        });
        let session = &mut opened.session;
        for name in spellings {
            every(session, format!("d/{name}")).refused_even_as_link(Code::NotFound);
            every(session, format!("d/{name}/inner")).refused_even_as_link(Code::NotFound);
        }
        let whole = every(session, "d");
        assert_eq!(whole.listed(), [b"d/shown"]);
        assert_eq!(whole.found(), [b"d/shown"]);
        assert_eq!(tallies(&whole).map(|t| t.directories), [1, 1, 1]);
    }
}

#[test]
fn names_that_only_look_alike_are_other_names() {
    let mut arena = Arena::new(own!("own-gate"));
    let names: &[&[u8]] = &[
        b".env ",
        b".env~",
        b".environment",
        b"env",
        b".en",
        b".ssh.",
        b".sshd/config",
        b"id_rsa.pub",
        b"server.key.txt",
        b"serverkey",
        b".env\xff",
        "\u{ff0e}env".as_bytes(),
        b".e nv",
        ".\u{435}nv".as_bytes(),
    ];
    for name in names {
        arena.write(os(name), "content\n");
    }
    let mut opened = arena.session();
    for name in names {
        every(&mut opened.session, name).is_file(name, "content\n");
    }
}

#[test]
fn grants_match_bytes_and_nothing_else() {
    let mut arena = Arena::new(own!("own-gate"));
    for name in ["Src/x", "src/x", "src-evil/x", "s\u{200b}rc/x", "srcx"] {
        arena.write(name, "content\n");
    }
    let inside = arena.inside();
    let root = arena.seal(&inside, "r");
    let order = MintOrder::new("t").root(root, None).grant(
        root,
        RelPath::parse(b"src").unwrap(),
        VerbSet::READING,
    );
    let (_, mut session) = arena.control.mint(&order).unwrap();
    every(&mut session, "src/x").is_file("src/x", "content\n");
    for path in [
        "Src/x",
        "SRC/x",
        "src-evil/x",
        "s\u{200b}rc/x",
        "srcx",
        "src/../Src/x",
        ".",
    ] {
        every(&mut session, path).refused_even_as_link(Code::NotGranted);
    }
}

#[test]
fn a_denied_object_is_denied_under_every_name_it_has() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("a/original", "content\n");
    arena.write("a/other", "content\n");
    arena.directory("b");
    let inside = arena.inside();
    std::fs::hard_link(inside.join("a/original"), inside.join("b/alias")).unwrap();
    arena.link("c", "b/alias");
    let object = held(&inside.join("a/original"));
    let mut opened =
        arena.session_with(|order, _| order.deny_object("that-one", "r", VerbSet::CONTENT, object));
    let session = &mut opened.session;
    for path in ["a/original", "b/alias", "c"] {
        every(session, path).content_denied("that-one");
    }
    every(session, "a/other").is_file("a/other", "content\n");
    // A name given to it later is one of its names too.
    std::fs::hard_link(inside.join("a/original"), inside.join("later")).unwrap();
    every(session, "later").content_denied("that-one");
    let whole = every(session, ".");
    assert_eq!(whole.found(), [b"a/other"]);
    assert_eq!(whole.search.as_ref().unwrap().1.statistics.denied, 3);
    for path in ["a/original", "b/alias", "later"] {
        let said = whole.entry(path).denied.as_ref().map(|rule| rule.as_str());
        assert_eq!(said, Some("that-one"), "{path}");
    }
}

#[test]
fn a_hidden_object_is_absent_under_every_name_it_has() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("a/original", "content\n");
    arena.write("a/other", "content\n");
    arena.write("a/tree/deep/file", "content\n");
    let inside = arena.inside();
    std::fs::hard_link(inside.join("a/original"), inside.join("alias")).unwrap();
    arena.link("way", "a/tree");
    let (file, tree) = (
        held(&inside.join("a/original")),
        held(&inside.join("a/tree")),
    );
    let mut opened = arena.session_with(|order, _| {
        order
            .hide_object("f", "r", file)
            .hide_object("t", "r", tree)
    });
    let session = &mut opened.session;
    for path in [
        "a/original",
        "alias",
        "a/original/x",
        "a/original/",
        "a/tree",
        "a/tree/",
        "way",
    ] {
        every(session, path).refused(Code::NotFound);
    }
    let whole = every(session, ".");
    assert_eq!(whole.listed(), [&b"a"[..], b"a/other", b"way"]);
    assert_eq!(whole.found(), [b"a/other"]);
}

#[test]
fn what_is_below_a_denied_or_hidden_directory_object_is_so_too() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("denied/deep/file", "content\n");
    arena.write("hidden/deep/file", "content\n");
    arena.link("way", "denied/deep");
    let inside = arena.inside();
    let objects = ["denied", "hidden"].map(|name| held(&inside.join(name)));
    let [denied, hidden] = objects;
    let mut opened = arena.session_with(|order, _| {
        order
            .deny_object("d", "r", VerbSet::READING, denied)
            .hide_object("h", "r", hidden)
    });
    let session = &mut opened.session;
    for path in [
        "denied",
        "denied/deep",
        "denied/deep/file",
        "way/file",
        "denied/../way/file",
    ] {
        every(session, path).denied("d");
    }
    for path in [
        "hidden",
        "hidden/deep",
        "hidden/deep/file",
        "hidden/missing",
        "hidden/../way",
    ] {
        every(session, path).refused(Code::NotFound);
    }
    // Under another name too: it is the object that is denied.
    std::fs::rename(inside.join("denied"), inside.join("renamed")).unwrap();
    every(session, "renamed/deep/file").denied("d");
    let whole = every(session, ".");
    assert_eq!(whole.listed(), [&b"renamed"[..], b"way"]);
    assert_eq!(whole.found(), Vec::<&[u8]>::new());
}

#[test]
fn row_69_a_right_to_list_gives_no_metadata_and_no_text_of_links() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("d/file", "content\n");
    arena.link("d/link", "../d/file");
    let inside = arena.inside();
    let root = arena.seal(&inside, "r");
    let verbs = VerbSet::of(&[Verb::List, Verb::Glob]);
    let order = MintOrder::new("t")
        .root(root, None)
        .grant(root, RelPath::root(), verbs);
    let (_, mut session) = arena.control.mint(&order).unwrap();
    let all = every(&mut session, "d");
    let no = Some(Code::NotGranted);
    assert_eq!(all.codes(), [no, no, None, None, no]);
    for entry in all.list.unwrap().0.iter().chain(&all.glob.unwrap().0) {
        assert_eq!(
            entry.detail, None,
            "size and link text belong to stat: {entry:?}"
        );
    }
    // The same where stat is denied by a rule.
    let mut opened = arena.session_with(|order, _| {
        order.deny("no-stat", "r", VerbSet::of(&[Verb::Stat]), anywhere("file"))
    });
    let mut list = ask::list(ask::selector("d").unwrap());
    list.detail = Detail::Full;
    let entries: Vec<_> = opened
        .session
        .list(&list)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(entries[0].path.as_bytes(), b"d/file");
    assert_eq!(entries[0].detail, None, "stat of it is denied");
    assert!(entries[1].detail.is_some());
}

#[test]
fn a_narrower_root_sheds_no_denial() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("home/.ssh/config", "content\n");
    arena.write("home/.ssh/keys/mine/inner", "content\n");
    arena.write("conf/secret/deep/file", "content\n");
    arena.write("ghosts/one/file", "content\n");
    arena.write("conf/.env/file", "content\n");
    let inside = arena.inside();
    let outer = arena.seal(&inside, "outer");
    for (below, file, rule) in [
        ("home/.ssh", "config", Some("builtin:ssh")),
        ("home/.ssh/keys", "mine/inner", Some("builtin:ssh")),
        ("home/.ssh/keys/mine", "inner", Some("builtin:ssh")),
        ("conf/.env", "file", Some("builtin:env")),
        ("conf", "secret/deep/file", Some("anchored")),
        ("conf/secret", "deep/file", Some("anchored")),
        ("conf/secret/deep", "file", Some("anchored")),
        ("ghosts", "one/file", None),
        ("ghosts/one", "file", None),
    ] {
        let root = arena.seal(&inside.join(below), "inner");
        let order = MintOrder::new("t")
            .root(root, None)
            .grant(root, RelPath::root(), VerbSet::READING)
            .deny(
                "anchored",
                "r",
                VerbSet::CONTENT,
                Pattern::below(outer, "conf/secret/**"),
            )
            .hide("ghosts", "r", Pattern::below(outer, "ghosts/**"));
        let (_, mut session) = arena.control.mint(&order).unwrap();
        match rule {
            Some(rule) => {
                every(&mut session, file).content_denied(rule);
                assert!(
                    every(&mut session, file).stat.is_ok(),
                    "names are not denied"
                );
                let whole = every(&mut session, ".");
                assert!(whole.listed().contains(&file.as_bytes()));
                assert!(whole.search.is_err() || whole.found().is_empty());
            }
            None => {
                every(&mut session, file).refused_even_as_link(Code::NotFound);
                let whole = every(&mut session, ".");
                assert!(whole.list.is_err() || whole.listed().is_empty());
            }
        }
    }
}

#[test]
fn a_session_within_another_keeps_its_denials_and_its_grants() {
    let mut arena = Arena::new(own!("own-gate"));
    for path in ["a/open", "a/closed", "a/ghost", "b/open"] {
        arena.write(path, "content\n");
    }
    let inside = arena.inside();
    let root = arena.seal(&inside, "r");
    let parent = MintOrder::new("t")
        .root(root, None)
        .grant(root, RelPath::parse(b"a").unwrap(), VerbSet::READING)
        .deny("closed", "r", VerbSet::CONTENT, anywhere("closed"))
        .hide("ghost", "r", anywhere("ghost"));
    let (parent, _session) = arena.control.mint(&parent).unwrap();
    let narrower = arena.seal(&inside.join("a"), "narrow");
    let whole = MintOrder::new("t")
        .root(root, None)
        .grant(root, RelPath::root(), VerbSet::READING)
        .except("builtin:env")
        .within(parent.session);
    let (_, mut child) = arena.control.mint(&whole).unwrap();
    every(&mut child, "a/open").is_file("a/open", "content\n");
    every(&mut child, "a/closed").content_denied("closed");
    every(&mut child, "a/ghost").refused_even_as_link(Code::NotFound);
    every(&mut child, "b/open").refused_even_as_link(Code::NotGranted);
    every(&mut child, "a/.env").content_denied("builtin:env");
    // A root sealed below one of the parent's is another root: the parent does not have it.
    let below = MintOrder::new("t")
        .root(narrower, None)
        .grant(narrower, RelPath::root(), VerbSet::READING)
        .within(parent.session);
    if let Ok((_, mut child)) = arena.control.mint(&below) {
        for path in ["closed", "ghost", "open"] {
            let all = every(&mut child, path);
            assert!(
                all.codes().iter().all(Option::is_some),
                "{path} {:?}",
                all.codes()
            );
        }
    }
}
