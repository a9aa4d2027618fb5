//! Files in two versions, and the patches between them.

use crate::subject::{Form, Lines, Size};
use portcullis_client::change::{self, Count, Replace, TextEdit};
use portcullis_client::{Changes, ask, patch};
use std::fmt::Write as _;

/// The file's name.
pub const NAME: &str = "file.txt";
/// Bytes of a line, newline included.
const LINE: usize = 64;
/// Lines around a change that a patch shows, on each side.
const CONTEXT: usize = 3;

/// A file in two versions, all of whose lines have [`LINE`] bytes.
pub struct File {
    pub versions: [String; 2],
    /// The numbers, from 0, of the lines in which they differ.
    changed: Vec<usize>,
}

impl File {
    pub fn new(size: Size, lines: Lines) -> Self {
        let count = size.bytes / LINE;
        let apart = count / size.hunks;
        let changed: Vec<usize> = (0..size.hunks).map(|n| n * apart + apart / 2).collect();
        let version = |version: usize| {
            let mut text = String::with_capacity(size.bytes);
            let mut next = changed.iter().peekable();
            for n in 0..count {
                match next.next_if(|changed| **changed == n) {
                    Some(_) => {
                        let begin = format!("line {n:07} is in version {version} ");
                        writeln!(text, "{begin:.<63}").unwrap();
                    }
                    None => line(lines, n, &mut text),
                }
            }
            text
        };
        Self {
            versions: [version(0), version(1)],
            changed,
        }
    }

    fn line(&self, version: usize, n: usize) -> &str {
        &self.versions[version][n * LINE..(n + 1) * LINE]
    }

    /// Where each change begins, in bytes, and its old text and its new one, from one version to
    /// the other.
    pub fn texts(&self, from: usize) -> impl Iterator<Item = (usize, &str, &str)> {
        self.changed
            .iter()
            .map(move |n| (n * LINE, self.line(from, *n), self.line(1 - from, *n)))
    }

    /// The patch from one version to the other, as text; empty where there is none.
    pub fn patch(&self, form: Form, from: usize) -> String {
        let mut out = String::new();
        match form {
            Form::Replacements => return out,
            Form::V4a => writeln!(out, "*** Begin Patch\n*** Update File: {NAME}"),
            Form::Unified => writeln!(out, "--- a/{NAME}\n+++ b/{NAME}"),
        }
        .unwrap();
        for n in &self.changed {
            let (start, end) = (n - CONTEXT, n + CONTEXT + 1);
            match form {
                Form::Replacements => {}
                Form::V4a => writeln!(out, "@@").unwrap(),
                Form::Unified => {
                    let (line, count) = (start + 1, end - start);
                    writeln!(out, "@@ -{line},{count} +{line},{count} @@").unwrap();
                }
            }
            for line in start..end {
                let old = self.line(from, line);
                if line == *n {
                    write!(out, "-{old}+{}", self.line(1 - from, line)).unwrap();
                } else {
                    write!(out, " {old}").unwrap();
                }
            }
        }
        match form {
            Form::Replacements | Form::Unified => {}
            Form::V4a => writeln!(out, "*** End Patch").unwrap(),
        }
        out
    }

    /// The changes from one version to the other, as a session sends them.
    pub fn changes(&self, form: Form, from: usize) -> Changes {
        match form {
            Form::Replacements => {
                let mut edit = change::replace(ask::selector(NAME).unwrap(), "-", "-");
                edit.edits = self
                    .texts(from)
                    .map(|(_, old, new)| {
                        TextEdit::Replace(Replace {
                            old: old.into(),
                            new: new.into(),
                            count: Count::Exactly(1),
                        })
                    })
                    .collect();
                Changes::new().with(edit)
            }
            Form::V4a | Form::Unified => parse(form, &self.patch(form, from)),
        }
    }
}

/// A patch text, read.
pub fn parse(form: Form, text: &str) -> Changes {
    let format = match form {
        Form::V4a => patch::Format::V4a,
        Form::Replacements | Form::Unified => patch::Format::Unified,
    };
    patch::parse(text.as_bytes(), format, None).unwrap()
}

/// Adds a line that no version changes.
fn line(lines: Lines, n: usize, text: &mut String) {
    match lines {
        Lines::Unlike => {
            let begin = format!("line {n:07} ");
            writeln!(text, "{begin:.<63}")
        }
        Lines::Alike if n.is_multiple_of(2) => writeln!(text, "{:63}", "}"),
        Lines::Alike => writeln!(text, "{:63}", ""),
    }
    .unwrap();
}
