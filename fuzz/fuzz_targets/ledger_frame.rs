//! Ledger frames, both directions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_fuzz::frames::check;
use portcullis_protocol::ledger::{Command, Event};

fuzz_target!(|packet: &[u8]| {
    check::<Command>(packet);
    check::<Event>(packet);
});
