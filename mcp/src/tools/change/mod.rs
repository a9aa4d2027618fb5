//! The tools that change files. Each is one change set: all of it is done, or nothing.

mod done;

use crate::answer::Answer;
use crate::failure::Failure;
use crate::name::Names;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portcullis_client::change::{
    self, Anchor, AnchoredDeed, Changes, Content, Count, Replace, TextEdit, Tiers,
};
use portcullis_client::patch::{self, Format};
use portcullis_client::protocol::refusal::Code;
use portcullis_client::protocol::session::{Deletion, Expect, Onto, Parents};
use portcullis_client::protocol::view::Kind;
use portcullis_client::{Error, Session, ask, label, stamp};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Write {
    path: String,
    content: String,
    #[serde(default)]
    encoding: Encoding,
    #[serde(default)]
    overwrite: bool,
    version: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

/// How content is written in a call.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Edit {
    path: String,
    edits: Vec<OneEdit>,
    version: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneEdit {
    old_text: Option<String>,
    new_text: String,
    count: Option<u64>,
    lines: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Patch {
    patch: String,
    #[serde(default)]
    format: PatchFormat,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PatchFormat {
    #[default]
    Auto,
    V4a,
    Unified,
    Blocks,
    Edits,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Mkdir {
    path: String,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Move {
    source: String,
    destination: String,
    #[serde(default)]
    overwrite: bool,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Delete {
    path: String,
    #[serde(default)]
    recursive: bool,
    version: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

/// Whether a change is made or only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Make,
    Show,
}

impl Deed {
    const fn of(dry_run: bool) -> Self {
        if dry_run { Self::Show } else { Self::Make }
    }
}

/// What of a change is told beside the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Telling {
    Names,
    Difference,
}

pub(super) fn write(
    arguments: Write,
    session: &mut Session,
    names: &Names,
) -> Result<Answer, Failure> {
    let content = match arguments.encoding {
        Encoding::Utf8 => arguments.content.into_bytes(),
        Encoding::Base64 => STANDARD
            .decode(arguments.content)
            .map_err(|error| wrong(format!("content is no base64: {error}")))?,
    };
    let expect = match arguments.version {
        Some(version) => version_of(&version)?,
        None if arguments.overwrite => Expect::Any,
        None => Expect::Seen,
    };
    let write = change::Write {
        selector: names.selector(&arguments.path)?,
        content: Content::Bytes(content),
        expect,
        parents: Parents::Make,
        mode: None,
    };
    let deed = Deed::of(arguments.dry_run);
    run(
        &Changes::new().with(write),
        deed,
        Telling::Names,
        session,
        names,
    )
}

pub(super) fn edit(
    arguments: Edit,
    session: &mut Session,
    names: &Names,
) -> Result<Answer, Failure> {
    let selector = names.selector(&arguments.path)?;
    let expect = match &arguments.version {
        Some(version) => version_of(version)?,
        None => Expect::Any,
    };
    let mut edits = Vec::new();
    for (at, one) in arguments.edits.into_iter().enumerate() {
        edits.push(
            one.read()
                .map_err(|why| wrong(format!("edit {}: {why}", at + 1)))?,
        );
    }
    let labelled = edits.iter().filter(|edit| edit.is_anchored()).count();
    if labelled > 0 && labelled < edits.len() {
        return Err(wrong(
            "edits by labels are of the file as it is, edits by text of what the ones before them \
             leave: make them in two calls",
        ));
    }
    let of = |edits| change::Edit {
        selector: selector.clone(),
        expect,
        edits,
        tiers: Tiers::DEFAULT,
        mode: None,
    };
    let changes = if labelled > 0 {
        Changes::new().with(of(edits))
    } else {
        // One after the other: each is found in what the ones before it leave. The version is that
        // before all of them.
        let mut changes = Changes::new();
        for (at, edit) in edits.into_iter().enumerate() {
            let mut one = of(vec![edit]);
            if at > 0 {
                one.expect = Expect::Any;
            }
            changes.push(one);
        }
        changes
    };
    if changes.items().is_empty() {
        return Err(wrong("there is no edit"));
    }
    let deed = Deed::of(arguments.dry_run);
    run(&changes, deed, Telling::Difference, session, names)
}

impl OneEdit {
    fn read(self) -> Result<TextEdit, String> {
        let new = self.new_text.into_bytes();
        match (self.old_text, self.lines) {
            (Some(_), Some(_)) | (None, None) => {
                Err("oldText or lines says what is replaced: one of them".to_owned())
            }
            (Some(old), None) => {
                if old.is_empty() {
                    return Err(
                        "oldText is empty: give what stands there now; a whole file is \
                                made by write_file"
                            .to_owned(),
                    );
                }
                let old = old.into_bytes();
                // Where labels stand in the file itself they may be edited.
                if label::copied(&old).is_none() {
                    unlabelled(&new)?;
                }
                Ok(TextEdit::Replace(Replace {
                    old,
                    new,
                    count: match self.count {
                        None => Count::Exactly(1),
                        Some(0) => Count::All,
                        Some(count) => Count::Exactly(u32::try_from(count).map_err(|_| {
                            format!("count is at most {}, and 0 for all", u32::MAX)
                        })?),
                    },
                }))
            }
            (None, Some(lines)) => {
                if self.count.is_some() {
                    return Err("lines are where they are: count is of oldText".to_owned());
                }
                unlabelled(&new)?;
                let (first, last) = labels(&lines)?;
                Ok(TextEdit::Anchored {
                    first,
                    last,
                    deed: AnchoredDeed::Replace(new),
                })
            }
        }
    }
}

/// `12:k3f9q`, or `12:k3f9q..14:9x2mm`.
fn labels(text: &str) -> Result<(Anchor, Anchor), String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let read = |one: &str| {
        one.trim().parse::<Anchor>().map_err(|_| {
            format!("`{one}` is no label: they are shown by read_text_file with `labels: true`")
        })
    };
    Ok((read(first)?, read(last)?))
}

/// A new text that was not copied with its labels: they would become part of the file.
fn unlabelled(text: &[u8]) -> Result<(), String> {
    match label::copied(text) {
        None => Ok(()),
        Some(line) => Err(format!(
            "line {line} of newText begins with the label of a line: give the text alone"
        )),
    }
}

pub(super) fn patch(
    arguments: &Patch,
    session: &mut Session,
    names: &Names,
) -> Result<Answer, Failure> {
    let text = arguments.patch.as_bytes();
    let parsed = match arguments.format {
        PatchFormat::Auto => patch::parse_any(text, None),
        PatchFormat::V4a => patch::parse(text, Format::V4a, None),
        PatchFormat::Unified => patch::parse(text, Format::Unified, None),
        PatchFormat::Blocks => patch::parse(text, Format::Blocks, None),
        PatchFormat::Edits => patch::parse(text, Format::Edits, None),
    };
    let changes = parsed.map_err(|error| wrong(error.to_string()))?;
    let deed = Deed::of(arguments.dry_run);
    run(&changes, deed, Telling::Difference, session, names)
}

pub(super) fn mkdir(
    arguments: &Mkdir,
    session: &mut Session,
    names: &Names,
) -> Result<Answer, Failure> {
    let selector = names.selector(&arguments.path)?;
    let mut mkdir = change::mkdir(selector.clone());
    mkdir.parents = Parents::Make;
    let deed = Deed::of(arguments.dry_run);
    let changes = Changes::new().with(mkdir);
    match run(&changes, deed, Telling::Names, session, names) {
        // Nothing is made in the place of a root, which is there already.
        Err(Failure::Broker(error)) if is(&error, Code::OutOfRange) => {
            match session.stat(&ask::stat(selector)) {
                Ok(seen) if seen.observation.kind == Kind::Directory => {
                    Ok(done::there(&seen, names))
                }
                Ok(_) | Err(_) => Err(error.into()),
            }
        }
        ended => ended,
    }
}

pub(super) fn rename(
    arguments: &Move,
    session: &mut Session,
    names: &Names,
) -> Result<Answer, Failure> {
    let destination = names.selector(&arguments.destination)?;
    let mut rename = change::rename(names.selector(&arguments.source)?, destination);
    if arguments.overwrite {
        rename.onto = Onto::Replace(Expect::Any);
    }
    let deed = Deed::of(arguments.dry_run);
    run(
        &Changes::new().with(rename),
        deed,
        Telling::Names,
        session,
        names,
    )
}

pub(super) fn delete(
    arguments: &Delete,
    session: &mut Session,
    names: &Names,
) -> Result<Answer, Failure> {
    let mut delete = change::delete(names.selector(&arguments.path)?);
    if let Some(version) = &arguments.version {
        delete.expect = version_of(version)?;
    }
    if arguments.recursive {
        delete.what = Deletion::Tree;
    }
    let deed = Deed::of(arguments.dry_run);
    let changes = Changes::new().with(delete.clone());
    match run(&changes, deed, Telling::Names, session, names) {
        // An empty directory is no tree: nothing is lost with it.
        Err(Failure::Broker(error)) if is(&error, Code::IsADirectory) && !arguments.recursive => {
            delete.what = Deletion::Directory;
            run(
                &Changes::new().with(delete),
                deed,
                Telling::Names,
                session,
                names,
            )
        }
        ended => ended,
    }
}

fn is(error: &Error, code: Code) -> bool {
    error.refusal().is_some_and(|refusal| refusal.code == code)
}

fn wrong(what: impl Into<String>) -> Failure {
    Failure::Arguments(what.into())
}

fn version_of(text: &str) -> Result<Expect, Failure> {
    match stamp::parse(text) {
        Some(stamp) => Ok(Expect::Version(stamp)),
        None => Err(wrong(format!(
            "`{text}` is no version: take the one an answer gave, unchanged"
        ))),
    }
}

/// Makes the changes, or shows what they would do.
fn run(
    changes: &Changes,
    deed: Deed,
    telling: Telling,
    session: &mut Session,
    names: &Names,
) -> Result<Answer, Failure> {
    match deed {
        Deed::Make => Ok(done::made(
            &session.change(changes)?,
            changes,
            telling,
            names,
        )),
        Deed::Show => Ok(done::planned(&session.plan(changes)?, changes, names)),
    }
}
