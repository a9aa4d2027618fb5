//! Two answers to one search.

use crate::answer::{Answer, Is, Line, Told, Zero};
use portcullis_client::protocol::path::escape;
use portcullis_client::protocol::session::{Binary, MultiLine, Search, TextEncoding};
use std::collections::BTreeSet;

/// What is not the same, in words; nothing where all is.
pub(crate) fn compare(search: &Search, ours: &Answer, rg: &Answer) -> Option<String> {
    let paths: BTreeSet<&Vec<u8>> = ours.keys().chain(rg.keys()).collect();
    for path in paths {
        let differs = match (ours.get(path), rg.get(path)) {
            (Some(_), None) => Some("only ours tells it".to_owned()),
            (None, Some(_)) => Some("only rg tells it".to_owned()),
            (Some(Told::Lines(ours, _)), Some(Told::Lines(rg, zero))) => {
                lines(search, ours, (rg, *zero))
            }
            // `rg` counts matches there, and not the lines that have some.
            (Some(Told::Count(_)), Some(Told::Count(_))) if search.multi_line != MultiLine::Off => {
                None
            }
            (ours, rg) => (ours != rg).then(|| format!("ours {ours:?}, rg {rg:?}")),
        };
        if let Some(differs) = differs {
            return Some(format!("{}: {differs}", escape(path)));
        }
    }
    None
}

/// Lines of one file. A match in a file that is not text is told without its lines where such files
/// are searched; as events `rg` tells them all the same.
fn lines(search: &Search, ours: &[Line], (rg, zero): (&[Line], Zero)) -> Option<String> {
    let binary = search.binary == Binary::Search && zero == Zero::Met;
    let rg = &near(search, rg)[..];
    let (told, marked) = match ours.split_last() {
        Some((last, told)) if last.is == Is::Binary => (told, true),
        _ => (ours, false),
    };
    if marked && !binary {
        return Some("told as binary".to_owned());
    }
    for (n, (ours, rg)) in told.iter().zip(rg).enumerate() {
        if !same(search, ours, rg) {
            return Some(format!("line {n}: ours {}, rg {}", show(ours), show(rg)));
        }
    }
    let Some(rest) = rg.get(told.len()..) else {
        return Some(format!("ours goes on: {}", show(&told[rg.len()])));
    };
    let further = rest.iter().find(|line| line.is == Is::Match);
    match (binary, marked, further, rest.first()) {
        (true, true, Some(_), _) | (true, false, None, _) | (false, _, _, None) => None,
        (true, true, None, _) => Some("marked as binary without a match".to_owned()),
        (_, _, _, next) => Some(format!("rg goes on: {:?}", next.map(show))),
    }
}

/// Lines of `rg`, where a line that matches beyond the limit for one file is one that is near.
fn near(search: &Search, rg: &[Line]) -> Vec<Line> {
    let mut left = search.limit_per_file;
    let mut lines = rg.to_vec();
    for line in lines.iter_mut().filter(|line| line.is == Is::Match) {
        match left {
            0 => line.is = Is::Context,
            _ => left -= 1,
        }
    }
    lines
}

fn same(search: &Search, ours: &Line, rg: &Line) -> bool {
    let (before, after) = ours.cut;
    let text = rg.text.get(before..rg.text.len().saturating_sub(after));
    let text = text.map(|text| decoded(search, text));
    // Where a line that is only near matches over its end, `rg` says so.
    let columns = ours.is == Is::Match || search.multi_line == MultiLine::Off;
    (ours.is, ours.number, ours.offset) == (rg.is, rg.number, rg.offset)
        && text == Some(decoded(search, &ours.text))
        && (before + after == 0 || rg.text.len() > 1024)
        // Where a pattern looks at the ends of the text, `rg` finds nothing again in the line it tells.
        && (!columns || rg.column == 0 || ours.column == rg.column)
}

/// A line without what stands at its end for bytes that are no character: how many marks a decoder
/// makes of a last one that is cut is a matter of its version, and `rg` may have another.
fn decoded<'t>(search: &Search, text: &'t [u8]) -> &'t [u8] {
    match search.encoding {
        TextEncoding::Raw => text,
        TextEncoding::Auto
        | TextEncoding::Utf8
        | TextEncoding::Utf16Le
        | TextEncoding::Utf16Be
        | TextEncoding::Latin1
        | TextEncoding::ShiftJis
        | TextEncoding::EucJp
        | TextEncoding::EucKr
        | TextEncoding::Gb18030
        | TextEncoding::Big5 => {
            let mut text = text;
            while let Some(rest) = text.strip_suffix("\u{fffd}".as_bytes()) {
                text = rest;
            }
            text
        }
    }
}

fn show(line: &Line) -> String {
    let text = &line.text[..line.text.len().min(120)];
    format!(
        "{:?} {}:{}:{} {}",
        line.is,
        line.number,
        line.column,
        line.offset,
        escape(text)
    )
}
