//! Paths below a root: what parses is plain, and going down and up are inverse.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_protocol::limits::{NAME_BYTES_MAX, PATH_BYTES_MAX};
use portcullis_protocol::path::RelPath;

fuzz_target!(|input: &[u8]| {
    // The first zero byte, which no name can hold, parts two paths.
    let mut halves = input.splitn(2, |b| *b == 0);
    let first = halves.next().unwrap_or_default();
    let second = halves.next().unwrap_or_default();
    if let (Ok(a), Ok(b)) = (RelPath::parse(first), RelPath::parse(second)) {
        parsed(&a, first);
        parsed(&b, second);
        below(&a, &b);
        below(&b, &a);
    }
    // Each half as one name, whatever it is.
    joined(&RelPath::root(), first);
    if let Ok(a) = RelPath::parse(first) {
        joined(&a, second);
    }
});

fn parsed(path: &RelPath, bytes: &[u8]) {
    assert_eq!(path.as_bytes(), bytes);
    assert!(bytes.len() <= PATH_BYTES_MAX);
    assert_eq!(path.is_root(), bytes.is_empty());
    assert_eq!(path.last(), path.names().last());
    let mut rebuilt = RelPath::root();
    for name in path.names() {
        assert!(!name.is_empty() && name.len() <= NAME_BYTES_MAX);
        assert!(name != b"." && name != b".." && !name.contains(&0) && !name.contains(&b'/'));
        rebuilt.push(name).expect("a name of a path is a name");
    }
    assert_eq!(&rebuilt, path);
    let mut up = path.clone();
    for _ in path.names() {
        assert!(up.pop());
    }
    assert!(up.is_root() && !up.pop());
    let encoded = postcard::to_extend(path, Vec::new()).expect("a path is encodable");
    assert_eq!(postcard::from_bytes::<RelPath>(&encoded).as_ref(), Ok(path));
}

fn joined(path: &RelPath, name: &[u8]) {
    let Ok(longer) = path.join(name) else {
        return;
    };
    assert_eq!(longer.last(), Some(name));
    assert_eq!(longer.below(path), Some(name));
    assert_eq!(path.below(&longer), None);
    assert_eq!(RelPath::parse(longer.as_bytes()).as_ref(), Ok(&longer));
    let mut back = longer;
    assert!(back.pop());
    assert_eq!(&back, path);
}

/// `below` is by component: its answer joined to the prefix is the path.
fn below(path: &RelPath, prefix: &RelPath) {
    assert_eq!(path.below(path), Some(&b""[..]));
    assert_eq!(path.below(&RelPath::root()), Some(path.as_bytes()));
    let names: Vec<_> = path.names().collect();
    let start: Vec<_> = prefix.names().collect();
    match path.below(prefix) {
        None => assert!(!names.starts_with(&start)),
        Some(rest) => {
            assert!(names.starts_with(&start));
            let mut whole = prefix.clone();
            for name in RelPath::parse(rest).expect("a rest is a path").names() {
                whole.push(name).expect("it fitted before");
            }
            assert_eq!(&whole, path);
        }
    }
}
