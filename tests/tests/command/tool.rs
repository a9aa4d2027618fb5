//! `portcullis-tool` in a worker's shell.

use crate::place::{Place, Said};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

fn ask(place: &Place, script: &str) -> Said {
    place.script(&["--quiet"], script)
}

#[test]
fn listing_reading_and_searching() {
    let place = Place::new();
    let said = ask(&place, "portcullis-tool list --depth 2");
    assert_eq!(
        said.lines(),
        [
            ".env",
            "README.md",
            "hidden.txt",
            "src/",
            "src/lib.rs",
            "src/main.rs"
        ]
    );
    let said = ask(&place, "portcullis-tool read README.md");
    assert_eq!(said.out, "# title\nsecond line\nthird line\n");
    let said = ask(
        &place,
        "portcullis-tool read README.md --lines 2:3 --number",
    );
    assert_eq!(said.out, "     2\tsecond line\n     3\tthird line\n");
    let said = ask(&place, "portcullis-tool read README.md --bytes 2:5");
    assert_eq!(said.out, "title");
    let said = ask(&place, "portcullis-tool search needle src -C 1 -g 'main.*'");
    assert_eq!(
        said.lines(),
        [
            "src/main.rs-1-fn main() {",
            "src/main.rs:2:    needle();",
            "src/main.rs-3-}",
        ]
    );
    let said = ask(&place, "portcullis-tool glob '*.rs'");
    assert_eq!(said.lines(), ["src/lib.rs", "src/main.rs"]);
    let said = ask(&place, "portcullis-tool stat src README.md");
    // Each with its stamp, which a change may name.
    assert_eq!(said.lines().len(), 4);
    assert!(said.lines()[0].starts_with("directory "), "{said:?}");
    assert!(said.lines()[1].starts_with("stamp "), "{said:?}");
}

#[test]
fn exit_codes_say_how_it_went() {
    let place = Place::new();
    for (tool, code) in [
        ("whoami", 0),
        ("search needle", 0),
        ("search nothing-like-it", 1),
        ("read none", 1),
        ("read src", 1),
        ("list README.md", 1),
        ("search -e '('", 1),
        ("list --cursor 00", 1),
        ("why read .env", 0),
        ("read .env", 77),
        ("list ..", 77),
        ("read /etc/passwd", 77),
        ("read x --root none", 77),
        ("read none .env README.md", 77),
        ("read", 2),
        ("no-such-verb", 2),
        ("read --lines 3:1 README.md", 2),
        ("list --limit 0", 2),
    ] {
        let script =
            format!("portcullis-tool {tool} >out 2>err; code=$?; cat out err >&2; exit $code");
        let said = ask(&place, &script);
        assert_eq!(said.code, code, "{tool}: {said:?}");
        let json = ask(
            &place,
            &format!("portcullis-tool {tool} --json 2>/dev/null"),
        );
        assert_eq!(json.code, code, "{tool}: {json:?}");
        if code != 2 && tool != "search nothing-like-it" {
            assert!(!json.documents().is_empty(), "{tool}: {json:?}");
        }
    }
}

#[test]
fn without_a_session_it_is_78_and_says_so() {
    let place = Place::new();
    for value in [None, Some(""), Some("x"), Some("999"), Some("0"), Some("1")] {
        let mut tool = place.command("portcullis-tool");
        tool.arg("whoami").env_remove("PORTCULLIS_SOCKET_FD");
        tool.envs(value.map(|value| ("PORTCULLIS_SOCKET_FD", value)));
        let said = Said::of(&mut tool);
        assert_eq!(
            (said.code, said.out.as_str()),
            (78, ""),
            "{value:?} {said:?}"
        );
        assert!(
            said.err
                .starts_with("portcullis-tool: nothing was changed: "),
            "{value:?} {said:?}"
        );
        assert!(said.err.contains("PORTCULLIS_SOCKET_FD"), "{said:?}");
    }
}

#[test]
fn every_line_of_json_is_a_document_with_its_kind() {
    let place = Place::new();
    let kinds = |tool: &str| -> Vec<String> {
        let said = ask(&place, &format!("portcullis-tool --json {tool}"));
        assert_eq!(said.err, "", "{tool}");
        said.documents()
            .iter()
            .map(|document| {
                assert_eq!(document["portcullis"], 1, "{document}");
                document["kind"].as_str().unwrap_or_default().to_owned()
            })
            .collect()
    };
    assert_eq!(kinds("whoami"), ["whoami"]);
    assert_eq!(kinds("stat README.md none"), ["stat", "error"]);
    assert_eq!(kinds("list src"), ["entry", "entry", "summary"]);
    assert_eq!(kinds("glob '*.rs'"), ["entry", "entry", "summary"]);
    assert_eq!(
        kinds("search needle"),
        ["match_line", "match_line", "summary"]
    );
    assert_eq!(kinds("read README.md .env"), ["file", "error", "summary"]);
    assert_eq!(kinds("why read .env"), ["why"]);
    let said = ask(&place, "portcullis-tool read .env --json");
    let error = &said.documents()[0];
    assert_eq!(error["code"], "denied", "{said:?}");
    assert_eq!(error["changed"], "unchanged", "{said:?}");
}

