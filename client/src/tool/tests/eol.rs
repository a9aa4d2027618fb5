//! Line ends that are asked for: only then, and of text alone.

use super::{answer, asks, changed, created, file, run, tool};
use crate::Session;
use crate::tool::report::Outcome;
use portcullis_protocol::session::{Change, Outcome as End, Source};
use serde_json::Value;

/// The new content of a change, if it came with its request.
fn content<'c>(change: &Change, behind: &'c [u8]) -> Option<&'c [u8]> {
    match change {
        Change::Write(write) => match write.source {
            Source::Inline(span) => span.of(behind),
            Source::Upload(_) => None,
        },
        Change::Edit(_)
        | Change::Mkdir(_)
        | Change::Move(_)
        | Change::Delete(_)
        | Change::Chmod(_)
        | Change::Link(_) => None,
    }
}

#[test]
fn a_file_is_written_with_the_line_ends_that_are_asked_for_and_else_as_it_comes() {
    let (_dir, from) = file(b"a\nb\r\nc");
    let cases: [(&[&str], &[u8]); 3] = [
        (&[], b"a\nb\r\nc"),
        (&["--eol", "lf"], b"a\nb\nc"),
        (&["--eol", "crlf"], b"a\r\nb\r\nc"),
    ];
    for (more, wanted) in cases {
        let args = [&["write", "a", "--from", &from], more].concat();
        asks(&args, move |change, behind| {
            content(change, behind) == Some(wanted)
        });
    }
}

#[test]
fn the_new_files_of_a_patch_have_the_line_ends_that_are_asked_for_and_its_edits_none() {
    let patch = "*** Begin Patch\n*** Add File: n.bat\n+one\n+two\n*** Update File: old\n@@\n-x\n+y\n*** End Patch\n";
    // Carriage returns of the patch itself are none of the file's.
    for text in [patch.to_owned(), patch.replace('\n', "\r\n")] {
        let (_dir, from) = file(text.as_bytes());
        let cases: [(&[&str], &[u8]); 4] = [
            (&[], b"one\ntwo\n"),
            (&["--eol", "keep"], b"one\ntwo\n"),
            (&["--eol", "lf"], b"one\ntwo\n"),
            (&["--eol", "crlf"], b"one\r\ntwo\r\n"),
        ];
        for (more, wanted) in cases {
            let args = [&["patch", &from], more].concat();
            let (_, outcome) = tool(&args, move |gate| {
                let (set, behind) = answer(gate, changed(End::Done, vec![created("n.bat")]));
                let [write, edit] = set.changes.as_slice() else {
                    panic!("{set:?}");
                };
                assert_eq!(content(write, &behind), Some(wanted));
                assert!(matches!(edit, Change::Edit(_)), "{edit:?}");
                let texts = behind.escape_ascii().to_string();
                assert!(texts.contains("y\\n") && !texts.contains("y\\r"), "{texts}");
            });
            assert_eq!(outcome, Outcome::Done);
        }
    }
}

#[test]
fn content_that_is_no_text_has_no_line_ends_and_nothing_is_sent() {
    let (_dir, binary) = file(b"MZ\n\0\0");
    let patch = b"--- /dev/null\n+++ b/n.bin\n@@ -0,0 +1 @@\n+a\0b\n";
    let (_other, patch) = file(patch);
    for args in [
        ["write", "n.bin", "--from", &binary, "--eol", "crlf"].as_slice(),
        &["write", "n.bin", "--from", &binary, "--eol", "lf", "-n"],
        &["patch", &patch, "--eol", "crlf"],
    ] {
        let (ours, _theirs) = portcullis_transport::pair().unwrap();
        let mut session = Session::from_socket(ours).unwrap();
        let (said, outcome) = run(&[&["--json"], args].concat(), &mut session);
        assert_eq!(outcome, Outcome::NotDone, "{args:?}");
        let document: Value = serde_json::from_str(said.trim_end()).unwrap();
        assert_eq!(document["changed"], "unchanged", "{said}");
        let message = document["message"].as_str().unwrap();
        assert!(message.contains("zero byte at offset"), "{message}");
        assert!(message.contains("--eol"), "{message}");
    }
    // As it is, it is content as any other.
    asks(&["write", "n.bin", "--from", &binary], |change, behind| {
        content(change, behind) == Some(b"MZ\n\0\0")
    });
}

#[test]
fn other_line_ends_are_a_wrong_usage_that_names_those_there_are() {
    use clap::Parser as _;
    for (args, known) in [
        (
            ["portcullis-tool", "write", "a", "--eol", "cr"],
            "[possible values: lf, crlf]",
        ),
        (
            ["portcullis-tool", "patch", "p", "--eol", "cr"],
            "[possible values: keep, lf, crlf]",
        ),
    ] {
        let error = super::Cli::try_parse_from(args).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains(known), "{error}");
    }
}
