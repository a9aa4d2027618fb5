//! Each exception, shown on a case of its own: what git does, and what is done here.

use super::damage::Damage;
use super::diffs::{Maker, Prefix, Renames, Style};
use super::exceptions::Exception;
use super::oracle::{Ours, Theirs, Verdict, git, ours};
use super::tree::{Node, Tree};
use super::{Case, Desk, place};
use portcullis_tests::{World, own};

const INDEX: &str = "diff --git a/f b/f\nindex 1234567..89abcde 100644\n--- a/f\n+++ b/f\n";
const TIMES: &str = "--- a/f\t2026-11-30 16:46:53.028735185 +0000\n\
                     +++ b/f\t2026-11-30 16:46:53.128735185 +0000\n";

fn style(maker: Maker, context: usize) -> Style {
    Style {
        maker,
        prefix: Prefix::Letters,
        context,
    }
}

const GIT: Maker = Maker::Git(Renames::No);

/// One file.
fn file(text: &str) -> Tree {
    let mut tree = Tree::default();
    tree.put(b"f", text.as_bytes(), 0o644);
    tree
}

/// What both do with a patch, which is the exception that is said.
fn both(exception: Exception, case: &Case) -> (Theirs, Ours) {
    assert_eq!(Exception::of(case), Some(exception));
    done(case)
}

fn done(case: &Case) -> (Theirs, Ours) {
    let place = place();
    let mut world = World::new(own!("own-gate"));
    let mut desk = Desk::open(&mut world, place.path(), "one");
    (git(&desk, case), ours(&mut desk, case))
}

fn case(style: Style, damage: Damage, patch: String, target: Tree) -> Case {
    Case {
        style,
        damage,
        patch: patch.into_bytes(),
        old: target.clone(),
        new: target.clone(),
        target,
    }
}

/// Git does it; here it is refused for this reason, and nothing is changed.
#[track_caller]
fn refused(exception: Exception, case: &Case, why: &str) {
    let (git, ours) = both(exception, case);
    assert!(matches!(git.verdict, Verdict::Applied), "{:?}", git.verdict);
    assert_ne!(git.after, case.target);
    match &ours.verdict {
        Verdict::Refused(said) => assert!(said.contains(why), "{said}"),
        Verdict::Applied => panic!("applied: {:?}", ours.after),
    }
    assert_eq!(ours.after, case.target);
}

/// Git refuses, or makes something else of it; here it becomes this.
#[track_caller]
fn becomes(exception: Exception, case: &Case, text: &str) {
    let (git, ours) = both(exception, case);
    assert!(
        matches!(ours.verdict, Verdict::Applied),
        "{:?}",
        ours.verdict
    );
    assert_eq!(ours.after.file(b"f"), Some(text.as_bytes()));
    assert_ne!(git.after.file(b"f"), Some(text.as_bytes()));
}

#[test]
fn a_text_in_several_places_none_of_which_is_said_is_no_guess() {
    let patch = format!("{INDEX}@@ -9,3 +9,3 @@\n x\n-a\n+b\n y\n");
    let target = file("0\nx\na\ny\n1\nx\na\ny\n2\n");
    let case = case(style(GIT, 1), Damage::Drift, patch, target);
    refused(Exception::Ambiguous, &case, "lines 2 and 6");
}

#[test]
fn the_counts_of_a_hand_are_made_again() {
    let patch = "--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n a\n-b\n+c\n".to_owned();
    let case = case(style(Maker::Hand, 3), Damage::Counts, patch, file("a\nb\n"));
    becomes(Exception::ByHand, &case, "a\nc\n");
}

#[test]
fn lines_beyond_the_counts_are_not_dropped() {
    let patch = format!("{INDEX}@@ -1,2 +1,3 @@\n+a\n x\n y\n+b\n");
    let case = case(style(GIT, 3), Damage::Counts, patch, file("x\ny\nz\n"));
    refused(Exception::MoreThanCounted, &case, "one line more");
}

