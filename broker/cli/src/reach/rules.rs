//! Rules of the command line, and what rules of a policy are about.

use super::{REASON, ReachError, Rule};
use crate::policy::PolicyTarget;
use portcullis_protocol::authority::Effect;
use portcullis_protocol::limits::REASON_BYTES_MAX;
use portcullis_protocol::path::escape;
use portcullis_protocol::verb::VerbSet;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A pattern that can mean something: one that cannot would match nothing, and what it was meant
/// for would stay open.
pub(crate) fn pattern_bytes(pattern: &[u8]) -> Result<Vec<u8>, &'static str> {
    let odd = |name: &[u8]| matches!(name, b"" | b"." | b"..");
    if pattern.split(|byte| *byte == b'/').any(odd) {
        return Err(
            "a pattern is names joined by single slashes, without `.` or `..`; with a slash it \
             begins at the first root; a directory covers what is below it",
        );
    }
    Ok(pattern.to_vec())
}

pub(super) fn object(rule: &Rule, path: &Path) -> Result<OwnedFd, ReachError> {
    use rustix::fs::{Mode, OFlags};
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(|errno| {
        ReachError::Object {
            rule: rule.name.clone(),
            object: escape(path.as_os_str().as_bytes()),
            source: errno.into(),
        }
    })
}

pub(super) fn rules(
    option: &'static str,
    effect: Effect,
    patterns: &[std::ffi::OsString],
) -> Result<Vec<Rule>, ReachError> {
    let rule = |given: &std::ffi::OsString| {
        let shown = escape(given.as_bytes());
        let name = format!("{option} {shown}");
        let refuse = |why: String| ReachError::Pattern {
            option,
            pattern: shown.clone(),
            why,
        };
        let pattern = pattern_bytes(given.as_bytes()).map_err(|why| refuse(why.to_owned()))?;
        if name.len() > REASON_BYTES_MAX {
            return Err(refuse(format!("longer than {REASON_BYTES_MAX} bytes")));
        }
        Ok(Rule {
            option,
            name,
            reason: REASON.to_owned(),
            effect,
            // People who want to be asked want to be asked about changes.
            verbs: match effect {
                Effect::Ask => VerbSet::WRITING,
                Effect::Deny | Effect::Hide => VerbSet::ALL,
            },
            target: PolicyTarget::Pattern { root: 0, pattern },
        })
    };
    patterns.iter().map(rule).collect()
}
