//! Ignore files: which names a walk passes over, exactly as git does.
//!
//! A walk enters directories from the root down, and has the rules in force in each: those of the
//! directory above, moved on by one name, and those of its own files. What a rule of a path is to
//! its directory, and all that stands between, is worked out there, so that judging a name is a
//! few looks into tables, without a lock and without memory of its own.
//!
//! Of files that say something of a name the first of these holds: the deepest `.ignore`, the
//! deepest `.gitignore`, `.git/info/exclude`, the runtime's rules; and in one file the last line.
//! Nothing is opened here: whoever walks hands open files in.
//!
//! Read [`lines`] first, then [`pattern`], [`compiled`] and [`chain`].

mod chain;
mod compiled;
mod hashed;
mod kept;
mod lines;
mod pattern;
#[cfg(any(test, fuzzing))]
#[cfg_attr(not(fuzzing), expect(unreachable_pub, reason = "fuzzing reaches it"))]
pub mod slow;
mod table;
mod verdict;

use chain::{Begins, Chain, Tier};
use compiled::{Compiled, Live};
use hashed::Seed;
use kept::Kept;
use lines::Covers;
use portcullis_protocol::view::Kind;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The ignore rules of a session: what was read of its files, and the runtime's own.
#[derive(Debug)]
pub(crate) struct Ignores {
    seed: Seed,
    live: Live,
    kept: Kept,
    top: Rules,
}

/// The rules in force in one directory.
#[derive(Debug, Clone)]
pub(crate) struct Rules(Arc<Chain>);

/// What the rules say of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// None covers it.
    Nothing,
    /// It is ignored, a directory with all below it.
    Ignored,
    /// A rule takes it in: no other ignores it, and it may begin with a dot.
    Included,
}

/// Whether the listing of a directory has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Seen {
    /// It has not.
    #[default]
    Absent,
    /// It has.
    There,
}

/// Which of the names that matter to rules a directory has, so that nothing is opened in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Present {
    pub(crate) gitignore: Seen,
    pub(crate) ignore: Seen,
    /// A directory or, in a work tree beside its repository, a file.
    pub(crate) git: Seen,
}

impl Present {
    /// Takes note of a name of the listing.
    #[inline]
    pub(crate) fn see(&mut self, name: &[u8]) {
        if name.first() != Some(&b'.') {
            return;
        }
        match name {
            b".gitignore" => self.gitignore = Seen::There,
            b".ignore" => self.ignore = Seen::There,
            b".git" => self.git = Seen::There,
            _ => {}
        }
    }
}

impl Ignores {
    /// With the rules that the runtime passed, weaker than those of every file.
    pub(crate) fn new(global: &[u8]) -> Self {
        let (seed, live) = (Seed::draw(), Live::default());
        let global = (!global.is_empty()).then(|| Arc::new(Compiled::new(global, seed, &live)));
        Self {
            seed,
            live,
            kept: Kept::default(),
            top: Rules(Arc::new(Chain::new(seed, global))),
        }
    }

    /// The rules above the root: those of the runtime.
    pub(crate) fn top(&self) -> Rules {
        self.top.clone()
    }

    /// The rules in a directory that has a name below another; the root has none. `open` opens a
    /// file below that directory. Gives also how many rules and files were left out.
    ///
    /// That a file is not there is no loss, and neither is a link in its place, which git does not
    /// read either; but the link is counted.
    pub(crate) fn enter(
        &self,
        above: &Rules,
        name: Option<&[u8]>,
        present: Present,
        open: &mut dyn FnMut(&[u8]) -> Result<OwnedFd, Errno>,
    ) -> (Rules, u64) {
        let mut left_out = 0;
        let chain = match name {
            Some(name) => above.0.below(name, &mut left_out),
            None => Arc::clone(&above.0),
        };
        if present == Present::default() {
            return (Rules(chain), left_out);
        }
        let begins = match present.git {
            Seen::There => Begins::Repository,
            Seen::Absent => Begins::Nothing,
        };
        let mut files = Vec::new();
        for (seen, tier, path) in [
            (present.git, Tier::Exclude, b".git/info/exclude".as_slice()),
            (present.gitignore, Tier::Git, b".gitignore"),
            (present.ignore, Tier::Ignore, b".ignore"),
        ] {
            match seen {
                Seen::There => {}
                Seen::Absent => continue,
            }
            match self.read(open(path)) {
                Read::Rules(compiled) => {
                    left_out = left_out.saturating_add(compiled.left_out);
                    files.push((tier, compiled));
                }
                Read::Absent => {}
                Read::LeftOut => left_out = left_out.saturating_add(1),
            }
        }
        if files.is_empty() && begins == Begins::Nothing {
            return (Rules(chain), left_out);
        }
        let chain = chain.with(begins, files, &mut left_out);
        (Rules(Arc::new(chain)), left_out)
    }

    fn read(&self, opened: Result<OwnedFd, Errno>) -> Read {
        match opened {
            Ok(file) => match self.kept.rules(&file, self.seed, &self.live) {
                Ok(compiled) => Read::Rules(compiled),
                Err(kept::Unread) => Read::LeftOut,
            },
            // Where `.git` is a file, nothing is below it.
            Err(Errno::NOENT | Errno::NOTDIR) => Read::Absent,
            Err(_) => Read::LeftOut,
        }
    }
}

/// What came of a file.
enum Read {
    Rules(Arc<Compiled>),
    Absent,
    LeftOut,
}

impl Rules {
    /// What they say of a name in their directory.
    #[inline]
    pub(crate) fn judge(&self, name: &[u8], kind: Kind) -> Said {
        let covers = match kind {
            Kind::Directory => Covers::Directories,
            Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
                Covers::All
            }
        };
        self.0.judge(name, covers)
    }
}

#[cfg(test)]
mod tests;
