//! What is asked of both sides, in the words of each.

use crate::corpus::{Corpus, Size};
use crate::report::Bound;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// Lines that hold these bytes.
    Literal(&'static str),
    /// Lines that match.
    Regex(&'static str),
    /// Lines that match, whatever the case of letters.
    RegexAnyCase(&'static str),
    /// Lines that hold these bytes, in files whose name matches.
    LiteralIn(&'static str, &'static str),
    /// Lines that hold these bytes, in ignored files and those with a dot as well.
    LiteralInAll(&'static str),
    /// All files.
    List,
    /// All files, ignored ones and those with a dot as well.
    ListAll,
    /// Files that match.
    Glob(&'static str),
}

/// Which of the issue's bounds a row must keep to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Search,
    /// The engine is nearly all of it.
    Engine,
    List,
    Glob,
}

/// One row.
#[derive(Debug, Clone)]
pub struct Query {
    pub name: &'static str,
    pub kind: Kind,
    pub ask: Ask,
}

impl Query {
    const fn new(name: &'static str, kind: Kind, ask: Ask) -> Self {
        Self { name, kind, ask }
    }

    /// The arguments of `rg`. What the gate never reads, `rg` does not read either: files above the
    /// tree, and of its user.
    pub fn rg(&self) -> Vec<&'static str> {
        let mut arguments = vec![
            "--no-config",
            "-j2",
            "--color=never",
            "--no-ignore-global",
            "--no-ignore-parent",
        ];
        let search = ["--no-heading", "-n"];
        match &self.ask {
            Ask::Literal(text) => {
                arguments.extend(search);
                arguments.extend(["-F", "-e", text]);
            }
            Ask::Regex(pattern) => {
                arguments.extend(search);
                arguments.extend(["-e", pattern]);
            }
            Ask::RegexAnyCase(pattern) => {
                arguments.extend(search);
                arguments.extend(["-i", "-e", pattern]);
            }
            Ask::LiteralIn(text, glob) => {
                arguments.extend(search);
                arguments.extend(["-F", "-g", glob, "-e", text]);
            }
            Ask::LiteralInAll(text) => {
                arguments.extend(search);
                arguments.extend(["-uu", "-F", "-e", text]);
            }
            Ask::List => arguments.push("--files"),
            Ask::ListAll => arguments.extend(["--files", "-uu"]),
            Ask::Glob(glob) => arguments.extend(["--files", "-g", glob]),
        }
        arguments
    }

    /// The arguments of `portcullis-tool` for the same.
    pub fn tool(&self) -> Vec<&'static str> {
        const DEEP: [&str; 4] = ["list", "--recursive", "--type", "f"];
        match &self.ask {
            Ask::Literal(text) => vec!["search", text],
            Ask::Regex(pattern) => vec!["search", "-e", pattern],
            Ask::RegexAnyCase(pattern) => vec!["search", "-e", "-i", pattern],
            Ask::LiteralIn(text, glob) => vec!["search", "-g", glob, text],
            Ask::LiteralInAll(text) => vec!["search", "-uu", text],
            Ask::List => [&DEEP[..], &["--skip-ignored", "--skip-hidden"]].concat(),
            Ask::ListAll => DEEP.to_vec(),
            Ask::Glob(glob) => vec!["glob", "--type", "f", glob],
        }
    }

    /// What the issue says of this row on a tree of this size.
    pub const fn bound(&self, size: Size) -> Bound {
        let (goal, limit) = match (size, self.kind) {
            (Size::Between, _) => return Bound::Shown,
            (Size::Large, Kind::Search) => (0.85, 0.95),
            // No goal is set for these: the limit is the goal.
            (Size::Large, Kind::Engine) => (1.05, 1.05),
            (Size::Small, Kind::Search | Kind::Engine) => (0.5, 0.5),
            (Size::Small, Kind::List | Kind::Glob) => (0.3, 0.3),
            (Size::Large, Kind::List) => (0.5, 0.7),
            (Size::Large, Kind::Glob) => (0.8, 1.0),
        };
        Bound::AtMost { goal, limit }
    }
}

/// Nothing that is in any tree, in pieces so that it is not in this one.
pub const NOWHERE: &str = concat!("zqxj", "kvbwpf");
/// No literal to look for first, and Unicode's words: the engine sees every byte.
pub const NO_LITERAL: &str = r"\w{5}\s+\w{5}\s+\w{5}\s+\w{5}\s+\w{5}";

/// The words of a tree that a few and many lines hold, a regular expression around a literal, a
/// literal in some files, a name, a path.
struct Words {
    few: &'static str,
    many: &'static str,
    regex: &'static str,
    within: (&'static str, &'static str),
    name: &'static str,
    path: &'static str,
}

fn words(corpus: &Corpus) -> Words {
    match corpus.name.as_str() {
        "debian" => Words {
            few: "clk_hw_register_gate2",
            many: "EXPORT_SYMBOL_GPL",
            regex: r"\w+_probe\(struct",
            within: ("struct device;", "*.h"),
            name: "*.rs",
            path: "drivers/**/Makefile",
        },
        "small" => Words {
            few: "HashMap::with_capacity",
            many: "fn ",
            regex: r"fn \w+_at\(",
            within: ("edition", "*.toml"),
            name: "*.rs",
            path: "*/src/**/mod.rs",
        },
        _ => Words {
            few: "compare_exchange_weak",
            many: "fn ",
            regex: r"\w+_from_str\(",
            within: ("edition", "*.toml"),
            name: "*.rs",
            path: "*/src/**/mod.rs",
        },
    }
}

/// The rows of a tree.
pub fn all(corpus: &Corpus) -> Vec<Query> {
    let words = words(corpus);
    let (text, glob) = words.within;
    if corpus.size == Size::Small {
        return vec![
            Query::new("no match", Kind::Search, Ask::Literal(NOWHERE)),
            Query::new("literal", Kind::Search, Ask::Literal(words.few)),
            Query::new("regex", Kind::Search, Ask::Regex(words.regex)),
            Query::new("list", Kind::List, Ask::List),
        ];
    }
    vec![
        Query::new("no match", Kind::Search, Ask::Literal(NOWHERE)),
        Query::new("literal, few hits", Kind::Search, Ask::Literal(words.few)),
        Query::new("literal, many hits", Kind::Search, Ask::Literal(words.many)),
        Query::new("regex", Kind::Search, Ask::Regex(words.regex)),
        Query::new(
            "-i, two words",
            Kind::Search,
            Ask::RegexAnyCase("todo|fixme"),
        ),
        Query::new("literal in -g", Kind::Search, Ask::LiteralIn(text, glob)),
        Query::new(
            "regex without a literal",
            Kind::Engine,
            Ask::Regex(NO_LITERAL),
        ),
        Query::new("list", Kind::List, Ask::List),
        Query::new("list, -uu", Kind::List, Ask::ListAll),
        Query::new("glob of names", Kind::Glob, Ask::Glob(words.name)),
        Query::new("glob of paths", Kind::Glob, Ask::Glob(words.path)),
    ]
}
