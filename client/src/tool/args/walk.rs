//! The command lines of `list` and `glob`.

use super::values::{KINDS, cursor, from_1, kind};
use clap::{ArgAction, Args, ValueEnum};
use portcullis_protocol::limits::{LIST_ENTRIES_MAX, SORTED_ENTRIES_MAX, WALK_DEPTH_MAX};
use portcullis_protocol::session::{Cursor, DotNames, Ignored, Order, Passing, VersionControl};
use portcullis_protocol::view::Kind;
use std::ffi::OsString;

/// Options of listings.
#[derive(Debug, Args)]
pub(in crate::tool) struct PageArgs {
    /// Also mode, size, time and where links point.
    #[arg(long, short)]
    pub(in crate::tool) long: bool,
    #[arg(
        long = "type",
        short = 't',
        value_name = "TYPE",
        value_parser = kind,
        help = format!("Only these types, again for several: {KINDS}")
    )]
    pub(in crate::tool) kinds: Vec<Kind>,
    /// The order: name, or newest or oldest by the last change of content.
    #[arg(
        long,
        value_name = "ORDER",
        value_enum,
        hide_possible_values = true,
        default_value = "name"
    )]
    sort: Sort,
    /// Entries at most [default: 1000000; 10000 in another order than by name].
    #[arg(long, visible_alias = "max-results", value_name = "N", value_parser = from_1(LIST_ENTRIES_MAX))]
    limit: Option<u32>,
    /// Go on where a listing was cut.
    #[arg(long, value_name = "HEX", value_parser = cursor)]
    pub(in crate::tool) cursor: Option<Cursor>,
    /// Raw names, each ended by a zero byte.
    #[arg(short = '0', long, visible_alias = "print0", conflicts_with_all = ["json", "long"])]
    pub(in crate::tool) null: bool,
    /// No name that matches one of these, nor what is below it.
    #[arg(long, short = 'E', value_name = "GLOB")]
    pub(in crate::tool) exclude: Vec<OsString>,
}

/// The order of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    #[value(alias = "path")]
    Name,
    #[value(alias = "modified")]
    Newest,
    Oldest,
}

impl PageArgs {
    pub(in crate::tool) fn order(&self) -> Order {
        match self.sort {
            Sort::Name => Order::Name,
            Sort::Newest => Order::Newest,
            Sort::Oldest => Order::Oldest,
        }
    }

    /// Entries at most: as many as there can be in this order, unless it is said.
    pub(in crate::tool) fn limit(&self) -> u32 {
        self.limit.unwrap_or(match self.sort {
            Sort::Name => LIST_ENTRIES_MAX,
            Sort::Newest | Sort::Oldest => SORTED_ENTRIES_MAX,
        })
    }
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags are bools to clap's derive; `passing` turns them into the protocol's enums"
)]
pub(in crate::tool) struct ListArgs {
    /// The directory.
    #[arg(default_value = ".", value_name = "PATH")]
    pub(in crate::tool) path: OsString,
    /// Levels below it.
    #[arg(
        long,
        short,
        visible_alias = "max-depth",
        value_name = "N",
        default_value_t = 1,
        value_parser = from_1(WALK_DEPTH_MAX)
    )]
    depth: u32,
    /// All levels.
    #[arg(long, short = 'R', conflicts_with = "depth")]
    recursive: bool,
    #[command(flatten)]
    pub(in crate::tool) page: PageArgs,
    /// Pass over what ignore files name, such as .gitignore.
    #[arg(long)]
    skip_ignored: bool,
    /// Pass over names with a dot.
    #[arg(long)]
    skip_hidden: bool,
    /// Pass over .git, .hg, .svn and .jj.
    #[arg(long)]
    skip_vcs: bool,
    /// Pass over nothing, which is what happens without these.
    #[arg(
        long,
        short,
        visible_short_alias = 'u',
        overrides_with_all = ["skip_ignored", "skip_hidden", "skip_vcs"],
        aliases = ["hidden", "no-ignore", "unrestricted"],
    )]
    all: bool,
}

impl ListArgs {
    pub(in crate::tool) fn depth(&self) -> u32 {
        if self.recursive {
            WALK_DEPTH_MAX
        } else {
            self.depth
        }
    }

    /// What is passed over, but for what is excluded.
    pub(in crate::tool) fn passing(&self) -> Passing {
        let mut passing = Passing::nothing();
        if self.skip_ignored {
            passing.ignored = Ignored::Skip;
        }
        if self.skip_hidden {
            passing.dot_names = DotNames::Skip;
        }
        if self.skip_vcs {
            passing.version_control = VersionControl::Skip;
        }
        passing
    }
}

#[derive(Debug, Args)]
pub(in crate::tool) struct GlobArgs {
    /// What names must match.
    pub(in crate::tool) pattern: OsString,
    /// The directory.
    #[arg(default_value = ".", value_name = "PATH")]
    pub(in crate::tool) path: OsString,
    /// Levels below it.
    #[arg(
        long,
        short,
        visible_alias = "max-depth",
        value_name = "N",
        default_value_t = WALK_DEPTH_MAX,
        value_parser = from_1(WALK_DEPTH_MAX),
        hide_default_value = true
    )]
    pub(in crate::tool) depth: u32,
    #[command(flatten)]
    pub(in crate::tool) page: PageArgs,
    #[command(flatten)]
    pub(in crate::tool) passing: PassingArgs,
}

/// What is taken that is passed over else.
#[derive(Debug, Args)]
pub(in crate::tool) struct PassingArgs {
    /// Take names with a dot.
    #[arg(long, short = '.')]
    hidden: bool,
    /// Take what ignore files name, such as .gitignore.
    #[arg(long)]
    no_ignore: bool,
    /// Take .git, .hg, .svn and .jj, and names with a dot.
    #[arg(long)]
    include_vcs: bool,
    /// Pass over less: -u is --no-ignore, -uu all names as well, and in a search -uuu binary files
    /// as well.
    #[arg(long = "unrestricted", short = 'u', action = ArgAction::Count)]
    pub(in crate::tool) less: u8,
}

impl PassingArgs {
    /// What is passed over, but for what is excluded.
    pub(in crate::tool) fn passing(&self) -> Passing {
        let mut passing = Passing::usual();
        if self.no_ignore || self.less > 0 {
            passing.ignored = Ignored::Include;
        }
        let all_names = self.include_vcs || self.less > 1;
        if self.hidden || all_names {
            passing.dot_names = DotNames::Include;
        }
        if all_names {
            passing.version_control = VersionControl::Include;
        }
        passing
    }
}
