//! What a run says at its end.

use crate::place::{Place, Said};
use serde_json::{Value, json};

#[test]
fn the_summary_counts_what_was_done_and_names_what_was_refused() {
    let place = Place::new();
    let said = place.script(
        &["--hide", "hidden.txt"],
        "portcullis-tool read README.md >/dev/null
         portcullis-tool stat src >/dev/null
         portcullis-tool list >/dev/null
         portcullis-tool search needle src >/dev/null
         for n in 1 2 3; do portcullis-tool read .env 2>/dev/null; done
         portcullis-tool read ../x 2>/dev/null
         portcullis-tool read hidden.txt 2>/dev/null
         exit 5",
    );
    assert_eq!(said.code, 5);
    let lines: Vec<&str> = said.err.lines().collect();
    assert!(
        lines[0].starts_with(
            "portcullis: nothing was changed; 9 requests (1 stat, 6 read, 1 list, 1 search), "
        ),
        "{said:?}"
    );
    assert!(lines[0].ends_with(", 5 refused"), "{said:?}");
    assert_eq!(
        lines[1..],
        [
            "portcullis: 3 times: read `.env` refused: a denial covers it (rule builtin:env; to \
             allow it: --except builtin:env)",
            "portcullis: read `../x` refused: it leads out of the root (to allow it: --read its \
             directory)",
            "portcullis: read `hidden.txt` refused: there is nothing of that name",
        ]
    );
    assert!(!said.err.contains("secret-value"));
}

#[test]
fn a_run_that_asked_nothing_says_that_nothing_was_changed() {
    let place = Place::new();
    let said = place.script(&[], "true");
    assert_eq!(
        said.err,
        "portcullis: nothing was changed; 0 requests, 0 bytes of content, 0 refused\n"
    );
}

#[test]
fn refusals_that_were_not_kept_are_counted() {
    let place = Place::new();
    let said = place.script(
        &["--json"],
        "portcullis-tool stat $(seq 1 100 | sed s/^/none-/) 2>/dev/null; true",
    );
    let document = said.document();
    assert_eq!(document["did"]["refused"], 100);
    assert_eq!(document["refusals"].as_array().unwrap().len(), 64);
    assert_eq!(document["refusals_left_out"], 36);
}

#[test]
fn the_last_line_is_the_summary_in_json_whatever_the_command_wrote() {
    let place = Place::new();
    let said = place.script(
        &["--json"],
        "portcullis-tool read README.md src/lib.rs --json > /dev/null
         portcullis-tool read .env 2>/dev/null; printf 'no end of line' >&2; exit 3",
    );
    let document = said.document();
    assert_eq!(said.code, 3);
    assert_eq!(document["version"], 1);
    assert_eq!(document["exit_code"], 3);
    assert_eq!(document["changed"], "unchanged");
    assert_eq!(document["ended"], "worker_left");
    assert_eq!(document["did"]["reads"], 3);
    assert_eq!(document["did"]["refused"], 1);
    assert_eq!(document["refusals"][0]["code"], "denied");
    assert_eq!(document["refusals"][0]["object"], ".env");
    assert_eq!(document["roots"][0]["label"], "workspace");
    assert_eq!(document["troubles"], json!([]));
    assert_eq!(document["gate"]["seccomp_mode"], 2);
    let gate = &document["gate"];
    assert_eq!(gate["probes_made"], gate["probes_refused"]);
    let names = |list: &str| -> Vec<Value> {
        let list = document[list].as_array().unwrap();
        list.iter().map(|one| one["name"].clone()).collect()
    };
    assert!(names("boundaries").contains(&json!("network")));
    assert!(names("gaps").contains(&json!("runtime-readable")));
}

#[test]
fn an_error_is_a_document_too() {
    let place = Place::new();
    let said = Said::of(&mut place.worker(&["--workspace", "none", "--json"], &["true"]));
    let document = said.document();
    assert_eq!(document["exit_code"], 125);
    assert_eq!(document["changed"], "unchanged");
    assert!(
        document["error"].as_str().unwrap().contains("none"),
        "{said:?}"
    );
}

#[test]
fn quiet_is_silent_and_verbose_says_what_is_enforced() {
    let place = Place::new();
    let said = place.script(&["--quiet"], "portcullis-tool list none 2>/dev/null; true");
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let said = place.script(&["--verbose"], "true");
    for wanted in ["kept out: every network", "not kept out: "] {
        assert!(said.err.contains(wanted), "{said:?}");
    }
}

#[test]
fn a_root_that_the_worker_reads_directly_is_told() {
    let place = Place::new();
    let options = ["--workspace", "repo", "--runtime", "repo/src"];
    let said = Said::of(&mut place.worker(&options, &["true"]));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.err.contains("root `workspace` and the runtime path"),
        "{said:?}"
    );
}
