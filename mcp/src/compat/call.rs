//! A call of a tool, read from its arguments: what is wrong with them is said all at once, in the
//! words of the reference server.

use super::tools::Tool;
use serde_json::{Map, Value};

/// A call that can be made.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Call {
    ReadText {
        path: String,
        part: Part,
    },
    ReadMedia {
        path: String,
    },
    ReadMany {
        paths: Vec<String>,
    },
    Write {
        path: String,
        content: String,
    },
    Edit {
        path: String,
        edits: Vec<Edit>,
        deed: Deed,
    },
    MakeDirectory {
        path: String,
    },
    List {
        path: String,
    },
    ListSizes {
        path: String,
        sort: Sort,
    },
    Tree {
        path: String,
        exclude: Vec<String>,
    },
    Move {
        source: String,
        destination: String,
    },
    Search {
        path: String,
        pattern: String,
        exclude: Vec<String>,
    },
    Info {
        path: String,
    },
    Directories,
}

/// Which lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    Head(u64),
    Tail(u64),
    /// Both were asked for.
    HeadAndTail,
}

/// One text for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) old: String,
    pub(super) new: String,
}

/// Whether something is done or only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Do,
    Show,
}

/// The order of a listing with sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Name,
    Size,
}

/// Why arguments are no call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("MCP error -32602: Input validation error: Invalid arguments for tool {tool}: {}", issues.join("\n"))]
pub(super) struct Invalid {
    tool: &'static str,
    issues: Vec<String>,
}

impl Call {
    /// Reads the arguments of a tool. Arguments that a tool does not have are passed over.
    pub(super) fn parse(tool: Tool, arguments: &Map<String, Value>) -> Result<Self, Invalid> {
        let mut fields = Fields {
            arguments,
            issues: Vec::new(),
        };
        let call = Self::read(tool, &mut fields);
        if fields.issues.is_empty() {
            return Ok(call);
        }
        Err(Invalid {
            tool: tool.name(),
            issues: fields.issues,
        })
    }

    fn read(tool: Tool, fields: &mut Fields<'_>) -> Self {
        match tool {
            Tool::ReadFile | Tool::ReadTextFile => {
                let path = fields.text("path");
                let (tail, head) = (fields.lines("tail"), fields.lines("head"));
                Self::ReadText {
                    path,
                    part: part(head, tail),
                }
            }
            Tool::ReadMediaFile => Self::ReadMedia {
                path: fields.text("path"),
            },
            Tool::ReadMultipleFiles => Self::ReadMany {
                paths: fields.some_texts("paths"),
            },
            Tool::WriteFile => Self::Write {
                path: fields.text("path"),
                content: fields.text("content"),
            },
            Tool::EditFile => Self::Edit {
                path: fields.text("path"),
                edits: fields.edits(),
                deed: fields.deed(),
            },
            Tool::CreateDirectory => Self::MakeDirectory {
                path: fields.text("path"),
            },
            Tool::ListDirectory => Self::List {
                path: fields.text("path"),
            },
            Tool::ListDirectoryWithSizes => Self::ListSizes {
                path: fields.text("path"),
                sort: fields.sort(),
            },
            Tool::DirectoryTree => Self::Tree {
                path: fields.text("path"),
                exclude: fields.texts("excludePatterns", Absent::Fine),
            },
            Tool::MoveFile => Self::Move {
                source: fields.text("source"),
                destination: fields.text("destination"),
            },
            Tool::SearchFiles => Self::Search {
                path: fields.text("path"),
                pattern: fields.text("pattern"),
                exclude: fields.texts("excludePatterns", Absent::Fine),
            },
            Tool::GetFileInfo => Self::Info {
                path: fields.text("path"),
            },
            Tool::ListAllowedDirectories => Self::Directories,
        }
    }
}

/// Zero is as if it were not there.
const fn part(head: Option<u64>, tail: Option<u64>) -> Part {
    match (head, tail) {
        (None | Some(0), None | Some(0)) => Part::Whole,
        (Some(head), None | Some(0)) => Part::Head(head),
        (None | Some(0), Some(tail)) => Part::Tail(tail),
        (Some(_), Some(_)) => Part::HeadAndTail,
    }
}

/// Whether an argument may be missing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absent {
    Fine,
    Wrong,
}

struct Fields<'a> {
    arguments: &'a Map<String, Value>,
    issues: Vec<String>,
}

