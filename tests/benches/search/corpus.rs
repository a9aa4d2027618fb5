//! The trees that are searched, and the `rg` they are searched with.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory of trees.
const CORPORA: &str = "PORTCULLIS_BENCH_CORPORA";
/// The executable that is compared with.
const RG: &str = "PORTCULLIS_RG";
/// Files up to which a tree is held to the bounds of small ones.
const SMALL_FILES: usize = 2_000;
/// What a tree must have to count as a large one, as the issue says.
const LARGE_FILES: usize = 40_000;

/// How a tree is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Starting a program is most of it.
    Small,
    /// Neither: shown, not judged.
    Between,
    Large,
}

/// One tree.
pub struct Corpus {
    pub name: String,
    pub path: PathBuf,
    pub size: Size,
    pub files: usize,
}

/// What is there to measure with.
pub struct Means {
    pub corpora: Vec<Corpus>,
    pub rg: Option<PathBuf>,
    /// What is missing, for people.
    pub missing: Vec<String>,
}

impl Means {
    pub fn find() -> Self {
        let mut missing = Vec::new();
        let rg = rg();
        match &rg {
            None => missing.push(format!(
                "no rg on PATH or in {RG}: nothing to compare with, only times"
            )),
            Some(rg) => eprintln!("compared with {}", version(rg)),
        }
        let mut corpora = match std::env::var_os(CORPORA) {
            Some(place) => below(Path::new(&place)),
            None => Vec::new(),
        };
        if corpora.is_empty() {
            missing.push(format!(
                "no trees in {CORPORA}: this repository is searched instead, which is neither \
                 large nor like others"
            ));
            let own = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
            corpora.push(Corpus::at(own, "repository".to_owned()));
        }
        if corpora.iter().filter(|c| c.size == Size::Large).count() < 2 {
            missing.push(format!(
                "fewer than two trees of {LARGE_FILES} files: the bounds for large trees are \
                 judged on less than they are set for"
            ));
        }
        Self {
            corpora,
            rg,
            missing,
        }
    }
}

impl Corpus {
    fn at(path: &Path, name: String) -> Self {
        // Also the first warming: names and inodes are in memory afterwards.
        let files = files(path);
        let size = match files {
            0..=SMALL_FILES => Size::Small,
            LARGE_FILES.. => Size::Large,
            _ => Size::Between,
        };
        Self {
            name,
            path: path.to_owned(),
            size,
            files,
        }
    }
}

/// The directories of a directory, by name.
fn below(place: &Path) -> Vec<Corpus> {
    let mut corpora: Vec<Corpus> = std::fs::read_dir(place)
        .unwrap_or_else(|error| panic!("{CORPORA}: {}: {error}", place.display()))
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| Corpus::at(&entry.path(), entry.file_name().into_string().unwrap()))
        .collect();
    corpora.sort_by(|a, b| a.name.cmp(&b.name));
    corpora
}

fn files(path: &Path) -> usize {
    let mut count = 0;
    let mut pending = vec![path.to_owned()];
    while let Some(path) = pending.pop() {
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                // Built things are no source, and not looked at by default either.
                if entry.file_name() != "target" && entry.file_name() != ".git" {
                    pending.push(entry.path());
                }
            } else if kind.is_file() {
                count += 1;
            }
        }
    }
    count
}

fn rg() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(RG) {
        return Some(PathBuf::from(named));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join("rg"))
        .find(|rg| rg.is_file())
}

fn version(rg: &Path) -> String {
    let said = Command::new(rg).arg("--version").output();
    let said = said.unwrap_or_else(|error| panic!("{}: {error}", rg.display()));
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    text.lines().next().unwrap_or_default().to_owned()
}
