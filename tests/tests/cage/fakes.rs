//! A gate that is not wholly caged is not served, and leaves nothing behind.

use crate::{alone, children};
use portcullis_client::protocol::authority::Scope;
use portcullis_client::protocol::path::{Label, RelPath};
use portcullis_client::protocol::refusal::Code;
use portcullis_client::protocol::verb::VerbSet;
use portcullis_client::{Control, MintOrder};
use portcullis_tests::own;
use portcullis_warden::{Config, Embedded, GateExecutable};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Fake gates by what they do, and a part of what the refusal says.
const FAKES: &[(&str, &str)] = &[
    ("lacks-abi", "not whole"),
    ("lacks-landlock", "not whole"),
    ("lacks-seccomp", "not whole"),
    ("lacks-no-new-privs", "not whole"),
    ("lacks-capabilities", "not whole"),
    ("lacks-dumpable", "not whole"),
    ("lacks-a-probe", "not whole"),
    ("lacks-probes", "not whole"),
    ("lacks-the-user", "runs as"),
    ("garbage", "before it was caged"),
    ("other-endpoint", "before it was caged"),
    ("truncated", "before it was caged"),
    ("silent", "within"),
    ("exits", ""),
    ("fault", "could not"),
    ("finished-first", "before its cage"),
    // Kernels without Landlock (not built in, switched off, forbidden) and without openat2.
    ("errno-38-on-444", "andlock"),
    ("errno-95-on-444", "andlock"),
    ("errno-1-on-444", "andlock"),
    ("errno-38-on-445", "andlock"),
    ("errno-38-on-446", "andlock"),
    ("errno-38-on-437", ""),
    ("errno-1-on-437", ""),
    ("errno-22-on-317", ""),
    ("errno-22-on-157", ""),
];

/// A copy of the fake gate under this name.
fn fake(place: &Path, name: &str) -> PathBuf {
    let path = place.join(name);
    // By another process: a descriptor open for writing here could be in a child of another test
    // when the file is executed, which the kernel then refuses.
    let copied = Command::new("cp")
        .arg(own!("own-fake-gate"))
        .arg(&path)
        .status()
        .unwrap();
    assert!(copied.success());
    path
}

fn mint(place: &Path, gate: PathBuf) -> Result<(Embedded, Control), (Code, String)> {
    let config = Config {
        gate: GateExecutable::At(gate),
        mint_deadline: Duration::from_secs(3),
        ..Config::default()
    };
    let warden = Embedded::start(config).unwrap();
    let mut control = Control::new(warden.connect().unwrap()).unwrap();
    let label = Label::new("w").unwrap();
    let root = control
        .seal_path(&place.join("inside"), label, Scope::Workspace)
        .unwrap()
        .root;
    let order = MintOrder::new("t")
        .root(root, None)
        .grant(root, RelPath::root(), VerbSet::READING);
    match control.mint(&order) {
        Ok(_) => Ok((warden, control)),
        Err(error) => {
            let refusal = error.refusal().unwrap_or_else(|| panic!("{error}")).clone();
            let note = refusal
                .note
                .map_or(String::new(), |note| note.as_str().to_owned());
            Err((refusal.code, note))
        }
    }
}

#[test]
fn a_gate_that_is_not_wholly_caged_is_not_served_and_leaves_no_process() {
    let _alone = alone();
    let place = tempfile::Builder::new()
        .prefix("portcullis-fake-")
        .tempdir()
        .unwrap();
    std::fs::create_dir(place.path().join("inside")).unwrap();
    let mut wrong = Vec::new();
    for (name, said) in FAKES {
        let gate = fake(place.path(), name);
        let began = Instant::now();
        match mint(place.path(), gate) {
            Ok(_) => wrong.push(format!("{name}: was served")),
            Err((code, note)) => {
                eprintln!("{name}: {code:?}: {note} ({:?})", began.elapsed());
                if code != Code::NotConfined || !note.contains(said) {
                    wrong.push(format!("{name}: {code:?}: {note}"));
                }
            }
        }
        // The warden is dropped by now, and with it all it started.
        let left = children();
        if !left.is_empty() {
            wrong.push(format!("{name}: left {left:?} behind"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_refused_gate_is_gone_when_the_refusal_arrives() {
    let _alone = alone();
    let place = tempfile::Builder::new()
        .prefix("portcullis-fake-")
        .tempdir()
        .unwrap();
    std::fs::create_dir(place.path().join("inside")).unwrap();
    let gate = fake(place.path(), "lacks-seccomp");
    let warden = Embedded::start(Config {
        gate: GateExecutable::At(gate),
        ..Config::default()
    });
    let warden = warden.unwrap();
    let mut control = Control::new(warden.connect().unwrap()).unwrap();
    let label = Label::new("w").unwrap();
    let inside = place.path().join("inside");
    let root = control
        .seal_path(&inside, label, Scope::Workspace)
        .unwrap()
        .root;
    let order = MintOrder::new("t")
        .root(root, None)
        .grant(root, RelPath::root(), VerbSet::READING);
    assert!(control.mint(&order).is_err());
    assert_eq!(children(), Vec::<u32>::new());
    assert_eq!(control.status().unwrap().running, 0);
}

#[test]
fn the_same_fake_gate_with_nothing_missing_is_handed_out_so_the_refusals_are_for_what_is_missing() {
    let _alone = alone();
    let place = tempfile::Builder::new()
        .prefix("portcullis-fake-")
        .tempdir()
        .unwrap();
    std::fs::create_dir(place.path().join("inside")).unwrap();
    let gate = fake(place.path(), "lacks-nothing");
    let served = mint(place.path(), gate).map_err(|(code, note)| format!("{code:?} {note}"));
    assert_eq!(children().len(), 1);
    drop(served.unwrap());
    assert_eq!(children(), Vec::<u32>::new());
}

#[test]
fn a_real_gate_under_a_filter_that_forbids_nothing_it_needs_is_served() {
    let _alone = alone();
    let place = tempfile::Builder::new()
        .prefix("portcullis-fake-")
        .tempdir()
        .unwrap();
    std::fs::create_dir(place.path().join("inside")).unwrap();
    // 425 is io_uring_setup.
    let gate = fake(place.path(), "errno-1-on-425");
    assert!(mint(place.path(), gate).is_ok());
}
