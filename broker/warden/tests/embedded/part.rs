//! The gate's side: what each part says on the ledger.

use crate::proposed;
use crate::puppet::Puppet;
use portcullis_protocol::bounded::{Bytes, Text};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{
    CageReport, Command, Duty, Event, Fault, Finished, Intent, LANDLOCK_ABI_MIN, NOTES_MAX,
    RefusalNote, SessionEnd, Setup, Tally,
};
use portcullis_protocol::limits::PATH_BYTES_MAX;
use portcullis_protocol::refusal::Code;
use portcullis_transport::{Buffer, Endpoint, GateSide};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

pub(crate) struct Part {
    ledger: Endpoint<GateSide>,
    /// What it looked like when it started.
    look: String,
}

impl Part {
    pub(crate) fn if_started_as_gate() -> Option<Self> {
        let look = look();
        let socket = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
        let ledger = Endpoint::new(socket).ok()?;
        Some(Self { ledger, look })
    }

    pub(crate) fn play(self) {
        // As a gate does, so that none is left when a test fails.
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
            .unwrap();
        let mut buffer = Buffer::new();
        let packet = self.ledger.receive(&mut buffer).unwrap();
        let (frame, descriptors) = packet.decode().unwrap();
        let Command::Setup(setup) = frame.message else {
            panic!("no setup came first");
        };
        let request = setup.authority.parts().request.clone();
        if request.as_str() == "puppet-tough" {
            outlive_the_warden();
        }
        if let Duty::Observe(intent) = &setup.duty {
            return self.observe(request.as_str(), &setup, intent, descriptors);
        }
        match &setup.duty {
            Duty::Serve | Duty::Observe(_) => {}
            Duty::Propose => {
                self.say(&Event::Ready(cage(&setup)));
                return proposed::propose(&self, &setup, &descriptors, &mut buffer);
            }
            Duty::Execute => {
                self.say(&Event::Ready(cage(&setup)));
                return proposed::execute(&self, &setup, &descriptors, &mut buffer);
            }
        }
        let mut whole = cage(&setup);
        match request.as_str() {
            "holey" => whole.seccomp_mode = 0,
            "other-user" => whole.user += 1,
            "fault" => self.say(&Event::Fault(Fault {
                code: Code::NotConfined,
                what: text("no cage today"),
            })),
            "look" => self.say(&Event::Fault(Fault {
                code: Code::NotConfined,
                what: text(&self.look),
            })),
            "lineage" => self.say(&Event::Fault(Fault {
                code: Code::NotConfined,
                what: text(&lineage(&setup)),
            })),
            "exit" => return,
            "early" => self.say(&finished(SessionEnd::WorkerLeft)),
            "silent" => forever(),
            _ => {}
        }
        self.say(&Event::Ready(whole.clone()));
        if request.as_str().starts_with("puppet") {
            return Puppet::new(&self, &setup, descriptors).obey(&mut buffer);
        }
        self.play_on(request.as_str(), &descriptors, whole);
    }

    /// What it does once it is taken for caged.
    fn play_on(&self, request: &str, descriptors: &[OwnedFd], whole: CageReport) {
        match request {
            "whole" => self.serve(descriptors),
            "garbage" => {
                rustix::net::send(&self.ledger, b"garbage", rustix::net::SendFlags::empty())
                    .unwrap();
                forever();
            }
            "chatty" => {
                for _ in 0..=NOTES_MAX {
                    self.say(&note(b"x"));
                }
                forever();
            }
            "large-notes" => {
                for _ in 0..NOTES_MAX {
                    self.say(&note(&[b'n'; PATH_BYTES_MAX]));
                }
                self.say(&finished(SessionEnd::WorkerMisbehaved));
            }
            "twice" => {
                self.say(&Event::Ready(whole));
                forever();
            }
            "lingers" => {
                self.say(&finished(SessionEnd::WorkerLeft));
                forever();
            }
            "dies" => std::process::abort(),
            _ => forever(),
        }
    }

    /// The part of an observer.
    fn observe(&self, request: &str, setup: &Setup, intent: &Intent, held: Vec<OwnedFd>) {
        if request == "puppet-blind" {
            return;
        }
        self.say(&Event::Ready(cage(setup)));
        if request == "puppet-mute" {
            forever();
        }
        Puppet::new(self, setup, held).observe(intent);
    }

