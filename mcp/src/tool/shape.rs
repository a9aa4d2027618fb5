//! What each tool takes and gives, as schemas. Every model reads all of them each time, so they say
//! only what a name does not.

use super::Name;
use crate::schema::{
    Property, any_object, any_objects, count, flag, input as closed, number, objects,
    output as open, text, texts, word,
};
use portcullis_client::protocol::verb::Verb;
use rmcp::model::JsonObject;
use std::sync::Arc;

/// The arguments.
pub(super) fn input(tool: Name) -> Arc<JsonObject> {
    closed(match tool {
        Name::ReadTextFile => read(),
        Name::ListDirectory => list(),
        Name::DirectoryTree => tree(),
        Name::SearchFiles => files(),
        Name::SearchContent => content(),
        Name::GetFileInfo => info(),
        Name::WriteFile => write(),
        Name::EditFile => edit(),
        Name::ApplyPatch => vec![
            text("patch", "").required(),
            word("format", &["auto", "v4a", "unified", "blocks", "edits"], ""),
            dry_run(),
        ],
        Name::CreateDirectory => vec![path(), dry_run()],
        Name::MoveFile => vec![
            text("source", "").required(),
            text("destination", "").required(),
            flag("overwrite", "a file"),
            dry_run(),
        ],
        Name::DeleteFile => vec![path(), flag("recursive", ""), version(), dry_run()],
    })
}

/// The facts of an answer, beside its text.
pub(super) fn output(tool: Name) -> Arc<JsonObject> {
    let mut properties = match tool {
        Name::ReadTextFile => vec![
            text("path", "").required(),
            text("version", "").required(),
            count("size").required(),
            count("startLine"),
            count("endLine"),
            count("totalLines"),
            text("encoding", ""),
            flag("complete", "").required(),
            any_object("next", "arguments for the rest"),
        ],
        Name::WriteFile
        | Name::EditFile
        | Name::ApplyPatch
        | Name::CreateDirectory
        | Name::MoveFile
        | Name::DeleteFile => vec![
            flag("changed", "").required(),
            any_objects("files", "").required(),
            count("receipt"),
        ],
        Name::ListDirectory | Name::DirectoryTree | Name::SearchFiles | Name::SearchContent => {
            vec![
                text("path", ""),
                count("found").required(),
                flag("complete", "").required(),
                text("cursor", ""),
                any_object("passedOver", ""),
            ]
        }
        Name::GetFileInfo => vec![
            text("path", "").required(),
            text("type", ""),
            text("version", ""),
            any_object("access", "").required(),
        ],
    };
    properties.push(text(crate::answer::TEXT, ""));
    open(properties)
}

fn path() -> Property {
    text("path", "").required()
}

fn dry_run() -> Property {
    flag("dryRun", "")
}

fn version() -> Property {
    text("version", "that it must have")
}

fn limit() -> Property {
    number("limit", "")
}

fn cursor() -> Property {
    text("cursor", "")
}

fn exclude() -> Property {
    texts("excludePatterns", "globs")
}

fn include_ignored() -> Property {
    flag("includeIgnored", "dot names too, and what .gitignore names")
}

fn sort_by() -> Property {
    word("sortBy", &["name", "newest", "oldest"], "")
}

fn read() -> Vec<Property> {
    vec![
        path(),
        number("head", "first lines"),
        number("tail", "last lines"),
        number("startLine", ""),
        number("endLine", ""),
        number("offset", "first byte"),
        flag("labels", ""),
        word(
            "as",
            &["text", "base64", "media"],
            "media: a picture or sound as it is",
        ),
    ]
}

fn write() -> Vec<Property> {
    vec![
        path(),
        text("content", "").required(),
        word("encoding", &["utf-8", "base64"], "of content"),
        flag("overwrite", ""),
        version(),
        dry_run(),
    ]
}

fn edit() -> Vec<Property> {
    let one = vec![
        text("oldText", ""),
        text("newText", "").required(),
        number("count", "places of oldText, 0 for all"),
        text("lines", "instead of oldText"),
    ];
    vec![
        path(),
        objects("edits", one, "").required(),
        version(),
        dry_run(),
    ]
}

fn list() -> Vec<Property> {
    vec![
        path(),
        flag("details", "sizes, times, links"),
        sort_by(),
        limit(),
        cursor(),
    ]
}

fn tree() -> Vec<Property> {
    vec![
        path(),
        number("depth", ""),
        exclude(),
        include_ignored(),
        limit(),
        cursor(),
    ]
}

fn files() -> Vec<Property> {
    vec![
        path(),
        text("pattern", "").required(),
        exclude(),
        include_ignored(),
        sort_by(),
        limit(),
        cursor(),
    ]
}

fn content() -> Vec<Property> {
    vec![
        text("path", "file or directory"),
        text("pattern", "").required(),
        flag("regex", ""),
        flag("ignoreCase", ""),
        flag("wholeWords", ""),
        flag("multiline", ""),
        texts("include", "globs of files"),
        exclude(),
        include_ignored(),
        number("context", "lines around"),
        word("mode", &["content", "files", "count"], ""),
        limit(),
        cursor(),
    ]
}

fn info() -> Vec<Property> {
    let why = "say in full";
    vec![path(), word("why", &Verb::ALL.map(Verb::name), why)]
}
