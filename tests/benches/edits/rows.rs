//! From times to rows: what is divided by what, and what it must keep to.

use crate::report::{Bound, Report, Row, Table};
use crate::subject::{Form, Lines, Size, Step, Subject, Times};

/// Ten times as much in at most so many times the time: growth with the square would be a hundred.
const TENFOLD: Bound = Bound::AtMost {
    goal: 12.0,
    limit: 20.0,
};

/// The tables.
pub fn report(times: &Times) -> Report {
    let mut tables = vec![
        Table {
            name: "a file ten times as large with ten times the hunks, beside the size before: 10 is linear",
            rows: growth(times, Lines::Unlike, &Size::BOTH, TENFOLD),
        },
        Table {
            name: "the same where all lines around the changes are alike",
            rows: growth(times, Lines::Alike, &Size::BOTH, TENFOLD),
        },
        Table {
            name: "a file ten times as large with 10 hunks",
            rows: growth(times, Lines::Unlike, &Size::FILE, TENFOLD),
        },
        Table {
            name: "ten times the hunks in a file of 10,000 KiB",
            rows: growth(times, Lines::Unlike, &Size::HUNKS, TENFOLD),
        },
    ];
    tables.push(Table {
        name: "a whole request beside the same bytes read, spliced where they are known to go, and written",
        rows: beside(times, Step::Plain, "read, splice, write"),
    });
    tables.push(Table {
        name: "a whole request beside one text after the other, each looked for and the file copied",
        rows: beside(times, Step::OneByOne, "one by one"),
    });
    tables.push(Table {
        name: "a whole request beside `git apply` of the same patch, start of the program included",
        rows: beside(times, Step::Git, "git apply"),
    });
    tables.push(Table {
        name: "a whole request beside `apply_patch` of the same patch, where it is on PATH",
        rows: beside(times, Step::ApplyPatch, "apply_patch"),
    });
    tables.retain(|table| !table.rows.is_empty());
    Report { tables }
}

fn ms(nanos: f64) -> String {
    format!("{:.3} ms", nanos / 1e6)
}

/// Each size beside the one before it.
fn growth(times: &Times, lines: Lines, sizes: &[Size], bound: Bound) -> Vec<Row> {
    let mut rows = Vec::new();
    for form in Form::ALL {
        for (step, name) in [
            (Step::Parse, "parse"),
            (Step::Match, "match"),
            (Step::Whole, "whole request"),
            (Step::OneByOne, "not this broker: one by one"),
            (Step::Git, "not this broker: git apply"),
            (Step::ApplyPatch, "not this broker: apply_patch"),
        ] {
            let of = |size| Subject {
                form,
                lines,
                size,
                step,
            };
            let pairs = sizes.windows(2).map(|pair| (of(pair[0]), of(pair[1])));
            let bound = match step {
                Step::Parse | Step::Match | Step::Whole => bound,
                Step::Plain | Step::OneByOne | Step::Git | Step::ApplyPatch => Bound::Shown,
            };
            rows.extend(
                pairs
                    .filter(|(less, more)| times.has(*less) && times.has(*more))
                    .map(|(less, more)| Row {
                        name: format!("{}: {name}, {}", form.name(), more.size.name()),
                        value: times.ratio(more, less),
                        unit: "",
                        bound,
                        of: format!("{} / {}", ms(times.of(more)), ms(times.of(less))),
                    }),
            );
        }
    }
    rows
}

/// Whole requests beside another way, where both were measured.
fn beside(times: &Times, step: Step, name: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for lines in [Lines::Unlike, Lines::Alike] {
        for form in Form::ALL {
            for size in [Size::BOTH, Size::FILE].concat() {
                // Known places are known for every form; they are measured with replacements.
                let other = match step {
                    Step::Plain => Form::Replacements,
                    Step::Parse
                    | Step::Match
                    | Step::Whole
                    | Step::OneByOne
                    | Step::Git
                    | Step::ApplyPatch => form,
                };
                let subject = |form, step| Subject {
                    form,
                    lines,
                    size,
                    step,
                };
                let (above, below) = (subject(form, Step::Whole), subject(other, step));
                let name = format!(
                    "{}, {}, {} / {name}",
                    form.name(),
                    size.name(),
                    lines.name()
                );
                if times.has(below) && !rows.iter().any(|row: &Row| row.name == name) {
                    rows.push(Row {
                        name,
                        value: times.ratio(above, below),
                        unit: "",
                        bound: Bound::Shown,
                        of: format!("{} / {}", ms(times.of(above)), ms(times.of(below))),
                    });
                }
            }
        }
    }
    rows
}
