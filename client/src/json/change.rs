//! Changes as JSON.

use super::{cause, hex, object, put_content, put_name};
use crate::change::Plan;
use crate::stamp;
use portcullis_protocol::session::{Changed, Touched};
use portcullis_protocol::view::PathState;
use serde_json::{Value, json};

/// The end of a change set that was begun.
pub fn changed(changed: &Changed) -> Value {
    json!({
        "receipt": changed.receipt.number,
        "chain": hex(&changed.receipt.chain.0),
        "outcome": changed.outcome.name(),
        "guarantee": changed.guarantee.name(),
        "touched": all_touched(changed.touched.as_slice()),
        "refusal": changed.refusal.as_ref().map(cause),
        "left": changed.left,
    })
}

/// What a change set would do: `diff` when the difference is UTF-8, else `diff_bytes`.
pub fn planned(plan: &Plan) -> Value {
    let mut fields = object(json!({
        "touched": all_touched(plan.planned.touched.as_slice()),
        "diff_cut": plan.planned.diff_cut,
    }));
    put_content(&mut fields, "diff", &plan.diff);
    Value::Object(fields)
}

pub(super) fn all_touched(touched_: &[Touched]) -> Vec<Value> {
    touched_.iter().map(touched).collect()
}

/// One name a change set touches.
pub fn touched(touched: &Touched) -> Value {
    let mut fields = object(json!({
        "verb": touched.verb.name(),
        "root": touched.root.0,
        "before": state(&touched.before),
        "after": state(&touched.after),
    }));
    put_name(&mut fields, "path", touched.path.as_kernel_bytes());
    Value::Object(fields)
}

/// What is at a name.
fn state(state: &PathState) -> Value {
    match state {
        PathState::Absent => json!({ "state": "absent" }),
        PathState::Unknown => json!({ "state": "unknown" }),
        PathState::Present(present) => json!({
            "state": "present",
            "type": present.kind.name(),
            "mode": format!("{:04o}", present.mode),
            "size": present.size,
            "blake3": present.digest.map(|digest| hex(&digest.0)),
            "version": present.stamp.as_ref().map(stamp::show),
        }),
    }
}
