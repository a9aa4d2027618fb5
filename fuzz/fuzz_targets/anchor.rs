//! Labels of lines: a text is one in its only spelling or none, and what is made is read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_protocol::anchor::{Anchor, Labels};
use portcullis_protocol::view::{Digest, ObjectId};

fuzz_target!(|input: &[u8]| {
    if let Ok(text) = std::str::from_utf8(input) {
        read(text);
    }
    // A file, a digest, a number and a line.
    if let Some((head, line)) = input.split_first_chunk::<24>() {
        let number = |at: usize| {
            let bytes = head[at..at + 8].try_into().expect("eight bytes");
            u64::from_le_bytes(bytes)
        };
        let object = ObjectId {
            device: number(0),
            inode: number(8),
        };
        made(object, number(16), line);
    }
});

fn read(text: &str) {
    let Ok(label) = text.parse::<Anchor>() else {
        return;
    };
    assert!(label.line > 0);
    assert_eq!(label.to_string(), text, "another spelling");
    let encoded = postcard::to_extend(&label, Vec::new()).expect("a label is encodable");
    assert_eq!(postcard::from_bytes(&encoded), Ok(label));
}

fn made(object: ObjectId, number: u64, line: &[u8]) {
    let digest = Digest([line.first().copied().unwrap_or_default(); 32]);
    let labels = Labels::new(object, &digest);
    let label = labels.label(number, line);
    assert_eq!(label.line, number);
    assert_eq!(Labels::new(object, &digest).label(number, line), label);
    let shown = label.to_string();
    assert_eq!(shown.parse().ok(), (number > 0).then_some(label), "{shown}");
}
