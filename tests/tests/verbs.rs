//! What each verb answers, against what std says of the same files.

use portcullis_client::{Session, ask};
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::limits::{LIST_ENTRIES_MAX, SORTED_ENTRIES_MAX};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{
    Boundaries, Case, Completeness, CutReason, Detail, Encoding, FinalNewline, Found, Links, List,
    Order, Passing, Range, ReadEnd, Rest, Search, SearchMode, Steadiness, Survey, Syntax,
};
use portcullis_protocol::view::{Kind, Role};
use portcullis_tests::{Opened, World, code, own, read};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;

fn world() -> World {
    World::new(own!("own-gate"))
}

fn part(session: &mut Session, path: &str, range: Range, survey: Survey) -> (Vec<u8>, ReadEnd) {
    let mut request = ask::read(ask::selector(path).unwrap());
    request.range = range;
    request.survey = survey;
    let file = session.read(&request).unwrap().pop().unwrap().unwrap();
    (file.bytes, file.end)
}

#[test]
fn stat_says_what_the_kernel_says() {
    let mut world = world();
    world.write("d/file", "12345");
    std::os::unix::fs::symlink("file", world.inside().join("d/link")).unwrap();
    let mut opened = world.session();
    let session = &mut opened.session;
    let seen = session
        .stat(&ask::stat(ask::selector("d/file").unwrap()))
        .unwrap();
    let truth = std::fs::metadata(world.inside().join("d/file")).unwrap();
    assert_eq!(seen.role, Role::Source);
    assert_eq!(seen.observation.kind, Kind::File);
    assert_eq!(seen.observation.stamp.size, 5);
    assert_eq!(seen.observation.stamp.inode, truth.ino());
    assert_eq!(seen.observation.stamp.device, truth.dev());
    assert_eq!(u32::from(seen.observation.mode), truth.mode() & 0o7777);
    assert_eq!(u64::from(seen.observation.links), truth.nlink());
    assert_eq!(seen.observation.modified.seconds, truth.mtime());
    let mut link = ask::stat(ask::selector("d/link").unwrap());
    assert_eq!(session.stat(&link).unwrap().path.as_bytes(), b"d/file");
    link.links = Links::Keep;
    let kept = session.stat(&link).unwrap();
    assert_eq!(kept.observation.kind, Kind::Link);
    assert_eq!(kept.path.as_bytes(), b"d/link");
    assert_eq!(kept.link.unwrap().as_slice(), b"file");
}

#[test]
fn a_stamp_moves_with_every_change_and_only_then() {
    let mut world = world();
    world.write("f", "one");
    let mut opened = world.session();
    let ask = ask::stat(ask::selector("f").unwrap());
    let mut stamp = || opened.session.stat(&ask).unwrap().observation.stamp;
    let first = stamp();
    assert_eq!(first, stamp());
    std::fs::write(world.inside().join("f"), "two").unwrap();
    let second = stamp();
    assert_ne!(first, second, "same size, another content");
    std::fs::write(world.inside().join("g"), "two").unwrap();
    std::fs::rename(world.inside().join("g"), world.inside().join("f")).unwrap();
    assert_ne!(second, stamp(), "another object");
}

/// Files of awkward sizes and ends, with the pieces of 64 KiB in mind.
fn awkward() -> Vec<Vec<u8>> {
    let mut files = vec![
        b"".to_vec(),
        b"\n".to_vec(),
        b"\n\n\n".to_vec(),
        b"no newline".to_vec(),
        b"one\ntwo\nthree\n".to_vec(),
        b"one\r\ntwo\rthree\nfour".to_vec(),
    ];
    for size in [65_535, 65_536, 65_537, 131_072, 200_000] {
        let mut file = Vec::new();
        let mut n = 0_u32;
        while file.len() < size {
            file.extend_from_slice(format!("line {n}\n").as_bytes());
            n += 1;
        }
        file.truncate(size);
        files.push(file.clone());
        *file.last_mut().unwrap() = b'\n';
        files.push(file);
        files.push(vec![b'x'; size]);
    }
    files
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|b| *b == b'\n').collect()
}

