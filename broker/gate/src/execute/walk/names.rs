//! The names of one directory, in order, as many as may be held at once. Of a directory with more,
//! the smallest are held, and the rest is read again after them: memory is bounded by bytes and not
//! by what somebody puts into a directory.

use crate::ignored::Present;
use crate::sys::directory::{self, Fetch};
use portcullis_protocol::view::Kind;
use rustix::io::Errno;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;

/// What a name costs beside its own bytes: its row.
const ROW_BYTES: usize = size_of::<Row>();

/// Directories among them at most: each waits to be entered, with a result before it and one of its own,
/// which is far more than its name.
const DIRECTORIES_MAX: usize = 8192;

/// One name.
#[derive(Debug, Clone, Copy)]
pub(in crate::execute) struct Row {
    /// Its first eight bytes, the first of them highest: most names are in order by that alone.
    key: u64,
    start: u32,
    len: u16,
    /// Its type, when the file system says.
    pub(in crate::execute) kind: Kind,
    /// Its inode number, on the directory's device.
    pub(in crate::execute) inode: u64,
}

/// Which names of a directory were not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::execute) enum Rest {
    /// Those at or after this one; the empty name is before all.
    From(Box<[u8]>),
    /// Those after this one.
    After(Box<[u8]>),
    /// None.
    None,
}

impl Rest {
    fn has(&self, name: &[u8]) -> bool {
        match self {
            Self::From(first) => name >= first.as_ref(),
            Self::After(last) => name > last.as_ref(),
            Self::None => false,
        }
    }
}

/// Names of one directory, sorted by their bytes, none twice.
#[derive(Debug, Default)]
pub(in crate::execute) struct Names {
    bytes: Vec<u8>,
    rows: Vec<Row>,
    /// Rows of what may be entered.
    directories: usize,
}

impl Names {
    pub(in crate::execute) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(in crate::execute) fn name(&self, row: &Row) -> &[u8] {
        let start = usize::try_from(row.start).unwrap_or(usize::MAX);
        let end = start.saturating_add(row.len.into());
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Bytes of all names.
    pub(in crate::execute) fn name_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes it holds.
    pub(in crate::execute) fn cost(&self) -> usize {
        self.bytes.len() + self.rows.len() * ROW_BYTES
    }

    /// Forgets all names; keeps memory that is not much.
    pub(in crate::execute) fn clear(&mut self) {
        const KEPT_BYTES: usize = 128 * 1024;
        if self.bytes.capacity() + self.rows.capacity() * ROW_BYTES > KEPT_BYTES {
            *self = Self::default();
        } else {
            self.bytes.clear();
            self.rows.clear();
            self.directories = 0;
        }
    }

    /// Reads the smallest names of `wanted` in an open directory, into at most `room` bytes, of which
    /// each takes `each` more. Gives what is left, and which ignore files the directory has, whatever
    /// was asked for. Reading is given up, with `CANCELED`, where `is_over` says so of how many names
    /// were seen by then.
    pub(in crate::execute) fn read(
        &mut self,
        (directory, fetch): (BorrowedFd<'_>, &mut Fetch),
        wanted: &Rest,
        (room, each): (usize, usize),
        is_over: &dyn Fn(u32) -> bool,
    ) -> Result<(Rest, Present), Errno> {
        self.clear();
        let mut present = Present::default();
        // All names from this one on were let go of, because smaller ones fill the room.
        let mut ceiling: Option<Box<[u8]>> = None;
        let (mut seen, mut over) = (0_u32, false);
        directory::each(directory, fetch, |named| {
            seen = seen.wrapping_add(1);
            if is_over(seen) {
                over = true;
                return ControlFlow::Break(());
            }
            if named.name.first() == Some(&b'.') {
                present.see(named.name);
            }
            let below = ceiling
                .as_ref()
                .is_none_or(|ceiling| named.name < ceiling.as_ref());
            if below && wanted.has(named.name) {
                self.add(named.name, named.kind, named.inode);
                let full = self.cost() + self.rows.len() * each > room;
                if self.rows.len() > 1 && (full || self.directories > DIRECTORIES_MAX) {
                    ceiling = self.halve().or(ceiling.take());
                }
            }
            ControlFlow::Continue(())
        })?;
        if over {
            return Err(Errno::CANCELED);
        }
        self.sort();
        let rest = match (ceiling, self.rows.last()) {
            (Some(_), Some(last)) => Rest::After(self.name(last).into()),
            (Some(ceiling), None) => Rest::From(ceiling),
            (None, _) => Rest::None,
        };
        Ok((rest, present))
    }

    fn add(&mut self, name: &[u8], kind: Kind, inode: u64) {
        let Ok(start) = u32::try_from(self.bytes.len()) else {
            return;
        };
        self.bytes.extend_from_slice(name);
        self.directories += usize::from(may_be_entered(kind));
        self.rows.push(Row {
            key: key(name),
            start,
            // The kernel's names have 255 bytes at most.
            len: u16::try_from(name.len()).unwrap_or(u16::MAX),
            kind,
            inode,
        });
    }

    fn sort(&mut self) {
        let Self { bytes, rows, .. } = self;
        rows.sort_unstable_by(|a, b| compare(bytes, a, b));
        // A name renamed during the listing can come twice.
        rows.dedup_by(|a, b| compare(bytes, a, b) == Ordering::Equal);
    }

    /// Lets go of the larger half; gives the first name that went.
    fn halve(&mut self) -> Option<Box<[u8]>> {
        self.sort();
        let keep = self.rows.len() / 2;
        let ceiling = self.rows.get(keep).map(|row| self.name(row).into());
        self.rows.truncate(keep);
        let mut bytes = Vec::with_capacity(self.bytes.len());
        for row in &mut self.rows {
            let start = usize::try_from(row.start).unwrap_or(usize::MAX);
            let name = self.bytes.get(start..start.saturating_add(row.len.into()));
            row.start = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            bytes.extend_from_slice(name.unwrap_or_default());
        }
        self.bytes = bytes;
        let directories = self.rows.iter().filter(|row| may_be_entered(row.kind));
        self.directories = directories.count();
        ceiling
    }
}

fn may_be_entered(kind: Kind) -> bool {
    match kind {
        Kind::Directory | Kind::Unknown => true,
        Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device => false,
    }
}

fn key(name: &[u8]) -> u64 {
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(name) {
        *to = *from;
    }
    u64::from_be_bytes(first)
}

fn compare(bytes: &[u8], a: &Row, b: &Row) -> Ordering {
    a.key.cmp(&b.key).then_with(|| {
        let name = |row: &Row| {
            let start = usize::try_from(row.start).unwrap_or(usize::MAX);
            bytes.get(start..start.saturating_add(row.len.into()))
        };
        name(a).cmp(&name(b))
    })
}

#[cfg(test)]
mod tests;
