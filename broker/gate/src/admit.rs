//! admit: is this verb granted to this session at all, and which root does the selector name?
//!
//! Nothing is looked at on disk here. Order matters: an expired session learns nothing, and a
//! selector that names no root of the session is refused before any name in it is judged.

use crate::lacking::not_granted;
use crate::session::Session;
use portcullis_protocol::authority::Operation;
use portcullis_protocol::path::{NameError, RelPath, Start, Step, Want, parse_selector};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Links, Selector};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, RootIndex};

/// Holding one means: the session has not expired, it holds `verb` on some subtree of `root`, be it
/// only to be asked for, and the steps are legal names. It does not mean that the object is granted,
/// exists, or is inside.
#[derive(Debug)]
pub(crate) struct Admitted<'a> {
    verb: Verb,
    input: Option<Digest>,
    root: RootIndex,
    steps: Vec<Step<'a>>,
    want: Want,
    links: Links,
    written: &'a [u8],
}

/// The parts of an [`Admitted`], for the next stage.
#[derive(Debug)]
pub(crate) struct AdmittedParts<'a> {
    pub(crate) verb: Verb,
    /// The digest of the whole operation, where it matters.
    pub(crate) input: Option<Digest>,
    pub(crate) root: RootIndex,
    pub(crate) steps: Vec<Step<'a>>,
    pub(crate) want: Want,
    pub(crate) links: Links,
    pub(crate) written: &'a [u8],
}

impl<'a> Admitted<'a> {
    pub(crate) fn into_parts(self) -> AdmittedParts<'a> {
        let Self {
            verb,
            input,
            root,
            steps,
            want,
            links,
            written,
        } = self;
        AdmittedParts {
            verb,
            input,
            root,
            steps,
            want,
            links,
            written,
        }
    }
}

/// Whether the session's time is over.
pub(crate) fn is_over(session: &Session) -> bool {
    let end = session.authority.parts().expires_ms;
    end.is_some_and(|end| end <= now_ms())
}

/// Admits one operation on one selector. In which mode its verb is used is not known yet.
pub(crate) fn admit<'a>(
    session: &Session,
    operation: Operation,
    selector: &'a Selector,
    links: Links,
) -> Result<Admitted<'a>, Refusal> {
    let Operation { verb, input, .. } = operation;
    let written = selector.path.as_slice();
    let refuse = |code: Code| Refusal::new(code).of(verb).on(written);
    if is_over(session) {
        return Err(refuse(Code::Expired));
    }
    let parsed = parse_selector(written).map_err(|error| match error {
        NameError::NameTooLong | NameError::PathTooLong => refuse(Code::NameTooLong),
        NameError::Empty | NameError::ZeroByte | NameError::NotPlain => {
            refuse(Code::InvalidName).noting(&error.to_string())
        }
    })?;
    let roots = &session.authority.parts().roots;
    let (root, skip) = match (&selector.root, parsed.start) {
        (Some(label), Start::Root) => (roots.iter().position(|root| root.label == *label), 0),
        // A slash inside a named root would mean two roots at once.
        (Some(_), Start::Slash) => (None, 0),
        (None, Start::Root) => (roots.first().map(|_| 0), 0),
        (None, Start::Slash) => anchor(session, &parsed.steps),
    };
    let root = root
        .and_then(|n| u16::try_from(n).ok())
        .map(RootIndex)
        .ok_or_else(|| refuse(Code::NoSuchRoot))?;
    let steps: Vec<Step<'_>> = parsed.steps.into_iter().skip(skip).collect();
    if !session
        .allowed()
        .any(|grant| grant.root == root && grant.verbs.has(verb))
    {
        let place = lexical(&steps);
        return Err(not_granted(session, operation, written, (root, &place)));
    }
    Ok(Admitted {
        verb,
        input,
        root,
        steps,
        want: parsed.want,
        links,
        written,
    })
}

/// The place that the names lead to as they are written; as far as it goes, for a note.
fn lexical(steps: &[Step<'_>]) -> RelPath {
    let mut path = RelPath::root();
    for step in steps {
        let went = match step {
            Step::Down(name) => path.push(name).is_ok(),
            Step::Up => path.pop(),
        };
        if !went {
            break;
        }
    }
    path
}

/// The root an absolute selector lies in, and how many of its first steps name the root: first a
/// root's sealed location, the longest that fits, then a root's label.
fn anchor(session: &Session, steps: &[Step<'_>]) -> (Option<usize>, usize) {
    let roots = &session.authority.parts().roots;
    let lead: Vec<&[u8]> = steps
        .iter()
        .map_while(|step| match step {
            Step::Down(name) => Some(*name),
            Step::Up => None,
        })
        .collect();
    let fits = |location: &RelPath| {
        let names: Vec<&[u8]> = location.names().collect();
        lead.starts_with(&names).then_some(names.len())
    };
    let by_location = roots
        .iter()
        .enumerate()
        .filter_map(|(n, root)| fits(&root.location).map(|len| (n, len)))
        .max_by_key(|(_, len)| *len);
    if let Some((n, len)) = by_location {
        return (Some(n), len);
    }
    let label = lead.first().copied().unwrap_or_default();
    let by_label = roots
        .iter()
        .position(|root| root.label.as_str().as_bytes() == label);
    (by_label, 1)
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let (seconds, nanos) = (
        u64::try_from(now.tv_sec).unwrap_or(0),
        u64::try_from(now.tv_nsec).unwrap_or(0),
    );
    seconds
        .saturating_mul(1000)
        .saturating_add(nanos / 1_000_000)
}
