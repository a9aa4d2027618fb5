//! Where the gate means to tell something else than `rg`: one table, of which each row is tried on
//! both, and stands in `docs/SEARCH.md`.

use crate::answer::{Answer, Is, Told};
use crate::rg::Rg;
use crate::tree::Git;
use crate::{flags, ours};
use portcullis_client::ask;
use portcullis_client::protocol::bounded::{Bytes, Few};
use portcullis_client::protocol::session::{
    Binary, DotNames, MultiLine, Passing, Search, SearchMode, Syntax,
};
use portcullis_client::protocol::verb::VerbSet;
use portcullis_tests::{World, anywhere, own};
use std::ffi::OsString;
use std::path::Path;

/// One intended difference.
struct Row {
    /// Words of the document that say it.
    says: &'static str,
    /// Makes the example.
    make: fn(&World),
    /// Makes the request of a search for `fox` in everything.
    change: fn(&mut Search),
    /// What is told: `path`, `path=count` or `path:line:text`, with dashes where
    /// the line does not match.
    ours: &'static [&'static str],
    rg: &'static [&'static str],
    /// Flags of `rg` that the request has no word for.
    more: &'static [&'static str],
}

const PLAIN: Row = Row {
    says: "",
    make: |_| {},
    change: |_| {},
    ours: &[],
    rg: &[],
    more: &[],
};

fn globs<const MAX: usize>(globs: &[&str]) -> Few<Bytes<1024>, MAX> {
    let globs = globs.iter().map(|glob| Bytes::new(*glob).unwrap());
    Few::new(globs.collect()).unwrap()
}

fn count(search: &mut Search) {
    search.mode = SearchMode::Count;
}

fn table() -> Vec<Row> {
    [lines(), files(), names()].into_iter().flatten().collect()
}

/// Differences in what is told of a file.
fn lines() -> Vec<Row> {
    vec![
        Row {
            says: "long lines are cut around the first match",
            make: |world| world.write("a", ["x".repeat(3000), "fox".into()].concat()),
            ours: &["a:1:[1979]xxxxxxxxxxxx"],
            rg: &["a:1:xxxxxxxxxxxx"],
            ..PLAIN
        },
        Row {
            says: "a limit for one file counts lines, also in a search over lines",
            make: |world| world.write("a", "fox\nx\nfox\nx\nfox\nx\n"),
            change: |search| {
                search.multi_line = MultiLine::On;
                (search.syntax, search.pattern) = (Syntax::Regex, Bytes::new(r"fox\nx").unwrap());
                search.limit_per_file = 2;
            },
            ours: &["a:1:fox", "a:2:x"],
            rg: &["a:1:fox", "a:2:x", "a:3:fox", "a:4:x"],
            ..PLAIN
        },
        Row {
            says: "a line that matches beyond it is shown as one near the last, where it is near",
            make: |world| world.write("a", "fox\nfox\nx\n"),
            change: |search| {
                search.limit_per_file = 1;
                search.mode = SearchMode::Content {
                    before: 0,
                    after: 2,
                };
            },
            ours: &["a:1:fox", "a-2-fox", "a-3-x"],
            rg: &["a:1:fox", "a:2:fox", "a-3-x"],
            ..PLAIN
        },
        Row {
            says: "counts are of lines, where `rg -U -c` counts matches",
            make: |world| world.write("a", "fox fox\nfox\n"),
            change: |search| {
                search.multi_line = MultiLine::On;
                (search.syntax, search.pattern) = (Syntax::Regex, Bytes::new(r"fox\s?").unwrap());
                count(search);
            },
            ours: &["a=2"],
            rg: &["a=3"],
            ..PLAIN
        },
        Row {
            says: "counts are whole whatever the limit for one file",
            make: |world| world.write("a", "fox\n".repeat(9)),
            change: |search| {
                search.limit_per_file = 2;
                count(search);
            },
            ours: &["a=9"],
            rg: &["a=2"],
            ..PLAIN
        },
        Row {
            says: "the first match in a file that is not text",
            make: |world| world.write("a", "\0 fox\n"),
            change: |search| search.binary = Binary::Search,
            ours: &["a:0:"],
            rg: &["a:2: fox"],
            ..PLAIN
        },
    ]
}

