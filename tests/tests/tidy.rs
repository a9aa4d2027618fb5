//! The shape of the source itself: which crate and module may use which, where `unsafe` and paths
//! may stand, and that every promise names tests that exist. By reading files, and `cargo tree`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

fn sources(below: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![top().join(below)];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no source below {below}");
    found
}

/// A source file without comments, so that words in prose do not count.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect::<Vec<_>>()
        .join("\n")
}

const CRATES: [&str; 7] = [
    "protocol",
    "transport",
    "broker/gate",
    "broker/warden",
    "client",
    "mcp",
    "broker/cli",
];

#[test]
fn crates_point_one_way() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("protocol", &[][..]),
        ("transport", &["portcullis-protocol"][..]),
        (
            "broker/gate",
            &["portcullis-protocol", "portcullis-transport"][..],
        ),
        (
            "broker/warden",
            &["portcullis-protocol", "portcullis-transport"][..],
        ),
        (
            "client",
            &["portcullis-protocol", "portcullis-transport"][..],
        ),
        ("mcp", &["portcullis-client"][..]),
        (
            "broker/cli",
            &[
                "portcullis-client",
                "portcullis-protocol",
                "portcullis-transport",
                "portcullis-warden",
            ][..],
        ),
    ]);
    for member in CRATES {
        let manifest = std::fs::read_to_string(top().join(member).join("Cargo.toml")).unwrap();
        for line in manifest.lines() {
            let name: String = line
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '-')
                .collect();
            if name.starts_with("portcullis-") && !line.contains("name =") {
                assert!(
                    allowed[member].contains(&name.as_str()),
                    "{member} must not depend on {name}"
                );
            }
        }
    }
}

