//! What the reference server matches, and what not.

use super::*;

fn matches(pattern: &str, path: &str) -> bool {
    Pattern::parse(pattern).unwrap().matches(path)
}

fn found<'p>(pattern: &str, paths: &[&'p str]) -> Vec<&'p str> {
    let pattern = Pattern::parse(pattern).unwrap();
    paths
        .iter()
        .copied()
        .filter(|path| pattern.matches(path))
        .collect()
}

const TREE: [&str; 8] = [
    ".hidden",
    ".hidden/z.ts",
    "a.txt",
    "nonl.txt",
    "sub",
    "sub/deep",
    "sub/deep/x.ts",
    "sub/y.ts",
];

#[test]
fn a_pattern_is_tied_to_the_directory() {
    assert_eq!(found("*.ts", &TREE), [""; 0]);
    assert_eq!(
        found("**/*.ts", &TREE),
        [".hidden/z.ts", "sub/deep/x.ts", "sub/y.ts"]
    );
    assert_eq!(found("sub/*", &TREE), ["sub/deep", "sub/y.ts"]);
    assert_eq!(found("**/deep/**", &TREE), ["sub/deep/x.ts"]);
    assert_eq!(found("**", &TREE), TREE);
    assert_eq!(
        found("sub/**/**/*.ts", &TREE),
        ["sub/deep/x.ts", "sub/y.ts"]
    );
    assert_eq!(found(".hidden/**", &TREE), [".hidden/z.ts"]);
    assert_eq!(found("**/.hidden", &TREE), [".hidden"]);
}

#[test]
fn some_patterns_match_nothing() {
    for pattern in [
        "",
        "#x",
        "sub/",
        "/sub",
        "//sub",
        "./a.txt",
        "**/./a.txt",
        "[",
        "*.TS",
        "{a}.txt",
    ] {
        assert_eq!(found(pattern, &TREE), [""; 0], "{pattern}");
    }
}

#[test]
fn alternatives_and_negation() {
    assert_eq!(found("{a,nonl}.txt", &TREE), ["a.txt", "nonl.txt"]);
    assert_eq!(found("@(a|nonl).txt", &TREE), ["a.txt", "nonl.txt"]);
    assert_eq!(found("+([a-z]).txt", &TREE), ["a.txt", "nonl.txt"]);
    assert_eq!(found("{sub/{deep,y},x}**/*.ts", &TREE), ["sub/deep/x.ts"]);
    assert_eq!(found("!a.txt", &TREE).len(), TREE.len() - 1);
    assert_eq!(found("!!a.txt", &TREE), ["a.txt"]);
    assert!(matches("f{1..3}", "f2") && !matches("f{1..3}", "f4"));
    assert!(matches("f{08..10}", "f09") && matches("f{3..1}", "f3"));
    assert!(matches("{a..c..2}", "c") && !matches("{a..c..2}", "b"));
    assert!(matches("{a}", "{a}") && matches("a{", "a{") && matches("x{,y}", "x"));
    assert!(matches("?(a|b)c", "c") && matches("*(a|b)c", "abac"));
    assert!(matches("x/../a", "a") && matches("(a|b)", "(a|b)"));
}

#[test]
fn classes_take_one_character_of_a_name() {
    assert!(matches("[!b]", "a") && !matches("[^b]", "b") && matches("[[:alpha:]]", "é"));
    assert!(matches("[]a]", "]") && matches("[a-]", "-") && matches("[\\]]", "]"));
    assert!(!matches("a[/]b", "a/b") && !matches("a[!x]b", "a/b") && !matches("[z-a]", "z"));
    assert!(matches("?", "é") && !matches("?", "ab") && matches("[&~]", "&"));
    assert!(
        matches("\\*", "*")
            && !matches("\\*", "a")
            && matches("a.b", "a.b")
            && !matches("a.b", "axb")
    );
}

#[test]
fn what_cannot_be_had_is_refused() {
    let refused = |pattern: &str| Pattern::parse(pattern).unwrap_err();
    assert_eq!(refused("a!(b)"), PatternError::Except);
    assert_eq!(refused("{1..99999}"), PatternError::Braces);
    assert_eq!(
        refused("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"),
        PatternError::Braces
    );
    assert_eq!(
        refused(
            &"@("
                .repeat(60)
                .chars()
                .chain(")".repeat(60).chars())
                .collect::<String>()
        ),
        PatternError::TooLarge
    );
    for long in ["[", "{", "?(", "a"] {
        let long = long.repeat(4097);
        assert_eq!(refused(&long), PatternError::TooLarge);
    }
    assert!(Pattern::parse(&"[".repeat(4096)).is_ok());
    // Negated as a whole, not an alternative.
    assert!(matches("!(a)", "a"));
}

#[test]
fn only_what_reads_alike_is_asked_of_the_gate() {
    let plain = |pattern: &str| {
        Pattern::parse(pattern)
            .unwrap()
            .plain
            .map(|p| String::from_utf8(p).unwrap())
    };
    assert_eq!(plain("*.ts").as_deref(), Some("./*.ts"));
    assert_eq!(plain("**/f1999*.txt").as_deref(), Some("./**/f1999*.txt"));
    for pattern in [
        "", "#x", "!a", "a?", "[a]", "{a,b}", "@(a)", "/a", "a/", "./a", "a//b", "a/../b", "\\a",
    ] {
        assert_eq!(plain(pattern), None, "{pattern}");
    }
}
