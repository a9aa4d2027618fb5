//! Why a call did not do what it was asked: as a text for a model, with a code and a remedy, and as
//! an object beside it for programs.

use crate::failure::Failure;
use crate::name::Names;
use crate::short::short;
use portcullis_client::protocol::refusal::Code;
use portcullis_client::{Changed, Error, json, label, told};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::json;

/// Where a result that waits for an approval says so, for whoever started this server: see
/// `docs/MCP.md`.
pub(crate) const APPROVAL: &str = "portcullis/approval";
/// Where a result that is an error says the same as its text, for programs.
pub(crate) const ERROR: &str = "portcullis/error";

/// How a person can be asked through this client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskBy {
    /// By a request to the client.
    Elicitation,
    /// By an answer that asks back.
    InputRequired,
    /// Not at all.
    None,
}

impl AskBy {
    const fn name(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::InputRequired => "input-required",
            Self::None => "none",
        }
    }
}

impl Failure {
    /// The result of the call.
    pub(crate) fn written(&self, names: &Names, ask_by: AskBy) -> CallToolResult {
        let mut text = self.text(names);
        text.push_str(&format!("\ncode: {}", self.code()));
        let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
        let mut meta = MetaObject::new();
        let said = match self {
            Self::Broker(error) => json::error(error),
            // An argument that is no right one may be as large as a message.
            Self::Arguments(what) | Self::Unshown { what, .. } => json!({
                "changed": Changed::Unchanged.name(),
                "code": self.code(),
                "retryable": false,
                "message": short(what),
            }),
        };
        meta.insert(ERROR.to_owned(), said);
        if let Self::Broker(error) = self
            && let Some(proposal) = error.proposal()
        {
            let approval = json!({ "proposal": proposal.0, "by": ask_by.name() });
            meta.insert(APPROVAL.to_owned(), approval);
        }
        result.meta = Some(meta);
        result
    }

    /// First whether anything was changed, then why, then what would help.
    fn text(&self, names: &Names) -> String {
        match self {
            Self::Arguments(what) | Self::Unshown { what, .. } => {
                format!("nothing was changed: {}", short(what))
            }
            Self::Broker(error) => {
                let mut lines = vec![error.to_string()];
                lines.extend(touched(error, names));
                lines.extend(hint(error, names));
                if let Some(region) = region(error) {
                    lines.push(region);
                }
                lines.join("\n")
            }
        }
    }
}

/// What was seen of each name of an effect that was begun and is not done.
fn touched(error: &Error, names: &Names) -> Vec<String> {
    let Some(changed) = error.receipt() else {
        return Vec::new();
    };
    told::states(changed.touched.as_slice(), names.views())
}

/// What a caller of these tools can do about it.
fn hint(error: &Error, names: &Names) -> Option<String> {
    if let Some(proposal) = error.proposal() {
        return Some(format!(
            "approval {} is needed: {}. Once it is approved, the very same call does it, once. Do \
             something else meanwhile, or ask the user.",
            proposal.0,
            told::to_decide(proposal)
        ));
    }
    let code = error.refusal()?.code;
    if code == Code::NotSeen {
        let seen =
            "read_text_file shows all of it; `overwrite: true` of write_file replaces it unseen";
        Some(seen.to_owned())
    } else if code == Code::NoSuchRoot {
        let all: Vec<String> = names.roots().collect();
        Some(format!("the directories are: {}", all.join(", ")))
    } else if code == Code::NotUnique {
        let more = "give more of the lines around it in oldText, or say in `count` how often it is \
                    meant";
        Some(more.to_owned())
    } else {
        None
    }
}

/// The part of the file that decided, each line behind its label.
fn region(error: &Error) -> Option<String> {
    let region = error.region()?;
    let lines = region.lines();
    let (first, last) = (lines.first()?.label.line, lines.last()?.label.line);
    let total = region.region.total_lines;
    let shown = label::shown(lines);
    Some(format!(
        "lines {first} to {last} of {total} as they are now, each behind its label:\n{}",
        String::from_utf8_lossy(&shown)
    ))
}
