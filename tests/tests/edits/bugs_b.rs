//! What users of other editors reported, part B: modes, owners, attributes, links, identity. Many
//! are promises of every change, shown where those are; here they are shown of edits and patches.
//!
//! | row | report | test |
//! |---|---|---|
//! | 19 | an executable bit is lost | `row_19_*` |
//! | 20 | a write resets the mode | `row_20_*`; `effects`, `metadata::row_93_every_mode_survives_a_replacement` |
//! | 21 | owner and mode are changed | `effects`, `metadata::row_93_a_strangers_file_is_not_replaced_by_one_that_is_not_theirs`: kept, or refused |
//! | 22 | group, attributes, hard link lost by a temporary and a rename | `effects`, `metadata::row_93_a_replacement_keeps_mode_group_access_list_and_attributes`; set-id bits never survive a change of content: `metadata::row_62_*` |
//! | 23 | a hard link is broken | `row_23_34_*`; `effects`, `replace::row_91_*`: refused |
//! | 24 | new files are 0600, the mask ignored | `row_24_*`; `effects`, `create::row_77_*` |
//! | 26 | a mode is lost on a move | `row_26_*` |
//! | 28 | a link is replaced by a file | `row_28_29_*` |
//! | 29 | a harmless link is refused | `row_28_29_*`; `effects`, `links::row_16_26_*` |
//! | 31 | moving a link moves its target | `row_31_*`; `effects`, `links::row_27_*` |
//! | 32 | a rename over a file that is mounted fails | `effects`, `rename::row_44_a_mount_point_is_neither_moved_nor_removed`: every change of it is refused as `mount_crossing` |
//! | 34 | an edit of a file with other names changed another tree | `row_23_34_*`: refused |
//!
//! The table has no rows 25, 27, 30 and 33.

use crate::desk::{Desk, at, one, patched, v4a};
use portcullis_client::{Changes, change};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Parents;
use portcullis_protocol::view::PathState;

/// One line of `f` edited, in each way.
fn edits_of_f() -> Vec<Changes> {
    vec![
        one(change::replace(at("f"), "old", "new")),
        v4a("*** Update File: f\n@@\n-old\n+new"),
        patched("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n"),
    ]
}

#[test]
fn row_19_an_edit_keeps_every_permission_bit() {
    for mode in [0o755, 0o640, 0o600, 0o777, 0o444, 0o711] {
        for changes in edits_of_f() {
            let mut desk = Desk::new(&[("f", b"old\n")]);
            desk.set_mode("f", mode);
            desk.done(&changes);
            desk.is("f", "new\n");
            assert_eq!(desk.mode("f"), mode, "{mode:o} {changes:?}");
        }
    }
}

#[test]
fn row_20_a_whole_write_keeps_the_mode_unless_it_says_another() {
    let mut desk = Desk::new(&[("f", b"old\n")]);
    desk.set_mode("f", 0o755);
    desk.done(&one(change::write(at("f"), "new\n")));
    assert_eq!(desk.mode("f"), 0o755);
    let mut said = change::write(at("f"), "newer\n");
    said.mode = Some(0o700);
    desk.done(&one(said));
    assert_eq!(desk.mode("f"), 0o700);
    // Deleting and adding it in one patch replaces its content.
    desk.done(&v4a("*** Delete File: f\n*** Add File: f\n+newest"));
    desk.is("f", "newest\n");
    assert_eq!(desk.mode("f"), 0o700);
}

#[test]
fn row_23_34_a_file_with_other_names_is_not_edited_and_they_stay_one() {
    for changes in edits_of_f() {
        let mut desk = Desk::new(&[("f", b"old\n")]);
        let other = desk.inside().with_file_name("elsewhere");
        std::fs::hard_link(desk.path("f"), &other).unwrap();
        desk.refused(&changes, Code::HardLinked);
        assert_eq!(std::fs::read(&other).unwrap(), b"old\n");
        std::fs::remove_file(&other).unwrap();
        desk.done(&changes);
    }
}

