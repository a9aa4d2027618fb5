//! A client of a server for models: JSON-RPC, one message a line, over the pipes of a process.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A server that was started and greeted.
#[derive(Debug)]
pub struct Rpc {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: u64,
    early: HashMap<u64, Value>,
    /// What it answered to the greeting.
    pub hello: Value,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// The whole result.
    pub result: Value,
}

impl Said {
    /// Whether the tool says that it failed.
    pub fn failed(&self) -> bool {
        self.result["isError"] == true
    }

    /// The first text.
    pub fn text(&self) -> &str {
        self.result["content"][0]["text"].as_str().unwrap()
    }

    /// The same, of a call that must have worked.
    pub fn done(&self) -> &str {
        assert!(!self.failed(), "{}", self.result);
        self.text()
    }

    /// The same, of a call that must have failed.
    pub fn refused(&self) -> &str {
        assert!(self.failed(), "{}", self.result);
        self.text()
    }
}

impl Rpc {
    /// Starts a server and greets it. Its standard error stays as `command` has it.
    pub fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut rpc = Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            last: 0,
            early: HashMap::new(),
            hello: Value::Null,
        };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "tests", "version": "1"}});
        let number = rpc.send("initialize", &hello);
        rpc.hello = rpc.wait(number)["result"].clone();
        rpc.say(&[json!({"jsonrpc": "2.0", "method": "notifications/initialized"})]);
        rpc
    }

    /// Sends messages in one piece, as they are.
    pub fn say(&mut self, messages: &[Value]) {
        let lines: String = messages.iter().map(|one| format!("{one}\n")).collect();
        let input = self.input.as_mut().unwrap();
        input.write_all(lines.as_bytes()).unwrap();
    }

    /// Sends a request; [`Self::wait`] gives its answer.
    pub fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.say(&[json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})]);
        id
    }

    /// Sends a call of a tool.
    pub fn ask(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.send("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Waits for the answer to a request; others that come before it are kept.
    pub fn wait(&mut self, number: u64) -> Value {
        loop {
            if let Some(answer) = self.early.remove(&number) {
                return answer;
            }
            let mut line = String::new();
            let read = self.output.read_line(&mut line).unwrap();
            assert!(read > 0, "the server ended");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if let (Some(id), None) = (answer["id"].as_u64(), answer.get("method")) {
                self.early.insert(id, answer);
            }
        }
    }

    /// Calls a method.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        let number = self.send(method, params);
        self.wait(number)
    }

    /// Calls a tool.
    pub fn tool(&mut self, tool: &str, arguments: &Value) -> Said {
        let number = self.ask(tool, arguments);
        Said {
            result: self.wait(number)["result"].clone(),
        }
    }

    /// Closes its input and waits until it has ended; gives its exit code.
    pub fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Rpc {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
