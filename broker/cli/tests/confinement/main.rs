//! A worker against the real kernel. Every attempt is made twice: unconfined, where it must
//! succeed, and confined, where it must fail as the table says. Passes as root and as any user.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test that calls them"
)]

mod attack;
mod sys;

use portcullis_cli::worker::{self, LaunchError, Report, Streams, Worker};
use portcullis_client::place::{RuntimeDirectory, WARDEN_LOCK};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const EACCES: u8 = 13;
const EPERM: u8 = 1;
const ENOENT: u8 = 2;
const EOPNOTSUPP: u8 = 95;

fn portcullis() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_portcullis"))
}

/// Not a test of its own: what this executable does when it is run as the hostile program.
#[test]
fn attacker() {
    attack::act();
}

/// Not a test of its own: what this executable does when it is run as a launcher, with standard
/// streams that the test chose.
#[test]
fn launcher() {
    if let Ok(script) = std::env::var(LAUNCH_VARIABLE) {
        if let Ok(missing) = std::env::var(MISSING_VARIABLE) {
            take_away(&missing);
        }
        let command = ["sh", "-c", &script].map(OsString::from).to_vec();
        std::process::exit(match launch(command, vec![own()]) {
            Ok((code, _)) => code.into(),
            Err(error) => {
                eprintln!("{error}");
                error.exit_code().into()
            }
        });
    }
}

/// Names a script to launch.
const LAUNCH_VARIABLE: &str = "PORTCULLIS_TEST_LAUNCH";

/// Names a system call, and the error it shall give the launcher and its children.
const MISSING_VARIABLE: &str = "PORTCULLIS_TEST_MISSING";

