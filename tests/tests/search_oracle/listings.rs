//! Files that are listed, against `rg --files`.

use crate::random::{Random, say};
use crate::rg::{Rg, paths};
use crate::tree::Git;
use crate::{flags, request, tree};
use portcullis_client::ask;
use portcullis_client::protocol::bounded::Few;
use portcullis_client::protocol::view::Kind;
use portcullis_tests::{World, own};
use std::collections::BTreeSet;
use std::ffi::OsString;

const TREES: usize = 6;
const LISTINGS: usize = 25;

#[test]
fn listings_of_files_are_those_of_rg() {
    let Some(rg) = Rg::here("a comparison of listings") else {
        return;
    };
    let random = Random::seeded("listings");
    let mut told = 0;
    for part in 0..TREES {
        let mut random = random.part(part);
        let mut world = World::new(own!("own-gate"));
        let git = if part == 0 { Git::None } else { Git::of(part) };
        match part {
            0 => tree::sources(&world.inside()),
            _ => tree::generate(&mut random, &world.inside(), git),
        }
        let mut opened = world.session();
        for _ in 0..LISTINGS {
            let mut list = ask::list(ask::selector(".").unwrap());
            list.passing = request::passing(&mut random);
            list.kinds = Few::new(vec![Kind::File]).unwrap();
            list.depth = random.of(&[1, 2, 3, 2000]);
            let mut flags: Vec<OsString> = vec!["--files".into(), "-0".into()];
            flags.push(format!("--max-depth={}", list.depth).into());
            flags::passing(&list.passing, &mut flags);
            flags.push("./".into());
            let theirs: BTreeSet<Vec<u8>> =
                paths(&rg.run((&world.inside(), git), &flags).unwrap()).collect();
            let entries = opened.session.list(&list).unwrap();
            let ours: Vec<Vec<u8>> = entries
                .map(|entry| entry.unwrap().path.as_bytes().to_vec())
                .collect();
            assert!(ours.is_sorted_by(|a, b| crate::ours::is_before(a, b)));
            told += ours.len();
            let ours = ours.into_iter().collect::<BTreeSet<_>>();
            if ours != theirs {
                world.place.disable_cleanup(true);
            }
            let strings = |set: &BTreeSet<Vec<u8>>, other: &BTreeSet<Vec<u8>>| -> Vec<String> {
                let only = set.difference(other);
                only.map(|p| String::from_utf8_lossy(p).into_owned())
                    .collect()
            };
            assert_eq!(
                strings(&ours, &theirs),
                strings(&theirs, &ours),
                "only ours, only rg, in {}: {flags:?}",
                world.inside().display()
            );
        }
    }
    say(&format!("{} listings, {told} files", TREES * LISTINGS));
    assert!(told > 1000);
}
