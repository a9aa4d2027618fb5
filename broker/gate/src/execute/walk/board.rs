//! What of a walk is done, under way and still to be done, in the order of the answer.
//!
//! A list of slots. A slot is a unit of work or its result; a unit whose result is not yet all puts
//! what it found, and the units that come of it, in its own place. So the list is always the whole
//! answer from here on, and whoever takes the first unit of it works on what is needed next. Its front
//! is taken off as it becomes ready.
//!
//! Bounded: where results wait for more than [`HELD_MAX`] bytes or in more than [`READY_MAX`] slots,
//! only the unit in front is given out. That always goes on: the front is ready, is given out, or is
//! being worked on by somebody who waits for nobody.

use std::num::NonZeroU32;

/// Bytes of results that wait for those before them.
pub(super) const HELD_MAX: usize = 8 * 1024 * 1024;
/// Results that wait for those before them.
const READY_MAX: usize = 4096;
/// A slot, while it is in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place(u32);

#[derive(Debug)]
struct Slot<U, R> {
    state: State<U, R>,
    next: Option<NonZeroU32>,
    /// Its neighbours among the units, which are a list of their own within this one: who looks for
    /// work passes over no results. Slot 0 is the one before the first.
    before: u32,
    after: Option<NonZeroU32>,
}

#[derive(Debug)]
enum State<U, R> {
    Waiting(U),
    Running,
    Ready(Box<R>),
    Free,
}

/// What came of a unit.
#[derive(Debug)]
pub(super) enum Outcome<U, R> {
    Ready(R),
    Waiting(U),
}

/// How much a result holds.
pub(super) trait Held {
    /// Bytes.
    fn held(&self) -> usize;
}

/// Units that may be worked on together.
pub(super) trait Together {
    /// Whether this one may go with `first`.
    fn goes_with(&self, first: &Self) -> bool;
}

/// See the module.
#[derive(Debug)]
pub(super) struct Board<U, R> {
    /// Slot 0 stands before the list and holds nothing.
    slots: Vec<Slot<U, R>>,
    free: Vec<NonZeroU32>,
    held: usize,
    ready: usize,
}

impl<U: Together, R: Held> Board<U, R> {
    /// A list of one unit.
    pub(super) fn new(first: U) -> Self {
        let mut board = Self {
            slots: vec![Slot {
                state: State::Free,
                next: None,
                before: 0,
                after: None,
            }],
            free: Vec::new(),
            held: 0,
            ready: 0,
        };
        let place = board.insert_after(0, State::Waiting(first));
        board.add_unit(0, place);
        board
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.next_of(0).is_none()
    }

    /// Whether only what is in front may still be worked on.
    pub(super) fn is_full(&self) -> bool {
        self.held >= HELD_MAX || self.ready >= READY_MAX
    }

    /// Whether this slot is in front.
    pub(super) fn is_first(&self, place: Place) -> bool {
        self.next_of(0).is_some_and(|first| first.get() == place.0)
    }

    /// Takes the result in front, if it is ready.
    pub(super) fn pop(&mut self) -> Option<R> {
        let first = self.next_of(0)?;
        let next = self.next_of(first.get());
        let slot = self.slot_mut(first.get())?;
        match std::mem::replace(&mut slot.state, State::Free) {
            State::Ready(result) => {
                if let Some(before) = self.slot_mut(0) {
                    before.next = next;
                }
                self.free.push(first);
                self.ready -= 1;
                self.held = self.held.saturating_sub(result.held());
                Some(*result)
            }
            state @ (State::Waiting(_) | State::Running | State::Free) => {
                slot.state = state;
                None
            }
        }
    }

