//! Trees to look for things in.

use crate::random::Random;
use rustix::fs::{CWD, FileType, Mode};
use std::path::Path;

/// What lines are made of, and what is looked for.
pub(crate) const WORDS: &[&str] = &[
    "fox",
    "Fox",
    "FOX",
    "needle",
    "Needle",
    "foo_bar",
    "foo-bar",
    "foobar",
    "x1",
    "42",
    "error:",
    "TODO",
    "fn",
    "main()",
    "a.b",
    "(x)",
    "[y]",
    "ab",
    "aab",
    "aaab",
    "über",
    "Über",
    "Straße",
    "日本",
    "日本語",
    "é",
    "ſ",
    "\u{212a}",
    "k",
    "naïve",
    "end.",
    "$5",
    "^",
    "\\d",
    "\t",
    "--",
];
/// What files are called. A name with a dot at its start is passed over unless that is asked for.
const FILES: &[&str] = &[
    "a.rs",
    "b.rs",
    "m.rs",
    "a.txt",
    "b.txt",
    "z.txt",
    "c.md",
    "r.md",
    "x.toml",
    "Makefile",
    "README",
    "data.bin",
    ".hidden",
    ".rc",
    ".a.rs",
    ".b.txt",
    "sp ace.txt",
    "ünï.rs",
    "UPPER.RS",
    "{x}.rs",
    "[a].rs",
    "-dash.rs",
    "#c",
    "!n.txt",
];
const DIRECTORIES: &[&str] = &[
    "src",
    "lib",
    "build",
    "docs",
    "deep",
    "nested",
    "node_modules",
    ".github",
    ".cache",
    "a",
    "B",
];
/// Rules that git and ripgrep read alike.
const RULES: &[&str] = &[
    "*.txt",
    "!b.txt",
    "/build",
    "build/",
    "src/*.rs",
    "!.hidden",
    "**/lib",
    "lib/**",
    "*.md",
    "# c",
    "\\#c",
    "\\!n.txt",
    "!/src",
    "!*.rs",
    "a.rs",
    "/a.rs",
    "deep/**/x.toml",
    "[ab].rs",
    "?.md",
    "node_modules",
    ".rc",
    "!.github",
    "",
    "nested/",
    "/docs/*",
    "!/docs/r.md",
    "*.bin ",
    "README",
    "src/deep/",
    "/a/**/b.rs",
    "[!m].rs",
    "UPPER.*",
    "*.rs",
    "!m.rs",
];

/// Whether a tree is one of repositories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Git {
    /// The whole is one, and some directories in it are others.
    Repository,
    /// It has none.
    None,
}

impl Git {
    /// One tree in four has no repository.
    pub(crate) fn of(part: usize) -> Self {
        match part % 4 {
            3 => Self::None,
            _ => Self::Repository,
        }
    }

    /// What has `rg` read ignore files there. It does not look for repositories when it needs none,
    /// and then takes rules from outside into a repository, which git does not.
    pub(crate) fn flag(self) -> &'static str {
        match self {
            Self::Repository => "--require-git",
            Self::None => "--no-require-git",
        }
    }
}

/// Fills a directory.
pub(crate) fn generate(random: &mut Random, top: &Path, git: Git) {
    directory(random, top, (0, git));
    // Many directories beside one another, and one path that is long.
    for n in 0..40 {
        let at = top.join(format!("many/{}/{n}", n % 7));
        std::fs::create_dir_all(&at).unwrap();
        write(random, &at);
    }
    let long = top.join(["long"; 12].join("/"));
    std::fs::create_dir_all(&long).unwrap();
    write(random, &long);
    std::os::unix::fs::symlink("src", top.join("link-to-directory")).unwrap();
    std::os::unix::fs::symlink("../a.rs", top.join("many/link.rs")).unwrap();
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, top.join("fifo.rs"), FileType::Fifo, mode, 0).unwrap();
}

fn directory(random: &mut Random, at: &Path, (depth, git): (usize, Git)) {
    for _ in 0..2 + random.below(7) {
        write(random, at);
    }
    ignores(random, at, (depth, git));
    if depth == 4 {
        return;
    }
    for _ in 0..if depth == 0 { 5 } else { random.below(4) } {
        let below = at.join(random.of(DIRECTORIES));
        std::fs::create_dir_all(&below).unwrap();
        directory(random, &below, (depth + 1, git));
    }
}

fn write(random: &mut Random, at: &Path) {
    let name = random.of(FILES);
    std::fs::write(at.join(name), content(random)).unwrap();
}

