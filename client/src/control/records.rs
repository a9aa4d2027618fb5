//! What a warden has on record: runs, receipts, differences.

use super::Control;
use crate::error::{Error, Violation};
use portcullis_protocol::control::{
    Answer, Diff, Drain, Draining, Log, Order, Receipt, RefusalRecord, Refusals, RunId, RunRecord,
    Runs, SessionRecord, Sessions, Verified, Verify,
};

/// The difference one effect made, as a unified diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The text, as far as it was kept.
    pub text: Vec<u8>,
    /// Bytes of it that were not kept.
    pub cut: u64,
}

/// A page of the refusals of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedPage {
    /// The refusals, in order. None means that there are no more.
    pub refusals: Vec<RefusalRecord>,
    /// Refusals of the run that were not told one by one, or are not kept any more.
    pub left_out: u64,
}

impl Control {
    /// A page of runs on record, the latest first: those before `before`, or the latest ones.
    /// An empty page means that there are no more.
    pub fn runs(&mut self, before: Option<RunId>) -> Result<Vec<RunRecord>, Error> {
        let answer = self.order_plain(&Order::Runs(Runs { before }), &[])?;
        let Answer::Runs(page) = answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        Ok(page.runs.into_vec())
    }

    /// A page of the receipts of a run, in order: those after the receipt of number `after`; 0
    /// begins with the first. An empty page means that there are no more. An effect whose gate
    /// died has no receipt until it is settled.
    pub fn log(&mut self, run: RunId, after: u64) -> Result<Vec<Receipt>, Error> {
        let answer = self.order_plain(&Order::Log(Log { run, after }), &[])?;
        let Answer::Log(page) = answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        Ok(page.receipts.into_vec())
    }

    /// A page of what a run was refused, in order: refusals after number `after`; 0 begins with the
    /// first that is kept. An empty page means that there are no more.
    pub fn refusals(&mut self, run: RunId, after: u64) -> Result<RefusedPage, Error> {
        let answer = self.order_plain(&Order::Refusals(Refusals { run, after }), &[])?;
        let Answer::Refusals(page) = answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        Ok(RefusedPage {
            refusals: page.refusals.into_vec(),
            left_out: page.left_out,
        })
    }

    /// A page of the sessions of a run, in order: those after row `after`; 0 begins with the first.
    /// An empty page means that there are no more.
    pub fn sessions(&mut self, run: RunId, after: u64) -> Result<Vec<SessionRecord>, Error> {
        let answer = self.order_plain(&Order::Sessions(Sessions { run, after }), &[])?;
        let Answer::Sessions(page) = answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        Ok(page.sessions.into_vec())
    }

    /// The difference that the effect of this receipt made.
    pub fn diff(&mut self, receipt: u64) -> Result<Difference, Error> {
        let answered = self.order(&Order::Diff(Diff { receipt }), &[])?;
        if !answered.descriptors.is_empty() {
            return Err(self.link.violated(Violation::Descriptors));
        }
        let Answer::Diff(text) = answered.answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        Ok(Difference {
            text: answered.content,
            cut: text.cut,
        })
    }

    /// Has the warden check every chain of its receipts. It takes as long as there are records.
    pub fn verify(&mut self) -> Result<Verified, Error> {
        let answer = self.order_plain(&Order::Verify(Verify {}), &[])?;
        let Answer::Verified(verified) = answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        Ok(verified)
    }

    /// Tells the warden to take no further connection and to end when the last one, this one
    /// included, has closed. Sessions that run go on.
    pub fn drain(&mut self) -> Result<Draining, Error> {
        let answer = self.order_plain(&Order::Drain(Drain {}), &[])?;
        let Answer::Draining(draining) = answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        Ok(draining)
    }
}
