//! The tests' own warden, to be killed: a warden on a state, a runtime and a worker in one
//! process. Says `minted` on its output once the worker has its session, makes one change, and says
//! `changed` when it is answered.
//!
//! ```text
//! own-warden <gate> <state> <root> <deed>
//! ```

use portcullis_client::{Control, MintOrder};
use portcullis_protocol::authority::Scope;
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::deeds;
use portcullis_warden::{Config, Embedded, GateExecutable, StartError, StateError, StatePlace};
use std::path::{Path, PathBuf};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [gate, state, root, deed] = words.as_slice() else {
        panic!("own-warden <gate> <state> <root> <deed>");
    };
    let deed = deeds::named(deed).expect("a deed");
    let start = || {
        Embedded::start(Config {
            gate: GateExecutable::At(PathBuf::from(gate)),
            state: StatePlace::At(PathBuf::from(state)),
            ..Config::default()
        })
    };
    // A process that a test forks shares the locks of a warden in it until it executes.
    let warden = (0..500).find_map(|_| match start() {
        Err(StartError::State(StateError::InUse { .. })) => {
            std::thread::sleep(std::time::Duration::from_millis(10));
            None
        }
        started => Some(started.unwrap()),
    });
    let warden = warden.expect("the state is free");
    let mut control = Control::new(warden.connect().unwrap()).unwrap();
    let label = Label::new("workspace").unwrap();
    let sealed = control
        .seal_path(Path::new(root), label, Scope::Workspace)
        .unwrap();
    let order = MintOrder::new("tester").root(sealed.root, None).grant(
        sealed.root,
        RelPath::root(),
        VerbSet::ALL,
    );
    let (_, mut session) = control.mint(&order).unwrap();
    println!("minted");
    (deed.run)(&mut session).unwrap();
    println!("changed");
}
