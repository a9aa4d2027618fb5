//! Taking back what was made, last act first. Nothing of anybody else is removed: what is taken
//! back is looked at first, under a name nobody knows.

use super::{Made, Name, Placed};
use crate::sys::{change, meta};
use portcullis_protocol::session::Deletion;
use portcullis_protocol::view::ObjectId;
use rustix::io::Errno;
use std::os::fd::AsFd as _;

/// Tries of a call that only failed for the moment.
const TRIES: u32 = 3;
/// Exchanges until a name that others exchange as well has what it had.
const EXCHANGES_MAX: u32 = 64;

/// What could not be taken back.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Undone {
    pub(super) left: u32,
}

/// Takes back all acts.
pub(super) fn all(made: Vec<Made>) -> Undone {
    let mut undone = Undone::default();
    for act in made.into_iter().rev() {
        if !one(act) {
            undone.left += 1;
        }
    }
    undone
}

/// Takes back one act; whether it could.
fn one(made: Made) -> bool {
    match made {
        Made::Directory { at, id } => {
            // Only an empty directory goes: what others put into it stays, and it with it.
            at.object() == Ok(id) && again(|| change::remove_directory(at.fd(), &at.name))
        }
        Made::Named { at, id, temporary } => {
            let beside = at.beside(temporary);
            again(|| change::rename(at.fd(), &at.name, beside.fd(), &beside.name))
                && (remove(&beside, id) || {
                    change::rename(beside.fd(), &beside.name, at.fd(), &at.name)
                        .unwrap_or_default();
                    false
                })
        }
        Made::Exchanged {
            at,
            temporary,
            placed,
            displaced,
            ..
        } => {
            let beside = at.beside(temporary);
            beside.object() == Ok(displaced)
                && again(|| change::exchange(beside.fd(), &beside.name, at.fd(), &at.name))
                && settle(&at, &beside, placed, displaced)
        }
        Made::Claimed { at, temporary, .. } => {
            let beside = at.beside(temporary);
            again(|| change::rename(beside.fd(), &beside.name, at.fd(), &at.name))
        }
        Made::Renamed { from, to, id } => {
            to.object() == Ok(id)
                && again(|| change::rename(to.fd(), &to.name, from.fd(), &from.name))
        }
        Made::Swapped { from, to, id } => to.object() == Ok(id) && trade_back(&from, &to, id),
        Made::Moded { object, before } => again(|| meta::set_mode(object.as_fd(), before)),
    }
}

/// Makes a call until it succeeds, a few times.
fn again(call: impl FnMut() -> Result<(), Errno>) -> bool {
    insist(call).is_ok()
}

/// The same, with what the last call gave.
pub(super) fn insist<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    let mut given = call();
    for _ in 1..TRIES {
        if given.is_ok() {
            break;
        }
        given = call();
    }
    given
}

/// Removes a temporary that is ours; whether nothing is left of it.
pub(super) fn remove(beside: &Name, ours: ObjectId) -> bool {
    for _ in 0..TRIES {
        match beside.object() {
            Ok(object) if object == ours => {}
            Err(Errno::NOENT) => return true,
            Ok(_) | Err(_) => continue,
        }
        match change::remove(beside.fd(), &beside.name) {
            Ok(()) | Err(Errno::NOENT) => return true,
            Err(_) => {}
        }
    }
    false
}

/// Removes what was put under a temporary name and is ours; whether nothing is left of it.
pub(super) fn unplace(beside: &Name, placed: Placed) -> bool {
    match placed.deletion {
        Deletion::File => remove(beside, placed.id),
        // Only an empty one goes: what others put into it stays.
        Deletion::Directory | Deletion::Tree => match beside.object() {
            Ok(object) if object == placed.id => {
                again(|| change::remove_directory(beside.fd(), &beside.name))
            }
            Err(Errno::NOENT) => true,
            Ok(_) | Err(_) => false,
        },
    }
}

/// After an exchange brought out something else than expected: exchanges back until the name has
/// what it had, and removes ours, which is `placed`.
pub(super) fn put_back(at: &Name, beside: &Name, placed: Placed) -> bool {
    let Some(out) = (0..TRIES).find_map(|_| beside.object().ok()) else {
        return false;
    };
    again(|| change::exchange(beside.fd(), &beside.name, at.fd(), &at.name))
        && settle(at, beside, placed, out)
}

/// After an exchange back: `restored` was put under the name and `placed` must have come out. If
/// something else did, somebody changed the name meanwhile, and an older version now stands over a
/// newer one: exchange again, until what comes out is what was put there last.
///
/// Only ours is removed. Any other version that is left here was displaced by ours and replaced by
/// somebody who saw ours, and not it: nobody has thrown it away, so that it is kept, and told.
fn settle(at: &Name, beside: &Name, placed: Placed, restored: ObjectId) -> bool {
    let (mut expected, mut put) = (placed.id, restored);
    for _ in 0..EXCHANGES_MAX {
        let Some(out) = (0..TRIES).find_map(|_| beside.object().ok()) else {
            return false;
        };
        if out == expected {
            return out == placed.id && unplace(beside, placed);
        }
        // Not possible when the name was removed: it stays so, and what came out is kept.
        if !again(|| change::exchange(beside.fd(), &beside.name, at.fd(), &at.name)) {
            return false;
        }
        (expected, put) = (put, out);
    }
    false
}

/// After two objects exchanged their names and one of them is not what was expected: exchanges
/// them back; whether `moved` has its old name again. Where somebody took it from its new name
/// meanwhile, what he put there gets that name back instead.
pub(super) fn trade_back(from: &Name, to: &Name, moved: ObjectId) -> bool {
    let exchange = || change::exchange(from.fd(), &from.name, to.fd(), &to.name);
    if !again(exchange) {
        return false;
    }
    match from.object() {
        Ok(object) if object == moved => true,
        Ok(_) => {
            again(exchange);
            false
        }
        Err(_) => false,
    }
}