#[test]
fn row_24_new_files_of_a_patch_have_the_usual_mode_or_the_one_it_says() {
    let mut desk = Desk::new(&[]);
    desk.done(&v4a("*** Add File: plain\n+x"));
    desk.done(&patched(
        "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+x\n",
    ));
    let mut deep = change::create(at("p/q"), "x\n");
    deep.parents = Parents::Make;
    desk.done(&one(deep));
    let modes = ["plain", "run", "p/q", "p"].map(|name| desk.mode(name));
    assert_eq!(modes, [0o644, 0o755, 0o644, 0o755]);
}

#[test]
fn row_26_a_moved_file_keeps_its_mode_with_and_without_an_edit() {
    for (changes, content) in [
        (v4a("*** Update File: f\n*** Move to: g"), "old\n"),
        (
            v4a("*** Update File: f\n*** Move to: g\n@@\n-old\n+new"),
            "new\n",
        ),
        (
            patched("diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n"),
            "old\n",
        ),
        (
            patched(
                "diff --git a/f b/g\nsimilarity index 50%\nrename from f\nrename to g\n\
                 --- a/f\n+++ b/g\n@@ -1 +1 @@\n-old\n+new\n",
            ),
            "new\n",
        ),
        (one(change::rename(at("f"), at("g"))), "old\n"),
    ] {
        let mut desk = Desk::new(&[("f", b"old\n")]);
        desk.set_mode("f", 0o755);
        desk.done(&changes);
        assert!(!desk.path("f").exists(), "{changes:?}");
        desk.is("g", content);
        assert_eq!(desk.mode("g"), 0o755, "{changes:?}");
    }
    // And takes another where the patch says so.
    let mut desk = Desk::new(&[("f", b"old\n")]);
    desk.done(&patched(
        "diff --git a/f b/g\nold mode 100644\nnew mode 100755\nsimilarity index 100%\n\
         rename from f\nrename to g\n",
    ));
    assert_eq!(desk.mode("g"), 0o755);
}

#[test]
fn row_28_29_an_edit_through_a_link_changes_its_target_which_is_named_and_the_link_stays() {
    let mut all = edits_of_f();
    all.push(one(change::write(at("f"), "new\n")));
    for changes in all {
        let mut desk = Desk::new(&[("AGENTS.md", b"old\n")]);
        std::os::unix::fs::symlink("AGENTS.md", desk.path("f")).unwrap();
        let plan = desk.session.plan(&changes).unwrap();
        let [touched] = plan.planned.touched.as_slice() else {
            panic!("{plan:?}");
        };
        assert_eq!(touched.path.as_bytes(), b"AGENTS.md");
        desk.done(&changes);
        let link = std::fs::read_link(desk.path("f")).unwrap();
        assert_eq!(link.to_str(), Some("AGENTS.md"), "{changes:?}");
        desk.is("AGENTS.md", "new\n");
    }
    // One that leads out is not written through.
    for changes in edits_of_f() {
        let mut desk = Desk::new(&[]);
        std::os::unix::fs::symlink("../outside/secret", desk.path("f")).unwrap();
        desk.refused(&changes, Code::Escape);
    }
}

#[test]
fn row_31_a_moved_link_is_the_link() {
    for changes in [
        v4a("*** Update File: l\n*** Move to: m"),
        patched("diff --git a/l b/m\nsimilarity index 100%\nrename from l\nrename to m\n"),
        one(change::rename(at("l"), at("m"))),
    ] {
        let mut desk = Desk::new(&[("t", b"x\n")]);
        std::os::unix::fs::symlink("t", desk.path("l")).unwrap();
        let plan = desk.session.plan(&changes).unwrap();
        let states = plan.planned.touched.as_slice();
        assert!(states.iter().all(|touched| touched.path.as_bytes() != b"t"));
        assert!(
            states
                .iter()
                .any(|touched| touched.after == PathState::Absent)
        );
        desk.done(&changes);
        let link = std::fs::read_link(desk.path("m")).unwrap();
        assert_eq!(link.to_str(), Some("t"), "{changes:?}");
        assert!(std::fs::symlink_metadata(desk.path("l")).is_err());
        desk.is("t", "x\n");
    }
}
