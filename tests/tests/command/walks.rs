//! `search`, `glob` and `list` as people know them from other tools: what they pass over, what they
//! say of it, and whose ignore files hold.

use crate::place::{Place, Said};

/// With files that are ignored, and some with a dot.
fn place() -> Place {
    let place = Place::new();
    place.write("repo/.gitignore", "build/\n*.log\n");
    place.write("repo/build/out.rs", "needle\n");
    place.write("repo/run.log", "needle\n");
    place.write("repo/.github/ci.yml", "needle\n");
    place.write("repo/.git/config", "needle\n");
    place
}

fn ask(place: &Place, script: &str) -> Said {
    place.script(&["--quiet"], script)
}

/// The files that a search names.
fn names(said: &Said) -> Vec<&str> {
    said.lines()
}

#[test]
fn what_is_ignored_or_begins_with_a_dot_is_passed_over_and_said() {
    let place = place();
    let said = ask(&place, "portcullis-tool search -l needle");
    assert_eq!(names(&said), ["src/lib.rs", "src/main.rs"], "{said:?}");
    assert!(
        said.err
            .starts_with("portcullis-tool: passed over: 2 ignored, "),
        "{said:?}"
    );
    assert_eq!(said.err.lines().count(), 1, "{said:?}");
    let said = ask(&place, "portcullis-tool search -l -u needle");
    assert_eq!(
        names(&said),
        ["build/out.rs", "run.log", "src/lib.rs", "src/main.rs"],
        "{said:?}"
    );
    let said = ask(&place, "portcullis-tool search -l --hidden needle");
    assert_eq!(
        names(&said),
        [".github/ci.yml", "src/lib.rs", "src/main.rs"],
        "{said:?}"
    );
    let said = ask(&place, "portcullis-tool search -l -uu needle");
    assert_eq!(names(&said).len(), 6, "{said:?}");
    // A listing takes all, unless it is told.
    let list = "portcullis-tool list -R -t f";
    let all = ask(&place, list);
    assert!(names(&all).contains(&".git/config"), "{all:?}");
    let skip = format!("{list} --skip-ignored --skip-hidden --skip-vcs");
    let some = ask(&place, &skip);
    let glob = ask(&place, "portcullis-tool glob '*' -t f");
    assert_eq!(some.out, glob.out);
    assert_eq!(
        names(&glob),
        ["README.md", "hidden.txt", "src/lib.rs", "src/main.rs"]
    );
}

#[test]
fn files_are_chosen_by_type_and_glob_and_an_unknown_type_teaches() {
    let place = place();
    place.write("repo/notes.md", "needle\n");
    let found = |options: &str| {
        let said = ask(
            &place,
            &format!("portcullis-tool search -l needle {options}"),
        );
        names(&said).join(" ")
    };
    assert_eq!(found("-t md"), "notes.md");
    assert_eq!(found("-T rust"), "notes.md");
    assert_eq!(found("-g '!*.md' -g '!main.rs'"), "src/lib.rs");
    assert_eq!(found("--type-add 'my:*.md' -t my"), "notes.md");
    assert_eq!(found("-d 1"), "notes.md");
    let said = ask(&place, "portcullis-tool search needle -t rs");
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("nearest: rust"), "{said:?}");
    // It needs no session.
    let said = Said::of(
        place
            .command("portcullis-tool")
            .args(["search", "--type-list"]),
    );
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.lines().contains(&"rust: *.rs"), "{said:?}");
}

