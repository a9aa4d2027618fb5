//! A hint for a name that is not there while one that looks the same is: another kind of space,
//! another letter case, another normalisation. Said as a note of the refusal, never acted on.

use crate::admit::admit;
use crate::bind::bind;
use crate::policy::{Judgement, fold};
use crate::resolve::resolve;
use crate::session::Session;
use crate::sys::directory::{self, Fetch};
use portcullis_protocol::authority::Operation;
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::ledger::Temporary;
use portcullis_protocol::path::escape;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Links, Selector};
use portcullis_protocol::verb::Verb;
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;

/// Names of a directory looked at for one hint.
const NAMES_MAX: usize = 10_000;

/// Adds a hint to a *not found*, when the session may list the directory the name should be in
/// and exactly one name there looks the same. Everything else comes back unchanged.
pub(crate) fn suggest(session: &Session, selector: &Selector, refusal: Refusal) -> Refusal {
    if refusal.code != Code::NotFound {
        return refusal;
    }
    match alike(session, selector) {
        Some(name) => {
            let note = format!("a name that looks the same exists: `{}`", escape(&name));
            refusal.noting(&note)
        }
        None => refusal,
    }
}

/// The one name beside the missing one that looks the same.
fn alike(session: &Session, selector: &Selector) -> Option<Vec<u8>> {
    let written = selector.path.as_slice();
    let slash = written.iter().rposition(|b| *b == b'/');
    let (parent, name) = match slash {
        Some(at) => (written.get(..=at)?, written.get(at + 1..)?),
        None => (&b"."[..], written),
    };
    let wanted = look(name);
    let parent = Selector {
        root: selector.root.clone(),
        path: Bytes::new(parent).ok()?,
    };
    // The same stages as a listing, so a hint shows nothing that a listing would not.
    let admitted = admit(session, Operation::of(Verb::List), &parent, Links::Follow).ok()?;
    let bound = bind(
        session,
        resolve(session, admitted).ok()?,
        parent.path.as_slice(),
    )
    .ok()?;
    let place = session.policy.place(bound.root(), bound.path());
    let (mut found, mut seen) = (Vec::new(), 0);
    directory::each(bound.object().as_fd(), &mut Fetch::new(), |named| {
        seen += 1;
        let ours = Temporary::is_one(named.name);
        if named.name != name && !ours && look(named.name) == wanted {
            let child = session.policy.enter(&place, named.name);
            let inode = (bound.observation().stamp.device, named.inode);
            let object = session.policy.judge_object(inode, Verb::List);
            let hidden = session.policy.judge_place(&child, Verb::List) == Judgement::Hidden
                || object == Judgement::Hidden;
            if !hidden {
                found.push(named.name.to_vec());
            }
        }
        if seen <= NAMES_MAX && found.len() < 2 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })
    .ok()?;
    match found.as_slice() {
        // In a directory that was not looked at to its end there may be a second one.
        [_] if seen <= NAMES_MAX => found.pop(),
        [..] => None,
    }
}

/// What a name looks like: folded, and every kind of space the same.
fn look(name: &[u8]) -> Vec<u8> {
    if name.is_ascii() {
        return fold(name).into_owned();
    }
    let mut spaced = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        let text: String = chunk
            .valid()
            .chars()
            .map(|c| if c.is_whitespace() { ' ' } else { c })
            .collect();
        spaced.extend_from_slice(text.as_bytes());
        spaced.extend_from_slice(chunk.invalid());
    }
    fold(&spaced).into_owned()
}