#[test]
fn the_gate_links_no_runtime_no_database_and_no_client() {
    let tree = |package: &str| {
        let output = Command::new(env!("CARGO"))
            .args([
                "tree",
                "--offline",
                "-e",
                "normal",
                "--prefix",
                "none",
                "-p",
                package,
            ])
            .current_dir(top())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    let gate = tree("portcullis-gate");
    for banned in [
        "tokio",
        "mio",
        "rusqlite",
        "portcullis-warden",
        "portcullis-client",
        "clap",
    ] {
        let there = gate
            .lines()
            .any(|line| line.split(' ').next() == Some(banned));
        assert!(!there, "the gate links {banned}");
    }
    // The control: the same look finds tokio where it is.
    assert!(
        tree("portcullis-warden")
            .lines()
            .any(|line| line.starts_with("tokio "))
    );
}

/// The modules of the gate, innermost first: each may use only those before it.
const GATE_ORDER: [&str; 38] = [
    "sys",
    "cage",
    "policy",
    "memory",
    "standing",
    "meter",
    "ignored",
    "pool",
    "session",
    "lacking",
    "admit",
    "resolve",
    "bind",
    "errors",
    "refused",
    "ledger",
    "counters",
    "outlet",
    "pace",
    "uploads",
    "composition",
    "asked",
    "plan",
    "confirm",
    "execute",
    "observe",
    "suggest",
    "told",
    "asking",
    "pipeline",
    "showing",
    "propose",
    "carry_out",
    "streams",
    "delegating",
    "serve",
    "uncaged",
    "main_loop",
];

/// Whether a source is a module of tests in a file of its own.
fn is_test(path: &Path) -> bool {
    path.components()
        .any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs")))
}

/// The modules of the MCP server, innermost first.
const MCP_ORDER: [&str; 16] = [
    "sys",
    "strict",
    "short",
    "schema",
    "style",
    "answer",
    "failure",
    "name",
    "refused",
    "desk",
    "tool",
    "tools",
    "server",
    "compat",
    "transport",
    "args",
];

#[test]
fn modules_of_the_gate_point_one_way() {
    let edges = uses_point_one_way("broker/gate/src", &GATE_ORDER);
    assert!(edges > 20, "the look found only {edges} uses");
}

#[test]
fn modules_of_the_mcp_server_point_one_way() {
    let edges = uses_point_one_way("mcp/src", &MCP_ORDER);
    assert!(edges > 20, "the look found only {edges} uses");
}

/// Looks at every use of one module by another; gives how many there are.
fn uses_point_one_way(below_top: &str, order: &[&str]) -> usize {
    let rank = |module: &str| order.iter().position(|m| *m == module);
    let mut edges = 0;
    for path in sources(below_top) {
        let below = path.strip_prefix(top().join(below_top)).unwrap();
        let module = below
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap();
        let module = module.trim_end_matches(".rs");
        // Tests use whatever they try.
        let tries = module == "testing" || is_test(below);
        if module == "lib" || module == "main" || tries {
            continue;
        }
        let own =
            rank(module).unwrap_or_else(|| panic!("module {module} has no place in the order"));
        for part in code(&path).split("crate::").skip(1) {
            let used: String = part
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect();
            if let Some(other) = rank(&used) {
                edges += 1;
                assert!(
                    other <= own,
                    "{module} must not use {used} ({})",
                    path.display()
                );
            }
        }
    }
    edges
}

#[test]
fn the_gate_has_no_path_api() {
    let banned = [
        "std::fs",
        "std::path",
        "std::env::",
        "std::net",
        "std::process::Command",
        "PathBuf",
        "File::open",
        "canonicalize",
    ];
    for path in sources("broker/gate/src") {
        let in_sys = path.components().any(|part| part.as_os_str() == "sys");
        // The world that tests look at is made by its paths.
        let tries = is_test(&path) || path.ends_with("gate/src/testing.rs");
        if in_sys || tries {
            continue;
        }
        let text = code(&path).replace("std::env::consts::ARCH", "");
        for word in banned {
            assert!(!text.contains(word), "{word} in {}", path.display());
        }
    }
}

#[test]
fn unsafe_stands_in_sys_alone() {
    for member in CRATES.into_iter().chain(["tests"]) {
        for path in sources(member) {
            let in_sys = path
                .components()
                .any(|part| matches!(part.as_os_str().to_str(), Some("sys" | "sys.rs")));
            let text = code(&path);
            let has = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"]
                .iter()
                .any(|word| text.contains(word))
                && !path.ends_with("tests/tests/tidy.rs");
            assert!(in_sys || !has, "unsafe in {}", path.display());
        }
    }
}

#[test]
fn source_files_do_one_job() {
    for member in CRATES {
        for path in sources(member) {
            let text = std::fs::read_to_string(&path).unwrap();
            let lines = text.lines().count();
            assert!(lines <= 500, "{} has {lines} lines", path.display());
            assert!(
                text.starts_with("//!"),
                "{} does not say its job first",
                path.display()
            );
        }
    }
}

#[test]
fn every_promise_names_tests_that_exist() {
    let text = std::fs::read_to_string(top().join("docs/INVARIANTS.md")).unwrap();
    let mut known = BTreeSet::new();
    for below in CRATES.into_iter().chain(["tests"]) {
        for path in sources(below) {
            let source = std::fs::read_to_string(path).unwrap();
            for part in source.split("fn ").skip(1) {
                known.insert(
                    part.chars()
                        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                        .collect::<String>(),
                );
            }
        }
    }
    for promise in 1..=9 {
        let heading = format!("## P{promise} ");
        let section = text
            .split(&heading)
            .nth(1)
            .unwrap_or_else(|| panic!("no {heading}"));
        let section = section.split("\n## ").next().unwrap();
        let tests = section
            .split("Tests:")
            .nth(1)
            .unwrap_or_else(|| panic!("P{promise}: no tests"));
        let named: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "P{promise} names no test");
        for name in named {
            let function = name.rsplit("::").next().unwrap();
            assert!(
                known.contains(function),
                "P{promise} names {name}, which does not exist"
            );
        }
    }
}

#[test]
fn every_dependency_of_the_broker_is_a_decision() {
    let mut decisions = String::new();
    for entry in std::fs::read_dir(top().join("docs/decisions")).unwrap() {
        decisions.push_str(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    for member in CRATES {
        let manifest = std::fs::read_to_string(top().join(member).join("Cargo.toml")).unwrap();
        let section = manifest
            .split("\n[dependencies]")
            .nth(1)
            .unwrap_or_default();
        let section = section.split("\n[").next().unwrap_or_default();
        for line in section.lines().filter(|line| line.contains('=')) {
            let name: String = line
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
                .collect();
            if !name.starts_with("portcullis") {
                assert!(
                    decisions.contains(&format!("`{name}`")),
                    "no decision names `{name}` ({member})"
                );
            }
        }
    }
    for card in [
        "cap-std", "rustix", "openat2", "tokio", "serde", "postcard", "blake3", "landlock", "caps",
    ] {
        assert!(
            decisions.contains(&format!("`{card}`")),
            "no decision names `{card}`"
        );
    }
}
