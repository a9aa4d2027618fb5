//! Denials compare names under folding and normalisation; grants compare bytes.

use portcullis_client::MintOrder;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Statistics;
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::hostile::{All, Arena, every};
use portcullis_tests::{anywhere, os, own};
use std::path::Path;

fn tallies(all: &All) -> [Statistics; 3] {
    [
        all.list.as_ref().unwrap().1.statistics,
        all.glob.as_ref().unwrap().1.statistics,
        all.search.as_ref().unwrap().1.statistics,
    ]
}

/// Spellings of `.env`, `.ssh`, `server.key` and a name with an accent.
const SPELLINGS: &[(&str, &str)] = &[
    (".ENV", "builtin:env"),
    (".Env", "builtin:env"),
    (".eNV.PRODUCTION", "builtin:env"),
    (".e\u{200b}nv", "builtin:env"),
    ("\u{feff}.env", "builtin:env"),
    (".env\u{ad}", "builtin:env"),
    (".en\u{2060}v.local", "builtin:env"),
    (".e\u{fe0f}nv", "builtin:env"),
    (".env\u{e0041}", "builtin:env"),
    (".SSH/config", "builtin:ssh"),
    (".\u{17f}sh/config", "builtin:ssh"),
    (".s\u{200d}sh/config", "builtin:ssh"),
    ("ID_RSA", "builtin:ssh"),
    ("id_r\u{17f}a", "builtin:ssh"),
    ("server.KEY", "builtin:key-files"),
    ("server.\u{212a}ey", "builtin:key-files"),
    (".AWS/Credentials", "builtin:cloud"),
    (".Npmrc", "builtin:packages"),
    ("stra\u{df}e", "mine"),
    ("STRASSE", "mine"),
    ("caf\u{e9}", "mine"),
    ("cafe\u{301}", "mine"),
    ("CAFE\u{301}", "mine"),
    ("CAF\u{c9}", "mine"),
    ("c\u{200b}afe\u{301}", "mine"),
];

#[test]
fn every_spelling_of_a_denied_name_is_denied_existing_or_not() {
    for exists in [true, false] {
        let mut arena = Arena::new(own!("own-gate"));
        arena.directory("d");
        if exists {
            for (name, _) in SPELLINGS {
                arena.write(Path::new("d").join(name), "content\n");
            }
        }
        let mut opened = arena.session_with(|order, _| {
            order
                .deny("mine", "r", VerbSet::CONTENT, anywhere("Stra\u{df}e"))
                .deny("mine", "r", VerbSet::CONTENT, anywhere("caf\u{e9}"))
        });
        let session = &mut opened.session;
        for (name, rule) in SPELLINGS {
            every(session, format!("d/{name}")).content_denied(rule);
            every(session, format!("./d/../d//{name}")).content_denied(rule);
        }
        let whole = every(session, "d");
        assert_eq!(whole.found(), Vec::<&[u8]>::new());
        for (name, rule) in SPELLINGS.iter().filter(|_| exists) {
            let said = whole
                .entry(format!("d/{name}"))
                .denied
                .as_ref()
                .map(|said| said.as_str());
            assert_eq!(said, Some(*rule), "{name:?}");
        }
    }
}

#[test]
fn every_spelling_of_a_hidden_name_is_absent_existing_or_not() {
    let spellings = [
        "private",
        "PRIVATE",
        "Private",
        "priv\u{200b}ate",
        "\u{feff}private",
        "pr\u{ad}ivate",
        "caf\u{e9}",
        "cafe\u{301}",
        "CAF\u{c9}",
        "\u{212a}elvin",
        "kelvin",
        "KELVIN",
    ];
    for exists in [true, false] {
        let mut arena = Arena::new(own!("own-gate"));
        arena.write("d/shown", "content\n");
        if exists {
            for name in spellings {
                arena.write(Path::new("d").join(name).join("inner"), "content\n");
            }
        }
        let mut opened = arena.session_with(|order, _| {
            ["private", "cafe\u{301}", "kelvin"]
                .iter()
                .fold(order, |order, name| order.hide("h", "r", anywhere(name)))
        });
        let session = &mut opened.session;
        for name in spellings {
            every(session, format!("d/{name}")).refused_even_as_link(Code::NotFound);
            every(session, format!("d/{name}/inner")).refused_even_as_link(Code::NotFound);
        }
        let whole = every(session, "d");
        assert_eq!(whole.listed(), [b"d/shown"]);
        assert_eq!(whole.found(), [b"d/shown"]);
        assert_eq!(tallies(&whole).map(|t| t.directories), [1, 1, 1]);
    }
}

#[test]
fn names_that_only_look_alike_are_other_names() {
    let mut arena = Arena::new(own!("own-gate"));
    let names: &[&[u8]] = &[
        b".env ",
        b".env~",
        b".environment",
        b"env",
        b".en",
        b".ssh.",
        b".sshd/config",
        b"id_rsa.pub",
        b"server.key.txt",
        b"serverkey",
        b".env\xff",
        "\u{ff0e}env".as_bytes(),
        b".e nv",
        ".\u{435}nv".as_bytes(),
    ];
    for name in names {
        arena.write(os(name), "content\n");
    }
    let mut opened = arena.session();
    for name in names {
        every(&mut opened.session, name).is_file(name, "content\n");
    }
}

#[test]
fn grants_match_bytes_and_nothing_else() {
    let mut arena = Arena::new(own!("own-gate"));
    for name in ["Src/x", "src/x", "src-evil/x", "s\u{200b}rc/x", "srcx"] {
        arena.write(name, "content\n");
    }
    let inside = arena.inside();
    let root = arena.seal(&inside, "r");
    let order = MintOrder::new("t").root(root, None).grant(
        root,
        RelPath::parse(b"src").unwrap(),
        VerbSet::READING,
    );
    let (_, mut session) = arena.control.mint(&order).unwrap();
    every(&mut session, "src/x").is_file("src/x", "content\n");
    for path in [
        "Src/x",
        "SRC/x",
        "src-evil/x",
        "s\u{200b}rc/x",
        "srcx",
        "src/../Src/x",
        ".",
    ] {
        every(&mut session, path).refused_even_as_link(Code::NotGranted);
    }
}
