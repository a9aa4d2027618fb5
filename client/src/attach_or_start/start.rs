//! Starting a warden: in a session of its own, with nothing of its starter but the places it is
//! told, and waited for until it answers.

use super::{AttachOrStartError, Attached, Attachment, Attempt, Tail};
use crate::place::{LOG_NAME, PlaceError, state_directory};
use portcullis_protocol::path::escape;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How often it is asked whether it answers: first soon, then less often.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(20);
/// A longer log is put aside, as `warden.log.1`, before the next warden writes.
const LOG_BYTES_MAX: u64 = 1024 * 1024;
/// Bytes of the log shown with an error.
const TAIL_BYTES_MAX: u64 = 2048;
/// The variables that say where its places are.
const VARIABLES: [&str; 3] = ["HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"];
/// Tells `portcullis serve` to leave everything behind that it has of its starter.
const APART: &str = "--apart";

impl Attempt<'_> {
    /// Starts one and waits until it, or another, answers.
    pub(super) fn start(&self) -> Result<Attached, AttachOrStartError> {
        let mut log = Log::open(&state_directory(self.options.state.as_deref())?)?;
        let mut child = self.spawn(&log)?;
        let mut pause = FIRST_PAUSE;
        let why = loop {
            if let Some(mut attached) = self.attach()? {
                attached.how = match attached.how {
                    Attachment::Found => Attachment::Started,
                    Attachment::Started | Attachment::Older(_) => attached.how,
                };
                return Ok(attached);
            }
            if let Some(ended) = ended(&mut child) {
                // Where another one came first, that one answers.
                if let Some(attached) = self.attach()? {
                    return Ok(attached);
                }
                break ended;
            }
            if self.is_over() {
                // Nobody would use it.
                drop((child.kill(), child.wait()));
                break "it did not answer in time".to_owned();
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LAST_PAUSE);
        };
        let tail = log.tail();
        Err(AttachOrStartError::NotStarted { why, tail })
    }

    fn spawn(&self, log: &Log) -> Result<Child, AttachOrStartError> {
        let executable = |source| AttachOrStartError::Executable {
            path: self.options.executable.clone(),
            source,
        };
        let mut command = Command::new(&self.options.executable);
        command.arg0("portcullis").args(["serve", APART]);
        command.arg("--socket").arg(self.place.path());
        command.arg("--state").arg(&log.state);
        command.current_dir("/").env_clear();
        for name in VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(log.file.try_clone().map_err(executable)?);
        command.spawn().map_err(executable)
    }
}

/// How the child ended, if it has.
fn ended(child: &mut Child) -> Option<String> {
    match child.try_wait() {
        Ok(None) => None,
        Ok(Some(status)) => Some(in_words(status)),
        Err(error) => Some(format!("it cannot be waited for: {error}")),
    }
}

fn in_words(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("it ended with {code}"),
        None => format!("it was ended ({status})"),
    }
}

/// What a started warden writes.
struct Log {
    file: File,
    state: PathBuf,
    /// Where what it writes begins.
    start: u64,
}

impl Log {
    fn open(state: &Path) -> Result<Self, AttachOrStartError> {
        let path = state.join(LOG_NAME);
        let system = |source| PlaceError::System {
            path: path.clone(),
            source,
        };
        let open = || {
            OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .mode(0o600)
                .open(&path)
        };
        let mut file = open().map_err(system)?;
        if file.metadata().map_err(system)?.len() > LOG_BYTES_MAX {
            std::fs::rename(&path, state.join(format!("{LOG_NAME}.1"))).map_err(system)?;
            file = open().map_err(system)?;
        }
        let start = file.seek(SeekFrom::End(0)).map_err(system)?;
        Ok(Self {
            file,
            state: state.to_path_buf(),
            start,
        })
    }

    /// The end of what was written since, on one line.
    fn tail(&mut self) -> Tail {
        let mut text = Vec::new();
        let length = self.file.metadata().map_or(0, |data| data.len());
        let from = self.start.max(length.saturating_sub(TAIL_BYTES_MAX));
        let read = self.file.seek(SeekFrom::Start(from));
        if read.is_ok() {
            // What cannot be read is not shown.
            drop(
                self.file
                    .by_ref()
                    .take(TAIL_BYTES_MAX)
                    .read_to_end(&mut text),
            );
        }
        let lines: Vec<String> = text
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(escape)
            .collect();
        Tail(lines.join(" | "))
    }
}
