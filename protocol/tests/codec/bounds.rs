//! Lists and names of change sets keep their limits, and what does not fit a frame is an error.

use crate::memory::HEAP_BYTES_MAX;
use crate::sys::peak_of;
use crate::{malformed, raw};
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::control::Answer;
use portcullis_protocol::frame::{EncodeError, RequestId, decode, encode};
use portcullis_protocol::ledger::{Event, Finish, Intent, Seen, SeenStep, Step};
use portcullis_protocol::limits::{
    ANCHORS_MAX, BODY_BYTES_MAX, CHANGES_MAX, LOG_PAGE_MAX, NAME_BYTES_MAX, PATH_BYTES_MAX,
    REPLACEMENTS_MAX,
};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{
    Change, ChangeSet, Deed, DeleteObject, Deletion, Expect, Guarantee, Outcome, Request, Selector,
    TOUCHED_MAX, Touched,
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

fn edit(replacements: &[u8]) -> Vec<u8> {
    // One change, an edit of no root and one letter, whatever it is; the mode stays; commit.
    [&[1, 1, 0, 1, b'a', 0][..], replacements, &[0, 0]].concat()
}

#[test]
fn a_list_holds_as_many_as_its_limit_and_no_more() {
    let changes = |count| [list(count, &body(&deletion(b"a"))), vec![0]].concat();
    let replacements = |count| edit(&list(count, &[0, 0, 0, 0, 1]));
    let anchors = |count| edit(&[&[1, 0, 0, 0, 0, 2][..], &list(count, &[0, 0])].concat());
    let taken = |body: &[u8]| decode::<Request>(&raw(0x51, 10, body, b"")).map(drop);
    for (limit, body) in [
        (CHANGES_MAX, &changes as &dyn Fn(usize) -> Vec<u8>),
        (REPLACEMENTS_MAX, &replacements),
        (ANCHORS_MAX, &anchors),
    ] {
        assert_eq!(taken(&body(limit)), Ok(()), "{limit}");
        assert_eq!(taken(&body(limit + 1)).err(), malformed(10), "{limit}");
    }
    let seen = |count| decode::<Event>(&raw(0x4d, 8, &list(count, &[0, 0]), b"")).map(drop);
    assert_eq!(seen(TOUCHED_MAX), Ok(()));
    assert_eq!(seen(TOUCHED_MAX + 1).err(), malformed(8));
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
    let set = |count: usize, len: usize| {
        Request::Change(ChangeSet {
            changes: Few::new(vec![deletion(&vec![b'a'; len]); count]).unwrap(),
            deed: Deed::Commit,
        })
    };
    let out = &mut Vec::new();
    assert_eq!(encode(RequestId(1), &set(CHANGES_MAX, 500), 0, out), Ok(()));
    let frame = decode::<Request>(out).unwrap();
    assert_eq!(frame.message, set(CHANGES_MAX, 500));
    let refused = encode(RequestId(1), &set(CHANGES_MAX, PATH_BYTES_MAX), 0, out);
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
    let receipt = [&[0][..], &[0; 32], &[0, 0, 0], &end, &[0, 0]].concat();
    let log = list(LOG_PAGE_MAX, &receipt);
    let one_edit = [
        &[1, 0, 0, 0][..],
        &list(REPLACEMENTS_MAX, &[0, 0, 0, 0, 1]),
        &[0],
    ]
    .concat();
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
