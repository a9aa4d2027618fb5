//! The client loop: one and the same for Portcullis and for the naive server.

use crate::tally::Tally;
use portcullis_client::protocol::path::escape;
use portcullis_client::protocol::session::{
    Completeness, Detail, Done, Entry, Found, Range, Read, Steadiness,
};
use portcullis_client::protocol::view::Kind;
use portcullis_client::{Error, Session, ask};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Every file outside holds this, and no file inside does.
pub(crate) const OUTSIDE: &[u8] = b"OUTSIDE";
/// Names of files outside begin with this, and no name inside does, but for the one that is read.
pub(crate) const OUTSIDE_NAME: &[u8] = b"out-";
/// Names of files in the directories walked begin with this.
pub(crate) const INSIDE_NAME: &[u8] = b"in-";

/// What a client asks for, round after round.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    /// Files read and looked at.
    pub(crate) files: Vec<&'static str>,
    /// Directories listed, globbed and searched, to the bottom.
    pub(crate) walks: Vec<&'static str>,
    /// Objects that `stat` may show.
    pub(crate) known: HashSet<u64>,
}

/// Reads sent before the first is answered.
const READS: usize = 32;
/// Looks in one round.
const STATS: usize = 16;

/// Asks until there were `attempts`, or `enough` says so. Gives what came of them, and the
/// longest wait.
pub(crate) fn drive(
    session: &mut Session,
    asks: &Asks,
    attempts: u64,
    enough: impl Fn(&Tally) -> bool,
) -> (Tally, Duration) {
    let mut tally = Tally::default();
    let mut longest = Duration::ZERO;
    let reads = reads(&asks.files);
    while tally.attempts < attempts && !enough(&tally) {
        let began = Instant::now();
        for answer in session.pipeline_read(&reads).unwrap() {
            take_read(&mut tally, answer);
        }
        longest = longest.max(began.elapsed());
        for file in asks.files.iter().cycle().take(STATS) {
            let began = Instant::now();
            take_stat(&mut tally, asks, session, file);
            longest = longest.max(began.elapsed());
        }
        for directory in &asks.walks {
            walks(&mut tally, session, directory);
        }
    }
    (tally, longest)
}

/// Reads that are sent together. Small ones: the gate answers them in line, one after the other.
pub(crate) fn reads(files: &[&str]) -> Vec<Read> {
    let read = |file: &&str| Read {
        range: Range::Bytes {
            offset: 0,
            length: 64 * 1024,
        },
        ..ask::read(ask::selector(file).unwrap())
    };
    files.iter().cycle().take(READS).map(read).collect()
}

fn refused(tally: &mut Tally, verb: &'static str, error: &Error) {
    match error.refusal() {
        Some(refusal) => tally.count(verb, format!("refused {}", refusal.code.name())),
        None => panic!("{verb}: the connection broke: {error}"),
    }
}

fn holds(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|w| w == what)
}

fn take_read(tally: &mut Tally, answer: portcullis_client::ReadAnswer) {
    let files = match answer {
        Ok(files) => files,
        Err(error) => return refused(tally, "read", &error),
    };
    for file in files {
        match file {
            Err(refusal) => tally.count("read", format!("refused {}", refusal.code.name())),
            Ok(file) if holds(&file.bytes, OUTSIDE) => {
                tally.escape(
                    "read",
                    format!("read {:?}", escape(&file.bytes[..16.min(file.bytes.len())])),
                );
            }
            Ok(file) => {
                let (first, last) = (file.bytes.first(), file.bytes.last());
                // Files that are rewritten hold one byte all over.
                let mixed = first.is_some() && file.bytes.len() > 1024 && first != last;
                match (file.end.steadiness, mixed) {
                    (Steadiness::Torn, true) => tally.count("read", "two versions, said torn"),
                    (Steadiness::Torn, false) => tally.count("read", "one version, said torn"),
                    (Steadiness::Steady, true) => tally.count("read", "two versions, said steady"),
                    (Steadiness::Steady, false) => {
                        tally.count("read", format!("ok inside, {}", initial(&file.bytes)));
                    }
                }
            }
        }
    }
}

