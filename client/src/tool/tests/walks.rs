//! Listings and searches: what their options ask for, and what is said of an answer.

use super::*;
use crate::tool::{find, walk};
use clap::Parser as _;
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::limits::{LIST_ENTRIES_MAX, SORTED_ENTRIES_MAX, WALK_DEPTH_MAX};
use portcullis_protocol::session::{
    Binary, Boundaries, Case, Completeness, Done, DotNames, Entries, Entry, Found, Glob, Ignored,
    List, Matches, MultiLine, Order, Passing, Progress, Search, SearchMode, Sense, Statistics,
    Syntax, TextEncoding, VersionControl,
};

fn question(args: &[&str]) -> (Cli, Place) {
    let cli = Cli::try_parse_from([&["portcullis-tool"], args].concat());
    let cli = cli.unwrap_or_else(|error| panic!("{error}"));
    let place = cli.place();
    (cli, place)
}

fn searching(args: &[&str]) -> Result<Search, String> {
    let (cli, place) = question(&[&["search"], args].concat());
    let Task::Ask(asked) = cli.task else {
        panic!("{args:?}");
    };
    let Question::Search(args) = *asked else {
        panic!("{args:?}");
    };
    find::request(&args, &place).map_err(|error| error.to_string())
}

fn listing(args: &[&str]) -> Result<List, String> {
    let (cli, place) = question(&[&["list"], args].concat());
    let Task::Ask(asked) = cli.task else {
        panic!("{args:?}");
    };
    let Question::List(args) = *asked else {
        panic!("{args:?}");
    };
    walk::listing(&args, &place).map_err(|error| error.to_string())
}

fn globbing(args: &[&str]) -> Glob {
    let (cli, place) = question(&[&["glob"], args].concat());
    let Task::Ask(asked) = cli.task else {
        panic!("{args:?}");
    };
    let Question::Glob(args) = *asked else {
        panic!("{args:?}");
    };
    walk::globbing(&args, &place).unwrap()
}

fn shown<const MAX: usize>(globs: &[Bytes<MAX>]) -> Vec<String> {
    let shown = globs.iter().map(|glob| glob.as_slice().escape_ascii());
    shown.map(|glob| glob.to_string()).collect()
}

#[test]
fn a_plain_search_is_literal_and_passes_over_what_is_usual() {
    let search = searching(&["x"]).unwrap();
    assert_eq!(search, {
        let selector = crate::ask::selector(".").unwrap();
        crate::ask::search(selector, "x").unwrap()
    });
    assert_eq!(search.passing, Passing::usual());
    assert_eq!(search.syntax, Syntax::Literal);
}

#[test]
fn options_of_a_pattern_are_words_and_the_last_of_several_holds() {
    let how = |args: &[&str]| searching(args).unwrap();
    assert_eq!(how(&["-e", "x"]).syntax, Syntax::Regex);
    assert_eq!(how(&["--regexp", "x"]).syntax, Syntax::Regex);
    assert_eq!(how(&["-e", "-F", "x"]).syntax, Syntax::Literal);
    assert_eq!(how(&["-F", "--regex", "x"]).syntax, Syntax::Regex);
    for (args, case) in [
        (&["-i", "x"][..], Case::Insensitive),
        (&["-S", "x"], Case::Smart),
        (&["-i", "-S", "x"], Case::Smart),
        (&["-S", "-i", "x"], Case::Insensitive),
        (&["-iS", "-s", "x"], Case::Sensitive),
    ] {
        assert_eq!(how(args).case, case, "{args:?}");
    }
    assert_eq!(how(&["-w", "x"]).boundaries, Boundaries::Word);
    assert_eq!(how(&["--line-regexp", "x"]).boundaries, Boundaries::Line);
    assert_eq!(how(&["-w", "-x", "x"]).boundaries, Boundaries::Line);
    assert_eq!(how(&["-U", "x"]).multi_line, MultiLine::On);
    let dotall = ["-U", "--multiline-dotall", "x"];
    assert_eq!(how(&dotall).multi_line, MultiLine::Dotall);
    assert_eq!(how(&["-v", "x"]).sense, Sense::Inverted);
    // As hands write it that know others.
    assert_eq!(how(&["-rnH", "--no-heading", "x"]), how(&["x"]));
}

