//! Requests at random that mostly find something.

use crate::random::Random;
use crate::tree::WORDS;
use portcullis_client::ask;
use portcullis_client::protocol::bounded::{Bytes, Few};
use portcullis_client::protocol::session::{
    Binary, Boundaries, Case, DotNames, Ignored, MultiLine, Passing, Search, SearchMode, Sense,
    Syntax, TextEncoding, VersionControl,
};

/// Only files match these, so that `rg` takes no directory in again because of one.
const INCLUDE: &[&str] = &[
    "*.rs",
    "*.{rs,md}",
    "*.txt",
    "src/*.rs",
    "src/**/*.rs",
    "**/x.toml",
    "[a-m]*.txt",
    "?.md",
    "Makefile",
    "nested/**/*.txt",
    "**/deep/**/*.rs",
    "a.*",
    "*/*.rs",
    "many/*/*/*.rs",
    "{src,lib}/**/*.{rs,txt}",
    "ü*.rs",
    "tests/**/*.rs",
    "broker/**/*.rs",
    "*.toml",
];
const EXCLUDE: &[&str] = &[
    "*.rs",
    "src",
    "src/",
    "many/**",
    "a.*",
    "**/deep",
    "*.{txt,bin}",
    "nested/*",
    "[a-c].rs",
    "lib/**/*.md",
    "*/src",
    "README",
    "tests",
    "broker/*/src",
];
const TYPES: &[&str] = &[
    "*.rs",
    "*.txt",
    "*.{md,toml}",
    "Makefile",
    "[a-m].*",
    "*.RS",
];

/// The regular expressions that lines are looked at with; `W` and `V` stand for words.
const LINE: &[&str] = &[
    "W|V",
    "W.*V",
    r"\bW",
    r"W\b",
    "^W",
    "W$",
    "[a-z]+W",
    r"\w+_\w+",
    "(?i)W",
    r"\s+$",
    "^$",
    ".",
    r"\d+",
    "(W){1,2}",
    "[^a-z ]{3,}",
    r"\p{Lu}",
    "a+b",
    "W?V",
    r"^\s*W",
    r"(?-u:\xe9)",
    "x*",
    r"\bfn\b.*\(",
    "[[:upper:]]{2}",
    r"W\s+V",
    "(?:W|V) .*$",
    r"\S+$",
    "^.{0,12}$",
    r"\r$",
    "日.",
    "(?s).W",
    "(?m)^W$",
    r"\AW",
    r"W\z",
    r"W\r?$",
    "^",
    "$",
    r"\B",
    "(?x) W  # c",
    "[^\\n]V",
    // Refused by both.
    r"W\nV",
    r"\x00",
    "(",
    "W**",
    r"(?=W)",
    "[z-a]",
];
const LINES: &[&str] = &[
    r"W\nV",
    r"W[\s\S]{0,40}V",
    "W.*?V",
    r"\n\n",
    r"^\s*$",
    r"W\s+V",
    r"\w+\n\w+",
    "(?s)W.*V",
    r"$\n^",
    "[^a]W",
    r"W[^V]*V",
    r"(?m)^W$",
    r"\r\n",
    "W|V",
    "a",
    "W$",
    r"\s\s",
    r"x*",
    r"\nW",
    r"\AW",
    r"W\z",
    r"[^x]*",
];

/// One request below the root.
pub(crate) fn draw(random: &mut Random) -> Search {
    let mut search = ask::search(ask::selector(".").unwrap(), "").unwrap();
    search.multi_line = random.of(&[
        MultiLine::Off,
        MultiLine::Off,
        MultiLine::Off,
        MultiLine::On,
        MultiLine::Dotall,
    ]);
    let (syntax, pattern) = pattern(random, search.multi_line);
    search.syntax = syntax;
    search.pattern = Bytes::new(pattern).unwrap();
    search.case = random.of(&[
        Case::Sensitive,
        Case::Sensitive,
        Case::Insensitive,
        Case::Smart,
    ]);
    search.boundaries = random.of(&[
        Boundaries::Anywhere,
        Boundaries::Anywhere,
        Boundaries::Anywhere,
        Boundaries::Word,
        Boundaries::Line,
    ]);
    if random.once_in(6) {
        search.sense = Sense::Inverted;
    }
    search.binary = random.of(&[Binary::Stop, Binary::Stop, Binary::Search, Binary::Text]);
    if random.once_in(4) {
        search.encoding = random.of(&TextEncoding::ALL);
    }
    search.mode = mode(random);
    // `rg -l -v` goes on behind the first line, and then takes back a file that it gives up.
    let names_inverted = (search.mode, search.sense) == (SearchMode::Files, Sense::Inverted);
    if names_inverted && search.binary == Binary::Stop {
        search.binary = Binary::Text;
    }
    files(random, &mut search);
    search
}