    /// Takes the first unit that waits and may be worked on now, and up to `most` in all that go with
    /// it and are next. Each must be settled.
    pub(super) fn claim(&mut self, most: usize) -> Vec<(Place, U)> {
        let mut claimed: Vec<(Place, U)> = Vec::new();
        let full = self.is_full();
        let front = self.next_of(0);
        let mut at = self.after_of(0);
        while let Some(place) = at {
            if claimed.len() == most || full && front != Some(place) {
                break;
            }
            let Some(slot) = self.slot_mut(place.get()) else {
                break;
            };
            at = slot.after;
            let State::Waiting(unit) = &slot.state else {
                // Somebody works on it.
                continue;
            };
            match claimed.first() {
                Some((_, first)) if !unit.goes_with(first) => break,
                Some(_) | None => {}
            }
            if let State::Waiting(unit) = std::mem::replace(&mut slot.state, State::Running) {
                claimed.push((Place(place.get()), unit));
            }
        }
        claimed
    }

    /// Puts in front of a unit that is being worked on a part of its result.
    pub(super) fn put_before(&mut self, place: Place, result: R) -> Place {
        let next = self.insert_after(place.0, State::Running);
        self.add_unit(place.0, next);
        self.remove_unit(place.0);
        self.make_ready(place.0, result);
        Place(next)
    }

    /// Puts in the place of a unit what came of it, in order.
    pub(super) fn settle(
        &mut self,
        place: Place,
        outcomes: impl IntoIterator<Item = Outcome<U, R>>,
    ) {
        // Further units come behind the last of them; this slot is one until that is settled.
        let (mut at, mut unit, mut first) = (place.0, place.0, true);
        let mut becomes_result = false;
        for outcome in outcomes {
            if !first {
                at = self.insert_after(at, State::Running);
            }
            match outcome {
                Outcome::Ready(result) => {
                    becomes_result |= first;
                    self.make_ready(at, result);
                }
                Outcome::Waiting(waiting) => {
                    if let Some(slot) = self.slot_mut(at) {
                        slot.state = State::Waiting(waiting);
                    }
                    if !first {
                        self.add_unit(unit, at);
                    }
                    unit = at;
                }
            }
            first = false;
        }
        if becomes_result {
            self.remove_unit(place.0);
        }
    }

    /// Makes a slot a unit, behind another one.
    fn add_unit(&mut self, behind: u32, at: u32) {
        let after = self.after_of(behind);
        if let Some(slot) = self.slot_mut(at) {
            (slot.before, slot.after) = (behind, after);
        }
        self.join(behind, NonZeroU32::new(at));
        self.join(at, after);
    }

    fn remove_unit(&mut self, at: u32) {
        let Some(slot) = self.slot_mut(at) else {
            return;
        };
        let (before, after) = (slot.before, slot.after.take());
        self.join(before, after);
    }

    /// Makes two units neighbours.
    fn join(&mut self, before: u32, after: Option<NonZeroU32>) {
        if let Some(slot) = self.slot_mut(before) {
            slot.after = after;
        }
        if let Some(slot) = after.and_then(|after| self.slot_mut(after.get())) {
            slot.before = before;
        }
    }

    fn make_ready(&mut self, at: u32, result: R) {
        self.held += result.held();
        self.ready += 1;
        if let Some(slot) = self.slot_mut(at) {
            slot.state = State::Ready(Box::new(result));
        }
    }

    fn insert_after(&mut self, at: u32, state: State<U, R>) -> u32 {
        let next = self.next_of(at);
        let slot = Slot {
            state,
            next,
            before: 0,
            after: None,
        };
        let place = match self.free.pop() {
            Some(place) => {
                if let Some(old) = self.slot_mut(place.get()) {
                    *old = slot;
                }
                Some(place)
            }
            None => {
                let place = u32::try_from(self.slots.len())
                    .ok()
                    .and_then(NonZeroU32::new);
                self.slots.push(slot);
                place
            }
        };
        if let Some(before) = self.slot_mut(at) {
            before.next = place;
        }
        place.map_or(0, NonZeroU32::get)
    }

    fn next_of(&self, at: u32) -> Option<NonZeroU32> {
        self.slots.get(usize::try_from(at).ok()?)?.next
    }

    fn after_of(&self, at: u32) -> Option<NonZeroU32> {
        self.slots.get(usize::try_from(at).ok()?)?.after
    }

    fn slot_mut(&mut self, at: u32) -> Option<&mut Slot<U, R>> {
        self.slots.get_mut(usize::try_from(at).ok()?)
    }
}

#[cfg(test)]
mod tests;
