//! The packages, and which of their files changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file that is not the same in two releases.
#[derive(Debug)]
pub(crate) struct Changed {
    /// The package, and both releases.
    package: String,
    /// Its name below the package.
    pub(crate) name: String,
    pub(crate) old: Option<Vec<u8>>,
    pub(crate) new: Option<Vec<u8>>,
    /// What `git diff --no-index` says of it, with the names a repository would give.
    pub(crate) diff: Vec<u8>,
}

impl Changed {
    pub(crate) fn shown(&self) -> String {
        format!("{} {}", self.package, self.name)
    }
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("history")
}

/// How many packages there are, and every changed file of them.
pub(crate) fn changed() -> (usize, Vec<Changed>) {
    let (old, new) = (fetched("old"), fetched("new"));
    let mut files = Vec::new();
    let pairs = pairs();
    for (package, (before, after)) in &pairs {
        let old = old.join(format!("{package}-{before}"));
        let new = new.join(format!("{package}-{after}"));
        let names: BTreeSet<String> = names(&old).union(&names(&new)).cloned().collect();
        for name in names {
            let read = |top: &Path| std::fs::read(top.join(&name)).ok();
            let (was, is) = (read(&old), read(&new));
            if was != is {
                files.push(Changed {
                    package: format!("{package} {before} to {after}"),
                    diff: difference(&old, &new, &name),
                    name,
                    old: was,
                    new: is,
                });
            }
        }
    }
    (pairs.len(), files)
}

/// The releases that the manifests name.
fn pairs() -> BTreeMap<String, (String, String)> {
    let (old, new) = (named("old"), named("new"));
    assert!(
        old.keys().eq(new.keys()),
        "the manifests name other packages"
    );
    let pair = |(package, before): (String, String)| {
        let after = new[&package].clone();
        (package, (before, after))
    };
    old.into_iter().map(pair).collect()
}

fn named(which: &str) -> BTreeMap<String, String> {
    let manifest = std::fs::read_to_string(top().join(which).join("Cargo.toml")).unwrap();
    let (_, dependencies) = manifest.split_once("[dependencies]\n").unwrap();
    let release = |line: &str| {
        let (package, rest) = line.split_once(" = { version = \"=")?;
        let (version, _) = rest.split_once('"')?;
        Some((package.to_owned(), version.to_owned()))
    };
    dependencies
        .lines()
        .map(|line| release(line).unwrap())
        .collect()
}

/// The directory of the sources a lock file names; fetched when they are not there.
fn fetched(which: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("history")
        .join(which);
    let lock = std::fs::read(top().join(which).join("Cargo.lock")).unwrap();
    let of = place.join("of");
    if std::fs::read(&of).is_ok_and(|of| of == lock) {
        return place;
    }
    let output = Command::new(env!("CARGO"))
        .args(["vendor", "--locked", "--versioned-dirs", "--manifest-path"])
        .arg(top().join(which).join("Cargo.toml"))
        .arg(&place)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "the packages of `tests/history/{which}` cannot be fetched: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::write(of, lock).unwrap();
    place
}

/// The files of a package, but for what fetching puts there.
fn names(top: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(below) = waiting.pop() {
        let entries = std::fs::read_dir(top.join(&below));
        for entry in entries.unwrap_or_else(|e| panic!("{}: {e}", top.display())) {
            let entry = entry.unwrap();
            let path = below.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                waiting.push(path);
            } else if path != Path::new(".cargo-checksum.json") {
                names.insert(path.to_str().unwrap().to_owned());
            }
        }
    }
    names
}

fn difference(old: &Path, new: &Path, name: &str) -> Vec<u8> {
    let side = |top: &Path| {
        let file = top.join(name);
        if file.exists() {
            file
        } else {
            "/dev/null".into()
        }
    };
    let (left, right) = (side(old), side(new));
    let output = Command::new("git")
        .args([
            "diff",
            "--no-index",
            "--no-ext-diff",
            "--no-color",
            "--no-prefix",
            "--no-renames",
        ])
        .args([&left, &right])
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap_or_else(|e| panic!("git is needed: {e}"));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    inside_a_repository(&output.stdout, name)
}

/// The headers with the name of the file below `a/` and `b/`.
fn inside_a_repository(diff: &[u8], name: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(diff.len());
    let mut headers = true;
    for line in diff.split_inclusive(|byte| *byte == b'\n') {
        headers &= !line.starts_with(b"@@ ");
        if headers && line.starts_with(b"diff --git ") {
            out.extend(format!("diff --git a/{name} b/{name}\n").into_bytes());
        } else if headers && line.starts_with(b"--- ") && line != b"--- /dev/null\n" {
            out.extend(format!("--- a/{name}\n").into_bytes());
        } else if headers && line.starts_with(b"+++ ") && line != b"+++ /dev/null\n" {
            out.extend(format!("+++ b/{name}\n").into_bytes());
        } else {
            out.extend_from_slice(line);
        }
    }
    out
}
