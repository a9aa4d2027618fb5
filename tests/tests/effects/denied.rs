//! Row 14: what git and other programs run, as the built-in table keeps it from being written.

use crate::deeds::Deed;
use crate::trial::{Unprotected, at, done, refused};
use portcullis_client::Session;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::verb::Verb;
use portcullis_tests::hostile::{Arena, census};
use portcullis_tests::own;
use std::path::Path;

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("spare", "old content\n");
    arena.directory("d");
    arena
}

/// The refusal is by this rule.
#[track_caller]
pub fn by_rule(refusal: &Refusal, rule: &str, shown: &str) {
    assert_eq!(refusal.code, Code::Denied, "{shown}: {refusal}");
    let name = refusal.rule.as_ref().map(|rule| rule.name.as_str());
    assert_eq!(name, Some(rule), "{shown}");
}

/// Every deed on a name is refused by this rule, dry too, and the tree is as it was.
#[track_caller]
fn all_denied(session: &mut Session, inside: &Path, name: &str, rule: &str) {
    let before = census(inside);
    for deed in Deed::ALL {
        let shown = format!("{deed:?} {name}");
        let changes = deed.changes(name);
        by_rule(&refused(session, &changes), rule, &shown);
        by_rule(
            session.plan(&changes).unwrap_err().refusal().unwrap(),
            rule,
            &shown,
        );
    }
    let upload = session.upload(&at(name), &mut &b"part"[..]).unwrap_err();
    by_rule(upload.refusal().unwrap(), rule, name);
    assert_eq!(census(inside), before, "{name}");
}

/// Spellings of `.git` that git, a file system or a person takes for it.
const GIT: &[&str] = &[
    ".git",
    ".GIT",
    ".Git",
    ".gIt",
    "git~1",
    "GIT~1",
    "git~2",
    "git~4",
    ".git ",
    ".git.",
    ".git...",
    ".git . .",
    ".git::$INDEX_ALLOCATION",
    ".git:stream",
    ".GIT::$DATA",
    ".g\u{200c}it",
    ".gi\u{200d}t",
    ".\u{200e}git",
    ".git\u{200f}",
    "\u{202a}.git",
    ".g\u{202e}it",
    ".gi\u{206a}t",
    ".git\u{206f}",
    "\u{feff}.git",
];

#[test]
fn row_14_every_spelling_of_git_is_refused_by_every_verb_existing_or_not() {
    for exists in [false, true] {
        let mut arena = arena();
        let inside = arena.inside();
        for (n, name) in GIT.iter().enumerate().filter(|_| exists) {
            arena.write(format!("{n}/{name}/hooks/pre-commit"), "old content\n");
        }
        if !exists {
            for n in 0..GIT.len() {
                arena.directory(n.to_string());
            }
        }
        let mut opened = arena.session();
        let session = &mut opened.session;
        for (n, name) in GIT.iter().enumerate() {
            for path in [
                format!("{n}/{name}"),
                format!("{n}/{name}/hooks/pre-commit"),
                format!("{n}/{name}/new"),
            ] {
                all_denied(session, &inside, &path, "builtin:git");
            }
        }
        let before = census(&inside);
        for n in (0..GIT.len()).filter(|_| exists) {
            // Inside a tree that is moved or removed.
            for deed in [Deed::MoveFrom, Deed::DeleteTree] {
                let refusal = refused(session, &deed.changes(n.to_string()));
                by_rule(&refusal, "builtin:git", &format!("{deed:?} {}", GIT[n]));
            }
        }
        assert_eq!(census(&inside), before);
        // A file beside it, and what only looks alike, are ordinary.
        for name in [
            "gitignore",
            ".gitignore",
            ".gitattributes",
            ".gitmodules",
            ".github",
            "git",
            "0/.gi",
            "0/xgit~1",
        ] {
            done(session, &Deed::Create.changes(name));
        }
    }
    // The control: a tool that compares names meets another spelling.
    let control = Unprotected::new();
    let naive = |name: &str| name != ".git";
    assert!(GIT[1..].iter().all(|name| naive(name)));
    Deed::CreateBelow
        .naive(&control.inside(), ".git/hooks/pre-commit")
        .unwrap();
}

