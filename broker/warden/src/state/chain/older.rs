//! Receipts of version 1, as they were encoded. Never changed.

use super::{Body as Now, Unsaid};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::control::{RunId, Witness};
use portcullis_protocol::ledger::Finish as FinishNow;
use portcullis_protocol::limits::{PATH_BYTES_MAX, REASON_BYTES_MAX};
use portcullis_protocol::refusal::{Code, Refusal as RefusalNow, Rule};
use portcullis_protocol::session::{
    Guarantee, Incarnation, Outcome, SessionId, TOUCHED_MAX, Touched,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, Stamp};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Body {
    number: u64,
    incarnation: Incarnation,
    session: SessionId,
    run: RunId,
    began_ms: u64,
    at_ms: u64,
    witness: Witness,
    request: Digest,
    end: Finish,
    diff: (u32, Digest),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Finish {
    outcome: Outcome,
    guarantee: Guarantee,
    touched: Few<Touched, TOUCHED_MAX>,
    refusal: Option<Refusal>,
    left: u32,
    diff_cut: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Refusal {
    code: Code,
    verb: Option<Verb>,
    object: Option<Bytes<PATH_BYTES_MAX>>,
    rule: Option<Rule>,
    note: Option<Text<REASON_BYTES_MAX>>,
    current: Option<Box<Stamp>>,
}

impl Body {
    pub(super) fn with(self, unsaid: Unsaid) -> Now {
        let end = self.end;
        Now {
            number: self.number,
            incarnation: self.incarnation,
            session: self.session,
            run: self.run,
            authority: unsaid.authority,
            previous: unsaid.previous,
            cage: Digest([0; 32]),
            approval: None,
            began_ms: self.began_ms,
            at_ms: self.at_ms,
            witness: self.witness,
            request: self.request,
            end: FinishNow {
                outcome: end.outcome,
                guarantee: end.guarantee,
                touched: end.touched,
                refusal: end.refusal.map(|refusal| RefusalNow {
                    code: refusal.code,
                    verb: refusal.verb,
                    object: refusal.object,
                    rule: refusal.rule,
                    note: refusal.note,
                    current: refusal.current,
                    proposal: None,
                }),
                left: end.left,
                diff_cut: end.diff_cut,
            },
            diff: self.diff,
        }
    }

    pub(super) fn of(now: &Now) -> Self {
        let end = now.end.clone();
        Self {
            number: now.number,
            incarnation: now.incarnation,
            session: now.session,
            run: now.run,
            began_ms: now.began_ms,
            at_ms: now.at_ms,
            witness: now.witness,
            request: now.request,
            end: Finish {
                outcome: end.outcome,
                guarantee: end.guarantee,
                touched: end.touched,
                refusal: end.refusal.map(|refusal| Refusal {
                    code: refusal.code,
                    verb: refusal.verb,
                    object: refusal.object,
                    rule: refusal.rule,
                    note: refusal.note,
                    current: refusal.current,
                }),
                left: end.left,
                diff_cut: end.diff_cut,
            },
            diff: now.diff,
        }
    }
}
