//! What was changed, in words: one name at a time, and a whole run together.

use portcullis_protocol::control::Receipt;
use portcullis_protocol::session::{Outcome, Touched};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{PathState, Present};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Bytes of a digest that are shown to people.
const DIGEST_SHOWN: usize = 4;

/// A name as the session wrote it.
pub(crate) fn place(receipt: &Receipt, touched: &Touched) -> String {
    let roots = receipt.roots.as_slice();
    let root = roots
        .get(usize::from(touched.root.0))
        .map_or_else(|| format!("#{}", touched.root.0), ToString::to_string);
    if touched.path.is_root() {
        format!("/{root}")
    } else {
        format!("/{root}/{}", touched.path)
    }
}

/// What is at a name.
pub(crate) fn state(state: &PathState) -> String {
    match state {
        PathState::Absent => "nothing".to_owned(),
        PathState::Unknown => "not known".to_owned(),
        PathState::Present(there) => {
            let mut text = format!("{} {:04o}", there.kind.name(), there.mode);
            // Writing to a string does not fail.
            if there.kind != portcullis_protocol::view::Kind::Directory {
                write!(text, ", {}", crate::words::counted(there.size, "byte")).unwrap_or_default();
            }
            if let Some(digest) = &there.digest {
                let start = digest.0.get(..DIGEST_SHOWN).unwrap_or_default();
                write!(text, ", {}…", hex(start)).unwrap_or_default();
            }
            text
        }
    }
}

/// One line for one name.
pub(crate) fn line(receipt: &Receipt, touched: &Touched) -> String {
    format!(
        "{} {}: {} → {}",
        touched.verb,
        place(receipt, touched),
        state(&touched.before),
        state(&touched.after)
    )
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    })
}

/// How a name ended up, seen from the run's first change of it to its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Net {
    /// It was not there.
    Created,
    /// It has other content, or is another object.
    Replaced,
    /// Only its mode is another.
    Mode,
    /// It is gone.
    Deleted,
    /// It was changed, and is as it was.
    Restored,
}

impl Net {
    pub(crate) const ALL: [Self; 5] = [
        Self::Created,
        Self::Replaced,
        Self::Mode,
        Self::Deleted,
        Self::Restored,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Replaced => "replaced",
            Self::Mode => "mode changed",
            Self::Deleted => "deleted",
            Self::Restored => "changed and restored",
        }
    }

    fn of(before: &PathState, after: &PathState) -> Self {
        match (before, after) {
            (PathState::Absent, PathState::Absent) => Self::Restored,
            (PathState::Absent, PathState::Present(_) | PathState::Unknown) => Self::Created,
            (PathState::Present(_) | PathState::Unknown, PathState::Absent) => Self::Deleted,
            (PathState::Present(a), PathState::Present(b)) => Self::of_objects(a, b),
            (PathState::Unknown, PathState::Present(_) | PathState::Unknown)
            | (PathState::Present(_), PathState::Unknown) => Self::Replaced,
        }
    }

    fn of_objects(before: &Present, after: &Present) -> Self {
        let content = |p: &Present| (p.kind, p.size, p.digest);
        // Without a digest equal sizes say nothing of a file.
        let alike = content(before) == content(after)
            && (before.digest.is_some()
                || before.kind == portcullis_protocol::view::Kind::Directory);
        match (alike, before.mode == after.mode) {
            (false, _) => Self::Replaced,
            (true, false) => Self::Mode,
            (true, true) => Self::Restored,
        }
    }
}

/// What a run changed.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    names: BTreeMap<String, Name>,
    /// From, to.
    moved: Vec<(String, String)>,
    /// Effects it is not known of what happened: the receipt's number, and each name.
    pub(crate) uncertain: Vec<(u64, Vec<String>)>,
    pub(crate) done: u64,
    pub(crate) failed: u64,
    /// Temporaries that could not be removed.
    pub(crate) left: u64,
}

#[derive(Debug)]
struct Name {
    before: PathState,
    after: PathState,
    reach: Reach,
    times: u32,
}

/// What of an object the changes of its name reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Its mode alone, so that its content is not looked at.
    Mode,
    /// Everything.
    Object,
}

impl Name {
    fn net(&self) -> Net {
        match (&self.before, &self.after, self.reach) {
            (PathState::Present(a), PathState::Present(b), Reach::Mode) if a.mode == b.mode => {
                Net::Restored
            }
            (_, _, Reach::Mode) => Net::Mode,
            (before, after, Reach::Object) => Net::of(before, after),
        }
    }
}

