//! Links the tests' own gate as `broker/gate/build.rs` links the real one.

#[path = "../broker/gate/link.rs"]
mod link;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../broker/gate/link.rs");
    link::link("-bin=own-gate");
}
