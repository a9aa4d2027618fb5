//! Session frames, both directions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_fuzz::frames::check;
use portcullis_protocol::session::{Reply, Request};

fuzz_target!(|packet: &[u8]| {
    check::<Request>(packet);
    check::<Reply>(packet);
});
