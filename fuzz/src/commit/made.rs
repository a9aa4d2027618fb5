//! Trees, change sets and reads made from arbitrary bytes, of names and texts few enough that they
//! meet.

use super::disk::{Node, Tree};
use super::gate::Meddling;
use super::model::digest;
use arbitrary::{Result, Unstructured};
use portcullis_client::change::{self, Count, Edit, Item, Replace, TextEdit};
use portcullis_client::{Changes, ask};
use portcullis_gate::sys::fault::Fault;
use portcullis_protocol::session::{
    Deletion, Expect, Onto, Parents, Range, Read, Selector, Survey, Tiers,
};
use rustix::io::Errno;

/// Names, each before what is below it.
const NAMES: [&str; 12] = [
    "a", "b", "c", "d", "d/x", "d/y", "d/l", "e", "e/x", "e/x/z", "l", "m",
];
const TEXTS: [&str; 8] = ["a", "d", "x", "../a", "e/x", "l", "nowhere", "../d/y"];
const WORDS: [&str; 6] = ["one\n", "two\n", "\n", "end", "\r\n", "caf\u{e9}\n"];
const MODES: [u16; 5] = [0o600, 0o640, 0o644, 0o700, 0o755];

/// Whether a dry run comes before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planned {
    No,
    Before,
}

/// What is asked of a session in turn.
#[derive(Debug)]
pub enum Deed {
    Change {
        changes: Changes,
        meddling: Option<Meddling>,
        fault: Option<(u32, Fault)>,
        planned: Planned,
    },
    Read {
        name: &'static str,
        read: Read,
    },
    List,
}

