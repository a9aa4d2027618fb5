//! How the executables are linked that are started for every session or question; shared by the
//! build scripts of the gate, of the client and of the tests' own copies. See `docs/decisions/0010`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes the linker's arguments for cargo. `instruction` is everything before the argument.
pub(crate) fn link(instruction: &str) {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    if variable("CARGO_CFG_TARGET_ENV") == "musl" {
        // Static already, with start files that go with `relocation-model` and not with an argument.
        return;
    }
    println!("cargo:rustc-link-arg{instruction}=-no-pie");
    let own_gnu =
        variable("CARGO_CFG_TARGET_ENV") == "gnu" && variable("HOST") == variable("TARGET");
    if !own_gnu {
        return;
    }
    // Without the static C library, as some distributions ship, the gate is linked dynamically.
    let found = ["libc.a", "libm.a", "libgcc_eh.a"].map(archive);
    let [Some(c), Some(m), Some(unwind)] = found else {
        return;
    };
    let place = Path::new(&variable("OUT_DIR")).join("static");
    if write_stand_ins(&place, [&c, &m, &unwind]).is_ok() {
        println!("cargo:rustc-link-arg{instruction}=-L{}", place.display());
        println!("cargo:rustc-link-arg{instruction}=-static");
    }
}

/// Where the C compiler has this archive.
fn archive(name: &str) -> Option<PathBuf> {
    let asked = Command::new("cc")
        .arg(format!("-print-file-name={name}"))
        .output()
        .ok()?;
    let path = PathBuf::from(String::from_utf8(asked.stdout).ok()?.trim());
    // A name that is not found is given back as it is.
    (path.is_absolute() && path.is_file()).then_some(path)
}

/// The standard library asks for shared libraries by name. These are found first and lead to the
/// archives: cargo can make a whole build static, but then no procedural macro can be built.
fn write_stand_ins(place: &Path, [c, m, unwind]: [&PathBuf; 3]) -> std::io::Result<()> {
    std::fs::create_dir_all(place)?;
    let (c, m, unwind) = (c.display(), m.display(), unwind.display());
    let write =
        |name: &str, text: String| std::fs::write(place.join(format!("lib{name}.so")), text);
    write("c", format!("GROUP({c} {unwind})\n"))?;
    write("gcc_s", format!("GROUP({unwind} {c})\n"))?;
    write("m", format!("GROUP({m})\n"))?;
    for within_c in ["util", "rt", "pthread", "dl"] {
        write(within_c, "/* part of the C library */\n".to_owned())?;
    }
    Ok(())
}
