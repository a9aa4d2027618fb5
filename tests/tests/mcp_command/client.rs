//! A client: starts the command with pipes, writes lines, reads lines.

use crate::place::{Place, Said};
use portcullis_tests::own;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Nothing of these tests takes as long; what does hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A workspace with files that need an approval.
pub(crate) const ASKS: [&str; 3] = ["repo", "--ask", "deploy/**"];

/// A running `portcullis mcp`.
pub(crate) struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<String>,
    id: u64,
}

/// The stand-in for the server, as an option.
pub(crate) fn server() -> String {
    let path = own!("own-stand-in").canonicalize().unwrap();
    format!("--server={}", path.to_str().unwrap())
}

impl Client {
    pub(crate) fn start(place: &Place, options: &[&str]) -> Self {
        let mut command = place.command("portcullis");
        command.arg("mcp").arg(server()).args(options);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let (lines, from) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if lines.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            to: child.stdin.take(),
            child,
            from,
            id: 0,
        }
    }

    /// Writes a line.
    pub(crate) fn send(&mut self, message: &Value) {
        self.raw(&format!("{message}\n"));
    }

    pub(crate) fn raw(&mut self, text: &str) {
        let to = self.to.as_mut().unwrap();
        to.write_all(text.as_bytes()).unwrap();
    }

    /// Calls a tool, and does not wait. Gives the id.
    pub(crate) fn call(&mut self, name: &str, arguments: &Value) -> u64 {
        self.call_with(name, arguments, &json!({}))
    }

    /// The same with further parameters.
    pub(crate) fn call_with(&mut self, name: &str, arguments: &Value, more: &Value) -> u64 {
        self.id += 1;
        let mut params = json!({"name": name, "arguments": arguments});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        self.send(&json!({
            "jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params": params,
        }));
        self.id
    }

    /// The next line, as it is.
    #[track_caller]
    pub(crate) fn line(&self) -> String {
        self.from.recv_timeout(PATIENCE).unwrap()
    }

    /// The next line as a document.
    #[track_caller]
    pub(crate) fn next(&self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no document: {line}"))
    }

    /// Calls a tool, and gives its result, which must be the next line of all.
    #[track_caller]
    pub(crate) fn result(&mut self, name: &str, arguments: &Value) -> Value {
        let id = self.call(name, arguments);
        let answer = self.next();
        assert_eq!(answer["id"], json!(id), "{answer}");
        answer["result"].clone()
    }

    /// Every line that the server got.
    #[track_caller]
    pub(crate) fn seen(&mut self) -> Vec<String> {
        let said = self.result("seen", &json!({}));
        let lines = said["structuredContent"]["said"].as_array().unwrap();
        lines
            .iter()
            .map(|line| line.as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
    }

    /// Closes its end, and waits for the command.
    pub(crate) fn close(mut self) -> Said {
        drop(self.to.take());
        self.ended()
    }

    /// Waits for the command without closing anything.
    pub(crate) fn ended(self) -> Said {
        let _open = self.to;
        Said::by(self.child)
    }
}

/// A write that needs an approval.
pub(crate) fn wanted(content: &str, by: &str) -> Value {
    json!({"path": "deploy/plan.txt", "content": content, "by": by})
}

/// What `portcullis review` says waits.
pub(crate) fn waiting(place: &Place) -> Vec<Value> {
    let said = place.portcullis(&["review", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    said.documents()[0]["proposals"].as_array().unwrap().clone()
}

/// The state of what waits, in order.
pub(crate) fn states(place: &Place) -> Vec<String> {
    let all = waiting(place);
    let state = |one: &Value| one["state"].as_str().unwrap().to_owned();
    all.iter().map(state).collect()
}

/// What is in the file that needs an approval.
pub(crate) fn plan(place: &Place) -> Option<String> {
    std::fs::read_to_string(place.at("repo/deploy/plan.txt")).ok()
}

/// A place with the file that needs an approval.
pub(crate) fn place() -> Place {
    let place = Place::new();
    place.write("repo/deploy/plan.txt", "old\n");
    place
}
