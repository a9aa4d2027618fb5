//! The tools of the reference file server: its fourteen names, their arguments, and its answers, given
//! twice as it gives them. `docs/MCP.md` says what differs, on purpose.

mod answer;
mod call;
mod change;
mod difference;
mod directories;
mod find;
mod list;
mod pattern;
mod read;
mod server;
#[cfg(test)]
mod tests;
mod text;
mod tools;
mod walk;

pub(crate) use server::Reference;

use crate::desk::{Job, Lane};
use answer::{Answer, Trouble};
use call::Call;
use directories::Directories;
use portcullis_client::Session;

impl Call {
    /// Where it is worked on.
    const fn lane(&self) -> Lane {
        match self {
            // A listing with sizes also looks at what links lead to, which a session for walks may.
            Self::List { .. }
            | Self::ListSizes { .. }
            | Self::Tree { .. }
            | Self::Search { .. } => Lane::Walks,
            Self::ReadText { .. }
            | Self::ReadMedia { .. }
            | Self::ReadMany { .. }
            | Self::Write { .. }
            | Self::Edit { .. }
            | Self::MakeDirectory { .. }
            | Self::Move { .. }
            | Self::Info { .. }
            | Self::Directories => Lane::First,
        }
    }

    /// Does it.
    fn run(
        &self,
        session: &mut Session,
        directories: &Directories,
        job: &Job,
    ) -> Result<Answer, Trouble> {
        match self {
            Self::ReadText { path, part } => read::text(session, directories, path, *part),
            Self::ReadMedia { path } => read::media(session, directories, path),
            Self::ReadMany { paths } => Ok(read::many(session, directories, paths)),
            Self::Write { path, content } => change::write(session, directories, path, content),
            Self::Edit { path, edits, deed } => {
                change::edit(session, directories, path, edits, *deed)
            }
            Self::MakeDirectory { path } => change::make_directory(session, directories, path),
            Self::List { path } => list::names((session, job), directories, path),
            Self::ListSizes { path, sort } => list::sizes((session, job), directories, path, *sort),
            Self::Tree { path, exclude } => list::tree((session, job), directories, path, exclude),
            Self::Move {
                source,
                destination,
            } => change::rename(session, directories, source, destination),
            Self::Search {
                path,
                pattern,
                exclude,
            } => find::search((session, job), directories, path, pattern, exclude),
            Self::Info { path } => list::info(session, directories, path),
            Self::Directories => Ok(Answer::text(format!(
                "Allowed directories:\n{}",
                directories.texts().join("\n")
            ))),
        }
    }
}