#[test]
fn every_range_of_every_awkward_file_is_exact() {
    let mut world = world();
    let files = awkward();
    for (n, bytes) in files.iter().enumerate() {
        world.write(format!("f{n}"), bytes);
    }
    let mut opened = world.session();
    let session = &mut opened.session;
    for (n, bytes) in files.iter().enumerate() {
        let path = format!("f{n}");
        let size = bytes.len() as u64;
        assert_eq!(&read(session, &path).unwrap(), bytes, "{path} whole");
        for (offset, length) in [
            (0, 1),
            (0, size),
            (0, u64::MAX),
            (size / 2, 10),
            (size, 5),
            (size + 9, 5),
            (3, 65_536),
            (0, 0),
        ] {
            let (got, end) = part(
                session,
                &path,
                Range::Bytes { offset, length },
                Survey::None,
            );
            let from = usize::try_from(offset.min(size)).unwrap();
            let to = usize::try_from(offset.saturating_add(length).min(size)).unwrap();
            assert_eq!(got, bytes[from..to.max(from)], "{path} {offset}+{length}");
            let rest = if end.next_offset < size {
                Rest::More
            } else {
                Rest::End
            };
            assert_eq!(end.rest, rest, "{path} {offset}+{length}");
            assert_eq!(end.steadiness, Steadiness::Steady);
        }
        let all = lines(bytes);
        for (first, count) in [
            (1, 1),
            (1, 1_000_000),
            (2, 3),
            (500, 7),
            (1_000_000, 2),
            (3, 0),
        ] {
            let (got, end) = part(session, &path, Range::Lines { first, count }, Survey::None);
            let from = usize::try_from(first - 1).unwrap().min(all.len());
            let to = from
                .saturating_add(usize::try_from(count).unwrap())
                .min(all.len());
            assert_eq!(got, all[from..to].concat(), "{path} lines {first}+{count}");
            assert_eq!(end.first_line, first);
        }
        for count in [0, 1, 2, 5, 999_999] {
            let head = part(session, &path, Range::Head { count }, Survey::None).0;
            let take = usize::try_from(count).unwrap().min(all.len());
            assert_eq!(head, all[..take].concat(), "{path} head {count}");
            let (tail, end) = part(session, &path, Range::Tail { count }, Survey::Text);
            assert_eq!(
                tail,
                all[all.len() - take..].concat(),
                "{path} tail {count}"
            );
            if count > 0 && !all.is_empty() {
                assert_eq!(
                    end.first_line,
                    (all.len() - take) as u64 + 1,
                    "{path} tail {count}"
                );
            }
        }
    }
}

#[test]
fn a_survey_counts_lines_terminators_and_digest_of_the_whole_file() {
    let mut world = world();
    let files = awkward();
    for (n, bytes) in files.iter().enumerate() {
        world.write(format!("f{n}"), bytes);
    }
    world.write("latin", b"caf\xe9\n");
    world.write("binary", b"a\0b");
    let mut opened = world.session();
    let session = &mut opened.session;
    for (n, bytes) in files.iter().enumerate() {
        let one = Range::Bytes {
            offset: 0,
            length: 1,
        };
        let (_, end) = part(session, &format!("f{n}"), one, Survey::TextAndDigest);
        let text = end.text.unwrap();
        assert_eq!(text.lines, lines(bytes).len() as u64, "f{n}");
        let newlines = bytes.iter().filter(|b| **b == b'\n').count() as u64;
        assert_eq!(text.lf + text.crlf, newlines, "f{n}");
        assert_eq!(text.encoding, Encoding::Ascii);
        let ends = match bytes.last() {
            None => FinalNewline::Empty,
            Some(b'\n') => FinalNewline::Present,
            Some(_) => FinalNewline::Absent,
        };
        assert_eq!(text.final_newline, ends);
        assert_eq!(end.digest.unwrap(), *blake3::hash(bytes).as_bytes());
    }
    let whole = Range::Bytes {
        offset: 0,
        length: 9,
    };
    let encoding = |end: ReadEnd| end.text.unwrap().encoding;
    assert_eq!(
        encoding(part(session, "latin", whole, Survey::Text).1),
        Encoding::Other
    );
    assert_eq!(
        encoding(part(session, "binary", whole, Survey::Text).1),
        Encoding::Binary
    );
}

