//! What a frame costs in memory, however large it claims to be.

use crate::sys::peak_of;
use crate::{ALL, raw};
use portcullis_protocol::limits::BODY_BYTES_MAX;

/// Live heap one frame may cost while it is decoded, in bytes. A body of lists of the smallest
/// items is larger in memory than on the wire; lists also double while they grow.
pub(crate) const HEAP_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What stands before a list in one message or another: mostly empty texts and absent options.
fn leads() -> Vec<Vec<u8>> {
    let mut leads: Vec<_> = (0..=8).map(|zeros| vec![0; zeros]).collect();
    leads.extend([
        vec![1; 8],
        vec![0, 1, b'a'],
        vec![0, 1, b'a', 1, b'a', 0, 0, 0, 2],
        // The edits of one file; the leads and the parts of one hunk.
        vec![1, 1, 0, 1, b'a', 0],
        vec![1, 1, 0, 1, b'a', 0, 1, 1],
        vec![1, 1, 0, 1, b'a', 0, 1, 1, 0, 0, 0],
        // What a listing and a search pass over; which files a search takes, and which types.
        vec![0, 1, b'a', 1, 0, 0, 0, 0],
        vec![0, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0],
        vec![0, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0],
        vec![0, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0],
    ]);
    leads
}

/// Bodies that claim or hold as many items as they can.
fn hostile_bodies() -> Vec<Vec<u8>> {
    let varint = |mut n: u64| {
        let mut bytes = Vec::new();
        while n >= 0x80 {
            bytes.push(u8::try_from(n & 0x7f).unwrap() | 0x80);
            n >>= 7;
        }
        bytes.push(u8::try_from(n).unwrap());
        bytes
    };
    let mut bodies = Vec::new();
    for claimed in [1 << 16, 1 << 17, u64::from(u32::MAX), u64::MAX] {
        for lead in leads() {
            for fill in [0_u8, 1] {
                let mut body = lead.clone();
                body.extend(varint(claimed));
                bodies.push(body.clone());
                body.resize(BODY_BYTES_MAX, fill);
                bodies.push(body);
            }
        }
    }
    bodies
}

#[test]
fn a_hostile_length_costs_little_memory() {
    let bodies = hostile_bodies();
    for direction in &ALL {
        let mut most = 0;
        for code in 0..=20 {
            for body in &bodies {
                let packet = raw(direction.tag, code, body, b"");
                let (_, peak) = peak_of(|| (direction.reencode)(&packet));
                most = most.max(peak);
            }
        }
        println!("{}: {most} bytes at most", direction.name);
        assert!(most <= HEAP_BYTES_MAX, "{}: {most} bytes", direction.name);
    }
}

#[test]
fn memory_is_counted() {
    let (kept, peak) = peak_of(|| {
        drop(vec![0_u8; 1 << 20]);
        vec![0_u8; 1 << 10]
    });
    assert!((1 << 20..(1 << 20) + 4096).contains(&peak), "{peak}");
    let ((), peak) = peak_of(|| drop(kept));
    assert_eq!(peak, 0);
}
