//! The command line. It is `portcullis mcp` that writes it.

use crate::style::Answers;
use clap::Parser;
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use portcullis_client::protocol::path::escape;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// Serves the session of this process over the Model Context Protocol, on standard input and output.
///
/// It is started by `portcullis mcp`, as a confined worker.
#[derive(Debug, Parser)]
#[command(name = "portcullis-mcp", version)]
pub(crate) struct Arguments {
    /// How answers are written
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) answers: Answers,
    /// Be like another server
    #[arg(long, value_enum, value_name = "SERVER")]
    pub(crate) compat: Option<Compat>,
    /// Show paths in a directory as they are on the host
    #[arg(long, value_name = "LABEL=DIR", value_parser = OsStringValueParser::new().try_map(|text| location(&text)))]
    pub(crate) root: Vec<(String, String)>,
}

/// Which server to be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Compat {
    /// The filesystem server of the MCP project
    Reference,
}

/// A label and a place, split where the place begins: a label may have a `=` in it, and a place any
/// byte. It is shown as names are.
fn location(text: &OsStr) -> Result<(String, String), &'static str> {
    const WANTED: &str = "LABEL=/DIRECTORY is wanted";
    let text = text.as_bytes();
    let at = text.windows(2).position(|two| two == b"=/").ok_or(WANTED)?;
    let (label, place) = text.split_at_checked(at).ok_or(WANTED)?;
    let label = std::str::from_utf8(label).map_err(|_| WANTED)?;
    match (label, place.get(1..)) {
        ("", _) | (_, None) => Err(WANTED),
        (label, Some(place)) => Ok((label.to_owned(), escape(place))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_from_its_label_whatever_bytes_both_have() {
        let of = |text: &[u8]| location(OsStr::from_bytes(text));
        let is = |label: &str, place: &str| Ok((label.to_owned(), place.to_owned()));
        assert_eq!(of(b"w=/srv/x"), is("w", "/srv/x"));
        assert_eq!(of(b"a=b=/srv/=/x"), is("a=b", "/srv/=/x"));
        assert_eq!(of(b"w=/srv/\xff\\"), is("w", "/srv/\\xff\\\\"));
        for wrong in [&b"w"[..], b"=/srv", b"w=srv", b"/srv"] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }
}