#[test]
fn a_name_that_was_shown_can_be_given_back() {
    let place = Place::new();
    let raw = b"repo/odd/bad-\xff\n\\x\x1b[31m \xe2\x80\xae";
    place.write(OsStr::from_bytes(raw), "odd content\n");
    let said = ask(
        &place,
        "shown=$(portcullis-tool list odd); echo \"$shown\"
         portcullis-tool read --escaped \"$shown\"
         portcullis-tool stat --escaped \"$shown\"
         portcullis-tool read --escaped \"$shown\" README.md --head 1
         portcullis-tool why --escaped read \"$shown\"
         portcullis-tool read --escaped 'bad\\q'; echo $?",
    );
    let shown = "odd/bad-\\xff\\x0a\\\\x\\x1b[31m \\xe2\\x80\\xae";
    let lines = said.lines();
    assert_eq!(lines[..2], [shown, "odd content"], "{said:?}");
    assert!(lines[2].ends_with(shown), "{said:?}");
    assert!(lines[3].starts_with("stamp "), "{said:?}");
    assert_eq!(lines[4], format!("==> {shown} <=="), "not escaped twice");
    assert!(
        said.out.contains(&format!("allowed: read of `{shown}`")),
        "{said:?}"
    );
    assert_eq!(lines.last(), Some(&"1"), "{said:?}");
    assert!(!said.raw.contains(&0x1b), "no terminal is confused");
}

#[test]
fn names_for_programs_are_raw_and_end_in_zero() {
    let place = Place::new();
    let raw = b"repo/odd/a\xff\nb";
    place.write(OsStr::from_bytes(raw), "odd\n");
    place.write("repo/odd/plain", "plain\n");
    let said = ask(&place, "portcullis-tool list odd -0");
    assert_eq!(said.raw, b"odd/a\xff\nb\0odd/plain\0", "{said:?}");
    let said = ask(
        &place,
        "portcullis-tool glob '*' odd -0 | xargs -0 -n1 portcullis-tool read",
    );
    assert_eq!(said.out, "odd\nplain\n", "{said:?}");
}

#[test]
fn a_cut_listing_names_a_cursor_that_goes_on() {
    let place = Place::new();
    for n in 0..25 {
        place.write(format!("repo/many/{n:02}"), "");
    }
    let script = "list() { portcullis-tool list many --limit 10 \"$@\" 2>err; }
        list; for n in {1..9}; do
            cursor=$(sed -n 's/.*--cursor \\([0-9a-f]*\\)$/\\1/p' err)
            test -n \"$cursor\" || break; echo; list --cursor $cursor
        done; cat err";
    let said = ask(&place, script);
    let pages: Vec<usize> = said
        .out
        .split("\n\n")
        .map(|page| page.lines().count())
        .collect();
    assert_eq!(pages, [10, 10, 5], "{said:?}");
    let names: Vec<&str> = said
        .lines()
        .into_iter()
        .filter(|line| !line.is_empty())
        .collect();
    let expected: Vec<String> = (0..25).map(|n| format!("many/{n:02}")).collect();
    assert_eq!(names, expected);
}

#[test]
fn a_search_that_is_cut_says_so() {
    let place = Place::new();
    place.write("repo/many", "match\n".repeat(100));
    let said = ask(&place, "portcullis-tool search match --limit 10");
    assert_eq!(said.lines().len(), 10);
    assert!(said.err.contains("incomplete: limit reached"), "{said:?}");
    let said = ask(&place, "portcullis-tool search match many --max-count 10");
    assert_eq!(said.lines().len(), 10);
    assert!(
        said.err.contains("left out by the limit on one file"),
        "{said:?}"
    );
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let place = Place::new();
    place.write("repo/big", "0123456789abcdef".repeat(1 << 18));
    for tool in [
        "read big",
        "read big --number",
        "search 0 big -C 3",
        "list",
        "whoami",
        "list --json",
    ] {
        let script =
            format!("portcullis-tool {tool} | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}");
        let said = ask(&place, &script);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{tool} {said:?}");
    }
    let said = ask(
        &place,
        "portcullis-tool read big | true; portcullis-tool read README.md --head 1",
    );
    assert_eq!(said.out, "# title\n", "the session goes on: {said:?}");
}

#[test]
fn output_that_cannot_be_written_is_no_success() {
    let place = Place::new();
    // A worker cannot open /dev/full, so it gets it from the caller, relayed.
    let mut run = place.worker(
        &["--workspace", "repo", "--quiet"],
        &["portcullis-tool", "read", "README.md"],
    );
    run.stdout(
        std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap(),
    );
    run.stderr(std::process::Stdio::piped());
    let said = Said::by(run.spawn().unwrap());
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.err.contains("not all output was passed on"),
        "{said:?}"
    );
}

#[test]
fn digests_and_surveys_are_said_beside_the_content() {
    let place = Place::new();
    let said = ask(&place, "portcullis-tool read README.md --digest --head 1");
    assert_eq!(said.out, "# title\n");
    let content = std::fs::read(place.at("repo/README.md")).unwrap();
    let digest = blake3::hash(&content).to_hex();
    assert!(said.err.contains(&format!("blake3 {digest}")), "{said:?}");
    assert!(said.err.contains("3 lines (3 LF, 0 CRLF"), "{said:?}");
}

#[test]
fn why_explains_to_a_worker_without_telling_what_is_hidden() {
    let place = Place::new();
    let said = place.script(
        &["--quiet", "--hide", "hidden.txt"],
        "portcullis-tool why read README.md; portcullis-tool why read .env
         portcullis-tool why read hidden.txt; portcullis-tool why read /etc/passwd",
    );
    assert_eq!(said.err, "");
    let lines = said.lines();
    assert_eq!(
        lines[0],
        "allowed: read of `README.md`, which is /workspace/README.md, by the grant of stat, read, \
         list, glob, search, write, edit, mkdir, move, delete, delete-tree, chmod, link on \
         /workspace"
    );
    assert!(lines[1].starts_with("read `.env` refused: a denial covers it (rule "));
    assert_eq!(
        lines[2],
        "read `hidden.txt` refused: there is nothing of that name"
    );
    assert!(lines[3].contains("beneath no root of this session"));
}
