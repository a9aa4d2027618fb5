//! Lists and names of change sets keep their limits, and what does not fit a frame is an error.

use crate::memory::HEAP_BYTES_MAX;
use crate::sys::peak_of;
use crate::{malformed, raw};
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::control::Answer;
use portcullis_protocol::frame::{EncodeError, RequestId, decode, encode};
use portcullis_protocol::ledger::{Event, Finish, Intent, Seen, SeenStep, Step};
use portcullis_protocol::limits::{
    BODY_BYTES_MAX, CHANGES_MAX, COMPOSED_BYTES_MAX, EDITS_MAX, LEADS_MAX, LOG_PAGE_MAX,
    MATCHED_MAX, NAME_BYTES_MAX, PARTS_MAX, PATH_BYTES_MAX, SET_BYTES_MAX,
};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{
    Change, ChangeComposed, ChangeSet, ComposedError, Deed, DeleteObject, Deletion, Expect,
    Guarantee, Outcome, Reply, Request, Selector, TOUCHED_MAX, TextEdit, Touched, decode_composed,
    encode_composed,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, ObjectId, PathState, RootIndex};

fn body(value: &impl serde::Serialize) -> Vec<u8> {
    postcard::to_extend(value, Vec::new()).unwrap()
}

/// A list of so many of these items.
fn list(count: usize, item: &[u8]) -> Vec<u8> {
    let mut bytes = body(&count);
    bytes.extend(item.repeat(count));
    bytes
}

fn deletion(path: &[u8]) -> Change {
    Change::Delete(DeleteObject {
        selector: Selector {
            root: None,
            path: Bytes::new(path).unwrap(),
        },
        expect: Expect::Any,
        what: Deletion::File,
    })
}

fn edit(edits: &[u8]) -> Vec<u8> {
    // One change, an edit of no root and one letter, whatever it is; tier exact; the mode stays;
    // commit.
    [&[1, 1, 0, 1, b'a', 0][..], edits, &[1, 0, 0]].concat()
}

/// The smallest edit on the wire: nothing put before the first line.
const LEAST_EDIT: [u8; 4] = [2, 0, 0, 0];

/// One hunk, of these leads and these parts.
fn hunk(leads: &[u8], parts: &[u8]) -> Vec<u8> {
    edit(&[&[1, 1][..], leads, &[0, 0], parts].concat())
}

#[test]
fn a_list_holds_as_many_as_its_limit_and_no_more() {
    let changes = |count| [list(count, &body(&deletion(b"a"))), vec![0]].concat();
    let edits = |count| edit(&list(count, &LEAST_EDIT));
    let leads = |count| hunk(&list(count, &[0, 0]), &[0]);
    let parts = |count| hunk(&[0], &list(count, &[0, 0, 0]));
    let taken = |body: &[u8]| decode::<Request>(&raw(0x51, 10, body, b"")).map(drop);
    for (limit, body) in [
        (CHANGES_MAX, &changes as &dyn Fn(usize) -> Vec<u8>),
        (EDITS_MAX, &edits),
        (LEADS_MAX, &leads),
        (PARTS_MAX, &parts),
    ] {
        assert_eq!(taken(&body(limit)), Ok(()), "{limit}");
        assert_eq!(taken(&body(limit + 1)).err(), malformed(10), "{limit}");
    }
    let seen = |count| decode::<Event>(&raw(0x4d, 8, &list(count, &[0, 0]), b"")).map(drop);
    assert_eq!(seen(TOUCHED_MAX), Ok(()));
    assert_eq!(seen(TOUCHED_MAX + 1).err(), malformed(8));
    // Planned: no name touched, so many places, none cut.
    let planned = |count| {
        let body = [&[0][..], &list(count, &[0; 7]), &[0, 0]].concat();
        decode::<Reply>(&raw(0x52, 11, &body, b"")).map(drop)
    };
    assert_eq!(planned(MATCHED_MAX), Ok(()));
    assert_eq!(planned(MATCHED_MAX + 1).err(), malformed(11));
}

#[test]
fn tiers_and_labels_with_unknown_bits_are_malformed() {
    let tiers = |bits: u8| {
        let body = [&[1, 1, 0, 1, b'a', 0, 0][..], &[bits, 0, 0]].concat();
        decode::<Request>(&raw(0x51, 10, &body, b"")).map(drop)
    };
    for bits in 0..=u8::MAX {
        // Exact is always among them, and there are five.
        if bits & 1 == 1 && bits < 32 {
            assert_eq!(tiers(bits), Ok(()), "{bits}");
        } else {
            assert_eq!(tiers(bits).err(), malformed(10), "{bits}");
        }
    }
    let tag = |bits: u32| {
        // One edit of lines 1 to 1, which go.
        let anchored = [&[1, 3, 1][..], &body(&bits), &[1, 0, 0, 0, 0]].concat();
        decode::<Request>(&raw(0x51, 10, &edit(&anchored), b"")).map(drop)
    };
    assert_eq!(tag((1 << 25) - 1), Ok(()));
    for bits in [1 << 25, 1 << 26, u32::MAX] {
        assert_eq!(tag(bits).err(), malformed(10), "{bits}");
    }
}

