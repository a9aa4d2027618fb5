//! Every attempt in its own process, free and caged.

use portcullis_tests::attempts::{ALL, Answer, Attempt, MOVED};
use portcullis_tests::{own, privileged};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const EPERM: i32 = 1;
const EACCES: i32 = 13;
const EXDEV: i32 = 18;
const ENOSYS: i32 = 38;

/// A tree for one attempt.
fn tree() -> tempfile::TempDir {
    let place = tempfile::Builder::new()
        .prefix("portcullis-cage-")
        .tempdir()
        .unwrap();
    let at = |path: &str| place.path().join(path);
    for directory in ["inside/a", "inside/held", "outside", "other", "empty"] {
        std::fs::create_dir_all(at(directory)).unwrap();
    }
    for file in [
        "inside/f",
        "inside/a/f",
        "inside/held/f",
        "outside/secret",
        "other/f",
    ] {
        std::fs::write(at(file), format!("{file}\n")).unwrap();
    }
    std::os::unix::fs::symlink("../outside/secret", at("inside/link")).unwrap();
    place
}

/// Names, modes and content of a tree.
fn content(at: &Path, all: &mut BTreeMap<Vec<u8>, (u32, Vec<u8>)>) {
    use std::os::unix::fs::MetadataExt as _;
    for entry in std::fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let seen = path.symlink_metadata().unwrap();
        let bytes = if seen.is_file() {
            std::fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        all.insert(path.as_os_str().as_bytes().to_vec(), (seen.mode(), bytes));
        if seen.is_dir() {
            content(&path, all);
        }
    }
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs one attempt; gives its exit status.
fn run(how: &str, attempt: &Attempt) -> i32 {
    let place = tree();
    let _listening = UnixListener::bind(place.path().join("listening")).unwrap();
    let mut before = BTreeMap::new();
    content(place.path(), &mut before);
    let mut child = Command::new(own!("own-caged"))
        .arg(how)
        .arg(place.path())
        .arg(attempt.name)
        .env_clear()
        .spawn()
        .unwrap();
    if attempt.name == MOVED {
        move_out(how, &child, place.path());
    }
    let status = child.wait().unwrap();
    if how == "caged" && attempt.name != MOVED && attempt.answer != Answer::Allowed {
        let mut after = BTreeMap::new();
        content(place.path(), &mut after);
        after.retain(|path, _| !path.ends_with(b"/ready"));
        assert_eq!(before, after, "{}: something was changed", attempt.name);
    }
    status
        .code()
        .unwrap_or_else(|| panic!("{}: {status}", attempt.name))
}

/// Moves the held directory once its holder is caged.
fn move_out(how: &str, child: &Child, place: &Path) {
    wait_until("the child is ready", || place.join("ready").exists());
    if how == "caged" {
        let status = format!("/proc/{}/status", child.id());
        wait_until("the child is caged", || {
            std::fs::read_to_string(&status)
                .unwrap()
                .contains("Seccomp:\t2")
        });
    }
    std::fs::rename(place.join("inside/held"), place.join("outside/held")).unwrap();
}

#[test]
fn what_succeeds_outside_the_cage_is_refused_inside() {
    let _alone = crate::alone();
    let mut wrong = Vec::new();
    let mut table = format!(
        "\ncage: attempts as {}\n",
        if privileged() {
            "root"
        } else {
            "an ordinary user"
        }
    );
    for attempt in ALL {
        let (free, caged) = (run("free", attempt), run("caged", attempt));
        let free_wanted = if attempt.privileged && !privileged() {
            EPERM
        } else {
            0
        };
        let right = match attempt.answer {
            // Landlock says EXDEV of a link between directories that it would not allow.
            Answer::Refused => [EPERM, EACCES, EXDEV].contains(&caged),
            Answer::Missing => caged == ENOSYS,
            Answer::Allowed => caged == 0,
        };
        let said = |status| match status {
            0 => "succeeds".to_owned(),
            EPERM => "EPERM".to_owned(),
            EACCES => "EACCES".to_owned(),
            EXDEV => "EXDEV".to_owned(),
            ENOSYS => "ENOSYS".to_owned(),
            other => format!("status {other}"),
        };
        table.push_str(&format!(
            "  {:<56} free: {:<10} caged: {}\n",
            attempt.name,
            said(free),
            said(caged)
        ));
        if free != free_wanted || !right {
            wrong.push(format!(
                "{}: free {free} (wanted {free_wanted}), caged {caged}",
                attempt.name
            ));
        }
    }
    std::io::stderr().write_all(table.as_bytes()).unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