#[test]
fn options_of_files_are_words() {
    let which = |args: &[&str]| searching(args).unwrap();
    let search = which(&["-g", "*.rs", "-g", "!target", "--exclude", "*.log", "x"]);
    assert_eq!(shown(search.include.as_slice()), ["*.rs"]);
    assert_eq!(
        shown(search.passing.exclude.as_slice()),
        ["target", "*.log"]
    );
    let search = which(&["-t", "rust", "-T", "bat", "-T", "cmd", "x"]);
    assert_eq!(shown(search.types.as_slice()), ["*.rs"]);
    assert_eq!(shown(search.types_not.as_slice()), ["*.bat", "*.cmd"]);
    let search = which(&["--type-add", "web:*.html", "--type", "web", "x"]);
    assert_eq!(shown(search.types.as_slice()), ["*.html"]);
    let wrong = searching(&["-t", "rs", "x"]).unwrap_err();
    assert!(
        wrong.contains("--type: `rs` is no file type; nearest: rust"),
        "{wrong}"
    );
    assert_eq!(which(&["-a", "x"]).binary, Binary::Text);
    assert_eq!(which(&["--binary", "x"]).binary, Binary::Search);
    assert_eq!(which(&["-E", "sjis", "x"]).encoding, TextEncoding::ShiftJis);
    assert_eq!(which(&["--max-depth", "3", "x"]).depth, 3);
    assert_eq!(which(&["-d2", "x"]).depth, 2);
    assert_eq!(which(&["x"]).depth, WALK_DEPTH_MAX);
    assert_eq!(
        which(&["--max-filesize", "2M", "x"]).file_bytes_max,
        2 << 20
    );
}

#[test]
fn less_is_passed_over_step_by_step() {
    let passing = |args: &[&str]| {
        let search = searching(args).unwrap();
        let passing = search.passing;
        let names = (passing.ignored, passing.dot_names, passing.version_control);
        (names, search.binary)
    };
    let (skip, take) = (Ignored::Skip, Ignored::Include);
    let (no_dots, dots) = (DotNames::Skip, DotNames::Include);
    let (no_vcs, vcs) = (VersionControl::Skip, VersionControl::Include);
    for (args, names, binary) in [
        (&["x"][..], (skip, no_dots, no_vcs), Binary::Stop),
        (&["--hidden", "x"], (skip, dots, no_vcs), Binary::Stop),
        (&["-.", "x"], (skip, dots, no_vcs), Binary::Stop),
        (&["--no-ignore", "x"], (take, no_dots, no_vcs), Binary::Stop),
        (&["--include-vcs", "x"], (skip, dots, vcs), Binary::Stop),
        (&["-u", "x"], (take, no_dots, no_vcs), Binary::Stop),
        (&["-uu", "x"], (take, dots, vcs), Binary::Stop),
        (&["-uuu", "x"], (take, dots, vcs), Binary::Search),
        (&["-uuua", "x"], (take, dots, vcs), Binary::Text),
    ] {
        assert_eq!(passing(args), (names, binary), "{args:?}");
    }
}

#[test]
fn what_comes_back_is_one_mode() {
    let mode = |args: &[&str]| searching(args).unwrap().mode;
    let content = |before, after| SearchMode::Content { before, after };
    assert_eq!(mode(&["-l", "x"]), SearchMode::Files);
    assert_eq!(mode(&["--files-with-matches", "x"]), SearchMode::Files);
    assert_eq!(
        mode(&["--files-without-match", "x"]),
        SearchMode::FilesWithout
    );
    assert_eq!(mode(&["-c", "x"]), SearchMode::Count);
    assert_eq!(
        mode(&["-C", "2", "--after-context", "1", "x"]),
        content(2, 1)
    );
    let bounded = searching(&[
        "-m1",
        "--limit",
        "7",
        "--timeout",
        "2",
        "--cursor",
        "ab",
        "x",
    ]);
    let bounded = bounded.unwrap();
    assert_eq!(
        (bounded.limit_per_file, bounded.limit, bounded.time_ms),
        (1, 7, 2000)
    );
    assert_eq!(bounded.cursor.unwrap().as_slice(), [0xab]);
    let both = Cli::try_parse_from(["t", "search", "-l", "--files-without-match", "x"]);
    assert!(both.is_err());
    assert!(Cli::try_parse_from(["t", "search"]).is_err(), "no pattern");
}

