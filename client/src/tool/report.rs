//! What a command says beside its answer: errors, what was passed over, and its exit code.

use super::out::{Gone, Out};
use crate::error::{Error, ErrorCode, NoSession};
use crate::json;
use crate::label::{self, Excerpt};
use crate::stamp;
use crate::told::{self, notes, ticked};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Done, Progress};
use portcullis_protocol::view::Binding;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;

/// How answers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// For people.
    Text,
    /// One JSON document a line.
    Json,
}

/// How a command ended, mildest first: the worst of several counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// It was done.
    Done,
    /// It was not done, or not all of it; or nothing was found.
    NotDone,
    /// The files are not as the request believed: nothing was changed, look again.
    Conflict,
    /// It can be done with an approval, and there is none.
    NeedsApproval,
    /// The session may not do it.
    Denied,
    /// There is no session.
    NoSession,
    /// It is not known whether it was done.
    Uncertain,
    /// A command ran and gave this code; or could not be run, which has codes of its own.
    Ran(u8),
}

impl Outcome {
    pub(super) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Done => 0,
            Self::NotDone => 1,
            Self::Conflict => 75,
            Self::NeedsApproval => 76,
            Self::Denied => 77,
            Self::NoSession => 78,
            Self::Uncertain => 79,
            Self::Ran(code) => code,
        })
    }

    fn of(error: &Error) -> Self {
        match error.code() {
            ErrorCode::Refused(refusal) => Self::of_refusal(refusal),
            ErrorCode::Failed(changed) => changed
                .refusal
                .as_ref()
                .map_or(Self::NotDone, Self::of_refusal),
            ErrorCode::Uncertain(_) | ErrorCode::Unanswered(_) => Self::Uncertain,
            ErrorCode::NoSession(NoSession::Busy(_))
            | ErrorCode::Closed(_)
            | ErrorCode::Protocol(_)
            | ErrorCode::Stalled
            | ErrorCode::Io(_)
            | ErrorCode::TooLarge(_)
            | ErrorCode::Invalid(_)
            | ErrorCode::CannotOpen(..) => Self::NotDone,
            ErrorCode::NoSession(
                NoSession::NotSet
                | NoSession::NotANumber
                | NoSession::NotOpen(_)
                | NoSession::Taken(_)
                | NoSession::NotASocket(_),
            ) => Self::NoSession,
        }
    }

    fn of_refusal(refusal: &Refusal) -> Self {
        let denied = matches!(
            refusal.code,
            Code::Denied | Code::NotGranted | Code::Escape | Code::NoSuchRoot
        );
        let conflict = matches!(
            refusal.code,
            Code::Conflict | Code::Exists | Code::NotUnique | Code::NotSeen | Code::StaleAnchor
        );
        if denied {
            Self::Denied
        } else if conflict {
            Self::Conflict
        } else if refusal.code == Code::NeedsApproval {
            Self::NeedsApproval
        } else {
            Self::NotDone
        }
    }
}

/// Where a command's words go.
#[derive(Debug)]
pub(super) struct Report {
    form: Form,
    out: Out,
    deed: Cell<Deed>,
    telling: Telling,
    /// Whether a line of progress is on the terminal.
    ticking: Cell<Ticking>,
    /// What is said once the part of the answer is written that came before it.
    later: RefCell<Vec<u8>>,
}

/// Where it is said how far a walk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    /// Nowhere.
    Not,
    /// On a terminal, in one line that is overwritten.
    Terminal,
    /// On standard error, a line each.
    Lines,
    /// In documents.
    Documents,
}

impl Telling {
    /// What is usual: a person who waits sees it, a program does not.
    fn usual(form: Form) -> Self {
        match form {
            Form::Text if io::stderr().is_terminal() => Self::Terminal,
            Form::Text | Form::Json => Self::Not,
        }
    }

