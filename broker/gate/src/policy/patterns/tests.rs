//! A pattern and the paths it matches.

use super::*;
use proptest::prelude::*;

/// What matches the last name of a path, by number.
fn found(patterns: &Patterns, path: &str) -> Vec<u32> {
    let (around, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut alive = Tree::top();
    let mut before = String::new();
    for name in around.split('/').filter(|name| !name.is_empty()) {
        alive = patterns.enter(&alive, before.as_bytes(), name.as_bytes(), &mut Vec::new());
        if !before.is_empty() {
            before.push('/');
        }
        before.push_str(name);
    }
    let (mut ends, mut entered) = (Vec::new(), Vec::new());
    patterns.find(&alive, before.as_bytes(), name.as_bytes(), &mut ends);
    patterns.enter(&alive, before.as_bytes(), name.as_bytes(), &mut entered);
    assert_eq!(ends, entered);
    ends.iter().map(|end| end.denial).collect()
}

fn finds(anchor: Option<&str>, pattern: &str, path: &str) -> bool {
    let mut patterns = Patterns::default();
    let anchor = anchor.map(|a| RelPath::parse(a.as_bytes()).unwrap());
    patterns
        .add(7, anchor.as_ref(), pattern.as_bytes())
        .unwrap();
    found(&patterns, path) == [7]
}

#[test]
fn patterns_that_can_never_match_are_refused() {
    for pattern in ["", "/", "./a", "a//b", "a/../b", ".", "..", "a/./b", "["] {
        let added = Patterns::default().add(0, None, pattern.as_bytes());
        assert!(added.is_err(), "{pattern:?}");
    }
}

#[test]
fn patterns_mean_what_is_documented() {
    for (anchor, pattern, path, hit) in [
        (None, ".env", "srv/p/.env", true),
        (None, ".ENV", "srv/p/.env", true),
        (None, "*.pem", "srv/a.b.pem", true),
        (None, "*.pem", "srv/pem", false),
        (None, ".aws/credentials", "home/u/.aws/credentials", true),
        (None, ".aws/credentials", "home/u/x.aws/credentials", false),
        (None, ".aws/credentials", ".aws/credentials", true),
        (None, "a/*/c", "x/a/b/c", true),
        (None, "/top", "x/y/top", true),
        (None, "dir/", "x/dir", true),
        (None, ".env.[!e]*", "p/.env.local", true),
        (None, ".env.[!e]*", "p/.env.example", false),
        (Some("srv/p"), "/secret", "srv/p/secret", true),
        (Some("srv/p"), "/secret", "srv/p/a/secret", false),
        (Some("srv/p"), "a/secret", "srv/p/a/secret", true),
        (Some("srv/p"), "a/secret", "srv/p/x/a/secret", false),
        (Some("srv/p"), "secret", "srv/p/x/secret", true),
        (Some("srv/p"), "secret", "srv/q/secret", false),
        (Some("srv/p"), "a/**", "srv/p/a/b/c", true),
        (Some("srv/[p]"), "a/*", "srv/[p]/a/b", true),
        (Some("srv/[p]"), "a/*", "srv/p/a/b", false),
    ] {
        assert_eq!(
            finds(anchor, pattern, path),
            hit,
            "{anchor:?} {pattern} {path}"
        );
    }
}

proptest! {
    /// What is looked up gives the same as the glob it stands for.
    #[test]
    fn lookups_agree_with_globs(
        pattern in "(\\*\\.)?[ab.]{1,3}(/[ab]{1,2})?",
        path in "[ab.]{1,3}(/[ab.]{1,4}){0,3}",
    ) {
        // `.` and `..` are never names.
        prop_assume!(!path.split('/').any(|p| p == "." || p == ".."));
        prop_assume!(!pattern.split('/').any(|p| p.is_empty() || p == "." || p == ".."));
        let glob = compile_glob(&format!("**/{pattern}")).unwrap().compile_matcher();
        prop_assert_eq!(finds(None, &pattern, &path), glob.is_match(&path));
    }

    /// What a glob is passed over for, it does not match.
    #[test]
    fn globs_are_judged_as_without_what_sorts_them(
        names in prop::collection::vec("[ab]{0,2}(\\*|\\?|\\*\\*|\\[ab\\]|\\{a,ba\\}|\\\\\\*)?[ab.]{0,2}", 1..4),
        anchor in prop::option::of("[ab]{1,2}"),
        path in "[ab.*]{1,3}(/[ab.*]{1,4}){0,3}",
    ) {
        let odd = |name: &str| name.is_empty() || name == "." || name == "..";
        prop_assume!(!path.split('/').any(odd) && !names.iter().any(|name| odd(name)));
        let pattern = names.join("/");
        let whole = match &anchor {
            // Without a slash it holds at any depth below the anchor.
            Some(anchor) if names.len() > 1 => format!("{anchor}/{pattern}"),
            Some(anchor) => format!("{anchor}/**/{pattern}"),
            None => format!("**/{pattern}"),
        };
        let glob = compile_glob(&whole);
        prop_assume!(glob.is_ok());
        let glob = glob.unwrap().compile_matcher();
        prop_assert_eq!(
            finds(anchor.as_deref(), &pattern, &path),
            glob.is_match(&path),
            "{}", whole
        );
    }

    /// Many patterns together match what each of them does as one glob of the whole path, also in
    /// the order of their forms.
    #[test]
    fn the_tree_agrees_with_globs_of_whole_paths(
        denials in prop::collection::vec((prop::option::of(anchors()), patterns()), 1..6),
        paths in prop::collection::vec(paths(), 1..8),
    ) {
        let mut patterns = Patterns::default();
        let mut slow = Slow::default();
        for (n, (anchor, pattern)) in (0..).zip(&denials) {
            let anchor = anchor.as_ref().map(|a| RelPath::parse(a.as_bytes()).unwrap());
            let added = patterns.add(n, anchor.as_ref(), pattern.as_bytes()).is_ok();
            prop_assert_eq!(added, slow.add(n, anchor.as_ref(), pattern), "{}", pattern);
        }
        for path in paths {
            prop_assert_eq!(found(&patterns, &path), slow.found(&path), "{:?} {}", denials, path);
        }
    }
}

/// Names that are often alike, so that patterns and paths meet.
fn name_of_pattern() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ab]{1,2}",
        2 => Just("**".to_owned()),
        2 => Just("*".to_owned()),
        1 => "\\*\\.[ab]{1,2}",
        1 => "[ab*?.]{1,4}",
        1 => "[ab]?\\[!?[ab]\\][ab]?",
        1 => "[ab]?\\{[ab*]{0,2},[ab]{0,2}\\}[ab]?",
        1 => "[ab]?\\{[ab],[ab]/[ab*]\\}[ab]?",
        1 => "\\[a/b\\]|\\\\[ab*]|a\\\\|\\{\\*\\*/a,b\\}|[\\[\\]{}*,a]{1,5}",
    ]
}

