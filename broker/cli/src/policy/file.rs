//! A policy file as it is written. Everything here is text; `Policy` is what it means.

use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

/// The version of the file's form.
pub(super) const VERSION: u32 = 1;

/// The whole file. A key that is not here is an error: one that is misspelt would otherwise
/// restrict nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    pub(super) version: Spanned<u32>,
    #[serde(default)]
    pub(super) root: Vec<Root>,
    #[serde(default)]
    pub(super) grant: Vec<Grant>,
    #[serde(default)]
    pub(super) ask: Vec<Grant>,
    #[serde(default)]
    pub(super) rule: Vec<Rule>,
    #[serde(default)]
    pub(super) except: Vec<Spanned<String>>,
    pub(super) budgets: Option<Budgets>,
    pub(super) expires: Option<Spanned<String>>,
    pub(super) deciding: Option<DecidingWord>,
    pub(super) durability: Option<Spanned<DurabilityWord>>,
    #[serde(default)]
    pub(super) ignore_files: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) test: Vec<Test>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Root {
    pub(super) path: Spanned<String>,
    pub(super) label: Option<Spanned<String>>,
    pub(super) scope: Option<ScopeWord>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Grant {
    /// The first root when it is left out.
    pub(super) root: Option<Spanned<String>>,
    /// The whole root when it is left out.
    pub(super) path: Option<Spanned<String>>,
    pub(super) verbs: Spanned<Vec<String>>,
    #[serde(default)]
    pub(super) inputs: Vec<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) name: Spanned<String>,
    pub(super) reason: Option<Spanned<String>>,
    pub(super) effect: EffectWord,
    pub(super) pattern: Option<Spanned<String>>,
    pub(super) object: Option<Spanned<String>>,
    /// Where a pattern with a slash begins; the first root when it is left out.
    pub(super) root: Option<Spanned<String>>,
    pub(super) verbs: Option<Spanned<Vec<String>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Budgets {
    pub(super) operations: Option<u64>,
    pub(super) read_bytes: Option<u64>,
    pub(super) written_bytes: Option<u64>,
    pub(super) creates: Option<u64>,
    pub(super) deletes: Option<u64>,
}

/// A question to the policy, with the answer it must give.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Test {
    pub(super) verb: Spanned<String>,
    pub(super) path: Spanned<String>,
    pub(super) expect: ExpectWord,
    pub(super) rule: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ScopeWord {
    Workspace,
    Scratch,
    External,
    Private,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EffectWord {
    Deny,
    Hide,
    Ask,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DecidingWord {
    Anyone,
    Decider,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DurabilityWord {
    /// Nothing is lost when a process is killed: what every root has.
    Kill,
    /// Nor when the power fails.
    Power,
}

/// What a test expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExpectWord {
    Granted,
    Ask,
    Refused,
}

impl ExpectWord {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Ask => "ask",
            Self::Refused => "refused",
        }
    }
}

/// The line of a place in the text, from 1.
pub(super) fn line_of(text: &str, span: Range<usize>) -> usize {
    let before = text.get(..span.start).unwrap_or(text);
    before.bytes().filter(|byte| *byte == b'\n').count() + 1
}
