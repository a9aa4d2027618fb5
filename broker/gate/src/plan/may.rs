//! Whether what a change meets may be shown: a difference, and what an edit matches, tell as much
//! as a read does.

use super::act::Which;
use super::target::{Asked, Planner};
use crate::admit::admit;
use crate::policy::Judgement;
use crate::resolve::resolve;
use crate::session::Session;
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Links, Selector};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::RootIndex;

impl Planner<'_> {
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
            reaches_to_read(self.session, root, path).map_err(|why| match why.rule {
                Some(rule) => asked.refuse(why.code).by(rule),
                None => asked.refuse(why.code),
            })?;
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
        if self
            .session
            .authority
            .grant(root, path, Verb::Read)
            .is_none()
        {
            let note = "an edit shows what it matches, so it needs `read` as well";
            return Err(asked.refuse(Code::NotGranted).noting(note));
        }
        match self.session.policy.judge(root, path, Verb::Read) {
            Judgement::Clear => Ok(()),
            Judgement::Denied(rule) => {
                let note = "an edit shows what it matches, and reading is denied";
                Err(asked.refuse(Code::Denied).by(rule.clone()).noting(note))
            }
            Judgement::Hidden => Err(asked.refuse(Code::NotFound)),
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
    root: RootIndex,
    path: &RelPath,
) -> Result<(), Refusal> {
    let sealed = session.authority.root(root);
    let selector = Selector {
        root: sealed.map(|root| root.label.clone()),
        path: Bytes::cut(path.as_bytes()),
    };
    let admitted = admit(session, Verb::Read, &selector, Links::Keep)?;
    resolve(session, admitted).map(|_| ())
}
