//! The worker's seccomp programs, made from the tables of [`super::calls`].

use super::calls::{self, Form, Must};
use rustix::io::Errno;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};
use std::collections::BTreeMap;

/// The programs, compiled, not yet installed.
#[derive(Debug)]
pub(in crate::worker) struct Filter {
    unknown: BpfProgram,
    unsupported: BpfProgram,
    allowed: BpfProgram,
}

/// Why there is no filter.
#[derive(Debug, thiserror::Error)]
pub(in crate::worker) enum FilterError {
    /// The tables do not compile.
    #[error("seccomp: {0}")]
    Build(#[from] BackendError),
    /// The kernel refused the program.
    #[error("seccomp: {0}")]
    Install(#[from] seccompiler::Error),
}

impl Filter {
    /// Compiles the tables.
    pub(in crate::worker) fn build() -> Result<Self, FilterError> {
        let arch = TargetArch::try_from(std::env::consts::ARCH)?;
        let mut allowed: BTreeMap<i64, Vec<SeccompRule>> = calls::PLAIN
            .iter()
            .chain(calls::LEGACY)
            .map(|n| (*n, Vec::new()))
            .collect();
        for (number, forms) in calls::JUDGED {
            let rules = forms.iter().map(|form| rule(form));
            allowed.insert(*number, rules.collect::<Result<_, _>>()?);
        }
        Ok(Self {
            unknown: answering(calls::UNKNOWN, Errno::NOSYS, arch)?,
            unsupported: answering(calls::UNSUPPORTED, Errno::OPNOTSUPP, arch)?,
            allowed: SeccompFilter::new(allowed, errno(Errno::PERM), SeccompAction::Allow, arch)?
                .try_into()?,
        })
    }

    /// Instructions in all.
    pub(in crate::worker) fn instructions(&self) -> u32 {
        u32::try_from(self.unknown.len() + self.unsupported.len() + self.allowed.len())
            .unwrap_or(u32::MAX)
    }

    /// Installs them for good. Another architecture's calls kill the process in each.
    pub(in crate::worker) fn install(self) -> Result<(), FilterError> {
        // Of several answers the kernel takes the strictest, so none widens another.
        apply_filter(&self.unknown)?;
        apply_filter(&self.unsupported)?;
        apply_filter(&self.allowed)?;
        Ok(())
    }
}

/// A program that gives `error` for `numbers` and passes everything else.
fn answering(numbers: &[i64], error: Errno, arch: TargetArch) -> Result<BpfProgram, BackendError> {
    let rules = numbers.iter().map(|n| (*n, Vec::new())).collect();
    SeccompFilter::new(rules, SeccompAction::Allow, errno(error), arch)?.try_into()
}

fn errno(error: Errno) -> SeccompAction {
    SeccompAction::Errno(error.raw_os_error().unsigned_abs())
}

fn rule(form: Form) -> Result<SeccompRule, BackendError> {
    use SeccompCmpArgLen::{Dword, Qword};
    use SeccompCmpOp::{Eq, MaskedEq};
    let conditions = form.iter().map(|(argument, must)| match *must {
        Must::Be(value) => SeccompCondition::new(*argument, Dword, Eq, value),
        Must::Lack(bits) => SeccompCondition::new(*argument, Dword, MaskedEq(bits), 0),
        Must::BeUnder(mask, value) => {
            SeccompCondition::new(*argument, Dword, MaskedEq(mask), value)
        }
        Must::BeNull => SeccompCondition::new(*argument, Qword, Eq, 0),
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_compile_and_no_call_stands_in_two() {
        let filter = Filter::build().unwrap();
        assert!(filter.instructions() > 300 && filter.instructions() < 4096);
        let mut all: Vec<i64> = calls::PLAIN.iter().chain(calls::LEGACY).copied().collect();
        all.extend(calls::JUDGED.iter().map(|(number, _)| *number));
        all.sort_unstable();
        let before = all.len();
        all.dedup();
        assert_eq!(before, all.len());
    }
}