/// Differences in which files are searched.
fn files() -> Vec<Row> {
    vec![
        Row {
            says: "files over the size limit are passed over and counted",
            make: |world| {
                world.write("a", [b"fox\n".to_vec(), b"x\n".repeat(8 << 20)].concat());
                world.write("b", "fox\n");
            },
            ours: &["b:1:fox"],
            rg: &["a:1:fox", "b:1:fox"],
            ..PLAIN
        },
        Row {
            says: "a file with a line over 8 MiB is given up there and counted",
            make: |world| {
                let line = [b"x".repeat(9 << 20), b" fox\n".to_vec()].concat();
                world.write("a", [b"fox\n".to_vec(), line].concat());
            },
            ours: &["a:1:fox"],
            rg: &["a:1:fox", "a:2:xxxxxxxxxxxx"],
            ..PLAIN
        },
        Row {
            says: "`.rgignore` and configuration files are not read",
            make: |world| {
                world.write("a", "fox\n");
                world.write(".rgignore", "a\n");
            },
            ours: &["a:1:fox"],
            ..PLAIN
        },
        Row {
            says: "where ripgrep reads a rule of an ignore file otherwise than git",
            make: |world| {
                world.write("a.o", "fox\n");
                world.write("{o,x}", "fox\n");
                world.write("b.{o,x}", "fox\n");
                world.write(".gitignore", "*.{o,x}\n");
            },
            ours: &["a.o:1:fox", "{o,x}:1:fox"],
            rg: &["b.{o,x}:1:fox", "{o,x}:1:fox"],
            ..PLAIN
        },
        Row {
            says: "nothing above the root is read",
            make: |world| {
                world.write("a", "fox\n");
                std::fs::write(world.place.path().join(".ignore"), "a\n").unwrap();
            },
            ours: &["a:1:fox"],
            more: &["--ignore-parent"],
            ..PLAIN
        },
        Row {
            says: "`.gitignore` is honoured without a repository",
            make: |world| {
                world.write("a", "fox\n");
                world.write(".gitignore", "a\n");
            },
            rg: &["a:1:fox"],
            more: &["--require-git"],
            ..PLAIN
        },
        Row {
            says: "links are never followed",
            make: |world| {
                world.write("a", "fox\n");
                std::os::unix::fs::symlink("a", world.inside().join("b")).unwrap();
            },
            ours: &["a:1:fox"],
            rg: &["a:1:fox", "b:1:fox"],
            more: &["-L"],
            ..PLAIN
        },
        Row {
            says: "denials hold",
            make: |world| {
                world.write("denied/a", "fox\n");
                world.write("hidden/a", "fox\n");
            },
            rg: &["denied/a:1:fox", "hidden/a:1:fox"],
            ..PLAIN
        },
        Row {
            says: "the broker's temporaries are passed over",
            make: |world| world.write(format!(".portcullis-{}", "0".repeat(32)), "fox\n"),
            change: |search| search.passing = Passing::nothing(),
            rg: &[".portcullis-00000000000000000000000000000000:1:fox"],
            ..PLAIN
        },
        Row {
            says: "`--files-without-match` tells only of files that were searched wholly",
            make: |world| {
                world.write("a", "x\n".repeat(50_000) + "\0");
                world.write("b", "x\n");
            },
            change: |search| search.mode = SearchMode::FilesWithout,
            ours: &["b"],
            rg: &["b"],
            ..PLAIN
        },
    ]
}

