//! Which part of a long line is told.

use super::{Shown, around, without_end};
use portcullis_protocol::limits::SEARCH_LINE_BYTES_MAX;

#[test]
fn an_end_is_a_line_feed_or_a_return_and_one() {
    let table: [(&[u8], &[u8]); 7] = [
        (b"", b""),
        (b"a", b"a"),
        (b"a\n", b"a"),
        (b"a\r\n", b"a"),
        (b"a\r", b"a\r"),
        (b"\r\r\n", b"\r"),
        (b"\n", b""),
    ];
    for (line, text) in table {
        assert_eq!(without_end(line), text);
    }
}

#[test]
fn a_long_line_is_cut_between_characters() {
    for shift in 0..4 {
        let mut line = "x".repeat(shift);
        line.push_str(&"日本語😀é".repeat(300));
        for at in (0..line.len()).filter(|at| line.is_char_boundary(*at)) {
            let Shown {
                before,
                text,
                after,
            } = around(line.as_bytes(), at);
            assert!(text.len() <= SEARCH_LINE_BYTES_MAX);
            assert!(text.len() > SEARCH_LINE_BYTES_MAX - 7);
            assert_eq!(before + text.len() + after, line.len());
            assert!(std::str::from_utf8(text).is_ok());
            assert!((before..before + text.len()).contains(&at));
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_cut_too() {
    let line = [0x80; 5000];
    for at in [0, 1, 2500, 4999, 5000] {
        let shown = around(&line, at);
        assert_eq!(shown.text.len(), SEARCH_LINE_BYTES_MAX);
        assert_eq!(shown.before + shown.text.len() + shown.after, 5000);
    }
}
