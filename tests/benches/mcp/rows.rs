//! The calls, and the table of what they cost.

use super::Options;
use super::clock::median;
use super::report::{Bound, Report, Row, Table};
use super::server::{Ability, Server};
use std::time::{Duration, Instant};

/// One kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Read,
    Write,
    Edit,
    List,
    Find,
    Tree,
    Search,
}

const CALLS: [Call; 7] = [
    Call::Read,
    Call::Write,
    Call::Edit,
    Call::List,
    Call::Find,
    Call::Tree,
    Call::Search,
];

/// How many times faster than a peer a call of ours is.
const TIMES: Bound = Bound::AtLeast {
    goal: 20.0,
    limit: 5.0,
};
/// Long enough for a profile.
const SPINNING: Duration = Duration::from_secs(5);

impl Call {
    const fn name(self) -> &'static str {
        match self {
            Self::Read => "read 4 KiB",
            Self::Write => "write 4 KiB",
            Self::Edit => "edit a file of 4 KiB",
            Self::List => "list 200 entries",
            Self::Find => "find **/f1999*.txt in 20,000 files",
            Self::Tree => "tree of 20,000 files",
            Self::Search => "find a text in 20,000 files",
        }
    }

    /// How often it is made in one round.
    const fn times(self) -> usize {
        match self {
            Self::Read | Self::Write | Self::Edit | Self::List => 100,
            Self::Find | Self::Tree => 3,
            Self::Search => 1,
        }
    }

    /// Only calls that both sides have a tool for have a limit.
    fn bound(self, peer: &str) -> Bound {
        match self {
            Self::Read | Self::Write | Self::Edit | Self::List | Self::Find | Self::Search
                if peer == "reference" =>
            {
                TIMES
            }
            Self::Read
            | Self::Write
            | Self::Edit
            | Self::List
            | Self::Find
            | Self::Tree
            | Self::Search => Bound::Shown,
        }
    }
}

/// Makes one kind of call for some seconds.
pub fn spin(server: &mut Server, call: Call) {
    server.prepare(call);
    let start = Instant::now();
    let mut calls = 0_u64;
    while start.elapsed() < SPINNING {
        server.call(call);
        calls += 1;
    }
    println!(
        "{calls} calls, {:.1} us each",
        start.elapsed().as_secs_f64() * 1e6 / calls as f64
    );
}

/// The median time of one call, in microseconds; none where a server cannot do it.
fn once(server: &mut Server, call: Call) -> Option<f64> {
    server.prepare(call);
    if server.call(call) == Ability::Cannot {
        return None;
    }
    let mut times: Vec<f64> = (0..call.times())
        .map(|_| {
            let start = Instant::now();
            server.call(call);
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    Some(median(&mut times))
}

/// Measures all servers with all calls in turns.
pub fn measure(servers: &mut [Server], options: &Options) -> Report {
    let rounds = options.number(2, 7);
    // [call][server][round]
    let mut times = vec![vec![Vec::new(); servers.len()]; CALLS.len()];
    for round in 0..rounds {
        for (calls, call) in times.iter_mut().zip(CALLS) {
            for step in 0..servers.len() {
                let at = (step + round) % servers.len();
                calls[at].push(once(&mut servers[at], call));
            }
        }
    }
    let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    let rows = |peer: usize| {
        CALLS
            .iter()
            .zip(&times)
            .filter_map(|(call, times)| row(*call, names[peer], &times[0], &times[peer]))
            .collect()
    };
    let mut tables: Vec<Table> = (1..servers.len())
        .map(|peer| Table {
            name: Box::leak(format!("times faster than {}", names[peer]).into_boxed_str()),
            rows: rows(peer),
        })
        .collect();
    if tables.is_empty() {
        tables.push(Table {
            name: "against itself: there is no peer",
            rows: rows(0),
        });
    }
    Report { tables }
}

fn row(call: Call, peer: &str, ours: &[Option<f64>], theirs: &[Option<f64>]) -> Option<Row> {
    let both = || ours.iter().zip(theirs);
    let mut ratios: Vec<f64> = both()
        .map(|(ours, theirs)| Some((*theirs)? / (*ours)?))
        .collect::<Option<_>>()?;
    let mut one: Vec<f64> = ours.iter().copied().collect::<Option<_>>()?;
    let mut other: Vec<f64> = theirs.iter().copied().collect::<Option<_>>()?;
    Some(Row {
        name: call.name().to_owned(),
        value: median(&mut ratios),
        unit: "x",
        bound: call.bound(peer),
        of: format!(
            "{:.0} us, {peer} {:.0} us",
            median(&mut one),
            median(&mut other)
        ),
    })
}
