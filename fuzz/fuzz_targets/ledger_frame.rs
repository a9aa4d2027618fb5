//! Ledger frames, both directions, and the words of effects.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_fuzz::frames::check;
use portcullis_fuzz::words::check_event;
use portcullis_protocol::frame::decode;
use portcullis_protocol::ledger::{Command, Event};

fuzz_target!(|packet: &[u8]| {
    check::<Command>(packet);
    check::<Event>(packet);
    if let Ok(frame) = decode::<Event>(packet) {
        check_event(&frame.message);
    }
});
