//! The command line. It is `portcullis mcp` that writes it.

use crate::style::Answers;
use clap::Parser;

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
    #[arg(long, value_name = "LABEL=DIR", value_parser = location)]
    pub(crate) root: Vec<(String, String)>,
}

/// Which server to be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Compat {
    /// The filesystem server of the MCP project
    Reference,
}

fn location(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((label, place)) if !label.is_empty() && place.starts_with('/') => {
            Ok((label.to_owned(), place.to_owned()))
        }
        Some(_) | None => Err("LABEL=/DIRECTORY is wanted".to_owned()),
    }
}
