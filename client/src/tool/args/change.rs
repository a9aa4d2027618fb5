//! Arguments of what changes files.

use super::eol::{Ends, PatchEnds};
use super::pairs::Pairs;
use super::values::{digest, mode, stamp};
use clap::{Args, ValueEnum};
use portcullis_protocol::session::{Count, Deed, Deletion, Expect, Onto, Parents, Tier, Tiers};
use portcullis_protocol::view::{Digest, Stamp};
use std::ffi::OsString;

/// Whether to do it.
#[derive(Debug, Args)]
pub(in super::super) struct DryRunArgs {
    /// Show what would be done, with the difference; change nothing.
    #[arg(long, short = 'n')]
    dry_run: bool,
}

impl DryRunArgs {
    pub(in super::super) fn deed(&self) -> Deed {
        if self.dry_run {
            Deed::DryRun
        } else {
            Deed::Commit
        }
    }
}

/// What the object must be.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(in super::super) struct ExpectArgs {
    /// Only in this version, as `stat` shows it.
    #[arg(long, value_name = "STAMP", value_parser = stamp)]
    expect: Option<Stamp>,
    /// Only with this content, by its blake3 as `read --digest` shows it.
    #[arg(long, value_name = "HEX", value_parser = digest)]
    expect_digest: Option<Digest>,
}

impl ExpectArgs {
    pub(in super::super) fn expect(&self) -> Expect {
        expected(self.expect, self.expect_digest)
    }
}

fn expected(version: Option<Stamp>, content: Option<Digest>) -> Expect {
    match (version, content) {
        (Some(version), _) => Expect::Version(version),
        (None, Some(content)) => Expect::Content(content),
        (None, None) => Expect::Any,
    }
}

/// Missing directories.
#[derive(Debug, Args)]
pub(in super::super) struct ParentsArgs {
    /// Make missing directories on the way.
    #[arg(long, short)]
    parents: bool,
}

impl ParentsArgs {
    pub(in super::super) fn parents(&self) -> Parents {
        if self.parents {
            Parents::Make
        } else {
            Parents::Exist
        }
    }
}

#[derive(Debug, Args)]
pub(in super::super) struct WriteArgs {
    /// The file.
    #[arg(value_name = "PATH")]
    pub(in super::super) path: OsString,
    /// Where the content comes from: a file this program can open, or - for standard input.
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(in super::super) from: OsString,
    #[command(flatten)]
    there: ThereArgs,
    #[command(flatten)]
    pub(in super::super) parents: ParentsArgs,
    /// Permission bits, octal.
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub(in super::super) mode: Option<u16>,
    /// Give every line this end; without it the bytes are written as they come. Text only.
    #[arg(long, value_enum, value_name = "ENDS")]
    pub(in super::super) eol: Option<Ends>,
    #[command(flatten)]
    pub(in super::super) dry_run: DryRunArgs,
}

/// What must be there before a write.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct ThereArgs {
    /// Only make a new file; never replace one.
    #[arg(long, visible_alias = "if-absent")]
    create: bool,
    /// Only replace this version, as `stat` shows it.
    #[arg(long, visible_alias = "replace", value_name = "STAMP", value_parser = stamp)]
    expect: Option<Stamp>,
    /// Only replace this content, by its blake3 as `read --digest` shows it.
    #[arg(long, value_name = "HEX", value_parser = digest)]
    expect_digest: Option<Digest>,
    /// Replace whatever is there, seen by this session or not.
    #[arg(long, visible_alias = "overwrite")]
    force: bool,
}

impl WriteArgs {
    pub(in super::super) fn expect(&self) -> Expect {
        let ThereArgs {
            create,
            expect,
            expect_digest,
            force,
        } = &self.there;
        match (create, expect, expect_digest, force) {
            (true, ..) => Expect::Absent,
            (false, Some(version), ..) => Expect::Version(*version),
            (false, None, Some(content), _) => Expect::Content(*content),
            (false, None, None, true) => Expect::Any,
            (false, None, None, false) => Expect::Seen,
        }
    }
}

