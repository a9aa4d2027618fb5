//! Links the tests' own gate as `broker/gate/build.rs` links the real one.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bin=own-gate=-no-pie");
}
