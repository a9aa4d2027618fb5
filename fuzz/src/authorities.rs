//! Authorities made from arbitrary bytes, in a world small enough that they meet.

use arbitrary::{Result, Unstructured};
use portcullis_protocol::authority::{
    Authority, AuthorityId, Budget, Budgets, Denial, DenialTarget, Durable, Effect, FileSystem,
    Grant, Inputs, Parts, Root, RootId, RootIdentity, Scope,
};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::verb::{ModeSet, VerbSet};
use portcullis_protocol::view::{Digest, RootIndex};

const PREFIXES: [&str; 8] = ["", "a", "a/b", "ab", "a/b/c", "b", "b/a", "A"];
const LOCATIONS: [&str; 5] = ["home", "home/u", "home/u/a", "home/U", "srv/[x]"];
/// The whole operations there are.
const INPUTS: [Digest; 2] = [Digest([1; 32]), Digest([2; 32])];

/// One of a few paths, or whatever the bytes say.
pub fn path(u: &mut Unstructured<'_>) -> Result<RelPath> {
    if u.ratio(3, 4)? {
        let text = u.choose(&PREFIXES)?;
        return Ok(RelPath::parse(text.as_bytes()).unwrap_or_default());
    }
    let bytes: &[u8] = u.arbitrary()?;
    Ok(RelPath::parse(bytes).unwrap_or_default())
}

/// Where a root may have been sealed.
pub fn location(u: &mut Unstructured<'_>) -> Result<RelPath> {
    let text = u.choose(&LOCATIONS)?;
    Ok(RelPath::parse(text.as_bytes()).unwrap_or_default())
}

/// Any set of verbs.
fn verbs(u: &mut Unstructured<'_>) -> Result<VerbSet> {
    let bits = u.int_in_range(0..=u32::from(VerbSet::ALL))?;
    Ok(VerbSet::try_from(bits).unwrap_or(VerbSet::NONE))
}

/// Every mode, as most grants have it, or any set of them.
fn modes(u: &mut Unstructured<'_>) -> Result<ModeSet> {
    if u.ratio(1, 2)? {
        return Ok(ModeSet::ALL);
    }
    let bits = u.int_in_range(0..=u32::from(ModeSet::ALL))?;
    Ok(ModeSet::try_from(bits).unwrap_or(ModeSet::ALL))
}

/// Every input, as most grants have it, or a few, of which some may stand twice, or none.
fn inputs(u: &mut Unstructured<'_>) -> Result<Inputs> {
    if u.ratio(2, 3)? {
        return Ok(Inputs::Any);
    }
    let mut some = Vec::new();
    for _ in 0..u.int_in_range(0..=3)? {
        some.push(*u.choose(&INPUTS)?);
    }
    Ok(Inputs::Only(Few::new(some).unwrap_or_default()))
}

/// Grants, or asks, on roots that may not be there.
fn grants(u: &mut Unstructured<'_>, most: usize) -> Result<Vec<Grant>> {
    let mut grants = Vec::new();
    for _ in 0..u.int_in_range(0..=most)? {
        grants.push(Grant {
            root: RootIndex(u.int_in_range(0..=2)?),
            prefix: path(u)?,
            verbs: verbs(u)?,
            modes: modes(u)?,
            inputs: inputs(u)?,
        });
    }
    Ok(grants)
}

/// Any limits, small ones more likely.
fn budgets(u: &mut Unstructured<'_>) -> Result<Budgets> {
    let mut budgets = Budgets::UNLIMITED;
    for budget in Budget::ALL {
        let limit = match u.int_in_range(0..=3)? {
            0 => Some(u.arbitrary()?),
            1 => Some(u.int_in_range(0..=3)?),
            _ => None,
        };
        budgets = budgets.with(budget, limit);
    }
    Ok(budgets)
}

/// A denial of a pattern or of an object.
pub fn denial(u: &mut Unstructured<'_>) -> Result<Denial> {
    let target = if u.ratio(1, 8)? {
        DenialTarget::Object {
            device: u.int_in_range(0..=1)?,
            inode: u.int_in_range(0..=3)?,
        }
    } else {
        let anchor = if u.ratio(1, 3)? {
            Some(location(u)?)
        } else {
            None
        };
        let pattern: &[u8] = u.arbitrary()?;
        DenialTarget::Pattern {
            anchor,
            pattern: Bytes::cut(pattern),
        }
    };
    Ok(Denial {
        rule: Rule {
            name: Text::new(u.choose(&["r", "s"])?.to_string()).unwrap_or_default(),
            reason: Text::new(u.choose(&["x", "y"])?.to_string()).unwrap_or_default(),
        },
        verbs: verbs(u)?,
        target,
        effect: *u.choose(&[Effect::Deny, Effect::Ask, Effect::Hide])?,
    })
}

fn root(u: &mut Unstructured<'_>, n: u64) -> Result<Root> {
    Ok(Root {
        id: RootId(n),
        label: Label::new(format!("r{n}")).map_err(|_| arbitrary::Error::IncorrectFormat)?,
        scope: Scope::External,
        location: location(u)?,
        identity: RootIdentity {
            device: 1,
            inode: if u.ratio(1, 8)? { 100 } else { n },
            born: None,
            mount: 1,
        },
        durable: Durable {
            file_system: 1,
            inode: n,
            born: None,
            handle: u.ratio(1, 8)?.then(Bytes::default),
        },
        file_system: FileSystem::Ext,
    })
}

/// An authority of a small world.
pub fn small(u: &mut Unstructured<'_>) -> Result<Authority> {
    let mut roots = Vec::new();
    for n in 0..3 {
        if u.ratio(3, 4)? {
            roots.push(root(u, n)?);
        }
    }
    if u.ratio(1, 4)? {
        roots.reverse();
    }
    let mut grants_of = |most| -> Result<Vec<Grant>> {
        let mut all = grants(u, most)?;
        all.retain(|grant| usize::from(grant.root.0) < roots.len());
        Ok(all)
    };
    let (grants, asks) = (grants_of(6)?, grants_of(4)?);
    let mut denials = Vec::new();
    for _ in 0..u.int_in_range(0..=4)? {
        denials.push(denial(u)?);
    }
    Authority::seal(Parts {
        request: Text::default(),
        owner: Text::new(if u.ratio(1, 8)? { "p" } else { "o" }).unwrap_or_default(),
        conversation: Text::new(if u.ratio(1, 8)? { "d" } else { "c" }).unwrap_or_default(),
        parent: u.ratio(1, 4)?.then_some(AuthorityId([7; 32])),
        roots,
        grants,
        asks,
        denials,
        budgets: budgets(u)?,
        expires_ms: u.arbitrary()?,
    })
    .map_err(|_| arbitrary::Error::IncorrectFormat)
}
