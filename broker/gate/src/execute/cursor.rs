//! Where a cut answer goes on. A cursor names the object it was made in, so that it leads nowhere else,
//! and the last object that was told.

use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::Cursor;
use portcullis_protocol::view::{Stamp, Timestamp};

/// After which object an answer goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum After {
    /// In the order of names.
    Name(RelPath),
    /// In the order of times: those at the same time are in the order of names.
    Time(Timestamp, RelPath),
}

const BY_NAME: u8 = 1;
const BY_TIME: u8 = 2;

impl After {
    /// A cursor made in `start`.
    pub(super) fn cursor(&self, start: Stamp) -> Option<Cursor> {
        let (version, path) = match self {
            Self::Name(path) => (BY_NAME, path),
            Self::Time(_, path) => (BY_TIME, path),
        };
        let mut bytes = vec![version];
        bytes.extend_from_slice(&start.device.to_le_bytes());
        bytes.extend_from_slice(&start.inode.to_le_bytes());
        match self {
            Self::Name(_) => {}
            Self::Time(time, _) => {
                bytes.extend_from_slice(&time.seconds.to_le_bytes());
                bytes.extend_from_slice(&time.nanos.to_le_bytes());
            }
        }
        bytes.extend_from_slice(path.as_bytes());
        Cursor::new(bytes).ok()
    }

    /// Reads a cursor that was made in this very object, whatever has changed inside.
    pub(super) fn read(cursor: &Cursor, start: Stamp, within: &RelPath) -> Option<Self> {
        let (version, rest) = cursor.as_slice().split_first()?;
        let (device, rest) = rest.split_first_chunk::<8>()?;
        let (inode, rest) = rest.split_first_chunk::<8>()?;
        if u64::from_le_bytes(*device) != start.device || u64::from_le_bytes(*inode) != start.inode
        {
            return None;
        }
        let path = |bytes: &[u8]| {
            let path = RelPath::parse(bytes).ok()?;
            (path != *within && path.below(within).is_some()).then_some(path)
        };
        match *version {
            BY_NAME => path(rest).map(Self::Name),
            BY_TIME => {
                let (seconds, rest) = rest.split_first_chunk::<8>()?;
                let (nanos, rest) = rest.split_first_chunk::<4>()?;
                let time = Timestamp {
                    seconds: i64::from_le_bytes(*seconds),
                    nanos: u32::from_le_bytes(*nanos),
                };
                Some(Self::Time(time, path(rest)?))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_where_it_was_made_and_nowhere_else() {
        let stamp = |inode| Stamp {
            device: 3,
            inode,
            changed: Timestamp {
                seconds: 0,
                nanos: 0,
            },
            born: None,
            size: 0,
        };
        let path = |text: &str| RelPath::parse(text.as_bytes()).unwrap();
        let time = Timestamp {
            seconds: -5,
            nanos: 7,
        };
        for after in [After::Name(path("a/b")), After::Time(time, path("a/c"))] {
            let cursor = after.cursor(stamp(9)).unwrap();
            let read = |inode, within: &str| After::read(&cursor, stamp(inode), &path(within));
            assert_eq!(read(9, "a"), Some(after.clone()));
            assert_eq!(read(8, "a"), None);
            assert_eq!(read(9, "b"), None);
        }
        let none = Cursor::new(vec![9; 30]).unwrap();
        assert_eq!(After::read(&none, stamp(9), &path("a")), None);
    }
}
