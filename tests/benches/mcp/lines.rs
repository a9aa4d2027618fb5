//! JSON-RPC, one message a line, one call at a time; as little as can be between the clock and the server.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A server that answers line by line.
pub struct Lines {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
    line: String,
}

impl Lines {
    /// Starts it and says hello.
    pub fn start(command: &[String]) -> Self {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", command[0]));
        let mut lines = Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::with_capacity(1 << 20, child.stdout.take().unwrap()),
            child,
            last: 0,
            line: String::new(),
        };
        lines.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"}}),
        );
        lines.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        lines
    }

    fn send(&mut self, message: &Value) {
        let mut text = message.to_string();
        text.push('\n');
        self.input.write_all(text.as_bytes()).unwrap();
    }

    /// Asks, and waits for the line that answers. It is not parsed: that is the client's own cost.
    pub fn raw(&mut self, method: &str, params: &Value) -> &str {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            self.line.clear();
            let read = self.output.read_line(&mut self.line).unwrap();
            assert!(read > 0, "the server ended");
            // A notification or a question of the server is no answer.
            let answer = self.line.contains("\"result\":") || self.line.contains("\"error\":");
            if answer {
                return &self.line;
            }
        }
    }

    /// The same, parsed.
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        serde_json::from_str(self.raw(method, params)).unwrap()
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
