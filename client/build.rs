//! Links `portcullis-tool` at a fixed address, and statically where it can be: finding and relocating
//! libraries is a large part of a question that is answered in a few milliseconds. See
//! `docs/decisions/0010`.

#[path = "../broker/gate/link.rs"]
mod link;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../broker/gate/link.rs");
    link::link("-bins");
}