#[test]
fn lines_are_chosen_as_other_tools_do() {
    let place = place();
    place.write("repo/t", "one\ntwo\n  two\nTWO three\n");
    let found = |options: &str| ask(&place, &format!("portcullis-tool search {options} t")).out;
    assert_eq!(found("-v two"), "t:1:one\nt:4:TWO three\n");
    assert_eq!(found("-x two"), "t:2:two\n");
    assert_eq!(
        found("-S two --column"),
        "t:2:1:two\nt:3:3:  two\nt:4:1:TWO three\n"
    );
    assert_eq!(found("-S TWO"), "t:4:TWO three\n");
    assert_eq!(found("-U -e 'one\\ntwo' -c"), "t:2\n");
    assert_eq!(found("--files-without-match four"), "t\n");
    assert_eq!(found("-l0 two"), "t\0");
    place.write(
        "repo/t",
        "caf\u{e9}"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<_>>(),
    );
    assert_eq!(found("-E utf-16le caf\u{e9}"), "t:1:caf\u{e9}\n");
}

#[test]
fn a_search_that_is_cut_goes_on_where_it_was() {
    let place = place();
    for n in 0..10 {
        place.write(format!("repo/many/{n}"), "match\n");
    }
    let script = "search() { portcullis-tool search match many -l --limit 4 \"$@\" 2>err; }
        search; for n in {1..5}; do
            cursor=$(sed -n 's/.*incomplete: limit reached; go on with --cursor \\([0-9a-f]*\\)$/\\1/p' err)
            test -n \"$cursor\" || break; search --cursor $cursor
        done; cat err";
    let said = ask(&place, script);
    let expected: Vec<String> = (0..10).map(|n| format!("many/{n}")).collect();
    assert_eq!(names(&said), expected, "{said:?}");
}

#[test]
fn ignore_files_of_the_user_hold_when_they_are_passed_and_only_then() {
    let place = place();
    place.write("mine", "*.md\n*.txt\n");
    place.write("repo/docs/a.md", "needle\n");
    place.write("repo/docs/.gitignore", "!a.md\n");
    let files = |options: &[&str]| {
        let options = [&["--quiet"], options].concat();
        place.script(&options, "portcullis-tool glob '*' -t f").out
    };
    let all = "README.md\ndocs/a.md\nhidden.txt\nsrc/lib.rs\nsrc/main.rs\n";
    assert_eq!(files(&[]), all);
    // What a root's own ignore file takes in again is there.
    assert_eq!(
        files(&["--ignore-file", "mine"]),
        "docs/a.md\nsrc/lib.rs\nsrc/main.rs\n"
    );
    // The one that git reads, by its own settings.
    let global = |set: &str| {
        let options = ["--workspace", "repo", "--quiet", "--global-ignore"];
        let glob = ["portcullis-tool", "glob", "*", "-t", "f"];
        let mut run = place.worker(&options, &glob);
        run.env("HOME", place.at(set)).env_remove("XDG_CONFIG_HOME");
        run.env_remove("GIT_CONFIG_GLOBAL");
        Said::of(&mut run)
    };
    assert_eq!(global("nowhere").out, all, "none is no error");
    place.write("home/.config/git/ignore", "hidden.*\n");
    let some = all.replace("hidden.txt\n", "");
    assert_eq!(global("home").out, some);
    place.write("home/.gitconfig", "[core]\n\texcludesFile = ~/own\n");
    place.write("home/own", "src/\n");
    assert_eq!(global("home").out, "README.md\ndocs/a.md\nhidden.txt\n");
    // A policy names its own.
    place.write(
        "p.toml",
        "version = 1\nignore-files = [\"mine\"]\n[[root]]\npath = \"repo\"\n\
         [[grant]]\nverbs = [\"reading\"]\n",
    );
    let options = ["--quiet", "--policy", "p.toml"];
    let said = Said::of(&mut place.worker(&options, &["portcullis-tool", "glob", "*.{md,txt}"]));
    assert_eq!(said.out, "docs/a.md\n", "{said:?}");
}

#[test]
fn a_delegated_worker_ignores_what_its_parent_does() {
    let place = place();
    place.write("mine", "README.md\n");
    let options = ["--quiet", "--ignore-file", "mine"];
    let said = place.script(
        &options,
        "portcullis-tool delegate --grant reading:. -- portcullis-tool glob '*.md'; echo $?",
    );
    assert_eq!(said.out, "0\n", "{said:?}");
}
