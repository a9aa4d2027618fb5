//! Tables of rows, as text and as JSON.

use serde_json::{Value, json};
use std::fmt;

/// What a number must keep to.
#[derive(Clone, Copy)]
pub enum Bound {
    /// Small is good.
    AtMost { goal: f64, limit: f64 },
    /// Large is good.
    AtLeast { goal: f64, limit: f64 },
    /// Shown for what it explains.
    Shown,
}

/// One line of a table.
pub struct Row {
    pub name: String,
    pub value: f64,
    pub unit: &'static str,
    pub bound: Bound,
    /// What stands behind the number.
    pub of: String,
}

#[derive(PartialEq, Eq)]
enum Verdict {
    Goal,
    Limit,
    Missed,
    Shown,
}

impl Row {
    fn verdict(&self) -> Verdict {
        let meets = |bound: f64| match self.bound {
            Bound::AtMost { .. } => self.value <= bound,
            Bound::AtLeast { .. } => self.value >= bound,
            Bound::Shown => true,
        };
        match self.bound {
            Bound::AtMost { goal, .. } | Bound::AtLeast { goal, .. } if meets(goal) => {
                Verdict::Goal
            }
            Bound::AtMost { limit, .. } | Bound::AtLeast { limit, .. } if meets(limit) => {
                Verdict::Limit
            }
            Bound::AtMost { .. } | Bound::AtLeast { .. } => Verdict::Missed,
            Bound::Shown => Verdict::Shown,
        }
    }

    const fn bounds(&self) -> Option<(f64, f64)> {
        match self.bound {
            Bound::AtMost { goal, limit } | Bound::AtLeast { goal, limit } => Some((goal, limit)),
            Bound::Shown => None,
        }
    }
}

impl Verdict {
    const fn word(&self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Limit => "ok",
            Self::Missed => "MISSED",
            Self::Shown => "-",
        }
    }
}

/// Rows that belong together.
pub struct Table {
    pub name: &'static str,
    pub rows: Vec<Row>,
}

/// All tables of a run.
pub struct Report {
    pub tables: Vec<Table>,
}

impl Report {
    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.tables.iter().flat_map(|table| &table.rows)
    }

    /// Limits missed.
    pub fn misses(&self) -> usize {
        self.rows()
            .filter(|row| row.verdict() == Verdict::Missed)
            .count()
    }

    pub fn json(&self) -> Value {
        let row = |row: &Row| {
            let bounds = row.bounds();
            json!({
                "name": row.name,
                "value": row.value,
                "unit": row.unit,
                "goal": bounds.map(|(goal, _)| goal),
                "limit": bounds.map(|(_, limit)| limit),
                "verdict": row.verdict().word(),
                "of": row.of,
            })
        };
        let table = |table: &Table| {
            let rows: Vec<Value> = table.rows.iter().map(row).collect();
            json!({ "name": table.name, "rows": rows })
        };
        let tables: Vec<Value> = self.tables.iter().map(table).collect();
        json!({ "version": 1, "misses": self.misses(), "tables": tables })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = self
            .rows()
            .map(|row| row.name.chars().count())
            .max()
            .unwrap_or(0);
        for table in &self.tables {
            writeln!(f, "\n{}", table.name)?;
            writeln!(
                f,
                "  {:widest$}  {:>9}  {:>5}  {:>5}  {:7}  of",
                "", "value", "goal", "limit", "verdict"
            )?;
            for row in &table.rows {
                let value = format!("{:.2}{}", row.value, row.unit);
                let (goal, limit) = row.bounds().map_or_else(
                    || (String::new(), String::new()),
                    |(goal, limit)| (format!("{goal}"), format!("{limit}")),
                );
                writeln!(
                    f,
                    "  {:widest$}  {value:>9}  {goal:>5}  {limit:>5}  {:7}  {}",
                    row.name,
                    row.verdict().word(),
                    row.of
                )?;
            }
        }
        writeln!(f, "\n{} limits missed", self.misses())
    }
}
