//! Arbitrary words of changing files, and that each comes back as it was sent.

use crate::edits::{edit, matched, region};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::frame::{Message, RequestId, decode, encode};
use portcullis_protocol::ledger::{
    Begin, Begun, Command, Event, Finish, Intent, ReceiptId, Seen, SeenStep, Step, Temporary,
    TreeLock, Unlock,
};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Change, ChangeComposed, ChangeSet, Changed, Compose, Composed, Conflicted, Deed, DeleteObject,
    Deletion, DropUpload, Expect, Guarantee, MakeDirectory, MakeLink, MoveObject, Onto, Outcome,
    Parents, Planned, Reply, Request, Selector, SetMode, Source, Span, Touched, Upload, UploadId,
    Uploaded, WriteFile,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{
    Digest, Kind, ObjectId, PathState, Present, RootIndex, Stamp, Timestamp,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

pub(crate) fn few<T: std::fmt::Debug, const MAX: usize>(
    item: impl Strategy<Value = T>,
) -> impl Strategy<Value = Few<T, MAX>> {
    vec(item, 0..4).prop_map(|items| Few::new(items).unwrap())
}

pub(crate) fn bytes<const MAX: usize>() -> impl Strategy<Value = Bytes<MAX>> {
    vec(any::<u8>(), 0..12).prop_map(|bytes| Bytes::new(bytes).unwrap())
}

pub(crate) fn text<const MAX: usize>() -> impl Strategy<Value = Text<MAX>> {
    any::<String>().prop_map(|text| Text::plain(&text))
}

pub(crate) fn path() -> impl Strategy<Value = RelPath> {
    vec("[a-z\u{e9}]{1,4}", 0..4)
        .prop_map(|names| RelPath::parse(names.join("/").as_bytes()).unwrap())
}

pub(crate) fn label() -> impl Strategy<Value = Label> {
    "[a-z]{1,8}".prop_map(|text| Label::new(text).unwrap())
}

pub(crate) fn selector() -> impl Strategy<Value = Selector> {
    (option::of(label()), bytes()).prop_map(|(root, path)| Selector { root, path })
}

pub(crate) fn digest() -> impl Strategy<Value = Digest> {
    any::<[u8; 32]>().prop_map(Digest)
}

pub(crate) fn time() -> impl Strategy<Value = Timestamp> {
    any::<(i64, u32)>().prop_map(|(seconds, nanos)| Timestamp { seconds, nanos })
}

fn stamp() -> impl Strategy<Value = Stamp> {
    (any::<[u64; 3]>(), time(), option::of(time())).prop_map(
        |([device, inode, size], changed, born)| Stamp {
            device,
            inode,
            changed,
            born,
            size,
        },
    )
}

pub(crate) fn span() -> impl Strategy<Value = Span> {
    any::<(u32, u32)>().prop_map(|(start, len)| Span { start, len })
}

pub(crate) fn expect() -> impl Strategy<Value = Expect> {
    prop_oneof![
        Just(Expect::Any),
        Just(Expect::Absent),
        stamp().prop_map(Expect::Version),
        digest().prop_map(Expect::Content),
        Just(Expect::Seen),
    ]
}

fn parents() -> impl Strategy<Value = Parents> {
    select(vec![Parents::Exist, Parents::Make])
}

fn deletion() -> impl Strategy<Value = Deletion> {
    select(vec![Deletion::File, Deletion::Directory, Deletion::Tree])
}

pub(crate) fn mode() -> impl Strategy<Value = Option<u16>> {
    option::of(any::<u16>())
}

prop_compose! {
    fn write()(
        selector in selector(),
        source in prop_oneof![
            span().prop_map(Source::Inline),
            any::<u32>().prop_map(|n| Source::Upload(UploadId(n))),
        ],
        expect in expect(),
        parents in parents(),
        mode in mode(),
    ) -> Change {
        Change::Write(WriteFile { selector, source, expect, parents, mode })
    }
}

prop_compose! {
    fn rename()(
        source in selector(),
        destination in selector(),
        expect in expect(),
        onto in prop_oneof![Just(Onto::Nothing), expect().prop_map(Onto::Replace)],
        parents in parents(),
    ) -> Change {
        Change::Move(MoveObject { source, destination, expect, onto, parents })
    }
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        write(),
        edit(),
        (selector(), parents())
            .prop_map(|(selector, parents)| Change::Mkdir(MakeDirectory { selector, parents })),
        rename(),
        (selector(), expect(), deletion()).prop_map(|(selector, expect, what)| Change::Delete(
            DeleteObject {
                selector,
                expect,
                what,
            }
        )),
        (selector(), expect(), any::<u16>()).prop_map(|(selector, expect, mode)| Change::Chmod(
            SetMode {
                selector,
                expect,
                mode,
            }
        )),
        (selector(), bytes(), parents()).prop_map(|(selector, text, parents)| Change::Link(
            MakeLink {
                selector,
                text,
                parents,
            }
        )),
    ]
}

pub(crate) fn change_set() -> impl Strategy<Value = ChangeSet> {
    let deed = select(vec![Deed::Commit, Deed::DryRun]);
    (few(change()), deed).prop_map(|(changes, deed)| ChangeSet { changes, deed })
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        change_set().prop_map(Request::Change),
        any::<u64>().prop_map(|offset| Request::Compose(Compose { offset })),
        any::<u32>().prop_map(|set| Request::ChangeComposed(ChangeComposed { set })),
        (any::<u32>(), selector(), any::<u64>()).prop_map(|(upload, selector, offset)| {
            Request::Upload(Upload {
                upload: UploadId(upload),
                selector,
                offset,
            })
        }),
        any::<u32>().prop_map(|upload| Request::DropUpload(DropUpload {
            upload: UploadId(upload),
        })),
    ]
}

