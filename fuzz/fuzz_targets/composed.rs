//! Composed change sets: any bytes are a set and its content, in its one form, or none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_fuzz::words::check_set;
use portcullis_protocol::session::{
    ChangeComposed, ComposedError, decode_composed, encode_composed,
};

fuzz_target!(|input: &[u8]| {
    // How long the set is said to be, then what was composed.
    let Some((len, composed)) = input.split_first_chunk() else {
        return;
    };
    let ask = ChangeComposed {
        set: u32::from_le_bytes(*len),
    };
    match decode_composed(composed, ask) {
        Ok((set, content)) => {
            check_set(&set, content);
            let again = encode_composed(&set, content).expect("it was decoded within its limits");
            assert_eq!(again, (composed.to_vec(), ask), "one set has one form");
        }
        Err(error @ (ComposedError::TooLarge(_) | ComposedError::Malformed)) => {
            assert!(!error.to_string().is_empty());
        }
    }
});
