//! Links the gate's executable at a fixed address. See `docs/decisions/0010`: relocations would
//! make a quarter of a mebibyte of read-only tables private to every session.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-no-pie");
}
