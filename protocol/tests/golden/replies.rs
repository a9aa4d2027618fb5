//! Every reply, gate to worker.

use crate::effects::{changed, changed_failed, changed_uncertain, composed, conflicted, planned};
use crate::granted;
use crate::values::{
    CAFE, Case, DIFF, authority, binding, bytes, few, grant_view, incarnation, label, limits,
    refusal, rule, text,
};
use portcullis_protocol::authority::{Effect, Scope};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Closing, DenialView, Encoding, FinalNewline, GrantView, Identity, More, Ping, ReadEnd,
    ReadPart, ReadTail, Reply, Rest, RootView, SessionId, Steadiness, TextSurvey, UploadId,
    Uploaded, Verdict, Welcome,
};
use portcullis_protocol::verb::VerbSet;
use portcullis_protocol::view::Kind;

pub(crate) fn cases() -> Vec<Case<Reply>> {
    let allowed = Verdict::Allowed {
        grant: grant_view(),
        binding: binding(CAFE, Kind::File),
    };
    let mut cases = vec![
        Case::new("reply-00-welcome", 1, Reply::Welcome(welcome())),
        Case::new("reply-01-refused", 3, Reply::Refused(refusal())),
        Case::new(
            "reply-01-refused-least",
            0,
            Reply::Refused(Refusal::new(Code::Malformed)),
        ),
        Case::new("reply-02-whoami", 2, Reply::Whoami(whoami())),
        Case::new("reply-03-stat", 3, Reply::Stat(binding(CAFE, Kind::Link))),
        Case::new("reply-08-why", 8, Reply::Why(allowed)),
        Case::new(
            "reply-08-why-refused",
            8,
            Reply::Why(Verdict::Refused(refusal())),
        ),
        Case::new("reply-09-pong", u32::MAX, Reply::Pong(Ping {})).with(b"\x00still\xff"),
        Case::new("reply-10-closing", 0, Reply::Closing(Closing::Incompatible)),
    ];
    cases.extend(parts());
    cases.extend(crate::finding::replies());
    cases.extend(effects());
    cases.extend(granted::replies());
    cases
}

fn effects() -> Vec<Case<Reply>> {
    let conflict = Reply::Refused(crate::values::conflict());
    let uncertain = Reply::Changed(changed_uncertain());
    let uploaded = Uploaded {
        upload: UploadId(300),
        bytes: 65_542,
    };
    vec![
        Case::new("reply-01-refused-conflict", 11, conflict),
        Case::new("reply-11-planned", 11, Reply::Planned(planned())).with(DIFF),
        Case::new("reply-12-changed", 10, Reply::Changed(changed())).with(DIFF),
        Case::new(
            "reply-12-changed-failed",
            10,
            Reply::Changed(changed_failed()),
        )
        .with(b"h\xe9llo\r\n"),
        Case::new("reply-12-changed-uncertain", 10, uncertain),
        Case::new("reply-13-uploaded", 13, Reply::Uploaded(uploaded)),
        Case::new("reply-14-composed", 15, Reply::Composed(composed())),
        Case::new("reply-15-conflicted", 11, Reply::Conflicted(conflicted())).with(b"h\xe9llo\r\n"),
    ]
}

fn welcome() -> Welcome {
    Welcome {
        version: portcullis_protocol::VERSION,
        limits: limits(),
        incarnation: incarnation(),
        session: SessionId(300),
    }
}

fn whoami() -> Identity {
    let denial = |pattern| DenialView {
        rule: rule(),
        verbs: VerbSet::CONTENT,
        pattern,
        effect: Effect::Ask,
    };
    Identity {
        session: SessionId(300),
        authority: authority().id(),
        owner: text("user"),
        conversation: text("thread 7"),
        parent: None,
        expires_ms: Some(1_700_000_000_000),
        roots: few(vec![RootView {
            label: label("workspace"),
            scope: Scope::Private,
        }]),
        grants: few(vec![grant_view()]),
        asks: few(vec![GrantView {
            inputs: None,
            ..grant_view()
        }]),
        budgets: granted::budgets(),
        used: granted::used(),
        denials: few(vec![denial(Some(bytes(b"**/.env"))), denial(None)]),
        limits: limits(),
    }
}

fn parts() -> Vec<Case<Reply>> {
    let first = ReadPart {
        file: 0,
        offset: 128,
        head: Some(binding(CAFE, Kind::File)),
        tail: None,
        more: More::Follows,
    };
    let end = ReadEnd {
        first_line: 10,
        next_offset: 133,
        rest: Rest::More,
        text: Some(TextSurvey {
            lines: 4,
            lf: 1,
            crlf: 2,
            cr: 0,
            final_newline: FinalNewline::Absent,
            encoding: Encoding::Other,
        }),
        digest: Some([0xcd; 32]),
        steadiness: Steadiness::Torn,
    };
    let last = |tail| ReadPart {
        file: 1,
        offset: 0,
        head: None,
        tail: Some(tail),
        more: More::Last,
    };
    vec![
        Case::new("reply-04-read-part", 4, Reply::ReadPart(first)).with(b"h\xe9llo"),
        Case::new(
            "reply-04-read-part-end",
            4,
            Reply::ReadPart(last(ReadTail::Read(end))),
        )
        .with(b"end\r\n"),
        Case::new(
            "reply-04-read-part-refused",
            4,
            Reply::ReadPart(last(ReadTail::Refused(refusal()))),
        ),
    ]
}
