//! What a run's worker asked a person for, as it stands when the command has ended.

use portcullis_client::{Control, Error, json};
use portcullis_protocol::approval::{Approval, Approver, ProposalState};
use portcullis_protocol::control::{ProposalSummary, Whose};
use portcullis_protocol::path::escape;
use serde_json::Value;

/// What waited for a decision or for its use. It is void once the session has ended.
#[derive(Debug)]
pub(super) struct Asked {
    told: Result<Vec<ProposalSummary>, Error>,
}

impl Asked {
    /// Asks for it. It must be asked before the session ends.
    pub(super) fn of(control: &mut Control) -> Self {
        Self { told: all(control) }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        match &self.told {
            Ok(waiting) => waiting.iter().map(line).collect(),
            Err(error) => vec![format!(
                "what waited for a decision is not known: {}",
                error.code()
            )],
        }
    }

    /// Proposals as documents; null when they are not known.
    pub(super) fn json(&self) -> Value {
        match &self.told {
            Ok(waiting) => waiting.iter().map(json::summary).collect(),
            Err(_) => Value::Null,
        }
    }
}

/// Page by page.
fn all(control: &mut Control) -> Result<Vec<ProposalSummary>, Error> {
    let mut all: Vec<ProposalSummary> = Vec::new();
    loop {
        let after = all.last().map_or(0, |last| last.id.0);
        let page = control.proposals(Whose::Own, after)?;
        // A peer that gives no later ones would be asked for ever.
        if page.last().is_none_or(|last| last.id.0 <= after) {
            return Ok(all);
        }
        all.extend(page);
    }
}

fn line(waiting: &ProposalSummary) -> String {
    let place = escape(&[b"/", waiting.place.as_bytes()].concat());
    let more = match waiting.names {
        0 | 1 => String::new(),
        names => format!(" and {} more names", names - 1),
    };
    let stood = match waiting.state {
        ProposalState::Pending => "was pending: nobody had decided",
        ProposalState::Approved => "was approved and not used",
        ProposalState::Refused => "was refused",
        ProposalState::Spent => "was used",
        ProposalState::Void => "was void",
    };
    let id = waiting.id.0;
    format!(
        "proposal {id} ({} {place}{more}) {stood}; it ended with the session",
        waiting.verb
    )
}

/// One line for an effect that took an approval.
pub(super) fn approval_line(receipt: u64, approval: &Approval) -> String {
    let by = match approval.approver {
        Approver::Uid(uid) => format!("user {uid}"),
        Approver::SameUid => "same-uid: some process of this user, a person or not".to_owned(),
        Approver::Runtime | Approver::Decider | Approver::Passphrase => {
            approval.approver.name().to_owned()
        }
    };
    format!(
        "by approval of proposal {}: receipt {receipt} (approver: {by})",
        approval.proposal.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_protocol::approval::ProposalId;
    use portcullis_protocol::path::RelPath;
    use portcullis_protocol::session::SessionId;
    use portcullis_protocol::verb::Verb;

    #[test]
    fn what_was_left_undecided_or_unused_is_said_and_no_name_fakes_a_line() {
        let waiting = |state| ProposalSummary {
            id: ProposalId(7),
            session: SessionId(2),
            state,
            verb: Verb::Write,
            place: RelPath::parse(b"home/w/a\nproposal 8").unwrap(),
            names: 3,
            at_ms: 0,
            expires_ms: 0,
        };
        let asked = Asked {
            told: Ok(vec![
                waiting(ProposalState::Pending),
                waiting(ProposalState::Approved),
            ]),
        };
        assert_eq!(
            asked.lines(),
            [
                "proposal 7 (write /home/w/a\\x0aproposal 8 and 2 more names) was pending: nobody \
                 had decided; it ended with the session",
                "proposal 7 (write /home/w/a\\x0aproposal 8 and 2 more names) was approved and not \
                 used; it ended with the session",
            ]
        );
        assert_eq!(asked.json()[1]["state"], "approved");
    }

    #[test]
    fn who_approved_is_said_as_what_it_proves() {
        let by = |approver| {
            approval_line(
                3,
                &Approval {
                    proposal: ProposalId(7),
                    approver,
                },
            )
        };
        assert!(by(Approver::SameUid).contains("a person or not"));
        assert!(by(Approver::Uid(5)).ends_with("(approver: user 5)"));
        assert!(by(Approver::Decider).ends_with("(approver: decider)"));
    }
}
