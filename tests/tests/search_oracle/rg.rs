//! What `rg` tells.

use crate::answer::{Answer, Is, Line, Told, Zero, bare};
use crate::random::say;
use crate::tree::Git;
use portcullis_client::protocol::session::SearchMode;
use serde_json::Value;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version that the engines here are of.
const VERSION: &str = "ripgrep 15.2.";
/// What makes `rg` look at what the gate looks at, and nothing else.
const ALWAYS: &[&str] = &[
    "--no-config",
    "--no-ignore-global",
    "--no-ignore-parent",
    "--color=never",
    "-j1",
];

/// A program that is there and of the right version.
pub(crate) struct Rg(PathBuf);

impl Rg {
    /// It; or none, which is said, and in CI a failure.
    pub(crate) fn here(test: &str) -> Option<Self> {
        let program = std::env::var_os("PORTCULLIS_RG").unwrap_or_else(|| "rg".into());
        let version = Command::new(&program).arg("--version").output();
        let is_right = version.is_ok_and(|told| told.stdout.starts_with(VERSION.as_bytes()));
        if is_right {
            return Some(Self(program.into()));
        }
        let missing = format!("no {VERSION}x in PORTCULLIS_RG or PATH: {test} was skipped");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}");
        say(&missing);
        None
    }

    /// What it writes, or what it says is wrong.
    pub(crate) fn run(
        &self,
        (top, git): (&Path, Git),
        flags: &[OsString],
    ) -> Result<Vec<u8>, String> {
        let output = Command::new(&self.0)
            .args(ALWAYS)
            .arg(git.flag())
            .args(flags)
            .current_dir(top)
            .env("LC_ALL", "C")
            .env_remove("RIPGREP_CONFIG_PATH")
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        match output.status.code() {
            Some(0 | 1) => Ok(output.stdout),
            _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// The answer to a search with these flags, of which the last is a path.
    pub(crate) fn search(
        &self,
        at: (&Path, Git),
        flags: &[OsString],
        mode: SearchMode,
    ) -> Result<Answer, String> {
        let told = self.run(at, flags)?;
        Ok(match mode {
            SearchMode::Content { .. } => events(&told),
            SearchMode::Files | SearchMode::FilesWithout => {
                paths(&told).map(|path| (path, Told::Named)).collect()
            }
            SearchMode::Count => counts(&told),
        })
    }
}

/// Paths that each end in a zero byte.
pub(crate) fn paths(told: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let paths = told
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty());
    paths.map(|path| below(path.to_vec()))
}

fn counts(told: &[u8]) -> Answer {
    let mut answer = Answer::new();
    for line in told.split_inclusive(|byte| *byte == b'\n') {
        let zero = line.iter().position(|byte| *byte == 0).unwrap();
        let count = std::str::from_utf8(bare(&line[zero + 1..])).unwrap();
        let path = below(line[..zero].to_vec());
        answer.insert(path, Told::Count(count.parse().unwrap()));
    }
    answer
}

fn events(told: &[u8]) -> Answer {
    let mut answer = Answer::new();
    for line in told.split(|byte| *byte == b'\n').filter(|l| !l.is_empty()) {
        let event: Value = serde_json::from_slice(line).unwrap();
        let data = &event["data"];
        let path = || below(bytes(&data["path"]));
        match event["type"].as_str().unwrap() {
            "begin" => {
                answer.insert(path(), Told::Lines(Vec::new(), Zero::NotMet));
            }
            "end" if data["binary_offset"].is_u64() => {
                let Some(Told::Lines(_, zero)) = answer.get_mut(&path()) else {
                    panic!("an end without a begin")
                };
                *zero = Zero::Met;
            }
            "match" => add(&mut answer, path(), data, Is::Match),
            "context" => add(&mut answer, path(), data, Is::Context),
            _ => {}
        }
    }
    // Of a file in which nothing was found nothing is told.
    answer.retain(|_, told| !matches!(told, Told::Lines(lines, _) if lines.is_empty()));
    answer
}

/// Adds the lines of one event, each by itself.
fn add(answer: &mut Answer, path: Vec<u8>, data: &Value, is: Is) {
    let Some(Told::Lines(lines, _)) = answer.get_mut(&path) else {
        panic!("a line without a begin")
    };
    let text = bytes(&data["lines"]);
    let starts: Vec<usize> = data["submatches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| usize::try_from(found["start"].as_u64().unwrap()).unwrap())
        .collect();
    let mut done = 0;
    for (n, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let here = done..done + line.len();
        let first = starts.iter().find(|start| here.contains(start));
        lines.push(Line {
            is,
            number: data["line_number"].as_u64().unwrap() + n as u64,
            offset: data["absolute_offset"].as_u64().unwrap() + done as u64,
            column: first.map_or(0, |start| (start - done + 1) as u64),
            text: bare(line).to_vec(),
            cut: (0, 0),
        });
        done += line.len();
    }
}

/// Bytes as `rg` writes them: as text, or in base64.
fn bytes(value: &Value) -> Vec<u8> {
    if let Some(text) = value["text"].as_str() {
        return text.as_bytes().to_vec();
    }
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut held, mut bits, mut out) = (0_u32, 0, Vec::new());
    for letter in value["bytes"].as_str().unwrap().bytes() {
        let Some(digit) = digits.iter().position(|d| *d == letter) else {
            continue;
        };
        held = held << 6 | u32::try_from(digit).unwrap();
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(held >> bits & 0xff).unwrap());
        }
    }
    out
}

fn below(path: Vec<u8>) -> Vec<u8> {
    path.strip_prefix(b"./").map(<[u8]>::to_vec).unwrap_or(path)
}

/// Bytes as an argument.
pub(crate) fn argument(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}
