//! Ignore files of a walk: opened like everything else, and only where they may be read.

use super::{Ground, Start};
use crate::ignored::{Present, Rules};
use crate::policy::{Judgement, Room};
use crate::resolve::open_judged;
use crate::sys::open::{self, Purpose};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::Ignored;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::Kind;
use rustix::io::Errno;
use std::os::fd::OwnedFd;

impl Ground {
    /// Where the walk begins, with the rules of the directories above it.
    pub(super) fn start(&self, path: &RelPath) -> Start {
        let policy = &self.session.policy;
        let place = policy.place(self.root, path);
        let mut rules = self.session.ignores.top();
        if self.route.passes.ignored == Ignored::Skip {
            let (mut at, mut name) = (RelPath::root(), None);
            for next in path.names() {
                let room = policy.room(&policy.place(self.root, &at));
                let present = self.present(&at);
                // What of them is left out is counted where it is in the answer's own directories.
                (rules, _) = self.enter_rules(&rules, name, present, (&at, &room));
                name = Some(next);
                if at.push(next).is_err() {
                    break;
                }
            }
        }
        Start {
            path: path.clone(),
            room: policy.room(&place),
            rules,
        }
    }

    /// Which of the names that matter to rules a directory above the start has: it is not listed.
    fn present(&self, directory: &RelPath) -> Present {
        let mut present = Present::default();
        for name in [&b".gitignore"[..], b".ignore", b".git"] {
            let found = directory.join(name).map_err(|_| Errno::NAMETOOLONG);
            let found = found.and_then(|path| {
                let root = self.root_fd()?;
                open::below(root, &path, Purpose::LookAtLink)
            });
            if found.is_ok() {
                present.see(name);
            }
        }
        present
    }

    /// The rules in a directory; counts what of its ignore files does not hold.
    pub(super) fn enter_rules(
        &self,
        above: &Rules,
        name: Option<&[u8]>,
        present: Present,
        (path, room): (&RelPath, &Room),
    ) -> (Rules, u64) {
        let mut denied = 0;
        let mut open = |file: &[u8]| self.open_rules(path, room, file, &mut denied);
        let ignores = &self.session.ignores;
        let (rules, left_out) = ignores.enter(above, name, present, &mut open);
        (rules, left_out.saturating_add(denied))
    }

    /// Opens an ignore file of a directory, as far as it may be read: one that is hidden is not there,
    /// one that is denied is counted.
    fn open_rules(
        &self,
        path: &RelPath,
        room: &Room,
        file: &[u8],
        denied: &mut u64,
    ) -> Result<OwnedFd, Errno> {
        let policy = &self.session.policy;
        let (mut path, mut place) = (path.clone(), room.place().clone());
        for name in file.split(|b| *b == b'/') {
            path.push(name).map_err(|_| Errno::NAMETOOLONG)?;
            place = policy.enter(&place, name);
        }
        let root = self.root_fd()?;
        let allowed = |judgement: Judgement<'_>, denied: &mut u64| match judgement {
            Judgement::Clear => Ok(()),
            Judgement::Hidden => Err(Errno::NOENT),
            Judgement::Denied(_) | Judgement::Asks(_) => {
                *denied += u64::from(open::below(root, &path, Purpose::Look).is_ok());
                Err(Errno::NOENT)
            }
        };
        allowed(policy.judge_place(&place, Verb::Read), denied)?;
        let (object, observed) = open_judged(&self.session, root, &path, Purpose::Content)?;
        let stamp = observed.stamp;
        allowed(
            policy.judge_object((stamp.device, stamp.inode), Verb::Read),
            denied,
        )?;
        match observed.kind {
            Kind::File => Ok(object),
            // As git does: what is no file has no rules.
            Kind::Directory
            | Kind::Link
            | Kind::Fifo
            | Kind::Socket
            | Kind::Device
            | Kind::Unknown => Err(Errno::NOENT),
        }
    }
}
