//! What is hashed, and how: one chain for each session, and one of their heads.

mod body;
mod older;

pub(super) use body::{Body, Identity, Unsaid, Version};

use super::StateError;
use portcullis_protocol::approval::Approver;
use portcullis_protocol::authority::{Authority, AuthorityId};
use portcullis_protocol::bounded::Few;
use portcullis_protocol::ledger::{CageReport, Finish};
use portcullis_protocol::limits::ROOTS_MAX;
use portcullis_protocol::path::{Label, escape};
use portcullis_protocol::session::{Incarnation, SessionId};
use portcullis_protocol::view::Digest;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Room for a record as it is encoded; most take less.
const RECORD_BYTES: usize = 512;

/// First of what the chain of heads hashes.
const HEADS: &[u8] = b"portcullis chain of heads 1";

/// The head of a session's chain, as the chain of heads hashes it.
#[derive(Debug, Serialize)]
pub(super) struct Head {
    pub(super) incarnation: Incarnation,
    pub(super) session: SessionId,
    pub(super) receipts: u64,
    pub(super) head: Digest,
    pub(super) at_ms: u64,
}

pub(super) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, StateError> {
    postcard::to_extend(value, Vec::with_capacity(RECORD_BYTES))
        .map_err(|error| StateError::Damaged(format!("a record cannot be encoded: {error}")))
}

pub(super) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, StateError> {
    postcard::from_bytes(bytes)
        .map_err(|error| StateError::Damaged(format!("a record cannot be read: {error}")))
}

pub(super) fn digest(bytes: &[u8]) -> Digest {
    Digest(*blake3::hash(bytes).as_bytes())
}

/// How much of a difference is kept, and its digest.
pub(super) fn kept(diff: &[u8]) -> (u32, Digest) {
    let bytes = u32::try_from(diff.len()).unwrap_or(u32::MAX);
    (bytes, digest(diff))
}

/// The digest of the cage of a gate, as it reported it.
pub(super) fn cage(report: &CageReport) -> Result<Digest, StateError> {
    Ok(digest(&encode(report)?))
}

/// The link of a record after another link.
pub(super) fn link(before: Digest, body: &[u8]) -> Digest {
    link_after(&before.0, body)
}

/// The link before the first head.
pub(super) fn no_head() -> Digest {
    digest(HEADS)
}

fn link_after(before: &[u8], body: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before).update(body);
    Digest(*hasher.finalize().as_bytes())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |n: u8| char::from_digit(u32::from(n), 16).unwrap_or('0');
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

pub(super) fn unhex<const N: usize>(text: &str) -> Result<[u8; N], StateError> {
    let damaged = || StateError::Damaged("a digest is not hexadecimal".to_owned());
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.is_ascii() {
        return Err(damaged());
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| damaged())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| damaged())?;
    }
    Ok(bytes)
}

/// The digest of a cage as the database keeps it. Version 1 has none: zero.
pub(super) fn cage_of(version: Version, text: &str) -> Result<Digest, StateError> {
    match (version, text) {
        (Version::First, "") => Ok(Digest([0; 32])),
        (Version::First | Version::Second, text) => Ok(Digest(unhex(text)?)),
    }
}

/// The id of an authority as the database keeps it.
pub(super) fn authority(text: &str) -> Result<AuthorityId, StateError> {
    Ok(AuthorityId(unhex(text)?))
}

/// An approver as the database keeps it: its name, of another user with the number behind.
pub(super) fn approver_text(approver: Approver) -> String {
    match approver {
        Approver::SameUid | Approver::Runtime | Approver::Decider | Approver::Passphrase => {
            approver.name().to_owned()
        }
        Approver::Uid(user) => format!("{}:{user}", approver.name()),
    }
}

pub(super) fn text_approver(text: &str) -> Result<Approver, StateError> {
    let named = [
        Approver::SameUid,
        Approver::Runtime,
        Approver::Decider,
        Approver::Passphrase,
    ];
    let user = || {
        let (name, user) = text.split_once(':')?;
        let approver = Approver::Uid(user.parse().ok()?);
        (name == approver.name() && approver_text(approver) == text).then_some(approver)
    };
    let mut named = named.into_iter();
    let found = named.find(|approver| approver.name() == text).or_else(user);
    found.ok_or_else(|| StateError::Damaged("an approver is none".to_owned()))
}

/// The labels of an authority's roots.
pub(super) fn labels(authority: &Authority) -> Few<Label, ROOTS_MAX> {
    let roots = authority.parts().roots.iter();
    Few::new(roots.map(|root| root.label.clone()).collect()).unwrap_or_default()
}

/// Labels as text. None holds a slash.
pub(super) fn labels_text(labels: &Few<Label, ROOTS_MAX>) -> String {
    let labels: Vec<&str> = labels.as_slice().iter().map(Label::as_str).collect();
    labels.join("/")
}

pub(super) fn text_labels(text: &str) -> Result<Few<Label, ROOTS_MAX>, StateError> {
    let damaged = || StateError::Damaged("the roots of a session are no labels".to_owned());
    let labels = text.split('/').filter(|label| !label.is_empty());
    let labels = labels.map(|label| Label::new(label).map_err(|_| damaged()));
    Few::new(labels.collect::<Result<_, _>>()?).map_err(|_| damaged())
}

/// What an effect touched, for people who look with another tool: one name a line.
pub(super) fn touched_text(end: &Finish, labels: &Few<Label, ROOTS_MAX>) -> String {
    let mut text = String::new();
    for touched in end.touched.as_slice() {
        let label = labels.as_slice().get(usize::from(touched.root.0));
        let label = label.map_or("?", Label::as_str);
        let path = escape(touched.path.as_bytes());
        // Writing to a string does not fail.
        writeln!(text, "{} /{label}/{path}", touched.verb).unwrap_or_default();
    }
    text
}
