//! What the built-in denials cover, and what they leave alone.

use super::*;
use globset::{GlobBuilder, GlobMatcher};
use proptest::prelude::*;
use std::sync::LazyLock;

fn matcher(pattern: &str) -> GlobMatcher {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .unwrap()
        .compile_matcher()
}

/// The rules that cover a path for a verb, the way a gate reads patterns: any trailing part of any beginning
/// of the path.
fn covering(path: &str, verb: Verb) -> Vec<String> {
    static TABLE: LazyLock<Vec<(GlobMatcher, String, VerbSet)>> = LazyLock::new(|| {
        let each = |denial: Denial| match denial.target {
            DenialTarget::Pattern { pattern, .. } => {
                let text = std::str::from_utf8(pattern.as_slice()).unwrap();
                (matcher(text), denial.rule.name.into(), denial.verbs)
            }
            DenialTarget::Object { .. } => panic!("a row that is no pattern"),
        };
        denials([], VerbSet::ALL)
            .unwrap()
            .into_iter()
            .map(each)
            .collect()
    });
    let names: Vec<_> = path.split('/').collect();
    let mut rules: Vec<String> = TABLE
        .iter()
        .filter(|(_, _, verbs)| verbs.has(verb))
        .filter(|(matcher, ..)| {
            (1..=names.len())
                .any(|end| (0..end).any(|start| matcher.is_match(names[start..end].join("/"))))
        })
        .map(|(_, rule, _)| rule.clone())
        .collect();
    rules.dedup();
    rules
}

#[test]
fn secrets_are_covered_by_the_rule_of_their_kind() {
    for (path, rule) in [
        ("home/u/.ssh/config", "builtin:ssh"),
        ("deploy/id_ed25519", "builtin:ssh"),
        ("certs/server.key", "builtin:key-files"),
        ("certs/server.pem", "builtin:key-files"),
        (".gnupg/private-keys-v1.d/x", "builtin:gnupg"),
        ("home/u/.aws/credentials", "builtin:cloud"),
        (".aws/sso/cache/token.json", "builtin:cloud"),
        (".config/gcloud/credentials.db", "builtin:cloud"),
        (".kube/config", "builtin:cluster"),
        (".docker/config.json", "builtin:cluster"),
        (".npmrc", "builtin:packages"),
        (".cargo/credentials.toml", "builtin:packages"),
        (".config/gh/hosts.yml", "builtin:git-credentials"),
        (".netrc", "builtin:passwords"),
        ("_netrc", "builtin:passwords"),
        (".pgpass", "builtin:passwords"),
        ("app/.env", "builtin:env"),
        ("app/.env.production", "builtin:env"),
        ("app/.env.example.local", "builtin:env"),
        ("app/.env.exam", "builtin:env"),
        ("app/.env.", "builtin:env"),
    ] {
        assert_eq!(covering(path, Verb::Read), [rule], "{path}");
    }
}

#[test]
fn ordinary_files_are_not_covered() {
    for path in [
        "app/.env.example",
        "app/.env.sample",
        "app/.env.template",
        "app/.env.dist",
        "app/.env.defaults",
        "app/.environment",
        "app/env",
        "src/key.rs",
        "keys/id_ed25519.pub",
        ".aws/config",
        ".cargo/config.toml",
        ".docker/Dockerfile",
        "docs/ssh.md",
        ".git/config",
    ] {
        assert_eq!(covering(path, Verb::Read), Vec::<String>::new(), "{path}");
    }
}

#[test]
fn what_other_programs_run_is_not_written() {
    for (path, rule) in [
        (".git", "builtin:git"),
        (".git/hooks/pre-commit", "builtin:git"),
        ("vendor/lib/.git/config", "builtin:git"),
        // As NTFS knows the same name.
        ("git~1/config", "builtin:git"),
        (".git./config", "builtin:git"),
        (".git . /config", "builtin:git"),
        (".git::$index_allocation/config", "builtin:git"),
        ("mirrors/project.git/hooks/update", "builtin:git"),
        ("bare/refs/heads/main", "builtin:git-bare"),
        ("home/u/.gitconfig", "builtin:git-config"),
        (".config/git/config", "builtin:git-config"),
        (".hg/hgrc", "builtin:versions"),
        (".svn/wc.db", "builtin:versions"),
        (".jj/repo/config.toml", "builtin:versions"),
        (".claude/settings.json", "builtin:agents"),
        ("sub/.mcp.json", "builtin:agents"),
        (".cursor/mcp.json", "builtin:agents"),
        (".codex/config.toml", "builtin:agents"),
        (".gemini/settings.json", "builtin:agents"),
        (".vscode/tasks.json", "builtin:editors"),
        ("app.code-workspace", "builtin:editors"),
        (".idea/workspace.xml", "builtin:editors"),
        (".devcontainer/devcontainer.json", "builtin:editors"),
        ("home/u/.bashrc", "builtin:shells"),
        (".zshenv", "builtin:shells"),
        (".config/fish/config.fish", "builtin:shells"),
        (".config/systemd/user/x.service", "builtin:autostart"),
        (".config/autostart/x.desktop", "builtin:autostart"),
        (".local/bin/ls", "builtin:autostart"),
        (".envrc", "builtin:envrc"),
        (".ssh/authorized_keys", "builtin:ssh"),
        (".gnupg/gpg.conf", "builtin:gnupg"),
        (".aws/credentials", "builtin:cloud"),
        (".kube/config", "builtin:cluster"),
        (".npmrc", "builtin:packages"),
        (".netrc", "builtin:passwords"),
    ] {
        for verb in VerbSet::WRITING.iter() {
            assert_eq!(covering(path, verb), [rule], "{verb} {path}");
        }
    }
}

