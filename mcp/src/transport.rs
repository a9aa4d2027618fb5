//! Messages on the standard descriptors: one JSON document a line, read strictly and within a
//! bound. What is no message is answered with an error and never reaches a tool.

use crate::short::short;
use crate::{strict, sys};
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{HashSet, VecDeque};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::unix::AsyncFd;
use tokio::sync::{Notify, mpsc};

/// Bytes of one message, at most. A longer one is answered with an error, and not kept.
pub(crate) const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Messages read ahead of those that are worked on, where they are read by a thread.
const AHEAD: usize = 64;
/// Ids of cancelled requests that are remembered.
const GIVEN_UP_MAX: usize = 1024;
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;

/// The standard descriptors.
pub(crate) struct Stdio {
    input: Input,
    out: Out,
    open: Arc<Open>,
}

/// How messages come in.
enum Input {
    /// On this thread, which is woken when there is something to read: no other has to be.
    Here(Lines),
    /// From a thread that waits for them, where a descriptor cannot be waited for in any other way: a
    /// file. Nothing comes after an error.
    Thread(mpsc::Receiver<ClientJsonRpcMessage>),
}

/// Where messages are written, whole lines at a time.
#[derive(Clone)]
struct Out(Arc<Mutex<Box<dyn Write + Send>>>);

/// Requests that were taken and not answered: the end of input does not cut them off.
#[derive(Default)]
struct Open {
    ids: Mutex<Ids>,
    changed: Notify,
}

#[derive(Default)]
struct Ids {
    /// Those that wait for their answers.
    waiting: HashSet<RequestId>,
    /// Those that were cancelled, the latest last: what is still done for one has no answer, and
    /// must not be taken for that of another.
    given_up: VecDeque<RequestId>,
}

impl Stdio {
    /// Starts to read standard input. Within a runtime.
    pub(crate) fn start() -> Self {
        let out = Out(Arc::new(Mutex::new(Box::new(io::stdout()))));
        // Not made non-blocking: others may have the same pipe or terminal.
        let input = match sys::standard_input() {
            Some(standard) => Input::Here(Lines::new(standard)),
            None => {
                let (sender, messages) = mpsc::channel(AHEAD);
                let errors = out.clone();
                std::thread::spawn(move || read_all(BufReader::new(io::stdin()), &sender, &errors));
                Input::Thread(messages)
            }
        };
        Self {
            input,
            out,
            open: Arc::default(),
        }
    }
}

/// Lines of a descriptor that can be waited for.
struct Lines {
    from: AsyncFd<io::Stdin>,
    room: Box<[u8]>,
    /// What was read and not given yet.
    held: Vec<u8>,
    /// Bytes of it that hold no end of a line.
    looked: usize,
    state: Reading,
}

/// Whether a read would not wait.
fn is_readable() -> io::Result<bool> {
    let stdin = rustix::stdio::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let now = Timespec::default();
    loop {
        match rustix::event::poll(&mut polled, Some(&now)) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Where the reading is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Within lines that are kept.
    Kept,
    /// Within one that is too long.
    Dropped,
    /// At the end.
    Over,
}

impl Lines {
    fn new(from: AsyncFd<io::Stdin>) -> Self {
        Self {
            from,
            room: vec![0; CHUNK].into_boxed_slice(),
            held: Vec::new(),
            looked: 0,
            state: Reading::Kept,
        }
    }

    /// The next message. Given up while it waits, it has lost nothing.
    async fn next(&mut self, out: &Out) -> Option<ClientJsonRpcMessage> {
        loop {
            match self.line() {
                Some(line) => match message(&line) {
                    Ok(Some(message)) => return Some(message),
                    Ok(None) => {}
                    Err(bad) => refuse(out, &bad.id, bad.code, &bad.what).ok()?,
                },
                None if self.state == Reading::Over => return None,
                None => {
                    if self.held.len() > MESSAGE_BYTES_MAX {
                        self.held = Vec::new();
                        self.looked = 0;
                        self.state = Reading::Dropped;
                        too_long(out).ok()?;
                    }
                    self.fill().await.ok()?;
                }
            }
        }
    }

    /// A whole line, without its end.
    fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            let new = self.held.get(self.looked..).unwrap_or_default();
            let Some(at) = new.iter().position(|byte| *byte == b'\n') else {
                self.looked = self.held.len();
                return match self.state {
                    Reading::Kept => None,
                    Reading::Dropped => {
                        self.held.clear();
                        self.looked = 0;
                        None
                    }
                    // The last line may lack its newline.
                    Reading::Over => {
                        self.looked = 0;
                        Some(std::mem::take(&mut self.held)).filter(|line| !line.is_empty())
                    }
                };
            };
            let rest = self.held.split_off(self.looked + at + 1);
            let mut line = std::mem::replace(&mut self.held, rest);
            self.looked = 0;
            line.pop();
            match self.state {
                Reading::Dropped => self.state = Reading::Kept,
                Reading::Kept | Reading::Over => return Some(line),
            }
        }
    }

    /// Reads what is there, once there is something.
    async fn fill(&mut self) -> io::Result<()> {
        loop {
            let mut ready = self.from.readable().await?;
            // Readiness may be of what was read already, and a read would then wait.
            if !is_readable()? {
                ready.clear_ready();
                continue;
            }
            let read = rustix::io::read(rustix::stdio::stdin(), &mut *self.room)?;
            if read == 0 {
                self.state = Reading::Over;
            }
            let new = self.room.get(..read).unwrap_or_default();
            self.held.extend_from_slice(new);
            return Ok(());
        }
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        // Written here and now: a client that does not read is waited for by everything.
        let sent = self.out.message(&item);
        if let Some(id) = answered {
            self.open.close(&id);
        }
        std::future::ready(sent)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let next = match &mut self.input {
                Input::Here(lines) => lines.next(&self.out).await,
                Input::Thread(messages) => messages.recv().await,
            };
            let Some(message) = next else {
                self.open.all_closed().await;
                return None;
            };
            match self.open.noted(&message) {
                Noted::Taken => return Some(message),
                Noted::Twice(id) => twice(&self.out, &id).ok()?,
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        if let Input::Thread(messages) = &mut self.input {
            messages.close();
        }
        Ok(())
    }
}

