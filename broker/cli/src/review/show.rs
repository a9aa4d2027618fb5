//! A proposal as a person reads it: the resolved objects, what would be lost, the difference. A
//! worker chose its names and its content, so that nothing of them reaches the terminal unescaped,
//! and every line of the difference begins with a mark that no other line here has.

use crate::changes::{hex, state};
use crate::diff::tame;
use crate::time::Time;
use crate::words::counted;
use portcullis_client::Proposal;
use portcullis_protocol::approval::{Lost, ProposalId};
use portcullis_protocol::control::{ProposalRecord, ProposalSummary};
use portcullis_protocol::path::{RelPath, escape};
use portcullis_protocol::session::Touched;

/// Before each line of the difference.
const MARK: &str = "  │ ";

/// One line for one proposal.
pub(super) fn line(summary: &ProposalSummary) -> String {
    let ProposalId(id) = summary.id;
    let more = match summary.names {
        0 | 1 => String::new(),
        names => format!(" and {} more", counted(u64::from(names - 1), "name")),
    };
    format!(
        "{id}  {}  {} {}{more}  (session {}, asked {}, void {})",
        summary.state.name(),
        summary.verb,
        absolute(&summary.place),
        summary.session.0,
        Time(summary.at_ms),
        Time(summary.expires_ms)
    )
}

/// What there is to see of a proposal, line by line.
#[derive(Debug)]
pub(crate) struct Parts {
    /// Why it is asked for.
    pub(crate) because: String,
    /// Each name, with what is there and what would be.
    pub(crate) names: Vec<String>,
    /// What would be gone.
    pub(crate) lost: String,
    /// The difference, each line behind the mark.
    pub(crate) difference: Vec<String>,
    /// What of the difference was not kept.
    pub(crate) cut: Option<String>,
}

/// One proposal in parts.
pub(crate) fn parts(proposal: &Proposal) -> Parts {
    let record = &proposal.record;
    let because = match &record.rule {
        Some(rule) => format!("  asked because of rule {}: {}", rule.name, rule.reason),
        None => "  asked because no grant allows it".to_owned(),
    };
    let touched = record.touched.as_slice().iter();
    let shown = String::from_utf8_lossy(&tame(&proposal.diff)).into_owned();
    Parts {
        because,
        names: touched
            .map(|touched| format!("  {}", name(record, touched)))
            .collect(),
        lost: format!("  lost: {}", lost(&record.lost)),
        difference: shown.lines().map(|line| format!("{MARK}{line}")).collect(),
        cut: (record.diff_cut > 0).then(|| {
            let cut = counted(record.diff_cut, "byte");
            format!("  {cut} of the difference are not shown")
        }),
    }
}

/// All of one proposal.
pub(super) fn whole(proposal: &Proposal) -> String {
    let record = &proposal.record;
    let ProposalId(id) = record.summary.id;
    let parts = parts(proposal);
    let mut lines = vec![
        format!(
            "proposal {id}, {}: session {} of run {}, `{}`, for {}",
            record.summary.state.name(),
            record.summary.session.0,
            record.run.0,
            record.request,
            record.owner
        ),
        parts.because,
    ];
    lines.extend(parts.names);
    lines.push(parts.lost);
    lines.push(format!("  input {}", hex(&record.input.0)));
    if let Some(approver) = record.approver {
        lines.push(format!("  decided by {}", approver.name()));
    }
    lines.push(format!("  void {}", Time(record.summary.expires_ms)));
    lines.extend(parts.difference);
    lines.extend(parts.cut);
    lines.join("\n").trim_end().to_owned()
}

fn name(record: &ProposalRecord, touched: &Touched) -> String {
    let root = record.roots.as_slice().get(usize::from(touched.root.0));
    let place = match root {
        Some(root) if touched.path.is_root() => absolute(&root.location),
        Some(root) => format!("{}/{}", absolute(&root.location), touched.path),
        None => format!("#{}/{}", touched.root.0, touched.path),
    };
    let (before, after) = (state(&touched.before), state(&touched.after));
    if touched.before == touched.after {
        format!(
            "{} {place} ({}): {before}",
            touched.verb,
            touched.role().name()
        )
    } else {
        format!(
            "{} {place} ({}): {before} → {after}",
            touched.verb,
            touched.role().name()
        )
    }
}

fn lost(lost: &Lost) -> String {
    if *lost == Lost::default() {
        return "nothing".to_owned();
    }
    format!(
        "{} and {} with {}",
        counted(lost.files, "file"),
        counted(lost.directories, "directory"),
        counted(lost.bytes, "byte")
    )
}

/// An absolute path of the host.
fn absolute(components: &RelPath) -> String {
    escape(&[b"/", components.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_protocol::approval::ProposalState;
    use portcullis_protocol::bounded::{Few, Text};
    use portcullis_protocol::control::{RootPlace, RunId};
    use portcullis_protocol::path::Label;
    use portcullis_protocol::session::SessionId;
    use portcullis_protocol::verb::Verb;
    use portcullis_protocol::view::{Digest, PathState, RootIndex};

    fn proposal(name: &[u8], diff: &[u8]) -> Proposal {
        let path = RelPath::parse(name).unwrap();
        let touched = Touched {
            verb: Verb::Write,
            root: RootIndex(0),
            path: path.clone(),
            before: PathState::Absent,
            after: PathState::Unknown,
        };
        Proposal {
            record: ProposalRecord {
                summary: ProposalSummary {
                    id: ProposalId(7),
                    session: SessionId(3),
                    state: ProposalState::Pending,
                    verb: Verb::Write,
                    place: path,
                    names: 1,
                    at_ms: 0,
                    expires_ms: 0,
                },
                run: RunId(1),
                request: Text::plain("work"),
                owner: Text::plain("user"),
                conversation: Text::default(),
                roots: Few::new(vec![RootPlace {
                    label: Label::new("workspace").unwrap(),
                    location: RelPath::parse(b"home/user/w").unwrap(),
                }])
                .unwrap(),
                touched: Few::new(vec![touched]).unwrap(),
                lost: Lost::default(),
                rule: None,
                input: Digest([0x1d; 32]),
                diff_cut: 0,
                approver: None,
            },
            diff: diff.to_vec(),
        }
    }

    #[test]
    fn the_resolved_object_is_named_by_its_place_on_the_host() {
        let text = whole(&proposal(b"src/a.rs", b"+x\n"));
        assert!(
            text.contains("write /home/user/w/src/a.rs (target): nothing"),
            "{text}"
        );
        assert!(text.contains("lost: nothing"), "{text}");
        assert!(text.contains("  │ +x"), "{text}");
    }

    #[test]
    fn no_name_and_no_content_fakes_another_line_or_orders_the_terminal_about() {
        let name = b"a\nproposal 8, approved: x\r\x1b[2Jb\xe2\x80\xae";
        let diff = b"+one\n  lost: nothing\n\x1b[1;1Hproposal 9\n\x9b2J\xff\n";
        let (text, plain) = (whole(&proposal(name, diff)), whole(&proposal(b"a", b"")));
        let odd = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!text.chars().any(odd), "{text:?}");
        let framed = text.lines().filter(|line| line.starts_with(MARK)).count();
        assert_eq!(framed, 4, "{text}");
        // Beside the difference it has the lines that any proposal of one name has.
        assert_eq!(
            text.lines().count() - framed,
            plain.lines().count(),
            "{text}"
        );
        let line = line(&proposal(name, diff).record.summary);
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}
