//! Listings, trees and what is known of one object.

use super::answer::{Answer, Doing, Trouble, failure};
use super::call::Sort;
use super::directories::{Directories, Place};
use super::find::Patterns;
use super::text::{collate, shown, size, time};
use super::walk::{Below, Walk, walk};
use crate::desk::Job;
use portcullis_client::protocol::limits::WALK_DEPTH_MAX;
use portcullis_client::protocol::session::{Detail, Entry, List};
use portcullis_client::protocol::view::{Kind, Timestamp};
use portcullis_client::{Session, ask};

/// Lists a directory.
pub(super) fn names(
    (session, job): (&mut Session, &Job),
    directories: &Directories,
    path: &str,
) -> Result<Answer, Trouble> {
    let place = directories.place(path)?;
    let walk = listed((session, job), directories, &place, 1, Detail::Names)?;
    let mut text = String::new();
    for entry in &walk.entries {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(mark(entry.kind));
        text.push(' ');
        text.push_str(&name(entry));
    }
    Ok(Answer::Text {
        text,
        notes: walk.notes,
    })
}

const fn mark(kind: Kind) -> &'static str {
    match kind {
        Kind::Directory => "[DIR]",
        Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
            "[FILE]"
        }
    }
}

fn name(entry: &Entry) -> std::borrow::Cow<'_, str> {
    shown(entry.path.last().unwrap_or_default())
}

fn listed(
    (session, job): (&mut Session, &Job),
    directories: &Directories,
    place: &Place,
    depth: u32,
    detail: Detail,
) -> Result<Walk, Trouble> {
    let failed = |error| failure(error, Doing::List, place, directories);
    let list = List {
        depth,
        detail,
        ..ask::list(place.selector().map_err(failed)?)
    };
    walk(session, &list, job).map_err(failed)
}

/// A name with what is shown of it.
struct Sized {
    kind: Kind,
    name: String,
    bytes: u64,
}

/// Lists a directory with sizes.
pub(super) fn sizes(
    (session, job): (&mut Session, &Job),
    directories: &Directories,
    path: &str,
    sort: Sort,
) -> Result<Answer, Trouble> {
    let place = directories.place(path)?;
    let walk = listed((session, job), directories, &place, 1, Detail::Full)?;
    let mut entries: Vec<Sized> = Vec::with_capacity(walk.entries.len());
    for entry in &walk.entries {
        entries.push(Sized {
            kind: entry.kind,
            name: name(entry).into_owned(),
            bytes: match entry.kind {
                Kind::Link => target_size(session, &place.sibling(entry.path.as_bytes())),
                Kind::File
                | Kind::Directory
                | Kind::Fifo
                | Kind::Socket
                | Kind::Device
                | Kind::Unknown => entry.detail.as_ref().map_or(0, |detail| detail.size),
            },
        });
    }
    match sort {
        Sort::Name => entries.sort_by(|a, b| collate(&a.name, &b.name)),
        Sort::Size => entries.sort_by_key(|entry| std::cmp::Reverse(entry.bytes)),
    }
    Ok(Answer::Text {
        text: table(&entries),
        notes: walk.notes,
    })
}

/// A link counts as what it leads to; nothing where that may not be looked at.
fn target_size(session: &mut Session, link: &Place) -> u64 {
    let looked = link
        .selector()
        .and_then(|selector| session.stat(&ask::stat(selector)));
    looked.map_or(0, |binding| binding.observation.stamp.size)
}

fn table(entries: &[Sized]) -> String {
    let mut lines: Vec<String> = Vec::with_capacity(entries.len() + 3);
    let (mut files, mut directories, mut total) = (0_usize, 0_usize, 0_u64);
    for entry in entries {
        let shown = if entry.kind == Kind::Directory {
            directories += 1;
            String::new()
        } else {
            files += 1;
            total = total.saturating_add(entry.bytes);
            format!("{:>10}", size(entry.bytes))
        };
        lines.push(format!("{} {:30} {shown}", mark(entry.kind), entry.name));
    }
    lines.push(String::new());
    lines.push(format!("Total: {files} files, {directories} directories"));
    lines.push(format!("Combined size: {}", size(total)));
    lines.join("\n")
}

