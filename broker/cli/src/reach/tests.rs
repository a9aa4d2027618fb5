//! Labels of roots, and rules of the command line.

use super::*;
use portcullis_protocol::limits::LABEL_BYTES_MAX;

#[test]
fn labels_are_unique_and_fit() {
    let mut taken = BTreeSet::new();
    let mut label = |text: &str| free_label(text, &mut taken).as_str().to_owned();
    assert_eq!(label("docs"), "docs");
    assert_eq!(label("docs"), "docs-2");
    let long = "x".repeat(300);
    assert_eq!(label(&long).len(), LABEL_BYTES_MAX);
    assert!(label(&long).ends_with("-2"));
}

#[test]
fn rules_are_named_by_their_option() {
    let rules = rules::rules("--hide", Effect::Hide, &["a/*.key".into()]).unwrap();
    assert_eq!(rules[0].name, "--hide a/*.key");
    assert!(rules::rules("--hide", Effect::Hide, &["x".repeat(300).into()]).is_err());
    for useless in ["", "./a", "a/../b", "/a", "a/", "a//b", ".."] {
        assert!(
            rules::rules("--hide", Effect::Hide, &[useless.into()]).is_err(),
            "{useless}"
        );
    }
}
