//! Patches of every format: any text is changes that say something, or an error with its line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_client::patch::{detect, parse, parse_any};
use portcullis_fuzz::patches::{FORMATS, check};
use portcullis_protocol::path::Label;

fuzz_target!(|input: &[u8]| {
    // The first byte says which format the rest is read as.
    let Some((which, patch)) = input.split_first() else {
        return;
    };
    let format = FORMATS[usize::from(*which) % FORMATS.len()];
    let read = parse(patch, format, None);
    check(patch, &read);
    assert_eq!(parse(patch, format, None), read, "read twice");
    // The root of its names changes nothing else.
    let label = Label::new("r").expect("a label");
    let elsewhere = parse(patch, format, Some(&label));
    assert_eq!(elsewhere.as_ref().err(), read.as_ref().err());
    if detect(patch) == Some(format) {
        assert_eq!(parse_any(patch, None), read, "found to be what it is");
    }
});
