//! The built-in denials, as a worker meets them: every pattern of the table, and a second list of
//! names written down here, so that a row that vanishes is missed.

use portcullis_protocol::refusal::Code;
use portcullis_protocol::verb::Verb;
use portcullis_tests::hostile::{Arena, every};
use portcullis_tests::{code, own, read};
use std::collections::BTreeMap;

/// What no session reads unless a runtime makes an exception, by rule.
const SECRETS: &[(&str, &[&str])] = &[
    (
        "builtin:ssh",
        &[
            ".ssh/config",
            "h/.ssh/known_hosts",
            "id_rsa",
            "id_dsa",
            "id_ecdsa",
            "id_ed25519",
            "id_ed25519_sk",
            "etc/ssh_host_rsa_key",
        ],
    ),
    (
        "builtin:key-files",
        &[
            "a.pem",
            "tls/server.key",
            "b.p12",
            "c.pfx",
            "d.jks",
            "e.keystore",
            "f.kdbx",
            "g.ppk",
            "AuthKey.p8",
        ],
    ),
    (
        "builtin:gnupg",
        &[
            ".gnupg/private-keys-v1.d/x",
            "secring.gpg",
            ".password-store/a.gpg",
        ],
    ),
    (
        "builtin:cloud",
        &[
            ".aws/credentials",
            ".config/gcloud/credentials.db",
            ".azure/accessTokens.json",
            ".boto",
            ".s3cfg",
            ".vault-token",
            ".terraform.d/credentials.tfrc.json",
        ],
    ),
    (
        "builtin:cluster",
        &[
            ".kube/config",
            "kubeconfig",
            "prod.kubeconfig",
            ".docker/config.json",
        ],
    ),
    (
        "builtin:packages",
        &[
            ".npmrc",
            ".pypirc",
            ".cargo/credentials.toml",
            ".cargo/credentials",
            ".gem/credentials",
            ".m2/settings.xml",
        ],
    ),
    (
        "builtin:git-credentials",
        &[".git-credentials", ".config/gh/hosts.yml"],
    ),
    (
        "builtin:passwords",
        &[".netrc", "_netrc", ".pgpass", ".htpasswd", ".my.cnf"],
    ),
    (
        "builtin:env",
        &[
            ".env",
            "app/.env",
            ".env.local",
            ".env.production",
            ".env.example.local",
            ".env.",
            ".env.examples",
            ".env.e",
            ".env/inner",
        ],
    ),
    ("builtin:envrc", &[".envrc"]),
];

/// What has to stay readable: an agent that cannot read these is of no use.
const ORDINARY: &[&str] = &[
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    ".env.defaults",
    "app/.ENV.EXAMPLE",
    "id_rsa.pub",
    "src/keys.rs",
    "src/ssh.rs",
    ".git/config",
    ".gitignore",
    ".cargo/config.toml",
    ".npmignore",
    "docs/env.md",
    "environment.yml",
    "token.rs",
    "secrets.md",
    ".github/workflows/ci.yml",
    "package-lock.json",
    ".vscode/settings.json",
    "public.crt",
];

/// One name that a pattern of the table matches, for each of its alternatives.
fn examples(pattern: &str) -> Vec<String> {
    let alternatives = match pattern
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
    {
        Some(inner) => inner.split(',').collect(),
        None => vec![pattern],
    };
    alternatives.into_iter().map(example).collect()
}

fn example(pattern: &str) -> String {
    let mut name = String::new();
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '*' => name.push_str("any"),
            '?' => name.push('q'),
            '[' => {
                let set: String = rest.by_ref().take_while(|c| *c != ']').collect();
                let outside = set
                    .strip_prefix('!')
                    .expect("the table has negated sets only");
                name.extend(('a'..='z').find(|c| !outside.contains(*c)));
            }
            c => name.push(c),
        }
    }
    name
}

