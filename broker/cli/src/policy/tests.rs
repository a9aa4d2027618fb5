//! Policy files: what they mean, and what is refused with its place.

use super::*;

fn parse(text: &str) -> Result<Policy, String> {
    Policy::parse(text, Path::new("/base"), "p.toml").map_err(|error| error.to_string())
}

const WHOLE: &str = r#"
version = 1
except = ["builtin:env"]
expires = "2h"
deciding = "decider"
durability = "kill"

[[root]]
path = "w"
label = "workspace"

[[root]]
path = "/srv/docs"
label = "docs"
scope = "external"

[[grant]]
verbs = ["reading", "write:new"]

[[grant]]
root = "docs"
path = "./a//b"
verbs = ["read"]
inputs = ["00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"]

[[ask]]
path = "deploy"
verbs = ["writing"]

[[rule]]
name = "keys"
reason = "keys are secret"
effect = "hide"
pattern = "*.key"

[[rule]]
name = "careful"
effect = "ask"
pattern = "src/core/**"

[[rule]]
name = "one"
effect = "deny"
object = "secret"
verbs = ["read"]

[budgets]
operations = 100
read-bytes = 1000

[[test]]
verb = "read"
path = "src/main.rs"
expect = "granted"
"#;

#[test]
fn every_key_means_what_it_says() {
    let policy = parse(WHOLE).unwrap();
    let roots: Vec<_> = policy
        .roots
        .iter()
        .map(|root| (root.path.to_str(), root.scope))
        .collect();
    assert_eq!(
        roots,
        [
            (Some("/base/w"), Scope::Workspace),
            (Some("/srv/docs"), Scope::External)
        ]
    );
    let words: Vec<_> = policy
        .grants
        .iter()
        .map(|grant| grant.words.to_string())
        .collect();
    assert_eq!(words, ["stat, read, list, glob, search, write:new", "read"]);
    assert_eq!(policy.grants[1].root, 1);
    assert_eq!(policy.grants[1].prefix.to_string(), "a/b");
    assert_eq!(policy.asks[0].words.verbs, VerbSet::WRITING);
    let rules: Vec<_> = policy
        .rules
        .iter()
        .map(|rule| (rule.name.as_str(), rule.effect, rule.verbs))
        .collect();
    assert_eq!(
        rules,
        [
            ("keys", Effect::Hide, VerbSet::ALL),
            ("careful", Effect::Ask, VerbSet::WRITING),
            ("one", Effect::Deny, VerbSet::of(&[Verb::Read])),
        ]
    );
    assert!(
        matches!(&policy.rules[2].target, PolicyTarget::Object(path) if path == Path::new("/base/secret"))
    );
    assert_eq!(policy.budgets.read_bytes, Some(1000));
    assert_eq!(policy.budgets.deletes, None);
    assert_eq!(policy.expires, Some(Duration::from_secs(7200)));
    assert_eq!(policy.deciding, Deciding::Decider);
    assert_eq!(policy.tests[0].expect, ExpectWord::Granted);
}

/// A change of the whole file, and what the refusal says.
#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (old, new, said) in [
        (
            "version = 1",
            "version = 2",
            "line 2: version 1 is the only one",
        ),
        (
            "expires = \"2h\"",
            "expires = \"soon\"",
            "line 4: a duration",
        ),
        (
            "durability = \"kill\"",
            "durability = \"power\"",
            "line 6: this broker has no durability",
        ),
        (
            "label = \"docs\"",
            "label = \"workspace\"",
            "line 13: two roots are called `workspace`",
        ),
        (
            "root = \"docs\"",
            "root = \"doc\"",
            "no root is called `doc`; there are workspace, docs",
        ),
        ("\"./a//b\"", "\"../b\"", "without `..`"),
        ("\"./a//b\"", "\"/b\"", "without `..`"),
        (
            "[\"writing\"]",
            "[\"writting\"]",
            "`writting` names no verb",
        ),
        ("[\"writing\"]", "[]", "no verb is named"),
        ("inputs = [\"00", "inputs = [\"", "64 hexadecimal digits"),
        (
            "pattern = \"*.key\"",
            "pattern = \"/*.key\"",
            "names joined by single slashes",
        ),
        (
            "object = \"secret\"",
            "object = \"s\"\npattern = \"p\"",
            "either a pattern or an object",
        ),
        (
            "effect = \"hide\"",
            "effect = \"hide\"\nverbs = [\"read\"]",
            "for every verb",
        ),
        (
            "verb = \"read\"\npath",
            "verb = \"reed\"\npath",
            "no verb of this name",
        ),
    ] {
        assert!(WHOLE.contains(old), "{old}");
        let error = parse(&WHOLE.replacen(old, new, 1)).unwrap_err();
        assert!(error.contains(said), "{new}: {error}");
        assert!(error.starts_with("policy p.toml, line "), "{error}");
    }
}

#[test]
fn an_unknown_or_repeated_key_is_an_error_everywhere() {
    for section in [
        "",
        "[[root]]",
        "[[grant]]",
        "[[ask]]",
        "[[rule]]",
        "[budgets]",
        "[[test]]",
    ] {
        let with = |key: &str| {
            if section.is_empty() {
                format!("{key} = 1\n{WHOLE}")
            } else {
                WHOLE.replacen(section, &format!("{section}\n{key} = 1"), 1)
            }
        };
        let error = parse(&with("pathh")).unwrap_err();
        assert!(error.contains("pathh"), "{section}: {error}");
    }
    let twice = WHOLE.replacen("version = 1", "version = 1\nversion = 1", 1);
    assert!(parse(&twice).unwrap_err().contains("duplicate"));
    assert!(
        parse("version = 1")
            .unwrap_err()
            .contains("reaches nothing")
    );
    assert!(parse("").is_err());
}
