//! A receipt: in lines for people, as a document for programs, and one alone with all it says.

use crate::args::Form;
use crate::changes::{hex, line, place};
use crate::records::{Book, BookError};
use crate::say;
use crate::time::Time;
use portcullis_protocol::approval::{Approval, Approver};
use portcullis_protocol::control::Receipt;
use portcullis_protocol::session::Touched;
use portcullis_protocol::view::{Digest, PathState, Stamp};
use portcullis_warden::ExportKey;
use serde_json::{Value, json};
use std::process::ExitCode;

/// How the digests of contents, and all that is made of them, are written.
#[derive(Debug)]
pub(super) enum Digests {
    Plain,
    Keyed(ExportKey),
}

impl Digests {
    pub(super) fn of(&self, digest: &Digest) -> String {
        match self {
            Self::Plain => hex(&digest.0),
            Self::Keyed(key) => hex(&key.digest(digest).0),
        }
    }

    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Keyed(_) => "keyed",
        }
    }
}

/// None for what receipts and sessions of the first version do not say.
pub(super) fn said(digest: &Digest) -> Option<String> {
    (digest.0 != [0; 32]).then(|| hex(&digest.0))
}

pub(super) fn lines(receipt: &Receipt) -> Vec<String> {
    let end = &receipt.end;
    let mut lines = vec![format!(
        "receipt {}  {}  {}, {}, by {}",
        receipt.id.number,
        Time(receipt.at_ms),
        end.outcome.name(),
        end.guarantee.name(),
        receipt.witness.name()
    )];
    let touched = end.touched.as_slice().iter();
    lines.extend(touched.map(|touched| format!("  {}", line(receipt, touched))));
    if let Some(approval) = &receipt.approval {
        lines.push(format!(
            "  approved: proposal {}, approver: {}",
            approval.proposal.0,
            approver(approval.approver)
        ));
    }
    if let Some(refusal) = &end.refusal {
        let text = refusal.to_string();
        let said = text.strip_prefix("nothing was changed: ").unwrap_or(&text);
        lines.push(format!("  because: {said}"));
    }
    if end.left > 0 {
        let left = crate::words::counted(u64::from(end.left), "temporary file");
        lines.push(format!("  {left} could not be removed"));
    }
    lines
}

fn approver(approver: Approver) -> String {
    match approver {
        Approver::SameUid | Approver::Runtime | Approver::Decider | Approver::Passphrase => {
            approver.name().to_owned()
        }
        Approver::Uid(user) => format!("{} {user}", approver.name()),
    }
}

pub(super) fn document(receipt: &Receipt, digests: &Digests) -> Value {
    let end = &receipt.end;
    let touched = end.touched.as_slice().iter();
    json!({
        "receipt": receipt.id.number,
        "previous_chain": digests.of(&receipt.previous),
        "chain": digests.of(&receipt.id.chain),
        "session": receipt.session.0,
        "authority": hex(&receipt.authority.0),
        "cage": said(&receipt.cage),
        "approval": receipt.approval.as_ref().map(approval_document),
        "request": digests.of(&receipt.request),
        "began_ms": receipt.began_ms,
        "at": Time(receipt.at_ms).to_string(),
        "at_ms": receipt.at_ms,
        "witness": receipt.witness.name(),
        "outcome": end.outcome.name(),
        "guarantee": end.guarantee.name(),
        "names": touched.map(|touched| name(receipt, touched, digests)).collect::<Vec<_>>(),
        "because": end.refusal.as_ref().map(|refusal| json!({
            "code": refusal.code.name(),
            "rule": refusal.rule.as_ref().map(|rule| rule.name.as_str()),
            "note": refusal.note.as_ref().map(ToString::to_string),
        })),
        "temporaries_left": end.left,
        "diff_bytes": receipt.diff_bytes,
        "diff_cut": end.diff_cut,
    })
}

fn approval_document(approval: &Approval) -> Value {
    let user = match approval.approver {
        Approver::Uid(user) => Some(user),
        Approver::SameUid | Approver::Runtime | Approver::Decider | Approver::Passphrase => None,
    };
    json!({
        "proposal": approval.proposal.0,
        "approver": approval.approver.name(),
        "user": user,
    })
}

fn name(receipt: &Receipt, touched: &Touched, digests: &Digests) -> Value {
    json!({
        "verb": touched.verb.name(),
        "role": touched.role().name(),
        "name": place(receipt, touched),
        "before": state(&touched.before, digests),
        "after": state(&touched.after, digests),
    })
}

fn state(state: &PathState, digests: &Digests) -> Value {
    match state {
        PathState::Absent => json!({"state": "absent"}),
        PathState::Unknown => json!({"state": "unknown"}),
        PathState::Present(there) => json!({
            "state": "present", "kind": there.kind.name(), "mode": format!("{:04o}", there.mode),
            "size": there.size,
            "digest": there.digest.as_ref().map(|digest| digests.of(digest)),
            "object": there.stamp.as_ref().map(object),
        }),
    }
}

/// Which object, and which version of it.
fn object(stamp: &Stamp) -> Value {
    let time =
        |time: &portcullis_protocol::view::Timestamp| format!("{}.{:09}", time.seconds, time.nanos);
    json!({
        "device": stamp.device,
        "inode": stamp.inode,
        "changed": time(&stamp.changed),
        "born": stamp.born.as_ref().map(time),
    })
}

/// One receipt with all it says.
pub(super) fn show(book: &mut Book, number: u64, form: Form) -> Result<ExitCode, BookError> {
    let (run, receipt) = book.receipt(number)?;
    match form {
        Form::Json => {
            let told = document(&receipt, &Digests::Plain);
            say::out(json!({"version": 1, "run": run.0, "receipt": told}));
        }
        Form::Text => {
            let mut told = lines(&receipt);
            told.extend(rest(&receipt));
            told.iter().for_each(say::out);
            say::out(format_args!(
                "  run {}, session {}",
                run.0, receipt.session.0
            ));
            if receipt.diff_bytes > 0 {
                say::out(format_args!(
                    "  difference: portcullis diff --receipt {number}"
                ));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What the lines of a log leave out.
fn rest(receipt: &Receipt) -> Vec<String> {
    let mut lines = Vec::new();
    for touched in receipt.end.touched.as_slice() {
        lines.push(format!(
            "  {} {}:",
            touched.role().name(),
            place(receipt, touched)
        ));
        for (when, state) in [("before", &touched.before), ("after", &touched.after)] {
            if let PathState::Present(there) = state {
                let digest = there.digest.as_ref().map(|digest| hex(&digest.0));
                let object = there
                    .stamp
                    .map(|stamp| format!("object {}:{}", stamp.device, stamp.inode));
                let told: Vec<String> = digest.into_iter().chain(object).collect();
                lines.push(format!("    {when}: {}", told.join(", ")));
            }
        }
    }
    let unsaid = || "not said by receipts of the first version".to_owned();
    let cage = said(&receipt.cage).unwrap_or_else(unsaid);
    lines.extend([
        format!("  begun: {}", Time(receipt.began_ms)),
        format!("  authority: {}", hex(&receipt.authority.0)),
        format!("  cage: {cage}"),
        format!("  request: {}", hex(&receipt.request.0)),
        format!("  previous: {}", hex(&receipt.previous.0)),
        format!("  chain: {}", hex(&receipt.id.chain.0)),
    ]);
    lines
}
