//! From what a set leaves at each name to acts in an order in which each can be done: what a name
//! loses goes before anything comes to it, or the two are exchanged; what objects exchange among
//! each other they exchange without a moment in which one of their names is free. Pure.

use super::act::Which;

/// What a set makes of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// What had it.
    pub was: Was,
    /// What has it in the end.
    pub gets: Gets,
    /// Whether permission bits are set.
    pub bits: Bits,
    /// The nearest name above it that the set concerns.
    pub above: Option<Which>,
}

/// What had the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Was {
    /// Nothing.
    Nothing,
    /// A directory.
    Directory,
    /// A file or a link.
    Other,
}

/// What has the name in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gets {
    /// Nothing.
    Nothing,
    /// The object of this name, perhaps its own.
    Object(Which),
    /// A directory that did not exist.
    Directory,
    /// Something else that did not exist.
    New,
}

/// Whether the permission bits of the object that had the name are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bits {
    /// They stay.
    Stay,
    /// They are set.
    Set,
}

/// What is to be done, in order. Objects are called by their first names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// The bits of this object are set.
    Chmod(Which),
    /// What is new comes to a free name.
    Make(Which),
    /// What is new at `at` for the object of `gone`, which stands there.
    Replace {
        /// The name.
        at: Which,
        /// The object that goes.
        gone: Which,
    },
    /// The object of `gone`, which stands at `at`, goes.
    Claim {
        /// The name.
        at: Which,
        /// The object that goes.
        gone: Which,
    },
    /// An object gets a name that is free.
    Rename {
        /// Its name.
        from: Which,
        /// The free one.
        to: Which,
    },
    /// The object of `one`, at `at`, and the object of `other`, at its own name.
    Swap {
        /// Where the one stands.
        at: Which,
        /// The one.
        one: Which,
        /// The other.
        other: Which,
    },
}

/// There is no such order: what has to go first waits for this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entangled(pub Which);

/// Names whose objects follow each other: the object of each goes to the next.
struct Chain {
    names: Vec<Which>,
    end: End,
}

/// How a chain ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The last object goes to the first name.
    Round,
    /// The last name was free.
    Free,
    /// The object of the last name is removed.
    Removed,
}

/// Orders the acts.
pub fn order(nodes: &[Node]) -> Result<Vec<Op>, Entangled> {
    let all: Vec<(Which, Node)> = nodes.iter().copied().enumerate().collect();
    let mut goes = vec![None; nodes.len()];
    for (n, node) in &all {
        if let Gets::Object(from) = node.gets
            && let Some(to) = goes.get_mut(from)
        {
            *to = Some(*n);
        }
    }
    let to = |n: Which| goes.get(n).copied().flatten();
    let mut chain_of: Vec<Option<usize>> = vec![None; nodes.len()];
    let mut chains: Vec<Chain> = Vec::new();
    for (n, _) in &all {
        if chain_of.get(*n).copied().flatten().is_some() {
            continue;
        }
        let names = follow(nodes, *n, to);
        for name in &names {
            if let Some(slot) = chain_of.get_mut(*name) {
                *slot = Some(chains.len());
            }
        }
        let last = names.last().copied().unwrap_or(*n);
        let end = match (to(last), nodes.get(last).map(|node| node.was)) {
            (Some(_), _) => End::Round,
            (None, Some(Was::Nothing) | None) => End::Free,
            (None, Some(Was::Directory | Was::Other)) => End::Removed,
        };
        chains.push(Chain { names, end });
    }
    let in_chain = |n: Which| chain_of.get(n).copied().flatten();
    let mut waits: Vec<Vec<usize>> = chains.iter().map(|_| Vec::new()).collect();
    for (n, node) in &all {
        let mut above = node.above;
        while let Some((up, over)) = above.and_then(|up| Some((up, nodes.get(up)?))) {
            let comes = node.gets != Gets::Nothing && over.gets == Gets::Directory;
            let goes = over.was == Was::Directory && to(up).is_none();
            if let (Some(here), Some(there)) = (in_chain(*n), in_chain(up)) {
                // A directory is made before what comes into it, and goes after what leaves it.
                if comes && let Some(waits) = waits.get_mut(here) {
                    waits.push(there);
                }
                if goes && let Some(waits) = waits.get_mut(there) {
                    waits.push(here);
                }
            }
            above = over.above;
        }
    }
    sorted(nodes, &chains, &waits)
}

