//! The wire, byte for byte: one file for every message of every endpoint, and what
//! `docs/PROTOCOL.md` says of them. `BLESS=1` writes the files anew; then read the difference.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, its helpers too"
)]

#[path = "golden/changes.rs"]
mod changes;
#[path = "golden/document.rs"]
mod document;
#[path = "golden/effects.rs"]
mod effects;
#[path = "golden/fields.rs"]
mod fields;
#[path = "golden/finding.rs"]
mod finding;
#[path = "golden/granted.rs"]
mod granted;
#[path = "golden/replies.rs"]
mod replies;
#[path = "golden/requests.rs"]
mod requests;
#[path = "golden/trusted.rs"]
mod trusted;
#[path = "golden/values.rs"]
mod values;

use portcullis_protocol::authority::Parts;
use portcullis_protocol::frame::{DecodeError, Message, RequestId, decode, encode};
use portcullis_protocol::limits::HEADER_BYTES;
use portcullis_protocol::session::{Request, encode_composed};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Write as _};
use std::path::{Path, PathBuf};
use values::Case;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Reads hex digits; white space is for people.
fn parse_hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    assert!(digits.len().is_multiple_of(2), "half a byte");
    let digit = |c: &char| u8::try_from(c.to_digit(16).expect("a hex digit")).unwrap();
    digits
        .chunks(2)
        .map(|pair| digit(&pair[0]) * 16 + digit(&pair[1]))
        .collect()
}

/// The header on one line, then 16 bytes a line.
fn to_hex(packet: &[u8]) -> String {
    let (header, rest) = packet.split_at(HEADER_BYTES);
    let mut text = String::new();
    for line in std::iter::once(header).chain(rest.chunks(16)) {
        for (n, byte) in line.iter().enumerate() {
            write!(text, "{}{byte:02x}", if n == 0 { "" } else { " " }).unwrap();
        }
        text.push('\n');
    }
    text
}

fn is_blessing() -> bool {
    std::env::var_os("BLESS").is_some_and(|value| value == "1")
}

/// Every file there is, by name without `.hex`.
fn files() -> BTreeMap<String, Vec<u8>> {
    std::fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "hex"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, parse_hex(&std::fs::read_to_string(path).unwrap()))
        })
        .collect()
}

fn packet<M: Message>(case: &Case<M>) -> Vec<u8> {
    let mut packet = Vec::new();
    encode(case.id, &case.message, case.content.len(), &mut packet).unwrap();
    packet.extend_from_slice(case.content);
    packet
}

/// The header, as this page of the protocol says it, not as the codec does.
fn assert_header<M: Message>(case: &Case<M>, packet: &[u8]) {
    let body_len = packet.len() - HEADER_BYTES - case.content.len();
    assert_eq!(packet[0], M::TAG, "{}: tag", case.name);
    assert_eq!(packet[1], 0, "{}: zero", case.name);
    let code = u16::from(packet[2]) + (u16::from(packet[3]) << 8);
    assert_eq!(code, case.message.code(), "{}: code", case.name);
    let number = |at: usize| (0..4).fold(0, |sum, n| sum + (u32::from(packet[at + n]) << (8 * n)));
    assert_eq!(number(4), case.id.0, "{}: id", case.name);
    assert_eq!(number(8) as usize, body_len, "{}: length", case.name);
    assert!(packet.ends_with(case.content), "{}: content", case.name);
}

/// Checks one direction of one endpoint, and gives the names of its files.
fn check<M: Message + Debug + PartialEq>(kind: &str, cases: &[Case<M>]) -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    let mut names = BTreeSet::new();
    for case in cases {
        let encoded = packet(case);
        let file = directory().join(format!("{}.hex", case.name));
        if is_blessing() {
            std::fs::write(&file, to_hex(&encoded)).unwrap();
            seed(kind, case.name, &encoded);
        }
        let golden = parse_hex(&std::fs::read_to_string(&file).expect(case.name));
        assert_eq!(to_hex(&encoded), to_hex(&golden), "{}: encode", case.name);
        assert_header(case, &golden);
        let frame = decode::<M>(&golden).expect(case.name);
        assert_eq!(frame.id, case.id, "{}", case.name);
        assert_eq!(frame.message, case.message, "{}", case.name);
        assert_eq!(frame.content, case.content, "{}", case.name);
        let code = case.message.code();
        assert!(
            case.name.starts_with(&format!("{kind}-{code:02}-")),
            "{}",
            case.name
        );
        assert!(
            names.insert(case.name.to_owned()),
            "{} stands twice",
            case.name
        );
        codes.insert(code);
    }
    for code in 0..=u16::MAX {
        assert_eq!(
            codes.contains(&code),
            is_known::<M>(code),
            "{kind} {code} has no file"
        );
    }
    names
}

/// Whether a frame of this code is anything but unknown.
fn is_known<M: Message + Debug>(code: u16) -> bool {
    let [low, high] = code.to_le_bytes();
    let packet = [M::TAG, 0, low, high, 1, 0, 0, 0, 0, 0, 0, 0];
    let unknown = DecodeError::UnknownCode {
        id: RequestId(1),
        code,
    };
    decode::<M>(&packet).err() != Some(unknown)
}

/// Golden frames are also where fuzzing starts from.
fn seed(kind: &str, name: &str, packet: &[u8]) {
    let target = match kind {
        "request" | "reply" => "session_frame",
        "order" | "answer" => "control_frame",
        "command" | "event" => "ledger_frame",
        other => panic!("no endpoint has {other}"),
    };
    write_seed(target, name, packet);
}

fn write_seed(target: &str, name: &str, bytes: &[u8]) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds");
    std::fs::create_dir_all(seeds.join(target)).unwrap();
    std::fs::write(seeds.join(target).join(name), bytes).unwrap();
}

#[test]
fn every_message_is_its_golden_file_and_every_file_a_message() {
    let mut names = BTreeSet::new();
    names.extend(check("request", &requests::cases()));
    names.extend(check("reply", &replies::cases()));
    names.extend(check("order", &trusted::orders()));
    names.extend(check("answer", &trusted::answers()));
    names.extend(check("command", &trusted::commands()));
    names.extend(check("event", &trusted::events()));
    let files: BTreeSet<String> = files().into_keys().collect();
    assert_eq!(files, names);
    if is_blessing() {
        // The fuzz target reads how long the set is, then what was composed.
        for case in requests::cases() {
            if let Request::Change(set) = &case.message {
                let (composed, ask) = encode_composed(set, case.content).unwrap();
                let seed = [&ask.set.to_le_bytes()[..], &composed].concat();
                write_seed("composed", case.name, &seed);
            }
        }
        // The fuzz target reads a zero byte, then two authorities before they are sealed.
        let encoded = |parts: &Parts| postcard::to_extend(parts, Vec::new()).unwrap();
        let parts = encoded(&values::parts());
        let same_rule = encoded(&values::same_rule_twice());
        for (name, first) in [("golden", &parts), ("same_rule", &same_rule)] {
            let mut seed = vec![0];
            seed.extend_from_slice(first);
            seed.extend_from_slice(&parts);
            write_seed("authority", name, &seed);
        }
    }
}
