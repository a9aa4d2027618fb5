//! Rows 82 to 85.

use portcullis_client::ask;
use portcullis_protocol::path::{escape, unescape};
use portcullis_protocol::refusal::Code;
use portcullis_tests::hostile::{Arena, every};
use portcullis_tests::{os, own};

const SCREENSHOT: &str = "Screenshot 2025-01-01 at 1.02.03\u{202f}PM.png";

#[test]
fn bug_82_a_name_with_a_no_break_space_is_opened_as_it_is_written() {
    let mut arena = Arena::new(own!("own-gate"));
    for name in [SCREENSHOT, "a\u{a0}b", "a\u{2009}b", "plain space"] {
        arena.write(name, name);
    }
    let mut opened = arena.session();
    for name in [SCREENSHOT, "a\u{a0}b", "a\u{2009}b", "plain space"] {
        every(&mut opened.session, name).is_file(name, name);
    }
}

#[test]
fn bug_82_a_name_that_looks_like_one_that_exists_is_not_found_with_that_one_suggested() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write(format!("shots/{SCREENSHOT}"), "png\n");
    arena.write("shots/caf\u{e9}", "nfc\n");
    let mut opened = arena.session();
    for (written, exists) in [
        (SCREENSHOT.replace('\u{202f}', " "), SCREENSHOT),
        (SCREENSHOT.replace('\u{202f}', "\u{a0}"), SCREENSHOT),
        ("cafe\u{301}".to_owned(), "caf\u{e9}"),
    ] {
        let all = every(&mut opened.session, format!("shots/{written}"));
        // Never opened in its place: exact first, and then only a word.
        all.refused_even_as_link(Code::NotFound);
        let note = all.read.unwrap_err().note;
        let note = note.as_ref().map_or("", |note| note.as_str());
        let suggestion = format!(
            "a name that looks the same exists: `{}`",
            escape(exists.as_bytes())
        );
        assert_eq!(note, suggestion, "{written:?}");
    }
}

#[test]
fn bug_82_a_suggestion_is_made_only_when_it_is_the_only_one_and_may_be_known() {
    let mut arena = Arena::new(own!("own-gate"));
    for name in [
        "two/a\u{a0}b",
        "two/a\u{202f}b",
        "hidden/g\u{a0}host",
        "none/other",
    ] {
        arena.write(name, "content\n");
    }
    arena.write("secret/a\u{a0}b", "content\n");
    let inside = arena.inside();
    let root = arena.seal(&inside, "r");
    let verbs = portcullis_protocol::verb::VerbSet::of(&[portcullis_protocol::verb::Verb::Read]);
    let order = portcullis_client::MintOrder::new("t")
        .root(root, None)
        .grant(
            root,
            portcullis_tests::rel("two"),
            portcullis_protocol::verb::VerbSet::READING,
        )
        .grant(
            root,
            portcullis_tests::rel("hidden"),
            portcullis_protocol::verb::VerbSet::READING,
        )
        .grant(
            root,
            portcullis_tests::rel("none"),
            portcullis_protocol::verb::VerbSet::READING,
        )
        .grant(root, portcullis_tests::rel("secret"), verbs)
        .hide("h", "r", portcullis_tests::anywhere("*host"));
    let (_, mut session) = arena.control.mint(&order).unwrap();
    // Two that look alike; a hidden one; none; and one whose names the session may not list.
    for path in ["two/a b", "hidden/g host", "none/a b", "secret/a b"] {
        let refused = session.read_file(ask::selector(path).unwrap()).unwrap_err();
        let refusal = refused.refusal().unwrap();
        assert_eq!(
            (refusal.code, &refusal.note),
            (Code::NotFound, &None),
            "{path}"
        );
    }
}

#[test]
fn bug_84_a_name_that_is_not_utf8_is_listed_escaped_and_reached_by_its_bytes() {
    let mut arena = Arena::new(own!("own-gate"));
    let names: [&[u8]; 4] = [b"bad-\xff", b"\xfe\xff", b"half-\xc3", b"lone-\xed\xa0\x80"];
    for name in names {
        arena.write(os(name), "content\n");
    }
    let mut opened = arena.session();
    let listed = every(&mut opened.session, ".");
    for name in names {
        assert!(listed.listed().contains(&name));
        let shown = escape(name);
        assert!(shown.is_ascii(), "{shown}");
        let back = unescape(&shown).unwrap();
        every(&mut opened.session, &back).is_file(name, "content\n");
    }
}

#[test]
fn bug_84_the_tool_takes_the_name_it_shows() {
    let run = |arguments: &[&str]| {
        let mut arena = Arena::new(own!("own-gate"));
        arena.write(os(b"bad-\xff\n"), "reached\n");
        let opened = arena.session();
        let mut tool = std::process::Command::new(own!("own-tool"));
        tool.args(arguments);
        opened.session.attach(&mut tool).unwrap();
        let output = tool.output().unwrap();
        drop(tool);
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (status, shown) = run(&["list"]);
    assert_eq!(status, Some(0));
    assert!(shown.contains("bad-\\xff\\x0a"), "{shown:?}");
    let (status, said) = run(&["read", "--escaped", "bad-\\xff\\x0a"]);
    assert_eq!((status, said.as_str()), (Some(0), "reached\n"));
}

#[test]
fn bug_85_unicode_names_are_ordinary_names() {
    let mut arena = Arena::new(own!("own-gate"));
    let names = [
        "\u{65e5}\u{672c}\u{8a9e}.txt",
        "\u{645}\u{631}\u{62d}\u{628}\u{627}",
        "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}.md",
        "na\u{ef}ve",
        "nai\u{308}ve",
        "\u{3a9}\u{2126}",
        "\u{130}stanbul",
        "\u{fb01}le",
    ];
    for name in names {
        arena.write(name, name);
    }
    let mut opened = arena.session();
    for name in names {
        every(&mut opened.session, name).is_file(name, name);
    }
    assert_eq!(
        every(&mut opened.session, ".").listed().len(),
        names.len(),
        "none is folded away"
    );
}