/// Differences in which names are passed over.
fn names() -> Vec<Row> {
    let dotted = |world: &World| {
        world.write(".github/a.yml", "fox\n");
        world.write(".a.rs", "fox\n");
        world.write("build/a.rs", "fox\n");
        world.write(".gitignore", "build\n");
    };
    vec![
        Row {
            says: "a directory that is passed over is not entered because `include` matches it",
            make: dotted,
            change: |search| search.include = globs(&["*"]),
            ours: &[".a.rs:1:fox"],
            rg: &[".a.rs:1:fox", ".github/a.yml:1:fox", "build/a.rs:1:fox"],
            ..PLAIN
        },
        Row {
            says: "one whose dot `include` spells is",
            make: dotted,
            change: |search| search.include = globs(&[".github/**/*.yml"]),
            ours: &[".github/a.yml:1:fox"],
            ..PLAIN
        },
        Row {
            says: "types take no name in again that has a dot",
            make: dotted,
            change: |search| search.types = globs(&["*.rs"]),
            rg: &[".a.rs:1:fox"],
            ..PLAIN
        },
        Row {
            says: "of what `include` takes only what the types take, too",
            make: |world| {
                world.write("a.rs", "fox\n");
                world.write("a.md", "fox\n");
            },
            change: |search| (search.include, search.types) = (globs(&["a.*"]), globs(&["*.md"])),
            ours: &["a.md:1:fox"],
            rg: &["a.md:1:fox", "a.rs:1:fox"],
            ..PLAIN
        },
        Row {
            says: "and in a directory with a `.git` of its own no rules of git from above it hold",
            make: |world| {
                world.write("a.o", "fox\n");
                world.write("d/a.o", "fox\n");
                world.write("d/.git/config", "");
                world.write(".gitignore", "*.o\n");
            },
            ours: &["d/a.o:1:fox"],
            ..PLAIN
        },
        Row {
            says: "version control is passed over by itself, not by its dot",
            make: |world| world.write(".git/a", "fox\n"),
            change: |search| search.passing.dot_names = DotNames::Include,
            rg: &[".git/a:1:fox"],
            // In the place of what says the same as the request.
            more: &["-g", ".git/", "-g", "a"],
            ..PLAIN
        },
    ]
}

/// An answer in words.
fn words(answer: &Answer) -> Vec<String> {
    let mut words = Vec::new();
    for (path, told) in answer {
        let path = String::from_utf8_lossy(path);
        match told {
            Told::Named => words.push(path.into_owned()),
            Told::Count(count) => words.push(format!("{path}={count}")),
            Told::Lines(lines, _) => words.extend(lines.iter().map(|line| {
                let cut = match line.cut {
                    (0, 0) => String::new(),
                    (before, _) => format!("[{before}]"),
                };
                let text = String::from_utf8_lossy(&line.text[..line.text.len().min(12)]);
                let mark = if line.is == Is::Context { '-' } else { ':' };
                format!("{path}{mark}{}{mark}{cut}{text}", line.number)
            })),
        }
    }
    words
}

/// The chapter of the document.
fn chapter() -> String {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = std::fs::read_to_string(top.join("docs/SEARCH.md")).unwrap();
    let chapter = text.split("**Otherwise than ripgrep**").nth(1).unwrap();
    let chapter = chapter.split("\n## ").next().unwrap();
    chapter.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_intended_difference_is_written_down() {
    let chapter = chapter();
    for row in table() {
        assert!(
            chapter.contains(row.says),
            "docs/SEARCH.md lacks: {}",
            row.says
        );
    }
}

#[test]
fn every_intended_difference_is_as_written_down() {
    let rg = Rg::here("a comparison of intended differences");
    for row in table() {
        let mut world = World::new(own!("own-gate"));
        (row.make)(&world);
        let mut search = ask::search(ask::selector(".").unwrap(), "fox").unwrap();
        (row.change)(&mut search);
        let mut opened = world.session_with(|order, _| {
            order
                .deny("d", "not yours", VerbSet::READING, anywhere("denied"))
                .hide("h", "not there", anywhere("hidden"))
        });
        let (ours, statistics) = ours::search(&mut opened.session, &search).unwrap();
        assert_eq!(words(&ours), row.ours, "ours: {}", row.says);
        let counted = match row.says {
            says if says.contains("size limit") || says.contains("8 MiB") => statistics.too_large,
            says if says.contains("denials") => statistics.denied,
            says if says.contains("temporaries") => statistics.temporaries,
            says if says.contains("links") => statistics.not_regular,
            says if says.contains("wholly") || says.contains("not text") => statistics.binary,
            _ => 1,
        };
        assert_eq!(counted, 1, "counted: {}", row.says);
        if let Some(rg) = &rg {
            let mut flags = flags::search(&search);
            let path = flags.len() - 1;
            flags.splice(path..path, row.more.iter().map(OsString::from));
            let told = rg
                .search((&world.inside(), Git::None), &flags, search.mode)
                .unwrap();
            assert_eq!(words(&told), row.rg, "rg: {}", row.says);
        }
    }
}
