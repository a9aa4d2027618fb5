//! One warden for each user, with real processes in places of their own. Nothing here makes a
//! session, so that the gate beside the executable is any executable file.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail the test that calls them"
)]

mod place;
mod roles;

use place::{Place, gone, within};
use portcullis_client::place::{Knock, RuntimeDirectory, SOCKET_NAME, WARDEN_LOCK};
use portcullis_client::{AttachOrStartError, Attachment, Control};
use portcullis_protocol::control::Sharing;
use portcullis_protocol::refusal::Code;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Not a test of its own: what this executable does when it is run as a peer or a warden.
#[test]
fn role() {
    roles::play();
}

#[test]
fn the_first_starts_it_and_the_next_find_it() {
    let place = Place::new();
    let first = Control::attach_or_start(&place.options()).unwrap();
    assert_eq!(first.how, Attachment::Started);
    assert_eq!(first.control.sharing(), Sharing::User);
    let second = Control::attach_or_start(&place.options()).unwrap();
    assert_eq!(second.how, Attachment::Found);
    assert_eq!(first.control.incarnation(), second.control.incarnation());
    let third = Control::attach(Some(&place.runtime())).unwrap().unwrap();
    assert_eq!(first.control.peer_process(), third.peer_process());
    assert_ne!(third.peer_process(), i32::try_from(std::process::id()).ok());
}

#[test]
fn many_at_once_share_one() {
    let place = Place::new();
    let barrier = std::sync::Barrier::new(16);
    let found: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    let attached = Control::attach_or_start(&place.options()).unwrap();
                    let incarnation = attached.control.incarnation();
                    (attached, incarnation)
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let (first, incarnation) = &found[0];
    for (other, its) in &found {
        assert_eq!(its, incarnation);
        assert_eq!(other.control.peer_process(), first.control.peer_process());
    }
    let started = found.iter().filter(|(a, _)| a.how == Attachment::Started);
    assert_eq!(started.count(), 1);
}

#[test]
fn it_ends_when_it_is_idle_and_removes_its_name() {
    let place = Place::new();
    // Long enough to be met at all on a busy machine.
    let mut serving = place.serve(&["--idle", "3"]);
    place.answers();
    assert!(within(Duration::from_secs(30), || serving
        .try_wait()
        .unwrap()
        .is_some()));
    assert!(serving.wait().unwrap().success());
    assert!(!place.runtime().join(SOCKET_NAME).exists());
}

#[test]
fn it_stays_while_somebody_is_connected() {
    let place = Place::new();
    let mut serving = place.serve(&["--idle", "3"]);
    let held = place.answers();
    std::thread::sleep(Duration::from_millis(3500));
    assert!(serving.try_wait().unwrap().is_none());
    drop(held);
    assert!(within(Duration::from_secs(30), || serving
        .try_wait()
        .unwrap()
        .is_some()));
}

#[test]
fn a_socket_that_was_left_behind_is_replaced() {
    let place = Place::new();
    let directory = RuntimeDirectory::open(Some(&place.runtime())).unwrap();
    let lock = directory
        .lock(WARDEN_LOCK, Instant::now() + Duration::from_secs(1))
        .unwrap();
    // Its listener closes, its name stays: what a killed warden leaves.
    drop(directory.listen(&lock).unwrap().socket);
    drop(lock);
    assert!(place.runtime().join(SOCKET_NAME).exists());
    assert!(matches!(directory.knock().unwrap(), Knock::Nobody));
    let attached = Control::attach_or_start(&place.options()).unwrap();
    assert_eq!(attached.how, Attachment::Started);
}

