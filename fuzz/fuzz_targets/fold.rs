//! How denials compare names: folding twice changes nothing, and spellings of one name fold
//! alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_gate::policy::fold;
use portcullis_protocol::path::is_invisible;
use unicode_normalization::UnicodeNormalization as _;

fuzz_target!(|name: &[u8]| {
    let once = fold(name).into_owned();
    assert_eq!(fold(&once).as_ref(), once, "folding twice");
    assert_eq!(
        fold(&name.to_ascii_lowercase()).as_ref(),
        once,
        "lower case"
    );
    assert_eq!(
        fold(&name.to_ascii_uppercase()).as_ref(),
        once,
        "upper case"
    );
    // A slash is never made or lost, so that a path folds as its names do.
    let slashes = |bytes: &[u8]| bytes.iter().filter(|b| **b == b'/').count();
    assert_eq!(slashes(name), slashes(&once), "slashes");
    if let Ok(text) = std::str::from_utf8(name) {
        let seen: String = text.chars().filter(|c| !is_invisible(*c)).collect();
        assert_eq!(fold(seen.as_bytes()).as_ref(), once, "invisible characters");
        let composed: String = seen.nfc().collect();
        assert_eq!(fold(composed.as_bytes()).as_ref(), once, "composed");
        let decomposed: String = seen.nfd().collect();
        assert_eq!(fold(decomposed.as_bytes()).as_ref(), once, "decomposed");
        assert!(std::str::from_utf8(&once).is_ok(), "text stays text");
    }
});
