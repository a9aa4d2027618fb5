//! The client: walks after walks, each judged.

use crate::judge::{Rules, Tally, Verb, Walked};
use portcullis_client::protocol::bounded::Bytes;
use portcullis_client::protocol::session::{
    Completeness, Detail, Done, Entry, Found, Passing, Search, Syntax,
};
use portcullis_client::{Error, Session, Stream, ask};

/// One round: every verb from every start.
pub(crate) fn round(session: &mut Session, rules: &Rules, starts: &[&str], tally: &mut Tally) {
    for from in starts {
        let selector = || ask::selector(from).unwrap();
        for (verb, detail) in [("list", Detail::Names), ("full", Detail::Full)] {
            let mut list = ask::list(selector());
            (list.depth, list.detail) = (100, detail);
            judge(tally, rules, (verb, from), session.list(&list).map(entries));
        }
        let mut glob = ask::glob(selector(), "**/*-*").unwrap();
        glob.passing = Passing::nothing();
        judge(
            tally,
            rules,
            ("glob", from),
            session.glob(&glob).map(entries),
        );
        let search = pattern(ask::search(selector(), "").unwrap());
        judge(
            tally,
            rules,
            ("search", from),
            session.search(&search).map(found),
        );
    }
}

fn pattern(mut search: Search) -> Search {
    search.syntax = Syntax::Regex;
    search.pattern = Bytes::new("INSIDE|OUTSIDE|SECRET").unwrap();
    search
}

fn judge(
    tally: &mut Tally,
    rules: &Rules,
    (verb, from): (Verb, &str),
    walked: Result<Walked, Error>,
) {
    match walked {
        Ok(walked) => tally.judge(rules, (verb, from), &walked),
        Err(error) => match error.refusal() {
            Some(refusal) => {
                tally.walks += 1;
                tally.count(verb, format!("refused {}", refusal.code.name()));
            }
            None => panic!("{verb} of {from}: no answer: {error}"),
        },
    }
}

fn entries(mut stream: Stream<'_, Entry>) -> Walked {
    let mut walked = Walked::default();
    for entry in &mut stream {
        let entry = entry.unwrap();
        if let Some(text) = entry.detail.and_then(|detail| detail.link) {
            // Where a link in the root leads is its own text, and no secret.
            assert!(!text.as_slice().is_empty());
        }
        walked.paths.push(entry.path.as_bytes().to_vec());
    }
    walked.end = end(&stream.finish().unwrap());
    walked
}

fn found(mut stream: Stream<'_, Found>) -> Walked {
    let mut walked = Walked::default();
    for found in &mut stream {
        match found.unwrap() {
            Found::File { path } | Found::Count { path, .. } => {
                walked.paths.push(path.as_bytes().to_vec());
            }
            Found::Line(line) => walked.texts.push(line.text.as_slice().to_vec()),
        }
    }
    walked.end = end(&stream.finish().unwrap());
    walked
}

/// How a walk ended, and which numbers say that it met something.
fn end(done: &Done) -> String {
    let mut end = match &done.completeness {
        Completeness::Complete => "complete".to_owned(),
        Completeness::Cut { reason, .. } => format!("cut: {}", reason.name()),
    };
    let numbers = &done.statistics;
    for (number, name) in [
        (numbers.changed, "changed"),
        (numbers.denied, "denied"),
        (numbers.not_regular, "not regular"),
        (numbers.too_large, "too large"),
        (numbers.unreadable, "UNREADABLE"),
    ] {
        if number > 0 {
            end.push_str(&format!(" + {name}"));
        }
    }
    end
}
