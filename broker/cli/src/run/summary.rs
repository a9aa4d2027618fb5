//! What a run says at its end: what was done, what was changed, what was refused and by which rule.

use super::asked::Asked;
use super::boundaries;
use super::record::Record;
use super::tally::{done, tally_json, together};
use crate::args::Ending;
use crate::reach::SealedRoot;
use crate::say;
use crate::words::counted;
use crate::worker::Report;
use portcullis_protocol::control::{Minted, Over, OverCause};
use portcullis_protocol::ledger::{CageReport, RefusalNote, Tally};
use portcullis_protocol::path::escape;
use portcullis_protocol::refusal::{Code, Refusal};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Runtime directories that every worker reads directly.
const RUNTIME: [&str; 4] = ["/usr", "/bin", "/sbin", "/lib"];

/// Everything there is to say.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(super) command: Vec<OsString>,
    pub(super) code: u8,
    pub(super) roots: Vec<SealedRoot>,
    /// Roots that became subtrees of others, in words.
    pub(super) merged: Vec<String>,
    pub(super) runtime: Vec<PathBuf>,
    pub(super) minted: Minted,
    pub(super) report: Report,
    pub(super) asked: Asked,
    pub(super) over: Option<Over>,
    /// Ends of sessions that were delegated from it.
    pub(super) within: Vec<Over>,
    pub(super) record: Record,
    pub(super) troubles: Vec<String>,
}

/// Equal refusals, counted.
struct Refused<'a> {
    note: &'a RefusalNote,
    times: u64,
}

impl Summary {
    /// The command's exit code.
    pub(super) const fn code(&self) -> u8 {
        self.code
    }

    /// Writes it to standard error.
    pub(super) fn print(&self, ending: Ending) {
        match ending {
            // Something that did not work is not a summary.
            Ending::Quiet => {
                let mut lines = self.record.doubts();
                lines.extend(self.troubles.iter().cloned());
                self.print_lines(&lines);
            }
            // A line of its own, also when the command did not end its last one.
            Ending::Json => say::err(format_args!("\n{}", self.json())),
            Ending::Summary => self.print_lines(&self.lines()),
            Ending::Verbose => {
                let mut lines = self.lines();
                lines.extend(self.boundary_lines());
                self.print_lines(&lines);
            }
        }
    }

    fn print_lines(&self, lines: &[String]) {
        for line in lines {
            say::err(format_args!("portcullis: {line}"));
        }
    }

    /// What the session did, and those within it as far as they could say.
    fn tally(&self) -> Option<Tally> {
        let first = self.over.as_ref()?.tally?;
        let within = self.within.iter().filter_map(|over| over.tally);
        Some(within.fold(first, together))
    }

    /// The ends that are known.
    fn overs(&self) -> impl Iterator<Item = &Over> {
        self.over.iter().chain(&self.within)
    }

