//! Control frames, both directions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_fuzz::frames::check;
use portcullis_protocol::control::{Answer, Order};

fuzz_target!(|packet: &[u8]| {
    check::<Order>(packet);
    check::<Answer>(packet);
});
