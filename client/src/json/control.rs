//! Answers of a warden as JSON.

use super::{hex, object, put_name, timestamp};
use portcullis_protocol::control::{Minted, Over, OverCause, Sealed, StatusReport};
use portcullis_protocol::ledger::{CageReport, RefusalNote, Tally};
use serde_json::{Value, json};

/// A sealed root. Its location is a host path: not for workers.
pub fn sealed(sealed: &Sealed) -> Value {
    let mut fields = object(json!({
        "root": sealed.root.0,
        "device": sealed.identity.device,
        "inode": sealed.identity.inode,
        "born": sealed.identity.born.map(timestamp),
    }));
    let mut location = vec![b'/'];
    location.extend_from_slice(sealed.location.as_bytes());
    put_name(&mut fields, "location", &location);
    Value::Object(fields)
}

/// A session that was made.
pub fn minted(minted: &Minted) -> Value {
    let merged: Vec<Value> = minted
        .merged
        .as_slice()
        .iter()
        .map(|merged| {
            let mut fields = object(json!({ "inner": merged.inner.0, "outer": merged.outer.0 }));
            put_name(&mut fields, "path", merged.prefix.as_kernel_bytes());
            Value::Object(fields)
        })
        .collect();
    json!({
        "session": minted.session.0,
        "authority": hex(&minted.authority.0),
        "run": minted.run.0,
        "merged": merged,
        "cage": cage(&minted.cage),
    })
}

/// The cage of a gate, as the gate observed it.
pub fn cage(cage: &CageReport) -> Value {
    json!({
        "whole": cage.is_whole(),
        "landlock_abi": cage.landlock_abi,
        "landlock_handled": format!("{:#x}", cage.landlock_handled),
        "landlock_rules": cage.landlock_rules,
        "seccomp_mode": cage.seccomp_mode,
        "seccomp_digest": hex(&cage.seccomp_digest),
        "no_new_privs": cage.no_new_privs,
        "capabilities": format!("{:#x}", cage.capabilities),
        "dumpable": cage.dumpable,
        "user": cage.user,
        "group": cage.group,
        "probes_refused": cage.probes_refused,
        "probes_made": cage.probes_made,
    })
}

/// A session that is over. `tally` is null when its gate was killed before it could say.
pub fn over(over: &Over) -> Value {
    let refusals: Vec<Value> = over.refusals.as_slice().iter().map(refusal_note).collect();
    json!({
        "session": over.session.0,
        "cause": cause_name(over.cause),
        "tally": over.tally.as_ref().map(tally),
        "refusals": refusals,
        "note": over.note.as_ref().map(|note| note.as_str()),
        "parent": over.parent.map(|parent| parent.0),
    })
}

const fn cause_name(cause: OverCause) -> &'static str {
    match cause {
        OverCause::WorkerLeft => "worker_left",
        OverCause::WorkerMisbehaved => "worker_misbehaved",
        OverCause::Revoked => "revoked",
        OverCause::GateDied => "gate_died",
    }
}

/// A refused request of a session.
pub fn refusal_note(note: &RefusalNote) -> Value {
    let mut fields = object(json!({
        "verb": note.verb.map(|verb| verb.name()),
        "code": note.code.name(),
        "rule": note.rule.as_ref().map(|rule| rule.as_str()),
    }));
    if let Some(name) = &note.object {
        put_name(&mut fields, "object", name.as_slice());
    }
    Value::Object(fields)
}

/// What a session did.
pub fn tally(tally: &Tally) -> Value {
    json!({
        "requests": tally.requests,
        "stats": tally.stats,
        "reads": tally.reads,
        "lists": tally.lists,
        "searches": tally.searches,
        "changes": tally.changes,
        "refused": tally.refused,
        "bytes": tally.bytes,
    })
}

/// What is going on, on a control connection.
pub fn status(report: &StatusReport) -> Value {
    let sessions: Vec<Value> = report
        .sessions
        .as_slice()
        .iter()
        .map(|running| json!({ "session": running.session.0, "gate": running.gate }))
        .collect();
    json!({ "roots": report.roots, "running": report.running, "sessions": sessions })
}
