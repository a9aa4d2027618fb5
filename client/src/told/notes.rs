//! What people should know of a walk: how far it is, what it did not see, and whether it was cut.

use crate::json;
use portcullis_protocol::session::{Completeness, CutReason, Done, Progress, Statistics};

/// What a person should know of how a stream ended. `go_on` is what goes before the cursor that
/// takes it up again, such as `--cursor`.
pub fn notes(done: &Done, go_on: &str) -> Vec<String> {
    let mut notes = Vec::new();
    let passed: Vec<String> = passed_over(&done.statistics)
        .into_iter()
        .map(|(count, reason)| format!("{count} {reason}"))
        .collect();
    if !passed.is_empty() {
        notes.push(format!("passed over: {}", passed.join(", ")));
    }
    if done.statistics.over_file_limit > 0 {
        notes.push(format!(
            "{} matching lines were left out by the limit on one file",
            done.statistics.over_file_limit
        ));
    }
    if done.statistics.rules_left_out > 0 {
        notes.push(format!(
            "{} rules of ignore files were left out: too many, or their file cannot be read",
            done.statistics.rules_left_out
        ));
    }
    if let Completeness::Cut { reason, cursor } = &done.completeness {
        let rest = match cursor {
            Some(cursor) => format!("; go on with {go_on} {}", json::hex(cursor.as_slice())),
            None => String::new(),
        };
        notes.push(format!("incomplete: {}{rest}", cut(*reason)));
    }
    notes
}

/// Why an answer is not whole.
const fn cut(reason: CutReason) -> &'static str {
    match reason {
        CutReason::Limit => "limit reached",
        CutReason::Time => "time is up",
        CutReason::Cancelled => "cancelled",
        CutReason::Changed => "the start changed meanwhile",
    }
}

/// How far a walk is, for people.
pub fn ticked(progress: &Progress) -> String {
    format!(
        "{} files in {} directories, {} MiB read, {} found",
        progress.files,
        progress.directories,
        progress.bytes >> 20,
        progress.sent
    )
}

/// The counts that are not zero, each with its reason.
pub fn passed_over(seen: &Statistics) -> Vec<(u64, &'static str)> {
    [
        (seen.ignored, "ignored"),
        (seen.dot_names, "dot names"),
        (seen.version_control, "directories of version control"),
        (seen.excluded, "excluded by your globs"),
        (seen.denied, "denied by a rule"),
        (seen.temporaries, "temporaries of the broker"),
        (seen.binary, "binary"),
        (seen.too_large, "too large"),
        (seen.unreadable, "unreadable"),
        (seen.not_regular, "links or special files"),
        (seen.mounts, "on other file systems"),
        (seen.changed, "changed meanwhile"),
        (seen.too_deep, "too deep"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_protocol::session::Cursor;

    #[test]
    fn only_what_was_passed_over_is_said_and_a_cut_names_its_cursor() {
        let whole = Done {
            completeness: Completeness::Complete,
            statistics: Statistics::default(),
        };
        assert!(notes(&whole, "--cursor").is_empty());
        let cut = Done {
            completeness: Completeness::Cut {
                reason: CutReason::Limit,
                cursor: Some(Cursor::new(vec![0xab]).unwrap()),
            },
            statistics: Statistics {
                denied: 2,
                ignored: 312,
                dot_names: 4,
                binary: 1,
                ..Statistics::default()
            },
        };
        assert_eq!(
            notes(&cut, "--cursor"),
            [
                "passed over: 312 ignored, 4 dot names, 2 denied by a rule, 1 binary",
                "incomplete: limit reached; go on with --cursor ab",
            ]
        );
    }
}
