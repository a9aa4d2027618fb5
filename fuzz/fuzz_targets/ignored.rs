//! Ignore files: looked up in tables, their rules say of every path what each rule says that is
//! tried in order.
#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use portcullis_gate::slow::{File, Which, compare};
use portcullis_protocol::limits::NAME_BYTES_MAX;
use portcullis_protocol::view::Kind;

/// Deep enough for every state, and so few that trying all ways takes no time.
const NAMES_MAX: usize = 6;
const FILES_MAX: usize = 4;
const TEXT_BYTES_MAX: usize = 512;

#[derive(Debug)]
struct World {
    global: Vec<u8>,
    files: Vec<File>,
    path: Vec<Vec<u8>>,
    kind: Kind,
}

fuzz_target!(|input: &[u8]| {
    let Ok(world) = world(&mut Unstructured::new(input)) else {
        return;
    };
    let path: Vec<&[u8]> = world.path.iter().map(Vec::as_slice).collect();
    if path.is_empty() {
        return;
    }
    if let Err(difference) = compare(&world.global, &world.files, &path, world.kind) {
        panic!("{difference} in {world:?}");
    }
});

fn world(from: &mut Unstructured<'_>) -> Result<World> {
    let kind = *from.choose(&[Kind::File, Kind::Directory, Kind::Link])?;
    let path: Vec<u8> = from.arbitrary()?;
    let names = path.split(|byte| matches!(byte, b'/' | 0));
    let names = names.filter(|name| !name.is_empty() && name.len() <= NAME_BYTES_MAX);
    let path: Vec<Vec<u8>> = names.take(NAMES_MAX).map(<[u8]>::to_vec).collect();
    let mut files: Vec<File> = Vec::new();
    for _ in 0..from.int_in_range(0..=FILES_MAX)? {
        let file = File {
            which: *from.choose(&[Which::Ignore, Which::Git, Which::Exclude])?,
            depth: from.int_in_range(0..=NAMES_MAX)?,
            text: text(from)?,
        };
        let same = |other: &File| other.which == file.which && other.depth == file.depth;
        if !files.iter().any(same) {
            files.push(file);
        }
    }
    let global = text(from)?;
    Ok(World {
        global,
        files,
        path,
        kind,
    })
}

fn text(from: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut text: Vec<u8> = from.arbitrary()?;
    text.truncate(TEXT_BYTES_MAX);
    Ok(text)
}
