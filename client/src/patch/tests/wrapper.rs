//! What stands around a patch.

use super::{read, refused};

/// A patch that names two files.
const PATCH: &str = "*** Begin Patch\n*** Delete File: x\n*** Delete File: /y\n*** End Patch\n";

#[test]
fn wrappers_are_taken_off() {
    for (before, after) in [
        ("```\n", "```\n"),
        ("\n```diff\n\n", "\n````\n\n"),
        ("~~~~ patch\n", "~~~~\n"),
        ("```\n", ""),
        ("<<EOF\n", "EOF\n"),
        ("<< 'END OF IT'\n", "END OF IT\n"),
        ("apply_patch <<'EOF'\n", "EOF"),
        ("applypatch <<\"PATCH\"\n", "PATCH \n"),
        ("  apply_patch <<EOF\n", ""),
        ("```bash\napply_patch <<'EOF'\n", "EOF\n```\n"),
        ("cd . && apply_patch <<EOF\n", "EOF\n"),
        ("cd ./ && <<EOF\n", "EOF\n"),
    ] {
        let patch = format!("{before}{PATCH}{after}");
        assert_eq!(read(&patch), ["delete x", "delete /y"], "{patch}");
        let windows = patch.replace('\n', "\r\n");
        assert_eq!(read(&windows), ["delete x", "delete /y"], "{windows}");
    }
}

#[test]
fn a_wrapper_that_is_closed_ends_a_patch_as_well() {
    for patch in [
        "```\n*** Begin Patch\n*** Delete File: x\n```\n",
        "apply_patch <<EOF\n*** Begin Patch\n*** Delete File: x\nEOF\n",
    ] {
        assert_eq!(read(patch), ["delete x"], "{patch}");
    }
    let open = "apply_patch <<EOF\n*** Begin Patch\n*** Delete File: x\n";
    assert_eq!(refused(open).0, 3);
}

#[test]
fn names_are_below_the_directory_of_the_command() {
    for (command, name) in [
        ("cd a && apply_patch <<EOF", "a/x"),
        ("cd a/b/ &&apply_patch <<EOF", "a/b/x"),
        ("cd 'a b' && apply_patch <<EOF", "a b/x"),
        ("cd \"./a//b/.\" && apply_patch <<EOF", "a/b/x"),
    ] {
        let patch = format!("{command}\n{PATCH}EOF\n");
        assert_eq!(
            read(&patch),
            [&format!("delete {name}"), "delete /y"],
            "{command}"
        );
    }
}

#[test]
fn other_commands_are_refused_and_what_it_teaches() {
    for (command, said) in [
        ("cd /work && apply_patch <<EOF", "no plain relative path"),
        ("cd a/../.. && apply_patch <<EOF", "no plain relative path"),
        ("cd ~ && apply_patch <<EOF", "no plain relative path"),
        ("cd - && apply_patch <<EOF", "no plain relative path"),
        ("cd $HOME && apply_patch <<EOF", "no plain word"),
        ("cd \"$(pwd)\" && apply_patch <<EOF", "no plain word"),
        ("cd 'a && apply_patch <<EOF", "no plain word"),
        ("cd '' && apply_patch <<EOF", "no plain word"),
        ("cd a; apply_patch <<EOF", "not understood"),
        ("cd a", "not understood"),
        ("apply_patch", "not understood"),
        ("apply_patch <<-EOF", "not understood"),
        ("apply_patch <<<EOF", "not understood"),
        ("apply_patch <<EOF | cat", "not understood"),
        ("apply_patch <<", "not understood"),
        ("apply_patch --verbose <<EOF", "not understood"),
        ("bash -lc 'apply_patch <<EOF", "not understood"),
        ("cat <<EOF", "not understood"),
        ("git apply <<EOF", "not understood"),
    ] {
        let (at, what) = refused(&format!("\n{command}\n{PATCH}EOF\n"));
        assert!(what.contains(said), "{command}: {what}");
        assert!(what.contains("send the patch alone"), "{command}: {what}");
        assert_eq!(at, 2, "{command}: {what}");
    }
    let (at, what) = refused(&format!("apply_patch <<'EOF'\n{PATCH}EOF\nls\n"));
    assert!(what.contains("text after"), "{what}");
    assert_eq!(at, 6);
}