/// What becomes of a message.
#[derive(Debug, PartialEq, Eq)]
enum Noted {
    /// It is passed on.
    Taken,
    /// It asks under an id that has no answer yet: one of the two would have none.
    Twice(RequestId),
}

impl Open {
    /// Takes note of what a message begins or gives up.
    fn noted(&self, message: &ClientJsonRpcMessage) -> Noted {
        match message {
            JsonRpcMessage::Request(request) => {
                let mut ids = self.ids();
                let id = &request.id;
                if ids.given_up.contains(id) || !ids.waiting.insert(id.clone()) {
                    return Noted::Twice(id.clone());
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let rmcp::model::ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // It is not answered any more.
                    self.give_up(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Noted::Taken
    }

    fn close(&self, id: &RequestId) {
        self.ids().waiting.remove(id);
        self.changed.notify_one();
    }

    fn give_up(&self, id: &RequestId) {
        let mut ids = self.ids();
        if ids.waiting.remove(id) {
            if ids.given_up.len() >= GIVEN_UP_MAX {
                ids.given_up.pop_front();
            }
            ids.given_up.push_back(id.clone());
        }
        drop(ids);
        self.changed.notify_one();
    }

    async fn all_closed(&self) {
        while !self.ids().waiting.is_empty() {
            self.changed.notified().await;
        }
    }

    fn ids(&self) -> std::sync::MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Out {
    fn message(&self, message: &impl serde::Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(&line)?;
        out.flush()
    }
}

/// Reads until the input ends or nobody takes messages any more.
fn read_all(mut input: impl BufRead, messages: &mpsc::Sender<ClientJsonRpcMessage>, out: &Out) {
    let mut line = Vec::new();
    loop {
        match read_line(&mut input, &mut line) {
            Ok(Line::End) | Err(_) => return,
            Ok(Line::TooLong) => {
                if too_long(out).is_err() {
                    return;
                }
            }
            Ok(Line::Whole) => match message(&line) {
                Ok(Some(message)) => {
                    if messages.blocking_send(message).is_err() {
                        return;
                    }
                }
                Ok(None) => {}
                Err(bad) => {
                    if refuse(out, &bad.id, bad.code, &bad.what).is_err() {
                        return;
                    }
                }
            },
        }
    }
}

enum Line {
    Whole,
    TooLong,
    End,
}

/// Reads one line without its end. Of one that is too long nothing is kept.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Line> {
    line.clear();
    let most = u64::try_from(MESSAGE_BYTES_MAX).unwrap_or(u64::MAX);
    input.by_ref().take(most).read_until(b'\n', line)?;
    if line.pop_if(|byte| *byte == b'\n').is_some() {
        return Ok(Line::Whole);
    }
    if line.len() < MESSAGE_BYTES_MAX {
        // The last line may lack its newline.
        return Ok(if line.is_empty() {
            Line::End
        } else {
            Line::Whole
        });
    }
    line.clear();
    line.shrink_to_fit();
    input.skip_until(b'\n')?;
    Ok(Line::TooLong)
}

/// What is no message, as its sender is told.
struct Bad {
    id: Value,
    code: ErrorCode,
    what: String,
}

/// Reads one line; a blank one is none.
fn message(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Bad> {
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    if let Err(error) = strict::check(line) {
        // Which request it was can be said where the text is JSON all the same.
        return Err(Bad {
            id: id_of(line),
            code: if error.is_data() {
                ErrorCode::INVALID_REQUEST
            } else {
                ErrorCode::PARSE_ERROR
            },
            what: short(&format!(
                "nothing was done: the message is not taken: {error}"
            )),
        });
    }
    match serde_json::from_slice(line) {
        Ok(message) => Ok(Some(message)),
        Err(error) => Err(Bad {
            id: id_of(line),
            code: ErrorCode::INVALID_REQUEST,
            what: short(&format!(
                "nothing was done: it is no request, notification or answer: {error}"
            )),
        }),
    }
}

/// The id of what may be a request; null when there is none.
fn id_of(line: &[u8]) -> Value {
    #[derive(Deserialize)]
    struct Id {
        id: Value,
    }
    match serde_json::from_slice(line) {
        Ok(Id { id }) if id.is_string() || id.is_number() => id,
        Ok(_) | Err(_) => Value::Null,
    }
}

/// Without its id: under that the first one is answered.
fn twice(out: &Out, id: &RequestId) -> io::Result<()> {
    let what = format!(
        "nothing was done: an earlier request with the id {} has no answer; take another id",
        short(&id.to_string())
    );
    refuse(out, &Value::Null, ErrorCode::INVALID_REQUEST, &what)
}

fn too_long(out: &Out) -> io::Result<()> {
    let what = format!("nothing was done: a message has at most {MESSAGE_BYTES_MAX} bytes");
    refuse(out, &Value::Null, ErrorCode::INVALID_REQUEST, &what)
}

fn refuse(out: &Out, id: &Value, code: ErrorCode, what: &str) -> io::Result<()> {
    out.message(&json!({
        "jsonrpc": "2.0",
        "id": id,
        "error": { "code": code.0, "message": what },
    }))
}

#[cfg(test)]
mod tests;
