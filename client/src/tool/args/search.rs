//! The command line of `search`. Long names are ours, and those of ripgrep beside them: hands that
//! know it write what they mean.

use super::values::{context, cursor, encoding, from_1, size};
use super::walk::PassingArgs;
use clap::Args;
use portcullis_protocol::limits::{
    SEARCH_FILE_BYTES_DEFAULT, SEARCH_MATCHES_MAX, STREAM_TIME_MS_MAX, WALK_DEPTH_MAX,
};
use portcullis_protocol::session::{
    Binary, Boundaries, Case, Cursor, MultiLine, SearchMode, Sense, Syntax, TextEncoding,
};
use std::ffi::OsString;

#[derive(Debug, Args)]
pub(in crate::tool) struct SearchArgs {
    /// What to look for.
    #[arg(
        required_unless_present = "type_list",
        default_value = "",
        hide_default_value = true
    )]
    pub(in crate::tool) pattern: OsString,
    /// A directory, or one file.
    #[arg(default_value = ".", value_name = "PATH")]
    pub(in crate::tool) path: OsString,
    #[command(flatten, next_help_heading = "What matches")]
    pub(in crate::tool) how: HowArgs,
    #[command(flatten, next_help_heading = "Which files")]
    pub(in crate::tool) which: WhichArgs,
    #[command(flatten, next_help_heading = "What is shown")]
    pub(in crate::tool) shown: ShownArgs,
    #[command(flatten, next_help_heading = "How much")]
    pub(in crate::tool) bounds: BoundArgs,
    #[command(flatten)]
    habits: Habits,
}

/// How the pattern is read.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags are bools to clap's derive; methods turn them into the protocol's enums"
)]
pub(in crate::tool) struct HowArgs {
    /// The pattern is a regular expression.
    #[arg(
        short = 'e',
        long,
        visible_alias = "regexp",
        overrides_with = "fixed_strings"
    )]
    regex: bool,
    /// The pattern is taken byte for byte, which is what happens without -e.
    #[arg(short = 'F', long, visible_alias = "literal", overrides_with = "regex")]
    fixed_strings: bool,
    /// Letter case does not count.
    #[arg(short, long, overrides_with_all = ["smart_case", "case_sensitive"])]
    ignore_case: bool,
    /// Letter case counts only when the pattern has an upper-case letter.
    #[arg(short = 'S', long, overrides_with_all = ["ignore_case", "case_sensitive"])]
    smart_case: bool,
    /// Letter case counts, which is what happens without these.
    #[arg(short = 's', long, overrides_with_all = ["ignore_case", "smart_case"])]
    case_sensitive: bool,
    /// Only whole words.
    #[arg(short, long, visible_alias = "word-regexp", overrides_with = "line")]
    word: bool,
    /// Only whole lines.
    #[arg(
        short = 'x',
        long,
        visible_alias = "line-regexp",
        overrides_with = "word"
    )]
    line: bool,
    /// A match may reach over the end of a line.
    #[arg(short = 'U', long)]
    multiline: bool,
    /// The same, and `.` matches the end of a line.
    #[arg(long)]
    multiline_dotall: bool,
    /// The lines that do not match.
    #[arg(short = 'v', long, visible_alias = "invert-match")]
    invert: bool,
}

impl HowArgs {
    pub(in crate::tool) fn syntax(&self) -> Syntax {
        if self.regex {
            Syntax::Regex
        } else {
            Syntax::Literal
        }
    }

    pub(in crate::tool) fn case(&self) -> Case {
        if self.ignore_case {
            Case::Insensitive
        } else if self.smart_case {
            Case::Smart
        } else {
            Case::Sensitive
        }
    }

    pub(in crate::tool) fn boundaries(&self) -> Boundaries {
        if self.line {
            Boundaries::Line
        } else if self.word {
            Boundaries::Word
        } else {
            Boundaries::Anywhere
        }
    }

    pub(in crate::tool) fn multi_line(&self) -> MultiLine {
        if self.multiline_dotall {
            MultiLine::Dotall
        } else if self.multiline {
            MultiLine::On
        } else {
            MultiLine::Off
        }
    }

    pub(in crate::tool) fn sense(&self) -> Sense {
        if self.invert {
            Sense::Inverted
        } else {
            Sense::Matching
        }
    }
}