#[test]
fn many_files_are_answered_in_order_and_a_refused_one_spoils_no_other() {
    let mut world = world();
    world.write("a", "first");
    world.write("b", "x".repeat(150_000));
    let mut opened = world.session();
    let selectors = ["a", "missing", "b", ".", "a"].map(|p| ask::selector(p).unwrap());
    let answers = opened
        .session
        .read(&ask::read_many(selectors.to_vec()).unwrap())
        .unwrap();
    assert_eq!(answers.len(), 5);
    assert_eq!(answers[0].as_ref().unwrap().bytes, b"first");
    assert_eq!(answers[1].as_ref().unwrap_err().code, Code::NotFound);
    assert_eq!(answers[2].as_ref().unwrap().bytes.len(), 150_000);
    assert_eq!(answers[3].as_ref().unwrap_err().code, Code::IsADirectory);
    assert_eq!(answers[4].as_ref().unwrap().bytes, b"first");
}

fn tree(world: &World, files: usize) -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    for n in 0..files {
        let path = format!("d{}/e{}/f{n}", n % 7, n % 3);
        world.write(&path, format!("{n}"));
        for end in path
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([path.len()])
        {
            all.insert(path.as_bytes()[..end].to_vec());
        }
    }
    all
}

#[test]
fn pages_of_a_listing_join_to_the_whole_whatever_their_size() {
    let mut world = world();
    let all = tree(&world, 200);
    let mut opened = world.session();
    let session = &mut opened.session;
    let mut in_order: Vec<Vec<u8>> = all.into_iter().collect();
    in_order.sort_by(|a, b| a.split(|b| *b == b'/').cmp(b.split(|b| *b == b'/')));
    for limit in [1, 2, 3, 7, 50, 10_000] {
        let mut list = List {
            depth: 9,
            limit,
            ..ask::list(ask::selector(".").unwrap())
        };
        let mut got = Vec::new();
        loop {
            let mut stream = session.list(&list).unwrap();
            let page: Vec<_> = stream.by_ref().map(Result::unwrap).collect();
            assert!(page.len() <= limit as usize);
            got.extend(page.into_iter().map(|entry| entry.path.as_bytes().to_vec()));
            match stream.finish().unwrap().completeness {
                Completeness::Complete => break,
                Completeness::Cut { reason, cursor } => {
                    assert_eq!(reason, CutReason::Limit);
                    list.cursor = Some(cursor.unwrap());
                }
            }
        }
        assert_eq!(got, in_order, "pages of {limit}");
    }
}

#[test]
fn a_cursor_of_another_directory_or_with_other_bytes_is_refused() {
    let mut world = world();
    tree(&world, 30);
    let mut opened = world.session();
    let session = &mut opened.session;
    let page = List {
        depth: 9,
        limit: 4,
        ..ask::list(ask::selector("d1").unwrap())
    };
    let mut stream = session.list(&page).unwrap();
    let _: Vec<_> = stream.by_ref().collect();
    let Completeness::Cut {
        cursor: Some(cursor),
        ..
    } = stream.finish().unwrap().completeness
    else {
        panic!("not cut");
    };
    let mut with = |path: &str, cursor: Vec<u8>| {
        let cursor = Some(Bytes::new(cursor).unwrap());
        let list = List {
            cursor,
            ..List {
                depth: 9,
                ..ask::list(ask::selector(path).unwrap())
            }
        };
        session.list(&list).map(drop).map_err(|error| code(&error))
    };
    let good = cursor.as_slice().to_vec();
    assert_eq!(with("d1", good.clone()), Ok(()));
    assert_eq!(with("d2", good.clone()), Err(Code::BadCursor));
    assert_eq!(with("d1", b"".to_vec()), Err(Code::BadCursor));
    assert_eq!(with("d1", good[..10].to_vec()), Err(Code::BadCursor));
    let mut other = good.clone();
    other[0] = 9;
    assert_eq!(with("d1", other), Err(Code::BadCursor));
    std::fs::rename(world.inside().join("d1"), world.inside().join("old")).unwrap();
    std::fs::create_dir(world.inside().join("d1")).unwrap();
    assert_eq!(
        with("d1", good),
        Err(Code::BadCursor),
        "the directory was replaced"
    );
}