    /// Waits until the worker closes.
    fn serve(&self, descriptors: &[OwnedFd]) {
        self.say(&note(b"seen"));
        rustix::net::send(&descriptors[0], b"x", rustix::net::SendFlags::NOSIGNAL).ok();
        let mut byte = [0];
        // A reset says the same as an end: the worker may not have read the first byte.
        rustix::net::recv(&descriptors[0], &mut byte, rustix::net::RecvFlags::empty()).ok();
        self.say(&finished(SessionEnd::WorkerLeft));
    }

    pub(crate) fn say(&self, event: &Event) {
        self.say_as(RequestId::NONE, event, &[]);
    }

    pub(crate) fn say_as(&self, id: RequestId, event: &Event, content: &[u8]) {
        self.ledger
            .send(&mut Vec::new(), id, event, content)
            .unwrap();
    }

    /// The same with a descriptor.
    pub(crate) fn say_with(&self, id: RequestId, event: &Event, descriptors: &[BorrowedFd<'_>]) {
        self.ledger.send_all(id, event, &[], descriptors).unwrap();
    }

    pub(crate) fn hear(&self, buffer: &mut Buffer) -> (RequestId, Command) {
        let (id, command, _) = self.hear_all(buffer);
        (id, command)
    }

    /// The same, with what came with it.
    pub(crate) fn hear_all(&self, buffer: &mut Buffer) -> (RequestId, Command, Vec<OwnedFd>) {
        let packet = self.ledger.receive(buffer).unwrap();
        let (frame, descriptors) = packet.decode().unwrap();
        (frame.id, frame.message, descriptors)
    }
}

/// The rules of ignore files that a gate is given, and a mark before them.
pub(crate) fn ignores(setup: &Setup) -> String {
    format!("ignores {}", setup.ignore.as_slice().escape_ascii())
}

/// The sessions around its own, as a gate is told of them.
fn lineage(setup: &Setup) -> String {
    let above = setup.lineage.as_slice().iter();
    let each = above.map(|around| {
        let grants = around.grants.as_slice();
        let roots: Vec<_> = grants.iter().map(|grant| grant.root.as_str()).collect();
        format!("{} {} {roots:?}", around.session.0, around.request)
    });
    each.collect::<Vec<_>>().join(", ")
}

/// Does not die with its warden, but a while later.
fn outlive_the_warden() {
    rustix::process::set_parent_process_death_signal(None).unwrap();
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_millis(1500));
        std::process::exit(0);
    });
}

fn look() -> String {
    let mut descriptors: Vec<u32> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .map(|entry| entry.unwrap())
        // The descriptor that reads this listing.
        .filter(|entry| {
            std::fs::read_link(entry.path())
                .is_ok_and(|target| !target.to_string_lossy().ends_with("/fd"))
        })
        .map(|entry| entry.file_name().to_str().unwrap().parse().unwrap())
        .collect();
    descriptors.sort_unstable();
    format!(
        "descriptors {descriptors:?}, variables {}, arguments {}, in {}",
        std::env::vars_os().count(),
        std::env::args_os().count(),
        std::env::current_dir().unwrap().display()
    )
}

pub(crate) fn forever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

fn text<const MAX: usize>(text: &str) -> Text<MAX> {
    Text::new(text).unwrap()
}

pub(crate) fn note(object: &[u8]) -> Event {
    Event::Refused(RefusalNote {
        verb: None,
        object: Some(Bytes::new(object).unwrap()),
        code: Code::Denied,
        rule: None,
    })
}

pub(crate) fn finished(end: SessionEnd) -> Event {
    Event::Finished(Finished {
        tally: Tally {
            requests: 7,
            ..Tally::default()
        },
        end,
    })
}

fn cage(setup: &Setup) -> CageReport {
    let (user, group) = match setup.run_as {
        Some(run_as) => (run_as.user, run_as.group),
        None => (
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
        ),
    };
    CageReport {
        landlock_abi: LANDLOCK_ABI_MIN,
        landlock_handled: 1,
        landlock_rules: 1,
        seccomp_mode: 2,
        seccomp_digest: [1; 32],
        no_new_privs: 1,
        capabilities: 0,
        dumpable: 0,
        user,
        group,
        probes_refused: 3,
        probes_made: 3,
    }
}