/// The chain of a name, from its beginning; of a round one from the name itself.
fn follow(nodes: &[Node], n: Which, to: impl Fn(Which) -> Option<Which>) -> Vec<Which> {
    let mut first = n;
    while let Some(Gets::Object(from)) = nodes.get(first).map(|node| node.gets)
        && from != first
    {
        first = from;
        if first == n {
            break;
        }
    }
    let mut names = vec![first];
    let mut last = first;
    while let Some(next) = to(last).filter(|next| *next != first) {
        names.push(next);
        last = next;
    }
    names
}

/// The acts of all chains, each after those it waits for; what only goes comes last, so that it is
/// missed for the shortest time.
fn sorted(nodes: &[Node], chains: &[Chain], waits: &[Vec<usize>]) -> Result<Vec<Op>, Entangled> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Waiting,
        Done,
    }
    let only_goes = |chain: &Chain| {
        let first = chain.names.first().and_then(|n| nodes.get(*n));
        chain.names.len() == 1 && first.is_some_and(|node| node.gets == Gets::Nothing)
    };
    let numbered = || chains.iter().enumerate();
    let mut turns: Vec<usize> = numbered()
        .filter(|(_, chain)| !only_goes(chain))
        .map(|(c, _)| c)
        .collect();
    turns.extend(
        numbered()
            .filter(|(_, chain)| only_goes(chain))
            .map(|(c, _)| c),
    );
    let mut marks = vec![Mark::New; chains.len()];
    let mut ops = Vec::new();
    for turn in turns {
        // With what each waits for on top of it.
        let mut stack = vec![turn];
        while let Some(c) = stack.last().copied() {
            let (Some(chain), Some(mark)) = (chains.get(c), marks.get(c).copied()) else {
                break;
            };
            let open = |other: &usize| marks.get(*other) != Some(&Mark::Done);
            let before: Vec<usize> = waits.get(c).into_iter().flatten().copied().collect();
            let before: Vec<usize> = before.into_iter().filter(open).collect();
            match mark {
                Mark::Done => {
                    stack.pop();
                }
                Mark::New | Mark::Waiting if before.is_empty() => {
                    acts(nodes, chain, &mut ops);
                    if let Some(mark) = marks.get_mut(c) {
                        *mark = Mark::Done;
                    }
                    stack.pop();
                }
                Mark::New => {
                    if let Some(mark) = marks.get_mut(c) {
                        *mark = Mark::Waiting;
                    }
                    stack.extend(before);
                }
                // All it waited for had its turn, and one of them waits for it.
                Mark::Waiting => {
                    return Err(Entangled(chain.names.first().copied().unwrap_or_default()));
                }
            }
        }
    }
    Ok(ops)
}

/// The acts of one chain.
fn acts(nodes: &[Node], chain: &Chain, ops: &mut Vec<Op>) {
    let bits = |n: &Which| nodes.get(*n).is_some_and(|node| node.bits == Bits::Set);
    ops.extend(chain.names.iter().copied().filter(bits).map(Op::Chmod));
    let [first, rest @ ..] = chain.names.as_slice() else {
        return;
    };
    let at = *first;
    let last = *chain.names.last().unwrap_or(first);
    let new = match nodes.get(at).map(|node| node.gets) {
        Some(Gets::Directory | Gets::New) => true,
        Some(Gets::Nothing | Gets::Object(_)) | None => false,
    };
    match chain.end {
        End::Free => {
            for pair in chain.names.windows(2).rev() {
                if let [from, to] = pair {
                    ops.push(Op::Rename {
                        from: *from,
                        to: *to,
                    });
                }
            }
            ops.extend(new.then_some(Op::Make(at)));
        }
        End::Round | End::Removed => {
            let before = std::iter::once(first).chain(rest);
            ops.extend(before.zip(rest).map(|(one, other)| Op::Swap {
                at,
                one: *one,
                other: *other,
            }));
            match (chain.end, new) {
                (End::Removed, true) => ops.push(Op::Replace { at, gone: last }),
                (End::Removed, false) => ops.push(Op::Claim { at, gone: last }),
                (End::Round | End::Free, _) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
