//! Selectors: every step is legal, nothing that matters is lost, and shown names come back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_protocol::path::{
    Parsed, RelPath, Start, Step, Want, escape, is_invisible, parse_selector, unescape,
};

fuzz_target!(|input: &[u8]| {
    if let Ok(parsed) = parse_selector(input) {
        check(input, &parsed);
    }
    let shown = escape(input);
    assert!(!shown.chars().any(|c| c.is_control() || is_invisible(c)));
    assert_eq!(unescape(&shown).as_deref(), Some(input));
    if let Ok(text) = std::str::from_utf8(input)
        && let Some(bytes) = unescape(text)
    {
        assert_eq!(unescape(&escape(&bytes)), Some(bytes));
    }
});

fn check(input: &[u8], parsed: &Parsed<'_>) {
    let mut again = Vec::new();
    if parsed.start == Start::Slash {
        again.push(b'/');
    }
    for step in &parsed.steps {
        let name = match step {
            Step::Up => b"..",
            Step::Down(name) => {
                let path = RelPath::root()
                    .join(name)
                    .expect("a step down is a plain name");
                assert_eq!(path.as_bytes(), *name);
                *name
            }
        };
        again.extend_from_slice(name);
        again.push(b'/');
    }
    assert_eq!(parsed.start == Start::Slash, input.starts_with(b"/"));
    // Only an end that names a directory by itself asks for one.
    let last = input.rsplit(|b| *b == b'/').next().unwrap_or_default();
    let directory = matches!(last, b"" | b"..") || (last == b"." && input.contains(&b'/'));
    assert_eq!(
        parsed.want == Want::Directory,
        directory,
        "{}",
        input.escape_ascii()
    );
    // The canonical form has the same steps.
    if again.is_empty() {
        again.push(b'.');
    }
    let twice = parse_selector(&again).expect("a canonical form is a selector");
    assert_eq!(twice.steps, parsed.steps);
    assert_eq!(twice.start, parsed.start);
}
