//! What an idle session keeps: its gate's own memory, and its share of the warden's.

use crate::gate::{Bare, children};
use crate::subject::Call;
use crate::systems::Minting;
use portcullis_transport::Buffer;
use rustix::process::{Pid, Resource, Rlimit, getpid, getrlimit, setrlimit};
use std::collections::BTreeSet;
use std::time::Instant;

/// KiB for one session.
pub struct Memory {
    pub sessions: usize,
    /// From the first order to the last answer, in milliseconds.
    pub took: f64,
    /// The gate's proportional share of what it maps; none where it may not be looked at.
    pub gate_share: Option<f64>,
    /// What only the gate maps and has written.
    pub gate_private: f64,
    /// Page tables of the gate, which the kernel keeps beside that.
    pub gate_tables: f64,
    /// Growth of the process the warden is in, its runtime and its workers' sockets included.
    pub warden: f64,
}

impl Memory {
    /// What the limit is for: the larger way to count the gate, and the warden's growth.
    pub fn total(&self) -> f64 {
        self.gate_share.unwrap_or(0.0).max(self.gate_private) + self.warden
    }
}

/// Holds `sessions` that have each said hello, looked once and read once.
pub fn measure(minting: &mut Minting, sessions: usize) -> Memory {
    raise_descriptors();
    let others: BTreeSet<i32> = raw(children());
    let mut buffer = Buffer::new();
    let limits = portcullis_warden::default_limits();
    let before = private_of(getpid());
    let start = Instant::now();
    let held: Vec<Bare> = (0..sessions)
        .map(|_| {
            let (_, session) = minting.mint();
            let mut bare = Bare::new(session, limits, &mut buffer);
            bare.call(Call::Stat, &mut buffer);
            bare.call(Call::Small, &mut buffer);
            bare
        })
        .collect();
    let took = start.elapsed().as_secs_f64() * 1e3;
    let warden = private_of(getpid()) - before;
    let gates: Vec<Pid> = raw(children())
        .difference(&others)
        .filter_map(|pid| Pid::from_raw(*pid))
        .collect();
    assert_eq!(gates.len(), sessions, "one gate for each session");
    let count = sessions as f64;
    let sum = |of: &dyn Fn(Pid) -> f64| gates.iter().map(|gate| of(*gate)).sum::<f64>() / count;
    let shares: Option<Vec<f64>> = gates.iter().map(|gate| share_of(*gate)).collect();
    let memory = Memory {
        sessions,
        took,
        gate_share: shares.map(|shares| shares.iter().sum::<f64>() / count),
        gate_private: sum(&private_of),
        gate_tables: sum(&|gate| field(gate, "status", "VmPTE:").unwrap_or(0.0)),
        warden: warden / count,
    };
    drop(held);
    memory
}

fn raw(pids: Vec<Pid>) -> BTreeSet<i32> {
    pids.into_iter()
        .map(|pid| pid.as_raw_nonzero().get())
        .collect()
}

/// Each session takes a descriptor here and two of the warden's.
fn raise_descriptors() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    )
    .unwrap();
}

fn share_of(process: Pid) -> Option<f64> {
    field(process, "smaps_rollup", "Pss:")
}

/// Written pages of a process. A gate cannot be looked into by its own user; then what anyone may
/// see stands in for it: resident pages without those of files.
fn private_of(process: Pid) -> f64 {
    field(process, "smaps_rollup", "Private_Dirty:")
        .or_else(|| field(process, "status", "RssAnon:"))
        .unwrap()
}

/// A field in KiB.
fn field(process: Pid, file: &str, name: &str) -> Option<f64> {
    let path = format!("/proc/{}/{file}", process.as_raw_nonzero());
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