    fn refusals(&self) -> Vec<Refused<'_>> {
        let mut all: Vec<Refused<'_>> = Vec::new();
        for note in self.overs().flat_map(|over| over.refusals.as_slice()) {
            match all.iter_mut().find(|known| known.note == note) {
                Some(known) => known.times += 1,
                None => all.push(Refused { note, times: 1 }),
            }
        }
        all
    }

    /// Refusals that were counted but not told one by one.
    fn refusals_left_out(&self) -> u64 {
        let told: usize = self
            .overs()
            .map(|over| over.refusals.as_slice().len())
            .sum();
        self.tally().map_or(0, |tally| {
            tally
                .refused
                .saturating_sub(told.try_into().unwrap_or(u64::MAX))
        })
    }

    fn lines(&self) -> Vec<String> {
        let changed = self.record.headline();
        let mut lines = vec![match self.tally() {
            Some(tally) => format!("{changed}; {}", done(&tally)),
            None => format!(
                "{changed}; how much was read is not known, because the session ended before it \
                 could be told"
            ),
        }];
        lines.extend(self.record.lines());
        lines.extend(self.asked.lines());
        for refused in self.refusals() {
            lines.push(refusal_line(&refused));
        }
        match self.refusals_left_out() {
            0 => {}
            more => lines.push(format!("and {more} more refusals, which were not kept")),
        }
        if let Some(over) = &self.over {
            lines.extend(over_line(over));
        }
        let silent = self.within.iter().filter(|over| over.tally.is_none());
        match u64::try_from(silent.count()).unwrap_or(u64::MAX) {
            0 => {}
            count => lines.push(format!(
                "what {} within it did is not counted here: ended before it could be told",
                counted(count, "session")
            )),
        }
        lines.extend(self.merged.iter().cloned());
        for (label, path) in self.readable_directly() {
            lines.push(format!(
                "root `{label}` and the runtime path {path} overlap: the worker could read what is \
                 in both directly, without its session"
            ));
        }
        lines.extend(self.troubles.iter().cloned());
        lines
    }

    fn boundary_lines(&self) -> Vec<String> {
        let enforced = boundaries::enforced(&self.report);
        let gaps = boundaries::gaps(&self.report);
        let kept = enforced
            .iter()
            .map(|b| format!("kept out: {} ({}; {})", b.what, b.name, b.by));
        let open = gaps
            .iter()
            .map(|gap| format!("not kept out: {} ({})", gap.what, gap.name));
        kept.chain(open).collect()
    }

    /// Roots that overlap what the worker reads without a session.
    fn readable_directly(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let given = self.runtime.iter().map(PathBuf::as_path);
        for path in RUNTIME.iter().map(Path::new).chain(given) {
            let Ok(runtime) = path.canonicalize() else {
                continue;
            };
            for root in &self.roots {
                let place = root.location();
                let entry = (
                    root.label.to_string(),
                    escape(runtime.as_os_str().as_bytes()),
                );
                let overlaps = place.starts_with(&runtime) || runtime.starts_with(&place);
                if overlaps && !found.contains(&entry) {
                    found.push(entry);
                }
            }
        }
        found
    }

    fn json(&self) -> Value {
        let refusals: Vec<Value> = self.refusals().iter().map(refusal_json).collect();
        let boundaries: Vec<Value> = boundaries::enforced(&self.report)
            .iter()
            .map(|b| json!({"name": b.name, "what": b.what, "by": b.by, "state": "enforced"}))
            .collect();
        let gaps: Vec<Value> = boundaries::gaps(&self.report)
            .iter()
            .map(|gap| json!({"name": gap.name, "what": gap.what}))
            .collect();
        let direct: Vec<Value> = self
            .readable_directly()
            .into_iter()
            .map(|(label, path)| json!({"root": label, "runtime": path}))
            .collect();
        json!({
            "version": 1,
            "command": self.command.iter().map(|c| escape(c.as_bytes())).collect::<Vec<_>>(),
            "exit_code": self.code,
            "changed": self.record.changed(),
            "changes": self.record.json(),
            "session": self.minted.session.0,
            "ended": self.over.as_ref().map(|over| cause_name(over.cause)),
            "note": self.over.as_ref().and_then(|o| o.note.as_ref()).map(ToString::to_string),
            "sessions_within": self.within.len(),
            "did": self.tally().map(|tally| tally_json(&tally)),
            "proposals": self.asked.json(),
            "refusals": refusals,
            "refusals_left_out": self.refusals_left_out(),
            "roots": self.roots.iter().map(root_json).collect::<Vec<_>>(),
            "merged": self.minted.merged.as_slice().iter().map(|merged| json!({
                "inner": merged.inner.0, "outer": merged.outer.0,
                "prefix": merged.prefix.to_string(),
            })).collect::<Vec<_>>(),
            "readable_directly": direct,
            "boundaries": boundaries,
            "gaps": gaps,
            "gate": gate_json(&self.minted.cage),
            "worker": report_json(&self.report),
            "troubles": self.troubles,
        })
    }
}

