//! What is known of each client: where its configuration is, which of its own tools reach files
//! beside this server, and how to switch those off. It is what their documentation said in
//! November 2026; nothing here is checked against the client that runs.

use super::written::Shape;
use crate::args::ConfigFor;
use clap::ValueEnum;

/// One client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) title: &'static str,
    /// Where the configuration belongs; one of them.
    pub(super) files: &'static [&'static str],
    pub(super) shape: Shape,
    /// Which of the client's own tools reach files and commands.
    pub(super) outside: &'static str,
    /// What takes them away.
    pub(super) off: &'static [Off],
    /// What still stays outside then.
    pub(super) remains: &'static str,
}

/// Something to write somewhere.
#[derive(Debug)]
pub(super) struct Off {
    pub(super) place: &'static str,
    pub(super) text: &'static str,
}

/// Every client, by its name.
pub(super) fn all() -> impl Iterator<Item = (String, Client)> {
    let known = ConfigFor::value_variants().iter();
    known.filter_map(|one| Some((one.name(), client(*one)?)))
}

pub(super) fn client(which: ConfigFor) -> Option<Client> {
    Some(match which {
        ConfigFor::List => return None,
        ConfigFor::ClaudeCode => CLAUDE_CODE,
        ConfigFor::ClaudeDesktop => CLAUDE_DESKTOP,
        ConfigFor::Codex => CODEX,
        ConfigFor::Cursor => CURSOR,
        ConfigFor::Vscode => VSCODE,
        ConfigFor::GeminiCli => GEMINI_CLI,
        ConfigFor::Zed => ZED,
        ConfigFor::Goose => GOOSE,
        ConfigFor::Json => JSON,
    })
}

impl Client {
    /// What is said about the configuration, for people.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{}: this belongs in", self.title)];
        lines.extend(self.files.iter().map(|file| format!("  {file}")));
        lines.push("Beside what is there already; start the client anew.".to_owned());
        lines.push(String::new());
        lines.push(format!(
            "NOT HELD by Portcullis: {}. They reach everything that you can.",
            self.outside
        ));
        for off in self.off {
            lines.push(format!("To switch them off, in {}:", off.place));
            lines.extend(off.text.lines().map(|line| format!("  {line}")));
        }
        lines.push(format!("Outside in any case: {}.", self.remains));
        lines
    }
}

const CLAUDE_CODE: Client = Client {
    title: "Claude Code",
    files: &[
        ".mcp.json in the project (shared with whoever has it; Claude Code asks before it is used)",
        "~/.claude.json (for you alone: `claude mcp add-json --scope user portcullis 'VALUE'`)",
    ],
    shape: Shape::TypedServers,
    outside: "the built-in tools Bash, PowerShell, Monitor, Read, Edit, Write, NotebookEdit, Glob, Grep and LSP",
    off: &[Off {
        place: "~/.claude/settings.json or .claude/settings.json",
        text: r#"{"permissions": {"deny": ["Bash", "PowerShell", "Monitor", "Read", "Edit", "Write",
  "NotebookEdit", "Glob", "Grep", "LSP"]}}"#,
    }],
    remains: "hooks, plug-ins and other MCP servers, commands that you type behind `!`, files that you name with `@`, \
              and what Claude Code itself reads and writes (its settings, CLAUDE.md, transcripts)",
};

const CLAUDE_DESKTOP: Client = Client {
    title: "Claude Desktop",
    files: &["~/.config/Claude/claude_desktop_config.json"],
    shape: Shape::Servers,
    outside: "extensions and other MCP servers that reach files, such as Filesystem; a chat has no file tools of \
              its own, but its agent modes (Cowork, Code) do",
    off: &[Off {
        place: "the client's settings, Extensions",
        text: "switch off every extension that reaches files or runs commands, and do not use the agent modes",
    }],
    remains: "files that you attach to a chat",
};

const CODEX: Client = Client {
    title: "Codex",
    files: &[
        "~/.codex/config.toml",
        ".codex/config.toml in a project that you trust",
    ],
    shape: Shape::Codex,
    outside: "the shell tools, apply_patch and view_image",
    off: &[Off {
        place: "~/.codex/config.toml (apply_patch has no switch of its own: the sandbox keeps it from writing)",
        text: "sandbox_mode = \"read-only\"\n[features]\nshell_tool = false\nunified_exec = false",
    }],
    remains: "reading by apply_patch and view_image, other MCP servers, hooks and plug-ins, and what Codex itself reads \
              (AGENTS.md)",
};

