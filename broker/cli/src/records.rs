//! What is on record: asked of the broker that serves, or read from its state when none does.

use crate::args::{RunChoice, Where};
use portcullis_client::place::{PlaceError, state_path};
use portcullis_client::{AttachOrStartError, Control, Difference, Error};
use portcullis_protocol::control::{
    Receipt, RefusalRecord, RunId, RunRecord, SessionRecord, Verified,
};
use portcullis_warden::{Records, RepairError, StateError};
use std::path::PathBuf;

/// Where the records come from.
#[derive(Debug)]
pub(crate) enum Book {
    /// The broker that serves.
    Broker(Box<Control>),
    /// Its state, which nobody or another process has.
    State(Records),
    /// There is no state yet.
    Empty,
}

/// Why nothing can be told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BookError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Attach(#[from] AttachOrStartError),
    #[error(transparent)]
    Asked(#[from] Error),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Repair(#[from] RepairError),
    #[error("the broker that serves keeps its records elsewhere; --state says where")]
    Elsewhere,
    #[error("{what}: {source}")]
    File {
        what: String,
        source: std::io::Error,
    },
    #[error("there is no run on record")]
    NoRun,
    #[error("there is no run {0} on record")]
    UnknownRun(u64),
    #[error("there is no receipt {0} on record")]
    UnknownReceipt(u64),
}

