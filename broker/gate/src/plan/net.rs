//! What all changes of a set leave, name by name: what is there before and after, and the acts that
//! lead from one to the other.

use super::act::{Act, Bound, Fate, New, Stands, Which};
use super::check::{NEW_DIRECTORY, random, with_mode};
use super::compile::{Bits, Entangled, Gets, Node, Op, Was, order};
use super::content;
use super::diff::Diff;
use super::matches::Matches;
use super::overlay::{Basis, Name, Thing};
use super::target::Planner;
use crate::memory::Origin;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Touched;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Kind, PathState, Present};
use std::rc::Rc;

/// All a set comes to.
pub(super) struct Net {
    pub(super) names: Vec<Bound>,
    pub(super) acts: Vec<Act>,
    pub(super) diff: Diff,
    pub(super) matches: Matches,
}

impl Planner<'_> {
    /// What all changes come to.
    pub(super) fn finish(mut self) -> Result<Net, Refusal> {
        for n in 0..self.overlay.names.len() {
            if let Some(name) = self.overlay.names.get(n) {
                self.was(name.asked, n)?;
            }
        }
        let numbers = self.numbers();
        if numbers.all().next().is_none() {
            let note = "the set changes nothing: what it makes it takes back itself";
            let nothing = Refusal::new(Code::Collision).noting(note);
            return Err(self.idle.unwrap_or(nothing));
        }
        let nodes = self.nodes(&numbers);
        let names = self.bound(&numbers);
        self.judge_modes(&numbers, &names)?;
        let ops = order(&nodes).map_err(|Entangled(n)| {
            let note = "what one change of the set puts there needs another one to be done, and \
                        that one needs it";
            let refusal = Refusal::new(Code::Collision).noting(note);
            match names.get(n) {
                Some(name) => refusal
                    .of(name.touched.verb)
                    .on(name.touched.path.as_bytes()),
                None => refusal,
            }
        })?;
        let diff = self.difference(&numbers);
        let acts = self.acts(&numbers, ops);
        // Each act finds what the names were chosen by.
        let acts = acts.ok_or_else(|| Refusal::new(Code::Io))?;
        Ok(Net {
            names,
            acts,
            diff,
            matches: self.matches,
        })
    }

    fn numbers(&self) -> Numbers {
        let len = self.overlay.names.len();
        let mut numbers = Numbers {
            chosen: vec![None; len],
            goes: vec![None; len],
            carried: vec![None; len],
        };
        let mut count = 0;
        for (n, name) in self.overlay.names.iter().enumerate() {
            let slot = match &name.now {
                Some(Thing::Same { of, .. }) => numbers.goes.get_mut(*of),
                Some(Thing::File {
                    like: Some(like), ..
                }) => numbers.carried.get_mut(*like),
                Some(
                    Thing::File { like: None, .. } | Thing::Directory { .. } | Thing::Link { .. },
                )
                | None => None,
            };
            if let Some(slot) = slot {
                *slot = Some(n);
            }
            if is_concerned(n, name)
                && let Some(number) = numbers.chosen.get_mut(n)
            {
                *number = Some(count);
                count += 1;
            }
        }
        numbers
    }

    /// The names that change, as their order is worked out from.
    fn nodes(&self, numbers: &Numbers) -> Vec<Node> {
        let node = |n: Which, name: &Name<'_>| Node {
            was: match self.overlay.held(n).map(|held| held.observation.kind) {
                None => Was::Nothing,
                Some(Kind::Directory) => Was::Directory,
                Some(
                    Kind::File
                    | Kind::Link
                    | Kind::Fifo
                    | Kind::Socket
                    | Kind::Device
                    | Kind::Unknown,
                ) => Was::Other,
            },
            gets: match &name.now {
                None => Gets::Nothing,
                Some(Thing::Same { of, .. }) => match numbers.of(*of) {
                    Some(number) => Gets::Object(number),
                    None => Gets::Nothing,
                },
                Some(Thing::Directory { .. }) => Gets::Directory,
                Some(Thing::File { .. } | Thing::Link { .. }) => Gets::New,
            },
            bits: match self.mode(numbers, n) {
                Some(_) => Bits::Set,
                None => Bits::Stay,
            },
            above: self.above(numbers, name),
        };
        numbers
            .all()
            .filter_map(|n| Some(node(n, self.overlay.names.get(n)?)))
            .collect()
    }

    /// The permission bits that the object of a name gets.
    fn mode(&self, numbers: &Numbers, n: Which) -> Option<u16> {
        numbers.goes(n).and_then(|to| self.overlay.mode(to))
    }

    /// The nearest name above one that changes as well.
    fn above(&self, numbers: &Numbers, name: &Name<'_>) -> Option<Which> {
        if numbers.chosen.len() == 1 {
            return None;
        }
        let mut path = name.at.path.clone();
        while path.pop() && !path.is_root() {
            let found = self.overlay.find(name.at.root, &path);
            if let Some(number) = found.and_then(|n| numbers.of(n)) {
                return Some(number);
            }
        }
        None
    }

    fn bound(&self, numbers: &Numbers) -> Vec<Bound> {
        let names = numbers.all().filter_map(|n| {
            let name = self.overlay.names.get(n)?;
            let before = self.state(n);
            let held = name.was.as_ref().map(|was| Rc::clone(&was.held));
            let fate = match (&name.was, numbers.goes(n)) {
                (None, _) => Fate::Stays,
                (Some(_), Some(to)) if to == n => Fate::Stays,
                (Some(_), Some(to)) => Fate::Moves(self.overlay.names.get(to)?.at.path.clone()),
                (Some(was), None) if numbers.carried(n).is_some() => Fate::Replaced(was.deletion),
                (Some(was), None) => Fate::Deleted(was.deletion),
            };
            Some(Bound {
                at: name.at.clone(),
                held,
                fate,
                touched: Touched {
                    verb: name.verb,
                    root: name.at.root,
                    path: name.at.path.clone(),
                    before,
                    after: self.after(name),
                },
                origin: self.origin(name),
            })
        });
        names.collect()
    }

    /// What the content that a name gets was made from.
    fn origin(&self, name: &Name<'_>) -> Origin {
        let of = match &name.now {
            Some(Thing::Same { of, .. }) => *of,
            Some(Thing::File { basis, like, .. }) => match (basis, like) {
                (Basis::Object, Some(like)) => *like,
                (Basis::Request, _) => return Origin::Request,
                (Basis::Object, None) => return Origin::Other,
            },
            Some(Thing::Directory { .. } | Thing::Link { .. }) | None => return Origin::Other,
        };
        match self.state(of) {
            PathState::Present(was) => Origin::Object(was),
            PathState::Absent | PathState::Unknown => Origin::Other,
        }
    }

    /// What the file system has at a name, looked at before.
    pub(super) fn state(&self, n: Which) -> PathState {
        let was = self.overlay.names.get(n).and_then(|name| name.was.as_ref());
        was.and_then(|was| was.state).unwrap_or(PathState::Absent)
    }

    fn after(&self, name: &Name<'_>) -> PathState {
        let made = |kind, mode, size, digest| {
            PathState::Present(Present {
                kind,
                mode,
                size,
                digest,
                stamp: None,
            })
        };
        match &name.now {
            None => PathState::Absent,
            Some(Thing::Same { of, mode: None }) => self.state(*of),
            Some(Thing::Same {
                of,
                mode: Some(mode),
            }) => with_mode(self.state(*of), *mode),
            Some(Thing::File { content, .. }) => PathState::Present(content.present),
            Some(Thing::Directory { mode }) => {
                made(Kind::Directory, mode.unwrap_or(NEW_DIRECTORY), 0, None)
            }
            Some(Thing::Link { text }) => {
                let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
                made(Kind::Link, 0o777, size, Some(content::digest(text)))
            }
        }
    }

    /// The acts, each with what it needs.
    fn acts(&mut self, numbers: &Numbers, ops: Vec<Op>) -> Option<Vec<Act>> {
        let all: Vec<Which> = numbers.all().collect();
        let modes: Vec<Option<u16>> = all.iter().map(|n| self.mode(numbers, *n)).collect();
        let mut new = |at: Which| {
            let name = self.overlay.names.get_mut(*all.get(at)?)?;
            match name.now.take()? {
                Thing::File { content, .. } => Some(New::File(content)),
                Thing::Directory { mode } => Some(New::Directory(mode)),
                Thing::Link { text } => Some(New::Link(text)),
                Thing::Same { .. } => None,
            }
        };
        let act = |op| {
            Some(match op {
                Op::Chmod(at) => Act::Chmod {
                    at,
                    mode: modes.get(at).copied().flatten()?,
                },
                Op::Make(at) => Act::Make {
                    at,
                    new: new(at)?,
                    temporary: random(),
                },
                Op::Replace { at, gone } => Act::Replace {
                    at,
                    gone,
                    new: new(at)?,
                    temporary: random(),
                },
                Op::Claim { at, gone } => Act::Claim {
                    at,
                    gone,
                    temporary: random(),
                },
                Op::Rename { from, to } => Act::Rename { from, to },
                Op::Swap { at, one, other } => Act::Swap {
                    one: Stands { at, object: one },
                    other: Stands {
                        at: other,
                        object: other,
                    },
                },
            })
        };
        ops.into_iter().map(act).collect()
    }
}