pub(crate) fn kind() -> impl Strategy<Value = Kind> {
    select(vec![
        Kind::File,
        Kind::Directory,
        Kind::Link,
        Kind::Fifo,
        Kind::Socket,
        Kind::Device,
        Kind::Unknown,
    ])
}

fn path_state() -> impl Strategy<Value = PathState> {
    let present = (
        kind(),
        any::<(u16, u64)>(),
        option::of(digest()),
        option::of(stamp()),
    );
    prop_oneof![
        Just(PathState::Absent),
        present.prop_map(
            |(kind, (mode, size), digest, stamp)| PathState::Present(Present {
                kind,
                mode,
                size,
                digest,
                stamp,
            })
        ),
        Just(PathState::Unknown),
    ]
}

prop_compose! {
    fn touched()(
        verb in select(Verb::ALL.to_vec()),
        root in any::<u16>(),
        path in path(),
        before in path_state(),
        after in path_state(),
    ) -> Touched {
        Touched { verb, root: RootIndex(root), path, before, after }
    }
}

pub(crate) fn receipt_id() -> impl Strategy<Value = ReceiptId> {
    (any::<u64>(), digest()).prop_map(|(number, chain)| ReceiptId { number, chain })
}

fn refusal() -> impl Strategy<Value = Refusal> {
    let code = (0_u8..54).prop_map(|code| postcard::from_bytes::<Code>(&[code]).unwrap());
    (code, option::of(stamp()), bytes(), text()).prop_map(|(code, current, object, note)| Refusal {
        current: current.map(Box::new),
        object: Some(object),
        note: Some(note),
        ..Refusal::new(code)
    })
}

prop_compose! {
    pub(crate) fn finish()(
        outcome in select(vec![Outcome::Done, Outcome::Failed, Outcome::Uncertain]),
        guarantee in select(vec![Guarantee::Exact, Guarantee::Detected, Guarantee::BestEffort]),
        touched in few(touched()),
        refusal in option::of(refusal()),
        left in any::<u32>(),
        diff_cut in any::<u64>(),
    ) -> Finish {
        Finish { outcome, guarantee, touched, refusal, left, diff_cut }
    }
}

prop_compose! {
    fn changed()(
        end in finish(),
        receipt in receipt_id(),
        matched in few(matched()),
        matched_cut in any::<u64>(),
        region in option::of(region()),
    ) -> Changed {
        Changed {
            receipt,
            outcome: end.outcome,
            guarantee: end.guarantee,
            touched: end.touched,
            refusal: end.refusal,
            left: end.left,
            matched,
            matched_cut,
            diff_cut: end.diff_cut,
            region,
        }
    }
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        refusal().prop_map(Reply::Refused),
        (few(touched()), few(matched()), any::<(u64, u64)>()).prop_map(
            |(touched, matched, (matched_cut, diff_cut))| Reply::Planned(Planned {
                touched,
                matched,
                matched_cut,
                diff_cut,
            })
        ),
        changed().prop_map(Reply::Changed),
        any::<u64>().prop_map(|bytes| Reply::Composed(Composed { bytes })),
        (refusal(), region())
            .prop_map(|(refusal, region)| Reply::Conflicted(Conflicted { refusal, region })),
        any::<(u32, u64)>().prop_map(|(upload, bytes)| Reply::Uploaded(Uploaded {
            upload: UploadId(upload),
            bytes,
        })),
    ]
}

prop_compose! {
    fn step()(
        (device, inode) in any::<(u64, u64)>(),
        name in bytes(),
        touched in touched(),
        temporary in option::of(any::<[u8; 16]>().prop_map(Temporary)),
        deletion in option::of(deletion()),
    ) -> Step {
        Step { parent: ObjectId { device, inode }, name, touched, temporary, deletion }
    }
}

fn intent() -> impl Strategy<Value = Intent> {
    (few(step()), digest()).prop_map(|(steps, request)| Intent { steps, request })
}

fn event() -> impl Strategy<Value = Event> {
    let tree = select(vec![TreeLock::Shared, TreeLock::Exclusive]);
    let seen = (path_state(), path_state());
    let seen = seen.prop_map(|(now, temporary)| SeenStep { now, temporary });
    prop_oneof![
        (tree, intent()).prop_map(|(tree, intent)| Event::Begin(Begin { tree, intent })),
        intent().prop_map(Event::Amend),
        Just(Event::Unlock(Unlock {})),
        finish().prop_map(Event::Finish),
        few(seen).prop_map(|steps| Event::Seen(Seen { steps })),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        Just(Command::Begun(Begun {})),
        refusal().prop_map(Command::NotBegun),
        receipt_id().prop_map(Command::Receipted),
    ]
}

pub(crate) fn comes_back<M>(id: u32, message: &M, content: &[u8]) -> Result<(), TestCaseError>
where
    M: Message + PartialEq + std::fmt::Debug,
{
    let content = if message.carries_content() {
        content
    } else {
        b""
    };
    let mut packet = Vec::new();
    encode(RequestId(id), message, content.len(), &mut packet).unwrap();
    packet.extend_from_slice(content);
    let frame = decode::<M>(&packet).unwrap();
    prop_assert_eq!(frame.id, RequestId(id));
    prop_assert_eq!(&frame.message, message);
    prop_assert_eq!(frame.content, content);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_said_of_changes_comes_back_as_it_was_sent(
        id in any::<u32>(), content in vec(any::<u8>(), 0..64),
        request in request(), reply in reply(), event in event(), command in command(),
    ) {
        comes_back(id, &request, &content)?;
        comes_back(id, &reply, &content)?;
        comes_back(id, &event, &content)?;
        comes_back(id, &command, &content)?;
    }
}