impl Book {
    pub(crate) fn open(place: &Where) -> Result<Self, BookError> {
        if place.state.is_none()
            && let Some(control) = serving(place)?
        {
            return Ok(Self::Broker(Box::new(control)));
        }
        let path = state_path(place.state.as_deref())?;
        match Records::open(&path) {
            Ok(records) => Ok(Self::State(records)),
            // Nothing has run yet. A place that was named is meant to be there.
            Err(StateError::Missing { .. }) if place.state.is_none() => Ok(Self::Empty),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs before this one, or the latest; the latest first. Empty when there are no more.
    fn page(&mut self, before: Option<RunId>) -> Result<Vec<RunRecord>, BookError> {
        match self {
            Self::Broker(control) => Ok(control.runs(before)?),
            Self::State(records) => Ok(records.runs(before)?.runs.into_vec()),
            Self::Empty => Ok(Vec::new()),
        }
    }

    /// The latest runs, at most so many.
    pub(crate) fn runs(&mut self, limit: usize) -> Result<Vec<RunRecord>, BookError> {
        let mut all: Vec<RunRecord> = Vec::new();
        while all.len() < limit {
            let page = self.page(all.last().map(|run| run.run))?;
            if page.is_empty() {
                break;
            }
            all.extend(page);
        }
        all.truncate(limit);
        Ok(all)
    }

    /// The run that was chosen.
    pub(crate) fn run(&mut self, choice: RunChoice) -> Result<RunRecord, BookError> {
        match choice {
            RunChoice::Last => self.runs(1)?.pop().ok_or(BookError::NoRun),
            RunChoice::Number(run) => {
                let next = Some(RunId(run.0.saturating_add(1)));
                let found = self.page(next)?.into_iter().next();
                found
                    .filter(|record| record.run == run)
                    .ok_or(BookError::UnknownRun(run.0))
            }
        }
    }

    /// Tells each receipt of a run, in order.
    pub(crate) fn receipts(
        &mut self,
        run: RunId,
        mut each: impl FnMut(Receipt),
    ) -> Result<(), BookError> {
        let mut after = 0;
        loop {
            let page = match self {
                Self::Broker(control) => control.log(run, after)?,
                Self::State(records) => records.log(run, after)?.receipts.into_vec(),
                Self::Empty => return Ok(()),
            };
            let Some(last) = page.last() else {
                return Ok(());
            };
            // A peer that gives no later ones would be asked for ever.
            if last.id.number <= after {
                return Ok(());
            }
            after = last.id.number;
            page.into_iter().for_each(&mut each);
        }
    }

    /// The sessions of a run, in order.
    pub(crate) fn sessions(&mut self, run: RunId) -> Result<Vec<SessionRecord>, BookError> {
        let mut all: Vec<SessionRecord> = Vec::new();
        loop {
            let after = all.last().map_or(0, |last| last.row);
            let page = match self {
                Self::Broker(control) => control.sessions(run, after)?,
                Self::State(records) => records.sessions(run, after)?.sessions.into_vec(),
                Self::Empty => return Ok(all),
            };
            if page.last().is_none_or(|last| last.row <= after) {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    /// The refusals of a run that are kept, in order, and how many are not told one by one.
    pub(crate) fn refusals(&mut self, run: RunId) -> Result<(Vec<RefusalRecord>, u64), BookError> {
        let mut all: Vec<RefusalRecord> = Vec::new();
        loop {
            let after = all.last().map_or(0, |last| last.number);
            let (page, left_out) = match self {
                Self::Broker(control) => {
                    let page = control.refusals(run, after)?;
                    (page.refusals, page.left_out)
                }
                Self::State(records) => {
                    let page = records.refusals(run, after)?;
                    (page.refusals.into_vec(), page.left_out)
                }
                Self::Empty => return Ok((all, 0)),
            };
            if page.last().is_none_or(|last| last.number <= after) {
                return Ok((all, left_out));
            }
            all.extend(page);
        }
    }

    /// The receipt of this number, and its run.
    pub(crate) fn receipt(&mut self, number: u64) -> Result<(RunId, Receipt), BookError> {
        let found = match self {
            Self::Broker(control) => {
                let mut found = None;
                let mut before = None;
                'runs: loop {
                    let page = control.runs(before)?;
                    let Some(last) = page.last() else { break };
                    before = Some(last.run);
                    for run in page {
                        let receipts = control.log(run.run, number.saturating_sub(1))?;
                        let first = receipts.into_iter().next();
                        if let Some(receipt) = first.filter(|first| first.id.number == number) {
                            found = Some((run.run, receipt));
                            break 'runs;
                        }
                    }
                }
                found
            }
            Self::State(records) => records.receipt(number)?,
            Self::Empty => None,
        };
        found.ok_or(BookError::UnknownReceipt(number))
    }

    pub(crate) fn diff(&mut self, receipt: u64) -> Result<Difference, BookError> {
        match self {
            Self::Broker(control) => Ok(control.diff(receipt)?),
            Self::State(records) => match records.diff(receipt)? {
                Some((told, text)) => Ok(Difference {
                    text,
                    cut: told.cut,
                }),
                None => Err(BookError::UnknownReceipt(receipt)),
            },
            Self::Empty => Err(BookError::UnknownReceipt(receipt)),
        }
    }

    pub(crate) fn verify(&mut self) -> Result<Verified, BookError> {
        match self {
            Self::Broker(control) => Ok(control.verify()?),
            Self::State(records) => Ok(records.verify()?),
            Self::Empty => Ok(Verified {
                sessions: 0,
                receipts: 0,
                open: 0,
                broken: None,
            }),
        }
    }
}

/// The records themselves, where they can be read from here: those of the broker that serves, or
/// those that are left of one.
pub(crate) fn own(place: &Where) -> Result<Records, BookError> {
    let serving = match &place.state {
        None => serving(place)?,
        Some(_) => None,
    };
    let latest = match serving {
        Some(mut control) => control.runs(None)?.into_iter().next(),
        None => None,
    };
    let records = Records::open(&state_path(place.state.as_deref())?)?;
    if let Some(latest) = latest {
        let next = Some(RunId(latest.run.0.saturating_add(1)));
        let same = records.runs(next)?.runs.into_vec().into_iter().next();
        let is = |run: &RunRecord| (run.run, run.began_ms, run.request.clone());
        if same.as_ref().map(is) != Some(is(&latest)) {
            return Err(BookError::Elsewhere);
        }
    }
    Ok(records)
}

/// The broker that serves, when one does. Where it is nobody's place to have one, none does.
fn serving(place: &Where) -> Result<Option<Control>, BookError> {
    match Control::attach(place.socket.as_deref()) {
        Ok(found) => Ok(found),
        // Records can be read without it.
        Err(
            AttachOrStartError::Place(_)
            | AttachOrStartError::Refused(_)
            | AttachOrStartError::OtherVersion { .. },
        ) if place.socket.is_none() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Directories of runs with `--embedded`, whose records nobody else has; the latest last.
pub(crate) fn embedded() -> Result<Vec<PathBuf>, PlaceError> {
    let parent = state_path(None)?.join(crate::broker::EMBEDDED);
    let mut found: Vec<PathBuf> = match std::fs::read_dir(parent) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => Vec::new(),
    };
    found.sort();
    Ok(found)
}
