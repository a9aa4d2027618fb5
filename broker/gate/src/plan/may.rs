//! Whether a change may be, once it is known how its verb is used; and whether what it meets may be
//! shown: a difference, and what an edit matches, tell as much as a read does.

use super::act::{At, Which};
use super::target::{Asked, Planner};
use crate::admit::admit;
use crate::lacking::not_granted;
use crate::policy::Judgement;
use crate::resolve::resolve;
use crate::session::Session;
use portcullis_protocol::authority::{Level, Operation};
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Links, Selector};
use portcullis_protocol::verb::{Mode, Verb};
use portcullis_protocol::view::RootIndex;

impl Planner<'_> {
    /// A part of what was asked for, in whatever mode.
    pub(super) const fn operation(&self, verb: Verb) -> Operation {
        Operation {
            verb,
            mode: None,
            input: self.input,
        }
    }

    /// Judges how the verb of a change is used at a name, where it has modes. Whether it may be used
    /// there at all was judged when the name was found, with every denial.
    pub(super) fn judge_mode(&self, asked: Asked<'_>, n: Which, mode: Mode) -> Result<(), Refusal> {
        let Some(At { root, path, .. }) = self.overlay.names.get(n).map(|name| &name.at) else {
            return Err(asked.refuse(Code::NotFound));
        };
        let operation = Operation {
            mode: Some(mode),
            ..self.operation(mode.verb())
        };
        match self.session.level(*root, path, operation) {
            Level::Granted => Ok(()),
            Level::Ask => Err(asked.refuse(Code::NeedsApproval)),
            Level::Nothing => Err(self.not_granted(asked, operation, (*root, path))),
        }
    }

    /// Judges a directory that is made on the way to a name.
    pub(super) fn may_make(
        &self,
        asked: Asked<'_>,
        (root, path): (RootIndex, &RelPath),
    ) -> Result<(), Refusal> {
        let making = Asked {
            verb: Verb::Mkdir,
            ..asked
        };
        let operation = self.operation(Verb::Mkdir);
        let level = self.session.level(root, path, operation);
        if level == Level::Nothing {
            return Err(self.not_granted(making, operation, (root, path)));
        }
        match (self.session.policy.judge(root, path, Verb::Mkdir), level) {
            (Judgement::Clear, Level::Granted) => Ok(()),
            (Judgement::Clear, Level::Ask | Level::Nothing) => {
                Err(making.refuse(Code::NeedsApproval))
            }
            (Judgement::Asks(rule), _) => Err(making.refuse(Code::NeedsApproval).by(rule.clone())),
            (Judgement::Denied(rule), _) => Err(making.refuse(Code::Denied).by(rule.clone())),
            (Judgement::Hidden, _) => Err(making.refuse(Code::NotFound)),
        }
    }

    fn not_granted(
        &self,
        asked: Asked<'_>,
        operation: Operation,
        place: (RootIndex, &RelPath),
    ) -> Refusal {
        let written = asked.selector.path.as_slice();
        not_granted(self.session, operation, written, place)
    }

    /// Whether a read of the file that the file system has at a name would be granted, by its name
    /// and by every object on the way to it.
    pub(super) fn may_read(
        &self,
        asked: Asked<'_>,
        root: RootIndex,
        path: &RelPath,
    ) -> Result<(), Refusal> {
        self.may_read_name(asked, root, path)?;
        if self.session.policy.denies_objects() {
            // Named as the worker named it.
            reaches_to_read(self.session, self.operation(Verb::Read), (root, path)).map_err(
                |why| match why.rule {
                    Some(rule) => asked.refuse(why.code).by(rule),
                    None => asked.refuse(why.code),
                },
            )?;
        }
        Ok(())
    }

    /// The same by the name alone, of what is not there yet.
    pub(super) fn may_read_name(
        &self,
        asked: Asked<'_>,
        root: RootIndex,
        path: &RelPath,
    ) -> Result<(), Refusal> {
        let level = self.session.level(root, path, self.operation(Verb::Read));
        let needs = "an edit shows what it matches, so it needs `read` as well";
        if level == Level::Nothing {
            return Err(asked.refuse(Code::NotGranted).noting(needs));
        }
        match (self.session.policy.judge(root, path, Verb::Read), level) {
            (Judgement::Clear, Level::Granted) => Ok(()),
            (Judgement::Clear, Level::Ask | Level::Nothing) => {
                Err(asked.refuse(Code::NeedsApproval).noting(needs))
            }
            (Judgement::Asks(rule), _) => {
                let refusal = asked.refuse(Code::NeedsApproval).by(rule.clone());
                Err(refusal.noting(needs))
            }
            (Judgement::Denied(rule), _) => {
                let note = "an edit shows what it matches, and reading is denied";
                Err(asked.refuse(Code::Denied).by(rule.clone()).noting(note))
            }
            (Judgement::Hidden, _) => Err(asked.refuse(Code::NotFound)),
        }
    }

    /// The same, of what the file system has at a name of the set.
    pub(super) fn may_show(&self, n: Which) -> bool {
        self.overlay.names.get(n).is_some_and(|name| {
            self.may_read(name.asked, name.at.root, &name.at.path)
                .is_ok()
        })
    }
}

/// Reaches a file as a read would, which judges it and every directory on the way as objects.
/// Nothing of it is read.
pub(crate) fn reaches_to_read(
    session: &Session,
    operation: Operation,
    (root, path): (RootIndex, &RelPath),
) -> Result<(), Refusal> {
    let sealed = session.authority.root(root);
    let selector = Selector {
        root: sealed.map(|root| root.label.clone()),
        path: Bytes::cut(path.as_bytes()),
    };
    let admitted = admit(session, operation, &selector, Links::Keep)?;
    resolve(session, admitted).map(|_| ())
}