#[test]
fn what_a_project_is_made_of_is_written() {
    for path in [
        ".gitignore",
        ".gitattributes",
        ".gitmodules",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".pre-commit-config.yaml",
        ".husky/pre-commit",
        ".cargo/config.toml",
        ".editorconfig",
        ".vscode/snippets.code-snippets",
        "AGENTS.md",
        "CLAUDE.md",
        "Makefile",
        "package.json",
        "certs/test.pem",
        ".env",
        ".env.local",
        "src/git.rs",
        "src/refs.rs",
        "src/objects/mod.rs",
        "digit~1",
        "git",
        "profile",
        "HEAD",
    ] {
        for verb in VerbSet::WRITING.iter() {
            let rules = covering(&path.to_lowercase(), verb);
            assert_eq!(rules, Vec::<String>::new(), "{verb} {path}");
        }
    }
}

#[test]
fn what_is_not_written_may_be_read_unless_it_is_secret() {
    for path in [
        ".git/config",
        ".vscode/tasks.json",
        ".bashrc",
        ".claude/settings.json",
    ] {
        assert_eq!(covering(path, Verb::Read), Vec::<String>::new(), "{path}");
    }
}

#[test]
fn rows_that_refuse_nothing_of_what_is_granted_are_left_out() {
    let reading = denials([], VerbSet::READING).unwrap();
    let all = denials([], VerbSet::ALL).unwrap();
    assert!(reading.len() < all.len());
    assert!(reading.iter().all(|denial| all.contains(denial)));
    let left_out = all.iter().filter(|denial| !reading.contains(denial));
    for denial in left_out {
        assert!(denial.verbs.within(VerbSet::WRITING), "{denial:?}");
    }
    assert_eq!(denials([], VerbSet::NONE).unwrap(), []);
}

#[test]
fn patterns_are_lower_case_and_compile() {
    for denial in denials([], VerbSet::ALL).unwrap() {
        let DenialTarget::Pattern { anchor, pattern } = denial.target else {
            panic!("a row that is no pattern");
        };
        let text = std::str::from_utf8(pattern.as_slice()).unwrap();
        assert_eq!(text, text.to_lowercase());
        assert_eq!(anchor, None);
        matcher(text);
    }
}

#[test]
fn an_exception_takes_its_whole_row_away_and_only_that() {
    let all = denials([], VerbSet::ALL).unwrap();
    let fewer = denials(["builtin:env"], VerbSet::ALL).unwrap();
    let is_env = |denial: &Denial| denial.rule.name.as_str() == "builtin:env";
    assert!(all.iter().any(is_env) && !fewer.iter().any(is_env));
    assert_eq!(fewer.len(), all.iter().filter(|d| !is_env(d)).count());
}

#[test]
fn an_unknown_exception_is_an_error() {
    for name in ["env", "builtin:", "builtin:nothing", ""] {
        assert_eq!(
            denials([name], VerbSet::ALL),
            Err(BuiltinError::UnknownException(name.to_owned()))
        );
    }
}

#[test]
fn names_of_rows_are_unique_and_room_is_left_for_a_runtimes_own() {
    let mut names: Vec<_> = TABLE.iter().map(|row| row.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), TABLE.len());
    assert!(
        denials([], VerbSet::ALL).unwrap().len() <= portcullis_protocol::limits::DENIALS_MAX / 2
    );
}

proptest! {
    #[test]
    fn all_but_matches_everything_but_the_words(
        words in prop::collection::vec("[a-d]{1,4}", 1..5),
        ends in prop::collection::vec("[a-e.]{0,6}", 64),
        wild in ".{0,6}",
    ) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let patterns = all_but(".env.", &words);
        let matchers: Vec<_> = patterns.iter().map(|p| matcher(p)).collect();
        let wild = wild.replace('/', "");
        let ends = ends.iter().map(String::as_str).chain(words.iter().copied());
        for end in ends.chain([wild.as_str()]) {
            let name = format!(".env.{end}");
            let matched = matchers.iter().any(|m| m.is_match(&name));
            prop_assert_eq!(matched, !words.contains(&end), "{} by {:?}", name, patterns);
        }
    }

    #[test]
    fn patterns_stay_within_their_limit(
        words in prop::collection::vec("[a-z]{1,20}", 1..40),
    ) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for pattern in all_but(".env.", &words) {
            prop_assert!(pattern.len() <= PATTERN_BYTES_MAX);
        }
    }
}