#[test]
fn what_is_no_socket_is_neither_used_nor_removed() {
    let place = Place::new();
    drop(RuntimeDirectory::open(Some(&place.runtime())).unwrap());
    let path = place.runtime().join(SOCKET_NAME);
    for what in ["file", "link"] {
        match what {
            "file" => std::fs::write(&path, "mine").unwrap(),
            _ => std::os::unix::fs::symlink("/dev/null", &path).unwrap(),
        }
        let before = path.symlink_metadata().unwrap().file_type();
        let error = Control::attach_or_start(&place.options()).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("it is not a socket; nothing was removed"),
            "{said}"
        );
        assert!(said.contains(SOCKET_NAME), "{said}");
        let served = place.portcullis(&["serve", "--idle", "0"]);
        assert_eq!(served.code, 1);
        assert!(served.err.contains("it is not a socket"), "{}", served.err);
        assert_eq!(path.symlink_metadata().unwrap().file_type(), before);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_directory_that_others_may_use_is_refused() {
    let place = Place::new();
    drop(RuntimeDirectory::open(Some(&place.runtime())).unwrap());
    for mode in [0o755, 0o710, 0o701] {
        let open = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.runtime(), open).unwrap();
        let said = Control::attach_or_start(&place.options())
            .unwrap_err()
            .to_string();
        assert!(said.contains("others may use it"), "{said}");
    }
    std::fs::remove_dir(place.runtime()).unwrap();
    std::fs::create_dir(place.at("elsewhere")).unwrap();
    std::os::unix::fs::symlink(place.at("elsewhere"), place.runtime()).unwrap();
    let said = Control::attach_or_start(&place.options())
        .unwrap_err()
        .to_string();
    assert!(said.contains("it is not a directory"), "{said}");
}

/// As root only: it takes another user to be one.
#[test]
fn what_belongs_to_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        println!("not root: another user's directory cannot be made");
        return;
    }
    let other = rustix::process::Uid::from_raw(12345);
    let place = Place::new();
    let directory = RuntimeDirectory::open(Some(&place.runtime())).unwrap();
    rustix::fs::chown(place.runtime(), Some(other), None).unwrap();
    let said = Control::attach_or_start(&place.options())
        .unwrap_err()
        .to_string();
    assert!(said.contains("it belongs to uid 12345"), "{said}");
    let own = rustix::process::geteuid();
    rustix::fs::chown(place.runtime(), Some(own), None).unwrap();
    // A socket that was put there while the directory was another's.
    let lock = directory
        .lock(WARDEN_LOCK, Instant::now() + Duration::from_secs(1))
        .unwrap();
    let listening = directory.listen(&lock).unwrap();
    let path = place.runtime().join(SOCKET_NAME);
    rustix::fs::chown(&path, Some(other), None).unwrap();
    let said = Control::attach_or_start(&place.options())
        .unwrap_err()
        .to_string();
    assert!(said.contains("it belongs to uid 12345"), "{said}");
    assert!(path.symlink_metadata().unwrap().file_type().is_socket());
    drop(listening);
}

#[test]
fn a_second_one_is_refused_and_says_where_the_first_is() {
    let place = Place::new();
    let attached = Control::attach_or_start(&place.options()).unwrap();
    let second = place.portcullis(&["serve"]);
    assert_eq!(second.code, 1);
    assert!(
        second.err.contains("another broker serves in"),
        "{}",
        second.err
    );
    // The first one is unharmed.
    let again = Control::attach_or_start(&place.options()).unwrap();
    assert_eq!(again.control.incarnation(), attached.control.incarnation());
}

#[test]
fn a_newer_executable_takes_the_place_of_one_that_is_idle() {
    let place = Place::new();
    let old = Control::attach_or_start(&place.options()).unwrap();
    let (incarnation, process) = (old.control.incarnation(), old.control.peer_process());
    drop(old);
    let new = Control::attach_or_start(&place.newer()).unwrap();
    assert_eq!(new.how, Attachment::Started);
    assert_ne!(new.control.incarnation(), incarnation);
    assert!(gone(process.unwrap()));
    // The older executable uses the newer broker as it is.
    let back = Control::attach_or_start(&place.options()).unwrap();
    assert_eq!(back.how, Attachment::Found);
    assert_eq!(back.control.incarnation(), new.control.incarnation());
}

#[test]
fn a_newer_executable_uses_an_older_one_that_serves_others_until_they_have_left() {
    let place = Place::new();
    let mut old = Control::attach_or_start(&place.options()).unwrap();
    let process = old.control.peer_process().unwrap();
    let newer = Control::attach_or_start(&place.newer()).unwrap();
    assert!(matches!(newer.how, Attachment::Older(build) if build == old.control.build()));
    assert_eq!(newer.control.incarnation(), old.control.incarnation());
    // More of them find it as well: its records cannot be had twice.
    let third = Control::attach_or_start(&place.options()).unwrap();
    assert_eq!(third.control.incarnation(), old.control.incarnation());
    assert!(
        old.control.status().is_ok(),
        "it goes on for those it serves"
    );
    drop((old, newer, third));
    assert!(within(Duration::from_secs(5), || gone(process)));
    let fresh = Control::attach_or_start(&place.newer()).unwrap();
    assert_eq!(fresh.how, Attachment::Started);
}