/// Makes this thread and what it starts live on a kernel that lacks something.
fn take_away(what: &str) {
    let (call, error) = what.split_once(' ').unwrap();
    let number = match call {
        "landlock" => libc::SYS_landlock_create_ruleset,
        "seccomp" => libc::SYS_seccomp,
        _ => libc::SYS_close_range,
    };
    let program: BpfProgram = SeccompFilter::new(
        [(number, Vec::new())].into_iter().collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(error.parse().unwrap()),
        std::env::consts::ARCH.try_into().unwrap(),
    )
    .and_then(TryInto::try_into)
    .unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

fn own() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// This executable, run again as one of the two above.
fn again(role: &str, variable: &str, value: &str) -> Command {
    let mut command = Command::new(own());
    command.args(["--exact", role, "--nocapture"]);
    command.env(variable, value);
    command
}

fn launching(script: &str) -> Command {
    again("launcher", LAUNCH_VARIABLE, script)
}

/// The attempt as a line of shell.
fn attempt(words: &[&str]) -> String {
    let (variable, words, own) = (attack::VARIABLE, words.join("\t"), own());
    let own = own.display();
    format!("{variable}='{words}' exec '{own}' --exact attacker --nocapture")
}

fn unconfined(words: &[&str]) -> u8 {
    let mut command = again("attacker", attack::VARIABLE, &words.join("\t"));
    let status = command.stdout(Stdio::null()).status().unwrap();
    u8::try_from(status.code().unwrap()).unwrap()
}

fn worker(command: Vec<OsString>, runtime: Vec<PathBuf>) -> (Worker, OwnedFd) {
    let (session, other) = portcullis_transport::pair().unwrap();
    let worker = Worker {
        command,
        environment: Vec::new(),
        runtime,
        tool: None,
        session,
        launcher: portcullis(),
        streams: Streams::Own,
    };
    (worker, other)
}

fn launch(command: Vec<OsString>, runtime: Vec<PathBuf>) -> Result<(u8, Report), LaunchError> {
    let (worker, _other) = worker(command, runtime);
    let running = worker::launch(worker)?;
    let report = running.report().clone();
    let private = running.private().to_owned();
    let ended = running.wait().unwrap();
    assert!(ended.troubles.is_empty(), "{:?}", ended.troubles);
    assert!(!private.exists(), "the private directory is removed");
    Ok((ended.code, report))
}

fn confined(words: &[&str]) -> u8 {
    confined_with(words, Vec::new())
}

fn confined_with(words: &[&str], mut runtime: Vec<PathBuf>) -> u8 {
    runtime.push(own());
    let script = format!("{} >/dev/null", attempt(words));
    let command = ["sh", "-c", &script].map(OsString::from).to_vec();
    launch(command, runtime).unwrap().0
}

fn shell(script: &str) -> u8 {
    let command = ["sh", "-c", script].map(OsString::from).to_vec();
    launch(command, Vec::new()).unwrap().0
}

/// A directory of the user with a file in it, gone when dropped.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let pid = std::process::id();
        let path = std::env::temp_dir().join(format!("portcullis-test-{pid}-{name}"));
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("file"), b"secret").unwrap();
        Self(path)
    }

    fn file(&self) -> String {
        self.at("file")
    }

    fn at(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Unconfined it succeeds, confined it fails with `expected`.
fn refuses(expected: u8, arguments: &[&str]) {
    assert_eq!(unconfined(arguments), 0, "control of {arguments:?}");
    assert_eq!(confined(arguments), expected, "{arguments:?}");
}

#[test]
fn files_of_the_user_are_out_of_reach() {
    let home = Home::new("files");
    refuses(EACCES, &["read", &home.file()]);
    refuses(EACCES, &["list", home.0.to_str().unwrap()]);
    refuses(EACCES, &["create", &home.at("new")]);
    std::fs::remove_file(home.at("new")).unwrap();
    assert_eq!(confined(&["create", &home.at("new")]), EACCES);
    assert!(!Path::new(&home.at("new")).exists());
    refuses(EACCES, &["truncate", &home.file()]);
    assert_eq!(confined(&["remove", &home.file()]), EACCES);
    assert_eq!(unconfined(&["remove", &home.file()]), 0);
    refuses(EACCES, &["read", "/etc/passwd"]);
    refuses(EACCES, &["read", "/proc/self/maps"]);
    refuses(EACCES, &["list", "/"]);
}

#[test]
fn metadata_of_files_cannot_be_changed_or_watched() {
    let home = Home::new("metadata");
    let (file, directory) = (home.file(), home.0.to_str().unwrap().to_owned());
    for name in ["chmod", "chown", "times", "handle"] {
        refuses(EPERM, &[name, &file]);
    }
    refuses(EPERM, &["watch", &directory]);
    if unconfined(&["setxattr", &file]) == 0 {
        refuses(EPERM, &["setxattr", &file]);
        refuses(EOPNOTSUPP, &["getxattr", &file]);
    }
}

#[test]
fn a_runtime_file_of_the_same_user_can_be_read_but_not_changed() {
    let home = Home::new("runtime");
    let file = home.file();
    let inside = |name: &str| confined_with(&[name, &file], vec![home.0.clone()]);
    assert_eq!(inside("read"), 0);
    for (name, expected) in [
        ("fchmod", EPERM),
        ("lease", EPERM),
        ("flags", EPERM),
        ("create", EACCES),
    ] {
        assert_eq!(unconfined(&[name, &file]), 0, "control of {name}");
        assert_eq!(inside(name), expected, "{name}");
    }
}

#[test]
fn local_services_and_networks_are_out_of_reach() {
    let home = Home::new("sockets");
    let path = home.at("service");
    let _listener = UnixListener::bind(&path).unwrap();
    refuses(EPERM, &["connect", &path]);
    for family in [libc::AF_UNIX, libc::AF_INET] {
        refuses(EPERM, &["socket", &family.to_string()]);
    }
    refuses(EPERM, &["udp"]);
    refuses(EPERM, &["datagram-pair"]);
    assert_eq!(
        confined(&["stream-pair"]),
        0,
        "pairs of its own are harmless"
    );
}

/// With it a worker could give itself any authority.
#[test]
fn the_control_socket_of_the_broker_is_out_of_reach() {
    let home = Home::new("control");
    let runtime = home.0.join("runtime");
    let place = RuntimeDirectory::open(Some(&runtime)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(1);
    let lock = place.lock(WARDEN_LOCK, deadline).unwrap();
    let _listening = place.listen(&lock).unwrap();
    let socket = place.socket_path();
    let socket = socket.to_str().unwrap();
    refuses(EPERM, &["packet", socket]);
    refuses(EACCES, &["list", runtime.to_str().unwrap()]);
    refuses(EACCES, &["create", runtime.join("x").to_str().unwrap()]);
}

/// What a worker has waiting in sockets counts for all processes of its user.
#[test]
fn a_worker_may_have_fewer_descriptors_than_a_gate() {
    let script = "test \"$(ulimit -n)\" -le 1024 && test \"$(ulimit -Hn)\" -le 1024";
    assert_eq!(shell(script), 0);
}

#[test]
fn other_processes_are_out_of_reach() {
    let mut other = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = other.id().to_string();
    for name in ["memory", "kill", "limit", "priority", "trace"] {
        refuses(EPERM, &[name, &pid]);
    }
    // The kernel looks at the low half of the command only, and so does the filter.
    assert_eq!(confined(&["owner-signal", &pid]), EPERM);
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn the_rest_of_the_kernel_is_out_of_reach() {
    for name in [
        "io-uring",
        "namespace",
        "clone-namespace",
        "mount",
        "keyring",
        "shared-memory",
    ] {
        refuses(EPERM, &[name]);
    }
    refuses(EPERM, &["personality"]);
}

#[test]
fn ordinary_programs_work() {
    assert_eq!(confined(&["threads"]), 0);
    assert_eq!(
        shell("echo hi > file && cat file >/dev/null && mkdir d && mv file d && rm -r d"),
        0
    );
    assert_eq!(
        shell("test \"$PWD\" = \"$HOME\" && test \"$HOME\" = \"$TMPDIR\""),
        0
    );
    assert_eq!(
        shell("mkfifo f && (echo x > f &) && read x < f && test $x = x"),
        0
    );
    assert_eq!(shell("ls /usr/bin | head -3 | sort | wc -l >/dev/null"), 0);
    assert_eq!(shell("ls -l / /usr 2>&1 | grep -q 'not implemented'"), 1);
    assert_eq!(shell("exit 42"), 42);
    assert_eq!(shell("kill -TERM $$"), 128 + 15);
    assert_eq!(shell("umask | grep -q 0077 && test $(ulimit -c) = 0"), 0);
}

#[test]
fn nothing_of_the_caller_is_inherited() {
    assert_eq!(confined(&["environment", "CARGO_MANIFEST_DIR"]), ENOENT);
    assert_eq!(confined(&["environment", "PORTCULLIS_SOCKET_FD"]), 0);
    // The control leaves descriptor 9 open across exec.
    let script = attempt(&["descriptors", "0,1,2"]);
    let control = format!("exec 9</dev/null; {script}");
    let control = Command::new("sh").args(["-c", &control]).status().unwrap();
    assert_eq!(control.code(), Some(0), "an extra descriptor is seen");
    // The same, through a launcher that inherited it.
    let through = "exec 9</dev/null; exec \"$0\" --exact launcher --nocapture";
    let mut command = Command::new("sh");
    command.args(["-c", through]).arg(own());
    let status = command.env(LAUNCH_VARIABLE, script).status().unwrap();
    assert_eq!(status.code(), Some(9), "EBADF: there is none");
}

#[test]
fn files_as_standard_streams_are_relayed_and_not_handed_over() {
    let home = Home::new("streams");
    let out = || File::create(home.at("out")).unwrap();
    let words = ["kind-of-stdout", "file"];
    let mut control = again("attacker", attack::VARIABLE, &words.join("\t"));
    let control = control.stdout(out()).status().unwrap();
    assert_eq!(control.code(), Some(0), "the control holds the file");
    let status = launching(&attempt(&words)).stdout(out()).status();
    assert_eq!(status.unwrap().code(), Some(libc::ESPIPE));

    let both = out();
    let status = launching("cat; echo error >&2; echo more; exit 5")
        .stdin(File::open(home.file()).unwrap())
        .stderr(both.try_clone().unwrap())
        .stdout(both)
        .status();
    assert_eq!(status.unwrap().code(), Some(5));
    let written = std::fs::read_to_string(home.at("out")).unwrap();
    assert!(
        written.ends_with("\nsecreterror\nmore\n"),
        "all of it, in order: {written:?}"
    );
}

#[test]
fn a_terminal_is_passed_on_and_cannot_be_typed_into() {
    let (_person, terminal) = sys::terminal().unwrap();
    let input = || Stdio::from(terminal.try_clone().unwrap());
    let unconfined = |what| {
        let mut command = again("attacker", attack::VARIABLE, what);
        command.stdin(input()).status().unwrap().code()
    };
    let confined = |what| {
        let mut command = launching(&attempt(&[what]));
        command.stdin(input()).status().unwrap().code()
    };
    assert_eq!((unconfined("size"), confined("size")), (Some(0), Some(0)));
    // Kernels can switch typing off for everyone; then there is nothing to compare with.
    match unconfined("type") {
        Some(0) => assert_eq!(confined("type"), Some(EPERM.into())),
        Some(libc::EIO) => assert_ne!(confined("type"), Some(0)),
        other => panic!("the control fails with {other:?}"),
    }
}

#[test]
fn output_of_any_size_is_passed_on_whole() {
    let home = Home::new("size");
    let out = File::create(home.at("out")).unwrap();
    let status = launching("head -c 3000000 /dev/zero").stdout(out).status();
    assert!(status.unwrap().success());
    let written = std::fs::read(home.at("out")).unwrap();
    assert_eq!(written.iter().filter(|byte| **byte == 0).count(), 3_000_000);
}

#[test]
fn what_the_command_leaves_behind_is_not_waited_for() {
    let home = Home::new("left");
    let out = File::create(home.at("out")).unwrap();
    let started = Instant::now();
    let status = launching("echo done; sleep 20 & exit 3")
        .stdout(out)
        .status();
    assert_eq!(status.unwrap().code(), Some(3));
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(
        std::fs::read(home.at("out"))
            .unwrap()
            .ends_with(b"\ndone\n")
    );
}

#[test]
fn the_worker_dies_with_its_launcher() {
    // The worker writes its process id and replaces itself, so that the id stays.
    // What a killed launcher cannot remove lies in the home of this test.
    let home = Home::new("killed");
    let mut launcher = launching("echo id=$$; exec sleep 600");
    launcher.env("TMPDIR", &home.0);
    let mut running = launcher.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let id = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("id=").map(str::to_owned));
    let worker = PathBuf::from("/proc").join(id.unwrap());
    assert!(worker.exists(), "the control: it runs");
    running.kill().unwrap();
    running.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while worker.exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!worker.exists());
}

#[test]
fn the_report_is_observed_and_whole() {
    let (code, report) = launch(vec!["true".into()], Vec::new()).unwrap();
    assert_eq!(code, 0);
    assert!(report.is_whole(), "{report:?}");
    assert!(
        report.landlock_rules >= 5 && report.probes.len() >= 8,
        "{report:?}"
    );
}

#[test]
fn without_its_mechanisms_nothing_runs() {
    let home = Home::new("missing");
    let script = format!("echo ran > {}", home.at("out"));
    for (missing, word) in [
        (format!("landlock {}", libc::ENOSYS), "no Landlock"),
        (format!("landlock {}", libc::EOPNOTSUPP), "switched off"),
        (format!("landlock {}", libc::EPERM), "a filter around"),
        (format!("seccomp {}", libc::ENOSYS), "seccomp"),
        (format!("close_range {}", libc::ENOSYS), "close descriptors"),
    ] {
        let mut command = launching(&script);
        let output = command.env(MISSING_VARIABLE, &missing).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(worker::NOT_CONFINED.into()),
            "{missing}"
        );
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains("nothing ran") && said.contains(word),
            "{missing}: {said}"
        );
    }
    let control = launching("echo ran").output().unwrap();
    assert_eq!(control.status.code(), Some(0));
}

#[test]
fn what_cannot_run_is_told_apart() {
    let failed = |name: &str| {
        launch(vec![name.into()], Vec::new())
            .unwrap_err()
            .exit_code()
    };
    assert_eq!(failed("no-such-command"), worker::NOT_FOUND);
    assert_eq!(failed("/no/such/file"), worker::NOT_FOUND);
    assert_eq!(failed("/etc/passwd"), worker::NOT_EXECUTABLE);
    let home = Home::new("runtime-path");
    let root = launch(vec!["true".into()], vec!["/".into()]).unwrap_err();
    assert_eq!(root.exit_code(), worker::NOT_CONFINED);
    let holds = launch(vec!["true".into()], vec![std::env::temp_dir()]).unwrap_err();
    assert_eq!(holds.exit_code(), worker::NOT_CONFINED);
    drop(home);
}
