//! Links the tests' own gate and tool as the build scripts of the gate and the client link the real
//! ones.

#[path = "../broker/gate/link.rs"]
mod link;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../broker/gate/link.rs");
    link::link("-bin=own-gate");
    link::link("-bin=own-tool");
}
