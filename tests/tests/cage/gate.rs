//! A real gate, looked at from outside through `/proc`.

use crate::{alone, children};
use portcullis_tests::{Opened, World, own, privileged, read};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The process of the only session.
fn gate_of(world: &mut World, opened: &Opened) -> PathBuf {
    let report = world.control.status().unwrap();
    let running = report
        .sessions
        .as_slice()
        .iter()
        .find(|r| r.session == opened.id)
        .unwrap();
    PathBuf::from(format!("/proc/{}", running.gate))
}

/// A field of `/proc/PID/status`.
fn field(gate: &std::path::Path, name: &str) -> String {
    let status = std::fs::read_to_string(gate.join("status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.unwrap_or_else(|| panic!("no {name}"))
        .trim()
        .to_owned()
}

#[test]
fn the_kernel_says_of_an_idle_gate_what_its_report_says() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    world.write("f", "f");
    let mut opened = world.session();
    read(&mut opened.session, "f").unwrap();
    let gate = gate_of(&mut world, &opened);
    for (name, value) in [
        ("Seccomp", "2"),
        ("Seccomp_filters", "2"),
        ("NoNewPrivs", "1"),
        ("CapInh", "0000000000000000"),
        ("CapPrm", "0000000000000000"),
        ("CapEff", "0000000000000000"),
        ("CapAmb", "0000000000000000"),
        ("Threads", "1"),
        ("Groups", ""),
        ("Umask", "0022"),
    ] {
        if name == "Groups" && !privileged() {
            continue;
        }
        assert_eq!(field(&gate, name), value, "{name}");
    }
    if privileged() {
        assert_eq!(field(&gate, "CapBnd"), "0000000000000000");
    }
    // The kernel gives the files of a process that cannot be dumped to root.
    assert_eq!(std::fs::metadata(gate.join("fd")).unwrap().uid(), 0);
}

#[test]
fn a_gate_holds_its_ledger_its_socket_its_roots_its_mark_and_one_lock_of_the_warden() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    world.write("f", "f");
    // What a careless embedder may have open, not all of it close-on-exec.
    let files: Vec<std::fs::File> = (0..50)
        .map(|_| std::fs::File::open(world.outside().join("secret")).unwrap())
        .collect();
    for file in files.iter().step_by(2) {
        rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty()).unwrap();
    }
    let mut opened = world.session();
    read(&mut opened.session, "f").unwrap();
    let gate = gate_of(&mut world, &opened);
    let listing = std::fs::read_dir(gate.join("fd"));
    if !privileged() {
        // It cannot be dumped: its own user cannot look.
        assert_eq!(listing.unwrap_err().raw_os_error(), Some(13));
        assert!(std::fs::read(gate.join("environ")).is_err());
        assert!(std::fs::read_link(gate.join("cwd")).is_err());
        return;
    }
    drop(listing);
    let held = || {
        let mut held: Vec<String> = std::fs::read_dir(gate.join("fd"))
            .unwrap()
            .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
            .map(|target| target.to_str().unwrap().to_owned())
            .map(|target| target.split('[').next().unwrap().to_owned())
            .map(|target| match target.ends_with("/gates.lock") {
                true => "the lock that a successor of the warden waits for".to_owned(),
                false => target.replace("/memfd:portcullis-mark (deleted)", "its mark"),
            })
            .collect();
        held.sort();
        held
    };
    let root = world.inside().canonicalize().unwrap();
    // The ledger twice: as it came, and moved away from 0.
    let expected = [
        root.to_str().unwrap(),
        "/dev/null",
        "/dev/null",
        "its mark",
        "the lock that a successor of the warden waits for",
        "socket:",
        "socket:",
        "socket:",
    ];
    let mut expected = expected.map(str::to_owned);
    expected.sort();
    // The file that was read is closed after it was answered.
    let until = Instant::now() + Duration::from_secs(10);
    while held() != expected {
        assert!(
            Instant::now() < until,
            "{:?} instead of {expected:?}",
            held()
        );
    }
    assert_eq!(std::fs::read(gate.join("environ")).unwrap(), b"");
    assert_eq!(
        std::fs::read_link(gate.join("cwd")).unwrap(),
        PathBuf::from("/")
    );
    assert_eq!(
        std::fs::read(gate.join("cmdline")).unwrap(),
        b"portcullis-gate\0"
    );
    drop(files);
}

