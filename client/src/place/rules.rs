//! Which directory is whose, from the environment.

use super::{PlaceError, Unfit, unfit};
use rustix::fs::FileType;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Our own directory in a directory of the user.
const OWN_NAME: &str = "portcullis";

/// What is at a path, as far as it matters for a parent of the runtime directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent {
    Absent,
    OwnedBy(u32),
}

pub(super) fn look_at(path: &Path) -> Parent {
    match rustix::fs::stat(path) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
            Parent::OwnedBy(stat.st_uid)
        }
        Ok(_) | Err(_) => Parent::Absent,
    }
}

type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// A variable that names a directory; an empty one counts as not set.
fn directory_in(
    variables: Variables<'_>,
    name: &'static str,
) -> Result<Option<PathBuf>, PlaceError> {
    match variables(name).filter(|value| value.as_os_str() != OsStr::new("")) {
        None => Ok(None),
        Some(value) => {
            let path = PathBuf::from(value);
            if path.is_absolute() {
                Ok(Some(path))
            } else {
                Err(PlaceError::Relative(name))
            }
        }
    }
}

pub(super) fn runtime_of(
    variables: Variables<'_>,
    user: u32,
    look: &dyn Fn(&Path) -> Parent,
) -> Result<PathBuf, PlaceError> {
    let of_the_session = PathBuf::from(format!("/run/user/{user}"));
    let parent = match directory_in(variables, "XDG_RUNTIME_DIR")? {
        // One of another user is what `sudo -E` leaves. What root made in it would stand in that
        // user's way.
        Some(named) => match look(&named) {
            Parent::OwnedBy(owner) if owner != user => {
                return Err(unfit(&named, Unfit::Foreign(owner)));
            }
            Parent::OwnedBy(_) => named,
            Parent::Absent => return Err(PlaceError::NoSuchRuntimeDirectory(named)),
        },
        None if look(&of_the_session) == Parent::OwnedBy(user) => of_the_session,
        None if user == 0 => PathBuf::from("/run"),
        None => return Err(PlaceError::NoRuntimeDirectory(user)),
    };
    Ok(parent.join(OWN_NAME))
}

pub(super) fn state_of(variables: Variables<'_>, user: u32) -> Result<PathBuf, PlaceError> {
    if let Some(named) = directory_in(variables, "XDG_STATE_HOME")? {
        return Ok(named.join(OWN_NAME));
    }
    if user == 0 {
        return Ok(Path::new("/var/lib").join(OWN_NAME));
    }
    match directory_in(variables, "HOME")? {
        Some(home) => Ok(home.join(".local/state").join(OWN_NAME)),
        None => Err(PlaceError::NoStateDirectory),
    }
}
