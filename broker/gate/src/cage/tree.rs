//! Puts a search tree before a filter.
//!
//! A filter is a list of comparisons, one call after the other. When it is loaded the kernel runs
//! it once for every system call there is, to learn which need no run later; with a list that is
//! a tenth of the time it takes to make a session. A tree decides the calls that are allowed with
//! any arguments first; what it does not allow goes on to the list.

use seccompiler::{BpfProgram, SeccompAction, sock_filter};

/// Load a word of the call's data; compare and jump; jump; give the verdict (`linux/filter.h`).
const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const JUMP: u16 = 0x05;
const RETURN: u16 = 0x06;
/// Where the call's number is in that data.
const NUMBER: u32 = 0;
/// Calls that are compared one after the other at the end of a branch.
const LEAF: usize = 3;

/// `program` with a tree that allows `free` right after it has judged the architecture and loaded
/// the number. None when it does not begin like that, or a jump is too far.
pub(super) fn before(program: &BpfProgram, free: &[u32]) -> Option<BpfProgram> {
    let loads_number = |line: &sock_filter| line.code == LOAD && line.k == NUMBER;
    let at = program.iter().position(loads_number)? + 1;
    let mut sorted = free.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let (mut tree, mut exits) = (Vec::new(), Vec::new());
    grow(&sorted, &mut tree, &mut exits)?;
    let end = tree.len();
    for exit in exits {
        tree.get_mut(exit)?.k = u32::try_from(end - exit - 1).ok()?;
    }
    let (head, rest) = program.split_at_checked(at)?;
    Some([head, &tree, rest].concat())
}

/// `exits` are the jumps to what follows the tree.
fn grow(calls: &[u32], tree: &mut BpfProgram, exits: &mut Vec<usize>) -> Option<()> {
    let line = |code: u16, yes: usize, k: u32| {
        Some(sock_filter {
            code,
            jt: u8::try_from(yes).ok()?,
            jf: 0,
            k,
        })
    };
    if calls.len() <= LEAF {
        for (n, call) in calls.iter().enumerate() {
            // Over the other comparisons and the exit.
            tree.push(line(IF_EQUAL, calls.len() - n, *call)?);
        }
        exits.push(tree.len());
        tree.push(line(JUMP, 0, 0)?);
        tree.push(line(RETURN, 0, u32::from(SeccompAction::Allow))?);
        return Some(());
    }
    let (low, high) = calls.split_at_checked(calls.len() / 2)?;
    let branch = tree.len();
    tree.push(line(IF_AT_LEAST, 0, *high.first()?)?);
    grow(low, tree, exits)?;
    let over = u8::try_from(tree.len() - branch - 1).ok()?;
    tree.get_mut(branch)?.jt = over;
    grow(high, tree, exits)
}

#[cfg(test)]
mod tests {
    use super::super::Effects;
    use super::super::filter;
    use super::*;

    const AND: u16 = 0x54;
    const IF_GREATER: u16 = 0x25;

    /// What the kernel would make of a program, in the instructions that filters use; and how
    /// many it would run.
    fn run(program: &[sock_filter], data: &[u32; 16]) -> (u32, usize) {
        let (mut at, mut value, mut steps) = (0, 0, 0);
        loop {
            let line = &program[at];
            steps += 1;
            at += 1;
            let jump = |yes: bool| usize::from(if yes { line.jt } else { line.jf });
            match line.code {
                LOAD => value = data[usize::try_from(line.k / 4).unwrap()],
                AND => value &= line.k,
                IF_EQUAL => at += jump(value == line.k),
                IF_AT_LEAST => at += jump(value >= line.k),
                IF_GREATER => at += jump(value > line.k),
                JUMP => at += usize::try_from(line.k).unwrap(),
                RETURN => return (line.k, steps),
                other => panic!("instruction {other:#x}"),
            }
        }
    }

    #[test]
    fn the_tree_changes_no_verdict_and_shortens_every_way() {
        for effects in [Effects::None, Effects::Some] {
            compare(effects);
        }
    }

    fn compare(effects: Effects) {
        let (list, tree) = filter::both(effects);
        let mut longest = 0;
        let numbers = (0..1024).chain([0x4000_0000, 0x4000_0001, u32::MAX]);
        for number in numbers {
            for arch in [0xc000_003e, 0xc000_00b7, 0x4000_0003, 0] {
                for argument in [0, 1, 2, 4, 7, 15, 16, 21, 38, 0x003d_0f00, u32::MAX] {
                    let mut data = [argument; 16];
                    data[..2].copy_from_slice(&[number, arch]);
                    // High halves of the arguments, without which nothing of a word is equal.
                    for high in data.iter_mut().skip(5).step_by(2) {
                        *high = 0;
                    }
                    let ((before, _), (after, steps)) = (run(&list, &data), run(&tree, &data));
                    assert_eq!(
                        before, after,
                        "call {number} of {arch:#x} with {argument:#x}"
                    );
                    longest = longest.max(steps);
                }
            }
        }
        assert!(longest < 64, "{longest} instructions");
    }
}