fn deletions(len: usize) -> ChangeSet {
    ChangeSet {
        changes: Few::new(vec![deletion(&vec![b'a'; len]); CHANGES_MAX]).unwrap(),
        deed: Deed::Commit,
    }
}

#[test]
fn a_composed_set_keeps_its_limits() {
    // More than a frame holds, and all of it.
    let set = deletions(PATH_BYTES_MAX);
    let (bytes, ask) = encode_composed(&set, b"").unwrap();
    assert!(bytes.len() > BODY_BYTES_MAX);
    let rest = vec![7; COMPOSED_BYTES_MAX - bytes.len()];
    let (whole, same) = encode_composed(&set, &rest).unwrap();
    assert_eq!((whole.len(), same), (COMPOSED_BYTES_MAX, ask));
    assert_eq!(decode_composed(&whole, ask), Ok((set.clone(), &rest[..])));
    // One byte more.
    let large = ComposedError::TooLarge(COMPOSED_BYTES_MAX + 1);
    let longer = [&rest[..], b"x"].concat();
    assert_eq!(encode_composed(&set, &longer), Err(large));
    let longer = [&whole[..], b"x"].concat();
    assert_eq!(decode_composed(&longer, ask), Err(large));
    // What is said of its length is not what it is.
    for off in [0, 1, ask.set - 1, ask.set + 1] {
        let refused = decode_composed(&whole, ChangeComposed { set: off });
        assert_eq!(refused, Err(ComposedError::Malformed), "{off}");
    }
    let over = u32::try_from(SET_BYTES_MAX).unwrap();
    let refused = decode_composed(&bytes, ChangeComposed { set: over });
    assert_eq!(refused, Err(ComposedError::Malformed));
    for over in [over + 1, u32::MAX] {
        let refused = decode_composed(&bytes, ChangeComposed { set: over });
        assert_eq!(refused, Err(ComposedError::TooLarge(bytes.len())), "{over}");
    }
}

#[test]
fn a_composed_set_has_one_encoding() {
    let set = ChangeSet {
        changes: Few::new(vec![deletion(b"a")]).unwrap(),
        deed: Deed::Commit,
    };
    let (bytes, ask) = encode_composed(&set, b"content").unwrap();
    // The number of changes, 1, in two bytes instead of one.
    assert_eq!(bytes[0], 1);
    let longer = [&[0x81, 0x00], &bytes[1..]].concat();
    let ask = ChangeComposed { set: ask.set + 1 };
    assert_eq!(decode_composed(&longer, ask), Err(ComposedError::Malformed));
}

#[test]
fn a_set_over_its_own_limit_is_not_composed() {
    // As many of the smallest edits as fit, and one list more.
    let one = [&[1, 0, 0, 0][..], &list(EDITS_MAX, &LEAST_EDIT), &[1, 0]].concat();
    let of = |count: usize| {
        let body = [list(count, &one), vec![0]].concat();
        postcard::from_bytes::<ChangeSet>(&body).unwrap()
    };
    let most = SET_BYTES_MAX / one.len();
    let (bytes, ask) = encode_composed(&of(most), b"").unwrap();
    assert!(decode_composed(&bytes, ask).is_ok());
    let refused = encode_composed(&of(most + 1), b"");
    assert!(
        matches!(refused, Err(ComposedError::TooLarge(bytes)) if bytes > SET_BYTES_MAX),
        "{refused:?}"
    );
}

#[test]
fn a_composed_set_costs_a_bounded_multiple_of_its_bytes() {
    // As many of the smallest edits as the limit lets in; a list that grows holds its old half
    // beside itself.
    let one = [&[1, 0, 0, 0][..], &list(EDITS_MAX, &LEAST_EDIT), &[1, 0]].concat();
    let set = [list(SET_BYTES_MAX / one.len(), &one), vec![0]].concat();
    let ask = ChangeComposed {
        set: u32::try_from(set.len()).unwrap(),
    };
    let (taken, peak) = peak_of(|| decode_composed(&set, ask).map(drop));
    assert_eq!(taken, Ok(()));
    println!("composed: {} bytes, {peak} in memory", set.len());
    assert!(peak <= 100 * 1024 * 1024, "{peak}");
    // A count that lies costs no more than the limit of its list.
    let mut lying = [&[1, 1, 0, 0, 0][..], &body(&(usize::MAX / 2))].concat();
    lying.resize(SET_BYTES_MAX, 2);
    let (refused, peak) = peak_of(|| decode_composed(&lying, ask).map(drop));
    assert_eq!(refused, Err(ComposedError::Malformed));
    assert!(peak <= 3 * EDITS_MAX * size_of::<TextEdit>(), "{peak}");
}

