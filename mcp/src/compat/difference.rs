//! Differences as the reference server shows them.

/// The broker's difference of one file, under the reference server's head and in a fence that
/// nothing in it ends.
pub(super) fn fenced(diff: &[u8], cut: u64, path: &str) -> String {
    let diff = String::from_utf8_lossy(diff);
    let mut body = format!(
        "Index: {path}\n{}\n--- {path}\toriginal\n+++ {path}\tmodified\n",
        "=".repeat(67)
    );
    body.push_str(changes(&diff));
    if !body.ends_with('\n') {
        body.push('\n');
    }
    if cut > 0 {
        body.push_str(&format!("(this difference has {cut} bytes more)\n"));
    }
    let mut fence = String::from("```");
    while body.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}diff\n{body}{fence}\n\n")
}

/// What follows the names: the hunks, or why there are none.
fn changes(diff: &str) -> &str {
    let is_head = |line: &str| {
        const HEADS: [&str; 5] = ["diff --git ", "old mode ", "new mode ", "--- ", "+++ "];
        HEADS.iter().any(|head| line.starts_with(head))
    };
    let mut rest = diff;
    // A line that begins so within a hunk comes after the hunk's own first line.
    while let Some(line) = rest.split_inclusive('\n').next()
        && is_head(line)
    {
        rest = rest.get(line.len()..).unwrap_or_default();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_exchanged_and_the_hunks_stay() {
        let diff = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- a\n+++ b\n c\n";
        let text = fenced(diff, 0, "/srv/f");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "```diff");
        assert_eq!(lines[1], "Index: /srv/f");
        assert_eq!(lines[2].len(), 67);
        assert_eq!(lines[3], "--- /srv/f\toriginal");
        assert_eq!(lines[5..9], ["@@ -1,2 +1,2 @@", "--- a", "+++ b", " c"]);
        assert!(text.ends_with("\n```\n\n"));
    }

    #[test]
    fn no_text_ends_the_fence() {
        let diff = b"@@ -1,1 +1,1 @@\n-````\n+x";
        let text = fenced(diff, 7, "/srv/f");
        assert!(text.starts_with("`````diff\n") && text.ends_with("\n`````\n\n"));
        assert!(text.contains("7 bytes more"));
        let nothing = fenced(b"", 0, "/f");
        assert!(nothing.ends_with("+++ /f\tmodified\n```\n\n"));
    }
}