impl Fields<'_> {
    /// Notes that something else was expected. What is given back instead is never used.
    fn expected<T: Default>(&mut self, what: &str, found: Option<&Value>, at: &str) -> T {
        let found = found.map_or("undefined", kind);
        let issue = format!("Invalid input: expected {what}, received {found} at {at}");
        self.issues.push(issue);
        T::default()
    }

    fn text(&mut self, name: &str) -> String {
        self.text_at(self.arguments.get(name), name)
    }

    fn text_at(&mut self, value: Option<&Value>, at: &str) -> String {
        match value {
            Some(Value::String(text)) => text.clone(),
            other => self.expected("string", other, at),
        }
    }

    /// A number of lines; parts of one count as one, as in the reference server.
    fn lines(&mut self, name: &str) -> Option<u64> {
        match self.arguments.get(name) {
            None => None,
            Some(Value::Number(number)) => self.whole(number.as_f64().unwrap_or(f64::NAN), name),
            other => self.expected("number", other, name),
        }
    }

    fn whole(&mut self, number: f64, name: &str) -> Option<u64> {
        if number >= 0.0 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "not negative; a float above 2^64 becomes the largest number"
            )]
            return Some(number.ceil() as u64);
        }
        let issue = format!("Too small: expected number to be >=0 at {name}");
        self.issues.push(issue);
        None
    }

    fn texts(&mut self, name: &str, absent: Absent) -> Vec<String> {
        match (self.arguments.get(name), absent) {
            (None, Absent::Fine) => Vec::new(),
            (Some(Value::Array(items)), _) => {
                let each = items.iter().enumerate();
                each.map(|(at, item)| self.text_at(Some(item), &format!("{name}[{at}]")))
                    .collect()
            }
            (other, _) => self.expected("array", other, name),
        }
    }

    fn some_texts(&mut self, name: &str) -> Vec<String> {
        let texts = self.texts(name, Absent::Wrong);
        if texts.is_empty() && self.issues.is_empty() {
            let issue = format!("Too small: expected array to have >=1 items at {name}");
            self.issues.push(issue);
        }
        texts
    }

    fn edits(&mut self) -> Vec<Edit> {
        let Some(Value::Array(items)) = self.arguments.get("edits") else {
            return self.expected("array", self.arguments.get("edits"), "edits");
        };
        let mut edits = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let place = format!("edits[{at}]");
            let Value::Object(edit) = item else {
                self.expected::<()>("object", Some(item), &place);
                continue;
            };
            edits.push(Edit {
                old: self.text_at(edit.get("oldText"), &format!("{place}.oldText")),
                new: self.text_at(edit.get("newText"), &format!("{place}.newText")),
            });
        }
        edits
    }

    fn deed(&mut self) -> Deed {
        match self.arguments.get("dryRun") {
            None | Some(Value::Bool(false)) => Deed::Do,
            Some(Value::Bool(true)) => Deed::Show,
            other => {
                self.expected::<()>("boolean", other, "dryRun");
                Deed::Show
            }
        }
    }

    fn sort(&mut self) -> Sort {
        match self.arguments.get("sortBy") {
            None => Sort::Name,
            Some(Value::String(by)) if by == "name" => Sort::Name,
            Some(Value::String(by)) if by == "size" => Sort::Size,
            Some(_) => {
                let issue = r#"Invalid option: expected one of "name"|"size" at sortBy"#;
                self.issues.push(issue.to_owned());
                Sort::Name
            }
        }
    }
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(tool: Tool, arguments: &Value) -> Result<Call, String> {
        Call::parse(tool, arguments.as_object().unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let edits = json!({"edits": [{"oldText": 1, "newText": []}, 3], "dryRun": "yes"});
        let said = parse(Tool::EditFile, &edits).unwrap_err();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(
            lines,
            [
                "MCP error -32602: Input validation error: Invalid arguments for tool edit_file: \
                 Invalid input: expected string, received undefined at path",
                "Invalid input: expected string, received number at edits[0].oldText",
                "Invalid input: expected string, received array at edits[0].newText",
                "Invalid input: expected object, received number at edits[1]",
                "Invalid input: expected boolean, received string at dryRun",
            ]
        );
    }

    #[test]
    fn lines_are_counted_from_one() {
        let part = |head: Value, tail: Value| match parse(
            Tool::ReadFile,
            &json!({"path": "a", "head": head, "tail": tail}),
        ) {
            Ok(Call::ReadText { part, .. }) => Ok(part),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error),
        };
        assert_eq!(part(json!(0), json!(0)), Ok(Part::Whole));
        assert_eq!(part(json!(1.5), json!(0)), Ok(Part::Head(2)));
        assert_eq!(part(json!(0), json!(7)), Ok(Part::Tail(7)));
        assert_eq!(part(json!(1), json!(7)), Ok(Part::HeadAndTail));
        assert!(
            part(json!(-2), json!(0))
                .unwrap_err()
                .ends_with("expected number to be >=0 at head")
        );
        assert!(
            part(json!("1"), json!(0))
                .unwrap_err()
                .ends_with("expected number, received string at head")
        );
    }

    #[test]
    fn what_a_tool_does_not_have_is_passed_over() {
        let info = parse(Tool::GetFileInfo, &json!({"path": "a", "bogus": 1}));
        assert_eq!(
            info,
            Ok(Call::Info {
                path: "a".to_owned()
            })
        );
        let none = parse(Tool::ReadMultipleFiles, &json!({"paths": []})).unwrap_err();
        assert!(
            none.ends_with("Too small: expected array to have >=1 items at paths"),
            "{none}"
        );
    }
}