#[test]
fn a_name_in_a_step_is_no_longer_than_a_name_can_be() {
    let amend = |len: usize| {
        let touched = (
            Verb::Write,
            0_u16,
            "a",
            PathState::Absent,
            PathState::Unknown,
        );
        let name: Bytes<{ NAME_BYTES_MAX + 1 }> = Bytes::new(vec![b'n'; len]).unwrap();
        let step = ((1_u64, 2_u64), name, touched, None::<u8>, None::<u8>);
        let body = [&[1][..], &body(&step), &[7; 32]].concat();
        decode::<Event>(&raw(0x4d, 5, &body, b"")).map(drop)
    };
    assert_eq!(amend(NAME_BYTES_MAX), Ok(()));
    assert_eq!(amend(NAME_BYTES_MAX + 1).err(), malformed(5));
}

#[test]
fn a_change_set_that_fits_no_frame_is_an_error() {
    let set = |len: usize| Request::Change(deletions(len));
    let out = &mut Vec::new();
    assert_eq!(encode(RequestId(1), &set(500), 0, out), Ok(()));
    let frame = decode::<Request>(out).unwrap();
    assert_eq!(frame.message, set(500));
    let refused = encode(RequestId(1), &set(PATH_BYTES_MAX), 0, out);
    assert!(
        matches!(refused, Err(EncodeError::TooLarge(bytes)) if bytes > CHANGES_MAX * PATH_BYTES_MAX),
        "{refused:?}"
    );
}

#[test]
fn an_effect_that_fits_no_frame_is_an_error() {
    let touched = Touched {
        verb: Verb::Delete,
        root: RootIndex(0),
        path: RelPath::parse(&[&[b'd'; 255][..]; 15].join(&b'/')).unwrap(),
        before: PathState::Unknown,
        after: PathState::Absent,
    };
    let step = Step {
        parent: ObjectId {
            device: 1,
            inode: 2,
        },
        name: Bytes::new([b'd'; 255]).unwrap(),
        touched: touched.clone(),
        temporary: None,
        deletion: Some(Deletion::Directory),
    };
    let intent = Event::Amend(Intent {
        steps: Few::new(vec![step; TOUCHED_MAX]).unwrap(),
        request: Digest([0; 32]),
    });
    let finish = Event::Finish(Finish {
        outcome: Outcome::Done,
        guarantee: Guarantee::Exact,
        touched: Few::new(vec![touched; TOUCHED_MAX]).unwrap(),
        refusal: None,
        left: 0,
        diff_cut: 0,
    });
    for event in [intent, finish] {
        let refused = encode(RequestId(0), &event, 0, &mut Vec::new());
        assert!(
            matches!(refused, Err(EncodeError::TooLarge(_))),
            "{refused:?}"
        );
    }
}

#[test]
fn a_list_of_too_many_small_items_costs_no_more_than_its_limit() {
    // Two bytes an item on the wire, some hundreds in memory: what bounds it is the limit of the
    // list, not the frame. A list that grows holds its old half beside itself.
    let mut body = body(&(BODY_BYTES_MAX / 2));
    body.resize(BODY_BYTES_MAX, 0);
    let packet = raw(0x4d, 8, &body, b"");
    let (refused, peak) = peak_of(|| decode::<Event>(&packet).map(drop));
    assert_eq!(refused.err(), malformed(8));
    assert!(peak <= 3 * TOUCHED_MAX * size_of::<SeenStep>(), "{peak}");
    let whole = raw(0x4d, 8, &list(TOUCHED_MAX, &[0, 0]), b"");
    let seen = Seen {
        steps: Few::new(vec![
            SeenStep {
                now: PathState::Absent,
                temporary: PathState::Absent
            };
            TOUCHED_MAX
        ])
        .unwrap(),
    };
    let (frame, peak) = peak_of(|| decode::<Event>(&whole).unwrap().message);
    assert_eq!(frame, Event::Seen(seen));
    assert!(peak >= TOUCHED_MAX * size_of::<SeenStep>(), "{peak}");
}

#[test]
fn lists_in_lists_cost_no_more_than_any_frame() {
    // As many of the smallest items in as many lists as one frame takes.
    let touched = list(TOUCHED_MAX, &[0; 5]);
    let end = [&[0, 0][..], &touched, &[0, 0, 0]].concat();
    let receipt = [&[0][..], &[0; 32], &[0, 0, 0], &end, &[0, 0], &[0; 130]].concat();
    let log = list(LOG_PAGE_MAX, &receipt);
    // A frame has room for two lists of them, less than full.
    let count = BODY_BYTES_MAX / LEAST_EDIT.len() / 2 - 8;
    let one_edit = [&[1, 0, 0, 0][..], &list(count, &LEAST_EDIT), &[1, 0]].concat();
    let edits = [list(BODY_BYTES_MAX / one_edit.len(), &one_edit), vec![0]].concat();
    let (page, peak) = peak_of(|| decode::<Answer>(&raw(0x44, 8, &log, b"")).map(drop));
    assert_eq!(page, Ok(()));
    println!("log: {} bytes, {peak} in memory", log.len());
    assert!(peak <= HEAP_BYTES_MAX, "log: {peak}");
    let (set, peak) = peak_of(|| decode::<Request>(&raw(0x51, 10, &edits, b"")).map(drop));
    assert_eq!(set, Ok(()));
    println!("edits: {} bytes, {peak} in memory", edits.len());
    assert!(peak <= HEAP_BYTES_MAX, "edits: {peak}");
}