/// The kind of content, so that the states of a file are told apart.
fn initial(bytes: &[u8]) -> String {
    let word = bytes
        .split(|b| !b.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    match word.len() {
        0 => "empty".to_owned(),
        1..=16 => String::from_utf8_lossy(word).into_owned(),
        _ => format!("all {}", word[0] as char),
    }
}

fn take_stat(tally: &mut Tally, asks: &Asks, session: &mut Session, file: &str) {
    match session.stat(&ask::stat(ask::selector(file).unwrap())) {
        Err(error) => refused(tally, "stat", &error),
        Ok(binding) => {
            let inode = binding.observation.stamp.inode;
            if asks.known.contains(&inode) {
                tally.count(
                    "stat",
                    format!("ok inside, {}", binding.observation.kind.name()),
                );
            } else {
                tally.escape("stat", format!("looked at inode {inode} behind {file}"));
            }
        }
    }
}

fn walks(tally: &mut Tally, session: &mut Session, directory: &'static str) {
    let mut list = ask::list(ask::selector(directory).unwrap());
    list.depth = 8;
    list.detail = Detail::Full;
    match session.list(&list) {
        Ok(stream) => take_entries(tally, "list", stream),
        Err(error) => refused(tally, "list", &error),
    }
    match session.glob(&ask::glob(ask::selector(directory).unwrap(), "**").unwrap()) {
        Ok(stream) => take_entries(tally, "glob", stream),
        Err(error) => refused(tally, "glob", &error),
    }
    match session.search(&ask::search(ask::selector(directory).unwrap(), "SIDE").unwrap()) {
        Ok(stream) => take_found(tally, stream),
        Err(error) => refused(tally, "search", &error),
    }
}

fn take_entries(
    tally: &mut Tally,
    verb: &'static str,
    mut stream: portcullis_client::Stream<'_, Entry>,
) {
    let mut inside = 0_u32;
    let mut odd = None;
    let mut outside = None;
    for entry in &mut stream {
        let entry = entry.unwrap();
        let name = entry.path.last().unwrap_or_default();
        if name.starts_with(OUTSIDE_NAME) {
            outside = Some(format!("{verb} named {}", entry.path));
        } else if name.starts_with(INSIDE_NAME) {
            inside += 1;
        }
        match entry.kind {
            Kind::Link => odd = Some("a link seen as a link"),
            Kind::Fifo => odd = Some("a FIFO seen as a FIFO"),
            Kind::File | Kind::Directory | Kind::Socket | Kind::Device | Kind::Unknown => {}
        }
    }
    let done = stream.finish().unwrap();
    match outside {
        Some(outside) => tally.escape(verb, outside),
        None => tally.count(verb, walked(inside, &done)),
    }
    if let Some(odd) = odd {
        tally.also(verb, format!("({odd})"));
    }
}

fn take_found(tally: &mut Tally, mut stream: portcullis_client::Stream<'_, Found>) {
    let mut inside = 0_u32;
    let mut outside = None;
    for found in &mut stream {
        match found.unwrap() {
            Found::File { path } | Found::Count { path, .. } => {
                let name = path.last().unwrap_or_default();
                if name.starts_with(OUTSIDE_NAME) {
                    outside = Some(format!("search named {path}"));
                } else if name.starts_with(INSIDE_NAME) {
                    inside += 1;
                }
            }
            Found::Line(line) => {
                if holds(line.text.as_slice(), OUTSIDE) {
                    outside = Some(format!("search showed {}", escape(line.text.as_slice())));
                }
            }
        }
    }
    let done = stream.finish().unwrap();
    match outside {
        Some(outside) => tally.escape("search", outside),
        None => tally.count("search", walked(inside, &done)),
    }
    if done.statistics.not_regular > 0 {
        tally.also("search", "(something not regular passed over)");
    }
    if done.statistics.denied > 0 {
        tally.also("search", "(something denied passed over)");
    }
}

/// The class of a walk that stayed inside.
fn walked(inside: u32, done: &Done) -> String {
    let saw = if inside == 0 {
        "without the files"
    } else {
        "with the files"
    };
    match &done.completeness {
        Completeness::Cut { reason, .. } => format!("cut: {}", reason.name()),
        Completeness::Complete if done.statistics.changed > 0 => format!("changed counted, {saw}"),
        Completeness::Complete => format!("complete, {saw}"),
    }
}
