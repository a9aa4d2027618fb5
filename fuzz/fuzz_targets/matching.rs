//! Edits of a file: whatever they are, the lines outside the places that are told stay byte for
//! byte, or nothing is made and it is said why.
#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use portcullis_fuzz::edits::{World, labels, lines, only_replace};
use portcullis_gate::matching::{Edited, Edits, Miss, apply};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Count, Lines};
use std::fmt::Debug;
use std::ops::Range;

const BOM: &[u8] = b"\xef\xbb\xbf";

fuzz_target!(|input: &[u8]| {
    let Ok(world) = World::arbitrary(&mut Unstructured::new(input)) else {
        return;
    };
    let order = Edits {
        edits: &world.edits,
        tiers: world.tiers,
        content: &world.content,
    };
    let made = apply(&world.file, order, || labels(&world.file));
    assert_eq!(
        made,
        apply(&world.file, order, || labels(&world.file)),
        "made twice"
    );
    match &made {
        Ok(edited) => check(&world, edited),
        Err(miss) => check_miss(&world, miss),
    }
    replaced(&world, &made);
});

fn check(world: &World, edited: &Edited) {
    let as_they_are = sides(world, edited, [&world.file, &edited.bytes]);
    // A byte order mark stays where it is, whatever the first line is; or it went with that line,
    // and the next has one of its own.
    let marked = [&world.file, &edited.bytes].map(|text| text.strip_prefix(BOM));
    let same = match marked {
        [Some(old), Some(new)] => {
            let (before, after) = sides(world, edited, [old, new]);
            before == after || as_they_are.0 == as_they_are.1
        }
        [_, _] => as_they_are.0 == as_they_are.1,
    };
    assert!(same, "of {:?}: {edited:?}", world.file);
}

/// The lines outside the places that are told, before and after.
fn sides(world: &World, edited: &Edited, texts: [&[u8]; 2]) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let [old, new] = texts.map(lines);
    let mut outside = [vec![true; old.len()], vec![true; new.len()]];
    let mut first = 1;
    for place in &edited.places {
        assert!(usize::from(place.edit) < world.edits.len());
        assert!(world.tiers.contains(place.tier), "{:?}", place.tier);
        assert!(place.old.first >= first, "not in order: {place:?}");
        first = place.old.first;
        for (told, outside) in [place.old, place.new].into_iter().zip(&mut outside) {
            for line in within(told, outside.len(), &(world, edited)) {
                outside[line] = false;
            }
        }
    }
    let kept = |lines: &[&[u8]], outside: &[bool]| {
        let kept = lines.iter().zip(outside).filter(|(_, outside)| **outside);
        kept.map(|(line, _)| line.to_vec()).collect::<Vec<_>>()
    };
    let mut before = kept(&old, &outside[0]);
    let after = kept(&new, &outside[1]);
    // A last line without a newline gets one when lines are put after it.
    let grew = new.len() > after.len() && !world.file.ends_with(b"\n");
    if let (true, Some(was), Some(is)) = (grew, before.last_mut(), after.last())
        && *outside[0].last().unwrap_or(&false)
        && let Some(end @ (b"\n" | b"\r\n")) = is.strip_prefix(was.as_slice())
    {
        was.extend_from_slice(end);
    }
    (before, after)
}

/// Lines from 0 that are told, all of which there are.
fn within(told: Lines, count: usize, of: &dyn Debug) -> Range<usize> {
    let number = |n: u64| usize::try_from(n).expect("a small number");
    assert!(told.first >= 1, "{told:?} of {of:?}");
    let start = number(told.first - 1);
    let end = start + number(told.count);
    assert!(end <= count, "{told:?} of {count} lines of {of:?}");
    start..end
}

fn check_miss(world: &World, miss: &Miss) {
    assert!(matches!(
        miss.code,
        Code::NotUnique
            | Code::StaleAnchor
            | Code::Collision
            | Code::OutOfRange
            | Code::OutOfBudget
    ));
    assert!(miss.edit < world.edits.len());
    assert!(miss.note.len() <= 256, "{}", miss.note);
    assert!(!miss.note.chars().any(char::is_control), "{:?}", miss.note);
    if let Some(near) = miss.near {
        within(near, lines(&world.file).len(), world);
    }
}

/// A text for a text, byte for byte, is what anybody would make of it.
fn replaced(world: &World, made: &Result<Edited, Miss>) {
    let Some((old, new, count)) = only_replace(world) else {
        return;
    };
    let places: Vec<usize> = (0..world.file.len())
        .filter(|at| world.file[*at..].starts_with(old))
        .collect();
    if places.windows(2).any(|pair| pair[1] < pair[0] + old.len()) {
        return; // Which of two that overlap is meant is another question.
    }
    let right = match count {
        Count::Exactly(count) => places.len() == count as usize,
        Count::All => !places.is_empty(),
    };
    if !right {
        let code = made.as_ref().err().map(|miss| miss.code);
        assert_eq!(code, Some(Code::NotUnique));
        return;
    }
    let mut wanted = Vec::new();
    let mut done = 0;
    for at in places {
        wanted.extend_from_slice(&world.file[done..at]);
        wanted.extend_from_slice(new);
        done = at + old.len();
    }
    wanted.extend_from_slice(&world.file[done..]);
    assert_eq!(made.as_ref().map(|edited| &edited.bytes), Ok(&wanted));
}