/// Whether a name is another in the end, or was asked to be what it is already.
fn is_concerned(n: Which, name: &Name<'_>) -> bool {
    match (&name.was, &name.now) {
        (None, None) => false,
        (_, Some(Thing::Same { of, mode })) if *of == n => {
            mode.is_some() || name.verb == Verb::Mkdir
        }
        (None | Some(_), _) => true,
    }
}

/// Names of an overlay by their numbers in the plan, and what becomes of their objects.
pub(super) struct Numbers {
    chosen: Vec<Option<Which>>,
    goes: Vec<Option<Which>>,
    /// Where a new file takes after the object.
    carried: Vec<Option<Which>>,
}

impl Numbers {
    /// The names of the plan, in its order.
    pub(super) fn all(&self) -> impl Iterator<Item = Which> {
        let numbered = self.chosen.iter().enumerate();
        numbered.filter_map(|(n, number)| number.map(|_| n))
    }

    fn of(&self, n: Which) -> Option<Which> {
        self.chosen.get(n).copied().flatten()
    }

    pub(super) fn goes(&self, n: Which) -> Option<Which> {
        self.goes.get(n).copied().flatten()
    }

    pub(super) fn carried(&self, n: Which) -> Option<Which> {
        self.carried.get(n).copied().flatten()
    }
}
