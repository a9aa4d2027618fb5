//! What a client is shown of a proposal: what the broker says of it, never what the server says.
//! It is bounded, because it is shown in a dialogue; what is left out is counted, and said to be
//! in `portcullis review`.

use crate::review::show;
use crate::words::counted;
use portcullis_client::Proposal;
use portcullis_protocol::approval::ProposalId;

/// Lines of names that are shown.
const NAMES_MAX: usize = 10;
/// Lines of the difference that are shown.
const LINES_MAX: usize = 40;
/// Characters of a line that are shown.
const CHARACTERS_MAX: usize = 160;

/// Whether `portcullis review` reaches the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp) enum Review {
    Reaches,
    /// The broker is inside this process.
    DoesNot,
}

/// The question about a proposal.
pub(super) fn text(proposal: &Proposal, review: Review) -> String {
    let ProposalId(id) = proposal.record.summary.id;
    let shown = show::parts(proposal);
    let mut text = Text {
        lines: vec![
            "May this happen, once, exactly as it is here?".to_owned(),
            shown.because,
        ],
        whole: Whole::Yes,
    };
    text.push(shown.names, NAMES_MAX, "name");
    text.lines.push(shown.lost);
    text.push(shown.difference, LINES_MAX, "line");
    if let Some(cut) = shown.cut {
        text.whole = Whole::No;
        text.lines.push(cut);
    }
    text.lines.push(match (text.whole, review) {
        (Whole::Yes, Review::Reaches) => {
            format!("(proposal {id}; `portcullis review show {id}` shows the same)")
        }
        (Whole::Yes, Review::DoesNot) => format!("(proposal {id})"),
        (Whole::No, Review::Reaches) => format!(
            "THIS IS NOT ALL OF IT. `portcullis review show {id}` shows the rest; look before you \
             decide."
        ),
        (Whole::No, Review::DoesNot) => {
            "THIS IS NOT ALL OF IT, and nothing shows the rest: the broker is inside this process."
                .to_owned()
        }
    });
    text.lines.join("\n")
}

/// What is shown so far.
struct Text {
    lines: Vec<String>,
    whole: Whole,
}

/// Whether everything is shown.
enum Whole {
    Yes,
    No,
}

impl Text {
    /// The first of them, each shortened, and how many are left out.
    fn push(&mut self, all: Vec<String>, max: usize, what: &str) {
        let more = all.len().saturating_sub(max);
        for line in all.into_iter().take(max) {
            let line = self.short(line);
            self.lines.push(line);
        }
        if more > 0 {
            self.whole = Whole::No;
            let more = counted(u64::try_from(more).unwrap_or(u64::MAX), what);
            self.lines
                .push(format!("  … and {more} more, which are not shown here"));
        }
    }

    fn short(&mut self, line: String) -> String {
        match line.char_indices().nth(CHARACTERS_MAX) {
            None => line,
            Some((at, _)) => {
                self.whole = Whole::No;
                let left = line.get(at..).unwrap_or_default().chars().count();
                let left = counted(u64::try_from(left).unwrap_or(u64::MAX), "character");
                format!("{}… ({left} more)", line.get(..at).unwrap_or_default())
            }
        }
    }
}
