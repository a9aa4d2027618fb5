//! What is read, and what is answered without being passed on.

use super::*;

/// Feeds lines; gives what came through and what was written back.
fn fed(lines: &[u8]) -> (Vec<ClientJsonRpcMessage>, Vec<Value>) {
    let (sender, mut receiver) = mpsc::channel(AHEAD);
    let written = Arc::new(Mutex::new(Vec::new()));
    let out = Out(Arc::new(Mutex::new(Box::new(Kept(written.clone())))));
    read_all(lines, &sender, &out);
    let mut came = Vec::new();
    while let Ok(message) = receiver.try_recv() {
        came.push(message);
    }
    let written = written.lock().unwrap();
    let said = written
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    (came, said)
}

struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_is_no_message_is_answered_and_the_next_one_is_taken() {
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (bad, code, id) in [
        (&b"{"[..], -32700, Value::Null),
        (b"\xff\xfe", -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#, -32600, Value::Null),
        (
            br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{"path":"a","path":"b"}}}"#,
            -32600,
            json!(7),
        ),
        (br#"{"id":"s","method":5}"#, -32600, json!("s")),
    ] {
        let lines = [bad, b"\n\n", ping, b"\n"].concat();
        let (came, said) = fed(&lines);
        assert_eq!(came.len(), 1, "{bad:?}");
        assert_eq!(said.len(), 1, "{bad:?}: {said:?}");
        assert_eq!(said[0]["error"]["code"], code, "{said:?}");
        assert_eq!(said[0]["id"], id, "{said:?}");
    }
    let (came, said) = fed(ping);
    assert_eq!(
        (came.len(), said.len()),
        (1, 0),
        "a last line without its newline"
    );
}

#[test]
fn a_message_that_is_too_long_is_not_kept_and_not_the_end() {
    let long = vec![b'x'; MESSAGE_BYTES_MAX + 5];
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let (came, said) = fed(&[&long[..], b"\n", ping, b"\n"].concat());
    assert_eq!((came.len(), said.len()), (1, 1));
    assert_eq!(said[0]["error"]["code"], -32600);
}

/// A message of a client.
fn of(text: &str) -> ClientJsonRpcMessage {
    serde_json::from_str(text).unwrap()
}

#[test]
fn an_id_that_waits_for_its_answer_is_not_taken_again() {
    let open = Open::default();
    let ping = |id: &str| of(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
    let twice = |id: RequestId| Noted::Twice(id);
    assert_eq!(open.noted(&ping("1")), Noted::Taken);
    assert_eq!(open.noted(&ping("1")), twice(RequestId::Number(1)));
    // A text is another id, and an answer frees one.
    assert_eq!(open.noted(&ping("\"1\"")), Noted::Taken);
    open.close(&RequestId::Number(1));
    assert_eq!(open.noted(&ping("1")), Noted::Taken);
    // What is still done for a cancelled one is no answer of the next.
    let cancelled = |id: u64| {
        of(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        ))
    };
    assert_eq!(open.noted(&cancelled(1)), Noted::Taken);
    assert_eq!(open.noted(&ping("1")), twice(RequestId::Number(1)));
    // One that was never asked under can be.
    assert_eq!(open.noted(&cancelled(2)), Noted::Taken);
    assert_eq!(open.noted(&ping("2")), Noted::Taken);
    for id in 10..10 + GIVEN_UP_MAX {
        assert_eq!(open.noted(&ping(&id.to_string())), Noted::Taken);
        open.give_up(&RequestId::Number(i64::try_from(id).unwrap()));
    }
    assert_eq!(open.ids().given_up.len(), GIVEN_UP_MAX);
    assert_eq!(open.ids().waiting.len(), 2);
}

#[test]
fn what_is_refused_is_not_given_back_whole() {
    let long = "k".repeat(1024 * 1024);
    for line in [
        format!(r#"{{"{long}":1,"{long}":2}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":{{"{long}":1}}}}"#),
    ] {
        let (came, said) = fed(format!("{line}\n").as_bytes());
        assert_eq!((came.len(), said.len()), (0, 1));
        assert!(
            said[0].to_string().len() < 8192,
            "{}",
            said[0].to_string().len()
        );
    }
}
