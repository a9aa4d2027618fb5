//! What a set of changes leaves, one change after the other, in a tree of a few names: slow, plain,
//! and without a thought of how it is done at once.

use super::disk::{Node, Tree};
use super::way::{Missing, way};
use portcullis_client::change::{Content, Count, Edit, Item, TextEdit, Write};
use portcullis_protocol::session::{
    DeleteObject, Deletion, Expect, Links, MakeDirectory, MakeLink, MoveObject, Onto, Parents,
    Selector, SetMode,
};
use portcullis_protocol::view::Digest;
use std::collections::BTreeMap;

/// A set that must be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct No;

/// Whence something is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    /// It had this name before the set.
    Same(String),
    /// The set made it; like what had a name before, if it took the place of that.
    Made { like: Option<String>, from: From },
}

/// What new content was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// The request alone.
    Request,
    /// What the file was.
    File,
}

/// A tree while changes are made.
#[derive(Debug, Clone)]
pub struct Run<'t> {
    before: &'t Tree,
    now: BTreeMap<String, (Origin, Node)>,
    /// Content that was overwritten in the belief that it was seen whole.
    pub given_up: Vec<Vec<u8>>,
}

fn missing(parents: Parents) -> Missing {
    match parents {
        Parents::Exist => Missing::Last,
        Parents::Make => Missing::All,
    }
}

pub fn digest(bytes: &[u8]) -> Digest {
    Digest(*blake3::hash(bytes).as_bytes())
}

/// Where a name of a tree leads.
pub fn leads_to(tree: &Tree, name: &str) -> Result<String, No> {
    way(|name| tree.get(name), name, Links::Follow, Missing::None)
}

impl<'t> Run<'t> {
    pub fn new(before: &'t Tree) -> Self {
        let same = |(name, node): (&String, &Node)| {
            (name.clone(), (Origin::Same(name.clone()), node.clone()))
        };
        Self {
            before,
            now: before.iter().map(same).collect(),
            given_up: Vec::new(),
        }
    }

    /// The tree it comes to.
    pub fn tree(&self) -> Tree {
        let plain = self.now.iter();
        plain
            .map(|(name, (_, node))| (name.clone(), node.clone()))
            .collect()
    }

    /// Whether anything has another name, or another content, than before.
    pub fn changes_anything(&self) -> bool {
        let same = |(name, (origin, node)): (&String, &(Origin, Node))| {
            *origin == Origin::Same(name.clone()) && self.before.get(name) == Some(node)
        };
        self.now.len() != self.before.len() || !self.now.iter().all(same)
    }

    /// The content of files that the set made, and the content it was made from, if from any.
    pub fn made(&self) -> impl Iterator<Item = (Vec<u8>, Option<Vec<u8>>)> {
        let content = |node: &Node| match node {
            Node::File { content, .. } => Some(content.clone()),
            Node::Directory { .. } | Node::Link(_) => None,
        };
        self.now.values().filter_map(move |(origin, node)| {
            let Origin::Made { like, from } = origin else {
                return None;
            };
            let old = match from {
                From::Request => None,
                From::File => content(self.before.get(like.as_ref()?)?),
            };
            Some((content(node)?, old))
        })
    }

    pub fn step(&mut self, item: &Item) -> Result<(), No> {
        match item {
            Item::Write(write) => self.write(write),
            Item::Edit(edit) => self.edit(edit),
            Item::Mkdir(mkdir) => self.mkdir(mkdir),
            Item::Move(order) => self.rename(order),
            Item::Delete(delete) => self.delete(delete),
            Item::Chmod(chmod) => self.chmod(chmod),
            Item::Link(link) => self.link(link),
        }
    }

    fn node(&self, name: &str) -> Option<&Node> {
        self.now.get(name).map(|(_, node)| node)
    }

    fn find(&mut self, at: &Selector, links: Links, missing: Missing) -> Result<String, No> {
        let name = std::str::from_utf8(at.path.as_slice()).map_err(|_| No)?;
        let path = way(|name| self.node(name), name, links, missing)?;
        let above = path.match_indices('/').map(|(at, _)| path[..at].to_owned());
        for parent in above.collect::<Vec<_>>() {
            if self.node(&parent).is_none() {
                self.make_directory(parent)?;
            }
        }
        Ok(path)
    }

