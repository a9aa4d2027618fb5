//! Every reading verb on one selector, checked against each other.

use super::{OUTSIDE_NAME, SECRET};
use portcullis_client::{FileContent, Session, ask};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Detail, Done, Entry, Found, Links, Passing, Selector, Syntax, Verdict,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Binding, Kind};

/// What every verb answered to one selector.
#[derive(Debug)]
pub struct All {
    written: Vec<u8>,
    /// Stat, links followed.
    pub stat: Result<Binding, Refusal>,
    /// Stat, a link in the last component looked at as a link.
    pub look: Result<Binding, Refusal>,
    /// Read, the whole file.
    pub read: Result<FileContent, Refusal>,
    /// List, all levels, all fields.
    pub list: Result<(Vec<Entry>, Done), Refusal>,
    /// Glob of everything, all fields.
    pub glob: Result<(Vec<Entry>, Done), Refusal>,
    /// Search for every line.
    pub search: Result<(Vec<Found>, Done), Refusal>,
}

/// Asks with every verb, and checks `why` and every reply.
pub fn every(session: &mut Session, path: impl AsRef<[u8]>) -> All {
    every_at(session, ask::selector(path).unwrap())
}

/// The same in a named root.
pub fn every_at(session: &mut Session, selector: Selector) -> All {
    let mut look = ask::stat(selector.clone());
    let stat = refusal_of(session.stat(&look));
    look.links = Links::Keep;
    let look = refusal_of(session.stat(&look));
    let read = refusal_of(session.read_file(selector.clone()));
    let mut list = ask::list(selector.clone());
    (list.depth, list.detail) = (u32::MAX, Detail::Full);
    let list = refusal_of(session.list(&list).and_then(drain));
    let mut glob = ask::glob(selector.clone(), "**").unwrap();
    (glob.detail, glob.passing) = (Detail::Full, Passing::nothing());
    let glob = refusal_of(session.glob(&glob).and_then(drain));
    let mut search = ask::search(selector.clone(), "^").unwrap();
    (search.syntax, search.passing) = (Syntax::Regex, Passing::nothing());
    let search = refusal_of(session.search(&search).and_then(drain));
    let written = selector.path.as_slice().to_vec();
    let all = All {
        written,
        stat,
        look,
        read,
        list,
        glob,
        search,
    };
    all.nothing_leaked();
    all.why_foretells(session, &selector);
    all
}

fn drain<T: portcullis_client::StreamItem>(
    mut stream: portcullis_client::Stream<'_, T>,
) -> Result<(Vec<T>, Done), portcullis_client::Error> {
    let mut items = Vec::new();
    for item in stream.by_ref() {
        items.push(item?);
    }
    Ok((items, stream.finish()?))
}

/// The refusal; any other error fails the test.
pub fn refusal_of<T>(result: Result<T, portcullis_client::Error>) -> Result<T, Refusal> {
    result.map_err(|error| match error.refusal() {
        Some(refusal) => refusal.clone(),
        None => panic!("not a refusal: {error}"),
    })
}

impl All {
    /// The code of each verb's refusal, in the order of [`Verb::ALL`]: stat, read, list, glob,
    /// search.
    pub fn codes(&self) -> [Option<Code>; 5] {
        let [stat, read, list, glob, search] = self.refusals();
        [stat, read, list, glob, search].map(|refusal| refusal.map(|r| r.code))
    }

    fn refusals(&self) -> [Option<&Refusal>; 5] {
        [
            self.stat.as_ref().err(),
            self.read.as_ref().err(),
            self.list.as_ref().err(),
            self.glob.as_ref().err(),
            self.search.as_ref().err(),
        ]
    }

    /// Every verb is refused with this code.
    #[track_caller]
    pub fn refused(&self, code: Code) {
        assert_eq!(self.codes(), [Some(code); 5], "{}", self.shown());
    }

    /// The same, and a look at the name as a link too.
    #[track_caller]
    pub fn refused_even_as_link(&self, code: Code) {
        self.refused(code);
        let look = self.look.as_ref().err().map(|refusal| refusal.code);
        assert_eq!(look, Some(code), "look at {}", self.shown());
    }

    /// It is this regular file, for every verb.
    #[track_caller]
    pub fn is_file(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) {
        let wrong = Some(Code::NotADirectory);
        assert_eq!(
            self.codes(),
            [None, None, wrong, wrong, None],
            "{}",
            self.shown()
        );
        let stat = self.stat.as_ref().unwrap();
        assert_eq!(stat.path.as_bytes(), path.as_ref(), "{}", self.shown());
        assert_eq!(stat.observation.kind, Kind::File, "{}", self.shown());
        let read = self.read.as_ref().unwrap();
        assert_eq!(
            read.binding.path.as_bytes(),
            path.as_ref(),
            "{}",
            self.shown()
        );
        assert_eq!(read.bytes, content.as_ref(), "{}", self.shown());
        let named = |found: &Found| matches!(found, Found::File { path: p } if p.as_bytes() == path.as_ref());
        let (found, _) = self.search.as_ref().unwrap();
        assert!(
            content.as_ref().is_empty() || found.iter().any(named),
            "{}",
            self.shown()
        );
    }

    /// It is this directory, for every verb.
    #[track_caller]
    pub fn is_directory(&self, path: impl AsRef<[u8]>) {
        let wrong = Some(Code::IsADirectory);
        assert_eq!(
            self.codes(),
            [None, wrong, None, None, None],
            "{}",
            self.shown()
        );
        let stat = self.stat.as_ref().unwrap();
        assert_eq!(stat.path.as_bytes(), path.as_ref(), "{}", self.shown());
        assert_eq!(stat.observation.kind, Kind::Directory, "{}", self.shown());
    }

