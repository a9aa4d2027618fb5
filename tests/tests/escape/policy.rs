//! Denied is visible and named; hidden is absent and never counted; and neither is shed by
//! another spelling, another name of the object, or a narrower root.

use portcullis_client::{MintOrder, Pattern, ask};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Detail, Statistics};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_tests::hostile::{All, Arena, every};
use portcullis_tests::{anywhere, own};

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
        // That of the broker's own records names a directory of each broker's own.
        let mut denials = who.denials.as_slice().to_vec();
        denials.retain(|denial| denial.rule.name.as_str() != "builtin:state");
        (answers, seen, denials)
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