/// How strictly texts are compared.
#[derive(Debug, Args)]
pub(in super::super) struct TiersArgs {
    /// How strictly texts are compared.
    #[arg(long = "match", value_enum, value_name = "HOW")]
    strictness: Option<Strictness>,
    /// Where a text is not found so, compare it less strictly as well; again, or with commas.
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    allow: Vec<Allowed>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Strictness {
    /// Byte for byte.
    Exact,
    /// Line ends, and blanks at the ends of lines, may differ.
    Default,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Allowed {
    /// All lines further in, or out, by the same blanks; new lines are shifted too.
    Indentation,
    /// Dashes, quotes and spaces of one kind are equal.
    Punctuation,
}

impl TiersArgs {
    /// The tiers of an edit that has `own` without these options.
    pub(in super::super) fn over(&self, own: Tiers) -> Tiers {
        let base = match self.strictness {
            None => own,
            Some(Strictness::Exact) => Tiers::EXACT,
            Some(Strictness::Default) => Tiers::DEFAULT,
        };
        self.allow.iter().fold(base, |tiers, allowed| {
            tiers.with(match allowed {
                Allowed::Indentation => Tier::Indentation,
                Allowed::Punctuation => Tier::Punctuation,
            })
        })
    }
}

#[derive(Debug, Args)]
pub(in super::super) struct EditArgs {
    /// The file.
    #[arg(value_name = "PATH")]
    pub(in super::super) path: OsString,
    #[command(flatten)]
    pub(in super::super) pairs: Pairs,
    #[command(flatten)]
    often: OftenArgs,
    #[command(flatten)]
    pub(in super::super) tiers: TiersArgs,
    #[command(flatten)]
    pub(in super::super) expect: ExpectArgs,
    #[command(flatten)]
    pub(in super::super) dry_run: DryRunArgs,
}

/// How often each text must occur.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct OftenArgs {
    /// Each old text must occur exactly N times; all are replaced.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Replace every occurrence of each old text, at least one.
    #[arg(long)]
    all: bool,
}

impl EditArgs {
    pub(in super::super) fn count(&self) -> Count {
        if self.often.all {
            Count::All
        } else {
            Count::Exactly(self.often.count)
        }
    }
}

#[derive(Debug, Args)]
pub(in super::super) struct PatchArgs {
    /// The patch, or - for standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    pub(in super::super) file: OsString,
    /// How it is written.
    #[arg(long, value_enum, default_value_t = PatchFormat::Auto)]
    pub(in super::super) format: PatchFormat,
    /// Line ends of the files it gives whole, new ones above all; text only.
    #[arg(long, value_enum, value_name = "ENDS", default_value_t = PatchEnds::Keep)]
    pub(in super::super) eol: PatchEnds,
    #[command(flatten)]
    pub(in super::super) tiers: TiersArgs,
    #[command(flatten)]
    pub(in super::super) dry_run: DryRunArgs,
}

/// How a patch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in super::super) enum PatchFormat {
    /// Found out by its first lines.
    Auto,
    /// `*** Begin Patch` … `*** End Patch`.
    V4a,
    /// A unified diff, with or without the headers of git.
    Unified,
    /// SEARCH/REPLACE blocks, each below the name of its file.
    Blocks,
    /// Arguments of editing tools as JSON, one or a list.
    Edits,
}

#[derive(Debug, Args)]
pub(in super::super) struct MkdirArgs {
    /// Directories, made together or not at all.
    #[arg(required = true, value_name = "PATH")]
    pub(in super::super) paths: Vec<OsString>,
    /// Make missing directories on the way; no error when it is there already.
    #[arg(long, short)]
    parents: bool,
    #[command(flatten)]
    pub(in super::super) dry_run: DryRunArgs,
}

impl MkdirArgs {
    pub(in super::super) fn parents(&self) -> Parents {
        ParentsArgs {
            parents: self.parents,
        }
        .parents()
    }
}

#[derive(Debug, Args)]
pub(in super::super) struct MoveArgs {
    /// The object.
    #[arg(value_name = "SOURCE")]
    pub(in super::super) source: OsString,
    /// Its new name: the whole of it, not the directory it goes to.
    #[arg(value_name = "DESTINATION")]
    pub(in super::super) destination: OsString,
    /// Replace a file or link that has the new name; with a stamp, only that version of it.
    #[arg(long, value_name = "STAMP", value_parser = stamp, num_args = 0..=1, require_equals = true)]
    #[expect(
        clippy::option_option,
        reason = "absent, without a value, with one: clap's form"
    )]
    replace: Option<Option<Stamp>>,
    #[command(flatten)]
    pub(in super::super) expect: ExpectArgs,
    #[command(flatten)]
    pub(in super::super) parents: ParentsArgs,
    #[command(flatten)]
    pub(in super::super) dry_run: DryRunArgs,
}

impl MoveArgs {
    pub(in super::super) fn onto(&self) -> Onto {
        match self.replace {
            None => Onto::Nothing,
            Some(version) => Onto::Replace(expected(version, None)),
        }
    }
}

#[derive(Debug, Args)]
pub(in super::super) struct DeleteArgs {
    /// Objects, removed together or not at all.
    #[arg(required = true, value_name = "PATH")]
    pub(in super::super) paths: Vec<OsString>,
    #[command(flatten)]
    what: WhatArgs,
    #[command(flatten)]
    pub(in super::super) expect: ExpectArgs,
    #[command(flatten)]
    pub(in super::super) dry_run: DryRunArgs,
}

/// What may be removed beside files and links.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct WhatArgs {
    /// Empty directories.
    #[arg(long)]
    dir: bool,
    /// Directories with everything below them; needs the verb delete-tree.
    #[arg(long)]
    tree: bool,
}

impl DeleteArgs {
    pub(in super::super) fn what(&self) -> Deletion {
        match (self.what.tree, self.what.dir) {
            (true, _) => Deletion::Tree,
            (false, true) => Deletion::Directory,
            (false, false) => Deletion::File,
        }
    }
}

#[derive(Debug, Args)]
pub(in super::super) struct ChmodArgs {
    /// Permission bits, octal, at most 777.
    #[arg(value_parser = mode)]
    pub(in super::super) mode: u16,
    /// Files or directories, changed together or not at all.
    #[arg(required = true, value_name = "PATH")]
    pub(in super::super) paths: Vec<OsString>,
    #[command(flatten)]
    pub(in super::super) expect: ExpectArgs,
    #[command(flatten)]
    pub(in super::super) dry_run: DryRunArgs,
}

#[derive(Debug, Args)]
pub(in super::super) struct LinkArgs {
    /// What the link says: a relative path, from the directory the link is in.
    pub(in super::super) text: OsString,
    /// The link.
    #[arg(value_name = "PATH")]
    pub(in super::super) path: OsString,
    #[command(flatten)]
    pub(in super::super) parents: ParentsArgs,
    #[command(flatten)]
    pub(in super::super) dry_run: DryRunArgs,
}
