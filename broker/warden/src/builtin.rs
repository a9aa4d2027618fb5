//! The built-in denials: one table, and how its rows become denials.

use portcullis_protocol::authority::{Denial, DenialTarget, Effect};
use portcullis_protocol::bounded::{Bytes, Text};
use portcullis_protocol::limits::PATTERN_BYTES_MAX;
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::verb::{Access, Verb, VerbSet};

/// What every name in the table begins with, and no name a runtime gives.
pub(crate) const PREFIX: &str = "builtin:";

/// One row: everything an exception takes away together.
struct Row {
    /// What follows [`PREFIX`].
    name: &'static str,
    /// What is refused.
    access: Access,
    /// What it covers.
    names: Names,
    /// Why, for the worker to read.
    reason: &'static str,
}

/// How a row says what it covers.
enum Names {
    /// These patterns, written in lower case; one with a slash holds at any depth.
    Matching(&'static [&'static str]),
    /// Names that begin like this, but for a few ends.
    AllBut {
        exact: &'static str,
        start: &'static str,
        ends: &'static [&'static str],
    },
}

/// The table. Names, extensions and paths are written out one by one: a gate looks those up,
/// while an alternation is a search of its own. Rows that only concern writing are absent: no
/// verb changes anything yet, and they come with the verbs that do.
const TABLE: &[Row] = &[
    Row {
        name: "ssh",
        access: Access::Read,
        names: Names::Matching(&[
            ".ssh",
            "id_rsa",
            "id_dsa",
            "id_ecdsa",
            "id_ecdsa_sk",
            "id_ed25519",
            "id_ed25519_sk",
            "id_xmss",
            "ssh_host_rsa_key",
            "ssh_host_dsa_key",
            "ssh_host_ecdsa_key",
            "ssh_host_ed25519_key",
        ]),
        reason: "SSH keys open other machines",
    },
    Row {
        name: "key-files",
        access: Access::Read,
        names: Names::Matching(&[
            "*.pem",
            "*.key",
            "*.p8",
            "*.p12",
            "*.pfx",
            "*.pkcs12",
            "*.jks",
            "*.keystore",
            "*.kdb",
            "*.kdbx",
            "*.ppk",
            "*.agekey",
            "*.gpg-key",
            ".age/keys.txt",
            "age/keys.txt",
        ]),
        reason: "private keys and key stores",
    },
    Row {
        name: "gnupg",
        access: Access::Read,
        names: Names::Matching(&[
            ".gnupg",
            "secring.gpg",
            ".password-store",
            ".local/share/keyrings",
        ]),
        reason: "secret keys and stored passwords",
    },
    Row {
        name: "cloud",
        access: Access::Read,
        names: Names::Matching(&[
            ".aws/credentials",
            ".aws/sso",
            ".aws/cli/cache",
            ".config/gcloud",
            "application_default_credentials.json",
            ".azure",
            ".oci",
            ".config/doctl/config.yaml",
            ".config/hcloud/cli.toml",
            ".terraform.d/credentials.tfrc.json",
            ".terraformrc",
            "terraform.rc",
            ".vault-token",
            ".boto",
            ".s3cfg",
            ".config/rclone/rclone.conf",
        ]),
        reason: "credentials of cloud accounts",
    },
    Row {
        name: "cluster",
        access: Access::Read,
        names: Names::Matching(&[
            ".kube/config",
            ".kube/cache",
            "kubeconfig",
            "*.kubeconfig",
            ".docker/config.json",
            ".dockercfg",
            ".config/containers/auth.json",
            ".config/helm/repositories.yaml",
            ".config/helm/registry/config.json",
        ]),
        reason: "credentials of clusters and image registries",
    },
    Row {
        name: "packages",
        access: Access::Read,
        names: Names::Matching(&[
            ".npmrc",
            ".pypirc",
            ".cargo/credentials",
            ".cargo/credentials.toml",
            ".gem/credentials",
            ".m2/settings.xml",
            ".m2/settings-security.xml",
            ".gradle/gradle.properties",
            ".nuget/nuget/nuget.config",
            ".composer/auth.json",
            ".config/composer/auth.json",
            ".config/pip/pip.conf",
            ".config/pypoetry/auth.toml",
        ]),
        reason: "tokens of package registries",
    },
    Row {
        name: "git-credentials",
        access: Access::Read,
        names: Names::Matching(&[
            ".git-credentials",
            ".config/git/credentials",
            ".config/gh/hosts.yml",
            ".config/glab-cli/config.yml",
            ".config/hub",
        ]),
        reason: "tokens of code hosts",
    },
    Row {
        name: "passwords",
        access: Access::Read,
        names: Names::Matching(&[
            ".netrc",
            "_netrc",
            ".authinfo",
            ".authinfo.gpg",
            ".htpasswd",
            ".htdigest",
            ".pgpass",
            ".my.cnf",
            ".mylogin.cnf",
            ".mongorc.js",
            ".rediscli_auth",
            ".msmtprc",
        ]),
        reason: "stored passwords",
    },
    Row {
        name: "env",
        access: Access::Read,
        names: Names::AllBut {
            exact: ".env",
            start: ".env.",
            ends: &["example", "sample", "template", "dist", "defaults"],
        },
        reason: "environment files hold secrets; examples of them can be read",
    },
    Row {
        name: "envrc",
        access: Access::Read,
        names: Names::Matching(&[".envrc"]),
        reason: "environment files hold secrets",
    },
];

