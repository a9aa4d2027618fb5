//! Intents: begun, amended, found again by the next warden.

use super::{IntentId, Journal, SessionRow, no_session};
use crate::state::chain::{self, Version, encode};
use crate::state::step::Step;
use crate::state::{DATABASE, StateError, count, now_ms, sql};
use portcullis_protocol::approval::{Approval, ProposalId};
use portcullis_protocol::authority::Authority;
use portcullis_protocol::ledger::{Begin, CageReport, Intent, TreeLock};
use portcullis_protocol::session::{Incarnation, SessionId};
use portcullis_protocol::view::Digest;
use rusqlite::Row;

/// By which approval an effect is made, and in which cage: that of a gate of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim<'a> {
    pub(crate) approval: Approval,
    pub(crate) cage: &'a CageReport,
}

/// An intent of an earlier life, with what is needed to settle it.
#[derive(Debug)]
pub(crate) struct OpenIntent {
    pub(crate) id: IntentId,
    pub(crate) session: SessionRow,
    pub(crate) incarnation: Incarnation,
    pub(crate) number: SessionId,
    pub(crate) begin: Begin,
    /// None when it cannot be read.
    pub(crate) authority: Option<Authority>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub(super) began_ms: u64,
    pub(super) request: Digest,
    /// The number of its receipt, when it has one before it ends.
    pub(super) number: Option<u64>,
    pub(super) approval: Option<Approval>,
    /// Where it is not that of the session's gate.
    pub(super) cage: Option<Digest>,
}

/// An intent as it is kept.
struct Kept {
    tree: TreeLock,
    intent: Intent,
    cage: Option<Digest>,
}

impl Kept {
    /// How the trees are held, as a number of its own, what is meant, and the cage.
    fn write(
        tree: TreeLock,
        intent: &Intent,
        cage: Option<Digest>,
        version: Version,
    ) -> Result<Vec<u8>, StateError> {
        match version {
            Version::First => encode(&(tree_number(tree), intent)),
            Version::Second => encode(&(tree_number(tree), intent, cage)),
        }
    }

    fn read(version: Version, bytes: &[u8]) -> Result<Self, StateError> {
        let (tree, intent, cage) = match version {
            Version::First => {
                let (tree, intent): (u8, Intent) = chain::decode(bytes)?;
                (tree, intent, None)
            }
            Version::Second => chain::decode::<(u8, Intent, Option<Digest>)>(bytes)?,
        };
        Ok(Self {
            tree: numbered_tree(tree)?,
            intent,
            cage,
        })
    }
}

const fn tree_number(tree: TreeLock) -> u8 {
    match tree {
        TreeLock::Shared => 0,
        TreeLock::Exclusive => 1,
    }
}

fn numbered_tree(number: u8) -> Result<TreeLock, StateError> {
    match number {
        0 => Ok(TreeLock::Shared),
        1 => Ok(TreeLock::Exclusive),
        _ => Err(StateError::Damaged("no such tree lock".to_owned())),
    }
}

impl Open {
    /// The intent of a session's row, if it has one.
    pub(super) fn load(version: Version, row: &Row<'_>) -> Result<Option<Self>, StateError> {
        let began_ms: Option<i64> = row.get("intent_ms")?;
        let body: Option<Vec<u8>> = row.get("intent")?;
        let (Some(began_ms), Some(body)) = (began_ms, body) else {
            return Ok(None);
        };
        let kept = Kept::read(version, &body)?;
        let claim: Option<i64> = row.get("claim")?;
        let approver: Option<String> = row.get("approver")?;
        let approval = match (claim, approver) {
            (None, _) => None,
            (Some(proposal), Some(approver)) => Some(Approval {
                proposal: ProposalId(count(proposal)),
                approver: chain::text_approver(&approver)?,
            }),
            (Some(_), None) => {
                return Err(StateError::Damaged(
                    "an effect spends a proposal that nobody approved".to_owned(),
                ));
            }
        };
        Ok(Some(Self {
            began_ms: count(began_ms),
            request: kept.intent.request,
            number: None,
            approval,
            cage: kept.cage,
        }))
    }
}

