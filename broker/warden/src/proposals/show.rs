//! What of a proposal is shown to whoever decides.

use super::{Asker, Proposals, Sees, Standing, unknown};
use crate::effect::encoded;
use portcullis_protocol::approval::{Bound, ProposalId, ProposalState};
use portcullis_protocol::authority::Authority;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::control::{ProposalRecord, ProposalSummary, RootPlace};
use portcullis_protocol::ledger::Asked;
use portcullis_protocol::limits::{BODY_BYTES_MAX, CONTENT_BYTES_MAX, PROPOSALS_PAGE_MAX};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Touched;
use portcullis_protocol::view::RootIndex;

/// Bytes that numbers and states may take more than they do when a proposal is made.
const GROWS: usize = 64;

impl Standing {
    const fn state(self) -> ProposalState {
        match self {
            Self::Pending => ProposalState::Pending,
            Self::Approved(_) | Self::Used(_) => ProposalState::Approved,
        }
    }
}

impl super::Proposal {
    fn summary(&self) -> ProposalSummary {
        ProposalSummary {
            state: self.standing.state(),
            ..self.record.summary.clone()
        }
    }
}

impl Proposals {
    /// A page of those that wait, the oldest first.
    pub(crate) fn list(&self, sees: Sees, after: u64) -> Vec<ProposalSummary> {
        let table = self.table();
        let later = table.waiting.range(ProposalId(after.saturating_add(1))..);
        later
            .filter(|(_, proposal)| sees.shows(&proposal.reviewing))
            .map(|(_, proposal)| proposal.summary())
            .take(PROPOSALS_PAGE_MAX)
            .collect()
    }

    /// One that waits, whole, and its difference.
    pub(crate) fn show(
        &self,
        sees: Sees,
        id: ProposalId,
    ) -> Result<(ProposalRecord, Vec<u8>), Refusal> {
        let table = self.table();
        let found = table.waiting.get(&id);
        let proposal = found
            .filter(|proposal| sees.shows(&proposal.reviewing))
            .ok_or_else(unknown)?;
        let record = ProposalRecord {
            summary: proposal.summary(),
            approver: match proposal.standing {
                Standing::Pending => None,
                Standing::Approved(approver) | Standing::Used(approver) => Some(approver),
            },
            ..proposal.record.clone()
        };
        Ok((record, proposal.diff.clone()))
    }

    /// Of which connection it is and who decides, if it waits and is seen.
    pub(crate) fn reviewing(&self, sees: Sees, id: ProposalId) -> Option<super::Reviewing> {
        let table = self.table();
        let reviewing = table.waiting.get(&id)?.reviewing;
        sees.shows(&reviewing).then_some(reviewing)
    }
}

impl Proposals {
    /// Whether one that waits no longer was seen.
    pub(crate) fn saw(&self, sees: Sees, id: ProposalId) -> bool {
        let table = self.table();
        let mut gone = table.gone.iter();
        gone.any(|(is, reviewing)| *is == id && sees.shows(reviewing))
    }
}

/// What is shown of a proposal that is made, and as much of its difference as one frame holds with
/// it. Nobody decides about names that they cannot be shown, so that too many of them are refused.
pub(super) fn record(
    asker: &Asker,
    authority: &Authority,
    asked: &Asked,
    (bound, diff): (&Bound, &[u8]),
    (at_ms, expires_ms): (u64, u64),
) -> Result<(ProposalRecord, Vec<u8>), Refusal> {
    let parts = authority.parts();
    let touched: Vec<Touched> = bound
        .intent
        .steps
        .as_slice()
        .iter()
        .map(|step| step.touched.clone())
        .collect();
    let first = touched.first().map(|touched| place(authority, touched));
    let mut record = ProposalRecord {
        summary: ProposalSummary {
            id: ProposalId(0),
            session: asker.session,
            state: ProposalState::Pending,
            verb: bound.verb,
            place: first.unwrap_or_else(RelPath::root),
            names: u32::try_from(touched.len()).unwrap_or(u32::MAX),
            at_ms,
            expires_ms,
        },
        run: asker.run,
        request: parts.request.clone(),
        owner: parts.owner.clone(),
        conversation: parts.conversation.clone(),
        roots: roots(authority, &touched),
        touched: Few::new(touched).unwrap_or_default(),
        lost: bound.lost,
        rule: bound.rule.clone(),
        input: asked.input,
        diff_cut: bound.diff_cut,
        approver: None,
    };
    let room = BODY_BYTES_MAX.checked_sub(encoded(&record) + GROWS);
    let room = room.ok_or_else(|| {
        let note = "the names it touches are too many or too long to be shown to whoever decides";
        Refusal::new(Code::OutOfBudget).of(bound.verb).noting(note)
    })?;
    let shown = whole_lines(diff, room.min(CONTENT_BYTES_MAX));
    let cut = u64::try_from(diff.len() - shown.len()).unwrap_or(u64::MAX);
    record.diff_cut = record.diff_cut.saturating_add(cut);
    Ok((record, shown.to_vec()))
}

/// The roots that these names are below, each once.
fn roots<const MAX: usize>(authority: &Authority, touched: &[Touched]) -> Few<RootPlace, MAX> {
    let mut used: Vec<RootIndex> = touched.iter().map(|touched| touched.root).collect();
    used.sort_unstable();
    used.dedup();
    let places = used.into_iter().filter_map(|index| authority.root(index));
    let places = places.map(|root| RootPlace {
        label: root.label.clone(),
        location: root.location.clone(),
    });
    Few::new(places.collect()).unwrap_or_default()
}

/// Where the host has a name; its root where that is longer than any path.
fn place(authority: &Authority, touched: &Touched) -> RelPath {
    let Some(root) = authority.root(touched.root) else {
        return RelPath::root();
    };
    let mut whole = root.location.clone();
    match touched.path.names().try_for_each(|name| whole.push(name)) {
        Ok(()) => whole,
        Err(_) => root.location.clone(),
    }
}

/// As many whole lines as this many bytes hold.
fn whole_lines(text: &[u8], room: usize) -> &[u8] {
    if text.len() <= room {
        return text;
    }
    let fits = text.get(..room).unwrap_or(text);
    let end = fits.iter().rposition(|byte| *byte == b'\n');
    end.and_then(|end| fits.get(..=end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_cut_between_lines() {
        assert_eq!(whole_lines(b"ab\ncd\n", 6), b"ab\ncd\n");
        assert_eq!(whole_lines(b"ab\ncd\n", 5), b"ab\n");
        assert_eq!(whole_lines(b"ab\ncd\n", 2), b"");
    }
}