fn ignores(random: &mut Random, at: &Path, (depth, git): (usize, Git)) {
    let rules = |random: &mut Random| {
        let end = random.of(&["\n", "\n", "\n", "\r\n"]);
        let mut rules = random.some(RULES, 5).join(end);
        if !random.once_in(4) {
            rules.push_str(end);
        }
        rules
    };
    if random.once_in(3) {
        std::fs::write(at.join(".gitignore"), rules(random)).unwrap();
    }
    if random.once_in(5) {
        std::fs::write(at.join(".ignore"), rules(random)).unwrap();
    }
    if git == Git::Repository && (depth == 0 || random.once_in(8)) {
        std::fs::create_dir_all(at.join(".git/info")).unwrap();
        std::fs::write(at.join(".git/info/exclude"), rules(random)).unwrap();
        std::fs::write(at.join(".git/a.rs"), lines(random, 5)).unwrap();
    }
}

/// The content of a file, of any kind.
pub(crate) fn content(random: &mut Random) -> Vec<u8> {
    let few = 1 + random.below(12);
    let text = lines(random, few);
    let wide = |unit: fn(u16) -> [u8; 2], text: &[u8]| -> Vec<u8> {
        let text = std::str::from_utf8(text).unwrap();
        text.encode_utf16().flat_map(unit).collect()
    };
    match random.below(30) {
        0 => Vec::new(),
        1 => b"\n\n\n".to_vec(),
        2 => [b"\0", text.as_slice()].concat(),
        3 => [text.as_slice(), b"fox \0 needle\n", &lines(random, 3)].concat(),
        4 => [text.as_slice(), b"\0"].concat(),
        5 => [lines(random, 4000), b"\0".to_vec(), text].concat(),
        6 => [
            lines(random, 9000),
            b"ab\0fox\n".to_vec(),
            lines(random, 900),
        ]
        .concat(),
        7 | 8 => [b"\xEF\xBB\xBF", text.as_slice()].concat(),
        9 | 10 => [b"\xFF\xFE".to_vec(), wide(u16::to_le_bytes, &text)].concat(),
        11 => [b"\xFE\xFF".to_vec(), wide(u16::to_be_bytes, &text)].concat(),
        12 => wide(u16::to_le_bytes, &text),
        13 => b"caf\xe9 fox\nStra\xdfe needle\r\n\xdcber ab\n".to_vec(),
        14 => [text.as_slice(), b"\xff\xfe fox \x80 ab\n"].concat(),
        15 => b"\x93\xfa\x96{\x8c\xea fox\nneedle \x83e\n".to_vec(), // Shift JIS
        16 => b"\xc6\xfc\xcb\xdc\xb8\xec fox\nab \xa4\xa2\n".to_vec(), // EUC-JP
        17 => b"\xc8\xd5\xb1\xbe fox\n\x81\x30\x81\x30 ab\n".to_vec(), // GB 18030
        18 | 19 => lines(random, 3000),
        20 => (0..5).flat_map(|_| long(random)).collect(),
        21 => text.iter().filter(|b| **b != b'\n').copied().collect(),
        _ => text,
    }
}

fn lines(random: &mut Random, most: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let style = random.below(5);
    let count = if most > 100 {
        most
    } else {
        1 + random.below(most)
    };
    for n in 0..count {
        for word in 0..random.below(7) {
            if word > 0 {
                text.push(b' ');
            }
            text.extend_from_slice(random.of(WORDS).as_bytes());
        }
        let end: &[u8] = match style {
            0 => b"\r\n",
            1 if random.once_in(3) => b"\r\n",
            2 if random.once_in(9) => b"\r",
            _ => b"\n",
        };
        if n + 1 < count || !random.once_in(4) {
            text.extend_from_slice(end);
        }
    }
    text
}

/// A line that is still told whole.
fn long(random: &mut Random) -> Vec<u8> {
    let mut line = Vec::new();
    while line.len() < 900 {
        line.extend_from_slice(random.of(WORDS).as_bytes());
        line.push(b'.');
    }
    line.push(b'\n');
    line
}

/// Copies the sources of this repository, without what was built.
pub(crate) fn sources(to: &Path) {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let (name, kind) = (entry.file_name(), entry.file_type().unwrap());
            if kind.is_dir() && name != "target" && name != ".git" {
                copy(&entry.path(), &to.join(name));
            } else if kind.is_file() {
                std::fs::copy(entry.path(), to.join(name)).unwrap();
            }
        }
    }
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    copy(top, to);
}
