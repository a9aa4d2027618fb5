//! Edits of lines named by their labels.

use super::super::PatchError;
use super::fields::Fields;
use super::node::Node;
use crate::change::{Anchor, AnchoredDeed, TextEdit};

/// What is done with lines named by their labels.
pub(super) fn anchored(mut from: Fields) -> Result<TextEdit, PatchError> {
    let Some(op) = from.text("op")? else {
        return Err(from.wrong(
            "it has an old text and a new one (`oldText` and `newText`), or `op`, `at` and `text`",
        ));
    };
    let first = match (from.text("at")?, from.text("first")?) {
        (Some(label), None) | (None, Some(label)) => anchor(&from, &label)?,
        (Some(_), Some(_)) => return Err(from.wrong("`at` and `first` are one: give one")),
        (None, None) => return Err(from.wrong("`at` is missing: the label of a line")),
    };
    let last = match from.text("last")? {
        Some(label) => anchor(&from, &label)?,
        None => first,
    };
    if last.line < first.line {
        return Err(from.wrong("`last` comes before `first`"));
    }
    let deed = match op.as_str() {
        "replace" => AnchoredDeed::Replace(text_or_lines(&mut from)?),
        "delete" => AnchoredDeed::Replace(Vec::new()),
        "insert_before" => AnchoredDeed::Before(something(&mut from)?),
        "insert_after" => AnchoredDeed::After(something(&mut from)?),
        other => {
            return Err(from.wrong(format_args!(
                "`{}` is no `op`: those are `replace`, `insert_before`, `insert_after` and `delete`",
                super::super::shown(other.as_bytes())
            )));
        }
    };
    from.done("`op`, `at` (or `first`), `last`, and `text` (or `lines`) unless it deletes")?;
    Ok(TextEdit::Anchored { first, last, deed })
}

fn anchor(from: &Fields, label: &str) -> Result<Anchor, PatchError> {
    label.parse().map_err(|error| {
        let shown = super::super::shown(label.as_bytes());
        from.wrong(format_args!(
            "`{shown}` is {error}; `portcullis-tool read --labels` shows them, before the bar"
        ))
    })
}

/// New lines that are not none.
fn something(from: &mut Fields) -> Result<Vec<u8>, PatchError> {
    let text = text_or_lines(from)?;
    if text.is_empty() {
        return Err(from.wrong("there is nothing to insert"));
    }
    Ok(text)
}

/// New lines: a text, or a list of lines without their newlines.
fn text_or_lines(from: &mut Fields) -> Result<Vec<u8>, PatchError> {
    let text = match (from.text("text")?, from.list("lines")?) {
        (Some(text), None) => text,
        (None, Some(lines)) => {
            let mut text = String::new();
            for line in lines {
                match line {
                    Node::Text(line) if !line.contains('\n') => {
                        text.push_str(&line);
                        text.push('\n');
                    }
                    Node::Text(_) => {
                        return Err(from.wrong("each of `lines` is one line, without a newline"));
                    }
                    other @ (Node::Null
                    | Node::Flag(_)
                    | Node::Number(_)
                    | Node::List(_)
                    | Node::Object(_)) => {
                        return Err(from.wrong(format_args!(
                            "each of `lines` is a text and here is {}",
                            other.kind()
                        )));
                    }
                }
            }
            text
        }
        (Some(_), Some(_)) => return Err(from.wrong("`text` and `lines` are one: give one")),
        (None, None) => {
            return Err(from.wrong("`text` is missing; lines go without one by `op` `delete`"));
        }
    };
    super::unlabelled(from, &text)?;
    Ok(text.into_bytes())
}
