//! What a caller wrote, given back to it: enough to know it again, never all of something large.

/// Bytes that are given back, at most.
const BYTES_MAX: usize = 4096;

/// The text, or its beginning with the count of what is left out.
pub(crate) fn short(text: &str) -> String {
    if text.len() <= BYTES_MAX {
        return text.to_owned();
    }
    let kept = text.floor_char_boundary(BYTES_MAX);
    let left = text.len().saturating_sub(kept);
    format!(
        "{}… ({left} bytes more)",
        text.get(..kept).unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_counted() {
        assert_eq!(short("a"), "a");
        let all = "\u{e4}".repeat(BYTES_MAX / 2);
        assert_eq!(short(&all), all);
        let cut = short(&format!("x{all}"));
        assert!(cut.ends_with("… (2 bytes more)"), "{cut}");
        assert!(cut.len() < BYTES_MAX + 40);
    }
}
