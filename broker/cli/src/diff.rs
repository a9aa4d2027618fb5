//! `portcullis diff`: what was changed, line by line.

use crate::args::{DiffArguments, Form};
use crate::log::failed;
use crate::records::{Book, BookError};
use crate::say;
use portcullis_protocol::path::escape;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Writes the differences of a run, or of one receipt.
pub(crate) fn diff(arguments: &DiffArguments) -> ExitCode {
    match all(arguments) {
        Ok(parts) => {
            match arguments.form() {
                Form::Json => say::out(document(&parts)),
                Form::Text => print(&parts),
            }
            ExitCode::SUCCESS
        }
        Err(error) => failed(arguments.form(), &error),
    }
}

/// The difference of one receipt.
struct Part {
    receipt: u64,
    text: Vec<u8>,
    /// Bytes that were not kept.
    cut: u64,
}

fn all(arguments: &DiffArguments) -> Result<Vec<Part>, BookError> {
    let mut book = Book::open(&arguments.place)?;
    let mut wanted = Vec::new();
    match (arguments.receipt, arguments.run) {
        (Some(receipt), _) => wanted.push(receipt),
        (None, Some(run)) => {
            let run = book.run(run)?.run;
            book.receipts(run, |receipt| {
                if receipt.diff_bytes > 0 || receipt.end.diff_cut > 0 {
                    wanted.push(receipt.id.number);
                }
            })?;
        }
        (None, None) => return Err(BookError::NoRun),
    }
    let mut parts = Vec::new();
    for receipt in wanted {
        let difference = book.diff(receipt)?;
        parts.push(Part {
            receipt,
            text: difference.text,
            cut: difference.cut,
        });
    }
    Ok(parts)
}

fn document(parts: &[Part]) -> Value {
    let parts: Vec<Value> = parts
        .iter()
        .map(|part| {
            let text = String::from_utf8_lossy(&part.text);
            json!({
                "receipt": part.receipt, "diff": text, "cut": part.cut,
                // Whether `diff` is byte for byte what was kept.
                "exact": text.as_bytes() == part.text,
            })
        })
        .collect();
    json!({"version": 1, "diffs": parts})
}

fn print(parts: &[Part]) {
    let mut out = std::io::stdout().lock();
    for part in parts {
        let text = if out.is_terminal() {
            tame(&part.text)
        } else {
            part.text.clone()
        };
        // A reader that has left changes nothing.
        drop(out.write_all(&text));
        if !text.is_empty() && !text.ends_with(b"\n") {
            drop(out.write_all(b"\n"));
        }
        if part.cut > 0 {
            say::err(format_args!(
                "portcullis: {} of the difference of receipt {} were not kept",
                crate::words::counted(part.cut, "byte"),
                part.receipt
            ));
        }
    }
    if parts.is_empty() {
        say::err("portcullis: no difference is on record");
    }
}

/// A terminal takes orders from what is written to it, and a worker chose this text: everything
/// but tabs and ends of lines is made visible.
pub(crate) fn tame(text: &[u8]) -> Vec<u8> {
    let mut tamed = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' | '\t' | '\\' => tamed.push(c),
                other => tamed.push_str(&escape(other.encode_utf8(&mut [0; 4]).as_bytes())),
            }
        }
        tamed.push_str(&escape(chunk.invalid()));
    }
    tamed.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_orders() {
        let wild = b"+\x1b[2Ja\tb\n-\x07\r\n \xe2\x80\xaex\n";
        let tamed = tame(wild);
        let text = String::from_utf8(tamed).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("a\tb"), "{text}");
        let odd = |c: char| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}';
        assert!(!text.chars().any(odd), "{text:?}");
        assert_eq!(tame(b"+pl\\ain\n"), b"+pl\\ain\n");
    }
}