impl Journal {
    pub(in crate::state) fn begin(
        &mut self,
        row: SessionRow,
        begin: &Begin,
        claim: Option<&Claim<'_>>,
    ) -> Result<IntentId, StateError> {
        self.reserve
            .keep(self.open + 1)
            .map_err(|source| StateError::Files {
                path: DATABASE.into(),
                what: "room for the receipt",
                source,
            })?;
        let session = self.sessions.get_mut(&row).ok_or_else(no_session)?;
        if session.open.is_some() {
            return Err(StateError::Damaged("an effect of it is open".to_owned()));
        }
        let cage = claim.map(|claim| chain::cage(claim.cage)).transpose()?;
        let open = Open {
            began_ms: now_ms(),
            request: begin.intent.request,
            number: None,
            approval: claim.map(|claim| claim.approval),
            cage,
        };
        let body = Kept::write(begin.tree, &begin.intent, cage, session.version)?;
        let began = sql(open.began_ms);
        match &open.approval {
            None => {
                self.database
                    .prepare_cached(
                        "UPDATE sessions SET intent_ms = ?2, intent = ?3 WHERE id = ?1",
                    )?
                    .execute((row.0, began, body))?;
            }
            Some(approval) => {
                let step = Step::begin(&mut self.database)?;
                spend(&step, row, approval, began)?;
                step.prepare_cached(
                    "UPDATE sessions SET intent_ms = ?2, intent = ?3, claim = ?4 WHERE id = ?1",
                )?
                .execute((row.0, began, body, sql(approval.proposal.0)))?;
                step.commit()?;
            }
        }
        session.open = Some(open);
        self.open += 1;
        self.checkpoints.committed();
        Ok(IntentId(row))
    }

    /// The trees stay held as they are.
    pub(in crate::state) fn amend(
        &mut self,
        id: IntentId,
        intent: &Intent,
    ) -> Result<(), StateError> {
        let IntentId(row) = id;
        let session = self.sessions.get_mut(&row).ok_or_else(no_session)?;
        let open = session.open.as_mut().ok_or_else(no_intent)?;
        let old: Vec<u8> = self
            .database
            .prepare_cached("SELECT intent FROM sessions WHERE id = ?1")?
            .query_row((row.0,), |row| row.get(0))?;
        let old = Kept::read(session.version, &old)?;
        let body = Kept::write(old.tree, intent, old.cage, session.version)?;
        self.database
            .prepare_cached("UPDATE sessions SET intent = ?2 WHERE id = ?1")?
            .execute((row.0, body))?;
        open.request = intent.request;
        self.checkpoints.committed();
        Ok(())
    }

    /// Gives an open intent the number of its receipt. Numbers are the order of effects on any one
    /// name: whoever gives its locks back before it ends has its number from then.
    pub(in crate::state) fn number(&mut self, id: IntentId) {
        let IntentId(row) = id;
        let next = self.last + 1;
        let session = self.sessions.get_mut(&row);
        if let Some(open) = session.and_then(|session| session.open.as_mut())
            && open.number.is_none()
        {
            open.number = Some(next);
            self.last = next;
        }
    }

    pub(in crate::state) fn open_intents(&self) -> Result<Vec<OpenIntent>, StateError> {
        let mut all = self.database.prepare(
            "SELECT id, intent, authorities.body FROM sessions
             LEFT JOIN authorities ON authorities.authority = sessions.authority
             WHERE ended_ms IS NULL AND intent IS NOT NULL ORDER BY id",
        )?;
        let mut rows = all.query(())?;
        let mut intents = Vec::new();
        while let Some(row) = rows.next()? {
            let session = SessionRow(row.get(0)?);
            let known = self.session(session)?;
            let kept = Kept::read(known.version, &row.get::<_, Vec<u8>>(1)?)?;
            let authority: Option<Vec<u8>> = row.get(2)?;
            intents.push(OpenIntent {
                id: IntentId(session),
                session,
                incarnation: known.incarnation,
                number: known.number,
                begin: Begin {
                    tree: kept.tree,
                    intent: kept.intent,
                },
                authority: authority.and_then(|body| postcard::from_bytes(&body).ok()),
            });
        }
        Ok(intents)
    }
}

pub(super) fn no_intent() -> StateError {
    StateError::Damaged("no effect of it is open".to_owned())
}

/// Uses an approval, in the transaction of what it is used for.
pub(super) fn spend(
    step: &Step<'_>,
    row: SessionRow,
    approval: &Approval,
    at_ms: i64,
) -> Result<(), StateError> {
    let spent = step
        .prepare_cached(
            "UPDATE proposals SET state = 'spent', spent_ms = ?4
             WHERE id = ?1 AND session = ?2 AND approver = ?3 AND state = 'approved'
             AND expires_ms > ?4",
        )?
        .execute((
            sql(approval.proposal.0),
            row.0,
            chain::approver_text(approval.approver),
            at_ms,
        ))?;
    match spent {
        1 => Ok(()),
        _ => Err(StateError::NotApproved {
            proposal: approval.proposal.0,
        }),
    }
}
