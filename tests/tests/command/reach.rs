//! Roots and rules from the command line.

use crate::place::{Place, Said};

fn run(place: &Place, options: &[&str], script: &str) -> Said {
    Said::of(&mut place.worker(options, &["bash", "-c", script]))
}

fn with_roots() -> Place {
    let place = Place::new();
    place.write("docs/guide.md", "guide\n");
    place.write("more/docs/other.md", "other\n");
    place.write("repo/services/a/main.c", "int a;\n");
    place.write("repo/services/b/main.c", "int b;\n");
    place
}

#[test]
fn further_roots_are_named_after_their_directories() {
    let place = with_roots();
    let options = [
        "--workspace",
        "repo",
        "--read",
        "docs",
        "--read",
        "more/docs",
        "--quiet",
    ];
    let said = run(
        &place,
        &options,
        "portcullis-tool read /docs/guide.md /docs-2/other.md README.md --head 1; echo $?
         portcullis-tool read other.md --root docs-2
         portcullis-tool whoami | grep '^  /' | head -3 | tr -s ' '",
    );
    assert_eq!(
        said.lines(),
        [
            "==> /docs/guide.md <==",
            "guide",
            "",
            "==> /docs-2/other.md <==",
            "other",
            "",
            "==> README.md <==",
            "# title",
            "0",
            "other",
            " /workspace workspace",
            " /docs external",
            " /docs-2 external",
        ],
        "{said:?}"
    );
}

#[test]
fn a_host_path_beneath_a_root_works_and_one_beside_it_does_not() {
    let place = with_roots();
    let guide = place.at("docs/guide.md");
    let script = format!(
        "portcullis-tool read {}; portcullis-tool read {} 2>/dev/null; echo $?",
        guide.display(),
        place.at("outside/secret").display()
    );
    let options = ["--workspace", "repo", "--read", "docs", "--quiet"];
    let said = run(&place, &options, &script);
    assert_eq!(said.lines(), ["guide", "77"], "{said:?}");
}

#[test]
fn a_workspace_inside_what_is_read_works_and_is_told() {
    let place = with_roots();
    let options = ["--workspace", "repo/services/a", "--read", "repo"];
    let said = run(
        &place,
        &options,
        "portcullis-tool read /repo/services/a/main.c /repo/README.md --head 1 2>&1; echo $?
         portcullis-tool whoami",
    );
    assert!(said.out.contains("int a;\n"), "{said:?}");
    assert!(said.out.contains("# title\n0\n"), "{said:?}");
    assert!(
        said.err.contains(
            "root `workspace` lies in root `repo`: it is /repo/services/a in the session"
        ),
        "{said:?}"
    );
}

#[test]
fn rules_of_a_workspace_inside_what_is_read_still_begin_at_the_workspace() {
    let place = with_roots();
    let options = [
        "--workspace",
        "repo/services/a",
        "--read",
        "repo",
        "--deny",
        "./main.c",
        "--quiet",
    ];
    let said = run(&place, &options, "true");
    assert_eq!(said.code, 125, "{said:?}");
    place.write("repo/services/a/x/y", "denied\n");
    place.write("repo/x/y", "served\n");
    let options = [
        "--workspace",
        "repo/services/a",
        "--read",
        "repo",
        "--deny",
        "x/y",
        "--quiet",
    ];
    let said = run(
        &place,
        &options,
        "portcullis-tool read /repo/services/a/x/y 2>/dev/null; echo $?
         portcullis-tool read /repo/x/y; echo $?",
    );
    assert_eq!(said.lines(), ["77", "served", "0"], "{said:?}");
}

#[test]
fn a_pattern_that_cannot_be_used_is_named_and_nothing_runs() {
    let place = with_roots();
    for option in ["--deny", "--hide"] {
        for pattern in ["[", "a{b", "", "/a", "../a", "a/./b", "a//b"] {
            let options = ["--workspace", "repo", option, pattern];
            let said = run(&place, &options, "echo ran");
            assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
            assert!(
                said.err.starts_with("portcullis: nothing was changed: "),
                "{said:?}"
            );
            assert!(said.err.contains(option), "{said:?}");
            assert!(said.err.contains(pattern), "{said:?}");
        }
    }
}

#[test]
fn an_exception_takes_one_builtin_rule_away() {
    let place = with_roots();
    place.write("repo/id_rsa", "private key\n");
    let said = place.script(&["--json"], "portcullis-tool read .env 2>/dev/null");
    let rule = said.document()["refusals"][0]["rule"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(rule.starts_with("builtin:"));
    let said = place.script(
        &["--quiet", "--except", &rule],
        "portcullis-tool read .env; portcullis-tool read id_rsa 2>/dev/null; echo $?",
    );
    assert_eq!(said.lines(), ["KEY=secret-value", "77"], "{said:?}");
    let said = place.script(&["--except", "builtin:none"], "echo ran");
    assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
    assert!(said.err.contains("builtin:none"), "{said:?}");
}

#[test]
fn rules_cover_what_is_below_and_every_spelling() {
    let place = with_roots();
    let options = ["--deny", "services/a", "--hide", "*.key", "--quiet"];
    place.write("repo/services/b/x.key", "key\n");
    let said = place.script(
        &options,
        "portcullis-tool read services/a/main.c; echo $?
         portcullis-tool read services/b/../a/./main.c; echo $?
         portcullis-tool read services/b/x.key; echo $?
         portcullis-tool list services --depth 3",
    );
    assert_eq!(
        said.lines(),
        [
            "77",
            "77",
            "1",
            "services/a/",
            "services/b/",
            "services/b/main.c"
        ],
        "{said:?}"
    );
}

#[test]
fn the_same_directory_twice_is_one_root() {
    let place = with_roots();
    let options = ["--workspace", "repo", "--read", "repo/../repo", "--json"];
    let said = run(&place, &options, "portcullis-tool read README.md --head 1");
    assert_eq!((said.code, said.out.as_str()), (0, "# title\n"), "{said:?}");
}
