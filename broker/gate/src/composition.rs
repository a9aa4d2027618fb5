//! A change set that one frame does not hold, in memory until it is asked for. One for each
//! session; what is not asked for goes with it.

use portcullis_protocol::limits::COMPOSED_BYTES_MAX;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{ChangeComposed, ChangeSet, ComposedError, decode_composed};

/// What was composed so far: at most [`COMPOSED_BYTES_MAX`] bytes, and never room for more.
#[derive(Debug, Default)]
pub(crate) struct Composition(Vec<u8>);

impl Composition {
    /// Adds a part that begins at `offset`, and gives how much there is. At 0 what was there is
    /// forgotten first; so it is when there would be too much, because no part could complete it.
    pub(crate) fn add(&mut self, offset: u64, part: &[u8]) -> Result<u64, Refusal> {
        if offset == 0 {
            self.0 = Vec::new();
        }
        let len = self.0.len();
        if u64::try_from(len) != Ok(offset) {
            let note = format!("the next part begins at byte {len}, this one at {offset}");
            return Err(Refusal::new(Code::UnknownUpload).noting(&note));
        }
        let whole = len.saturating_add(part.len());
        if whole > COMPOSED_BYTES_MAX {
            self.0 = Vec::new();
            let note = format!(
                "a change set is composed of at most {COMPOSED_BYTES_MAX} bytes; what was sent of \
                 this one is forgotten"
            );
            return Err(Refusal::new(Code::OutOfBudget).noting(&note));
        }
        if whole > self.0.capacity() {
            let room = len.max(part.len()).min(COMPOSED_BYTES_MAX - len);
            if self.0.try_reserve_exact(room).is_err() {
                return Err(Refusal::new(Code::Exhausted));
            }
        }
        self.0.extend_from_slice(part);
        Ok(u64::try_from(whole).unwrap_or(u64::MAX))
    }

    /// The change set with its content.
    pub(crate) fn read(&self, ask: ChangeComposed) -> Result<(ChangeSet, &[u8]), Refusal> {
        if self.0.is_empty() {
            let note = "nothing was composed, or it was used up";
            return Err(Refusal::new(Code::UnknownUpload).noting(note));
        }
        decode_composed(&self.0, ask).map_err(|error| {
            let code = match error {
                ComposedError::TooLarge(_) => Code::OutOfBudget,
                ComposedError::Malformed => Code::Malformed,
            };
            let note = format!("what was composed: {error}");
            Refusal::new(code).noting(&note)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<T>(result: Result<T, Refusal>) -> Result<T, Code> {
        result.map_err(|refusal| refusal.code)
    }

    #[test]
    fn parts_follow_each_other_and_the_first_forgets_the_rest() {
        let mut composed = Composition::default();
        assert_eq!(code(composed.add(1, b"x")), Err(Code::UnknownUpload));
        assert_eq!(code(composed.add(0, b"abc")), Ok(3));
        for offset in [1, 2, 4, u64::MAX] {
            assert_eq!(code(composed.add(offset, b"x")), Err(Code::UnknownUpload));
        }
        assert_eq!(code(composed.add(3, b"de")), Ok(5));
        assert_eq!(composed.0, b"abcde");
        assert_eq!(code(composed.add(0, b"z")), Ok(1));
        assert_eq!(composed.0, b"z");
        assert_eq!(code(composed.add(0, b"")), Ok(0));
        assert_eq!(
            composed.0.capacity(),
            0,
            "an empty first part gives all back"
        );
    }

    #[test]
    fn there_is_never_room_for_more_than_may_be() {
        let mut composed = Composition::default();
        let part = vec![7; 65_000];
        let mut at = 0;
        let refused = loop {
            match composed.add(at, &part) {
                Ok(next) => at = next,
                Err(refusal) => break refusal,
            }
            assert!(composed.0.capacity() <= COMPOSED_BYTES_MAX);
        };
        assert_eq!(refused.code, Code::OutOfBudget);
        assert_eq!(composed.0.capacity(), 0);
        assert_eq!(code(composed.add(at, &part)), Err(Code::UnknownUpload));
    }
}
