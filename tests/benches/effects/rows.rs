//! From times to rows: what is divided by what, and what it must keep to.

use crate::report::{Bound, Report, Row, Table};
use crate::subject::{Cage, Deed, Part, Short, Subject, Times};

/// The tables.
pub fn report(times: &Times, file_system: &str) -> Report {
    let title = format!("through warden, gate and client, on one core, all files on {file_system}");
    Report {
        tables: vec![
            Table {
                // Once in the life of a process that prints it and ends.
                name: title.leak(),
                rows: whole(times),
            },
            Table {
                name: "the same against the short way, which promises nothing",
                rows: short(times),
            },
            Table {
                name: "the stages of one effect, without the switches of process between them",
                rows: stages(times),
            },
            Table {
                name: "the floor: the same calls, and what cannot be without",
                rows: floor(times),
            },
            Table {
                name: "what the cage adds to the plain system calls",
                rows: cage(times),
            },
        ],
    }
}

fn us(nanos: f64) -> String {
    format!("{:.1} us", nanos / 1e3)
}

fn row(name: impl Into<String>, value: f64, bound: Bound, of: String) -> Row {
    Row {
        name: name.into(),
        value,
        unit: "",
        bound,
        of,
    }
}

/// One subject beside another.
fn ratio(times: &Times, name: &str, (above, below): (Subject, Subject), bound: Bound) -> Row {
    let of = format!("{} / {}", us(times.of(above)), us(times.of(below)));
    row(name, times.each(|t| t(above) / t(below)), bound, of)
}

const SINGLE: Bound = Bound::AtMost {
    goal: 1.2,
    limit: 1.4,
};
const SET: Bound = Bound::AtMost {
    goal: 1.3,
    limit: 2.0,
};
/// A whole write against the part of it that a gate needs to change the tree.
const AROUND: Bound = Bound::AtMost {
    goal: 1.2,
    limit: 1.5,
};
const EXECUTE: Bound = Bound::AtMost {
    goal: 1.0,
    limit: 1.15,
};

fn whole(times: &Times) -> Vec<Row> {
    let mut rows: Vec<Row> = [Deed::Replace, Deed::Create, Deed::Delete]
        .into_iter()
        .map(|deed| {
            let of = (Subject::Whole(deed), Subject::Plain(Cage::Open, deed));
            let name = format!("{} / the same calls", deed.name());
            ratio(times, &name, of, SINGLE)
        })
        .collect();
    rows.extend([Deed::Replace, Deed::Create, Deed::Delete].map(|deed| execute(times, deed)));
    rows.extend(around(times, Deed::Replace));
    for deed in [Deed::CreateMany, Deed::ReplaceMany] {
        for (short, name) in [
            (Short::Temporary, "temporary and rename"),
            (Short::Direct, "open, write, close"),
        ] {
            let of = (Subject::Whole(deed), Subject::Naive(short, deed));
            rows.push(ratio(times, &format!("{} / {name}", deed.name()), of, SET));
        }
    }
    rows
}

/// All that a gate does between `Begun` and `Finish`, but for the switches and the calls of the
/// second look: what its own code needs there counts as `execute`.
fn executed(t: &dyn Fn(Subject) -> f64, deed: Deed) -> f64 {
    let second_look = Subject::PlainPart(Cage::Open, deed, Part::Confirm);
    t(Subject::Staged(deed, Part::Confirm)) - t(Subject::PingPong) - t(second_look)
}

fn execute(times: &Times, deed: Deed) -> Row {
    let plain = |part| Subject::PlainPart(Cage::Open, deed, part);
    let took = times.each(|t| executed(t, deed));
    row(
        format!("{}: `execute` alone", deed.name()),
        times.each(|t| executed(t, deed) / t(plain(Part::Execute))),
        EXECUTE,
        format!("{} / {}", us(took), us(times.of(plain(Part::Execute)))),
    )
}

/// The whole round trip, through client, gate, warden and journal, against its `execute` alone, and
/// against the same gate and worker with a warden that grants everything and records nothing.
fn around(times: &Times, deed: Deed) -> [Row; 2] {
    let whole = Subject::Whole(deed);
    let staged = |t: &dyn Fn(Subject) -> f64| -> f64 {
        let parts = [Part::Plan, Part::Confirm, Part::Encode];
        parts
            .map(|part| t(Subject::Staged(deed, part)))
            .iter()
            .sum()
    };
    let took = us(times.of(whole));
    [
        row(
            format!("{} / its `execute` alone", deed.name()),
            times.each(|t| t(whole) / executed(t, deed)),
            AROUND,
            format!("{took} / {}", us(times.each(|t| executed(t, deed)))),
        ),
        row(
            format!("{} / without a journal", deed.name()),
            times.each(|t| t(whole) / staged(t)),
            Bound::Shown,
            format!("{took} / {}", us(times.each(staged))),
        ),
    ]
}

