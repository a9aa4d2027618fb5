//! Other users who decide, and do nothing else.

use crate::asking::{approved, asking, decide, list};
use crate::effects::{TempDir, config, log};
use crate::runtime::Runtime;
use portcullis_protocol::approval::Approver;
use portcullis_protocol::control::{Answer, Deciding, Decision, Order, Whose};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::verb::VerbSet;
use portcullis_warden::{Config, Deciders, Listening, Serving, StatePlace};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

/// A user who owns nothing, and another.
const LISTED: u32 = 65534;
const UNLISTED: u32 = 65533;

fn control_socket() -> OwnedFd {
    let kind = SocketType::SEQPACKET;
    rustix::net::socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap()
}

fn connected(path: &Path) -> OwnedFd {
    let socket = control_socket();
    rustix::net::connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    portcullis_transport::make_room(&socket).unwrap();
    socket
}

/// What a process of another user does at a control socket.
pub(crate) fn play_other_user(path: &str) {
    let mut peer = Runtime::on(connected(Path::new(path)));
    if let Some(code) = peer.refused_hello() {
        return println!("{}", code.name());
    }
    let Answer::Refused(refusal) = peer.ask(Order::Mint(peer.order("puppet", VerbSet::ALL))) else {
        panic!("it mints");
    };
    let listed = list(&mut peer, Whose::All).unwrap();
    let id = listed[0].id.0;
    let decided = decide(&mut peer, id, Decision::Approve);
    println!("{} {} {decided:?}", refusal.code.name(), listed.len());
}

pub(crate) fn a_listed_user_decides_and_does_nothing_else() {
    if !rustix::process::geteuid().is_root() {
        return println!("(only root can be two users: not run)");
    }
    let place = TempDir::new("users");
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(&place.0, 0o755);
    let executable = place.0.join("peer");
    std::fs::copy(std::env::current_exe().unwrap(), &executable).unwrap();
    open(&executable, 0o755);
    let path = place.0.join("control");
    let socket = control_socket();
    rustix::net::bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&socket, 8).unwrap();
    open(&path, 0o666);
    let serving = Serving::start(
        Config {
            deciders: Deciders {
                passphrase: None,
                users: vec![LISTED],
            },
            ..config(StatePlace::Private)
        },
        Listening {
            socket,
            idle: Duration::from_secs(5),
            withdraw: None,
            tell: Box::new(|_| {}),
        },
    )
    .unwrap();
    let root = TempDir::new("users-root");
    let mut runtime = Runtime::greeted_on(connected(&path), &root.0);
    let session = asking(&mut runtime, Deciding::Anyone);
    assert_eq!(session.ask("ask write a"), "not begun 9 needs_approval 1");
    let own = decide(&mut runtime, 1, Decision::Approve);
    assert_eq!(
        own,
        Err(Code::NotDecider),
        "the same user, though it is root"
    );
    let as_user = |user: u32| {
        let mut peer = std::process::Command::new(&executable);
        let peer = peer.arg("other-user").arg(&path).uid(user).gid(user);
        String::from_utf8(peer.output().unwrap().stdout).unwrap()
    };
    assert_eq!(as_user(UNLISTED), "peer_not_served\n");
    let approved = approved(Approver::Uid(LISTED));
    assert_eq!(as_user(LISTED), format!("out_of_turn 1 {approved:?}\n"));
    session.tell("ask write a");
    assert_eq!(session.reply().unwrap(), "done");
    let [receipt] = <[_; 1]>::try_from(log(&mut runtime, session.run)).unwrap();
    assert_eq!(receipt.approval.unwrap().approver, Approver::Uid(LISTED));
    drop((runtime, session));
    drop(serving);
}