/// Which files are searched.
#[derive(Debug, Args)]
pub(in crate::tool) struct WhichArgs {
    /// Only files that match one of these; with `!` before it, none that matches.
    #[arg(short = 'g', long, value_name = "GLOB")]
    pub(in crate::tool) glob: Vec<OsString>,
    /// No file or directory that matches one of these.
    #[arg(long, value_name = "GLOB")]
    pub(in crate::tool) exclude: Vec<OsString>,
    /// Only files of one of these types, as of rust or py.
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    pub(in crate::tool) types: Vec<String>,
    /// No file of one of these types.
    #[arg(short = 'T', long = "type-not", value_name = "TYPE")]
    pub(in crate::tool) types_not: Vec<String>,
    /// One more glob for a type, or a new type: NAME:GLOB.
    #[arg(long, value_name = "NAME:GLOB")]
    pub(in crate::tool) type_add: Vec<String>,
    /// Show all types and their globs, and search nothing.
    #[arg(long)]
    pub(in crate::tool) type_list: bool,
    /// Levels below the directory.
    #[arg(
        short,
        long,
        visible_alias = "max-depth",
        value_name = "N",
        default_value_t = WALK_DEPTH_MAX,
        value_parser = from_1(WALK_DEPTH_MAX),
        hide_default_value = true
    )]
    pub(in crate::tool) depth: u32,
    #[command(flatten)]
    pub(in crate::tool) passing: PassingArgs,
    /// Files with zero bytes are text like any other.
    #[arg(short = 'a', long, overrides_with = "binary")]
    text: bool,
    /// Files with zero bytes are searched to their first match, which is told without its text.
    #[arg(long, overrides_with = "text")]
    binary: bool,
    /// How files are read: auto, none, utf-8, utf-16le, latin1, shift_jis, euc-jp and others.
    #[arg(
        short = 'E',
        long,
        value_name = "NAME",
        default_value = "auto",
        value_parser = encoding,
        hide_default_value = true
    )]
    pub(in crate::tool) encoding: TextEncoding,
    /// Larger files are passed over; bytes, or with K or M.
    #[arg(
        long,
        value_name = "SIZE",
        default_value_t = SEARCH_FILE_BYTES_DEFAULT,
        value_parser = size
    )]
    pub(in crate::tool) max_filesize: u64,
}

impl WhichArgs {
    pub(in crate::tool) fn binary(&self) -> Binary {
        if self.text {
            Binary::Text
        } else if self.binary || self.passing.less > 2 {
            Binary::Search
        } else {
            Binary::Stop
        }
    }
}

/// What comes back.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags are bools to clap's derive; `mode` turns them into the protocol's enum"
)]
pub(in crate::tool) struct ShownArgs {
    /// Only the names of files with a match.
    #[arg(
        short = 'l',
        long,
        visible_alias = "files-with-matches",
        conflicts_with_all = ["files_without_match", "count", "after", "before", "context"]
    )]
    files: bool,
    /// Only the names of files without one.
    #[arg(long, conflicts_with_all = ["count", "after", "before", "context"])]
    files_without_match: bool,
    /// Only how many lines match in each file.
    #[arg(short, long, conflicts_with_all = ["after", "before", "context"])]
    count: bool,
    /// Lines after each match.
    #[arg(
        short = 'A',
        long,
        visible_alias = "after-context",
        value_name = "N",
        value_parser = context()
    )]
    after: Option<u8>,
    /// Lines before each match.
    #[arg(
        short = 'B',
        long,
        visible_alias = "before-context",
        value_name = "N",
        value_parser = context()
    )]
    before: Option<u8>,
    /// Lines around each match.
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0, value_parser = context())]
    context: u8,
    /// Show the column of each match too.
    #[arg(long)]
    pub(in crate::tool) column: bool,
    /// Raw names, each ended by a zero byte, in place of what comes behind a name.
    #[arg(short = '0', long, conflicts_with = "json")]
    pub(in crate::tool) null: bool,
}

impl ShownArgs {
    pub(in crate::tool) fn mode(&self) -> SearchMode {
        if self.files {
            SearchMode::Files
        } else if self.files_without_match {
            SearchMode::FilesWithout
        } else if self.count {
            SearchMode::Count
        } else {
            SearchMode::Content {
                before: self.before.unwrap_or(self.context),
                after: self.after.unwrap_or(self.context),
            }
        }
    }
}

/// How much comes back.
#[derive(Debug, Args)]
pub(in crate::tool) struct BoundArgs {
    /// Matching lines at most in one file.
    #[arg(
        short,
        long,
        value_name = "N",
        default_value_t = SEARCH_MATCHES_MAX,
        value_parser = from_1(SEARCH_MATCHES_MAX)
    )]
    pub(in crate::tool) max_count: u32,
    /// Matching lines at most in all.
    #[arg(
        long,
        value_name = "N",
        default_value_t = SEARCH_MATCHES_MAX,
        value_parser = from_1(SEARCH_MATCHES_MAX)
    )]
    pub(in crate::tool) limit: u32,
    /// Stop after this many seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = STREAM_TIME_MS_MAX / 1000,
        value_parser = from_1(STREAM_TIME_MS_MAX / 1000)
    )]
    pub(in crate::tool) timeout: u32,
    /// Go on where a search was cut.
    #[arg(long, value_name = "HEX", value_parser = cursor)]
    pub(in crate::tool) cursor: Option<Cursor>,
}

/// What hands write that know `rg` and `grep`, and what happens here without it.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags that say nothing new")]
struct Habits {
    #[arg(short = 'n', long, hide = true)]
    line_number: bool,
    #[arg(short = 'H', long, hide = true)]
    with_filename: bool,
    #[arg(short = 'r', long, hide = true)]
    recursive: bool,
    #[arg(long, hide = true)]
    no_heading: bool,
}
