//! Links the gate's executable at a fixed address, and statically where it can be. See
//! `docs/decisions/0010`: relocations would make a quarter of a mebibyte of read-only tables
//! private to every session, and finding libraries is a third of what starting one costs.

mod link;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=link.rs");
    link::link("-bins");
}