fn name(u: &mut Unstructured<'_>) -> Result<&'static str> {
    u.choose(&NAMES).copied()
}

fn at(name: &str) -> Selector {
    ask::selector(name).expect("a short name")
}

/// Mostly a name that the tree has something of this kind at, or any.
fn one_of(u: &mut Unstructured<'_>, tree: &Tree, wanted: fn(&Node) -> bool) -> Result<Selector> {
    let there = tree.iter().filter(|(_, node)| wanted(node));
    let there: Vec<&String> = there.map(|(name, _)| name).collect();
    if there.is_empty() || u.ratio(1, 4)? {
        return name(u).map(at);
    }
    u.choose(&there).map(|name| at(name))
}

fn file(u: &mut Unstructured<'_>, tree: &Tree) -> Result<Selector> {
    one_of(u, tree, |node| {
        matches!(node, Node::File { .. } | Node::Link(_))
    })
}

fn object(u: &mut Unstructured<'_>, tree: &Tree) -> Result<Selector> {
    one_of(u, tree, |_| true)
}

/// Mostly a name that is free, in a directory that is there.
fn free(u: &mut Unstructured<'_>, tree: &Tree) -> Result<Selector> {
    let is_directory = |name: &str| matches!(tree.get(name), Some(Node::Directory { .. }));
    let is_free = |name: &&&str| {
        let above = name.rsplit_once('/');
        !tree.contains_key(**name) && above.is_none_or(|(above, _)| is_directory(above))
    };
    let there: Vec<&&str> = NAMES.iter().filter(is_free).collect();
    if there.is_empty() || u.ratio(1, 4)? {
        return name(u).map(at);
    }
    u.choose(&there).map(|name| at(name))
}

fn content(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    for _ in 0..u.int_in_range(0..=4)? {
        content.extend_from_slice(u.choose(&WORDS)?.as_bytes());
    }
    if u.ratio(1, 32)? {
        // What no frame holds, so that it is composed or uploaded before: in few lines, for its
        // difference to take no time.
        let most = *u.choose(&[3_000, 66_000, 140_000])?;
        content.extend(b"long ".iter().cycle().take(most));
    }
    Ok(content)
}

/// So many bytes that they last for a whole session: those of the input, then what they come to.
pub fn lasting(input: &[u8]) -> Vec<u8> {
    let mut more = [0; 4096];
    blake3::Hasher::new()
        .update(input)
        .finalize_xof()
        .fill(&mut more);
    [input, &more].concat()
}

/// A tree before anything is asked.
pub fn tree(u: &mut Unstructured<'_>) -> Result<Tree> {
    let mut tree = Tree::new();
    for name in NAMES {
        let above = name.rsplit_once('/').map(|(above, _)| tree.get(above));
        let has_room = matches!(above, None | Some(Some(Node::Directory { .. })));
        if !has_room || u.ratio(1, 3)? {
            continue;
        }
        let mode = *u.choose(&MODES)?;
        let node = match u.int_in_range(0..=7)? {
            0 => Node::Link(u.choose(&TEXTS)?.as_bytes().to_vec()),
            1 | 2 => Node::Directory { mode: mode | 0o100 },
            _ if ["d", "e", "e/x"].contains(&name) => Node::Directory { mode: 0o755 },
            _ => Node::File {
                content: content(u)?,
                mode,
            },
        };
        tree.insert(name.to_owned(), node);
    }
    Ok(tree)
}

/// What is asked next.
pub fn deed(u: &mut Unstructured<'_>, tree: &Tree) -> Result<Deed> {
    match u.int_in_range(0..=7)? {
        0 | 1 => {
            let name = name(u)?;
            let read = read(u, name)?;
            Ok(Deed::Read { name, read })
        }
        2 => Ok(Deed::List),
        _ => {
            let mut changes = Changes::new();
            for _ in 0..*u.choose(&[1, 1, 2, 2, 3, 4, 6])? {
                changes.push(item(u, tree)?);
            }
            let meddling = if u.ratio(1, 4)? {
                Some(meddling(u)?)
            } else {
                None
            };
            Ok(Deed::Change {
                changes,
                meddling,
                fault: fault(u)?,
                planned: *u.choose(&[Planned::No, Planned::No, Planned::Before])?,
            })
        }
    }
}

/// A call of the effect that fails once.
fn fault(u: &mut Unstructured<'_>) -> Result<Option<(u32, Fault)>> {
    if !u.ratio(1, 4)? {
        return Ok(None);
    }
    let errno = *u.choose(&[Errno::NOSPC, Errno::IO, Errno::DQUOT, Errno::MFILE])?;
    Ok(Some((u.int_in_range(1..=80)?, Fault::Fail(errno))))
}

fn meddling(u: &mut Unstructured<'_>) -> Result<Meddling> {
    let name = name(u)?;
    Ok(match u.int_in_range(0..=6)? {
        0 => Meddling::Refuses,
        1 | 2 => Meddling::Appends(name),
        3 | 4 => Meddling::Removes(name),
        _ => Meddling::Renews(name),
    })
}

fn read(u: &mut Unstructured<'_>, name: &str) -> Result<Read> {
    let mut small = || u.int_in_range(0_u64..=8);
    let (one, two) = (small()?, small()?);
    let range = match u.int_in_range(0..=6)? {
        0 => Range::Bytes {
            offset: one,
            length: two,
        },
        1 => Range::Lines {
            first: one,
            count: two,
        },
        2 => Range::Head { count: one },
        3 => Range::Tail { count: one },
        4 => Range::Bytes {
            offset: one,
            length: u64::MAX,
        },
        _ => ask::WHOLE,
    };
    let survey = *u.choose(&[Survey::None, Survey::Text, Survey::TextAndDigest])?;
    Ok(Read {
        range,
        survey,
        ..ask::read(at(name))
    })
}

fn parents(u: &mut Unstructured<'_>) -> Result<Parents> {
    u.choose(&[Parents::Exist, Parents::Make]).copied()
}

/// What is believed of a name: mostly anything, else something that may be true.
fn expect(u: &mut Unstructured<'_>, tree: &Tree) -> Result<Expect> {
    Ok(match u.int_in_range(0..=9)? {
        0 => Expect::Absent,
        1 | 2 => Expect::Seen,
        3 => match tree.get(name(u)?) {
            Some(Node::File { content, .. } | Node::Link(content)) => {
                Expect::Content(digest(content))
            }
            Some(Node::Directory { .. }) | None => Expect::Content(digest(b"one\n")),
        },
        _ => Expect::Any,
    })
}

fn mode(u: &mut Unstructured<'_>) -> Result<Option<u16>> {
    Ok(if u.ratio(1, 4)? {
        Some(*u.choose(&MODES)?)
    } else {
        None
    })
}

fn item(u: &mut Unstructured<'_>, tree: &Tree) -> Result<Item> {
    Ok(match u.int_in_range(0..=15)? {
        0..=3 => {
            let at = if u.ratio(1, 2)? { file } else { free };
            change::Write {
                expect: expect(u, tree)?,
                parents: parents(u)?,
                mode: mode(u)?,
                ..change::write(at(u, tree)?, content(u)?)
            }
            .into()
        }
        4..=6 => edit(u, tree)?.into(),
        7 => {
            let mut order = change::mkdir(free(u, tree)?);
            order.parents = parents(u)?;
            order.into()
        }
        8..=11 => {
            let onto = u.ratio(1, 3)?;
            let to = if onto { file } else { free };
            let mut order = change::rename(object(u, tree)?, to(u, tree)?);
            order.parents = parents(u)?;
            if onto {
                let expect = *u.choose(&[Expect::Any, Expect::Any, Expect::Seen])?;
                order.onto = Onto::Replace(expect);
            }
            order.into()
        }
        12 | 13 => {
            let whole = |node: &Node| matches!(node, Node::Directory { .. });
            let (at, what) = match u.int_in_range(0..=3)? {
                0 => (one_of(u, tree, whole)?, Deletion::Directory),
                1 => (one_of(u, tree, whole)?, Deletion::Tree),
                _ => (file(u, tree)?, Deletion::File),
            };
            let mut order = change::delete(at);
            order.what = what;
            order.into()
        }
        14 => change::chmod(object(u, tree)?, *u.choose(&MODES)? | 0o100).into(),
        _ => {
            let at = free(u, tree)?;
            let mut order = change::link(at, u.choose(&TEXTS)?).expect("a short text");
            order.parents = parents(u)?;
            order.into()
        }
    })
}

fn edit(u: &mut Unstructured<'_>, tree: &Tree) -> Result<Edit> {
    // Neither overlaps itself, and what comes is never what goes.
    let old = *u.choose(&["\n", "one", "two\n", "end", "e"])?;
    let new = *u.choose(&["1", "", "2\n2\n", "\u{2019}"])?;
    let count = if u.ratio(1, 2)? {
        Count::All
    } else {
        Count::Exactly(1)
    };
    let expect = match expect(u, tree)? {
        Expect::Seen => Expect::Any,
        other => other,
    };
    Ok(Edit {
        expect,
        edits: vec![TextEdit::Replace(Replace {
            old: old.into(),
            new: new.into(),
            count,
        })],
        tiers: Tiers::EXACT,
        mode: mode(u)?,
        ..change::replace(file(u, tree)?, old, new)
    })
}
