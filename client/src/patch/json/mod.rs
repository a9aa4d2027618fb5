//! Edits as the JSON arguments of editing tools, one or a list of them.
//!
//! One file's edits in one document follow each other, as those tools make them: each is found in
//! what the ones before it leave. Edits by labels are of one version, so all of a document's are
//! found in the file as it is.

mod anchored;
mod fields;
mod node;

use super::{Names, PatchError};
use crate::change::{self, Changes, Count, Edit, Replace, TextEdit, Tiers, Write, create};
use crate::label;
use anchored::anchored;
use fields::Fields;
use node::{Flag, Node};
use portcullis_protocol::session::{Expect, Parents, Selector};

/// Whether a text begins as such a document: an object, or a list of objects; also in a Markdown
/// fence.
pub(super) fn is_start(text: &[u8]) -> bool {
    let (text, _) = unfenced(text);
    let text = text
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(text)
        .trim_ascii_start();
    let (text, list) = match text.strip_prefix(b"[") {
        Some(rest) => (rest.trim_ascii_start(), true),
        None => (text, false),
    };
    match text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start) {
        Some(rest) => rest.starts_with(b"\"") || rest.starts_with(b"}"),
        None => list && text.starts_with(b"]"),
    }
}

/// The text without a fence of backticks around it, and how many lines stood before.
fn unfenced(text: &[u8]) -> (&[u8], usize) {
    const FENCE: &[u8] = b"```";
    let within = text.trim_ascii();
    let inner = within
        .strip_prefix(FENCE)
        .and_then(|rest| rest.strip_suffix(FENCE))
        .and_then(|rest| {
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            rest.get(end..)
        });
    match inner {
        Some(inner) => {
            let before = text.len() - text.trim_ascii_start().len();
            let before = text.get(..before).unwrap_or_default();
            (inner, before.iter().filter(|byte| **byte == b'\n').count())
        }
        None => (text, 0),
    }
}

/// Reads a whole text.
pub(super) fn parse(text: &[u8], names: Names<'_>) -> Result<Changes, PatchError> {
    let (text, before) = unfenced(text);
    read(text, names).map_err(|error| PatchError {
        line: error.line + before,
        ..error
    })
}

fn read(text: &[u8], names: Names<'_>) -> Result<Changes, PatchError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let text = std::str::from_utf8(text).map_err(|error| {
        let before = text.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        PatchError::new(line, "no JSON: it is not UTF-8")
    })?;
    let documents = match node::parse(text)? {
        Node::List(list) => list,
        one @ (Node::Null | Node::Flag(_) | Node::Number(_) | Node::Text(_) | Node::Object(_)) => {
            vec![one]
        }
    };
    let lines = node::lines_of_values(text);
    let several = documents.len() > 1;
    let mut changes = Changes::new();
    for (at, one) in documents.into_iter().enumerate() {
        let what = if several {
            format!("edit {}: ", at + 1)
        } else {
            String::new()
        };
        let line = lines.get(at).copied().unwrap_or(1);
        document(Fields::new(line, what, one)?, names, &mut changes)?;
    }
    Ok(changes)
}

/// What a document may be, for those that are none.
const SHAPES: &str = "an edit has `path` (or `file_path`) and `old_string` with `new_string`, \
                      `edits`, `content`, or `command`";

/// One document.
fn document(mut from: Fields, names: Names<'_>, changes: &mut Changes) -> Result<(), PatchError> {
    let path = match (from.text("path")?, from.text("file_path")?) {
        (Some(path), None) | (None, Some(path)) => path,
        (Some(_), Some(_)) => return Err(from.wrong("`path` and `file_path` are one: give one")),
        (None, None) => {
            return Err(from.wrong(format_args!("there is no file name: {SHAPES}")));
        }
    };
    let selector = names.selector(from.line(), path.as_bytes())?;
    if let Some(command) = from.text("command")? {
        return editor(&command, from, selector, changes);
    }
    if let Some(list) = from.list("edits")? {
        return edits(list, from, &selector, changes);
    }
    if let Some(keys) = texts_of(&from) {
        changes.push(replace(from, keys, selector)?);
        return Ok(());
    }
    if let Some(content) = from.text("content")? {
        from.done("`path` and `content`")?;
        let write = change::write(selector, content);
        changes.push(Write {
            expect: Expect::Seen,
            parents: Parents::Make,
            ..write
        });
        return Ok(());
    }
    Err(from.wrong(SHAPES))
}

/// The keys of an old text and a new one.
#[derive(Debug, Clone, Copy)]
struct Keys {
    old: &'static str,
    new: &'static str,
}

const TEXTS: [Keys; 3] = [
    Keys {
        old: "old_string",
        new: "new_string",
    },
    Keys {
        old: "oldText",
        new: "newText",
    },
    EDITOR_TEXTS,
];

const EDITOR_TEXTS: Keys = Keys {
    old: "old_str",
    new: "new_str",
};

fn texts_of(from: &Fields) -> Option<Keys> {
    let mut all = TEXTS.into_iter();
    all.find(|keys| from.has(keys.old) || from.has(keys.new))
}