/// The words of a refusal are the protocol's own, but for its remedy: that is told to workers, and
/// who reads this has the command line.
fn refusal_line(refused: &Refused<'_>) -> String {
    let note = refused.note;
    let text = Refusal::new(note.code).to_string();
    let said = text.strip_prefix("nothing was changed: ").unwrap_or(&text);
    let said = match (note.code, &note.rule) {
        // Every denial has a rule; what has none was refused by whoever decided about it.
        (Code::Denied, None) => "whoever decided about it refused it",
        (_, _) => said.split("; ").next().unwrap_or(said),
    };
    let mut line = String::new();
    if let Some(verb) = note.verb {
        line.push_str(&format!("{verb} "));
    }
    if let Some(object) = &note.object {
        line.push_str(&format!("`{}` ", escape(object.as_slice())));
    }
    line.push_str(&format!("refused: {said}"));
    if let Some(rule) = &note.rule {
        line.push_str(&format!(" (rule {rule}"));
        if rule.as_str().starts_with("builtin:") {
            line.push_str(&format!("; to allow it: --except {rule}"));
        }
        line.push(')');
    }
    if matches!(note.code, Code::Escape | Code::NoSuchRoot) {
        line.push_str(" (to allow it: --read its directory)");
    }
    match refused.times {
        1 => line,
        times => format!("{times} times: {line}"),
    }
}

fn refusal_json(refused: &Refused<'_>) -> Value {
    let note = refused.note;
    json!({
        "verb": note.verb.map(|verb| verb.name()),
        "object": note.object.as_ref().map(|object| escape(object.as_slice())),
        "code": note.code.name(),
        "rule": note.rule.as_ref().map(ToString::to_string),
        "times": refused.times,
    })
}

fn over_line(over: &Over) -> Option<String> {
    let line = match over.cause {
        OverCause::WorkerLeft => None,
        OverCause::WorkerMisbehaved => Some("the worker broke the protocol or did not read"),
        OverCause::Revoked => Some("the session was ended before its gate could take its leave"),
        OverCause::GateDied => Some("the gate died; what it had been asked was not answered"),
    };
    match (line, &over.note) {
        (None, None) => None,
        (Some(line), None) => Some(line.to_owned()),
        (Some(line), Some(note)) => Some(format!("{line}: {note}")),
        (None, Some(note)) => Some(note.to_string()),
    }
}

const fn cause_name(cause: OverCause) -> &'static str {
    match cause {
        OverCause::WorkerLeft => "worker_left",
        OverCause::WorkerMisbehaved => "worker_misbehaved",
        OverCause::Revoked => "revoked",
        OverCause::GateDied => "gate_died",
    }
}

fn root_json(root: &SealedRoot) -> Value {
    json!({
        "id": root.sealed.root.0,
        "label": root.label.as_str(),
        "verbs": root.verbs.iter().map(|verb| verb.name()).collect::<Vec<_>>(),
        "given": escape(root.given.as_os_str().as_bytes()),
        "location": escape(root.location().as_os_str().as_bytes()),
    })
}

fn gate_json(cage: &CageReport) -> Value {
    json!({
        "landlock_abi": cage.landlock_abi,
        "landlock_handled": cage.landlock_handled,
        "landlock_rules": cage.landlock_rules,
        "seccomp_mode": cage.seccomp_mode,
        "no_new_privs": cage.no_new_privs,
        "capabilities": cage.capabilities,
        "user": cage.user,
        "group": cage.group,
        "probes_made": cage.probes_made,
        "probes_refused": cage.probes_refused,
    })
}

fn report_json(report: &Report) -> Value {
    json!({
        "landlock_abi": report.landlock_abi,
        "landlock_handled": report.landlock_handled,
        "landlock_rules": report.landlock_rules,
        "runtime_absent": report.runtime_absent,
        "seccomp_instructions": report.seccomp_instructions,
        "seccomp_mode": report.seccomp_mode,
        "no_new_privs": report.no_new_privs,
        "capabilities": report.capabilities,
        "probes_made": report.probes.len(),
    })
}