#[test]
fn drained_it_takes_nobody_and_serves_those_it_has() {
    let place = Place::new();
    let mut serving = place.serve(&["--idle", "60"]);
    let mut held = place.answers();
    place.signal(&serving, rustix::process::Signal::TERM);
    let name = place.runtime().join(SOCKET_NAME);
    assert!(within(Duration::from_secs(5), || !name.exists()));
    assert!(held.status().is_ok());
    assert!(Control::attach(Some(&place.runtime())).unwrap().is_none());
    // Its records are not to be had while it has them.
    let mut options = place.options();
    options.patience = Duration::from_millis(600);
    let began = Instant::now();
    let Err(error) = Control::attach_or_start(&options) else {
        panic!("two have the same records");
    };
    assert!(
        matches!(error, AttachOrStartError::NotStarted { .. }),
        "{error}"
    );
    assert!(began.elapsed() < Duration::from_secs(3), "it is bounded");
    assert!(serving.try_wait().unwrap().is_none());
    drop(held);
    assert!(within(Duration::from_secs(5), || serving
        .try_wait()
        .unwrap()
        .is_some()));
}

#[test]
fn told_to_stop_it_ends_at_once() {
    let place = Place::new();
    let mut serving = place.serve(&["--idle", "60"]);
    let mut held = place.answers();
    place.signal(&serving, rustix::process::Signal::INT);
    assert!(within(Duration::from_secs(5), || serving
        .try_wait()
        .unwrap()
        .is_some()));
    assert!(held.status().is_err());
    assert!(!place.runtime().join(SOCKET_NAME).exists());
}

#[test]
fn a_peer_that_is_more_confined_is_refused_and_one_that_is_not_is_served() {
    let place = Place::new();
    let attached = Control::attach_or_start(&place.options()).unwrap();
    let ask = |confinement: &str| roles::peer(&place.runtime(), confinement);
    assert_eq!(ask("none"), "served");
    let refused = Code::PeerNotServed.name();
    assert_eq!(ask("no_new_privs"), format!("{refused} no_new_privs"));
    // A filter brings no_new_privs with it. Filters alone are judged in a test of the warden.
    assert_eq!(ask("seccomp"), format!("{refused} no_new_privs"));
    if rustix::process::geteuid().is_root() {
        assert_eq!(ask("mount namespace"), format!("{refused} mount namespace"));
    }
    drop(attached);
}

#[test]
fn one_of_another_version_is_left_alone_when_newer_and_replaced_when_older() {
    let place = Place::new();
    // It reads this executable's age, so that the copies are made older or newer than it.
    let mut stranger = roles::stranger(&place.runtime());
    let error = Control::attach_or_start(&place.aged(Duration::from_secs(1000))).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("newer than this one") && said.contains("--embedded"),
        "{said}"
    );
    assert!(stranger.try_wait().unwrap().is_none());
    let attached = Control::attach_or_start(&place.newer()).unwrap();
    assert_eq!(attached.how, Attachment::Started);
    assert!(
        stranger.wait().unwrap().code().is_none(),
        "a signal ended it"
    );
}

#[test]
fn one_that_cannot_start_is_told_with_its_own_words() {
    let place = Place::new();
    std::fs::remove_file(place.at("bin/portcullis-gate")).unwrap();
    let error = Control::attach_or_start(&place.options()).unwrap_err();
    let said = error.to_string();
    assert!(
        matches!(error, AttachOrStartError::NotStarted { .. }),
        "{said}"
    );
    assert!(said.contains("portcullis-gate"), "{said}");
    let log = std::fs::read_to_string(place.at("home/portcullis/warden.log")).unwrap();
    assert!(log.contains("not serving"), "{log}");
    assert!(!place.runtime().join(SOCKET_NAME).exists());
}

