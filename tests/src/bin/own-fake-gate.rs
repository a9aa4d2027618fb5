//! A gate that is none, or on a kernel that cannot cage it. What it does is its file's name,
//! because a gate is given no arguments and no environment:
//!
//! `silent`, `exits`, `garbage`, `other-endpoint`, `truncated`, `fault`, `finished-first`,
//! `lacks-<piece>`; or `errno-<number>-on-<call>`: the real gate, where one system call fails.

use portcullis_protocol::bounded::Text;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{CageReport, Command, Event, Fault, Finished, SessionEnd, Tally};
use portcullis_transport::{Buffer, Endpoint, GateSide};
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let file = std::fs::read_link("/proc/self/exe").unwrap();
    let name = file.file_name().unwrap().to_str().unwrap().to_owned();
    if let Some((errno, call)) = name
        .strip_prefix("errno-")
        .and_then(|n| n.split_once("-on-"))
    {
        portcullis_tests::sys::forbid(call.parse().unwrap(), errno.parse().unwrap()).unwrap();
        return portcullis_gate::main();
    }
    let socket = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    match name.as_str() {
        "exits" => return ExitCode::SUCCESS,
        "silent" => loop {
            std::thread::sleep(Duration::from_secs(60));
        },
        "garbage" => send(&socket, &[0x5a; 300]),
        "other-endpoint" => send(&socket, &[0x52, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        "truncated" => send(&socket, &[0x4d, 0, 0]),
        _ => say(socket, &name),
    }
    // Stays until it is killed.
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

fn send(socket: &std::os::fd::OwnedFd, packet: &[u8]) {
    rustix::net::send(socket, packet, rustix::net::SendFlags::NOSIGNAL).unwrap();
}

fn say(socket: std::os::fd::OwnedFd, name: &str) {
    let ledger = Endpoint::<GateSide>::new(socket).unwrap();
    let mut buffer = Buffer::new();
    let (frame, _descriptors) = ledger.receive(&mut buffer).unwrap().decode().unwrap();
    let Command::Setup(setup) = frame.message else {
        panic!("a gate is set up first");
    };
    if let Some(run_as) = setup.run_as {
        portcullis_gate::cage::become_user(run_as).unwrap();
    }
    let mut cage = CageReport {
        landlock_abi: 7,
        landlock_handled: 0xffff,
        landlock_rules: 1,
        seccomp_mode: 2,
        seccomp_digest: [0; 32],
        no_new_privs: 1,
        capabilities: 0,
        dumpable: 0,
        user: rustix::process::getuid().as_raw(),
        group: rustix::process::getgid().as_raw(),
        probes_refused: 5,
        probes_made: 5,
    };
    let event = match name {
        "lacks-abi" => Event::Ready(CageReport {
            landlock_abi: 2,
            ..cage
        }),
        "lacks-landlock" => Event::Ready(CageReport {
            landlock_handled: 0,
            ..cage
        }),
        "lacks-seccomp" => Event::Ready(CageReport {
            seccomp_mode: 0,
            ..cage
        }),
        "lacks-no-new-privs" => Event::Ready(CageReport {
            no_new_privs: 0,
            ..cage
        }),
        "lacks-capabilities" => Event::Ready(CageReport {
            capabilities: 1,
            ..cage
        }),
        "lacks-dumpable" => Event::Ready(CageReport {
            dumpable: 1,
            ..cage
        }),
        "lacks-a-probe" => Event::Ready(CageReport {
            probes_refused: 4,
            ..cage
        }),
        "lacks-probes" => {
            (cage.probes_made, cage.probes_refused) = (0, 0);
            Event::Ready(cage)
        }
        "lacks-the-user" => Event::Ready(CageReport {
            user: cage.user + 1,
            ..cage
        }),
        "lacks-nothing" => Event::Ready(cage),
        "fault" => Event::Fault(Fault {
            code: portcullis_protocol::refusal::Code::NotConfined,
            what: Text::new("could not").unwrap(),
        }),
        "finished-first" => Event::Finished(Finished {
            tally: Tally::default(),
            end: SessionEnd::WorkerLeft,
        }),
        other => panic!("no such fake gate: {other}"),
    };
    ledger
        .send(&mut Vec::new(), RequestId::NONE, &event, &[])
        .unwrap();
}
