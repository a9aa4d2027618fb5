//! Row 46: roots in roots, grants on a part of a root, and a git worktree with its directories.

use portcullis_client::{MintOrder, ask};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_tests::hostile::{Arena, bytes, every, every_at};
use portcullis_tests::{names, own, rel};

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("services/a/file", "of a\n");
    arena.write("services/b/file", "of b\n");
    arena.write("top", "top\n");
    arena
}

#[test]
fn row_46_a_nested_root_is_merged_reported_and_keeps_its_own_rights() {
    for order in [[0, 1], [1, 0]] {
        let mut arena = arena();
        let inside = arena.inside();
        let roots = [
            arena.seal(&inside.join("services/a"), "a"),
            arena.seal(&inside, "all"),
        ];
        let [a, all] = roots;
        let looking = VerbSet::of(&[Verb::Stat, Verb::List]);
        let mint = order
            .into_iter()
            .fold(MintOrder::new("t"), |mint, n| mint.root(roots[n], None))
            .grant(a, RelPath::root(), VerbSet::READING)
            .grant(all, RelPath::root(), looking);
        let (minted, mut session) = arena.control.mint(&mint).unwrap();
        let merged = minted.merged.as_slice();
        assert_eq!(merged.len(), 1);
        assert_eq!((merged[0].inner, merged[0].outer), (a, all));
        assert_eq!(merged[0].prefix, rel("services/a"));
        let who = session.whoami().unwrap();
        let labels: Vec<_> = who
            .roots
            .as_slice()
            .iter()
            .map(|root| root.label.as_str())
            .collect();
        assert_eq!(labels, ["all"]);
        every(&mut session, "services/a/file").is_file("services/a/file", "of a\n");
        let no = Some(Code::NotGranted);
        for path in ["services/b/file", "top", "services/a/../b/file"] {
            let codes = every(&mut session, path).codes();
            assert_eq!(
                codes,
                [None, no, Some(Code::NotADirectory), no, no],
                "{path}"
            );
        }
        assert_eq!(
            every(&mut session, "services/b").codes(),
            [None, no, None, no, no]
        );
        assert_eq!(every(&mut session, ".").codes(), [None, no, None, no, no]);
        assert_eq!(
            names(&mut session, "services", 1),
            [&b"services/a"[..], b"services/b"]
        );
    }
}

#[test]
fn row_46_a_nested_root_with_fewer_rights_takes_none_from_the_outer_one() {
    let mut arena = arena();
    let inside = arena.inside();
    let (all, a) = (
        arena.seal(&inside, "all"),
        arena.seal(&inside.join("services/a"), "a"),
    );
    let mint = MintOrder::new("t")
        .root(all, None)
        .root(a, None)
        .grant(all, RelPath::root(), VerbSet::READING)
        .grant(a, RelPath::root(), VerbSet::of(&[Verb::List]));
    let (_, mut session) = arena.control.mint(&mint).unwrap();
    every(&mut session, "services/a/file").is_file("services/a/file", "of a\n");
}

/// A refusal without the name that the worker wrote.
fn bare(mut refusal: Refusal) -> Vec<u8> {
    refusal.object = None;
    format!("{refusal:?}").into_bytes()
}

#[test]
fn outside_a_grant_what_exists_and_what_does_not_answer_alike() {
    let mut arena = arena();
    arena.write("other/exists/file", "content\n");
    arena.link("other/link", "exists");
    arena.link("other/into", "../services/a");
    arena.link("other/out", "../../outside/secret");
    arena.link("services/a/to-existing", "../../other/exists/file");
    arena.link("services/a/to-missing", "../../other/missing/file");
    arena.link("services/a/to-linked", "../../other/link/file");
    arena.link("services/a/to-leading-out", "../../other/out");
    let inside = arena.inside();
    let root = arena.seal(&inside, "all");
    let mint =
        MintOrder::new("t")
            .root(root, None)
            .grant(root, rel("services/a"), VerbSet::READING);
    let (_, mut session) = arena.control.mint(&mint).unwrap();
    every(&mut session, "services/a/file").is_file("services/a/file", "of a\n");
    every(&mut session, "services/a/missing").refused_even_as_link(Code::NotFound);
    every(&mut session, "services/../services/a/file").is_file("services/a/file", "of a\n");
    let groups: [&[&str]; 4] = [
        &[
            "top",
            "missing",
            "other",
            "services",
            "services/b",
            "services/missing",
            ".",
        ],
        &[
            "other/exists",
            "other/missing",
            "other/link",
            "other/out",
            "other/into",
            "top/x",
        ],
        &[
            "other/exists/",
            "other/missing/",
            "top/",
            "other/exists/..",
            "other/missing/..",
            "top/../services/a/file",
            "missing/../services/a/file",
            "other/into/file",
            "other/link/../../services/a/file",
            "services/b/../a/file",
            "services/missing/../a/file",
        ],
        &[
            "services/a/../b",
            "services/a/../missing",
            "services/a/../../top",
            "services/a/../../none",
        ],
    ];
    let mut answers: Vec<(String, Vec<Vec<u8>>)> = Vec::new();
    for path in groups.into_iter().flatten() {
        let all = every(&mut session, path);
        all.refused_even_as_link(Code::NotGranted);
        let refusals = vec![
            bare(all.stat.unwrap_err()),
            bare(all.look.unwrap_err()),
            bare(all.read.unwrap_err()),
            bare(all.list.unwrap_err()),
            bare(all.glob.unwrap_err()),
            bare(all.search.unwrap_err()),
        ];
        answers.push(((*path).to_owned(), refusals));
    }
    for link in ["to-existing", "to-missing", "to-linked", "to-leading-out"] {
        let path = format!("services/a/{link}");
        let all = every(&mut session, &path);
        all.refused(Code::NotGranted);
        assert!(all.look.is_ok(), "the link itself is granted");
        let stat = bare(all.stat.unwrap_err());
        let refusals = vec![
            stat.clone(),
            stat,
            bare(all.read.unwrap_err()),
            bare(all.list.unwrap_err()),
            bare(all.glob.unwrap_err()),
            bare(all.search.unwrap_err()),
        ];
        answers.push((path, refusals));
    }
    for (path, refusals) in &answers {
        assert_eq!(
            refusals, &answers[0].1,
            "{path} and {} can be told apart",
            answers[0].0
        );
    }
}

