//! Policy files: what a session shall reach, in TOML, with their own tests.
//!
//! Holding a [`Policy`] means: every key is known, every root, grant and rule is one, every path is
//! plain. Whether its directories are there is met when they are sealed.

mod commands;
mod file;
mod suggest;

pub(crate) use commands::policy;
pub(crate) use file::ExpectWord;

use file::{DurabilityWord, EffectWord, File, ScopeWord, VERSION, line_of};
use portcullis_client::{Only, Words, ask};
use portcullis_protocol::authority::{Budgets, Effect, Scope};
use portcullis_protocol::control::Deciding;
use portcullis_protocol::path::{Label, RelPath, Start, Step, escape, parse_selector};
use portcullis_protocol::session::Selector;
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_protocol::view::Digest;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// Why a file is no policy. Nothing was done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PolicyError {
    #[error("policy {path}: {source}")]
    Read {
        path: String,
        #[source]
        source: std::io::Error,
    },
    /// It is no TOML, or has a key that is not known.
    #[error("policy {path}: {message}")]
    Form { path: String, message: String },
    #[error("policy {path}, line {line}: {what}")]
    Wrong {
        path: String,
        line: usize,
        what: String,
    },
}

/// A policy.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) roots: Vec<PolicyRoot>,
    pub(crate) grants: Vec<PolicyGrant>,
    pub(crate) asks: Vec<PolicyGrant>,
    pub(crate) rules: Vec<PolicyRule>,
    pub(crate) excepts: Vec<String>,
    pub(crate) budgets: Budgets,
    pub(crate) expires: Option<Duration>,
    pub(crate) deciding: Deciding,
    pub(crate) ignore_files: Vec<PathBuf>,
    tests: Vec<Test>,
}

/// A directory to seal.
#[derive(Debug)]
pub(crate) struct PolicyRoot {
    pub(crate) path: PathBuf,
    pub(crate) label: Label,
    pub(crate) scope: Scope,
}

/// A grant or an ask.
#[derive(Debug, Clone)]
pub(crate) struct PolicyGrant {
    /// Which of the roots.
    pub(crate) root: usize,
    pub(crate) prefix: RelPath,
    pub(crate) words: Words,
    pub(crate) only: Only,
}

/// A rule.
#[derive(Debug)]
pub(crate) struct PolicyRule {
    pub(crate) name: String,
    pub(crate) reason: String,
    pub(crate) effect: Effect,
    pub(crate) verbs: VerbSet,
    pub(crate) target: PolicyTarget,
}

/// What a rule covers.
#[derive(Debug)]
pub(crate) enum PolicyTarget {
    /// Names, with the root a pattern with a slash begins at.
    Pattern { root: usize, pattern: Vec<u8> },
    /// One object, found by its path when the policy is used.
    Object(PathBuf),
}

/// A question, with the answer that is expected.
#[derive(Debug)]
struct Test {
    line: usize,
    verb: Verb,
    selector: Selector,
    expect: ExpectWord,
    rule: Option<String>,
}

impl Policy {
    /// Reads a file. Relative paths in it begin at its directory; `~/` is the home directory.
    pub(crate) fn read(path: &Path) -> Result<Self, PolicyError> {
        let shown = escape(path.as_os_str().as_bytes());
        let text = std::fs::read_to_string(path).map_err(|source| PolicyError::Read {
            path: shown.clone(),
            source,
        })?;
        let base = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Self::parse(&text, &base, &shown)
    }

    fn parse(text: &str, base: &Path, shown: &str) -> Result<Self, PolicyError> {
        let file: File = toml::from_str(text).map_err(|error| PolicyError::Form {
            path: shown.to_owned(),
            message: error.to_string().trim_end().to_owned(),
        })?;
        let reader = Reader { text, base, shown };
        reader.policy(file)
    }
}

/// Makes a policy of what is written, and knows where it stands.
struct Reader<'a> {
    text: &'a str,
    base: &'a Path,
    shown: &'a str,
}

