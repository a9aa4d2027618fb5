//! A worker that reaches for what decides about it: the control socket, from inside its cage, and the
//! orders of a runtime, on its session's own socket.

use crate::place::{Place, Said};
use crate::scene::{asking, at, becomes, one, proposed, world};
use portcullis_client::{Control, change};
use std::io::{BufRead as _, BufReader};
use std::os::fd::AsFd as _;
use std::process::Stdio;
use std::time::Duration;

/// What a worker says, line by line, while it runs.
struct Lines(BufReader<std::process::ChildStdout>);

impl Lines {
    #[track_caller]
    fn next(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "it ended");
        line.trim_end().to_owned()
    }
}

#[test]
fn a_worker_reaching_for_the_control_socket_is_refused() {
    let place = Place::new();
    let (runtime, program) = (place.at("runtime/portcullis"), place.command("portcullis"));
    let program = program.get_program().to_str().unwrap().to_owned();
    let directory = std::path::Path::new(&program).parent().unwrap().to_owned();
    // It has the very program that decides, and may execute it.
    let script = format!(
        "portcullis={program}; socket={}
         $portcullis --version >/dev/null && echo executes
         echo new | portcullis-tool write README.md --force >/dev/null 2>&1; echo asks $?
         XDG_RUNTIME_DIR=${{socket%/*}} $portcullis review approve 1 --yes >/dev/null 2>&1; echo decides $?
         $portcullis review approve 1 --yes --socket $socket >/dev/null 2>&1; echo decides $?
         $portcullis review list --json --socket $socket 2>/dev/null | grep -c README; echo sees
         echo new | portcullis-tool write README.md --force >/dev/null 2>&1; echo asks $?
         for n in $(seq 200); do
             echo new | portcullis-tool write README.md --force >/dev/null 2>&1 && break
             sleep 0.1
         done
         echo ended",
        runtime.display(),
    );
    let options = [
        "--workspace",
        "repo",
        "--ask",
        "README.md",
        "--quiet",
        "--runtime",
        directory.to_str().unwrap(),
    ];
    let mut run = place.worker(&options, &["bash", "-c", &script]);
    run.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = run.spawn().unwrap();
    let mut lines = Lines(BufReader::new(child.stdout.take().unwrap()));
    assert_eq!(lines.next(), "executes", "the control: it can be started");
    assert_eq!(lines.next(), "asks 76");
    assert_ne!(lines.next(), "decides 0");
    assert_ne!(lines.next(), "decides 0");
    assert_eq!(lines.next(), "0");
    assert_eq!(lines.next(), "sees");
    assert_eq!(lines.next(), "asks 76", "it is not decided");
    let content = || std::fs::read_to_string(place.at("repo/README.md")).unwrap();
    assert!(content().starts_with("# title"));
    // The control: the same program decides where no cage holds it.
    let listed = place.portcullis(&["review", "list"]);
    assert!(listed.out.contains("README.md"), "{listed:?}");
    let decided = place.portcullis(&["review", "approve", "1", "--yes"]);
    assert_eq!(decided.code, 0, "{decided:?}");
    assert_eq!(lines.next(), "ended");
    assert_eq!(Said::by(child).code, 0);
    assert_eq!(content(), "new\n");
}

#[test]
fn a_session_has_no_order_of_a_runtime() {
    let mut world = world();
    world.write("file.txt", "content\n");
    let mut seat = asking(&mut world);
    let changes = one(change::write(at("file.txt"), "new\n"));
    let id = proposed(&mut seat.session, &changes);
    let socket = seat.session.as_fd().try_clone_to_owned().unwrap();
    let error = Control::new(socket).unwrap_err();
    assert!(
        error.refusal().is_none(),
        "it is no control socket: {error}"
    );
    // What says such a thing is no worker: its session is over, and with it what it asked for.
    let over = world
        .control
        .wait_over(seat.id, Some(Duration::from_secs(20)));
    let over = over.unwrap().unwrap();
    assert_eq!(
        over.cause,
        portcullis_protocol::control::OverCause::WorkerMisbehaved
    );
    becomes(&mut world.control, id, "void");
    let content = std::fs::read(world.inside().join("file.txt")).unwrap();
    assert_eq!(content, b"content\n");
    // The control: where it is one, the same words are understood.
    assert!(Control::new(world.warden.connect().unwrap()).is_ok());
}
