//! One server with its own tree, and the calls as it wants them.

use super::lines::Lines;
use super::rows::Call;
use super::tree;
use serde_json::{Value, json};
use std::path::PathBuf;
use tempfile::TempDir;

pub struct Server {
    pub name: String,
    place: TempDir,
    names: Names,
    lines: Lines,
    tools: Vec<String>,
    /// Counts what is written and edited, so that no call repeats the last one.
    turn: u64,
}

/// How it wants files to be named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Absolute,
    Below,
}

impl Server {
    /// Starts what a line says: `NAME=COMMAND` or `NAME~=COMMAND`.
    pub fn start(line: &str) -> Self {
        let (name, command) = line.split_once('=').expect("NAME=COMMAND");
        let place = tree::make();
        let root = place.path().to_str().unwrap();
        let command: Vec<String> = command
            .split(' ')
            .map(|word| word.replace("@ROOT", root))
            .collect();
        let mut lines = Lines::start(&command);
        let listed = lines.ask("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        Self {
            name: name.trim_end_matches('~').to_owned(),
            names: if name.ends_with('~') {
                Names::Below
            } else {
                Names::Absolute
            },
            place,
            tools: tools
                .iter()
                .map(|tool| tool["name"].as_str().unwrap().to_owned())
                .collect(),
            lines,
            turn: 0,
        }
    }

    fn path(&self, below: &str) -> PathBuf {
        match self.names {
            Names::Absolute => self.place.path().join(below),
            Names::Below => PathBuf::from(below),
        }
    }

    fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|one| one == tool)
    }

    /// Makes one call. Gives whether the server can do it at all.
    pub fn call(&mut self, call: Call) -> Ability {
        self.turn += 1;
        let (before, now) = (self.turn - 1, self.turn);
        let (tool, arguments) = match call {
            Call::Read => ("read_text_file", json!({"path": self.path("read.txt")})),
            Call::Write => {
                let content = format!("{now:08}{}", &tree::lines()[8..]);
                let path = self.path("write.txt");
                ("write_file", json!({"path": path, "content": content}))
            }
            Call::Edit => {
                let edit = json!({"oldText": format!("state {before}\n"),
                    "newText": format!("state {now}\n")});
                let path = self.path("edit.txt");
                ("edit_file", json!({"path": path, "edits": [edit]}))
            }
            Call::List => ("list_directory", json!({"path": self.path("list")})),
            Call::Find => {
                let path = self.path("t");
                (
                    "search_files",
                    json!({"path": path, "pattern": "**/f1999*.txt"}),
                )
            }
            Call::Tree => ("directory_tree", json!({"path": self.path("t")})),
            Call::Search => return self.search(),
        };
        self.tool(tool, &arguments).into()
    }

    /// Looks for one text in all files, by whatever the server has for that.
    fn search(&mut self) -> Ability {
        let path = self.path("t");
        let text = tree::NEEDLE;
        if self.has("search_files_content") {
            let arguments = json!({"path": path, "pattern": "**/*.txt", "query": text});
            self.tool("search_files_content", &arguments).into()
        } else if self.has("search_content") {
            let arguments = json!({"path": path, "pattern": text});
            self.tool("search_content", &arguments).into()
        } else if self.has("read_multiple_files") {
            self.read_all()
        } else {
            Ability::Cannot
        }
    }

    /// Without a search for content a client asks for all names and reads all files.
    fn read_all(&mut self) -> Ability {
        const AT_ONCE: usize = 500;
        let arguments = json!({"path": self.path("t"), "pattern": "**/*.txt"});
        let Some(found) = self.tool("search_files", &arguments) else {
            return Ability::Cannot;
        };
        let found: Value = serde_json::from_str(found).unwrap();
        let text = found["result"]["content"][0]["text"].as_str().unwrap();
        let names: Vec<&str> = text.lines().collect();
        assert_eq!(names.len(), tree::FILES, "{}", self.name);
        let mut hits = 0;
        for some in names.chunks(AT_ONCE) {
            let said = self.tool("read_multiple_files", &json!({ "paths": some }));
            hits += usize::from(said.is_some_and(|said| said.contains(tree::NEEDLE)));
        }
        assert_eq!(hits, 1, "{}", self.name);
        Ability::Can
    }

    /// Sets the file back from which edits count.
    pub fn prepare(&mut self, call: Call) {
        if call == Call::Edit {
            let text = format!("state {}\n{}", self.turn, tree::lines());
            std::fs::write(self.place.path().join("edit.txt"), text).unwrap();
        }
    }

    /// Calls a tool; none when the server says that it failed.
    fn tool(&mut self, tool: &str, arguments: &Value) -> Option<&str> {
        let params = json!({"name": tool, "arguments": arguments});
        let said = self.lines.raw("tools/call", &params);
        let failed = said.contains("\"isError\":true") || said.contains("\"error\":{");
        if failed {
            let what: String = said.chars().take(300).collect();
            eprintln!("note: {}: {tool} failed: {what}", self.name);
        }
        (!failed).then_some(said)
    }
}

/// Whether a server can do something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    Can,
    Cannot,
}

impl From<Option<&str>> for Ability {
    fn from(said: Option<&str>) -> Self {
        match said {
            Some(_) => Self::Can,
            None => Self::Cannot,
        }
    }
}
