//! `portcullis review`: what workers ask for, shown to a person, and decided.

pub(crate) mod show;
mod terminal;

use crate::args::{Asking, DecideArguments, Form, PassphraseAction, ReviewAction, ReviewArguments};
use crate::say;
use portcullis_client::place::{PlaceError, state_directory};
use portcullis_client::{AttachOrStartError, Control, Error, Proposal, json};
use portcullis_protocol::approval::{ProposalId, ProposalState};
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::control::{Decided, Decision, Proof, ProposalSummary, Whose};
use portcullis_protocol::refusal::Code;
use portcullis_warden::{DeciderError, has_passphrase, remove_passphrase, set_passphrase};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

/// Why nothing was decided. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReviewError {
    #[error("no broker serves, so that nothing waits for a decision")]
    NoBroker,
    #[error(transparent)]
    Attach(#[from] AttachOrStartError),
    #[error(transparent)]
    Asked(#[from] Error),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Decider(#[from] DeciderError),
    #[error("nothing was decided: there is no terminal to ask at; say --yes")]
    NoTerminal,
    #[error("nothing was decided: it was not answered with yes")]
    NotConfirmed,
    #[error("nothing was decided: proposal {0} is not what was shown with that digest")]
    Another(u64),
    #[error("the terminal: {0}")]
    Terminal(std::io::Error),
    #[error("nothing was changed: {0}")]
    Passphrase(&'static str),
}

impl ReviewError {
    fn exit_code(&self) -> u8 {
        let refused = |error: &Error| match error.refusal().map(|refusal| refusal.code) {
            Some(Code::Decided) => 75,
            Some(Code::NotDecider) => 77,
            Some(_) | None => 1,
        };
        match self {
            Self::Asked(error) => refused(error),
            Self::Another(_) => 75,
            Self::NoBroker
            | Self::Attach(_)
            | Self::Place(_)
            | Self::Decider(_)
            | Self::NoTerminal
            | Self::NotConfirmed
            | Self::Terminal(_)
            | Self::Passphrase(_) => 1,
        }
    }
}

/// Lists, shows, decides.
pub(crate) fn review(arguments: &ReviewArguments) -> ExitCode {
    let form = arguments.common.form();
    let socket = arguments.common.socket.as_deref();
    let done = match arguments.action() {
        ReviewAction::List => list(socket, form),
        ReviewAction::Show { id } => show_one(socket, ProposalId(id), form),
        ReviewAction::Approve(which) => decide(socket, &which, Decision::Approve, form),
        ReviewAction::Refuse(which) => decide(socket, &which, Decision::Refuse, form),
        ReviewAction::Passphrase { what, state } => passphrase(what, state.as_deref()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            match form {
                Form::Json => say::out(json!({
                    "version": 1, "changed": "unchanged", "error": error.to_string(),
                })),
                Form::Text => say::err(format_args!("portcullis: {error}")),
            }
            ExitCode::from(error.exit_code())
        }
    }
}

fn attach(socket: Option<&Path>) -> Result<Control, ReviewError> {
    Control::attach(socket)?.ok_or(ReviewError::NoBroker)
}

/// Every proposal, page by page.
fn proposals(control: &mut Control) -> Result<Vec<ProposalSummary>, Error> {
    let mut all: Vec<ProposalSummary> = Vec::new();
    loop {
        let after = all.last().map_or(0, |last| last.id.0);
        let page = control.proposals(Whose::All, after)?;
        // A peer that gives no later ones would be asked for ever.
        if page.last().is_none_or(|last| last.id.0 <= after) {
            return Ok(all);
        }
        all.extend(page);
    }
}

fn list(socket: Option<&Path>, form: Form) -> Result<(), ReviewError> {
    // Where none serves nothing can wait, which is an answer.
    let all = match Control::attach(socket)? {
        Some(mut control) => proposals(&mut control)?,
        None => Vec::new(),
    };
    match form {
        Form::Json => {
            let all: Vec<_> = all.iter().map(json::summary).collect();
            say::out(json!({"version": 1, "proposals": all}));
        }
        Form::Text if all.is_empty() => say::out("nothing waits for a decision"),
        Form::Text => all.iter().for_each(|one| say::out(show::line(one))),
    }
    Ok(())
}

fn show_one(socket: Option<&Path>, id: ProposalId, form: Form) -> Result<(), ReviewError> {
    let proposal = attach(socket)?.proposal(id)?;
    match form {
        Form::Json => {
            let mut document = json!({"version": 1});
            if let (Some(fields), serde_json::Value::Object(told)) =
                (document.as_object_mut(), json::proposal(&proposal))
            {
                fields.extend(told);
            }
            say::out(document);
        }
        Form::Text => say::out(show::whole(&proposal)),
    }
    Ok(())
}

fn decide(
    socket: Option<&Path>,
    which: &DecideArguments,
    decision: Decision,
    form: Form,
) -> Result<(), ReviewError> {
    let mut control = attach(socket)?;
    let id = ProposalId(which.id);
    let proposal = control.proposal(id)?;
    let input = crate::changes::hex(&proposal.record.input.0);
    if which.input.as_ref().is_some_and(|wanted| *wanted != input) {
        return Err(ReviewError::Another(which.id));
    }
    match which.asking() {
        Asking::Nobody => {}
        Asking::Person => confirm(&proposal, decision)?,
    }
    let decided = match control.decide(id, proposal.record.input, decision, Proof::Connection) {
        Err(error) if wants_passphrase(&error) => {
            let secret = terminal::secret("Passphrase: ")?;
            let secret = Bytes::new(secret)
                .map_err(|_| ReviewError::Passphrase("the passphrase is too long"))?;
            control.decide(
                id,
                proposal.record.input,
                decision,
                Proof::Passphrase(secret),
            )?
        }
        other => other?,
    };
    tell(which.id, decided, form);
    Ok(())
}

/// Whether a decision lacks nothing but the passphrase.
fn wants_passphrase(error: &Error) -> bool {
    error.refusal().is_some_and(|refusal| {
        let note = refusal.note.as_ref();
        refusal.code == Code::NotDecider && note.is_some_and(|n| n.as_str().contains("passphrase"))
    })
}

fn confirm(proposal: &Proposal, decision: Decision) -> Result<(), ReviewError> {
    let (verb, what) = match decision {
        Decision::Approve => ("Approve", "let it happen once, exactly like this"),
        Decision::Refuse => ("Refuse", "it will not happen"),
    };
    let shown = show::whole(proposal);
    let question = format!(
        "{verb} proposal {} ({what})? [y/N] ",
        proposal.record.summary.id.0
    );
    match terminal::answer(&format!("{shown}\n{question}"))?.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(ReviewError::NotConfirmed),
    }
}

fn tell(id: u64, decided: Decided, form: Form) {
    let who = decided.approver.name();
    match (form, decided.state) {
        (Form::Json, state) => say::out(json!({
            "version": 1, "proposal": id, "state": state.name(), "approver": who,
        })),
        (Form::Text, ProposalState::Approved) => say::out(format_args!(
            "proposal {id} is approved by {who}: it happens when the worker asks for exactly the \
             same again"
        )),
        (
            Form::Text,
            ProposalState::Pending
            | ProposalState::Refused
            | ProposalState::Spent
            | ProposalState::Void,
        ) => say::out(format_args!(
            "proposal {id} is {} by {who}",
            decided.state.name()
        )),
    }
}

fn passphrase(what: PassphraseAction, state: Option<&Path>) -> Result<(), ReviewError> {
    let state = state_directory(state)?;
    let old = match has_passphrase(&state)? {
        true => Some(terminal::secret("The passphrase that is set: ")?),
        false => None,
    };
    match (what, old) {
        (PassphraseAction::Remove, None) => Err(ReviewError::Passphrase("none is set")),
        (PassphraseAction::Remove, Some(old)) => {
            remove_passphrase(&state, &old)?;
            say::out("the passphrase is removed: whoever can run this as you can decide");
            Ok(())
        }
        (PassphraseAction::Set, old) => {
            let new = terminal::secret("The new passphrase: ")?;
            if new.is_empty() || new != terminal::secret("The new passphrase again: ")? {
                let why = "it is empty, or not the same both times";
                return Err(ReviewError::Passphrase(why));
            }
            set_passphrase(&state, old.as_deref(), &new)?;
            say::out("the passphrase is set: from now on nobody decides without it");
            Ok(())
        }
    }
}