fn short(times: &Times) -> Vec<Row> {
    [Deed::Replace, Deed::Create, Deed::Delete]
        .into_iter()
        .map(|deed| {
            let of = (Subject::Whole(deed), Subject::Naive(Short::Temporary, deed));
            ratio(times, deed.name(), of, Bound::Shown)
        })
        .chain([Deed::CreateMany, Deed::ReplaceMany].map(|deed| {
            let of = (Subject::Whole(deed), Subject::Plain(Cage::Open, deed));
            let name = format!("{} / the same calls", deed.name());
            ratio(times, &name, of, Bound::Shown)
        }))
        .collect()
}

/// Microseconds of each stage, beside the plain calls it makes.
fn stages(times: &Times) -> Vec<Row> {
    let mut rows = Vec::new();
    let microseconds = |name: String, nanos: f64, of: String| Row {
        unit: " us",
        ..row(name, nanos / 1e3, Bound::Shown, of)
    };
    let ping = Subject::PingPong;
    for deed in Deed::ALL {
        let plain = |part| us(times.of(Subject::PlainPart(Cage::Open, deed, part)));
        let caged = |part| us(times.of(Subject::PlainPart(Cage::Closed, deed, part)));
        let part = |part| times.each(|t| t(Subject::Staged(deed, part)) - t(ping));
        let name = deed.name();
        rows.push(microseconds(
            format!("{name}: resolve, bind and stage"),
            part(Part::Plan),
            format!("plain {}, caged {}", plain(Part::Plan), caged(Part::Plan)),
        ));
        rows.push(microseconds(
            format!("{name}: confirm and execute"),
            part(Part::Confirm),
            format!(
                "plain {} + {}, caged {} + {}",
                plain(Part::Confirm),
                plain(Part::Execute),
                caged(Part::Confirm),
                caged(Part::Execute)
            ),
        ));
        rows.push(microseconds(
            format!("{name}: encode, to the answer"),
            part(Part::Encode),
            String::new(),
        ));
    }
    for (name, subject, transaction) in [
        ("begin, in the warden", Subject::Begin, Subject::Journalled),
        ("finish, in the warden", Subject::Finish, Subject::Recorded),
    ] {
        rows.push(microseconds(
            name.to_owned(),
            times.each(|t| t(subject) - t(ping)),
            format!("its transaction alone {}", us(times.of(transaction))),
        ));
    }
    let of = "with its difference, through client and gate".to_owned();
    rows.push(microseconds(
        "a dry run of replace 4 KiB, whole".to_owned(),
        times.of(Subject::DryRun),
        of,
    ));
    rows
}

/// What the first rows would be if a gate did nothing but the caged calls, three times sent 64
/// bytes and took 64 bytes, and the warden did nothing but its two transactions.
fn floor(times: &Times) -> Vec<Row> {
    let without = [Subject::Journalled, Subject::Recorded];
    [Deed::Replace, Deed::Create, Deed::Delete]
        .into_iter()
        .map(|deed| {
            let caged = Subject::Plain(Cage::Closed, deed);
            let least = |t: &dyn Fn(Subject) -> f64| {
                t(caged) + 3.0 * t(Subject::PingPong) + without.map(t).iter().sum::<f64>()
            };
            let plain = Subject::Plain(Cage::Open, deed);
            row(
                deed.name(),
                times.each(|t| least(t) / t(plain)),
                Bound::Shown,
                format!(
                    "(caged calls {} + 3 ping-pongs of {} + transactions of {} and {}) / {}",
                    us(times.of(caged)),
                    us(times.of(Subject::PingPong)),
                    us(times.of(Subject::Journalled)),
                    us(times.of(Subject::Recorded)),
                    us(times.of(plain))
                ),
            )
        })
        .collect()
}

fn cage(times: &Times) -> Vec<Row> {
    Deed::ALL
        .into_iter()
        .map(|deed| {
            let of = (
                Subject::Plain(Cage::Closed, deed),
                Subject::Plain(Cage::Open, deed),
            );
            ratio(times, deed.name(), of, Bound::Shown)
        })
        .collect()
}