#[test]
fn a_patch_that_was_cut_is_refused_whole() {
    let whole = format!("{INDEX}@@ -1,2 +1,2 @@\n-a\n+b\n x\n");
    let patch =
        format!("{whole}diff --git a/g b/g\nnew file mode 100644\nindex 0000000..1234567\n");
    let case = case(style(GIT, 3), Damage::Truncated, patch, file("a\nx\n"));
    refused(Exception::Cut, &case, "send the whole patch");
}

#[test]
fn an_edit_of_a_link_is_of_the_file_it_leads_to() {
    let mut target = Tree::default();
    target.put(b"linked", b"a\nx\n", 0o644);
    target
        .nodes
        .insert(b"f".to_vec(), Node::Link(b"linked".to_vec()));
    let patch = format!("{INDEX}@@ -1,2 +1,2 @@\n-a\n+b\n x\n");
    let case = case(style(GIT, 3), Damage::Linked, patch, target);
    let (git, ours) = both(Exception::Linked, &case);
    assert!(matches!(git.verdict, Verdict::Refused(_)));
    assert!(
        matches!(ours.verdict, Verdict::Applied),
        "{:?}",
        ours.verdict
    );
    assert_eq!(ours.after.file(b"linked"), Some(&b"b\nx\n"[..]));
    assert_eq!(ours.after.nodes[&b"f"[..]], case.target.nodes[&b"f"[..]]);
}

#[test]
fn all_of_a_file_or_its_first_lines_are_one_to_a_patch_without_context() {
    let patch = format!("{INDEX}@@ -1 +1 @@\n-a\n+b\n");
    let longer = case(style(GIT, 3), Damage::Longer, patch.clone(), file("a\nx\n"));
    becomes(Exception::NoContext, &longer, "b\nx\n");
    let elsewhere = case(style(GIT, 0), Damage::Drift, patch, file("x\na\n"));
    refused(Exception::NoContext, &elsewhere, "beginning of the file");
}

#[test]
fn what_comes_behind_the_end_does_not_come_at_the_end() {
    let patch = format!("{INDEX}@@ -9,0 +10 @@\n+b\n");
    let case = case(style(GIT, 0), Damage::LineGone, patch, file("a\n"));
    refused(Exception::PastTheEnd, &case, "`f`");
}

#[test]
fn lines_are_not_joined_where_a_file_goes_on() {
    let patch = format!("{INDEX}@@ -1,3 +1,3 @@\n x\n-a\n+b\n y\n\\ No newline at end of file\n");
    let case = case(style(GIT, 1), Damage::Longer, patch, file("x\na\ny\nz\n"));
    let (git, _) = done(&case);
    assert_eq!(git.after.file(b"f"), Some(&b"x\nb\nyz\n"[..]));
    refused(Exception::Joined, &case, "`f`");
}

#[test]
fn a_time_that_ends_in_a_carriage_return_is_a_time() {
    let patch = TIMES.replace(
        "2026-11-30 16:46:53.128735185",
        "1970-01-01 00:00:00.000000000",
    );
    let patch = format!("{patch}@@ -1 +0,0 @@\n-a\n").replace('\n', "\r\n");
    let case = case(
        style(Maker::Diff, 3),
        Damage::BothCrlf,
        patch,
        file("a\r\n"),
    );
    let (git, ours) = both(Exception::Returns, &case);
    assert_eq!(git.after.file(b"f"), Some(&b""[..]));
    assert!(
        matches!(ours.verdict, Verdict::Applied),
        "{:?}",
        ours.verdict
    );
    assert_eq!(ours.after, Tree::default());
}

#[test]
fn a_line_that_comes_is_counted_in_the_file_as_it_was() {
    let patch = format!("{INDEX}@@ -3,0 +5 @@\n+b\n@@ -1,0 +2,2 @@\n+a\n+a\n");
    let target = file("1\n2\n3\n4\n5\n6\n");
    let case = case(style(GIT, 0), Damage::HunksSwapped, patch, target);
    becomes(Exception::Uncounted, &case, "1\na\na\n2\n3\nb\n4\n5\n6\n");
}

