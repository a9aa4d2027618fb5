//! The configuration itself, in the format of each client.

use super::Start;
use serde_json::{Value, json};

/// The server's name in every configuration.
const NAME: &str = "portcullis";
/// Seconds that goose waits for an answer of the server.
const GOOSE_TIMEOUT: u32 = 300;

/// What a client reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// JSON, `mcpServers`.
    Servers,
    /// JSON, `mcpServers`, each with its type.
    TypedServers,
    /// JSON, `servers`, each with its type.
    Vscode,
    /// JSON, `context_servers`.
    Zed,
    /// TOML, `mcp_servers`.
    Codex,
    /// YAML, `extensions`.
    Goose,
}

impl Shape {
    pub(super) const fn format(self) -> &'static str {
        match self {
            Self::Servers | Self::TypedServers | Self::Vscode | Self::Zed => "json",
            Self::Codex => "toml",
            Self::Goose => "yaml",
        }
    }
}

pub(super) fn config(shape: Shape, start: &Start) -> String {
    let (command, arguments) = (&start.command, &start.arguments);
    let plain = json!({"command": command, "args": arguments});
    let typed = json!({"type": "stdio", "command": command, "args": arguments});
    match shape {
        Shape::Servers => pretty(&json!({"mcpServers": {NAME: plain}})),
        Shape::TypedServers => pretty(&json!({"mcpServers": {NAME: typed}})),
        Shape::Vscode => pretty(&json!({"servers": {NAME: typed}})),
        Shape::Zed => pretty(&json!({
            "context_servers": {NAME: {"command": command, "args": arguments, "env": {}}}
        })),
        Shape::Codex => {
            let string = |text: &String| toml::Value::String(text.clone()).to_string();
            let words: Vec<String> = arguments.iter().map(string).collect();
            format!(
                "[mcp_servers.{NAME}]\ncommand = {}\nargs = [{}]\n",
                string(command),
                words.join(", ")
            )
        }
        // A string of JSON is one of YAML.
        Shape::Goose => format!(
            "extensions:\n  {NAME}:\n    type: stdio\n    name: {NAME}\n    enabled: true\n    \
             cmd: {}\n    args: {}\n    envs: {{}}\n    env_keys: []\n    timeout: {GOOSE_TIMEOUT}\n",
            json!(command),
            json!(arguments),
        ),
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}
