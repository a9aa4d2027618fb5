//! Row 92: a sandbox that blocks legitimate work is switched off.

use portcullis_client::MintOrder;
use portcullis_protocol::authority::Scope;
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::hostile::{Arena, bytes, census, every};
use portcullis_tests::own;

#[test]
fn bug_92_links_inside_the_root_are_followed() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("shared/agents/config.toml", "content\n");
    arena.write("node_modules/.store/pkg/index.js", "content\n");
    arena.link(".codex", "shared/agents");
    arena.link("node_modules/pkg", ".store/pkg");
    arena.link("current", "releases/2");
    arena.write("releases/2/up", "content\n");
    arena.link("releases/2/back", "../../shared");
    let mut opened = arena.session();
    let session = &mut opened.session;
    for (path, canonical) in [
        (".codex/config.toml", "shared/agents/config.toml"),
        (
            "node_modules/pkg/index.js",
            "node_modules/.store/pkg/index.js",
        ),
        ("current/up", "releases/2/up"),
        (
            "current/back/agents/config.toml",
            "shared/agents/config.toml",
        ),
    ] {
        every(session, path).is_file(canonical, "content\n");
    }
}

#[test]
fn bug_92_a_git_file_that_points_elsewhere_works_with_a_second_root() {
    let mut arena = Arena::new(own!("own-gate"));
    let gitdir = arena.place.path().join("gitdir");
    std::fs::create_dir(&gitdir).unwrap();
    std::fs::write(gitdir.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let gitdir = gitdir.canonicalize().unwrap();
    arena.write(".git", format!("gitdir: {}\n", gitdir.display()));
    let head = gitdir.join("HEAD");
    let mut opened = arena.session();
    every(&mut opened.session, bytes(&head)).refused(Code::NoSuchRoot);
    let second = arena.seal(&gitdir, "git");
    let order = MintOrder::new("t")
        .root(opened.root, None)
        .root(second, None)
        .grant(opened.root, RelPath::root(), VerbSet::READING)
        .grant(second, RelPath::root(), VerbSet::READING);
    let (_, mut session) = arena.control.mint(&order).unwrap();
    every(&mut session, bytes(&head)).is_file("HEAD", "ref: refs/heads/main\n");
    every(&mut session, "/git/HEAD").is_file("HEAD", "ref: refs/heads/main\n");
}

#[test]
fn bug_92_a_scratch_root_is_private_to_its_session() {
    let mut arena = Arena::new(own!("own-gate"));
    let scratch = arena.place.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    std::fs::write(scratch.join("tmp"), "mine\n").unwrap();
    let inside = arena.inside();
    let work = arena.seal(&inside, "workspace");
    let label = Label::new("scratch").unwrap();
    let root = arena
        .control
        .seal_path(&scratch, label, Scope::Scratch)
        .unwrap()
        .root;
    let order = MintOrder::new("t")
        .root(work, None)
        .root(root, None)
        .grant(work, RelPath::root(), VerbSet::READING)
        .grant(root, RelPath::root(), VerbSet::READING);
    let (_, mut session) = arena.control.mint(&order).unwrap();
    every(&mut session, "/scratch/tmp").is_file("tmp", "mine\n");
    assert_eq!(
        session.whoami().unwrap().roots.as_slice()[1].scope,
        Scope::Scratch
    );
    let mut other = arena.session();
    every(&mut other.session, "/scratch/tmp").refused(Code::NoSuchRoot);
    every(&mut other.session, bytes(&scratch.join("tmp"))).refused(Code::NoSuchRoot);
}

#[test]
fn bug_92_no_placeholder_is_ever_made() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("src/main.rs", "content\n");
    let inside = arena.inside();
    let before = census(&inside);
    let mut opened = arena.session_with(|order, root| {
        [".codex", ".claude", ".git", ".vscode"]
            .into_iter()
            .fold(order, |order, name| {
                order
                    .deny(
                        name,
                        "r",
                        VerbSet::READING,
                        portcullis_client::Pattern::below(root, name),
                    )
                    .hide(
                        "h",
                        "r",
                        portcullis_client::Pattern::below(root, format!("{name}/hooks")),
                    )
            })
    });
    every(&mut opened.session, ".codex").denied(".codex");
    every(&mut opened.session, ".git/hooks").refused(Code::NotFound);
    every(&mut opened.session, "src/main.rs").is_file("src/main.rs", "content\n");
    arena.control.end(opened.id).unwrap();
    drop(opened);
    assert_eq!(census(&inside), before);
}

#[test]
fn bug_92_a_file_beside_a_denied_one_is_not_blocked() {
    let mut arena = Arena::new(own!("own-gate"));
    for path in [
        ".github/workflows/ci.yml",
        ".env.example",
        "src/.gitignore",
        ".gitmodules",
        "keys.md",
    ] {
        arena.write(path, "content\n");
    }
    arena.write(".env", "TOKEN=1\n");
    let mut opened = arena.session();
    for path in [
        ".github/workflows/ci.yml",
        ".env.example",
        "src/.gitignore",
        ".gitmodules",
        "keys.md",
    ] {
        every(&mut opened.session, path).is_file(path, "content\n");
    }
    let whole = every(&mut opened.session, ".");
    assert_eq!(
        whole.found().len(),
        5,
        "a search goes on past what is denied"
    );
    assert_eq!(whole.search.as_ref().unwrap().1.statistics.denied, 1);
}

#[test]
fn bug_92_dev_null_is_no_file_of_a_root_and_is_said_to_be_so() {
    let mut arena = Arena::new(own!("own-gate"));
    let mut opened = arena.session();
    let all = every(&mut opened.session, "/dev/null");
    all.refused(Code::NoSuchRoot);
    let said = all.read.unwrap_err().to_string();
    assert!(
        said.starts_with("nothing was changed: read `/dev/null` refused: "),
        "{said}"
    );
}