#[test]
fn a_file_is_not_made_because_it_is_not_there() {
    let patch = format!("{TIMES}@@ -4,0 +5 @@\n+b\n");
    let case = Case {
        old: file("1\n2\n3\n4\n"),
        ..case(
            style(Maker::Diff, 0),
            Damage::Missing,
            patch,
            Tree::default(),
        )
    };
    refused(Exception::NotThere, &case, "there is nothing of that name");
}

#[test]
fn a_section_is_not_made_of_what_is_left_of_two() {
    let patch = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\nindex 1234567..89abcde\n\
                 garbage\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+b\n x\n";
    let case = case(
        style(GIT, 3),
        Damage::Garbage,
        patch.to_owned(),
        file("a\nx\n"),
    );
    refused(Exception::Interrupted, &case, "its hunks are missing");
}

#[test]
fn copies_and_binary_patches_are_refused() {
    let copy = "diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n";
    let case_of = |patch: &str| case(style(GIT, 3), Damage::None, patch.to_owned(), file("a\n"));
    let (git, ours) = done(&case_of(copy));
    assert_eq!(git.after.nodes.len(), 2);
    assert!(matches!(&ours.verdict, Verdict::Refused(said) if said.contains("without copies")));
    let binary = "diff --git a/g b/g\nnew file mode 100644\n\
                  index 0000000000000000000000000000000000000000..2e65efe2a145dda7ee51d1741299f848e5bf752e\n\
                  GIT binary patch\nliteral 1\nIcmc~O0000000000\n\nliteral 0\nHcmV?d00001\n\n";
    let (_, ours) = done(&case_of(binary));
    assert!(matches!(&ours.verdict, Verdict::Refused(said) if said.contains("binary patch")));
}

#[test]
fn a_directory_that_a_patch_empties_stays() {
    let mut target = Tree::default();
    target.put(b"d/f", b"a\n", 0o644);
    let patch = "diff --git a/d/f b/d/f\ndeleted file mode 100644\nindex 7898192..0000000\n\
                 --- a/d/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
    let (git, ours) = done(&case(style(GIT, 3), Damage::None, patch.to_owned(), target));
    assert!(git.after.nodes.is_empty() && git.after.empty.is_empty());
    assert!(ours.after.nodes.is_empty());
    assert_eq!(ours.after.empty.iter().collect::<Vec<_>>(), [b"d"]);
}

#[test]
fn names_are_swapped_and_passed_on_in_whatever_order_a_patch_says_it() {
    let rename = |from: &str, to: &str| {
        format!(
            "diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n"
        )
    };
    let mut target = Tree::default();
    for name in ["f", "g", "h"] {
        target.put(name.as_bytes(), name.as_bytes(), 0o644);
    }
    let new = "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..7898192\n--- /dev/null\n\
               +++ b/f\n@@ -0,0 +1 @@\n+a\n";
    for patch in [
        [rename("f", "g"), rename("g", "f")].concat(),
        [rename("f", "g"), rename("g", "h"), rename("h", "f")].concat(),
        [rename("f", "g"), rename("g", "i")].concat(),
        [new.to_owned(), rename("f", "i")].concat(),
    ] {
        let case = case(style(GIT, 3), Damage::None, patch, target.clone());
        let (git, ours) = done(&case);
        assert!(matches!(git.verdict, Verdict::Applied), "{:?}", git.verdict);
        assert!(
            matches!(ours.verdict, Verdict::Applied),
            "{:?}",
            ours.verdict
        );
        assert_eq!(
            git.after,
            ours.after,
            "{}",
            String::from_utf8_lossy(&case.patch)
        );
        assert_ne!(ours.after, target);
    }
}