fn pattern(random: &mut Random, multi_line: MultiLine) -> (Syntax, Vec<u8>) {
    let word = random.of(WORDS);
    if random.once_in(3) {
        let word = match random.below(4) {
            0 => word.chars().take(1 + random.below(3)).collect(),
            1 => format!("{word} {}", random.of(WORDS)),
            _ => word.to_owned(),
        };
        return (Syntax::Literal, word.into_bytes());
    }
    let form = match multi_line {
        MultiLine::Off => random.of(LINE),
        MultiLine::On | MultiLine::Dotall => random.of(LINES),
    };
    let pattern: String = form
        .chars()
        .map(|letter| match letter {
            'W' => escaped(word),
            'V' => escaped(random.of(WORDS)),
            other => other.to_string(),
        })
        .collect();
    (Syntax::Regex, pattern.into_bytes())
}

fn escaped(word: &str) -> String {
    let special = |letter: char| letter.is_ascii_punctuation() && letter != '_';
    word.chars()
        .map(|letter| match special(letter) {
            true => format!("\\{letter}"),
            false => letter.to_string(),
        })
        .collect()
}

fn mode(random: &mut Random) -> SearchMode {
    match random.below(12) {
        0 => SearchMode::Files,
        1 => SearchMode::Count,
        2 => SearchMode::FilesWithout,
        3 => SearchMode::Content {
            before: u8::try_from(random.below(4)).unwrap(),
            after: 0,
        },
        4 => SearchMode::Content {
            before: 0,
            after: u8::try_from(random.below(4)).unwrap(),
        },
        5 => SearchMode::Content {
            before: u8::try_from(random.below(9)).unwrap(),
            after: u8::try_from(random.below(9)).unwrap(),
        },
        _ => SearchMode::Content {
            before: 0,
            after: 0,
        },
    }
}

/// Which files, and how much of each.
fn files(random: &mut Random, search: &mut Search) {
    search.passing = passing(random);
    search.include = globs(random, INCLUDE, 4);
    // In `rg` what is included need not be of a type.
    if search.include.as_slice().is_empty() {
        search.types = globs(random, TYPES, 6);
        if !search.types.as_slice().is_empty() {
            // And what is of a type may begin with a dot.
            search.passing.dot_names = DotNames::Include;
        }
        search.types_not = globs(random, TYPES, 8);
    }
    if random.once_in(8) {
        search.depth = u32::try_from(1 + random.below(4)).unwrap();
    }
    if random.once_in(8) {
        search.file_bytes_max = random.of(&[1, 40, 200, 4096, 65_536]);
    }
    // Over lines, and in counts, the limit is another thing than in `rg`.
    let content = matches!(search.mode, SearchMode::Content { .. });
    if content && search.multi_line == MultiLine::Off && random.once_in(5) {
        search.limit_per_file = u32::try_from(1 + random.below(4)).unwrap();
    }
}

/// What is passed over.
pub(crate) fn passing(random: &mut Random) -> Passing {
    let mut passing = Passing::usual();
    if random.once_in(4) {
        passing.ignored = Ignored::Include;
    }
    if random.once_in(3) {
        passing.dot_names = DotNames::Include;
        passing.version_control = random.of(&[VersionControl::Skip, VersionControl::Include]);
    }
    passing.exclude = globs(random, EXCLUDE, 5);
    passing
}

fn globs<const MAX: usize>(
    random: &mut Random,
    all: &[&str],
    rarely: usize,
) -> Few<Bytes<1024>, MAX> {
    if !random.once_in(rarely) {
        return Few::default();
    }
    let some = random.some(all, 2);
    let some = some.into_iter().map(|glob| Bytes::new(glob).unwrap());
    Few::new(some.collect()).unwrap()
}