    /// It is neither, and nothing is read from it.
    #[track_caller]
    pub fn is_special(&self, kind: Kind) {
        let (content, entries) = (Some(Code::NotRegular), Some(Code::NotADirectory));
        assert_eq!(
            self.codes(),
            [None, content, entries, entries, content],
            "{}",
            self.shown()
        );
        assert_eq!(
            self.stat.as_ref().unwrap().observation.kind,
            kind,
            "{}",
            self.shown()
        );
    }

    /// Content is refused by this rule; names and metadata are not.
    #[track_caller]
    pub fn content_denied(&self, rule: &str) {
        for (verb, refusal) in [
            (Verb::Read, self.refusals()[1]),
            (Verb::Search, self.refusals()[4]),
        ] {
            let refusal = refusal.unwrap_or_else(|| panic!("{verb} {} is allowed", self.shown()));
            assert_eq!(refusal.code, Code::Denied, "{verb} {}", self.shown());
            let name = refusal.rule.as_ref().map(|rule| rule.name.as_str());
            assert_eq!(name, Some(rule), "{verb} {}", self.shown());
        }
    }

    /// Every verb is refused by this rule.
    #[track_caller]
    pub fn denied(&self, rule: &str) {
        self.refused(Code::Denied);
        self.content_denied(rule);
    }

    /// Paths that the listing shows.
    pub fn listed(&self) -> Vec<&[u8]> {
        let (entries, _) = self.list.as_ref().unwrap();
        entries.iter().map(|entry| entry.path.as_bytes()).collect()
    }

    /// Paths that the glob shows.
    pub fn globbed(&self) -> Vec<&[u8]> {
        let (entries, _) = self.glob.as_ref().unwrap();
        entries.iter().map(|entry| entry.path.as_bytes()).collect()
    }

    /// Paths that the search shows.
    pub fn found(&self) -> Vec<&[u8]> {
        let (found, _) = self.search.as_ref().unwrap();
        found
            .iter()
            .filter_map(|found| match found {
                Found::File { path } | Found::Count { path, .. } => Some(path.as_bytes()),
                Found::Line(_) => None,
            })
            .collect()
    }

    /// The listing's entry of this path.
    #[track_caller]
    pub fn entry(&self, path: impl AsRef<[u8]>) -> &Entry {
        let (entries, _) = self.list.as_ref().unwrap();
        let entry = entries
            .iter()
            .find(|entry| entry.path.as_bytes() == path.as_ref());
        entry.unwrap_or_else(|| panic!("not listed: {:?}", path.as_ref().escape_ascii()))
    }

    fn shown(&self) -> String {
        format!("`{}`", self.written.escape_ascii())
    }

    /// No name and no byte of what lies outside is in any reply, unless the worker wrote it.
    fn nothing_leaked(&self) {
        let mut seen: Vec<&[u8]> = Vec::new();
        if let Ok(read) = &self.read {
            seen.push(&read.bytes);
        }
        for entries in [&self.list, &self.glob] {
            let entries = entries.iter().flat_map(|(entries, _)| entries);
            seen.extend(entries.map(|entry| entry.path.as_bytes()));
        }
        for found in self.search.iter().flat_map(|(found, _)| found) {
            seen.push(match found {
                Found::File { path } | Found::Count { path, .. } => path.as_bytes(),
                Found::Line(line) => line.text.as_slice(),
            });
        }
        for bytes in seen {
            for secret in [SECRET, OUTSIDE_NAME] {
                let leaked = bytes.windows(secret.len()).any(|window| window == secret);
                assert!(!leaked, "{} shows {}", self.shown(), bytes.escape_ascii());
            }
        }
        for refusal in self.refusals().into_iter().flatten() {
            let object = refusal.object.as_ref().map(|object| object.as_slice());
            let most = self
                .written
                .len()
                .min(portcullis_protocol::limits::PATH_BYTES_MAX);
            assert_eq!(
                object,
                self.written.get(..most),
                "{} names another object",
                self.shown()
            );
            let note = refusal.note.as_ref().map_or("", |note| note.as_str());
            assert!(
                !note.contains("portcullis-test-"),
                "{} shows a host path",
                self.shown()
            );
        }
    }

    /// `why` says beforehand exactly what each verb says.
    fn why_foretells(&self, session: &mut Session, selector: &Selector) {
        let bound = [
            self.stat.as_ref().ok().map(|binding| &binding.path),
            self.read.as_ref().ok().map(|read| &read.binding.path),
            None,
            None,
            None,
        ];
        for ((verb, refusal), path) in Verb::ALL.into_iter().zip(self.refusals()).zip(bound) {
            match session.why(&ask::why(verb, selector.clone())).unwrap() {
                Verdict::Refused(said) => {
                    assert_eq!(Some(&said), refusal, "why {verb} {}", self.shown());
                }
                Verdict::Asks { .. } => {
                    let code = refusal.map(|refusal| refusal.code);
                    let foretold = Some(Code::NeedsApproval);
                    assert_eq!(code, foretold, "why {verb} {}", self.shown());
                }
                Verdict::Allowed { binding, grant } => {
                    assert_eq!(refusal, None, "why {verb} {} allows it", self.shown());
                    assert!(grant.verbs.has(verb));
                    assert!(path.is_none_or(|path| *path == binding.path));
                }
            }
        }
    }
}
