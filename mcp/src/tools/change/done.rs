//! What a change did, or would do.

use super::Telling;
use crate::answer::Answer;
use crate::name::Names;
use portcullis_client::change::Changes;
use portcullis_client::protocol::session::{Guarantee, Touched};
use portcullis_client::protocol::view::{Binding, PathState};
use portcullis_client::{Made, Plan, stamp, told};
use serde_json::{Value, json};

pub(super) fn made(made: &Made, changes: &Changes, telling: Telling, names: &Names) -> Answer {
    let changed = &made.changed;
    let touched = changed.touched.as_slice();
    let mut lines = told::done(touched, names.views());
    let mut answer = Answer::line(lines.join("; "));
    if telling == Telling::Difference {
        lines.extend(told::matched(
            changes,
            changed.matched.as_slice(),
            changed.matched_cut,
        ));
    }
    answer.text = lines.join("\n");
    if telling == Telling::Difference {
        difference(&mut answer, &made.diff, changed.diff_cut);
    }
    // A directory that was there already has its receipt, and nothing was changed.
    let changed_one = touched.iter().any(|one| one.before != one.after);
    answer.fact("changed", changed_one);
    answer.fact("files", files(touched, names));
    answer.fact("receipt", changed.receipt.number);
    match changed.guarantee {
        Guarantee::Exact => {}
        Guarantee::Detected | Guarantee::BestEffort => {
            answer.fact("guarantee", changed.guarantee.name());
        }
    }
    if changed.left > 0 {
        answer.notes.push(format!(
            "{} temporary files could not be removed; nobody can name them",
            changed.left
        ));
    }
    answer
}

pub(super) fn planned(plan: &Plan, changes: &Changes, names: &Names) -> Answer {
    let planned = &plan.planned;
    let touched = planned.touched.as_slice();
    let mut lines = vec!["nothing was changed; this would be done:".to_owned()];
    lines.extend(told::done(touched, names.views()));
    let mut answer = Answer::line(lines.join(" "));
    lines.extend(told::matched(
        changes,
        planned.matched.as_slice(),
        planned.matched_cut,
    ));
    answer.text = lines.join("\n");
    difference(&mut answer, &plan.diff, planned.diff_cut);
    answer.fact("changed", false);
    answer.fact("files", files(touched, names));
    answer
}

/// A directory that was there already, and no broker was needed to make it.
pub(super) fn there(binding: &Binding, names: &Names) -> Answer {
    let mut answer = Answer::line(format!("unchanged {}/", names.bound(binding)));
    answer.fact("changed", false);
    answer.fact("files", Vec::<Value>::new());
    answer
}

/// Adds the difference, as one block however many marks stand in it.
fn difference(answer: &mut Answer, diff: &[u8], cut: u64) {
    if !diff.is_empty() {
        let diff = String::from_utf8_lossy(diff);
        answer.text.push_str(&format!("\n\n{}", fenced(&diff)));
    }
    if cut > 0 {
        answer.fact("diffCut", cut);
        answer
            .notes
            .push(format!("the diff is cut: {cut} bytes more"));
    }
}

/// A block of Markdown that the text cannot end.
pub(crate) fn fenced(diff: &str) -> String {
    let longest = diff.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}diff\n{}\n{fence}", diff.trim_end_matches('\n'))
}

/// Each name that was touched, as it is now.
fn files(touched: &[Touched], names: &Names) -> Value {
    touched
        .iter()
        .map(|one| {
            let mut file = json!({
                "path": names.shown(one.root, &one.path),
                "by": one.verb.name(),
            });
            if let Some(fields) = file.as_object_mut() {
                let now = match &one.after {
                    PathState::Absent => "absent",
                    PathState::Unknown => "unknown",
                    PathState::Present(now) => {
                        if let Some(version) = &now.stamp {
                            fields.insert("version".to_owned(), stamp::show(version).into());
                        }
                        now.kind.name()
                    }
                };
                fields.insert("now".to_owned(), now.into());
            }
            file
        })
        .collect()
}
