//! In which mode the verb of a name is used, by what is there before and after the whole set. Each
//! change was judged by what the ones before it leave; this is how the ledger sees what is made.

use super::act::Bound;
use super::net::Numbers;
use super::target::{Asked, Planner};
use portcullis_protocol::refusal::Refusal;
use portcullis_protocol::session::Touched;
use portcullis_protocol::verb::{Mode, Verb};
use portcullis_protocol::view::{Kind, PathState};

/// The mode in which a name is touched; none where its verb has no modes, and where something only
/// moves away from it.
pub(super) fn mode_of(touched: &Touched) -> Option<Mode> {
    let there = |state: &PathState| match state {
        PathState::Present(_) | PathState::Unknown => true,
        PathState::Absent => false,
    };
    match touched.verb {
        Verb::Write if there(&touched.before) => Some(Mode::WriteOver),
        Verb::Write => Some(Mode::WriteNew),
        Verb::Move if !there(&touched.after) => None,
        Verb::Move if there(&touched.before) => Some(Mode::MoveOver),
        Verb::Move => Some(Mode::MoveNew),
        Verb::Delete => match touched.before {
            PathState::Present(present) if present.kind == Kind::Directory => {
                Some(Mode::DeleteDirectory)
            }
            PathState::Present(_) | PathState::Absent | PathState::Unknown => {
                Some(Mode::DeleteFile)
            }
        },
        Verb::Stat
        | Verb::Read
        | Verb::List
        | Verb::Glob
        | Verb::Search
        | Verb::Edit
        | Verb::Mkdir
        | Verb::DeleteTree
        | Verb::Chmod
        | Verb::Link => None,
    }
}

impl Planner<'_> {
    /// Judges the modes of all that a set comes to.
    pub(super) fn judge_modes(&self, numbers: &Numbers, names: &[Bound]) -> Result<(), Refusal> {
        for (n, bound) in numbers.all().zip(names) {
            if let (Some(mode), Some(name)) = (mode_of(&bound.touched), self.overlay.names.get(n)) {
                let asked = Asked {
                    verb: mode.verb(),
                    ..name.asked
                };
                self.judge_mode(asked, n, mode)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_protocol::path::RelPath;
    use portcullis_protocol::view::{Present, RootIndex};

    fn present(kind: Kind) -> PathState {
        PathState::Present(Present {
            kind,
            mode: 0o644,
            size: 0,
            digest: None,
            stamp: None,
        })
    }

    #[test]
    fn a_mode_is_told_by_what_is_there_before_and_after() {
        let (file, directory) = (present(Kind::File), present(Kind::Directory));
        let link = present(Kind::Link);
        for (verb, before, after, mode) in [
            (Verb::Write, PathState::Absent, file, Some(Mode::WriteNew)),
            (Verb::Write, file, file, Some(Mode::WriteOver)),
            (Verb::Write, PathState::Unknown, file, Some(Mode::WriteOver)),
            (Verb::Move, file, PathState::Absent, None),
            (Verb::Move, PathState::Absent, file, Some(Mode::MoveNew)),
            (
                Verb::Move,
                PathState::Absent,
                directory,
                Some(Mode::MoveNew),
            ),
            (Verb::Move, file, file, Some(Mode::MoveOver)),
            (
                Verb::Delete,
                file,
                PathState::Absent,
                Some(Mode::DeleteFile),
            ),
            (
                Verb::Delete,
                link,
                PathState::Absent,
                Some(Mode::DeleteFile),
            ),
            (
                Verb::Delete,
                directory,
                PathState::Absent,
                Some(Mode::DeleteDirectory),
            ),
            (Verb::DeleteTree, directory, PathState::Absent, None),
            (Verb::Edit, file, file, None),
            (Verb::Mkdir, PathState::Absent, directory, None),
        ] {
            let touched = Touched {
                verb,
                root: RootIndex(0),
                path: RelPath::parse(b"a").unwrap(),
                before,
                after,
            };
            assert_eq!(mode_of(&touched), mode, "{verb} {before:?} {after:?}");
        }
    }
}
