//! What the gate tells.

use crate::answer::{Answer, Is, Line, Told, Zero};
use portcullis_client::Session;
use portcullis_client::protocol::session::{
    Completeness, Found, LineRole, Search, SearchMode, Statistics,
};

/// The whole answer with its numbers, or the refusal. Checks its order on the way.
pub(crate) fn search(
    session: &mut Session,
    search: &Search,
) -> Result<(Answer, Statistics), String> {
    let mut stream = session.search(search).map_err(|e| e.to_string())?;
    let mut answer = Answer::new();
    let mut last: Option<Vec<u8>> = None;
    for found in &mut stream {
        let (path, told) = match found.map_err(|e| e.to_string())? {
            Found::File { path } => match search.mode {
                SearchMode::Content { .. } => (path, Told::Lines(Vec::new(), Zero::NotMet)),
                SearchMode::Files | SearchMode::FilesWithout | SearchMode::Count => {
                    (path, Told::Named)
                }
            },
            Found::Count { path, lines } => (path, Told::Count(lines)),
            Found::Line(line) => {
                let Some(Told::Lines(lines, _)) = last.as_ref().and_then(|p| answer.get_mut(p))
                else {
                    panic!("a line without a file: {line:?}")
                };
                lines.push(Line {
                    is: match line.role {
                        LineRole::Match => Is::Match,
                        LineRole::Context => Is::Context,
                        LineRole::Binary => Is::Binary,
                    },
                    number: line.number,
                    offset: line.offset,
                    column: line.column.into(),
                    text: line.text.as_slice().to_vec(),
                    cut: (line.cut_before as usize, line.cut_after as usize),
                });
                continue;
            }
        };
        let path = path.as_bytes().to_vec();
        if let Some(last) = &last {
            assert!(is_before(last, &path), "{last:?} came before {path:?}");
        }
        assert!(
            answer.insert(path.clone(), told).is_none(),
            "{path:?} twice"
        );
        last = Some(path);
    }
    let done = stream.finish().map_err(|e| e.to_string())?;
    assert_eq!(done.completeness, Completeness::Complete, "{search:?}");
    Ok((answer, done.statistics))
}

/// Whether one path comes before another: by the bytes of each name.
pub(crate) fn is_before(a: &[u8], b: &[u8]) -> bool {
    a.split(|byte| *byte == b'/')
        .lt(b.split(|byte| *byte == b'/'))
}
