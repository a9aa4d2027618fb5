//! Changes as JSON.

use super::{cause, hex, object, put_content, put_name};
use crate::change::{Made, Plan};
use crate::label::{Excerpt, Labelled};
use crate::stamp;
use portcullis_protocol::session::{Changed, Lines, Matched, Touched};
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
        "matched": all_matched(changed.matched.as_slice()),
        "matched_cut": changed.matched_cut,
    })
}

/// A change set that was made: `diff` when the difference is UTF-8, else `diff_bytes`.
pub fn made(made: &Made) -> Value {
    let mut fields = object(changed(&made.changed));
    fields.insert("diff_cut".to_owned(), made.changed.diff_cut.into());
    put_content(&mut fields, "diff", &made.diff);
    Value::Object(fields)
}

/// What a change set would do: `diff` when the difference is UTF-8, else `diff_bytes`.
pub fn planned(plan: &Plan) -> Value {
    let mut fields = object(json!({
        "touched": all_touched(plan.planned.touched.as_slice()),
        "matched": all_matched(plan.planned.matched.as_slice()),
        "matched_cut": plan.planned.matched_cut,
        "diff_cut": plan.planned.diff_cut,
    }));
    put_content(&mut fields, "diff", &plan.diff);
    Value::Object(fields)
}

pub(super) fn all_touched(touched_: &[Touched]) -> Vec<Value> {
    touched_.iter().map(touched).collect()
}

fn all_matched(places: &[Matched]) -> Vec<Value> {
    places.iter().map(matched).collect()
}

/// Where an edit matched: the change and its edit, both from 0, the tier, and the lines.
fn matched(place: &Matched) -> Value {
    json!({
        "change": place.change,
        "edit": place.edit,
        "tier": place.tier.name(),
        "old": lines(place.old),
        "new": lines(place.new),
    })
}

fn lines(lines: Lines) -> Value {
    json!({ "first": lines.first, "count": lines.count })
}

/// A part of a file as it is now, its lines with their labels.
pub fn excerpt(excerpt: &Excerpt) -> Value {
    json!({
        "first_line": excerpt.region.first_line,
        "total_lines": excerpt.region.total_lines,
        "blake3": hex(&excerpt.region.digest.0),
        "lines": labelled(excerpt.lines()),
    })
}

/// Lines with their labels: `text` without its terminator when it is UTF-8, else `text_bytes`.
pub fn labelled(lines: Vec<Labelled<'_>>) -> Value {
    let one = |line: Labelled<'_>| {
        let mut fields = object(json!({ "label": line.label.to_string() }));
        put_content(&mut fields, "text", line.body());
        Value::Object(fields)
    };
    lines.into_iter().map(one).collect()
}

/// One name a change set touches.
pub fn touched(touched: &Touched) -> Value {
    let mut fields = object(json!({
        "verb": touched.verb.name(),
        "root": touched.root.0,
        "role": touched.role().name(),
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
