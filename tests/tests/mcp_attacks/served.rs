//! The same executable in front of a gate, and in front of a server that checks paths.

use portcullis_tests::naive::{Naive, Serving, Style};
use portcullis_tests::rpc::Rpc;
use portcullis_tests::{World, own};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the server is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Default,
    Compat,
}

/// Both.
pub(crate) const MODES: [Mode; 2] = [Mode::Default, Mode::Compat];

/// A fresh tree with what one attack needs.
pub(crate) fn world(fill: impl FnOnce(&World)) -> World {
    let world = World::new(own!("own-gate"));
    fill(&world);
    world
}

fn command(root: &Path, mode: Mode) -> Command {
    let mut command = Command::new(own!("own-mcp"));
    match mode {
        Mode::Default => {}
        Mode::Compat => {
            command.args(["--compat", "reference"]);
        }
    }
    command.arg("--root");
    command.arg(format!("workspace={}", root.to_str().unwrap()));
    command
}

/// A server on a session with a gate.
pub(crate) fn guarded(world: &mut World, mode: Mode) -> Rpc {
    let mut command = command(&world.inside(), mode);
    world.session().session.attach(&mut command).unwrap();
    Rpc::start(&mut command)
}

/// The control: the same server on a session that checks paths and then uses them.
pub(crate) fn naive(root: PathBuf, fifos: Vec<PathBuf>, mode: Mode) -> (Rpc, Serving) {
    let mut command = command(&root, mode);
    let mut serving = Naive {
        root,
        denied: None,
        fifos,
        style: Style::Paths,
    }
    .start();
    let session = portcullis_client::Session::from_socket(serving.socket()).unwrap();
    session.attach(&mut command).unwrap();
    (Rpc::start(&mut command), serving)
}
