//! What each tool does: arguments in, an answer or the reason why not out. Nothing here knows of
//! the protocol that carries them.

mod change;
mod find;
mod fit;
mod info;
mod list;
mod media;
mod read;
mod walk;

pub(crate) use media::{Media, address};

use crate::answer::Answer;
use crate::desk::{Job, Lane};
use crate::failure::Failure;
use crate::name::Names;
use crate::tool::Name;
use portcullis_client::Session;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::Value;

/// A call whose arguments are right.
#[derive(Debug)]
pub(crate) enum Call {
    Read(read::Arguments),
    Write(change::Write),
    Edit(change::Edit),
    Patch(change::Patch),
    Mkdir(change::Mkdir),
    List(list::Arguments),
    Tree(list::Tree),
    Move(change::Move),
    Delete(change::Delete),
    Files(find::Files),
    Content(find::Content),
    Info(info::Arguments),
}

impl Call {
    /// Reads arguments. A key that the tool does not know is an error: it would be meant for
    /// something.
    pub(crate) fn read(tool: Name, arguments: JsonObject) -> Result<Self, Failure> {
        let arguments = Value::Object(arguments);
        let error = match Self::parsed(tool, &arguments) {
            Ok(call) => return Ok(call),
            Err(error) => error,
        };
        // What the schema allows in other words, or says better why not.
        let fitted = fit::fitted(&tool.arguments(), &arguments).map_err(Failure::Arguments)?;
        match fitted {
            Some(arguments) => Self::parsed(tool, &arguments).map_err(|error| not_those(&error)),
            None => Err(not_those(&error)),
        }
    }

    fn parsed(tool: Name, arguments: &Value) -> serde_json::Result<Self> {
        Ok(match tool {
            Name::ReadTextFile => Self::Read(Deserialize::deserialize(arguments)?),
            Name::WriteFile => Self::Write(Deserialize::deserialize(arguments)?),
            Name::EditFile => Self::Edit(Deserialize::deserialize(arguments)?),
            Name::ApplyPatch => Self::Patch(Deserialize::deserialize(arguments)?),
            Name::CreateDirectory => Self::Mkdir(Deserialize::deserialize(arguments)?),
            Name::ListDirectory => Self::List(Deserialize::deserialize(arguments)?),
            Name::DirectoryTree => Self::Tree(Deserialize::deserialize(arguments)?),
            Name::MoveFile => Self::Move(Deserialize::deserialize(arguments)?),
            Name::DeleteFile => Self::Delete(Deserialize::deserialize(arguments)?),
            Name::SearchFiles => Self::Files(Deserialize::deserialize(arguments)?),
            Name::SearchContent => Self::Content(Deserialize::deserialize(arguments)?),
            Name::GetFileInfo => Self::Info(Deserialize::deserialize(arguments)?),
        })
    }

    /// Where it is worked on.
    pub(crate) const fn lane(&self) -> Lane {
        match self {
            Self::Tree(_) | Self::Files(_) | Self::Content(_) => Lane::Walks,
            Self::Read(_)
            | Self::List(_)
            | Self::Write(_)
            | Self::Edit(_)
            | Self::Patch(_)
            | Self::Mkdir(_)
            | Self::Move(_)
            | Self::Delete(_)
            | Self::Info(_) => Lane::First,
        }
    }

    /// Does it.
    pub(crate) fn run(
        self,
        session: &mut Session,
        names: &Names,
        job: &Job,
    ) -> Result<Answer, Failure> {
        match self {
            Self::Read(arguments) => read::run(&arguments, session, names),
            Self::Write(arguments) => change::write(arguments, session, names),
            Self::Edit(arguments) => change::edit(arguments, session, names),
            Self::Patch(arguments) => change::patch(&arguments, session, names),
            Self::Mkdir(arguments) => change::mkdir(&arguments, session, names),
            Self::List(arguments) => list::list(&arguments, session, names, job),
            Self::Tree(arguments) => list::tree(&arguments, session, names, job),
            Self::Move(arguments) => change::rename(&arguments, session, names),
            Self::Delete(arguments) => change::delete(&arguments, session, names),
            Self::Files(arguments) => find::files(&arguments, session, names, job),
            Self::Content(arguments) => find::content(&arguments, session, names, job),
            Self::Info(arguments) => info::run(&arguments, session, names),
        }
    }
}

fn not_those(error: &serde_json::Error) -> Failure {
    Failure::Arguments(format!("the arguments are not those of this tool: {error}"))
}
