//! This test's own executable, run again as a peer in a cage or as a warden of another version.

use super::place::within;
use portcullis_client::place::{RuntimeDirectory, SOCKET_NAME, WARDEN_LOCK};
use portcullis_client::{AttachOrStartError, Control};
use portcullis_protocol::control::Answer;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_transport::{Buffer, ControlSide, Endpoint};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PEER: &str = "PORTCULLIS_TEST_PEER";
const STRANGER: &str = "PORTCULLIS_TEST_STRANGER";

/// Plays the role this process was started for, and never comes back.
pub(crate) fn play() {
    if let Ok(peer) = std::env::var(PEER) {
        let (directory, confinement) = peer.split_once('\t').unwrap();
        confine(confinement, directory);
        println!("\nsaid: {}", said(directory));
        std::process::exit(0);
    }
    if let Ok(directory) = std::env::var(STRANGER) {
        refuse_all(Path::new(&directory));
    }
}

fn again(variable: &str, value: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "role", "--nocapture"]);
    command.env(variable, value).stdin(Stdio::null());
    command
}

/// What a peer in this cage is told by the warden of a runtime directory.
pub(crate) fn peer(runtime: &Path, confinement: &str) -> String {
    let value = format!("{}\t{confinement}", runtime.display());
    let mut command = match confinement {
        "mount namespace" => {
            let own = again(PEER, &value);
            let mut unshare = Command::new("unshare");
            unshare
                .arg("-m")
                .arg(own.get_program())
                .args(own.get_args());
            unshare.env(PEER, &value);
            unshare
        }
        _ => again(PEER, &value),
    };
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("said: "));
    line.unwrap_or_else(|| panic!("{text}")).to_owned()
}

fn said(directory: &str) -> String {
    match Control::attach(Some(Path::new(directory))) {
        Ok(Some(_)) => "served".to_owned(),
        Ok(None) => "nobody".to_owned(),
        Err(AttachOrStartError::Refused(error)) => {
            let refusal = error.refusal().unwrap();
            let note = refusal.note.as_ref().unwrap().to_string();
            let known = [
                "no_new_privs",
                "seccomp",
                "mount namespace",
                "user namespace",
            ];
            let why = known.into_iter().find(|word| note.contains(word)).unwrap();
            format!("{} {why}", refusal.code.name())
        }
        Err(other) => other.to_string(),
    }
}

/// Goes into the cage. It is put on one thread, and the program is executed again in it, because
/// a process is judged by its first thread.
fn confine(how: &str, directory: &str) {
    match how {
        "no_new_privs" => rustix::thread::set_no_new_privs(true).unwrap(),
        // The library sets no_new_privs as well, and that is what is told first.
        "seccomp" => seccompiler::apply_filter(&harmless()).unwrap(),
        _ => return,
    }
    let error = again(PEER, &format!("{directory}\tinside")).exec();
    panic!("{error}");
}

/// A filter that refuses one call nobody makes.
fn harmless() -> BpfProgram {
    SeccompFilter::new(
        [(libc::SYS_acct, Vec::new())].into_iter().collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(1),
        std::env::consts::ARCH.try_into().unwrap(),
    )
    .and_then(TryInto::try_into)
    .unwrap()
}

/// A warden that speaks another version, in this runtime directory.
pub(crate) fn stranger(runtime: &Path) -> Child {
    let value = runtime.to_str().unwrap();
    let child = again(STRANGER, value)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert!(within(Duration::from_secs(10), || {
        runtime.join(SOCKET_NAME).exists()
    }));
    child
}

fn refuse_all(runtime: &Path) -> ! {
    let place = RuntimeDirectory::open(Some(runtime)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(1);
    let lock = place.lock(WARDEN_LOCK, deadline).unwrap();
    let listening = place.listen(&lock).unwrap();
    drop(lock);
    let mut buffer = Buffer::new();
    loop {
        let socket = rustix::net::accept(&listening.socket).unwrap();
        portcullis_transport::make_room(&socket).unwrap();
        let endpoint = Endpoint::<ControlSide>::new(socket).unwrap();
        let Ok(packet) = endpoint.receive(&mut buffer) else {
            continue;
        };
        let (frame, _) = packet.decode().unwrap();
        let refusal = Answer::Refused(Refusal::new(Code::VersionMismatch));
        endpoint.send_with(frame.id, &refusal, &[]).unwrap();
    }
}
