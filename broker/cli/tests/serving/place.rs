//! Places of a test's own: executables, runtime directory, state.

use portcullis_client::{AttachOptions, Control};
use rustix::process::{Pid, Signal};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// Everything one test needs, gone when dropped, with every broker that was started in it.
pub(crate) struct Place(tempfile::TempDir);

/// What a command said.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("portcullis-test-")
            .tempdir()
            .unwrap();
        let place = Self(directory);
        std::fs::create_dir(place.at("bin")).unwrap();
        std::fs::create_dir(place.at("newer")).unwrap();
        std::fs::create_dir(place.at("aged")).unwrap();
        for bin in ["bin", "newer", "aged"] {
            let copy = place.at(bin).join("portcullis");
            std::fs::copy(env!("CARGO_BIN_EXE_portcullis"), copy).unwrap();
            std::fs::copy("/bin/true", place.at(bin).join("portcullis-gate")).unwrap();
        }
        set_age(
            &place.at("bin/portcullis"),
            SystemTime::now() - Duration::from_secs(60),
        );
        set_age(
            &place.at("newer/portcullis"),
            SystemTime::now() + Duration::from_secs(60),
        );
        place
    }

    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(path)
    }

    pub(crate) fn runtime(&self) -> PathBuf {
        self.at("portcullis")
    }

    /// The usual executable.
    pub(crate) fn options(&self) -> AttachOptions {
        self.of("bin")
    }

    /// One that was made later.
    pub(crate) fn newer(&self) -> AttachOptions {
        self.of("newer")
    }

    /// One that is so much older than this test's own.
    pub(crate) fn aged(&self, by: Duration) -> AttachOptions {
        let own = std::env::current_exe().unwrap().metadata().unwrap();
        set_age(&self.at("aged/portcullis"), own.modified().unwrap() - by);
        self.of("aged")
    }

    fn of(&self, bin: &str) -> AttachOptions {
        let mut options = AttachOptions::new(self.at(bin).join("portcullis"));
        options.runtime = Some(self.runtime());
        options.state = Some(self.at("home/portcullis"));
        options
    }

    pub(crate) fn environment(&self, command: &mut Command) {
        command.env("XDG_RUNTIME_DIR", self.0.path());
        command.env("XDG_STATE_HOME", self.at("home"));
    }

    /// `portcullis` in these places.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.at("bin/portcullis"));
        self.environment(&mut command);
        command.args(words).stdin(Stdio::null());
        command
    }

    pub(crate) fn portcullis(&self, words: &[&str]) -> Said {
        let output = self.command(words).output().unwrap();
        Said {
            code: output.status.code().unwrap(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// A broker in the foreground.
    pub(crate) fn serve(&self, words: &[&str]) -> Child {
        let words = [&["serve"], words].concat();
        let mut command = self.command(&words);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // It is there, or it has been.
        let name = self.runtime().join("warden.lock");
        assert!(within(Duration::from_secs(10), || {
            name.exists() || child.try_wait().unwrap().is_some()
        }));
        child
    }

    /// A connection to the broker that serves.
    pub(crate) fn answers(&self) -> Control {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(control) = Control::attach(Some(&self.runtime())).unwrap() {
                return control;
            }
            assert!(Instant::now() < deadline, "it does not answer");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn signal(&self, child: &Child, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(child), signal).unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What still serves here is told to end; its own idle time would end it as well.
        if let Ok(Some(control)) = Control::attach(Some(&self.runtime())) {
            let own = i32::try_from(std::process::id()).ok();
            let process = control.peer_process().filter(|pid| Some(*pid) != own);
            if let Some(process) = process.and_then(Pid::from_raw) {
                rustix::process::kill_process(process, Signal::INT).ok();
            }
        }
    }
}

fn set_age(path: &Path, time: SystemTime) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

/// Whether it becomes true in time.
pub(crate) fn within(time: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + time;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process has ended; one that is not reaped yet has.
pub(crate) fn gone(process: i32) -> bool {
    match std::fs::read_to_string(format!("/proc/{process}/stat")) {
        Ok(stat) => stat
            .rsplit(')')
            .next()
            .unwrap()
            .trim_start()
            .starts_with('Z'),
        Err(_) => true,
    }
}
