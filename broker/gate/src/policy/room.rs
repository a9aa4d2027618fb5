//! One directory and many of its names, as a walk or a list meets them.

use super::tree::End;
use super::{Judgement, Place, Policy, add_hits};
use crate::policy::fold::with_folded;
use portcullis_protocol::verb::Verb;

/// A directory, prepared for judging many of its names.
#[derive(Debug, Clone)]
pub struct Room {
    place: Place,
}

impl Room {
    /// The place of the directory.
    pub const fn place(&self) -> &Place {
        &self.place
    }
}

/// What the denials by name say of a name in a room, beside what they say of the room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Met {
    hits: Vec<u32>,
}

impl Policy {
    /// The directory at `place`, for judging its names.
    pub fn room(&self, place: &Place) -> Room {
        Room {
            place: place.clone(),
        }
    }

    /// What the denials by name say of `name` in `room`. Nothing is allocated for a name that no denial
    /// covers, short of the odd one that is not ASCII.
    pub fn meet(&self, room: &Room, name: &[u8]) -> Met {
        let mut met = Met::default();
        let Place { hits, alive, path } = &room.place;
        with_folded(name, |name| {
            let mut ends: Vec<End> = Vec::new();
            self.patterns.find(alive, path, name, &mut ends);
            add_hits(&ends, hits, &mut met.hits);
        });
        met
    }

    /// What the denials by name say of a name that was met in `room`, and `verb`.
    #[inline]
    pub fn judge_met(&self, room: &Room, met: &Met, verb: Verb) -> Judgement<'_> {
        if room.place.hits.is_empty() && met.hits.is_empty() {
            return Judgement::Clear;
        }
        self.granted(
            self.raw(&room.place.hits, verb)
                .or(self.raw(&met.hits, verb)),
        )
    }
}