#[test]
fn a_denial_outside_a_grant_is_not_shown() {
    let mut arena = arena();
    arena.write("other/.env", "content\n");
    let inside = arena.inside();
    let root = arena.seal(&inside, "all");
    let mint = MintOrder::new("t")
        .root(root, None)
        .grant(root, rel("services"), VerbSet::READING)
        .hide("h", "r", portcullis_tests::anywhere("b"));
    let (_, mut session) = arena.control.mint(&mint).unwrap();
    every(&mut session, "other/.env").refused_even_as_link(Code::NotGranted);
    every(&mut session, "b").refused_even_as_link(Code::NotGranted);
    every(&mut session, "services/b/file").refused_even_as_link(Code::NotFound);
}

#[test]
fn two_roots_side_by_side_do_not_lead_into_each_other() {
    let mut arena = arena();
    arena.link("services/a/across", "../b/file");
    let inside = arena.inside();
    arena.link(
        "services/a/absolute",
        inside.canonicalize().unwrap().join("services/b/file"),
    );
    let (a, b) = (
        arena.seal(&inside.join("services/a"), "a"),
        arena.seal(&inside.join("services/b"), "b"),
    );
    let mint = MintOrder::new("t")
        .root(a, None)
        .root(b, None)
        .grant(a, RelPath::root(), VerbSet::READING)
        .grant(b, RelPath::root(), VerbSet::READING);
    let (minted, mut session) = arena.control.mint(&mint).unwrap();
    assert!(minted.merged.as_slice().is_empty());
    every(&mut session, "file").is_file("file", "of a\n");
    every(&mut session, "/b/file").is_file("file", "of b\n");
    every(&mut session, bytes(&inside.join("services/b/file"))).is_file("file", "of b\n");
    for path in ["../b/file", "/a/../b/file", "across", "absolute"] {
        every(&mut session, path).refused(Code::Escape);
    }
    every(&mut session, bytes(&inside.join("top"))).refused_even_as_link(Code::NoSuchRoot);
    let selector = ask::selector_in(Label::new("b").unwrap(), "file").unwrap();
    every_at(&mut session, selector).is_file("file", "of b\n");
}

#[test]
fn a_git_worktree_works_with_its_git_directories_as_further_roots() {
    let mut arena = Arena::new(own!("own-gate"));
    let place = arena.place.path().canonicalize().unwrap();
    let git = |at: &str, args: &[&str]| {
        let output = std::process::Command::new("git")
            .arg("-C")
            .arg(place.join(at))
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@t",
                "-c",
                "safe.directory=*",
            ])
            .args(["-c", "init.defaultBranch=main"])
            .args(args)
            .env("HOME", &place)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    };
    std::fs::create_dir(place.join("main")).unwrap();
    std::fs::write(place.join("main/file"), "committed\n").unwrap();
    git("main", &["init", "-q"]);
    git("main", &["add", "file"]);
    git("main", &["commit", "-q", "-m", "one"]);
    std::fs::remove_dir(place.join("inside")).unwrap();
    git(
        "main",
        &["worktree", "add", "-q", "-b", "side", "../inside"],
    );
    let pointer = std::fs::read_to_string(place.join("inside/.git")).unwrap();
    let directory = pointer
        .strip_prefix("gitdir: ")
        .unwrap()
        .trim_end()
        .to_owned();
    let head = format!("{directory}/HEAD");
    let common = format!("{directory}/../../config");

    // Alone it reads the pointer, and is told that what it points to is in no root.
    let mut alone = arena.session();
    every(&mut alone.session, ".git").is_file(".git", &pointer);
    every(&mut alone.session, &head).refused_even_as_link(Code::NoSuchRoot);

    let worktree = alone.root;
    let gitdir = arena.seal(directory.as_ref(), "worktree-git");
    let repository = arena.seal(&place.join("main/.git"), "git");
    for extra in [
        vec![repository],
        vec![gitdir, repository],
        vec![repository, gitdir],
    ] {
        let mint = MintOrder::new("t").root(worktree, None).grant(
            worktree,
            RelPath::root(),
            VerbSet::READING,
        );
        let mint = extra.iter().fold(mint, |mint, root| {
            mint.root(*root, None)
                .grant(*root, RelPath::root(), VerbSet::READING)
        });
        let (minted, mut session) = arena.control.mint(&mint).unwrap();
        assert_eq!(
            minted.merged.as_slice().len(),
            extra.len() - 1,
            "one git directory holds the other"
        );
        every(&mut session, ".git").is_file(".git", &pointer);
        every(&mut session, "file").is_file("file", "committed\n");
        every(&mut session, &head).is_file("worktrees/inside/HEAD", "ref: refs/heads/side\n");
        let config = std::fs::read(place.join("main/.git/config")).unwrap();
        every(&mut session, &common).is_file("config", config);
        every(&mut session, "/git/refs/heads").is_directory("refs/heads");
        // The main worktree is still outside.
        every(&mut session, bytes(&place.join("main/file"))).refused_even_as_link(Code::NoSuchRoot);
        every(&mut session, "/git/../file").refused_even_as_link(Code::Escape);
    }
}