impl Reader<'_> {
    fn wrong<T>(&self, at: &Spanned<T>, what: impl std::fmt::Display) -> PolicyError {
        PolicyError::Wrong {
            path: self.shown.to_owned(),
            line: line_of(self.text, at.span()),
            what: what.to_string(),
        }
    }

    fn policy(&self, file: File) -> Result<Policy, PolicyError> {
        if *file.version.get_ref() != VERSION {
            let what = format!("version {VERSION} is the only one there is");
            return Err(self.wrong(&file.version, what));
        }
        if let Some(durability) = &file.durability
            && *durability.get_ref() == DurabilityWord::Power
        {
            let what = "this broker has no durability over a loss of power; `kill` is what it has";
            return Err(self.wrong(durability, what));
        }
        let roots = self.roots(&file)?;
        let grants = |all: &[file::Grant]| -> Result<Vec<PolicyGrant>, PolicyError> {
            all.iter().map(|grant| self.grant(grant, &roots)).collect()
        };
        let rules = file.rule.iter().map(|rule| self.rule(rule, &roots));
        let tests = file.test.iter().map(|test| self.test(test));
        let expires = file.expires.as_ref().map(|text| self.duration(text));
        Ok(Policy {
            grants: grants(&file.grant)?,
            asks: grants(&file.ask)?,
            rules: rules.collect::<Result<_, _>>()?,
            excepts: file.except.iter().map(|e| e.get_ref().clone()).collect(),
            budgets: file.budgets.map_or(Budgets::UNLIMITED, |b| Budgets {
                operations: b.operations,
                read_bytes: b.read_bytes,
                written_bytes: b.written_bytes,
                creates: b.creates,
                deletes: b.deletes,
            }),
            expires: expires.transpose()?,
            deciding: match file.deciding {
                None | Some(file::DecidingWord::Anyone) => Deciding::Anyone,
                Some(file::DecidingWord::Decider) => Deciding::Decider,
            },
            ignore_files: file.ignore_files.iter().map(|it| self.place(it)).collect(),
            tests: tests.collect::<Result<_, _>>()?,
            roots,
        })
    }

    fn roots(&self, file: &File) -> Result<Vec<PolicyRoot>, PolicyError> {
        let mut roots: Vec<PolicyRoot> = Vec::new();
        for root in &file.root {
            let path = self.place(&root.path);
            let label = match &root.label {
                Some(label) => Label::new(label.get_ref().clone())
                    .map_err(|error| self.wrong(label, format!("label: {error}")))?,
                None => {
                    let name = path.canonicalize().unwrap_or_else(|_| path.clone());
                    let name = name.file_name().map(|name| escape(name.as_bytes()));
                    Label::new(name.unwrap_or_default())
                        .map_err(|_| self.wrong(&root.path, "it needs a label"))?
                }
            };
            if roots.iter().any(|other| other.label == label) {
                let what = format!("two roots are called `{label}`; give one another label");
                return Err(self.wrong(&root.path, what));
            }
            roots.push(PolicyRoot {
                path,
                label,
                scope: match root.scope {
                    None | Some(ScopeWord::Workspace) => Scope::Workspace,
                    Some(ScopeWord::Scratch) => Scope::Scratch,
                    Some(ScopeWord::External) => Scope::External,
                    Some(ScopeWord::Private) => Scope::Private,
                },
            });
        }
        if roots.is_empty() {
            let what = "a policy without a [[root]] reaches nothing";
            return Err(self.wrong(&file.version, what));
        }
        Ok(roots)
    }

    fn place(&self, path: &Spanned<String>) -> PathBuf {
        let home = path.get_ref().strip_prefix("~/");
        match (home, std::env::var_os("HOME")) {
            (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
            (_, _) => self.base.join(path.get_ref()),
        }
    }

    fn root(
        &self,
        name: Option<&Spanned<String>>,
        roots: &[PolicyRoot],
    ) -> Result<usize, PolicyError> {
        let Some(name) = name else { return Ok(0) };
        let found = roots
            .iter()
            .position(|r| r.label.as_str() == name.get_ref());
        found.ok_or_else(|| {
            let labels: Vec<&str> = roots.iter().map(|root| root.label.as_str()).collect();
            let what = format!(
                "no root is called `{}`; there are {}",
                escape(name.get_ref().as_bytes()),
                labels.join(", ")
            );
            self.wrong(name, what)
        })
    }

    fn words(&self, verbs: &Spanned<Vec<String>>) -> Result<Words, PolicyError> {
        if verbs.get_ref().is_empty() {
            return Err(self.wrong(verbs, "no verb is named"));
        }
        let words = verbs.get_ref().iter().map(String::as_str);
        Words::of(words).map_err(|error| self.wrong(verbs, error))
    }

    fn grant(&self, grant: &file::Grant, roots: &[PolicyRoot]) -> Result<PolicyGrant, PolicyError> {
        let words = self.words(&grant.verbs)?;
        let mut only = Only::verbs(words.verbs).in_modes(words.modes);
        if !grant.inputs.is_empty() {
            let inputs = grant.inputs.iter().map(|input| self.digest(input));
            let inputs = inputs.collect::<Result<_, _>>()?;
            only = only
                .of_inputs(inputs)
                .map_err(|error| self.wrong(&grant.verbs, error))?;
        }
        Ok(PolicyGrant {
            root: self.root(grant.root.as_ref(), roots)?,
            prefix: match &grant.path {
                None => RelPath::root(),
                Some(path) => self.plain(path)?,
            },
            words,
            only,
        })
    }

    /// A path below a root, without `..`, which a grant cannot resolve.
    fn plain(&self, path: &Spanned<String>) -> Result<RelPath, PolicyError> {
        let wrong = || {
            let what = "a path below the root is wanted, without `..` and not beginning at `/`";
            self.wrong(path, what)
        };
        let parsed = parse_selector(path.get_ref().as_bytes()).map_err(|_| wrong())?;
        if parsed.start != Start::Root {
            return Err(wrong());
        }
        let mut plain = RelPath::root();
        for step in parsed.steps {
            match step {
                Step::Down(name) => plain.push(name).map_err(|_| wrong())?,
                Step::Up => return Err(wrong()),
            }
        }
        Ok(plain)
    }

    fn digest(&self, text: &Spanned<String>) -> Result<Digest, PolicyError> {
        let wrong = || self.wrong(text, "an input is 64 hexadecimal digits");
        let digits: Option<Vec<u32>> = text.get_ref().chars().map(|c| c.to_digit(16)).collect();
        let digits = digits.filter(|d| d.len() == 64).ok_or_else(wrong)?;
        let byte = |pair: &[u32]| pair.iter().fold(0, |byte, digit| byte * 16 + digit);
        let bytes = digits.chunks(2).map(|pair| u8::try_from(byte(pair)));
        let bytes: Vec<u8> = bytes.collect::<Result<_, _>>().map_err(|_| wrong())?;
        bytes.try_into().map(Digest).map_err(|_| wrong())
    }

    fn rule(&self, rule: &file::Rule, roots: &[PolicyRoot]) -> Result<PolicyRule, PolicyError> {
        let verbs = match (&rule.verbs, rule.effect) {
            (Some(verbs), EffectWord::Hide) => {
                let what = "a rule that hides does so for every verb";
                return Err(self.wrong(verbs, what));
            }
            (Some(verbs), EffectWord::Deny | EffectWord::Ask) => self.words(verbs)?.verbs,
            (None, EffectWord::Ask) => VerbSet::WRITING,
            (None, EffectWord::Deny | EffectWord::Hide) => VerbSet::ALL,
        };
        let target = match (&rule.pattern, &rule.object) {
            (Some(pattern), None) => PolicyTarget::Pattern {
                root: self.root(rule.root.as_ref(), roots)?,
                pattern: crate::reach::pattern_bytes(pattern.get_ref().as_bytes())
                    .map_err(|why| self.wrong(pattern, why))?,
            },
            (None, Some(object)) => PolicyTarget::Object(self.place(object)),
            (Some(_), Some(_)) | (None, None) => {
                let what = "a rule has either a pattern or an object";
                return Err(self.wrong(&rule.name, what));
            }
        };
        Ok(PolicyRule {
            name: rule.name.get_ref().clone(),
            reason: match &rule.reason {
                Some(reason) => reason.get_ref().clone(),
                None => "given in the policy".to_owned(),
            },
            effect: match rule.effect {
                EffectWord::Deny => Effect::Deny,
                EffectWord::Hide => Effect::Hide,
                EffectWord::Ask => Effect::Ask,
            },
            verbs,
            target,
        })
    }

    fn test(&self, test: &file::Test) -> Result<Test, PolicyError> {
        let name = test.verb.get_ref();
        let verb =
            Verb::named(name).ok_or_else(|| self.wrong(&test.verb, "no verb of this name"))?;
        let selector = ask::selector(test.path.get_ref().as_bytes());
        Ok(Test {
            line: line_of(self.text, test.verb.span()),
            verb,
            selector: selector.map_err(|error| self.wrong(&test.path, error))?,
            expect: test.expect,
            rule: test.rule.clone(),
        })
    }

    fn duration(&self, text: &Spanned<String>) -> Result<Duration, PolicyError> {
        let wrong = || {
            self.wrong(
                text,
                "a duration is a number and s, m, h or d, such as `2h`",
            )
        };
        let written = text.get_ref();
        let unit = written.chars().next_back().ok_or_else(wrong)?;
        let number = written.strip_suffix(unit).unwrap_or_default();
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 24 * 3600,
            _ => return Err(wrong()),
        };
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let seconds = number.checked_mul(seconds).ok_or_else(wrong)?;
        Ok(Duration::from_secs(seconds))
    }
}

#[cfg(test)]
mod tests;
