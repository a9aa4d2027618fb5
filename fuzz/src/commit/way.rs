//! Where a name leads, as anybody would find out step by step.

use super::disk::Node;
use super::model::No;
use portcullis_protocol::session::Links;
use std::collections::VecDeque;

/// Links that a way may lead through.
const LINKS_MAX: usize = 40;

/// Which names of a way may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    None,
    Last,
    All,
}

/// The plain way to a name: through links, but for one in the last place that is meant itself.
pub fn way<'t>(
    tree: impl Fn(&str) -> Option<&'t Node>,
    name: &str,
    links: Links,
    missing: Missing,
) -> Result<String, No> {
    let mut pending: VecDeque<String> = name.split('/').map(str::to_owned).collect();
    let (mut path, mut passed, mut written) = (Vec::<String>::new(), 0, usize::MAX);
    while let Some(step) = pending.pop_front() {
        if step == ".." {
            path.pop().ok_or(No)?;
            continue;
        }
        path.push(step);
        let last = pending.is_empty();
        match tree(&path.join("/")) {
            Some(Node::Directory { .. }) => {}
            Some(Node::File { .. }) if last => {}
            Some(Node::File { .. }) => return Err(No),
            Some(Node::Link(_)) if last && links == Links::Keep => {}
            Some(Node::Link(text)) => {
                passed += 1;
                if passed > LINKS_MAX {
                    return Err(No);
                }
                written = written.min(pending.len());
                path.pop();
                let text = std::str::from_utf8(text).map_err(|_| No)?;
                for step in text.split('/').rev() {
                    pending.push_front(step.to_owned());
                }
            }
            None => {
                let may = match missing {
                    Missing::None => false,
                    Missing::Last => last,
                    Missing::All => !pending.iter().any(|step| step == ".."),
                };
                // A name that only the text of a link says is not made.
                if !may || pending.len() >= written {
                    return Err(No);
                }
                path.extend(pending.drain(..));
            }
        }
    }
    Ok(path.join("/"))
}
