//! First ring: the kernel judges every open by where the file is now, whatever descriptor it
//! starts from. A directory moved out of its root is refused; so is a slip in our own code.

use super::{CageError, Need, Subtree, needs};
use crate::sys;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use portcullis_protocol::ledger::LANDLOCK_ABI_MIN;
use portcullis_protocol::view::Kind;

/// Refuses all file system, network and scope rights the kernel knows, but for what the verbs of
/// each subtree need. Gives the kernel's ABI and the rights refused.
pub(super) fn restrict(subtrees: &[Subtree]) -> Result<(u32, u64), CageError> {
    let kernel = sys::cage::landlock_abi().map_err(CageError::NoLandlock)?;
    if kernel < LANDLOCK_ABI_MIN {
        return Err(CageError::OldLandlock(kernel));
    }
    let abi = ABI::from(i32::try_from(kernel).unwrap_or(i32::MAX));
    let handled = AccessFs::from_all(abi);
    let failed = |error: landlock::RulesetError| CageError::Landlock(error.to_string());
    // Hard requirement: a right that cannot be refused is an error, never silently left out.
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(handled)
        .map_err(failed)?;
    let network: BitFlags<AccessNet> = AccessNet::from_all(abi);
    if !network.is_empty() {
        ruleset = ruleset.handle_access(network).map_err(failed)?;
    }
    let scopes: BitFlags<Scope> = Scope::from_all(abi);
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes).map_err(failed)?;
    }
    let mut created = ruleset.create().map_err(failed)?;
    for subtree in subtrees {
        let rights = subtree
            .verbs
            .iter()
            .flat_map(|verb| needs(verb).iter())
            .fold(BitFlags::<AccessFs>::EMPTY, |all, need| all | rights(*need));
        // Of what is no directory there are no names to give rights on.
        let seen = sys::open::observation(&subtree.directory)
            .map_err(|errno| CageError::Landlock(errno.to_string()))?;
        let rights = match seen.kind {
            Kind::Directory => rights,
            Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
                rights & AccessFs::from_file(abi)
            }
        };
        if !rights.is_empty() {
            created = created
                .add_rule(PathBeneath::new(&subtree.directory, rights))
                .map_err(failed)?;
        }
    }
    let status = created.restrict_self().map_err(failed)?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok((kernel, handled.bits())),
        RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => {
            Err(CageError::Landlock("enforced only in part".to_owned()))
        }
    }
}

/// Landlock's word for a need.
fn rights(need: Need) -> BitFlags<AccessFs> {
    match need {
        Need::Content => AccessFs::ReadFile.into(),
        Need::Names => AccessFs::ReadDir.into(),
        Need::Files => {
            AccessFs::WriteFile | AccessFs::Truncate | AccessFs::MakeReg | AccessFs::RemoveFile
        }
        Need::Directories => AccessFs::MakeDir | AccessFs::RemoveDir,
        Need::Links => AccessFs::MakeSym | AccessFs::RemoveFile,
        Need::Across => AccessFs::Refer.into(),
    }
}
