//! What the records say of a run that has just ended.

use super::asked::approval_line;
use crate::broker::Broker;
use crate::changes::Changes;
use crate::words::counted;
use portcullis_client::{Error, json as documents};
use portcullis_protocol::approval::Approval;
use portcullis_protocol::control::RunId;
use serde_json::{Value, json};

/// Names that are told one by one.
const TOLD: usize = 16;

/// What the records say of a run.
#[derive(Debug)]
pub(super) struct Record {
    run: RunId,
    /// What `portcullis log` must be told to find it.
    place: String,
    told: Result<Told, Error>,
}

#[derive(Debug)]
struct Told {
    changes: Changes,
    /// Receipts of what took an approval, by number.
    approved: Vec<(u64, Approval)>,
    /// Begun, and not settled yet.
    open: u64,
}

impl Record {
    /// Asks for it. It must be asked before the connection ends, and after the session has.
    pub(super) fn of(broker: &mut Broker, run: RunId) -> Self {
        Self {
            run,
            place: broker.where_records(),
            told: told(broker, run),
        }
    }

    /// What comes first: whether anything was changed, and how much.
    pub(super) fn headline(&self) -> String {
        match &self.told {
            Err(error) => {
                let said = error.to_string();
                let why = said.strip_prefix("nothing was changed: ").unwrap_or(&said);
                format!("it is not known what was changed ({why})")
            }
            Ok(told) if told.changes.is_empty() && told.open == 0 => {
                "nothing was changed".to_owned()
            }
            Ok(told) if told.changes.is_empty() => {
                "it is not known whether anything was changed".to_owned()
            }
            Ok(told) => {
                let counts: Vec<String> = told
                    .changes
                    .counts()
                    .iter()
                    .map(|(how, count)| format!("{count} {how}"))
                    .collect();
                if counts.is_empty() {
                    "something may have been changed".to_owned()
                } else {
                    format!("changed: {}", counts.join(", "))
                }
            }
        }
    }

    /// What follows: each name, what is not certain, and how to see more.
    pub(super) fn lines(&self) -> Vec<String> {
        let Ok(told) = &self.told else {
            return vec![self.more()];
        };
        let mut lines = self.doubts();
        let mut names = told.changes.lines();
        lines.extend(names.by_ref().take(TOLD).map(|name| format!("  {name}")));
        match names.count() {
            0 => {}
            more => lines.push(format!("  and {more} more")),
        }
        for (receipt, approval) in &told.approved {
            lines.push(approval_line(*receipt, approval));
        }
        if told.changes.failed > 0 {
            let failed = counted(told.changes.failed, "change");
            lines.push(format!(
                "{failed} failed after it was begun and changed nothing"
            ));
        }
        if told.changes.left > 0 {
            let left = counted(told.changes.left, "temporary file");
            lines.push(format!("{left} could not be removed"));
        }
        if !lines.is_empty() {
            lines.push(self.more());
        }
        lines
    }

    /// What is not certain. Said even by a run that is to be quiet.
    pub(super) fn doubts(&self) -> Vec<String> {
        let Ok(told) = &self.told else {
            return vec![self.headline()];
        };
        let mut lines = uncertain_lines(&told.changes);
        if told.open > 0 {
            lines.push(format!(
                "UNCERTAIN: {} begun and not settled; look again with `portcullis log {}{}`",
                counted(told.open, "change"),
                self.run.0,
                self.place
            ));
        }
        lines
    }

    fn more(&self) -> String {
        let (run, place) = (self.run.0, &self.place);
        format!("see `portcullis log {run}{place}`, `portcullis diff {run}{place}`")
    }

    /// `unchanged`, `changed`, or `unknown` when that is not certain.
    pub(super) fn changed(&self) -> &'static str {
        match &self.told {
            Err(_) => "unknown",
            Ok(told) if told.changes.done > 0 => "changed",
            Ok(told) if told.open > 0 || !told.changes.uncertain.is_empty() => "unknown",
            Ok(_) => "unchanged",
        }
    }

    pub(super) fn json(&self) -> Value {
        match &self.told {
            Ok(told) => {
                let mut document = told.changes.json();
                if let Value::Object(fields) = &mut document {
                    fields.insert("run".to_owned(), json!(self.run.0));
                    fields.insert("open".to_owned(), json!(told.open));
                    fields.insert("approved".to_owned(), approved_json(&told.approved));
                    fields.insert("records".to_owned(), json!(self.place.trim_start()));
                }
                document
            }
            Err(error) => json!({"run": self.run.0, "error": error.to_string()}),
        }
    }
}

fn approved_json(approved: &[(u64, Approval)]) -> Value {
    let one = |(receipt, approval): &(u64, Approval)| json!({ "receipt": receipt, "approval": documents::approval(approval) });
    approved.iter().map(one).collect()
}

fn uncertain_lines(changes: &Changes) -> Vec<String> {
    let mut lines = Vec::new();
    for (receipt, names) in &changes.uncertain {
        lines.push(format!(
            "UNCERTAIN: it is not known what of this happened (receipt {receipt}); look at the files"
        ));
        lines.extend(names.iter().map(|name| format!("  {name}")));
    }
    lines
}

fn told(broker: &mut Broker, run: RunId) -> Result<Told, Error> {
    let mut changes = Changes::default();
    let mut approved = Vec::new();
    let mut after = 0;
    loop {
        let page = broker.control.log(run, after)?;
        let Some(last) = page.last().filter(|last| last.id.number > after) else {
            break;
        };
        after = last.id.number;
        for receipt in &page {
            changes.add(receipt);
            approved.extend(
                receipt
                    .approval
                    .map(|approval| (receipt.id.number, approval)),
            );
        }
    }
    let next = Some(RunId(run.0.saturating_add(1)));
    let records = broker.control.runs(next)?;
    let open = records.iter().find(|record| record.run == run);
    Ok(Told {
        changes,
        approved,
        open: open.map_or(0, |record| record.open),
    })
}