/// All below a directory, as JSON.
pub(super) fn tree(
    (session, job): (&mut Session, &Job),
    directories: &Directories,
    path: &str,
    exclude: &[String],
) -> Result<Answer, Trouble> {
    let place = directories.place(path)?;
    let exclude = Patterns::of_tree(exclude)?;
    let walk = listed(
        (session, job),
        directories,
        &place,
        WALK_DEPTH_MAX,
        Detail::Names,
    )?;
    let mut tree = Tree::default();
    for Below { path, kind, .. } in walk.below() {
        if job.is_cancelled() {
            break;
        }
        if !exclude.leave_out(&path) {
            let name = path.rsplit('/').next().unwrap_or_default();
            tree.add(path.matches('/').count() + 1, name, kind);
        }
    }
    Ok(Answer::Text {
        text: tree.finish(),
        notes: walk.notes,
    })
}

/// The JSON of a tree, written as its entries come: a directory right before what is in it.
#[derive(Default)]
struct Tree {
    text: String,
    /// For each directory that is open, the top included: whether something is in it already.
    open: Vec<Filled>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Filled {
    No,
    Yes,
}

impl Tree {
    fn add(&mut self, depth: usize, name: &str, kind: Kind) {
        if self.open.is_empty() {
            self.text.push('[');
            self.open.push(Filled::No);
        }
        while self.open.len() > depth {
            self.close();
        }
        let comma = self.open.last() == Some(&Filled::Yes);
        if let Some(filled) = self.open.last_mut() {
            *filled = Filled::Yes;
        }
        if comma {
            self.text.push(',');
        }
        let deep = self.open.len() * 4;
        let quoted = serde_json::Value::from(name);
        self.line(deep - 2, "{");
        self.line(deep, &format!("\"name\": {quoted},"));
        if kind == Kind::Directory {
            self.line(deep, "\"type\": \"directory\",");
            self.line(deep, "\"children\": [");
            self.open.push(Filled::No);
        } else {
            self.line(deep, "\"type\": \"file\"");
            self.line(deep - 2, "}");
        }
    }

    fn line(&mut self, blanks: usize, text: &str) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n(' ', blanks));
        self.text.push_str(text);
    }

    /// Ends the innermost directory.
    fn close(&mut self) {
        let filled = self.open.pop();
        let deep = self.open.len() * 4;
        match filled {
            Some(Filled::Yes) => self.line(deep, "]"),
            Some(Filled::No) | None => self.text.push(']'),
        }
        if deep > 0 {
            self.line(deep - 2, "}");
        }
    }

    fn finish(mut self) -> String {
        if self.open.is_empty() {
            return "[]".to_owned();
        }
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }
}

/// What is known of one object.
pub(super) fn info(
    session: &mut Session,
    directories: &Directories,
    path: &str,
) -> Result<Answer, Trouble> {
    let place = directories.place(path)?;
    let failed = |error| failure(error, Doing::Look, &place, directories);
    let stat = ask::stat(place.selector().map_err(failed)?);
    let seen = session.stat(&stat).map_err(failed)?.observation;
    let told = |when: Option<Timestamp>| when.map_or_else(|| "not kept here".to_owned(), time);
    Ok(Answer::text(format!(
        "size: {}\ncreated: {}\nmodified: {}\naccessed: {}\nisDirectory: {}\nisFile: {}\npermissions: {:03o}",
        seen.stamp.size,
        told(seen.stamp.born),
        time(seen.modified),
        told(None),
        seen.kind == Kind::Directory,
        seen.kind == Kind::File,
        seen.mode & 0o777,
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_written_as_a_json_library_would() {
        let entries = [
            (1, "a", Kind::Directory),
            (2, "b", Kind::Directory),
            (3, "x\"y", Kind::File),
            (2, "empty", Kind::Directory),
            (1, "z", Kind::Link),
        ];
        let mut tree = Tree::default();
        for (depth, name, kind) in entries {
            tree.add(depth, name, kind);
        }
        let text = tree.finish();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            serde_json::to_string_pretty(&value).unwrap().len(),
            text.len()
        );
        assert_eq!(value[0]["children"][0]["children"][0]["name"], "x\"y");
        assert_eq!(value[0]["children"][1]["children"], serde_json::json!([]));
        assert_eq!(value[1]["type"], "file");
        assert_eq!(Tree::default().finish(), "[]");
    }

    #[test]
    fn a_listing_with_sizes_ends_in_its_totals() {
        let sized = |kind, name: &str, bytes| Sized {
            kind,
            name: name.to_owned(),
            bytes,
        };
        let text = table(&[
            sized(Kind::Directory, "d", 4096),
            sized(Kind::File, "f", 1536),
        ]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                &format!("[DIR] d{}", " ".repeat(30)),
                &format!("[FILE] f{}    1.50 KB", " ".repeat(29)),
                "",
                "Total: 1 files, 1 directories",
                "Combined size: 1.50 KB",
            ]
        );
    }
}