/// Every built-in rule with names it covers: those of its patterns, and ours.
fn covered(arena: &mut Arena) -> BTreeMap<String, Vec<String>> {
    let mut opened = arena.session();
    let mut rules: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for denial in opened.session.whoami().unwrap().denials.as_slice() {
        let name = denial.rule.name.as_str();
        assert!(name.starts_with("builtin:"), "{name}");
        assert!(!denial.rule.reason.as_str().is_empty());
        // Rows that keep writing away are met in `effects`; that of the broker's own records is
        // no row of the table.
        if name == "builtin:state" || !denial.verbs.has(Verb::Read) {
            continue;
        }
        assert!(denial.verbs.has(Verb::Search));
        assert!(!denial.verbs.has(Verb::List) && !denial.verbs.has(Verb::Stat));
        let pattern = std::str::from_utf8(denial.pattern.as_ref().unwrap().as_slice()).unwrap();
        rules
            .entry(name.to_owned())
            .or_default()
            .extend(examples(pattern));
    }
    for (rule, names) in SECRETS {
        let known = rules
            .get_mut(*rule)
            .unwrap_or_else(|| panic!("the row {rule} is gone"));
        known.extend(names.iter().map(|name| (*name).to_owned()));
    }
    let ours: Vec<_> = SECRETS.iter().map(|(rule, _)| *rule).collect();
    for rule in rules.keys() {
        assert!(
            ours.contains(&rule.as_str()),
            "the row {rule} is not in this list"
        );
    }
    rules
}

#[test]
fn every_pattern_of_the_table_denies_reading_and_allows_listing() {
    let mut arena = Arena::new(own!("own-gate"));
    let rules = covered(&mut arena);
    // Each name in a directory of its own, at two depths, as a file or a directory.
    let mut all = Vec::new();
    for (rule, names) in &rules {
        for (n, name) in names.iter().enumerate() {
            let at = format!("{}/{n}/deep/{name}", rule.trim_start_matches("builtin:"));
            arena.write(&at, "needle\n");
            all.push((rule.as_str(), at));
        }
    }
    assert!(all.len() >= 100, "{}", all.len());
    let mut opened = arena.session();
    let session = &mut opened.session;
    let whole = every(session, ".");
    assert_eq!(
        whole.found(),
        Vec::<&[u8]>::new(),
        "a search reads nothing of it"
    );
    for (rule, at) in &all {
        let one = every(session, at);
        one.content_denied(rule);
        assert!(one.stat.is_ok(), "{at} can be looked at");
        let said = |path: &str| {
            whole
                .entry(path)
                .denied
                .as_ref()
                .map(|rule| rule.as_str().to_owned())
        };
        assert_eq!(
            said(at).as_deref(),
            Some(*rule),
            "{at} is listed, and marked"
        );
        // As a directory it covers what is below.
        assert_eq!(
            code(
                &session
                    .read_file(portcullis_client::ask::selector(format!("{at}/x")).unwrap())
                    .unwrap_err()
            ),
            Code::Denied
        );
    }
}

#[test]
fn an_exception_by_name_lifts_its_own_rule_and_no_other() {
    let mut arena = Arena::new(own!("own-gate"));
    let rules = covered(&mut arena);
    let mut files: Vec<(String, String)> = Vec::new();
    for (rule, names) in &rules {
        for (n, name) in names.iter().enumerate() {
            let at = format!("{}/{n}/{name}", rule.trim_start_matches("builtin:"));
            arena.write(&at, "needle\n");
            files.push((rule.clone(), at));
        }
    }
    for lifted in rules.keys() {
        let mut opened = arena.session_with(|order, _| order.except(lifted));
        for (rule, at) in &files {
            let expected = if rule == lifted {
                Ok(b"needle\n".to_vec())
            } else {
                Err(Code::Denied)
            };
            assert_eq!(
                read(&mut opened.session, at),
                expected,
                "{at} with {lifted} lifted"
            );
        }
        arena.control.end(opened.id).unwrap();
    }
}

#[test]
fn an_exception_that_names_no_rule_makes_no_session() {
    let mut arena = Arena::new(own!("own-gate"));
    let inside = arena.inside();
    let root = arena.seal(&inside, "r");
    for name in [
        "builtin:nothing",
        "env",
        "builtin:",
        "builtin:*",
        "BUILTIN:ENV",
        " builtin:env",
    ] {
        let order = portcullis_client::MintOrder::new("t")
            .root(root, None)
            .except(name);
        assert_eq!(
            code(&arena.control.mint(&order).unwrap_err()),
            Code::BadAuthority,
            "{name}"
        );
    }
}

#[test]
fn ordinary_files_and_examples_of_secrets_can_be_read() {
    let mut arena = Arena::new(own!("own-gate"));
    for path in ORDINARY {
        arena.write(path, "content\n");
    }
    let mut opened = arena.session();
    for path in ORDINARY {
        every(&mut opened.session, path).is_file(path, "content\n");
    }
}
