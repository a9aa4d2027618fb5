//! A client that says exactly what a test wants it to say.

use portcullis_client::Session;
use portcullis_tests::own;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// No answer of these tests takes as long; one that does never comes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The versions of the protocol by generation.
pub(crate) const NOW: &str = "2025-11-25";
pub(crate) const NEXT: &str = "2026-07-28";

/// A server that was started for one session, and what it says.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    said: Receiver<Value>,
    waiting: Vec<Value>,
    next: u64,
    /// What each request carries beside its own parameters.
    meta: Value,
}

impl Client {
    /// With the handshake of most clients of today.
    pub(crate) fn start(session: Session) -> Self {
        Self::start_as(session, NOW, "test", &json!({}))
    }

    /// With this version, name and capabilities.
    pub(crate) fn start_as(
        session: Session,
        version: &str,
        name: &str,
        capabilities: &Value,
    ) -> Self {
        let mut client = Self::spawn(session);
        let hello = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": { "name": name, "version": "1" },
        });
        let answer = client.ask("initialize", hello);
        assert!(answer["result"]["protocolVersion"].is_string(), "{answer}");
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// Of the generation that has no handshake: every request says who asks.
    pub(crate) fn start_next(session: Session, capabilities: &Value) -> Self {
        let mut client = Self::spawn(session);
        client.meta = json!({
            "io.modelcontextprotocol/protocolVersion": NEXT,
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        client
    }

    /// Without a word.
    pub(crate) fn spawn(session: Session) -> Self {
        let mut command = Command::new(own!("own-mcp"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        session.attach(&mut command).unwrap();
        let mut child = command.spawn().unwrap();
        drop(command);
        let (sender, said) = channel();
        let output = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let line = line.unwrap();
                let value = serde_json::from_str(&line)
                    .unwrap_or_else(|error| panic!("no message: {error}: {line}"));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            said,
            waiting: Vec::new(),
            next: 0,
            meta: Value::Null,
        }
    }

    /// Sends bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub(crate) fn say(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    /// Sends a request and does not wait.
    pub(crate) fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if !self.meta.is_null() {
            let meta = params["_meta"].as_object().cloned().unwrap_or_default();
            let mut all = self.meta.as_object().unwrap().clone();
            all.extend(meta);
            params["_meta"] = all.into();
        }
        let id = self.next;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub(crate) fn begin_call(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.begin(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    /// The next message, whatever it is.
    pub(crate) fn next(&mut self) -> Value {
        if self.waiting.is_empty() {
            self.said.recv_timeout(PATIENCE).expect("an answer")
        } else {
            self.waiting.remove(0)
        }
    }

    /// The answer to a request; what comes before is kept.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        if let Some(at) = self.waiting.iter().position(|one| one["id"] == id) {
            return self.waiting.remove(at);
        }
        loop {
            let message = self.said.recv_timeout(PATIENCE).expect("an answer");
            if message["id"] == id {
                return message;
            }
            self.waiting.push(message);
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// The result of a call.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.begin_call(tool, arguments);
        let mut answer = self.answer(id);
        assert!(answer["result"].is_object(), "{tool} {arguments}: {answer}");
        answer["result"].take()
    }

    /// The text and the facts of a call that must be done.
    pub(crate) fn done(&mut self, tool: &str, arguments: &Value) -> (String, Value) {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool} {arguments}: {result}");
        (text(&result), result["structuredContent"].clone())
    }

    /// The text of a call that must be refused.
    pub(crate) fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        text(&result)
    }

    /// Ends the input, and gives what was still said and how the server ended.
    pub(crate) fn end(mut self) -> (Vec<Value>, Option<i32>) {
        drop(self.input.take());
        let mut rest = std::mem::take(&mut self.waiting);
        while let Ok(message) = self.said.recv_timeout(PATIENCE) {
            rest.push(message);
        }
        (rest, self.child.wait().unwrap().code())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The first text of a result.
pub(crate) fn text(result: &Value) -> String {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}
