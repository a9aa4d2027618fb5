//! What a worker is told when it is refused: whether anything changed, what, by which rule, and
//! what would allow it; and no host path it did not write.

use crate::place::Place;
use rustix::fs::{CWD, FileType, Mode};
use std::os::unix::fs::symlink;

/// One refused request: its code and the one line that the tool said.
fn refused(place: &Place, options: &[&str], tool: &str) -> (i32, String) {
    let script = format!("portcullis-tool {tool} 2>&1 >/dev/null; echo code $?");
    let said = place.script(options, &script);
    assert_eq!(said.code, 0, "{said:?}");
    let lines = said.lines();
    let [line, code] = lines[..] else {
        panic!("not one line and a code: {said:?}");
    };
    assert!(!said.out.contains(&place.host()), "{said:?}");
    assert!(!said.out.contains("outside-value"), "{said:?}");
    let code = code.strip_prefix("code ").unwrap().parse().unwrap();
    (code, line.to_owned())
}

#[test]
fn a_path_outside_is_an_escape_and_the_remedy_is_named() {
    let place = Place::new();
    assert_eq!(
        refused(&place, &[], "read ../outside/secret"),
        (
            77,
            "portcullis-tool: nothing was changed: read `../outside/secret` refused: it leads out \
             of the root; the runtime can seal the directory it leads to as another root"
                .to_owned()
        )
    );
    let (code, line) = refused(&place, &[], "read /etc/passwd");
    assert_eq!(code, 77);
    assert_eq!(
        line,
        "portcullis-tool: nothing was changed: read `/etc/passwd` refused: the path lies beneath \
         no root of this session; `whoami` lists the roots; the runtime can grant another"
    );
}

#[test]
fn a_link_out_is_refused_without_saying_where_it_leads() {
    let place = Place::new();
    symlink(place.at("outside/secret"), place.at("repo/absolute")).unwrap();
    symlink("../outside/secret", place.at("repo/relative")).unwrap();
    symlink("../outside", place.at("repo/directory")).unwrap();
    for path in ["absolute", "relative", "directory/secret"] {
        let (code, line) = refused(&place, &[], &format!("read {path}"));
        assert_eq!(code, 77, "{line}");
        assert!(
            line.starts_with(&format!(
                "portcullis-tool: nothing was changed: read `{path}` refused: it leads out of the \
                 root"
            )),
            "{line}"
        );
    }
    symlink("README.md", place.at("repo/inside")).unwrap();
    let said = place.script(&["--quiet"], "portcullis-tool read inside --head 1");
    assert_eq!((said.code, said.out.as_str()), (0, "# title\n"));
}

#[test]
fn a_fifo_is_refused_at_once_whether_it_is_named_or_met() {
    let place = Place::new();
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, place.at("repo/pipe"), FileType::Fifo, mode, 0).unwrap();
    for (verb, more) in [("read", ""), ("search needle", "")] {
        let (code, line) = refused(&place, &[], &format!("{verb} pipe{more}"));
        assert_eq!(code, 1, "{line}");
        assert!(
            line.ends_with("it is a FIFO, socket or device, and those are never opened"),
            "{line}"
        );
    }
    let said = place.script(&[], "portcullis-tool search needle -l");
    assert_eq!(said.lines(), ["src/lib.rs", "src/main.rs"], "{said:?}");
    assert!(said.err.contains("1 links or special files"), "{said:?}");
}

#[test]
fn a_denied_file_is_seen_and_its_rule_is_named() {
    let place = Place::new();
    let (code, line) = refused(&place, &[], "read .env");
    assert_eq!(code, 77);
    assert!(
        line.starts_with(
            "portcullis-tool: nothing was changed: read `.env` refused: a denial covers it (rule \
             builtin:"
        ),
        "{line}"
    );
    assert!(
        line.ends_with("; the runtime can make an exception to the rule by its name"),
        "{line}"
    );
    let (code, line) = refused(&place, &["--deny", "src/*.rs"], "read src/lib.rs");
    assert_eq!(code, 77);
    assert!(line.contains("(rule --deny src/*.rs: "), "{line}");
    let said = place.script(&["--quiet"], "portcullis-tool list");
    assert!(said.lines().contains(&".env"), "{said:?}");
    let said = place.script(&[], "portcullis-tool search --hidden KEY");
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
    assert!(said.err.contains("1 denied by a rule"), "{said:?}");
}

#[test]
fn a_hidden_file_is_told_like_one_that_is_not_there() {
    let place = Place::new();
    let options = ["--hide", "hidden.txt"];
    for tool in ["read NAME", "stat NAME", "list NAME", "search value NAME"] {
        let told = |name| refused(&place, &options, &tool.replace("NAME", name));
        let (code, hidden) = told("hidden.txt");
        let (absent_code, absent) = told("absentxtxt");
        assert_eq!(code, absent_code);
        assert_eq!(hidden.replace("hidden.txt", "absentxtxt"), absent);
        assert!(
            hidden.ends_with("there is nothing of that name"),
            "{hidden}"
        );
    }
    let said = place.script(
        &options,
        "portcullis-tool list; portcullis-tool search --hidden hidden-value; portcullis-tool whoami",
    );
    assert!(!said.out.contains("hidden.txt"), "{said:?}");
    assert!(!said.out.contains("hidden-value"), "{said:?}");
    assert!(
        said.err
            .starts_with("portcullis-tool: passed over: 1 denied by a rule\n"),
        "the other one is not counted: {said:?}"
    );
}

#[test]
fn a_refused_file_does_not_keep_the_others_from_being_read() {
    let place = Place::new();
    let said = place.script(
        &["--quiet"],
        "portcullis-tool read README.md .env none src/lib.rs --head 1; echo code $?",
    );
    assert_eq!(
        said.out,
        "==> README.md <==\n# title\n\n==> src/lib.rs <==\npub fn needle() {}\ncode 77\n"
    );
    assert_eq!(said.err.lines().count(), 2, "{said:?}");
}
