//! What a warden has on record, as JSON.

use super::change::all_touched;
use super::{cause, hex, object, put_content, refusal_note, review};
use crate::control::Difference;
use portcullis_protocol::approval::Approval;
use portcullis_protocol::control::{Receipt, RefusalRecord, RunRecord, SessionRecord, Verified};
use portcullis_protocol::path::Label;
use serde_json::{Value, json};

/// A run.
pub fn run(run: &RunRecord) -> Value {
    json!({
        "run": run.run.0,
        "request": run.request.as_str(),
        "owner": run.owner.as_str(),
        "began_ms": run.began_ms,
        "ended_ms": run.ended_ms,
        "sessions": run.sessions,
        "done": run.done,
        "failed": run.failed,
        "uncertain": run.uncertain,
        "open": run.open,
    })
}

/// A receipt.
pub fn receipt(receipt: &Receipt) -> Value {
    let roots = labels(receipt.roots.as_slice());
    json!({
        "receipt": receipt.id.number,
        "chain": hex(&receipt.id.chain.0),
        "previous": hex(&receipt.previous.0),
        "session": receipt.session.0,
        "authority": hex(&receipt.authority.0),
        "cage": hex(&receipt.cage.0),
        "request": hex(&receipt.request.0),
        "approval": receipt.approval.as_ref().map(approval),
        "began_ms": receipt.began_ms,
        "at_ms": receipt.at_ms,
        "witness": receipt.witness.name(),
        "outcome": receipt.end.outcome.name(),
        "guarantee": receipt.end.guarantee.name(),
        "touched": all_touched(receipt.end.touched.as_slice()),
        "refusal": receipt.end.refusal.as_ref().map(cause),
        "left": receipt.end.left,
        "roots": roots,
        "diff_bytes": receipt.diff_bytes,
        "diff_cut": receipt.end.diff_cut,
    })
}

/// By which approval an effect was made.
pub fn approval(approval: &Approval) -> Value {
    json!({
        "proposal": approval.proposal.0,
        "approver": review::approver(approval.approver),
    })
}

fn labels(labels: &[Label]) -> Vec<&str> {
    labels.iter().map(|label| label.as_str()).collect()
}

/// A refusal on record.
pub fn refused(record: &RefusalRecord) -> Value {
    let mut fields = object(refusal_note(&record.note));
    fields.extend(object(json!({
        "number": record.number,
        "session": record.session.0,
        "at_ms": record.at_ms,
    })));
    Value::Object(fields)
}

/// A session on record.
pub fn session(record: &SessionRecord) -> Value {
    json!({
        "row": record.row,
        "incarnation": hex(&record.incarnation.0),
        "session": record.session.0,
        "authority": hex(&record.authority.0),
        "parent": record.parent.map(|parent| hex(&parent.0)),
        "request": record.request.as_str(),
        "owner": record.owner.as_str(),
        "conversation": record.conversation.as_str(),
        "roots": labels(record.roots.as_slice()),
        "cage": hex(&record.cage.0),
        "began_ms": record.began_ms,
        "ended_ms": record.ended_ms,
        "receipts": record.receipts,
        "first": hex(&record.first.0),
        "head": hex(&record.head.0),
    })
}

/// The difference one effect made: `diff` when it is UTF-8, else `diff_bytes`.
pub fn difference(difference: &Difference) -> Value {
    let mut fields = object(json!({ "cut": difference.cut }));
    put_content(&mut fields, "diff", &difference.text);
    Value::Object(fields)
}

/// What the records say of themselves.
pub fn verified(verified: &Verified) -> Value {
    json!({
        "sessions": verified.sessions,
        "receipts": verified.receipts,
        "open": verified.open,
        "holds": verified.broken.is_none(),
        "broken": verified.broken.as_ref().map(|broken| broken.as_str()),
    })
}
