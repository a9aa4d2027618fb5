//! Changing by path, after a check that was right when it was made.

use super::look::{code, errno};
use super::{Server, Style};
use portcullis_protocol::bounded::Few;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::ReceiptId;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{
    Change, ChangeSet, Changed, DeleteObject, Deletion, EditFile, Expect, Guarantee, MoveObject,
    Onto, Outcome, Parents, Reply, Source, TextEdit, Touched, WriteFile,
};
use portcullis_protocol::view::{Digest, Kind, PathState, Present, RootIndex};
use rustix::fs::{CWD, Mode, OFlags};
use std::fs::{self, Metadata, Permissions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a server that holds a directory takes until it uses it.
const WAITS: Duration = Duration::from_micros(200);

/// Where a change is to happen, as it was checked. A held directory keeps its path alive.
struct Target {
    path: PathBuf,
    _held: Option<OwnedFd>,
}

impl Server {
    /// Makes each change, one after the other, and says what it believes to have done.
    pub(super) fn change(
        &mut self,
        id: RequestId,
        set: &ChangeSet,
        content: &[u8],
    ) -> Result<(), Code> {
        let mut touched = Vec::new();
        for change in set.changes.as_slice() {
            self.one(change, content, &mut touched)?;
        }
        let changed = Changed {
            receipt: ReceiptId {
                number: 1,
                chain: Digest([0; 32]),
            },
            outcome: Outcome::Done,
            guarantee: Guarantee::BestEffort,
            touched: Few::new(touched).unwrap(),
            refusal: None,
            left: 0,
            matched: Few::default(),
            matched_cut: 0,
            diff_cut: 0,
            region: None,
        };
        self.reply(id, &Reply::Changed(changed), &[]);
        Ok(())
    }

    fn one(&self, change: &Change, content: &[u8], touched: &mut Vec<Touched>) -> Result<(), Code> {
        let verb = change.verb();
        let mut says = |name: &[u8], before, after| {
            touched.push(Touched {
                verb,
                root: RootIndex(0),
                path: RelPath::parse(name).unwrap(),
                before,
                after,
            });
        };
        match change {
            Change::Write(order) => {
                let (before, after) = self.write(order, content)?;
                says(order.selector.path.as_slice(), before, after);
            }
            Change::Edit(order) => {
                let (before, after) = self.edit(order, content)?;
                says(order.selector.path.as_slice(), before, after);
            }
            Change::Mkdir(order) => {
                let name = order.selector.path.as_slice();
                match order.parents {
                    Parents::Make => fs::create_dir_all(self.plan.root.join(os(name))),
                    Parents::Exist => fs::create_dir(self.target(name)?.path),
                }
                .map_err(code)?;
            }
            Change::Move(order) => {
                let (moved, displaced) = self.rename(order)?;
                says(order.source.path.as_slice(), moved, PathState::Absent);
                says(order.destination.path.as_slice(), displaced, moved);
            }
            Change::Delete(order) => {
                let before = self.delete(order)?;
                says(order.selector.path.as_slice(), before, PathState::Absent);
            }
            Change::Chmod(order) => {
                let path = self.existing(order.selector.path.as_slice())?.path;
                fs::set_permissions(&path, Permissions::from_mode(order.mode.into()))
                    .map_err(code)?;
            }
            Change::Link(order) => {
                let path = self.target(order.selector.path.as_slice())?.path;
                let text = os(order.text.as_slice());
                std::os::unix::fs::symlink(text, path).map_err(code)?;
            }
        }
        Ok(())
    }

    /// The check of a name that may be missing: its directory lies below the root.
    fn target(&self, name: &[u8]) -> Result<Target, Code> {
        let whole = self.plan.root.join(os(name));
        let (Some(parent), Some(last)) = (whole.parent(), whole.file_name()) else {
            return Err(Code::InvalidName);
        };
        let parent = fs::canonicalize(parent).map_err(code)?;
        if !parent.starts_with(&self.plan.root) {
            return Err(Code::Escape);
        }
        match self.plan.style {
            Style::Paths => Ok(Target {
                path: parent.join(last),
                _held: None,
            }),
            Style::Held => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let held = rustix::fs::openat(CWD, &parent, flags, Mode::empty()).map_err(errno)?;
                let own = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
                let is = fs::read_link(&own).map_err(code)?;
                if !is.starts_with(&self.plan.root) {
                    return Err(Code::Escape);
                }
                if is.join(last).components().any(|c| c.as_os_str() == ".git") {
                    return Err(Code::Denied);
                }
                // Where a broker waits for its locks and its journal.
                std::thread::sleep(WAITS);
                Ok(Target {
                    path: own.join(last),
                    _held: Some(held),
                })
            }
        }
    }

    /// The check of a file or directory that is to be changed in place: it lies below the root,
    /// and a file has no other name.
    fn existing(&self, name: &[u8]) -> Result<Target, Code> {
        let target = self.target(name)?;
        let seen = fs::metadata(&target.path).map_err(code)?;
        let is = fs::canonicalize(&target.path).map_err(code)?;
        if !is.starts_with(&self.plan.root) {
            return Err(Code::Escape);
        }
        match (seen.is_file(), seen.is_dir()) {
            (true, _) if seen.nlink() > 1 => Err(Code::HardLinked),
            (true, _) | (_, true) => Ok(target),
            (false, false) => Err(Code::NotRegular),
        }
    }

    fn write(&self, order: &WriteFile, content: &[u8]) -> Result<(PathState, PathState), Code> {
        let Source::Inline(span) = order.source else {
            return Err(Code::UnknownUpload);
        };
        let new = span.of(content).ok_or(Code::OutOfRange)?;
        let name = order.selector.path.as_slice();
        let target = self.target(name)?;
        let before = match (fs::symlink_metadata(&target.path), order.expect) {
            (Ok(_), Expect::Absent) => return Err(Code::Exists),
            (Ok(_), _) => self.whole(&self.existing(name)?.path)?.0,
            (Err(_), _) => PathState::Absent,
        };
        self.fill(&target.path, new)?;
        Ok((before, file(new)))
    }

    /// Only the first replacement of an edit, by its bytes.
    fn edit(&self, order: &EditFile, content: &[u8]) -> Result<(PathState, PathState), Code> {
        let TextEdit::Replace(replacement) = &order.edits.as_slice()[0] else {
            return Err(Code::UnsupportedVerb);
        };
        let part = |span: portcullis_protocol::session::Span| {
            let bytes = span.of(content).ok_or(Code::OutOfRange)?;
            String::from_utf8(bytes.to_vec()).map_err(|_| Code::OutOfRange)
        };
        let (from, to) = (part(replacement.old)?, part(replacement.new)?);
        let target = self.existing(order.selector.path.as_slice())?;
        let (before, bytes) = self.whole(&target.path)?;
        let old = String::from_utf8(bytes).map_err(|_| Code::NotUnique)?;
        if old.matches(&from).count() != 1 {
            return Err(Code::NotUnique);
        }
        let new = old.replacen(&from, &to, 1);
        self.fill(&target.path, new.as_bytes())?;
        Ok((before, file(new.as_bytes())))
    }

    fn rename(&self, order: &MoveObject) -> Result<(PathState, PathState), Code> {
        let from = self.target(order.source.path.as_slice())?;
        let to = self.target(order.destination.path.as_slice())?;
        let moved = self.state(&from.path)?;
        let displaced = match (fs::symlink_metadata(&to.path), order.onto) {
            (Ok(_), Onto::Nothing) => return Err(Code::Exists),
            (Ok(_), Onto::Replace(_)) => self.state(&to.path)?,
            (Err(_), _) => PathState::Absent,
        };
        fs::rename(&from.path, &to.path).map_err(code)?;
        Ok((moved, displaced))
    }

    fn delete(&self, order: &DeleteObject) -> Result<PathState, Code> {
        let target = self.target(order.selector.path.as_slice())?;
        let before = self.state(&target.path)?;
        match order.what {
            Deletion::File => fs::remove_file(&target.path).map_err(code)?,
            Deletion::Directory => fs::remove_dir(&target.path).map_err(code)?,
            Deletion::Tree => remove_tree(&target.path)?,
        }
        Ok(before)
    }

    /// What a name leads to, with the content of a file.
    fn state(&self, path: &Path) -> Result<PathState, Code> {
        let seen = fs::symlink_metadata(path).map_err(code)?;
        if seen.is_file() {
            return Ok(self.whole(path)?.0);
        }
        Ok(present(&seen, None))
    }

    fn whole(&self, path: &Path) -> Result<(PathState, Vec<u8>), Code> {
        use std::io::Read as _;
        let mut bytes = Vec::new();
        self.open(path)?.read_to_end(&mut bytes).map_err(code)?;
        let state = file(&bytes);
        Ok((state, bytes))
    }

    fn fill(&self, path: &Path, bytes: &[u8]) -> Result<(), Code> {
        // Written over and then cut: a file system writes one that was emptied first to the disk
        // at once, and nothing would be caught for waiting.
        let mut how = fs::OpenOptions::new();
        how.write(true).create(true).truncate(false);
        let mut file = self.watched(|| how.open(path)).map_err(code)?;
        std::io::Write::write_all(&mut file, bytes).map_err(code)?;
        // A FIFO has no length.
        file.set_len(bytes.len() as u64).unwrap_or_default();
        Ok(())
    }
}

/// Walks by path: what the listing calls a directory is emptied by its name.
fn remove_tree(path: &Path) -> Result<(), Code> {
    for entry in fs::read_dir(path).map_err(code)? {
        let entry = entry.map_err(code)?;
        if entry.file_type().map_err(code)?.is_dir() {
            remove_tree(&entry.path())?;
        } else {
            fs::remove_file(entry.path()).map_err(code)?;
        }
    }
    fs::remove_dir(path).map_err(code)
}

fn file(bytes: &[u8]) -> PathState {
    PathState::Present(Present {
        kind: Kind::File,
        mode: 0,
        size: bytes.len() as u64,
        digest: Some(Digest(*blake3::hash(bytes).as_bytes())),
        stamp: None,
    })
}

fn present(seen: &Metadata, digest: Option<Digest>) -> PathState {
    PathState::Present(Present {
        kind: super::kind_of(seen.file_type()),
        mode: 0,
        size: seen.len(),
        digest,
        stamp: None,
    })
}

fn os(bytes: &[u8]) -> &std::ffi::OsStr {
    std::ffi::OsStr::from_bytes(bytes)
}
