//! Proposals, decisions and tasks as JSON.

use super::change::all_touched;
use super::{hex, object, put_content, put_name, rule};
use crate::control::Proposal;
use portcullis_protocol::approval::{Approver, Lost};
use portcullis_protocol::control::{Decided, ProposalSummary, RootPlace, TaskSealed};
use portcullis_protocol::path::RelPath;
use serde_json::{Value, json};

/// A proposal in a line. Its place is a host path: not for workers.
pub fn summary(summary: &ProposalSummary) -> Value {
    let mut fields = object(json!({
        "proposal": summary.id.0,
        "session": summary.session.0,
        "state": summary.state.name(),
        "verb": summary.verb.name(),
        "names": summary.names,
        "at_ms": summary.at_ms,
        "expires_ms": summary.expires_ms,
    }));
    put_name(&mut fields, "place", &absolute(&summary.place));
    Value::Object(fields)
}

/// A proposal, whole: `diff` when the difference is UTF-8, else `diff_bytes`. Its places are host
/// paths: not for workers.
pub fn proposal(proposal: &Proposal) -> Value {
    let record = &proposal.record;
    let roots: Vec<Value> = record.roots.as_slice().iter().map(root).collect();
    let mut fields = object(summary(&record.summary));
    fields.extend(object(json!({
        "run": record.run.0,
        "request": record.request.as_str(),
        "owner": record.owner.as_str(),
        "conversation": record.conversation.as_str(),
        "roots": roots,
        "touched": all_touched(record.touched.as_slice()),
        "lost": lost(&record.lost),
        "rule": record.rule.as_ref().map(rule),
        "input": hex(&record.input.0),
        "approver": record.approver.map(approver),
        "diff_cut": record.diff_cut,
    })));
    put_content(&mut fields, "diff", &proposal.diff);
    Value::Object(fields)
}

fn root(root: &RootPlace) -> Value {
    let mut fields = object(json!({ "label": root.label.as_str() }));
    put_name(&mut fields, "location", &absolute(&root.location));
    Value::Object(fields)
}

fn absolute(components: &RelPath) -> Vec<u8> {
    [b"/", components.as_bytes()].concat()
}

fn lost(lost: &Lost) -> Value {
    json!({ "files": lost.files, "directories": lost.directories, "bytes": lost.bytes })
}

/// Who decided; `uid` is there for a process of another user.
pub fn approver(approver: Approver) -> Value {
    let mut fields = object(json!({ "as": approver.name() }));
    if let Approver::Uid(uid) = approver {
        fields.insert("uid".to_owned(), uid.into());
    }
    Value::Object(fields)
}

/// A decision.
pub fn decided(decided: &Decided) -> Value {
    json!({ "state": decided.state.name(), "approver": approver(decided.approver) })
}

/// A task that is kept.
pub fn task_sealed(sealed: &TaskSealed) -> Value {
    json!({ "task": hex(&sealed.task.0) })
}
