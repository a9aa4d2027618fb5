//! What reads and lists must answer of a tree.

use super::disk::{Node, Tree};
use super::known::Known;
use super::model::{digest, leads_to};
use portcullis_client::{FileAnswer, FileContent, Session, ask};
use portcullis_protocol::session::{Entry, FinalNewline, Range, Read, Rest, Survey, TextSurvey};
use portcullis_protocol::view::Kind;
use std::collections::BTreeMap;
use std::ops;

/// Reads a name, and compares the answer with what the tree has there.
pub fn read(session: &mut Session, tree: &Tree, known: &mut Known, (name, read): (&str, &Read)) {
    let answer = match session.read(read) {
        Ok(answers) => {
            let [answer] = <[FileAnswer; 1]>::try_from(answers).expect("one file was asked for");
            answer
        }
        Err(error) => Err(error.refusal().expect("a refusal").clone()),
    };
    let place = leads_to(tree, name);
    match (place.ok().and_then(|at| tree.get(&at)), answer) {
        (Some(Node::File { content, .. }), Ok(answer)) => {
            let bytes = check(content, read, &answer);
            known.shown(content, bytes);
        }
        (Some(Node::File { .. }), Err(refusal)) => {
            let no_line = matches!(read.range, Range::Lines { first: 0, .. });
            assert!(no_line, "{name}: {refusal:?}");
        }
        (Some(Node::Directory { .. } | Node::Link(_)) | None, Err(_)) => {}
        (Some(Node::Directory { .. } | Node::Link(_)) | None, Ok(answer)) => {
            panic!("{name} is no file: {answer:?}")
        }
    }
}

fn check(content: &[u8], read: &Read, answer: &FileContent) -> ops::Range<usize> {
    let wanted = part(content, read.range);
    assert_eq!(
        answer.bytes,
        content[wanted.clone()],
        "{read:?}: {answer:?}"
    );
    let end = &answer.end;
    if !wanted.is_empty() {
        assert_eq!(answer.offset, wanted.start as u64, "{read:?}");
        assert_eq!(end.next_offset, wanted.end as u64, "{read:?}");
        let rest = if wanted.end == content.len() {
            Rest::End
        } else {
            Rest::More
        };
        assert_eq!(end.rest, rest, "{read:?}");
    }
    assert_eq!(answer.binding.observation.stamp.size, content.len() as u64);
    match (read.survey, &end.text) {
        (Survey::None, _) => {}
        (Survey::Text | Survey::TextAndDigest, Some(text)) => survey(content, text),
        (Survey::Text | Survey::TextAndDigest, None) => panic!("no survey: {answer:?}"),
    }
    if read.survey == Survey::TextAndDigest {
        assert_eq!(end.digest, Some(digest(content).0));
    }
    wanted
}

/// The bytes of a part.
fn part(content: &[u8], range: Range) -> ops::Range<usize> {
    let len = content.len() as u64;
    let (start, end) = match range {
        Range::Bytes { offset, length } => (offset, offset.saturating_add(length)),
        Range::Lines { first, count } => {
            let first = first.saturating_sub(1);
            (
                line(content, first),
                line(content, first.saturating_add(count)),
            )
        }
        Range::Head { count } => (0, line(content, count)),
        Range::Tail { count } => {
            let all = lines(content).count() as u64;
            (line(content, all.saturating_sub(count)), len)
        }
    };
    let at = |offset: u64| usize::try_from(offset.min(len)).expect("within the content");
    at(start)..at(end).max(at(start))
}

fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split_inclusive(|byte| *byte == b'\n')
}

/// Where a line begins, from 0; the end for those there are not.
fn line(content: &[u8], n: u64) -> u64 {
    let before = lines(content).take(usize::try_from(n).unwrap_or(usize::MAX));
    before.map(|line| line.len() as u64).sum()
}

fn survey(content: &[u8], told: &TextSurvey) {
    let count = |wanted: fn(&[u8]) -> bool| lines(content).filter(|line| wanted(line)).count();
    assert_eq!(told.lines, lines(content).count() as u64, "{told:?}");
    let crlf = count(|line| line.ends_with(b"\r\n"));
    let ended = count(|line| line.ends_with(b"\n"));
    assert_eq!((told.crlf, told.lf), (crlf as u64, (ended - crlf) as u64));
    let last = match content.last() {
        None => FinalNewline::Empty,
        Some(b'\n') => FinalNewline::Present,
        Some(_) => FinalNewline::Absent,
    };
    assert_eq!(told.final_newline, last);
}

/// Lists everything: what a session is shown is the tree, and nothing beside it.
pub fn list(session: &mut Session, tree: &Tree) {
    let mut ask = ask::list(ask::selector(".").expect("a name"));
    ask.depth = 9;
    let mut stream = session.list(&ask).expect("a list");
    let mut told = BTreeMap::new();
    while let Some(entry) = stream.next().transpose().expect("an entry") {
        let Entry { path, kind, .. } = entry;
        let name = String::from_utf8(path.as_bytes().to_vec()).expect("a name of ours");
        assert_eq!(
            told.insert(name.clone(), kind),
            None,
            "{name} is told twice"
        );
    }
    let kind = |node: &Node| match node {
        Node::File { .. } => Kind::File,
        Node::Directory { .. } => Kind::Directory,
        Node::Link(_) => Kind::Link,
    };
    let is: BTreeMap<String, Kind> = tree
        .iter()
        .map(|(n, node)| (n.clone(), kind(node)))
        .collect();
    assert_eq!(told, is);
}
