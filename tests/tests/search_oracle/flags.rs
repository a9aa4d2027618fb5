//! A request as flags of `rg` that mean the same.

use crate::rg::argument;
use portcullis_client::ask;
use portcullis_client::protocol::session::{
    Binary, Boundaries, Case, DotNames, Ignored, MultiLine, Passing, Search, SearchMode, Sense,
    Syntax, TextEncoding, VersionControl,
};
use std::ffi::OsString;

/// The flags of a search, and its path.
pub(crate) fn search(search: &Search) -> Vec<OsString> {
    let usual = ask::search(search.selector.clone(), "").unwrap();
    let mut flags: Vec<OsString> = vec!["-e".into(), argument(search.pattern.as_slice())];
    let mut add = |flag: &str| flags.push(flag.into());
    match search.syntax {
        Syntax::Literal => add("-F"),
        Syntax::Regex => {}
    }
    add(match search.case {
        Case::Sensitive => "-s",
        Case::Insensitive => "-i",
        Case::Smart => "-S",
    });
    match search.boundaries {
        Boundaries::Anywhere => {}
        Boundaries::Word => add("-w"),
        Boundaries::Line => add("-x"),
    }
    match search.multi_line {
        MultiLine::Off => {}
        MultiLine::On => add("-U"),
        MultiLine::Dotall => ["-U", "--multiline-dotall"].into_iter().for_each(&mut add),
    }
    match search.sense {
        Sense::Matching => {}
        Sense::Inverted => add("-v"),
    }
    match search.binary {
        Binary::Stop => {}
        Binary::Search => add("--binary"),
        Binary::Text => add("-a"),
    }
    if search.encoding != TextEncoding::Auto {
        add(&format!("-E{}", search.encoding.name()));
    }
    match search.mode {
        SearchMode::Content { before, after } => {
            add("--json");
            add(&format!("-B{before}"));
            add(&format!("-A{after}"));
        }
        SearchMode::Files => ["-l", "-0"].into_iter().for_each(&mut add),
        SearchMode::Count => ["-c", "-0", "-H"].into_iter().for_each(&mut add),
        SearchMode::FilesWithout => {
            ["--files-without-match", "-0"]
                .into_iter()
                .for_each(&mut add);
        }
    }
    if search.limit_per_file != usual.limit_per_file {
        add(&format!("-m{}", search.limit_per_file));
    }
    if search.file_bytes_max != usual.file_bytes_max {
        add(&format!("--max-filesize={}", search.file_bytes_max));
    }
    let depth = format!("--max-depth={}", search.depth);
    add(&depth);
    types(search, &mut flags);
    for glob in search.include.as_slice() {
        flags.extend(["-g".into(), argument(glob.as_slice())]);
    }
    passing(&search.passing, &mut flags);
    flags.push("./".into());
    flags
}

fn types(search: &Search, flags: &mut Vec<OsString>) {
    let both = [
        (&search.types, "taken", "-t"),
        (&search.types_not, "left", "-T"),
    ];
    for (globs, name, flag) in both {
        for glob in globs.as_slice() {
            let mut definition = OsString::from(format!("{name}:"));
            definition.push(argument(glob.as_slice()));
            flags.extend(["--type-add".into(), definition]);
        }
        if !globs.as_slice().is_empty() {
            flags.extend([flag.into(), name.into()]);
        }
    }
}

/// The flags for what is passed over. They come after those for what is taken: the last says.
pub(crate) fn passing(passing: &Passing, flags: &mut Vec<OsString>) {
    match passing.ignored {
        Ignored::Skip => {}
        Ignored::Include => flags.push("--no-ignore".into()),
    }
    match passing.dot_names {
        DotNames::Skip => {}
        DotNames::Include => flags.push("--hidden".into()),
    }
    for glob in passing.exclude.as_slice() {
        let mut not = OsString::from("!");
        not.push(argument(glob.as_slice()));
        flags.extend(["-g".into(), not]);
    }
    // Elsewhere its dot has `.git` passed over.
    match (passing.version_control, passing.dot_names) {
        (VersionControl::Skip, DotNames::Include) => {
            flags.extend(["-g".into(), "!.git/".into()]);
        }
        (VersionControl::Skip | VersionControl::Include, _) => {}
    }
}