    /// What is asked for.
    fn asked(form: Form) -> Self {
        match form {
            Form::Json => Self::Documents,
            Form::Text if io::stderr().is_terminal() => Self::Terminal,
            Form::Text => Self::Lines,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ticking {
    No,
    Yes,
}

/// Whether this command has changed files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    None,
    Done,
}

impl Report {
    pub(super) fn new(form: Form, out: Out) -> Self {
        Self {
            form,
            out,
            deed: Cell::new(Deed::None),
            telling: Telling::usual(form),
            ticking: Cell::new(Ticking::No),
            later: RefCell::default(),
        }
    }

    /// Says how far walks are, also where nobody is thought to watch.
    pub(super) fn with_progress(mut self) -> Self {
        self.telling = Telling::asked(self.form);
        self
    }

    pub(super) const fn form(&self) -> Form {
        self.form
    }

    /// Writes a part of the answer.
    pub(super) fn put(&self, bytes: impl Into<Vec<u8>>) -> Result<(), Gone> {
        self.clear();
        self.out.put(bytes)
    }

    /// Says how far a walk is.
    pub(super) fn progress(&self, progress: &Progress) -> Result<(), Gone> {
        self.out.show()?;
        match self.telling {
            Telling::Not => Ok(()),
            Telling::Documents => self.document("progress", json::progress(progress)),
            Telling::Lines => {
                say(&ticked(progress));
                Ok(())
            }
            Telling::Terminal => {
                // Where it cannot be written there is nobody to tell.
                write!(io::stderr().lock(), "\r\x1b[K{}", ticked(progress)).ok();
                self.ticking.set(Ticking::Yes);
                Ok(())
            }
        }
    }

    /// Takes the line of progress off the terminal.
    fn clear(&self) {
        if self.ticking.replace(Ticking::No) == Ticking::Yes {
            write!(io::stderr().lock(), "\r\x1b[K").ok();
        }
    }

    /// Writes one document.
    pub(super) fn document(&self, kind: &str, body: Value) -> Result<(), Gone> {
        self.put(format!("{}\n", json::document(kind, body)))
    }

    /// Says that something failed.
    pub(super) fn error(&self, error: &Error) -> Outcome {
        self.clear();
        match self.form {
            Form::Text => {
                self.say(&error.to_string());
                if let Some(now) = error.refusal().and_then(|it| it.current.as_deref()) {
                    self.say(&format!("its stamp now: {}", stamp::show(now)));
                }
                if error.refusal().is_some_and(|it| it.code == Code::NotSeen) {
                    self.say("`read` shows all of it; `write --force` overwrites it unseen");
                }
                if let Some(proposal) = error.proposal() {
                    self.say(&format!(
                        "{}; once it is approved, this very command does it, once",
                        told::to_decide(proposal)
                    ));
                }
                if let Some(region) = error.region() {
                    self.say_region(region);
                }
            }
            // Whoever does not read the output does not miss this either.
            Form::Json => drop(self.document("error", json::error(error))),
        }
        Outcome::of(error)
    }

    /// One line on standard error, behind the answer as far as there is one.
    fn say(&self, text: &str) {
        self.say_bytes(line(text).as_bytes());
    }

    fn say_bytes(&self, bytes: &[u8]) {
        if self.out.keeps() {
            self.later.borrow_mut().extend_from_slice(bytes);
        } else {
            io::stderr().lock().write_all(bytes).ok();
        }
    }

    /// What an object has become, with labels that the next edit can name.
    fn say_region(&self, region: &Excerpt) {
        let lines = region.lines();
        let total = region.region.total_lines;
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
            self.say("it has no lines now");
            return;
        };
        self.say(&format!(
            "lines {} to {} of {total} as they are now, each behind its label:",
            first.label.line, last.label.line
        ));
        let mut text = label::shown(lines);
        if !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        self.say_bytes(&text);
    }

    /// Remembers that files were changed: what follows cannot say otherwise.
    pub(super) fn changed(&self) {
        self.deed.set(Deed::Done);
    }

    /// Says something to a person that a program finds in the documents.
    pub(super) fn note(&self, text: &str) {
        self.clear();
        match self.form {
            Form::Text => self.say(text),
            Form::Json => {}
        }
    }

    /// Says how a stream ended: a summary document, or what was passed over.
    pub(super) fn done(&self, done: &Done, start: Option<&Binding>) {
        self.clear();
        match self.form {
            Form::Json => drop(self.document("summary", json::done(done, start))),
            Form::Text => notes(done, "--cursor")
                .iter()
                .for_each(|note| self.say(note)),
        }
    }

    /// Waits for the output; a disk that is full is no success of a question, and no failure of
    /// a change that is done.
    pub(super) fn finish(self, outcome: Outcome) -> Outcome {
        self.clear();
        let written = self.out.finish();
        io::stderr().lock().write_all(&self.later.take()).ok();
        match (written, self.deed.get()) {
            (Ok(()), _) => outcome,
            (Err(error), Deed::None) => {
                say(&format!(
                    "nothing was changed: cannot write the answer: {error}"
                ));
                outcome.max(Outcome::NotDone)
            }
            (Err(error), Deed::Done) => {
                say(&format!(
                    "the change was made, as its receipt says: cannot write the answer: {error}"
                ));
                outcome
            }
        }
    }
}

/// One line on standard error. When that cannot be written there is nobody to tell.
fn say(text: &str) {
    io::stderr().lock().write_all(line(text).as_bytes()).ok();
}

fn line(text: &str) -> String {
    format!("portcullis-tool: {text}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_authority_are_77_what_needs_approval_is_76_conflicts_75_and_a_missing_session_78()
     {
        for (code, outcome) in [
            (Code::Denied, Outcome::Denied),
            (Code::NotGranted, Outcome::Denied),
            (Code::Escape, Outcome::Denied),
            (Code::NoSuchRoot, Outcome::Denied),
            (Code::NotFound, Outcome::NotDone),
            (Code::Expired, Outcome::NotDone),
            (Code::Conflict, Outcome::Conflict),
            (Code::Exists, Outcome::Conflict),
            (Code::NotUnique, Outcome::Conflict),
            (Code::NotSeen, Outcome::Conflict),
            (Code::StaleAnchor, Outcome::Conflict),
            (Code::Busy, Outcome::NotDone),
            (Code::NeedsApproval, Outcome::NeedsApproval),
            (Code::OutOfBudget, Outcome::NotDone),
        ] {
            assert_eq!(Outcome::of(&Refusal::new(code).into()), outcome);
        }
        assert_eq!(Outcome::of(&NoSession::NotSet.into()), Outcome::NoSession);
        assert_eq!(Outcome::of(&NoSession::Busy(1).into()), Outcome::NotDone);
        assert_eq!(Outcome::Done.max(Outcome::Denied), Outcome::Denied);
        let unanswered = ErrorCode::Unanswered(Error::new(ErrorCode::Closed(None)));
        assert_eq!(Outcome::of(&Error::new(unanswered)), Outcome::Uncertain);
    }
}