#[test]
fn a_listing_has_types_and_details_without_following_links() {
    let mut world = world();
    world.write("file", "1234");
    std::os::unix::fs::symlink("/nowhere", world.inside().join("link")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        world.inside().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let mut opened = world.session();
    let list = List {
        detail: Detail::Full,
        ..ask::list(ask::selector(".").unwrap())
    };
    let entries: Vec<_> = opened
        .session
        .list(&list)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let kinds: Vec<_> = entries.iter().map(|e| e.kind).collect();
    assert_eq!(kinds, [Kind::File, Kind::Link, Kind::Fifo]);
    let details: Vec<_> = entries.iter().map(|e| e.detail.clone().unwrap()).collect();
    assert_eq!(details[0].size, 4);
    assert_eq!(details[1].link.as_ref().unwrap().as_slice(), b"/nowhere");
}

#[test]
fn limits_outside_the_protocol_are_refused_by_name() {
    let mut world = world();
    let mut opened = world.session();
    let session = &mut opened.session;
    let list = || ask::list(ask::selector(".").unwrap());
    for wrong in [
        List { depth: 0, ..list() },
        List { limit: 0, ..list() },
        List {
            limit: LIST_ENTRIES_MAX + 1,
            ..list()
        },
        List {
            limit: SORTED_ENTRIES_MAX + 1,
            order: Order::Newest,
            ..list()
        },
    ] {
        assert_eq!(
            session.list(&wrong).map(drop).map_err(|e| code(&e)),
            Err(Code::OutOfRange)
        );
    }
    let search = || ask::search(ask::selector(".").unwrap(), "x").unwrap();
    for wrong in [
        Search {
            limit: 0,
            ..search()
        },
        Search {
            limit_per_file: 0,
            ..search()
        },
        Search {
            file_bytes_max: u64::MAX,
            ..search()
        },
        Search {
            mode: SearchMode::Content {
                before: 51,
                after: 0,
            },
            ..search()
        },
    ] {
        assert_eq!(
            session.search(&wrong).map(drop).map_err(|e| code(&e)),
            Err(Code::OutOfRange)
        );
    }
}

#[test]
fn glob_finds_what_the_dialect_says() {
    let mut world = world();
    for path in [
        "a.rs",
        "src/b.rs",
        "src/x/c.rs",
        "src/x/c.txt",
        ".github/w/ci.yml",
        "weird[1].rs",
    ] {
        world.write(path, "");
    }
    let mut opened = world.session();
    let mut find = |pattern: &str, below: &str| -> Vec<String> {
        let glob = ask::glob(ask::selector(below).unwrap(), pattern).unwrap();
        let found = opened.session.glob(&glob).unwrap();
        found.map(|e| e.unwrap().path.to_string()).collect()
    };
    assert_eq!(
        find("*.rs", "."),
        ["a.rs", "src/b.rs", "src/x/c.rs", "weird[1].rs"]
    );
    assert_eq!(find("*.rs", "src"), ["src/b.rs", "src/x/c.rs"]);
    assert_eq!(find("src/*.rs", "."), ["src/b.rs"]);
    assert_eq!(find("**/x/*.{rs,txt}", "."), ["src/x/c.rs", "src/x/c.txt"]);
    assert_eq!(find(".github/**/*.yml", "."), [".github/w/ci.yml"]);
    assert_eq!(find("weird\\[1\\].rs", "."), ["weird[1].rs"]);
    assert_eq!(find("x/", "."), ["src/x"]);
    assert!(find("*.RS", ".").is_empty());
}

fn hits(session: &mut Session, search: &Search) -> Vec<(String, u64, u32, String)> {
    let mut file = String::new();
    let mut all = Vec::new();
    for found in session.search(search).unwrap() {
        match found.unwrap() {
            Found::File { path } => file = path.to_string(),
            Found::Line(line) => all.push((
                file.clone(),
                line.number,
                line.column,
                String::from_utf8_lossy(line.text.as_slice()).into_owned(),
            )),
            Found::Count { path, lines } => all.push((path.to_string(), lines, 0, String::new())),
        }
    }
    all
}

fn hit(file: &str, line: u64, column: u32, text: &str) -> (String, u64, u32, String) {
    (file.to_owned(), line, column, text.to_owned())
}

#[test]
fn search_has_literals_regexes_case_words_context_counts_and_globs() {
    let mut world = world();
    world.write("a.txt", "alpha\nbeta needle\ngamma\nNEEDLE x\nneedles\n");
    world.write("b/c.md", "one\r\nneedle.\r\n");
    world.write(".git/objects/x", "needle\n");
    let mut opened = world.session();
    let session = &mut opened.session;
    let plain = |pattern: &str| ask::search(ask::selector(".").unwrap(), pattern).unwrap();
    assert_eq!(
        hits(session, &plain("needle")),
        [
            hit("a.txt", 2, 6, "beta needle"),
            hit("a.txt", 5, 1, "needles"),
            hit("b/c.md", 2, 1, "needle.")
        ]
    );
    let dot = plain("needle.");
    assert_eq!(
        hits(session, &dot),
        [hit("b/c.md", 2, 1, "needle.")],
        "a literal dot"
    );
    let regex = Search {
        syntax: Syntax::Regex,
        ..plain("^n.*s$")
    };
    assert_eq!(hits(session, &regex), [hit("a.txt", 5, 1, "needles")]);
    let any_case = Search {
        case: Case::Insensitive,
        boundaries: Boundaries::Word,
        ..plain("needle")
    };
    assert_eq!(
        hits(session, &any_case),
        [
            hit("a.txt", 2, 6, "beta needle"),
            hit("a.txt", 4, 1, "NEEDLE x"),
            hit("b/c.md", 2, 1, "needle.")
        ]
    );
    let smart = Search {
        case: Case::Smart,
        ..plain("NEEDLE")
    };
    assert_eq!(hits(session, &smart), [hit("a.txt", 4, 1, "NEEDLE x")]);
    let near = Search {
        mode: SearchMode::Content {
            before: 1,
            after: 1,
        },
        ..plain("gamma")
    };
    assert_eq!(
        hits(session, &near),
        [
            hit("a.txt", 2, 0, "beta needle"),
            hit("a.txt", 3, 1, "gamma"),
            hit("a.txt", 4, 0, "NEEDLE x")
        ]
    );
    let count = Search {
        mode: SearchMode::Count,
        ..plain("needle")
    };
    assert_eq!(
        hits(session, &count),
        [hit("a.txt", 2, 0, ""), hit("b/c.md", 1, 0, "")]
    );
    let globs = |glob: &str| Few::new(vec![Bytes::new(glob).unwrap()]).unwrap();
    let only = Search {
        include: globs("*.md"),
        ..plain("needle")
    };
    assert_eq!(hits(session, &only), [hit("b/c.md", 2, 1, "needle.")]);
    let without = Search {
        passing: Passing {
            exclude: globs("b/"),
            ..Passing::usual()
        },
        ..plain("needle")
    };
    assert_eq!(hits(session, &without).len(), 2);
    let deep = Search {
        passing: Passing::nothing(),
        ..plain("needle")
    };
    assert_eq!(hits(session, &deep).len(), 4);
    let one = Search {
        ..ask::search(ask::selector("b/c.md").unwrap(), "needle").unwrap()
    };
    assert_eq!(
        hits(session, &one),
        [hit("b/c.md", 2, 1, "needle.")],
        "one file"
    );
}

#[test]
fn what_a_search_passes_over_is_counted_by_reason() {
    let mut world = world();
    world.write("text", "needle\n");
    world.write("binary", b"needle\0needle\n");
    world.write("large", "needle\n".repeat(1000));
    world.write(".env", "needle\n");
    world.write("secret.txt", "needle\n");
    world.write(".git/x", "needle\n");
    world.write("skip/x", "needle\n");
    std::os::unix::fs::symlink("text", world.inside().join("link")).unwrap();
    let mut opened = world.session_with(|order, _| {
        order.hide("no secrets", "", portcullis_tests::anywhere("secret.txt"))
    });
    let search = Search {
        file_bytes_max: 100,
        passing: Passing {
            exclude: Few::new(vec![Bytes::new("skip").unwrap()]).unwrap(),
            ..Passing::usual()
        },
        ..ask::search(ask::selector(".").unwrap(), "needle").unwrap()
    };
    let mut stream = opened.session.search(&search).unwrap();
    let found = stream.by_ref().count();
    let done = stream.finish().unwrap();
    let statistics = done.statistics;
    assert_eq!(done.completeness, Completeness::Complete);
    assert!(found >= 2, "the text file's name and line");
    assert_eq!(statistics.binary, 1);
    assert_eq!(statistics.too_large, 1);
    assert_eq!(statistics.denied, 1, ".env by a built-in denial");
    assert_eq!(statistics.version_control, 1);
    assert_eq!(statistics.excluded, 1);
    assert_eq!(statistics.not_regular, 1);
    assert_eq!(
        statistics.files, 2,
        "text and binary; the hidden one is in no number"
    );
}

#[test]
fn a_search_that_is_cut_says_why_and_long_lines_are_shown_around_the_match() {
    let mut world = world();
    world.write("many", "needle\n".repeat(500));
    world.write(
        "long",
        format!("{}needle{}\n", "a".repeat(5000), "b".repeat(5000)),
    );
    let mut opened = world.session();
    let session = &mut opened.session;
    let plain = |path: &str| ask::search(ask::selector(path).unwrap(), "needle").unwrap();
    let mut stream = session
        .search(&Search {
            limit: 10,
            ..plain(".")
        })
        .unwrap();
    let lines = stream
        .by_ref()
        .filter(|found| matches!(found.as_ref().unwrap(), Found::Line(_)))
        .count();
    assert_eq!(lines, 10);
    let completeness = stream.finish().unwrap().completeness;
    assert!(matches!(
        completeness,
        Completeness::Cut {
            reason: CutReason::Limit,
            ..
        }
    ));
    let mut stream = session
        .search(&Search {
            limit_per_file: 3,
            ..plain("many")
        })
        .unwrap();
    assert_eq!(stream.by_ref().count(), 4);
    assert_eq!(stream.finish().unwrap().statistics.over_file_limit, 497);
    let found: Vec<_> = session
        .search(&plain("long"))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let Found::Line(line) = &found[1] else {
        panic!("no line")
    };
    assert_eq!(line.column, 5001);
    assert!(String::from_utf8_lossy(line.text.as_slice()).contains("needle"));
    assert_eq!(
        line.cut_before as usize + line.text.as_slice().len() + line.cut_after as usize,
        10_006
    );
}

#[test]
fn a_pattern_the_engine_cannot_do_names_the_construct() {
    let mut world = world();
    let mut opened = world.session();
    let mut refused = |pattern: &str| {
        let search = Search {
            syntax: Syntax::Regex,
            ..ask::search(ask::selector(".").unwrap(), pattern).unwrap()
        };
        let error = opened.session.search(&search).map(drop).unwrap_err();
        assert_eq!(code(&error), Code::BadPattern);
        error
            .refusal()
            .unwrap()
            .note
            .clone()
            .unwrap()
            .as_str()
            .to_owned()
    };
    assert!(refused("foo(?!bar)").contains("look-ahead"));
    assert!(refused("(").contains("unclosed group"));
    assert!(refused("(a)\\1").contains("back-reference"));
    assert!(refused(&"(".repeat(200)).contains("engine"));
}

#[test]
fn whoami_shows_roots_grants_and_visible_denials_and_no_hidden_ones() {
    let mut world = world();
    let mut opened = world.session_with(|order, _| {
        order.hide(
            "ghosts",
            "not for workers",
            portcullis_tests::anywhere("ghost-pattern"),
        )
    });
    let who = opened.session.whoami().unwrap();
    assert_eq!(who.owner.as_str(), "tester");
    assert_eq!(who.roots.as_slice().len(), 1);
    assert_eq!(who.grants.as_slice().len(), 1);
    assert!(
        who.denials
            .as_slice()
            .iter()
            .any(|d| d.rule.name.as_str() == "builtin:env")
    );
    assert!(!format!("{who:?}").contains("ghost"));
}

#[test]
fn an_expired_session_is_refused_whatever_it_asks() {
    let mut world = world();
    world.write("f", "x");
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let past = u64::try_from(now.as_millis()).unwrap() - 1;
    let mut expired = world.session_with(|order, _| order.expires_ms(past));
    assert_eq!(read(&mut expired.session, "f"), Err(Code::Expired));
    assert_eq!(read(&mut expired.session, "missing"), Err(Code::Expired));
    let mut alive = world.session_with(|order, _| order.expires_ms(past + 3_600_000));
    assert_eq!(read(&mut alive.session, "f").unwrap(), b"x");
}

#[test]
fn a_session_within_another_never_has_more() {
    let mut world = world();
    world.write("a/x", "a");
    world.write("b/x", "b");
    let outer = world.session_with(|order, _| {
        order.deny(
            "outer rule",
            "",
            portcullis_protocol::verb::VerbSet::READING,
            portcullis_tests::anywhere("x2"),
        )
    });
    let root = outer.root;
    let order = portcullis_client::MintOrder::new("tester")
        .root(root, None)
        .grant(
            root,
            portcullis_tests::rel("a"),
            portcullis_protocol::verb::VerbSet::READING,
        )
        .within(outer.id);
    let (minted, mut inner) = world.control.mint(&order).unwrap();
    assert_eq!(read(&mut inner, "a/x").unwrap(), b"a");
    assert_eq!(read(&mut inner, "b/x"), Err(Code::NotGranted));
    assert_eq!(
        read(&mut inner, "a/x2"),
        Err(Code::Denied),
        "denials only grow"
    );
    let wider = portcullis_client::MintOrder::new("tester")
        .root(root, None)
        .grant(
            root,
            portcullis_tests::rel(""),
            portcullis_protocol::verb::VerbSet::READING,
        )
        .within(minted.session);
    let (_, mut widened) = world.control.mint(&wider).unwrap();
    assert_eq!(
        read(&mut widened, "b/x"),
        Err(Code::NotGranted),
        "asking for more gives no more"
    );
    let stranger = portcullis_client::MintOrder::new("someone else")
        .root(root, None)
        .grant(
            root,
            portcullis_tests::rel(""),
            portcullis_protocol::verb::VerbSet::READING,
        )
        .within(outer.id);
    let (_, mut strange) = world.control.mint(&stranger).unwrap();
    assert!(
        read(&mut strange, "a/x").is_err(),
        "another owner leaves nothing"
    );
}

/// Threads of the gate of a session.
fn threads(world: &mut World, opened: &Opened) -> usize {
    let report = world.control.status().unwrap();
    let mut sessions = report.sessions.as_slice().iter();
    let gate = sessions.find(|s| s.session == opened.id).unwrap().gate;
    std::fs::read_dir(format!("/proc/{gate}/task"))
        .unwrap()
        .count()
}

#[test]
fn the_names_of_a_small_directory_are_told_by_the_first_thread() {
    const FEW: usize = 1024;
    let mut world = world();
    for (directory, many) in [("few", FEW), ("more", FEW + 1)] {
        for n in 0..many {
            world.write(format!("{directory}/{}{n}", n % 7), "");
        }
    }
    let mut names = |directory: &str, lists: &[fn(&mut List)]| {
        let mut opened = world.session();
        let mut answers = Vec::new();
        for change in lists {
            let mut list = ask::list(ask::selector(directory).unwrap());
            change(&mut list);
            let mut stream = opened.session.list(&list).unwrap();
            let entries: Vec<_> = stream.by_ref().map(Result::unwrap).collect();
            answers.push((entries, stream.finish().unwrap()));
        }
        (answers, threads(&mut world, &opened))
    };
    let (few, threads) = names("few", &[|_| {}, |list| list.limit = 10, |_| {}]);
    assert_eq!(threads, 1);
    assert_eq!(few[0].0.len(), FEW);
    assert!(
        few[0]
            .0
            .is_sorted_by(|a, b| a.path.as_bytes() < b.path.as_bytes())
    );
    assert_eq!(few[0].1.completeness, Completeness::Complete);
    assert_eq!((&few[1].0[..], &few[2]), (&few[0].0[..10], &few[0]));
    // What is told by another thread is the same.
    let (deep, threads) = names("few", &[|list| list.depth = 2]);
    assert!(threads > 1);
    assert_eq!(deep[0], few[0]);
    // One name more, and it is told by another: whole, and once.
    let (more, threads) = names("more", &[|_| {}]);
    assert!(threads > 1);
    let (entries, done) = &more[0];
    assert_eq!(entries.len(), FEW + 1);
    assert!(entries.is_sorted_by(|a, b| a.path.as_bytes() < b.path.as_bytes()));
    assert_eq!(done.completeness, Completeness::Complete);
    let counted = (done.statistics.directories, done.statistics.sent);
    assert_eq!(counted, (1, u64::try_from(FEW + 1).unwrap()));
}
