//! What the worker is started with: which executable, which environment.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where commands of the worker are looked for, before the directory of `portcullis-tool`.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Variables that pass when they are set: language, terminal, time zone.
const PASSED: [&str; 14] = [
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NUMERIC",
    "LC_TIME",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "COLUMNS",
    "TZ",
];

/// The whole environment of the worker but the number of its socket, in a fixed order.
pub(super) fn environment(
    named: &[OsString],
    private: &Path,
    tool: Option<&Path>,
) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = Vec::new();
    let mut set = |name: &OsStr, value: OsString| {
        variables.retain(|(known, _)| known != name);
        variables.push((name.to_owned(), value));
    };
    for name in PASSED {
        if let Some(value) = std::env::var_os(name) {
            set(OsStr::new(name), value);
        }
    }
    let mut path = OsString::from(SYSTEM_PATH);
    if named.iter().any(|name| name == "PATH") {
        path = std::env::var_os("PATH").unwrap_or(path);
    }
    if let Some(directory) = tool.and_then(Path::parent) {
        path.push(":");
        path.push(directory);
    }
    set(OsStr::new("HOME"), private.into());
    set(OsStr::new("TMPDIR"), private.into());
    for name in named {
        if let Some(value) = std::env::var_os(name) {
            set(name, value);
        }
    }
    set(OsStr::new("PATH"), path);
    variables
}

/// Why a command cannot be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfit {
    /// There is none of this name.
    NotFound,
    /// It is there, and no executable file.
    NotExecutable,
}

/// The executable that `command` names for the worker, as an absolute path. A name without a slash
/// is looked for in the worker's own `PATH`; others are relative to the launcher's directory.
pub(super) fn resolve(
    command: &OsStr,
    environment: &[(OsString, OsString)],
) -> Result<PathBuf, Unfit> {
    if command.is_empty() {
        return Err(Unfit::NotFound);
    }
    if command.as_bytes().contains(&b'/') {
        let path = std::path::absolute(command).map_err(|_| Unfit::NotFound)?;
        return fit(&path).map(|()| path);
    }
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let mut result = Err(Unfit::NotFound);
    for directory in path
        .iter()
        .flat_map(|(_, path)| std::env::split_paths(path))
    {
        // An empty or relative entry would mean the worker's own directory.
        if !directory.is_absolute() {
            continue;
        }
        let candidate = directory.join(command);
        match fit(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(Unfit::NotExecutable) => result = Err(Unfit::NotExecutable),
            Err(Unfit::NotFound) => {}
        }
    }
    result
}

fn fit(path: &Path) -> Result<(), Unfit> {
    match std::fs::metadata(path) {
        Ok(data) if data.is_file() => {}
        Ok(_) => return Err(Unfit::NotExecutable),
        Err(_) => return Err(Unfit::NotFound),
    }
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).map_err(|_| Unfit::NotExecutable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_holds_only_what_was_named() {
        let all = environment(&[], Path::new("/private"), Some(Path::new("/opt/p/tool")));
        let get = |name: &str| all.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
        assert_eq!(get("HOME").unwrap(), "/private");
        assert_eq!(get("TMPDIR").unwrap(), "/private");
        assert_eq!(get("PATH").unwrap(), *format!("{SYSTEM_PATH}:/opt/p"));
        // Whatever else this test was started with is not passed, unless it is named.
        let (name, value) = std::env::vars_os()
            .find(|(name, _)| !all.iter().any(|(passed, _)| passed == name))
            .unwrap();
        let named = environment(std::slice::from_ref(&name), Path::new("/p"), None);
        assert!(named.iter().any(|(n, v)| *n == name && *v == value));
    }

    #[test]
    fn commands_are_found_in_the_workers_path_only() {
        let all = environment(&[], Path::new("/p"), None);
        assert_eq!(
            resolve(OsStr::new("sh"), &all)
                .unwrap()
                .file_name()
                .unwrap(),
            "sh"
        );
        assert_eq!(
            resolve(OsStr::new("no-such-command"), &all),
            Err(Unfit::NotFound)
        );
        assert_eq!(
            resolve(OsStr::new("/dev/null"), &all),
            Err(Unfit::NotExecutable)
        );
        assert_eq!(resolve(OsStr::new(""), &all), Err(Unfit::NotFound));
    }
}
