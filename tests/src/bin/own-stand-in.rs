//! A stand-in for the MCP server: a worker that does with its session what it is told, and writes to
//! its client what it is told, so that a test decides how hostile it is.
//!
//! Tools: `write` (path, content, by) changes a file and marks a result that waits; `raw` (text)
//! writes text as it is; `flood` (bytes) writes that many without the end of a line; `seen` gives every
//! line that came in; `arguments` its own; `end` (code) ends; `deaf` never looks at anything again.

use portcullis_client::{Changes, Session, ask, change};
use serde_json::{Value, json};
use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let mut session = Session::from_env().unwrap();
    let mut seen = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        seen.push(line.clone());
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let (id, params) = (&message["id"], &message["params"]);
        let given = &params["arguments"];
        let text = |name: &str| given[name].as_str().unwrap_or_default();
        let result = match params["name"].as_str() {
            Some("write") => write(&mut session, given),
            Some("seen") => said(json!(seen)),
            Some("arguments") => said(json!(std::env::args().collect::<Vec<_>>())),
            Some("raw") => {
                put(text("text").as_bytes());
                continue;
            }
            Some("flood") => {
                let piece = [b'x'; 4096];
                for _ in 0..given["bytes"].as_u64().unwrap() / 4096 {
                    put(&piece);
                }
                continue;
            }
            Some("end") => {
                return ExitCode::from(u8::try_from(given["code"].as_u64().unwrap()).unwrap());
            }
            Some("deaf") => loop {
                std::thread::sleep(Duration::from_secs(1000));
            },
            Some(_) | None => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        put(format!("{answer}\n").as_bytes());
    }
    ExitCode::SUCCESS
}

fn put(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    // A client that is gone reads nothing.
    out.write_all(bytes).and_then(|()| out.flush()).ok();
}

fn said(what: Value) -> Value {
    json!({"content": [{"type": "text", "text": what.to_string()}], "structuredContent": {"said": what}})
}

fn write(session: &mut Session, given: &Value) -> Value {
    let text = |name: &str| given[name].as_str().unwrap_or_default().to_owned();
    let to = ask::selector(text("path")).unwrap();
    let changes = Changes::new().with(change::write(to, text("content")));
    let error = match session.change(&changes) {
        Ok(_) => return said(json!("done")),
        Err(error) => error,
    };
    let mut result = said(json!(error.to_string()));
    result["isError"] = json!(true);
    if let Some(proposal) = error.refusal().and_then(|refusal| refusal.proposal) {
        result["_meta"] = json!({
            "portcullis/approval": {"proposal": proposal.0, "by": text("by")}
        });
    }
    result
}
