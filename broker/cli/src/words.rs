//! Numbers in words.

/// A number of things.
pub(crate) fn counted(count: u64, what: &str) -> String {
    match (count, what.strip_suffix('y')) {
        (1, _) => format!("{count} {what}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {what}s"),
    }
}

/// Bytes in whole units, rounded down to a tenth.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (unit, name) in UNITS {
        if count >= unit {
            return format!("{}.{} {name}", count / unit, (count % unit) * 10 / unit);
        }
    }
    counted(count, "byte")
}
