//! Session frames, both directions, and the words of change sets.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_fuzz::frames::check;
use portcullis_fuzz::words::check_request;
use portcullis_protocol::frame::decode;
use portcullis_protocol::session::{Reply, Request};

fuzz_target!(|packet: &[u8]| {
    check::<Request>(packet);
    check::<Reply>(packet);
    if let Ok(frame) = decode::<Request>(packet) {
        check_request(&frame.message, frame.content);
    }
});
