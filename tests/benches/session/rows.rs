//! From times to rows: what is divided by what, and what it must keep to.

use crate::delegate::Delegations;
use crate::memory::Memory;
use crate::mint::Mint;
use crate::report::{Bound, Report, Row, Table};
use crate::subject::{Cage, Call, Client, Opening, PATTERNS, Subject};
use crate::systems::Times;

/// All that was measured.
pub struct Measured {
    pub same: Times,
    pub two: Option<Times>,
    pub mint: Mint,
    pub delegations: Delegations,
    pub memory: Memory,
    pub openings: &'static [Opening],
}

/// The tables.
pub fn report(measured: &Measured) -> Report {
    let same = &measured.same;
    let mut first = vec![echo(same, Client::Raw, Judged::Yes)];
    for call in Call::ALL {
        for opening in measured.openings.iter().copied() {
            first.push(gate(same, Client::Raw, opening, call, Judged::Yes));
        }
    }
    first.push(pipelined(same, Client::Raw, Judged::Yes));
    first.extend(absolute(measured));
    let mut tables = vec![
        Table {
            name: "one core: client, gate and all else",
            rows: first,
        },
        Table {
            name: "authority: what budgets and denials cost, and making sessions",
            rows: authority(measured),
        },
        Table {
            name: "the same as the first through portcullis_client::Session",
            rows: usual(same),
        },
        Table {
            name: "the floor: a bare socket carries the same bytes, a caged loop makes the calls",
            rows: floor(measured),
        },
        Table {
            name: "what the cage adds to the plain system calls",
            rows: cage(measured),
        },
    ];
    if let Some(two) = &measured.two {
        let mut rows = vec![echo(two, Client::Raw, Judged::No)];
        for call in Call::ALL {
            for opening in measured.openings.iter().copied() {
                rows.push(gate(two, Client::Raw, opening, call, Judged::No));
            }
        }
        rows.push(pipelined(two, Client::Raw, Judged::No));
        tables.push(Table {
            name: "two cores: the client on one, the gate on the other",
            rows,
        });
    }
    Report { tables }
}

/// Whether the issue sets a bound for a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    Yes,
    No,
}

impl Judged {
    const fn by(self, bound: Bound) -> Bound {
        match self {
            Self::Yes => bound,
            Self::No => Bound::Shown,
        }
    }
}

fn echo(times: &Times, client: Client, judged: Judged) -> Row {
    let (took, raw) = (Subject::Echo(client), Subject::PingPong);
    Row {
        name: "echo of 64 B".to_owned(),
        value: times.quotient([took], [raw]),
        unit: "",
        bound: judged.by(Bound::AtMost {
            goal: 1.10,
            limit: 1.25,
        }),
        of: format!("{} / ping-pong {}", us(times.of(took)), us(times.of(raw))),
    }
}

fn gate(times: &Times, client: Client, opening: Opening, call: Call, judged: Judged) -> Row {
    let took = Subject::Gate(client, opening, call);
    let plain = Subject::Plain(Cage::Open, opening, call);
    let (goal, limit) = match call {
        Call::Stat | Call::Small => (1.05, 1.25),
        Call::Frame => (1.05, 1.5),
        Call::Large => (1.3, 4.5),
    };
    Row {
        name: name(call, opening),
        value: times.quotient([took], [Subject::PingPong, plain]),
        unit: "",
        bound: judged.by(Bound::AtMost { goal, limit }),
        of: format!(
            "{} / (ping-pong {} + plain calls {})",
            us(times.of(took)),
            us(times.of(Subject::PingPong)),
            us(times.of(plain))
        ),
    }
}

fn pipelined(times: &Times, client: Client, judged: Judged) -> Row {
    let took = Subject::Pipelined(client);
    let plain = Subject::Plain(Cage::Open, Opening::Direct, Call::Small);
    Row {
        name: "32 reads of 4 KiB at once, rate".to_owned(),
        value: times.quotient([plain], [took]),
        unit: "",
        bound: judged.by(Bound::AtLeast {
            goal: 0.58,
            limit: 0.40,
        }),
        of: format!(
            "plain calls {} / {} for each",
            us(times.of(plain)),
            us(times.of(took))
        ),
    }
}

/// What the rows of the first table would be if a gate did nothing but the caged system calls and
/// carry the bytes: no user code can be better on this socket.
fn floor(measured: &Measured) -> Vec<Row> {
    let same = &measured.same;
    let plain = |cage, opening, call| Subject::Plain(cage, opening, call);
    let mut rows = Vec::new();
    for call in Call::ALL {
        for opening in measured.openings.iter().copied() {
            let (open, caged) = (
                plain(Cage::Open, opening, call),
                plain(Cage::Closed, opening, call),
            );
            let carry = Subject::Carry(call);
            rows.push(Row {
                name: name(call, opening),
                value: same.quotient([carry, caged], [Subject::PingPong, open]),
                unit: "",
                bound: Bound::Shown,
                of: format!(
                    "(bare socket {} + caged calls {}) / (ping-pong + plain calls)",
                    us(same.of(carry)),
                    us(same.of(caged))
                ),
            });
        }
    }
    let (open, caged) = (
        plain(Cage::Open, Opening::Direct, Call::Small),
        plain(Cage::Closed, Opening::Direct, Call::Small),
    );
    rows.push(Row {
        name: "32 reads of 4 KiB at once, rate".to_owned(),
        value: same.quotient([open], [Subject::CarryMany, caged]),
        unit: "",
        bound: Bound::Shown,
        of: format!(
            "plain calls / (bare socket {} for each + caged calls {})",
            us(same.of(Subject::CarryMany)),
            us(same.of(caged))
        ),
    });
    rows
}