#[test]
fn what_is_started_has_nothing_of_its_starter() {
    let place = Place::new();
    let options = place.options();
    // An inheritable descriptor, such as a careless shell leaves.
    let (read, write) = rustix::pipe::pipe().unwrap();
    let attached = Control::attach_or_start(&options).unwrap();
    let process = attached.control.peer_process().unwrap();
    drop(write);
    // It would never end if a copy of the other end were kept.
    let mut rest = [0; 1];
    assert_eq!(rustix::io::read(&read, &mut rest), Ok(0));
    let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap();
    let names: Vec<&[u8]> = environment
        .split(|byte| *byte == 0)
        .filter_map(|entry| entry.split(|byte| *byte == b'=').next())
        .filter(|name| !name.is_empty())
        .collect();
    let known: [&[u8]; 3] = [b"HOME", b"XDG_RUNTIME_DIR", b"XDG_STATE_HOME"];
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
    // Not by `getsid`: a session led from outside this process namespace has no number there.
    let session = |of: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{of}/stat")).unwrap();
        let (_, after_name) = stat.rsplit_once(") ").unwrap();
        after_name.split(' ').nth(3).unwrap().to_owned()
    };
    assert_ne!(session(&process.to_string()), session("self"));
    let cwd = std::fs::read_link(format!("/proc/{process}/cwd")).unwrap();
    assert_eq!(cwd, std::path::Path::new("/"));
}

#[test]
fn a_directory_of_any_depth_will_do() {
    let place = Place::new();
    let deep = place.at("d".repeat(200)).join("e".repeat(200));
    std::fs::create_dir_all(&deep).unwrap();
    let mut options = place.options();
    options.runtime = Some(deep.join("portcullis"));
    let attached = Control::attach_or_start(&options).unwrap();
    assert_eq!(attached.how, Attachment::Started);
}

#[test]
fn status_says_who_serves() {
    let place = Place::new();
    let none = place.portcullis(&["status"]);
    assert_eq!(none.code, 1);
    assert!(none.out.contains("no broker serves"), "{}", none.out);
    let attached = Control::attach_or_start(&place.options()).unwrap();
    let some = place.portcullis(&["status", "--json"]);
    assert_eq!(some.code, 0, "{}", some.err);
    let document: serde_json::Value = serde_json::from_str(&some.out).unwrap();
    assert_eq!(document["version"], 1);
    assert_eq!(
        document["serving"]["process"],
        attached.control.peer_process().unwrap()
    );
}

#[test]
fn records_are_asked_of_the_broker_and_read_without_it() {
    let place = Place::new();
    let nothing = place.portcullis(&["log"]);
    assert_eq!(
        (nothing.code, nothing.out.lines().count()),
        (0, 1),
        "{}",
        nothing.err
    );
    let missing = place.portcullis(&["log", "--state", "/no/state"]);
    assert_eq!(missing.code, 1);
    assert!(missing.err.contains("/no/state"), "{}", missing.err);
    let mut serving = place.serve(&["--idle", "3"]);
    let held = place.answers();
    for words in [&["log"][..], &["log", "verify"], &["log", "export"]] {
        let asked = place.portcullis(words);
        assert_eq!(asked.code, 0, "{words:?} {}", asked.err);
    }
    drop(held);
    assert!(serving.wait().unwrap().success());
    let verified = place.portcullis(&["log", "verify", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&verified.out).unwrap();
    assert_eq!(document["broken"], serde_json::Value::Null);
    assert_eq!(document["receipts"], 0);
    let none = place.portcullis(&["diff", "7"]);
    assert_eq!(none.code, 1);
    assert!(none.err.contains("there is no run 7"), "{}", none.err);
    // Nobody was started to be asked.
    assert_eq!(place.portcullis(&["status"]).code, 1);
}

#[test]
fn a_low_limit_on_descriptors_is_refused() {
    let place = Place::new();
    let mut shell = std::process::Command::new("sh");
    place.environment(&mut shell);
    shell.args(["-c", "ulimit -n 1000 && exec \"$0\" serve"]);
    shell.arg(place.at("bin/portcullis"));
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("1000 descriptors") && said.contains("4096"),
        "{said}"
    );
}
