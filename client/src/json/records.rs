//! What a warden has on record, as JSON.

use super::change::all_touched;
use super::{cause, hex, object, put_content};
use crate::control::Difference;
use portcullis_protocol::control::{Receipt, RunRecord, Verified};
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
    let roots: Vec<&str> = receipt
        .roots
        .as_slice()
        .iter()
        .map(|label| label.as_str())
        .collect();
    json!({
        "receipt": receipt.id.number,
        "chain": hex(&receipt.id.chain.0),
        "session": receipt.session.0,
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