/// What other programs run or take orders from, at any depth, by rule.
const RUN: &[(&str, &[&str])] = &[
    (
        "builtin:agents",
        &[
            ".claude/settings.json",
            ".claude.json",
            ".mcp.json",
            ".cursor/mcp.json",
            ".codex/config.toml",
            ".gemini/settings.json",
            ".windsurf/x",
            ".aider.conf.yml",
            ".roo/mcp.json",
            ".kiro/x",
            "opencode.json",
            ".config/opencode/x",
            ".copilot/x",
            ".portcullis/policy",
            ".config/portcullis/x",
        ],
    ),
    (
        "builtin:shells",
        &[
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".config/fish/config.fish",
            ".tmux.conf",
            ".pdbrc",
            ".config/environment.d/x.conf",
        ],
    ),
    (
        "builtin:editors",
        &[
            ".vscode/settings.json",
            ".vscode/tasks.json",
            ".vscode/launch.json",
            ".idea/workspace.xml",
            ".vimrc",
            ".exrc",
            ".nvim.lua",
            ".vim/plugin/x.vim",
            ".emacs.d/init.el",
            ".dir-locals.el",
            ".devcontainer/devcontainer.json",
            ".devcontainer.json",
            ".gdbinit",
            ".lldbinit",
            "x.code-workspace",
        ],
    ),
    ("builtin:git-config", &[".gitconfig", ".config/git/config"]),
    (
        "builtin:git-bare",
        &[
            "refs/heads/main",
            "refs/tags/v1",
            "packed-refs",
            "objects/info/alternates",
            "objects/pack/x.pack",
        ],
    ),
    (
        "builtin:git",
        &["bare.git/hooks/post-update", ".git/config", ".git"],
    ),
    (
        "builtin:versions",
        &[".hg/hgrc", ".hgrc", ".svn/entries", ".jj/repo", ".bzr/x"],
    ),
    (
        "builtin:autostart",
        &[
            ".config/autostart/x.desktop",
            ".config/systemd/user/x.service",
            ".local/bin/ls",
            ".xinitrc",
            "spool/cron/root",
        ],
    ),
    ("builtin:envrc", &[".envrc", ".direnv/x"]),
    (
        "builtin:ssh",
        &[".ssh/authorized_keys", ".ssh/config", "id_rsa"],
    ),
    (
        "builtin:packages",
        &[".npmrc", ".pypirc", ".cargo/credentials.toml"],
    ),
    ("builtin:cloud", &[".aws/credentials", ".azure/x"]),
    ("builtin:cluster", &[".kube/config", ".docker/config.json"]),
    ("builtin:passwords", &[".netrc", ".pgpass"]),
    ("builtin:gnupg", &[".gnupg/gpg.conf"]),
    ("builtin:git-credentials", &[".git-credentials"]),
];

#[test]
fn row_14_what_other_programs_run_is_written_by_no_verb_at_any_depth() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    // A row that vanishes is missed, and one that comes is to be added here.
    let rules: std::collections::BTreeSet<String> = session
        .whoami()
        .unwrap()
        .denials
        .as_slice()
        .iter()
        .filter(|denial| {
            denial.verbs.has(Verb::Write) && denial.rule.name.as_str() != "builtin:state"
        })
        .map(|denial| denial.rule.name.as_str().to_owned())
        .collect();
    let ours: Vec<_> = RUN.iter().map(|(rule, _)| (*rule).to_owned()).collect();
    assert!(
        rules
            .iter()
            .eq(std::collections::BTreeSet::from_iter(ours).iter()),
        "{rules:?}"
    );
    for (rule, names) in RUN {
        for name in *names {
            for path in [
                (*name).to_owned(),
                format!("d/{name}"),
                format!("none/deep/{}", name.to_uppercase()),
            ] {
                all_denied(session, &inside, &path, rule);
            }
        }
    }
    // Existing, each in a tree of its own: the tree stays where it is, and whole.
    for (n, (_, names)) in RUN.iter().enumerate() {
        for (m, name) in names.iter().enumerate() {
            arena.write(format!("t{n}-{m}/sub/{name}"), "old content\n");
            arena.write(format!("t{n}-{m}/ordinary"), "old content\n");
        }
    }
    let before = census(&inside);
    for (n, (rule, names)) in RUN.iter().enumerate() {
        for (m, name) in names.iter().enumerate() {
            for top in [format!("t{n}-{m}"), format!("t{n}-{m}/sub")] {
                for deed in [Deed::MoveFrom, Deed::DeleteTree] {
                    by_rule(
                        &refused(session, &deed.changes(&top)),
                        rule,
                        &format!("{deed:?} {top}: {name}"),
                    );
                }
            }
        }
    }
    assert_eq!(census(&inside), before);
    // By its name a runtime makes an exception, for that rule alone.
    let mut opened = arena.session_with(|order, _| order.except("builtin:shells"));
    done(&mut opened.session, &Deed::Create.changes("d/.bashrc"));
    by_rule(
        &refused(&mut opened.session, &Deed::Create.changes("d/.gitconfig")),
        "builtin:git-config",
        "beside",
    );
}

#[test]
fn row_14_a_link_to_what_is_denied_is_no_way_to_write_it() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.write(".git/config", "old content\n");
    arena.write(".git/hooks/sample", "old content\n");
    arena.link("innocent", ".git/config");
    arena.link("directory", ".git");
    arena.link("d/hooks", "../.git/hooks");
    arena.link("twice", "directory/hooks/sample");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for name in ["innocent", "twice"] {
        for deed in [Deed::Write, Deed::Edit, Deed::Chmod] {
            by_rule(
                &refused(session, &deed.changes(name)),
                "builtin:git",
                &format!("{deed:?} {name}"),
            );
        }
    }
    for name in [
        "directory/config",
        "directory/new",
        "d/hooks/sample",
        "d/hooks/new",
        "d/hooks/deep/new",
        "directory/hooks",
    ] {
        for deed in Deed::ALL {
            by_rule(
                &refused(session, &deed.changes(name)),
                "builtin:git",
                &format!("{deed:?} {name}"),
            );
        }
    }
    assert_eq!(census(&inside), before);
    // One that a session makes itself is no better.
    done(session, &Deed::Delete.changes("innocent"));
    let link = portcullis_client::change::link(at("innocent"), ".git/hooks/new").unwrap();
    done(session, &crate::trial::one(link));
    for deed in [Deed::Write, Deed::Edit, Deed::Chmod] {
        let refusal = refused(session, &deed.changes("innocent"));
        assert!(
            matches!(refusal.code, Code::Denied | Code::NotFound),
            "{deed:?}: {refusal}"
        );
    }
    assert!(!inside.join(".git/hooks/new").exists());
    // The control follows it.
    Deed::Write.naive(&inside, "innocent").unwrap();
    assert!(inside.join(".git/hooks/new").exists());
}