    /// A directory that goes is not followed by another of its name.
    fn make_directory(&mut self, path: String) -> Result<(), No> {
        if let Some(Node::Directory { .. }) = self.before.get(&path) {
            return Err(No);
        }
        let made = Origin::Made {
            like: None,
            from: From::Request,
        };
        self.now
            .insert(path, (made, Node::Directory { mode: 0o755 }));
        Ok(())
    }

    fn expect(&mut self, path: &str, expect: Expect) -> Result<(), No> {
        let content = match self.node(path) {
            None => {
                return match expect {
                    Expect::Any | Expect::Seen | Expect::Absent => Ok(()),
                    Expect::Version(_) | Expect::Content(_) => Err(No),
                };
            }
            Some(Node::File { content, .. } | Node::Link(content)) => Some(content),
            Some(Node::Directory { .. }) => None,
        };
        match (expect, content) {
            (Expect::Absent, _) | (Expect::Content(_), None) => Err(No),
            (Expect::Content(wanted), Some(content)) if digest(content) != wanted => Err(No),
            (Expect::Any | Expect::Seen | Expect::Content(_), _) => Ok(()),
            // No target asks for one.
            (Expect::Version(_), _) => Err(No),
        }
    }

    /// What new content at a name is like: the file that has the name, or one that had it before
    /// and is nowhere any more.
    fn like(&self, path: &str) -> Option<String> {
        match self.now.get(path) {
            Some((Origin::Same(of), _)) => Some(of.clone()),
            Some((Origin::Made { like, .. }, _)) => like.clone(),
            None => {
                let is_file = matches!(self.before.get(path), Some(Node::File { .. }));
                let stands = self.now.values().any(|(origin, _)| match origin {
                    Origin::Same(of) => of == path,
                    Origin::Made { like, .. } => like.as_deref() == Some(path),
                });
                (is_file && !stands).then(|| path.to_owned())
            }
        }
    }

    fn write(&mut self, write: &Write) -> Result<(), No> {
        let links = match write.expect {
            Expect::Absent => Links::Keep,
            Expect::Any | Expect::Seen | Expect::Version(_) | Expect::Content(_) => Links::Follow,
        };
        let path = self.find(&write.selector, links, missing(write.parents))?;
        self.expect(&path, write.expect)?;
        let like = self.like(&path);
        let had = match self.now.get(&path) {
            None => None,
            Some((origin, Node::File { content, mode })) => {
                if write.expect == Expect::Seen && matches!(origin, Origin::Same(_)) {
                    self.given_up.push(content.clone());
                }
                Some(*mode)
            }
            Some((_, Node::Directory { .. } | Node::Link(_))) => return Err(No),
        };
        let before = like.as_ref().and_then(|like| match self.before.get(like) {
            Some(Node::File { mode, .. }) => Some(*mode),
            Some(Node::Directory { .. } | Node::Link(_)) | None => None,
        });
        let mode = write.mode.or(had).or(before).unwrap_or(0o644);
        let Content::Bytes(content) = &write.content else {
            return Err(No);
        };
        let node = Node::File {
            content: content.clone(),
            mode,
        };
        let from = From::Request;
        self.now.insert(path, (Origin::Made { like, from }, node));
        Ok(())
    }

    fn edit(&mut self, edit: &Edit) -> Result<(), No> {
        let path = self.find(&edit.selector, Links::Follow, Missing::None)?;
        let like = self.like(&path);
        self.expect(&path, edit.expect)?;
        let Some((origin, Node::File { content, mode })) = self.now.get(&path) else {
            return Err(No);
        };
        let from = match origin {
            Origin::Same(_) => From::File,
            Origin::Made { from, .. } => *from,
        };
        let node = Node::File {
            content: edited(content, &edit.edits)?,
            mode: edit.mode.unwrap_or(*mode),
        };
        self.now.insert(path, (Origin::Made { like, from }, node));
        Ok(())
    }

    fn mkdir(&mut self, order: &MakeDirectory) -> Result<(), No> {
        let path = self.find(&order.selector, Links::Keep, missing(order.parents))?;
        match (self.node(&path), order.parents) {
            (None, _) => self.make_directory(path),
            (Some(Node::Directory { .. }), Parents::Make) => Ok(()),
            (Some(_), _) => Err(No),
        }
    }