#[test]
fn a_listing_takes_all_and_a_glob_what_is_usual() {
    let list = |args: &[&str]| listing(args).unwrap();
    assert_eq!(list(&[]).passing, Passing::nothing());
    assert_eq!(list(&["-la"]).passing, Passing::nothing());
    let skips = ["--skip-ignored", "--skip-hidden", "--skip-vcs"];
    assert_eq!(list(&skips).passing, Passing::usual());
    assert_eq!(list(&["--skip-ignored", "-u"]).passing, Passing::nothing());
    assert_eq!((list(&[]).depth, list(&["-R"]).depth), (1, WALK_DEPTH_MAX));
    assert_eq!(globbing(&["*"]).passing, Passing::usual());
    assert_eq!(globbing(&["-uu", "*"]).passing, Passing::nothing());
    assert_eq!(globbing(&["*", "-d", "2"]).depth, 2);
    let excluded = globbing(&["*", "-E", "target"]).passing.exclude;
    assert_eq!(shown(excluded.as_slice()), ["target"]);
}

#[test]
fn types_and_orders_of_listings_are_words() {
    let list = listing(&["-t", "f", "-tl", "--type", "file"]).unwrap();
    assert_eq!(list.kinds.as_slice(), [Kind::File, Kind::Link]);
    for (sort, order, limit) in [
        ("name", Order::Name, LIST_ENTRIES_MAX),
        ("newest", Order::Newest, SORTED_ENTRIES_MAX),
        ("oldest", Order::Oldest, SORTED_ENTRIES_MAX),
    ] {
        let list = listing(&["--sort", sort]).unwrap();
        assert_eq!((list.order, list.limit), (order, limit));
    }
    let wrong = listing(&["--sort", "newest", "--limit", "10001"]);
    assert!(wrong.unwrap_err().contains("at most 10000"));
    assert!(listing(&["--limit", "10001"]).is_ok());
}

fn ended() -> Reply {
    Reply::Done(Done {
        completeness: Completeness::Complete,
        statistics: Statistics::default(),
    })
}

fn entries(names: &[&str]) -> Reply {
    let entry = |name: &&str| Entry {
        path: RelPath::parse(name.as_bytes()).unwrap(),
        kind: Kind::File,
        denied: None,
        detail: None,
    };
    Reply::Entries(Entries {
        start: None,
        entries: names.iter().map(entry).collect(),
    })
}

fn far(files: u64) -> Reply {
    Reply::Progress(Progress {
        directories: 1,
        files,
        bytes: 0,
        sent: 0,
    })
}

fn slow_walk(gate: &mut Gate) {
    let (id, ..) = gate.next();
    for reply in [
        far(1),
        entries(&["a", "b\n"]),
        far(2),
        entries(&["c"]),
        ended(),
    ] {
        gate.send(id, &reply, &[]);
    }
}

#[test]
fn progress_is_in_documents_only_when_it_is_asked_for() {
    let (said, outcome) = tool(&["list"], slow_walk);
    assert_eq!((said.as_str(), outcome), ("a\nb\\x0a\nc\n", Outcome::Done));
    let (said, _) = tool(&["list", "-0"], slow_walk);
    assert_eq!(said, "a\0b\n\0c\0");
    let kinds = |args: &[&str]| -> Vec<String> {
        let (said, _) = tool(args, slow_walk);
        let documents = said.lines().map(|line| {
            let document: Value = serde_json::from_str(line).unwrap();
            document["kind"].as_str().unwrap().to_owned()
        });
        documents.collect()
    };
    assert_eq!(
        kinds(&["list", "--json"]),
        ["entry", "entry", "entry", "summary"]
    );
    assert_eq!(
        kinds(&["list", "--json", "--progress"]),
        ["progress", "entry", "entry", "progress", "entry", "summary"]
    );
}

#[test]
fn a_search_that_finds_nothing_says_so_by_its_exit_code() {
    let (said, outcome) = tool(&["search", "x"], |gate| {
        let (id, ..) = gate.next();
        gate.send(id, &far(9), &[]);
        gate.send(id, &ended(), &[]);
    });
    assert_eq!((said.as_str(), outcome), ("", Outcome::NotDone));
    let (said, outcome) = tool(&["search", "x", "-l0"], |gate| {
        let (id, ..) = gate.next();
        let path = RelPath::parse(b"a").unwrap();
        let found = Matches {
            start: None,
            found: vec![Found::File { path }],
        };
        gate.send(id, &Reply::Matches(found), &[]);
        gate.send(id, &ended(), &[]);
    });
    assert_eq!((said.as_str(), outcome), ("a\0", Outcome::Done));
}