fn patterns() -> impl Strategy<Value = String> {
    let names = prop::collection::vec(name_of_pattern(), 1..5);
    (names, "/?", "/?").prop_map(|(names, start, end)| format!("{start}{}{end}", names.join("/")))
}

fn anchors() -> impl Strategy<Value = String> {
    "[ab*\\[]{1,2}(/[ab]{1,2}){0,2}"
}

fn paths() -> impl Strategy<Value = String> {
    let name = "[ab]{1,2}|[ab.*{,]{1,3}\n?";
    let plain = |name: &String| name != "." && name != "..";
    prop::collection::vec(name.prop_filter("a plain name", plain), 1..7)
        .prop_map(|names| names.join("/"))
}

/// Every pattern as one glob, tried one after the other.
#[derive(Default)]
struct Slow(Vec<(End, GlobSet)>);

impl Slow {
    /// Whether it is a pattern.
    fn add(&mut self, denial: u32, anchor: Option<&RelPath>, pattern: &str) -> bool {
        let tied = pattern.strip_suffix('/').unwrap_or(pattern).contains('/');
        let pattern = pattern.trim_matches('/');
        let bad = |name: &str| matches!(name, "" | "." | "..");
        if pattern.split('/').any(bad) {
            return false;
        }
        let glob = match anchor {
            None => format!("**/{pattern}"),
            Some(anchor) => {
                let at = globset::escape(std::str::from_utf8(anchor.as_bytes()).unwrap());
                let between = if tied { "" } else { "**/" };
                format!("{at}/{between}{pattern}")
            }
        };
        let Ok(glob) = compile_glob(&glob) else {
            return false;
        };
        let set = GlobSetBuilder::new().add(glob).build().unwrap();
        let anchor = anchor.map(|anchor| anchor.as_bytes());
        let form = form(anchor, tied, pattern.as_bytes());
        self.0.push((End { form, denial }, set));
        true
    }

    fn found(&self, path: &str) -> Vec<u32> {
        let found = self.0.iter().filter(|(_, set)| set.is_match(path));
        let mut ends: Vec<End> = found.map(|(end, _)| *end).collect();
        ends.sort_unstable();
        ends.into_iter().map(|end| end.denial).collect()
    }
}

#[test]
fn an_anchor_of_no_names_is_the_top() {
    let mut patterns = Patterns::default();
    let top = RelPath::root();
    patterns.add(0, Some(&top), b"/a").unwrap();
    patterns.add(1, Some(&top), b"b").unwrap();
    patterns.add(2, Some(&top), b"{a,c/d}/e").unwrap();
    for (path, numbers) in [
        ("a", &[0][..]),
        ("x/a", &[]),
        ("x/b", &[1]),
        ("c/d/e", &[2]),
    ] {
        assert_eq!(found(&patterns, path), numbers, "{path}");
    }
}

#[test]
fn a_path_that_comes_alive_again_and_again_is_alive_once() {
    let mut patterns = Patterns::default();
    for n in 0..20 {
        let pattern = format!("**/a*/**/[ab]/**/c{n}");
        patterns.add(n, None, pattern.as_bytes()).unwrap();
        let pattern = format!("{{a,a{n}}}/**/{{a,b{n}}}/**/c");
        patterns.add(100 + n, None, pattern.as_bytes()).unwrap();
    }
    let deep = "a/".repeat(100);
    assert_eq!(found(&patterns, &format!("{deep}c7")), [7]);
    assert_eq!(found(&patterns, &format!("{deep}c")).len(), 20);
}
