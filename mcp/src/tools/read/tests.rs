//! Where a text is cut.

use super::*;

#[test]
fn a_character_is_not_cut_whatever_comes_before_it() {
    for (bytes, count) in [
        (&b"abc"[..], 0),
        (b"", 0),
        ("\u{e4}".as_bytes(), 0),
        (b"a\xc3", 1),
        (b"\xffa\xc3", 1),
        (b"\xe2\x82", 2),
        (b"\xff\xf0\x9f\x98", 3),
        (b"\xf0\x9f\x98\x80", 0),
        // No beginning of anything.
        (b"a\xff", 0),
        (b"a\x82\x82\x82\x82", 0),
    ] {
        assert_eq!(begun(bytes), count, "{bytes:?}");
    }
}

#[test]
fn a_part_by_its_lines_ends_where_it_was_asked_to() {
    assert_eq!(Part::Head(5).last(), Some(5));
    assert_eq!(Part::Lines(2, 3).last(), Some(4));
    // To the end of the file.
    assert_eq!(Part::Lines(5, u64::MAX - 4).last(), None);
    assert_eq!(Part::Tail(5).last(), None);
}