const CURSOR: Client = Client {
    title: "Cursor",
    files: &["~/.cursor/mcp.json", ".cursor/mcp.json in the project"],
    shape: Shape::Servers,
    outside: "the agent's own tools to read, search, edit and delete files, and its terminal; in the editor no \
              setting takes them away",
    off: &[Off {
        place: "~/.cursor/cli-config.json or .cursor/cli.json, for the command line agent alone",
        text: r#"{"permissions": {"allow": ["Mcp(portcullis:*)"], "deny": ["Shell(**)", "Read(**)", "Write(**)"]}}"#,
    }],
    remains: "in the editor everything above (a hook for `preToolUse` can refuse it, tool by tool), indexing, other \
              MCP servers and extensions",
};

const VSCODE: Client = Client {
    title: "VS Code",
    files: &[
        ".vscode/mcp.json in the project",
        "mcp.json of your user profile (command `MCP: Open User Configuration`)",
    ],
    shape: Shape::Vscode,
    outside: "the agent's built-in tools `read`, `edit`, `search` and `execute`, and tools of extensions",
    off: &[Off {
        place: ".github/agents/portcullis.agent.md; choose that agent in the chat (or clear the tools in Configure Tools)",
        text: "---\ndescription: Works through Portcullis alone\ntools: ['portcullis/*']\n---",
    }],
    remains: "other agents than that one, extensions, tasks, and files that you attach to a chat",
};

const GEMINI_CLI: Client = Client {
    title: "Gemini CLI",
    files: &[
        "~/.gemini/settings.json",
        ".gemini/settings.json in the project",
    ],
    shape: Shape::Servers,
    outside: "the built-in tools run_shell_command, write_file, replace, read_file, read_many_files, \
              list_directory, glob and grep_search",
    off: &[Off {
        place: "~/.gemini/policies/portcullis.toml (`tools.core` in the settings takes this server's tools away too)",
        text: "[[rule]]\ntoolName = [\"run_shell_command\", \"write_file\", \"replace\", \"read_file\", \
               \"read_many_files\",\n  \"list_directory\", \"glob\", \"grep_search\", \"search_file_content\"]\n\
               decision = \"deny\"\npriority = 900",
    }],
    remains: "extensions, hooks and other MCP servers, commands that you type behind `!`, files that you name with `@`, \
              and what Gemini CLI itself reads (GEMINI.md)",
};

const ZED: Client = Client {
    title: "Zed",
    files: &[
        "~/.config/zed/settings.json",
        ".zed/settings.json in the project",
    ],
    shape: Shape::Zed,
    outside: "the tools of the built-in profiles Write and Ask (read_file, grep, edit_file, terminal and the like), and \
              agents that Zed starts (Claude Code, Gemini CLI and others), which have tools of their own",
    off: &[Off {
        place: "the same file; then choose the profile Portcullis in the agent panel",
        text: r#"{"agent": {"default_profile": "portcullis", "profiles": {"portcullis": {
  "name": "Portcullis", "tools": {}, "enable_all_context_servers": false,
  "context_servers": {"portcullis": {"tools": {}}}}}}}
(name this server's tools there, each with true, or set enable_all_context_servers to true)"#,
    }],
    remains: "other profiles, external agents and terminal threads, extensions, and files that you add to a thread",
};

const GOOSE: Client = Client {
    title: "goose",
    files: &["~/.config/goose/config.yaml, under the `extensions` that are there"],
    shape: Shape::Goose,
    outside: "the extension `developer` (shell, files), which is on by default, and `computercontroller` and the like \
              where they are on",
    off: &[Off {
        place: "the same file",
        text: "extensions:\n  developer:\n    type: builtin\n    name: developer\n    enabled: false\n  \
               computercontroller:\n    type: platform\n    name: computercontroller\n    enabled: false",
    }],
    remains: "other extensions, recipes and hooks that name them, and what goose itself reads (.goosehints)",
};

const JSON: Client = Client {
    title: "the JSON that most clients read",
    files: &["the file that the client's documentation names"],
    shape: Shape::Servers,
    outside: "whatever file and shell tools the client brings itself, and its other MCP servers",
    off: &[],
    remains: "everything that does not go through the tools of this server",
};
