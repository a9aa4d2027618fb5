//! The fourteen tools of the reference server: names, what they take and give, and what clients may
//! think of them.

use serde_json::{Map, Value, json};

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    ReadFile,
    ReadTextFile,
    ReadMediaFile,
    ReadMultipleFiles,
    WriteFile,
    EditFile,
    CreateDirectory,
    ListDirectory,
    ListDirectoryWithSizes,
    DirectoryTree,
    MoveFile,
    SearchFiles,
    GetFileInfo,
    ListAllowedDirectories,
}

/// All of them, in the order they are listed.
pub(super) const ALL: [Tool; 14] = [
    Tool::ReadFile,
    Tool::ReadTextFile,
    Tool::ReadMediaFile,
    Tool::ReadMultipleFiles,
    Tool::WriteFile,
    Tool::EditFile,
    Tool::CreateDirectory,
    Tool::ListDirectory,
    Tool::ListDirectoryWithSizes,
    Tool::DirectoryTree,
    Tool::MoveFile,
    Tool::SearchFiles,
    Tool::GetFileInfo,
    Tool::ListAllowedDirectories,
];

/// What a tool may do to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    /// It changes nothing.
    Reads,
    /// It may lose what was there; done twice, it has done the same as once.
    Replaces,
    /// It may lose what was there; done twice, it is done twice.
    Changes,
    /// It only adds; done twice, it has done the same as once.
    Adds,
}

impl Tool {
    /// The tool of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ReadFile => "read_file",
            Self::ReadTextFile => "read_text_file",
            Self::ReadMediaFile => "read_media_file",
            Self::ReadMultipleFiles => "read_multiple_files",
            Self::WriteFile => "write_file",
            Self::EditFile => "edit_file",
            Self::CreateDirectory => "create_directory",
            Self::ListDirectory => "list_directory",
            Self::ListDirectoryWithSizes => "list_directory_with_sizes",
            Self::DirectoryTree => "directory_tree",
            Self::MoveFile => "move_file",
            Self::SearchFiles => "search_files",
            Self::GetFileInfo => "get_file_info",
            Self::ListAllowedDirectories => "list_allowed_directories",
        }
    }

    /// Its name for people.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::ReadFile => "Read File (Deprecated)",
            Self::ReadTextFile => "Read Text File",
            Self::ReadMediaFile => "Read Media File",
            Self::ReadMultipleFiles => "Read Multiple Files",
            Self::WriteFile => "Write File",
            Self::EditFile => "Edit File",
            Self::CreateDirectory => "Create Directory",
            Self::ListDirectory => "List Directory",
            Self::ListDirectoryWithSizes => "List Directory with Sizes",
            Self::DirectoryTree => "Directory Tree",
            Self::MoveFile => "Move File",
            Self::SearchFiles => "Search Files",
            Self::GetFileInfo => "Get File Info",
            Self::ListAllowedDirectories => "List Allowed Directories",
        }
    }

    /// What it does, for a model.
    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::ReadFile => "The same as read_text_file, under its old name. Use read_text_file.",
            Self::ReadTextFile => {
                "Gives the text of one file in an allowed directory: all of it, or its first lines \
                 with `head`, or its last with `tail`, not both. What is not UTF-8 is shown as \
                 U+FFFD and stays as it is in the file."
            }
            Self::ReadMediaFile => {
                "Gives one file as base64 with its media type: images and audio as such, \
                 everything else as an embedded resource."
            }
            Self::ReadMultipleFiles => {
                "Gives the text of several files in one answer, each under its path. A file that \
                 cannot be read has its error in its place; the others are given all the same."
            }
            Self::WriteFile => {
                "Makes a file with this content, or replaces all that it holds. Its directory must \
                 be there. A file is never seen half written."
            }
            Self::EditFile => {
                "Replaces texts in one file, one edit after the other, all or none. Each old text \
                 must be in the file exactly once; add lines around it until it is. Line ends and \
                 all bytes that are not replaced stay as they are. Gives the difference; with \
                 `dryRun` that is all."
            }
            Self::CreateDirectory => {
                "Makes a directory, and those above it that are missing. One that is there \
                 already is as wanted."
            }
            Self::ListDirectory => {
                "Lists what is in a directory, a line for each, beginning with [DIR] or [FILE]."
            }
            Self::ListDirectoryWithSizes => {
                "Lists what is in a directory with sizes, by name or by size, and their totals."
            }
            Self::DirectoryTree => {
                "Gives all that is below a directory as JSON: an array of entries with `name`, \
                 `type` (file or directory) and, for directories, `children`. What matches one of \
                 `excludePatterns` is left out."
            }
            Self::MoveFile => {
                "Gives a file or directory another name or place. Nothing is ever overwritten: it \
                 fails when something has that name."
            }
            Self::SearchFiles => {
                "Finds files and directories by their names below a directory, and gives their \
                 full paths. The pattern is a glob on the path from there: `*.ext` finds files \
                 beside it, `**/*.ext` at any depth. It does not look into files."
            }
            Self::GetFileInfo => {
                "Tells of one file or directory: size, times, type and permissions."
            }
            Self::ListAllowedDirectories => {
                "Lists the directories that these tools can use; all below them can be used too."
            }
        }
    }

    /// What it may do to files.
    pub(super) const fn nature(self) -> Nature {
        match self {
            Self::ReadFile
            | Self::ReadTextFile
            | Self::ReadMediaFile
            | Self::ReadMultipleFiles
            | Self::ListDirectory
            | Self::ListDirectoryWithSizes
            | Self::DirectoryTree
            | Self::SearchFiles
            | Self::GetFileInfo
            | Self::ListAllowedDirectories => Nature::Reads,
            Self::WriteFile => Nature::Replaces,
            Self::EditFile | Self::MoveFile => Nature::Changes,
            Self::CreateDirectory => Nature::Adds,
        }
    }

    /// The schema of what it takes.
    pub(super) fn input_schema(self) -> Map<String, Value> {
        let text = || json!({"type": "string"});
        let texts = || json!({"type": "array", "items": text(), "default": []});
        match self {
            Self::ReadFile | Self::ReadTextFile => {
                let lines = |which| {
                    json!({"type": "number",
                        "description": format!("Only the {which} N lines of the file")})
                };
                let properties =
                    json!({"path": text(), "tail": lines("last"), "head": lines("first")});
                schema(properties, &["path"])
            }
            Self::ReadMediaFile
            | Self::CreateDirectory
            | Self::ListDirectory
            | Self::GetFileInfo => schema(json!({"path": text()}), &["path"]),
            Self::ReadMultipleFiles => {
                let paths = json!({"type": "array", "items": text(), "minItems": 1,
                    "description": "The paths of the files to read"});
                schema(json!({"paths": paths}), &["paths"])
            }
            Self::WriteFile => schema(
                json!({"path": text(), "content": text()}),
                &["path", "content"],
            ),
            Self::EditFile => edit_schema(),
            Self::ListDirectoryWithSizes => {
                let sort = json!({"type": "string", "enum": ["name", "size"], "default": "name",
                    "description": "In which order"});
                schema(json!({"path": text(), "sortBy": sort}), &["path"])
            }
            Self::DirectoryTree => schema(
                json!({"path": text(), "excludePatterns": texts()}),
                &["path"],
            ),
            Self::MoveFile => schema(
                json!({"source": text(), "destination": text()}),
                &["source", "destination"],
            ),
            Self::SearchFiles => schema(
                json!({"path": text(), "pattern": text(), "excludePatterns": texts()}),
                &["path", "pattern"],
            ),
            Self::ListAllowedDirectories => schema(json!({}), &[]),
        }
    }

    /// The schema of what it gives, beside the same as content.
    pub(super) fn output_schema(self) -> Map<String, Value> {
        let content = match self {
            Self::ReadMediaFile => media_schema(),
            Self::ReadFile
            | Self::ReadTextFile
            | Self::ReadMultipleFiles
            | Self::WriteFile
            | Self::EditFile
            | Self::CreateDirectory
            | Self::ListDirectory
            | Self::ListDirectoryWithSizes
            | Self::DirectoryTree
            | Self::MoveFile
            | Self::SearchFiles
            | Self::GetFileInfo
            | Self::ListAllowedDirectories => json!({"type": "string"}),
        };
        closed(schema(json!({ "content": content }), &["content"]))
    }
}