#[test]
fn a_gate_runs_as_the_owner_of_its_root_when_the_warden_is_root() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    world.write("f", "f");
    let mine = (
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    let owner = if privileged() {
        for path in [
            world.place.path().to_owned(),
            world.inside(),
            world.inside().join("f"),
        ] {
            chown(path, Some(1234), Some(1234)).unwrap();
        }
        // The owner cannot read this one, root could.
        world.write("roots", "roots");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(world.inside().join("roots"), mode).unwrap();
        (1234, 1234)
    } else {
        mine
    };
    let mut opened = world.session();
    assert_eq!(read(&mut opened.session, "f").unwrap(), b"f");
    let gate = gate_of(&mut world, &opened);
    let four = |id: u32| format!("{id}\t{id}\t{id}\t{id}");
    assert_eq!(field(&gate, "Uid"), four(owner.0));
    assert_eq!(field(&gate, "Gid"), four(owner.1));
    if privileged() {
        assert_eq!(field(&gate, "Groups"), "");
        assert_eq!(
            read(&mut opened.session, "roots").unwrap_err(),
            portcullis_client::protocol::refusal::Code::Permission
        );
    }
}

#[test]
fn the_report_of_a_mint_is_what_the_kernel_enforces() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    let inside = world.inside();
    let root = world.seal(&inside, "w");
    let order = portcullis_client::MintOrder::new("t")
        .root(root, None)
        .grant(
            root,
            portcullis_client::protocol::path::RelPath::root(),
            portcullis_client::protocol::verb::VerbSet::READING,
        );
    let (minted, session) = world.control.mint(&order).unwrap();
    let cage = &minted.cage;
    assert!(cage.is_whole());
    assert_eq!(
        (cage.landlock_rules, cage.capabilities, cage.dumpable),
        (1, 0, 0)
    );
    assert!(cage.probes_made >= 4 && cage.probes_made == cage.probes_refused);
    // Every file right of ABI 3 and more is handled: a right that is not is allowed everywhere.
    assert_eq!(cage.landlock_handled & 0x7fff, 0x7fff);
    drop(session);
}

#[test]
fn a_gate_does_not_outlive_its_session() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    let opened = world.session();
    let gate = gate_of(&mut world, &opened);
    let pid: u32 = gate.file_name().unwrap().to_str().unwrap().parse().unwrap();
    assert!(children().contains(&pid));
    drop(opened.session);
    let until = Instant::now() + Duration::from_secs(10);
    while children().contains(&pid) {
        assert!(Instant::now() < until, "the gate is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_root_inside_another_is_caged_and_served() {
    let _alone = alone();
    use portcullis_client::MintOrder;
    use portcullis_client::protocol::path::RelPath;
    use portcullis_client::protocol::refusal::Code;
    use portcullis_client::protocol::verb::{Verb, VerbSet};
    use portcullis_tests::names as names_below;
    let names_of = |session: &mut _| names_below(session, ".", 9);
    let mut world = World::new(own!("own-gate"));
    world.write("a/f", "inner");
    world.write("f", "outer");
    let (outer, inner) = (world.inside(), world.inside().join("a"));
    let outer = world.seal(&outer, "outer");
    let inner = world.seal(&inner, "inner");
    // Both orders: which subtree is first must not matter.
    for (first, second) in [(inner, outer), (outer, inner)] {
        let order = [first, second]
            .into_iter()
            .fold(MintOrder::new("t"), |order, root| {
                order
                    .root(root, None)
                    .grant(root, RelPath::root(), VerbSet::READING)
            });
        let (minted, mut session) = world.control.mint(&order).unwrap();
        assert!(minted.cage.is_whole());
        assert_eq!(read(&mut session, "/outer/f").unwrap(), b"outer");
        assert_eq!(read(&mut session, "/outer/a/f").unwrap(), b"inner");
    }
    // A subtree granted before the root around it, with other verbs.
    let names = VerbSet::of(&[Verb::Stat, Verb::List]);
    let a = RelPath::parse(b"a").unwrap();
    for flip in [false, true] {
        let mut grants = [(a.clone(), VerbSet::READING), (RelPath::root(), names)];
        if flip {
            grants.reverse();
        }
        let order = grants.into_iter().fold(
            MintOrder::new("t").root(outer, None),
            |order, (prefix, verbs)| order.grant(outer, prefix, verbs),
        );
        let (_, mut session) = world.control.mint(&order).unwrap();
        assert_eq!(read(&mut session, "a/f").unwrap(), b"inner");
        assert_eq!(read(&mut session, "f").unwrap_err(), Code::NotGranted);
        assert_eq!(names_of(&mut session).len(), 3);
    }
}
