//! Links the tests' own gate as `broker/gate/build.rs` links the real one.

include!("../broker/gate/link.rs");

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../broker/gate/link.rs");
    link("-bin=own-gate");
}
