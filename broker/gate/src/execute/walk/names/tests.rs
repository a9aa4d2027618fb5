//! Names in order, and no more of them than may be held.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::os::fd::AsFd as _;

fn read_all(directory: &std::path::Path, room: usize) -> (Vec<Vec<u8>>, usize, usize) {
    let (mut fetch, mut names) = (Fetch::new(), Names::default());
    let (mut all, mut rest, mut reads, mut most) = (Vec::new(), Rest::From(Box::default()), 0, 0);
    while rest != Rest::None {
        let open = std::fs::File::open(directory).unwrap();
        let (next, _) = names
            .read((open.as_fd(), &mut fetch), &rest, (room, 0), &|_| false)
            .unwrap();
        all.extend(names.rows().iter().map(|row| names.name(row).to_vec()));
        most = most.max(names.cost());
        rest = next;
        reads += 1;
    }
    (all, reads, most)
}

#[test]
fn a_directory_is_read_in_pieces_of_what_may_be_held() {
    let place = tempfile::tempdir().unwrap();
    let mut expected = BTreeSet::new();
    for n in 0..3000 {
        let name = format!("{:x}-{n}", n * 2_654_435_761_u64 % 65_536);
        std::fs::write(place.path().join(&name), "").unwrap();
        expected.insert(name.into_bytes());
    }
    let expected: Vec<_> = expected.into_iter().collect();
    let (whole, reads, _) = read_all(place.path(), 1 << 20);
    assert_eq!((whole == expected, reads), (true, 1));
    let (pieces, reads, most) = read_all(place.path(), 8 * 1024);
    assert_eq!(pieces, expected);
    assert!(reads > 10, "{reads} reads");
    assert!(most <= 8 * 1024, "{most} bytes");
}

#[test]
fn reading_ends_where_nobody_wants_it() {
    let place = tempfile::tempdir().unwrap();
    for n in 0..5000 {
        std::fs::write(place.path().join(n.to_string()), "").unwrap();
    }
    let open = std::fs::File::open(place.path()).unwrap();
    let (mut names, all) = (Names::default(), Rest::From(Box::default()));
    let mut fetch = Fetch::new();
    let read = names.read((open.as_fd(), &mut fetch), &all, (1 << 20, 0), &|seen| {
        seen > 4096
    });
    assert_eq!(read.map(drop), Err(Errno::CANCELED));
}

#[test]
fn ignore_files_are_seen_whatever_is_asked_for() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join(".gitignore"), "").unwrap();
    let open = std::fs::File::open(place.path()).unwrap();
    let mut names = Names::default();
    let after = Rest::After(b"z".as_slice().into());
    let read = names.read(
        (open.as_fd(), &mut Fetch::new()),
        &after,
        (1024, 0),
        &|_| false,
    );
    let (_, present) = read.unwrap();
    assert!(names.rows().is_empty());
    let mut expected = Present::default();
    expected.see(b".gitignore");
    assert_eq!(present, expected);
}

proptest! {
    #[test]
    fn names_are_sorted_by_their_bytes(names in prop::collection::btree_set("[ab\u{e9}]{1,12}", 1..40)) {
        let mut held = Names::default();
        for name in names.iter().rev() {
            held.add(name.as_bytes(), Kind::File, 1);
        }
        held.add(names.iter().next().unwrap().as_bytes(), Kind::File, 1);
        held.sort();
        let got: Vec<_> = held.rows().iter().map(|row| held.name(row).to_vec()).collect();
        let expected: Vec<_> = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        prop_assert_eq!(got, expected);
    }
}
