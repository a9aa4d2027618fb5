//! Changes: each is one change set, made whole or not at all.

use super::answer::{Answer, Doing, IS_A_DIRECTORY, Trouble, failure};
use super::call::{Deed, Edit};
use super::difference;
use super::directories::{Directories, Place};
use portcullis_client::change::{Count, Item, Replace, TextEdit, Tier, Tiers};
use portcullis_client::protocol::refusal::Code;
use portcullis_client::protocol::session::{Expect, MakeDirectory, Parents};
use portcullis_client::protocol::view::Kind;
use portcullis_client::{Changes, Error, Session, ask, change};

/// The reference server compares lines without the blanks around them; these tiers do, and each
/// text must still be there exactly once.
const TIERS: Tiers = Tiers::DEFAULT.with(Tier::Indentation);

/// Makes a file or replaces its content.
pub(super) fn write(
    session: &mut Session,
    directories: &Directories,
    path: &str,
    content: &str,
) -> Result<Answer, Trouble> {
    let place = directories.place(path)?;
    let made = place.selector().and_then(|selector| {
        session.change(&Changes::new().with(change::write(selector, content)))
    });
    made.map_err(|e| failure(e, Doing::Write, &place, directories))?;
    Ok(Answer::text(format!("Successfully wrote to {path}")))
}

/// Makes a directory and those above it.
pub(super) fn make_directory(
    session: &mut Session,
    directories: &Directories,
    path: &str,
) -> Result<Answer, Trouble> {
    let place = directories.place(path)?;
    let told = || Answer::text(format!("Successfully created directory {path}"));
    if place.is_root() {
        // Nothing is made in its place, and it is there.
        let seen = place
            .selector()
            .and_then(|root| session.stat(&ask::stat(root)));
        return match seen {
            Ok(_) => Ok(told()),
            Err(error) => Err(failure(error, Doing::MakeDirectory, &place, directories)),
        };
    }
    let made = place.selector().and_then(|selector| {
        let directory = MakeDirectory {
            selector,
            parents: Parents::Make,
        };
        session.change(&Changes::new().with(directory))
    });
    made.map_err(|e| failure(e, Doing::MakeDirectory, &place, directories))?;
    Ok(told())
}

/// Gives an object another name.
pub(super) fn rename(
    session: &mut Session,
    directories: &Directories,
    source: &str,
    destination: &str,
) -> Result<Answer, Trouble> {
    let (from, to) = (directories.place(source)?, directories.place(destination)?);
    let made = from.selector().and_then(|from| {
        let moved = change::rename(from, to.selector()?);
        session.change(&Changes::new().with(moved))
    });
    made.map_err(|error| not_moved(error, &from, &to, directories))?;
    Ok(Answer::text(format!(
        "Successfully moved {source} to {destination}"
    )))
}

fn not_moved(error: Error, from: &Place, to: &Place, directories: &Directories) -> Trouble {
    let code = error.refusal().map(|refusal| refusal.code);
    match code {
        Some(Code::Exists) => format!("Destination already exists: {}", to.text()).into(),
        Some(Code::NotFound) => format!(
            "ENOENT: no such file or directory, rename '{}' -> '{}'",
            from.text(),
            to.text()
        )
        .into(),
        Some(_) | None => failure(error, Doing::Look, from, directories),
    }
}

/// Replaces texts in a file, one after the other, or shows what that would do.
pub(super) fn edit(
    session: &mut Session,
    directories: &Directories,
    path: &str,
    edits: &[Edit],
    deed: Deed,
) -> Result<Answer, Trouble> {
    let place = directories.place(path)?;
    let file = place.selector();
    let file = file.map_err(|e| failure(e, Doing::Open, &place, directories))?;
    let mut changes = Changes::new();
    for edit in edits {
        if edit.old.is_empty() {
            return Err(
                "nothing was changed: oldText is empty, which names no place; give the text that \
                 stands there now, or write the whole file with write_file"
                    .to_owned()
                    .into(),
            );
        }
        // Each finds the file as the one before it leaves it.
        changes.push(Item::Edit(change::Edit {
            selector: file.clone(),
            expect: Expect::Any,
            edits: vec![TextEdit::Replace(Replace {
                old: edit.old.clone().into_bytes(),
                new: edit.new.clone().into_bytes(),
                count: Count::Exactly(1),
            })],
            tiers: TIERS,
            mode: None,
        }));
    }
    if edits.is_empty() {
        return nothing(session, directories, &place);
    }
    // Edits that change nothing want their texts to be there all the same.
    let all = edits.iter().all(|edit| edit.old == edit.new);
    let made = match (deed, all) {
        (Deed::Do, false) => session
            .change(&changes)
            .map(|made| (made.diff, made.changed.diff_cut)),
        (Deed::Do, true) | (Deed::Show, _) => session
            .plan(&changes)
            .map(|plan| (plan.diff, plan.planned.diff_cut)),
    };
    let (diff, cut) = made.map_err(|error| not_edited(error, edits, &place, directories))?;
    Ok(Answer::text(difference::fenced(&diff, cut, &place.text())))
}

/// No edit at all still wants its file to be there.
fn nothing(
    session: &mut Session,
    directories: &Directories,
    place: &Place,
) -> Result<Answer, Trouble> {
    let seen = place
        .selector()
        .and_then(|file| session.stat(&ask::stat(file)));
    let seen = seen.map_err(|error| failure(error, Doing::Open, place, directories))?;
    match seen.observation.kind {
        Kind::Directory => Err(IS_A_DIRECTORY.to_owned().into()),
        Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
            Ok(Answer::text(difference::fenced(&[], 0, &place.text())))
        }
    }
}

/// Where one text alone is missing, the reference server's words come first.
fn not_edited(error: Error, edits: &[Edit], place: &Place, directories: &Directories) -> Trouble {
    let missing = error
        .refusal()
        .is_some_and(|refusal| refusal.code == Code::NotUnique);
    match (missing, edits) {
        (true, [edit]) => format!(
            "Could not find exact match for edit:\n{}\n{error}",
            edit.old
        )
        .into(),
        (true, _) => format!("Could not find exact match for edit:\n{error}").into(),
        (false, _) => failure(error, Doing::Open, place, directories),
    }
}
