//! Any text whose format is found out: it is none, or the one that it is read in.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_client::patch::{detect, parse, parse_any};
use portcullis_fuzz::patches::{check, is_listed};

fuzz_target!(|patch: &[u8]| {
    let read = parse_any(patch, None);
    check(patch, &read);
    match detect(patch) {
        Some(format) => {
            assert!(is_listed(format));
            assert_eq!(parse(patch, format, None), read);
        }
        None => assert!(read.is_err(), "read as nothing that was found"),
    }
});