/// Why the table was not made into denials.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BuiltinError {
    #[error("no built-in denial is called `{0}`")]
    UnknownException(String),
    #[error("the table of built-in denials is damaged at `{0}`")]
    Damaged(&'static str),
}

/// The table's denials but those whose name is in `exceptions`.
pub(crate) fn denials<'a>(
    exceptions: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<Denial>, BuiltinError> {
    let mut excepted = Vec::new();
    for exception in exceptions {
        let known = exception
            .strip_prefix(PREFIX)
            .filter(|name| TABLE.iter().any(|row| row.name == *name));
        excepted.push(known.ok_or_else(|| BuiltinError::UnknownException(exception.to_owned()))?);
    }
    let mut denials = Vec::new();
    for row in TABLE.iter().filter(|row| !excepted.contains(&row.name)) {
        for pattern in row.names.patterns() {
            denials.push(
                row.denial(&pattern)
                    .ok_or(BuiltinError::Damaged(row.name))?,
            );
        }
    }
    Ok(denials)
}

impl Row {
    fn denial(&self, pattern: &str) -> Option<Denial> {
        Some(Denial {
            rule: Rule {
                name: Text::new(format!("{PREFIX}{}", self.name)).ok()?,
                reason: Text::new(self.reason).ok()?,
            },
            verbs: match self.access {
                Access::Read => VerbSet::CONTENT,
                Access::List => VerbSet::of(&[Verb::Stat, Verb::List, Verb::Glob]),
                Access::Write => VerbSet::WRITING,
            },
            target: DenialTarget::Pattern {
                anchor: None,
                pattern: Bytes::new(pattern).ok()?,
            },
            effect: Effect::Deny,
        })
    }
}

impl Names {
    fn patterns(&self) -> Vec<String> {
        match self {
            Self::Matching(patterns) => patterns.iter().map(|p| (*p).to_owned()).collect(),
            Self::AllBut { exact, start, ends } => {
                let mut patterns = vec![(*exact).to_owned()];
                patterns.extend(all_but(start, ends));
                patterns
            }
        }
    }
}

/// Patterns that together match every name that begins with `start`, but for those that go on
/// with exactly one of `words`. Patterns have no negation, so the words are told apart letter by
/// letter: for each beginning of a word, the name that ends there, and all names that leave the
/// words there. `words` are lower-case ASCII letters or digits, at most a few hundred bytes each.
fn all_but(start: &str, words: &[&str]) -> Vec<String> {
    let mut beginnings: Vec<&str> = words
        .iter()
        .flat_map(|word| (0..=word.len()).filter_map(|n| word.get(..n)))
        .collect();
    beginnings.sort_unstable();
    beginnings.dedup();
    let leaving = beginnings.iter().map(|beginning| {
        let next: String = beginnings
            .iter()
            .filter_map(|longer| longer.strip_prefix(beginning))
            .filter(|rest| rest.len() == 1)
            .collect();
        if next.is_empty() {
            format!("{beginning}?")
        } else {
            format!("{beginning}[!{next}]")
        }
    });
    let ending = beginnings.iter().filter(|b| !words.contains(b));
    // An alternation cannot hold the empty string.
    let ending = ending.filter(|b| !b.is_empty()).map(|b| (*b).to_owned());
    let mut patterns = alternations(start, leaving, "*");
    patterns.extend(alternations(start, ending, ""));
    if !words.contains(&"") {
        patterns.push(start.to_owned());
    }
    patterns
}

/// `start{a,b,…}end`, as few of them as the limit of one pattern allows.
fn alternations(start: &str, branches: impl Iterator<Item = String>, end: &str) -> Vec<String> {
    let close = format!("}}{end}");
    let mut packed: Vec<String> = Vec::new();
    for branch in branches {
        match packed.last_mut() {
            Some(last) if last.len() + branch.len() + 1 + close.len() <= PATTERN_BYTES_MAX => {
                last.push(',');
                last.push_str(&branch);
            }
            Some(_) | None => packed.push(format!("{start}{{{branch}")),
        }
    }
    for pattern in &mut packed {
        pattern.push_str(&close);
    }
    packed
}

#[cfg(test)]
mod tests;