/// A text for a text.
fn replace(mut from: Fields, keys: Keys, selector: Selector) -> Result<Edit, PatchError> {
    let old = from.wanted(keys.old)?;
    let new = from.wanted(keys.new)?;
    if old.is_empty() {
        return Err(from.wrong(format_args!(
            "`{}` is empty: give what stands there now; a whole file is written by `path` and \
             `content`",
            keys.old
        )));
    }
    unlabelled_unless(&from, &old, &new)?;
    let all = from.flag("replace_all")?;
    let times = from.number("expected_replacements")?;
    let count = match (all, times) {
        (Flag::Yes, None) => Count::All,
        (Flag::No, None) => Count::Exactly(1),
        (Flag::No, Some(times)) => u32::try_from(times)
            .ok()
            .filter(|times| *times > 0)
            .map(Count::Exactly)
            .ok_or_else(|| from.wrong("`expected_replacements` is a number from 1"))?,
        (Flag::Yes, Some(_)) => {
            return Err(from.wrong(
                "`replace_all` replaces however many there are, `expected_replacements` so many: \
                 give one of them",
            ));
        }
    };
    from.done("an old text, a new one, and `replace_all` or `expected_replacements`")?;
    Ok(of(
        selector,
        TextEdit::Replace(Replace {
            old: old.into_bytes(),
            new: new.into_bytes(),
            count,
        }),
    ))
}

fn of(selector: Selector, edit: TextEdit) -> Edit {
    Edit {
        selector,
        expect: Expect::Any,
        edits: vec![edit],
        tiers: Tiers::DEFAULT,
        mode: None,
    }
}

/// A command of a `str_replace` editor.
fn editor(
    command: &str,
    mut from: Fields,
    selector: Selector,
    changes: &mut Changes,
) -> Result<(), PatchError> {
    match command {
        "str_replace" => {
            let old = from.wanted(EDITOR_TEXTS.old)?;
            // That editor removes the old text when no new one is given.
            let new = from.text(EDITOR_TEXTS.new)?.unwrap_or_default();
            if old.is_empty() {
                return Err(from.wrong("`old_str` is empty: give what stands there now"));
            }
            unlabelled_unless(&from, &old, &new)?;
            from.done("`path`, `old_str` and `new_str`")?;
            changes.push(change::replace(selector, old, new));
        }
        "create" => {
            let text = from.wanted("file_text")?;
            from.done("`path` and `file_text`")?;
            changes.push(Write {
                parents: Parents::Make,
                ..create(selector, text)
            });
        }
        "insert" => {
            let line = from.number("insert_line")?.ok_or_else(|| {
                from.wrong(
                    "`insert_line` is missing: the line after which it comes, 0 for the first",
                )
            })?;
            let text = match (from.text("new_str")?, from.text("insert_text")?) {
                (Some(text), None) | (None, Some(text)) => text,
                (Some(_), Some(_)) => {
                    return Err(from.wrong("`new_str` and `insert_text` are one: give one"));
                }
                (None, None) => return Err(from.wrong("`new_str` is missing")),
            };
            let text = inserted(&from, text)?;
            from.done("`path`, `insert_line` and `new_str`")?;
            changes.push(of(selector, TextEdit::Insert { line, text }));
        }
        "view" => {
            return Err(from.wrong(
                "`view` changes nothing: `portcullis-tool read` shows a file, and `list` a directory",
            ));
        }
        "undo_edit" => {
            return Err(from.wrong(
                "a worker cannot undo: whoever started this session can, by the receipt \
                 (`portcullis undo`); or edit it back",
            ));
        }
        other => {
            return Err(from.wrong(format_args!(
                "`{}` is no command here: those are `str_replace`, `create` and `insert`",
                super::shown(other.as_bytes())
            )));
        }
    }
    Ok(())
}

/// All edits of one document.
fn edits(
    list: Vec<Node>,
    mut from: Fields,
    selector: &Selector,
    changes: &mut Changes,
) -> Result<(), PatchError> {
    match from.flag("dryRun")? {
        Flag::No => {}
        Flag::Yes => {
            return Err(from.wrong(
                "whether it is only tried is said to the command: `portcullis-tool patch --dry-run`",
            ));
        }
    }
    if list.is_empty() {
        return Err(from.wrong("`edits` is empty"));
    }
    let line = from.line();
    let mut labelled: Vec<TextEdit> = Vec::new();
    let mut texts = 0_usize;
    for (at, node) in list.into_iter().enumerate() {
        let one = Fields::new(line, format!("item {} of `edits`: ", at + 1), node)?;
        match texts_of(&one) {
            Some(keys) => {
                changes.push(replace(one, keys, selector.clone())?);
                texts += 1;
            }
            None => labelled.push(anchored(one)?),
        }
    }
    if texts > 0 && !labelled.is_empty() {
        return Err(from.wrong(
            "`edits` are of texts or of labels, not of both: an edit of a text makes labels stale",
        ));
    }
    from.done("`path` and `edits`")?;
    if !labelled.is_empty() {
        changes.join(Edit {
            selector: selector.clone(),
            expect: Expect::Any,
            edits: labelled,
            tiers: Tiers::DEFAULT,
            mode: None,
        });
    }
    Ok(())
}

/// Whole lines that are not none; a newline at the end may be left out.
fn inserted(from: &Fields, mut text: String) -> Result<Vec<u8>, PatchError> {
    if text.is_empty() {
        return Err(from.wrong("there is nothing to insert"));
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text.into_bytes())
}

/// The same, but where the old text has them too: there they are part of the file.
fn unlabelled_unless(from: &Fields, old: &str, new: &str) -> Result<(), PatchError> {
    match label::copied(old.as_bytes()) {
        Some(_) => Ok(()),
        None => unlabelled(from, new),
    }
}

/// Refuses a new text that was copied with its labels.
fn unlabelled(from: &Fields, new: &str) -> Result<(), PatchError> {
    match label::copied(new.as_bytes()) {
        None => Ok(()),
        Some(line) => Err(from.wrong(format_args!(
            "line {line} of the new text begins with the label of a line: give the text alone, \
             without labels"
        ))),
    }
}

#[cfg(test)]
mod tests;
