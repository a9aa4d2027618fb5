//! What a set leaves at each of a few names, and the acts it is compiled to: they leave just that,
//! no act finds its name taken or its directory missing, and nothing is removed that has a name.
#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use portcullis_fuzz::sets::Set;
use portcullis_gate::compile::{Entangled, order};

fuzz_target!(|input: &[u8]| {
    let Ok(set) = Set::arbitrary(&mut Unstructured::new(input)) else {
        return;
    };
    let Some((nodes, names)) = set.nodes() else {
        return;
    };
    match order(&nodes) {
        Ok(ops) => set.check(&ops, &names),
        Err(Entangled(n)) => {
            assert!(n < nodes.len());
            assert!(set.is_entangled(), "refused without a reason: {set:?}");
        }
    }
});