    fn rename(&mut self, order: &MoveObject) -> Result<(), No> {
        let from = self.find(&order.source, Links::Keep, Missing::None)?;
        self.expect(&from, order.expect)?;
        let to = self.find(&order.destination, Links::Keep, missing(order.parents))?;
        if from == to {
            return Ok(());
        }
        let below =
            |name: &str, top: &str| name.strip_prefix(top).is_some_and(|r| r.starts_with('/'));
        if below(&to, &from) {
            return Err(No);
        }
        let is_plain = |node: &Node| matches!(node, Node::File { .. } | Node::Link(_));
        match (self.node(&to), order.onto) {
            (None, Onto::Nothing) => {}
            (None, Onto::Replace(expect)) => self.expect(&to, expect)?,
            (Some(_), Onto::Nothing) => return Err(No),
            (Some(there), Onto::Replace(expect)) => {
                let both = is_plain(there) && self.node(&from).is_some_and(is_plain);
                if !both {
                    return Err(No);
                }
                self.expect(&to, expect)?;
                if let (Expect::Seen, Some((Origin::Same(_), Node::File { content, .. }))) =
                    (expect, self.now.get(&to))
                {
                    self.given_up.push(content.clone());
                }
            }
        }
        let moved = |name: &&String| **name == from || below(name, &from);
        let names: Vec<String> = self.now.keys().filter(moved).cloned().collect();
        for name in names {
            if let Some(thing) = self.now.remove(&name) {
                self.now
                    .insert(format!("{to}{}", &name[from.len()..]), thing);
            }
        }
        Ok(())
    }

    fn delete(&mut self, order: &DeleteObject) -> Result<(), No> {
        let path = self.find(&order.selector, Links::Keep, Missing::None)?;
        self.expect(&path, order.expect)?;
        let top = format!("{path}/");
        let is_empty = !self.now.keys().any(|name| name.starts_with(&top));
        match (self.node(&path), order.what) {
            (Some(Node::File { .. } | Node::Link(_)), Deletion::File)
            | (Some(Node::Directory { .. }), Deletion::Tree) => {}
            (Some(Node::Directory { .. }), Deletion::Directory) if is_empty => {}
            (Some(_) | None, _) => return Err(No),
        }
        self.now
            .retain(|name, _| *name != path && !name.starts_with(&top));
        Ok(())
    }

    fn chmod(&mut self, order: &SetMode) -> Result<(), No> {
        let path = self.find(&order.selector, Links::Follow, Missing::None)?;
        self.expect(&path, order.expect)?;
        match self.now.get_mut(&path) {
            Some((_, Node::File { mode, .. } | Node::Directory { mode })) => {
                *mode = order.mode;
                Ok(())
            }
            Some((_, Node::Link(_))) | None => Err(No),
        }
    }

    fn link(&mut self, order: &MakeLink) -> Result<(), No> {
        let path = self.find(&order.selector, Links::Keep, missing(order.parents))?;
        let depth = path.matches('/').count();
        let text = order.text.as_slice();
        let ups = text
            .split(|byte| *byte == b'/')
            .filter(|step| *step == b"..");
        if self.node(&path).is_some() || ups.count() > depth {
            return Err(No);
        }
        let made = Origin::Made {
            like: None,
            from: From::Request,
        };
        self.now.insert(path, (made, Node::Link(text.to_vec())));
        Ok(())
    }
}

/// A file after its edits, which are texts for texts, byte for byte.
fn edited(content: &[u8], edits: &[TextEdit]) -> Result<Vec<u8>, No> {
    let [TextEdit::Replace(replace)] = edits else {
        return Err(No);
    };
    let (mut made, mut rest, mut count) = (Vec::new(), content, 0);
    while let Some(byte) = rest.first() {
        if let Some(behind) = rest.strip_prefix(replace.old.as_slice()) {
            made.extend_from_slice(&replace.new);
            rest = behind;
            count += 1;
        } else {
            made.push(*byte);
            rest = &rest[1..];
        }
    }
    match replace.count {
        Count::Exactly(wanted) if count == wanted => Ok(made),
        Count::All if count > 0 => Ok(made),
        Count::Exactly(_) | Count::All => Err(No),
    }
}