impl Changes {
    pub(crate) fn add(&mut self, receipt: &Receipt) {
        self.left = self.left.saturating_add(u64::from(receipt.end.left));
        match receipt.end.outcome {
            Outcome::Failed => self.failed += 1,
            Outcome::Uncertain => {
                let touched = receipt.end.touched.as_slice().iter();
                let lines = touched.map(|touched| {
                    format!(
                        "{} {}: {} now",
                        touched.verb,
                        place(receipt, touched),
                        state(&touched.after)
                    )
                });
                self.uncertain.push((receipt.id.number, lines.collect()));
            }
            Outcome::Done => {
                self.done += 1;
                self.add_done(receipt);
            }
        }
    }

    fn add_done(&mut self, receipt: &Receipt) {
        let mut touched = receipt.end.touched.as_slice().iter().peekable();
        while let Some(one) = touched.next() {
            let name = place(receipt, one);
            // A move is two names, one after the other: the old one, then the new one.
            let leaves = one.verb == Verb::Move && one.after == PathState::Absent;
            if leaves && let Some(other) = touched.next_if(|next| next.verb == Verb::Move) {
                self.add_move(name, place(receipt, other), other);
                continue;
            }
            let reach = match one.verb {
                Verb::Chmod => Reach::Mode,
                Verb::Stat
                | Verb::Read
                | Verb::List
                | Verb::Glob
                | Verb::Search
                | Verb::Write
                | Verb::Edit
                | Verb::Mkdir
                | Verb::Move
                | Verb::Delete
                | Verb::DeleteTree
                | Verb::Link => Reach::Object,
            };
            let known = self.names.entry(name).or_insert(Name {
                before: one.before,
                after: one.after,
                reach,
                times: 0,
            });
            known.after = one.after;
            known.times += 1;
            if reach == Reach::Object {
                known.reach = reach;
            }
        }
    }

    /// What was created here and then moved was created where it is; what was moved twice was
    /// moved from its first name to its last.
    fn add_move(&mut self, from: String, to: String, there: &Touched) {
        let created = |name: &Name| name.before == PathState::Absent;
        if self.names.get(&from).is_some_and(created) {
            let times = self.names.remove(&from).map_or(1, |name| name.times);
            let name = Name {
                before: there.before,
                after: there.after,
                reach: Reach::Object,
                times,
            };
            self.names.insert(to, name);
            return;
        }
        match self.moved.iter_mut().find(|(_, last)| *last == from) {
            Some((_, last)) => *last = to,
            None => self.moved.push((from, to)),
        }
    }

    /// Whether anything was, or may have been, changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.done == 0 && self.uncertain.is_empty()
    }

    /// Names by how they ended up.
    pub(crate) fn counts(&self) -> Vec<(&'static str, usize)> {
        let of = |net: Net| {
            let all = self.names.values();
            all.filter(|name| name.net() == net).count()
        };
        let mut counts: Vec<(&str, usize)> =
            Net::ALL.iter().map(|net| (net.name(), of(*net))).collect();
        counts.insert(2, ("moved", self.moved.len()));
        counts.retain(|(_, count)| *count > 0);
        counts
    }

    /// One line for each name, those that moved first.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let moved = self
            .moved
            .iter()
            .map(|(from, to)| format!("moved {from} → {to}"));
        let names = self.names.iter().map(|(name, known)| {
            let net = known.net().name();
            match known.times {
                1 => format!("{net} {name}"),
                times => format!("{net} {name} ({times} times)"),
            }
        });
        moved.chain(names)
    }

    pub(crate) fn json(&self) -> Value {
        let names: Vec<Value> = self
            .names
            .iter()
            .map(|(name, known)| {
                json!({
                    "name": name, "how": known.net().name(),
                    "times": known.times,
                })
            })
            .collect();
        let moved: Vec<Value> = self
            .moved
            .iter()
            .map(|(from, to)| json!({"from": from, "to": to}))
            .collect();
        let uncertain: Vec<Value> = self
            .uncertain
            .iter()
            .map(|(receipt, names)| json!({"receipt": receipt, "names": names}))
            .collect();
        json!({
            "done": self.done, "failed": self.failed, "names": names, "moved": moved,
            "uncertain": uncertain, "temporaries_left": self.left,
        })
    }
}

#[cfg(test)]
mod tests;
