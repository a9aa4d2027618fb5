//! A directory to repo in, executables to run, and what they said.

use portcullis_client::Control;
use portcullis_tests::own;
use rustix::process::{Pid, Signal};
use std::fmt;
use std::io::Read;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// No command of these tests takes as long; one that does hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The three executables, beside each other.
#[derive(Debug)]
pub(crate) struct Installed(tempfile::TempDir);

/// Copied while nothing is started: a file that is open for writing in a child of another thread
/// could not be executed.
static INSTALLED: Mutex<Weak<Installed>> = Mutex::new(Weak::new());

impl Installed {
    fn shared() -> Arc<Self> {
        let mut known = INSTALLED.lock().unwrap();
        if let Some(installed) = known.upgrade() {
            return installed;
        }
        let directory = temporary();
        for (built, name) in [
            (own!("own-portcullis"), "portcullis"),
            (own!("own-gate"), "portcullis-gate"),
            (own!("own-tool"), "portcullis-tool"),
        ] {
            let named = directory.path().join(name);
            if std::fs::hard_link(&built, &named).is_err() {
                std::fs::copy(&built, &named).unwrap();
            }
        }
        let installed = Arc::new(Self(directory));
        *known = Arc::downgrade(&installed);
        installed
    }
}

fn temporary() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("portcullis-test-")
        .tempdir()
        .unwrap()
}

/// A directory with `repo`, which is granted, and `outside`, which is not.
pub(crate) struct Place {
    directory: tempfile::TempDir,
    installed: Arc<Installed>,
}

impl Place {
    /// With a few files in `repo`.
    pub(crate) fn new() -> Self {
        let place = Self {
            directory: temporary(),
            installed: Installed::shared(),
        };
        for own in ["tmp", "runtime", "state"] {
            std::fs::create_dir(place.at(own)).unwrap();
        }
        place.write("repo/README.md", "# title\nsecond line\nthird line\n");
        place.write("repo/src/main.rs", "fn main() {\n    needle();\n}\n");
        place.write("repo/src/lib.rs", "pub fn needle() {}\n");
        place.write("repo/.env", "KEY=secret-value\n");
        place.write("repo/hidden.txt", "hidden-value\n");
        place.write("outside/secret", "outside-value\n");
        place
    }

    /// A path below the directory.
    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.directory.path().join(path)
    }

    /// The directory, as text that may not appear where no host path may.
    pub(crate) fn host(&self) -> String {
        self.directory.path().to_str().unwrap().to_owned()
    }

    /// Writes a file with its parents.
    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// One of the executables, started in the directory.
    pub(crate) fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.installed.0.path().join(name));
        command.current_dir(self.directory.path());
        // So that nothing is left behind by those that are killed.
        command.env("TMPDIR", self.at("tmp"));
        // So that no broker and no records but those of this place are met.
        command.env("XDG_RUNTIME_DIR", self.at("runtime"));
        command.env("XDG_STATE_HOME", self.at("state"));
        command.stdin(Stdio::null());
        command
    }

    /// `portcullis` with these arguments.
    pub(crate) fn portcullis(&self, arguments: &[&str]) -> Said {
        Said::of(self.command("portcullis").args(arguments))
    }

    /// `portcullis run` with these options, on a command that is not started yet.
    pub(crate) fn worker(&self, options: &[&str], command: &[&str]) -> Command {
        let mut run = self.command("portcullis");
        run.arg("run").args(options).arg("--").args(command);
        run
    }

    /// A script of a shell as a worker whose workspace is `repo`.
    pub(crate) fn script(&self, options: &[&str], script: &str) -> Said {
        let options = [&["--workspace", "repo"], options].concat();
        Said::of(&mut self.worker(&options, &["bash", "-c", script]))
    }
}

impl Drop for Place {
    /// The broker that a run started ends with the place.
    fn drop(&mut self) {
        let runtime = self.at("runtime/portcullis");
        if let Ok(Some(control)) = Control::attach(Some(&runtime))
            && let Some(process) = control.peer_process().and_then(Pid::from_raw)
        {
            rustix::process::kill_process(process, Signal::INT).ok();
        }
    }
}

/// What a command said, and how it ended.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) raw: Vec<u8>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// Runs it to its end. One that hangs is killed and fails the test.
    pub(crate) fn of(command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::by(command.spawn().unwrap())
    }

    /// The same, of one that runs already.
    pub(crate) fn by(mut child: Child) -> Self {
        let out = child.stdout.take().map(drain);
        let err = child.stderr.take().map(drain);
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                child.kill().unwrap();
                panic!("it hangs");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let collect = |thread: Option<JoinHandle<Vec<u8>>>| {
            thread.map_or_else(Vec::new, |thread| thread.join().unwrap())
        };
        let (raw, err) = (collect(out), collect(err));
        Self {
            code: status
                .code()
                .unwrap_or_else(|| -status.signal().unwrap_or(0)),
            out: String::from_utf8_lossy(&raw).into_owned(),
            raw,
            err: String::from_utf8_lossy(&err).into_owned(),
        }
    }

    /// The lines of standard output.
    pub(crate) fn lines(&self) -> Vec<&str> {
        self.out.lines().collect()
    }

    /// The last line of standard error as a document.
    pub(crate) fn document(&self) -> serde_json::Value {
        let last = self.err.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|_| panic!("no document: {self:?}"))
    }

    /// Every line of standard output as a document.
    pub(crate) fn documents(&self) -> Vec<serde_json::Value> {
        let document = |line| {
            serde_json::from_str(line).unwrap_or_else(|_| panic!("no document: {line}: {self:?}"))
        };
        self.out.lines().map(document).collect()
    }
}

impl fmt::Debug for Said {
    /// Without the bytes, which the text repeats.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, out, err, .. } = self;
        write!(f, "code {code}\nout: {out}\nerr: {err}")
    }
}

fn drain(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        from.read_to_end(&mut all).unwrap();
        all
    })
}