/// A session with all budgets and many denials beside one without, and how fast sessions come.
fn authority(measured: &Measured) -> Vec<Row> {
    let Measured {
        same,
        mint,
        delegations,
        memory,
        ..
    } = measured;
    let mut rows = Vec::new();
    for call in [Call::Stat, Call::Small] {
        let bounded = Subject::Bounded(call);
        let free = Subject::Gate(Client::Raw, Opening::Direct, call);
        rows.push(Row {
            name: format!(
                "{}, budgets and {PATTERNS} denials",
                name(call, Opening::Direct)
            ),
            value: same.quotient([bounded], [free]),
            unit: "",
            bound: Bound::AtMost {
                goal: 1.05,
                limit: 1.15,
            },
            of: format!("{} / {} without", us(same.of(bounded)), us(same.of(free))),
        });
    }
    rows.push(shown(
        "delegations, one after the other".to_owned(),
        (delegations.rate, " /s"),
        format!(
            "to the first reply: median {:.2} ms, least {:.2} ms; a mint {:.2} ms",
            delegations.median, delegations.least, mint.median
        ),
    ));
    let each = memory.took / memory.sessions as f64;
    rows.push(shown(
        format!("{} sessions minted and held", memory.sessions),
        (memory.took / 1e3, " s"),
        format!(
            "{each:.2} ms each, with a stat and a read; {:.1} KiB each",
            memory.total()
        ),
    ));
    rows
}

fn shown(name: String, (value, unit): (f64, &'static str), of: String) -> Row {
    Row {
        name,
        value,
        unit,
        bound: Bound::Shown,
        of,
    }
}

fn absolute(measured: &Measured) -> Vec<Row> {
    let Measured { mint, memory, .. } = measured;
    let share = match memory.gate_share {
        Some(share) => format!("{share:.0} KiB its share"),
        None => "its share not readable by this user".to_owned(),
    };
    vec![
        Row {
            name: "mint to first reply, median".to_owned(),
            value: mint.median,
            unit: " ms",
            bound: Bound::AtMost {
                goal: 1.0,
                limit: 2.0,
            },
            of: format!(
                "least {:.2} ms; an empty process: median {:.2} ms, least {:.2} ms",
                mint.least, mint.process_median, mint.process_least
            ),
        },
        Row {
            name: format!("memory of an idle session, {} held", memory.sessions),
            value: memory.total(),
            unit: " KiB",
            bound: Bound::AtMost {
                goal: 128.0,
                limit: 256.0,
            },
            of: format!(
                "gate: {:.0} KiB written, {share}, {:.0} KiB page tables beside; warden {:.1} KiB",
                memory.gate_private, memory.gate_tables, memory.warden
            ),
        },
    ]
}

fn usual(same: &Times) -> Vec<Row> {
    let mut rows = vec![echo(same, Client::Session, Judged::No)];
    for call in Call::ALL {
        rows.push(gate(
            same,
            Client::Session,
            Opening::Direct,
            call,
            Judged::No,
        ));
    }
    for call in [Call::Small, Call::Frame, Call::Large] {
        let mut row = gate(same, Client::Whole, Opening::Direct, call, Judged::No);
        row.name = format!("{}, asked for to its end", row.name);
        rows.push(row);
    }
    rows.push(pipelined(same, Client::Session, Judged::No));
    rows
}

fn cage(measured: &Measured) -> Vec<Row> {
    let mut rows = Vec::new();
    for call in Call::ALL {
        for opening in measured.openings.iter().copied() {
            let same = &measured.same;
            let open = Subject::Plain(Cage::Open, opening, call);
            let closed = Subject::Plain(Cage::Closed, opening, call);
            rows.push(Row {
                name: name(call, opening),
                value: same.quotient([closed], [open]),
                unit: "",
                bound: Bound::Shown,
                of: format!("{} caged / {} not", us(same.of(closed)), us(same.of(open))),
            });
        }
    }
    rows
}

fn name(call: Call, opening: Opening) -> String {
    let call = match call {
        Call::Stat => "stat",
        Call::Small => "read of 4 KiB",
        Call::Frame => "read of 64 KiB",
        Call::Large => "read of 1 MiB",
    };
    match opening {
        Opening::Direct => call.to_owned(),
        Opening::LookFirst => format!("{call}, gate of root"),
    }
}

fn us(nanos: f64) -> String {
    format!("{:.2} us", nanos / 1e3)
}