fn edit_schema() -> Map<String, Value> {
    let edit = json!({
        "type": "object",
        "properties": {
            "oldText": {"type": "string", "description": "What is there now; exactly once"},
            "newText": {"type": "string", "description": "What comes instead"},
        },
        "required": ["oldText", "newText"],
    });
    let properties = json!({
        "path": {"type": "string"},
        "edits": {"type": "array", "items": edit},
        "dryRun": {"type": "boolean", "default": false,
            "description": "Show the difference and change nothing"},
    });
    schema(properties, &["path", "edits"])
}

fn media_schema() -> Value {
    let text = || json!({"type": "string"});
    let kind = json!({"type": "string", "enum": ["image", "audio"]});
    let media = closed(schema_part(
        json!({"type": kind, "data": text(), "mimeType": text()}),
        &["type", "data", "mimeType"],
    ));
    let resource = closed(schema_part(
        json!({"uri": text(), "mimeType": text(), "blob": text()}),
        &["uri", "blob"],
    ));
    let embedded = closed(schema_part(
        json!({"type": {"type": "string", "const": "resource"}, "resource": resource}),
        &["type", "resource"],
    ));
    json!({"type": "array", "items": {"anyOf": [media, embedded]}})
}

/// A whole schema of an object.
fn schema(properties: Value, required: &[&str]) -> Map<String, Value> {
    let dialect = "http://json-schema.org/draft-07/schema#";
    let mut schema = Map::from_iter([("$schema".to_owned(), json!(dialect))]);
    schema.extend(schema_part(properties, required));
    schema
}

fn schema_part(properties: Value, required: &[&str]) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

/// The same, of nothing else.
fn closed(mut schema: Map<String, Value>) -> Map<String, Value> {
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}
