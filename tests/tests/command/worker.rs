//! What a worker has: its session, the system's programs, a private directory; and nothing else.

use crate::place::{Place, Said};
use std::net::TcpListener;
use std::path::Path;

#[test]
fn the_tree_is_reached_through_the_session_alone() {
    let place = Place::new();
    let file = place.at("repo/README.md");
    let script = format!(
        "cat {path}; echo cat $?; (: < {path}); echo open $?; (: > {path}); echo write $?; \
         rm -f {path}; echo rm $?; ls {tree}; echo ls $?; portcullis-tool read README.md --head 1",
        path = file.display(),
        tree = place.at("repo").display()
    );
    let said = place.script(&["--quiet"], &script);
    assert_eq!(
        said.lines(),
        ["cat 1", "open 1", "write 1", "rm 1", "ls 2", "# title"],
        "{said:?}"
    );
    let content = std::fs::read_to_string(&file).unwrap();
    assert!(content.starts_with("# title"), "it is as it was");
}

#[test]
fn files_of_the_system_and_of_other_processes_are_not_readable() {
    let place = Place::new();
    for path in [
        "/etc/passwd",
        "/etc/hostname",
        "/proc/self/environ",
        "/proc/1/cmdline",
        "/proc/self/fd",
        "/sys/kernel",
        "/dev/shm",
    ] {
        // As a directory too, where `cat` would fail in any case.
        let script = format!("cat {path} || ls {path}/ || echo refused");
        let said = place.script(&["--quiet"], &script);
        assert_eq!(said.out, "refused\n", "{path} {said:?}");
    }
    let said = place.script(&["--quiet"], "cat /usr/bin/env | head -c 4");
    assert_eq!(said.raw, b"\x7fELF", "programs of the system are");
}

#[test]
fn there_is_no_network() {
    let place = Place::new();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo reached");
    let mut bash = std::process::Command::new("bash");
    let outside = Said::of(bash.args(["-c", &script]));
    assert_eq!(outside.out, "reached\n", "without confinement it is there");
    let said = place.script(&["--quiet"], &script);
    assert_eq!(said.out, "", "{said:?}");
    assert_ne!(said.code, 0);
}

#[test]
fn the_environment_is_what_was_named() {
    let place = Place::new();
    let names = |options: &[&str]| {
        let options = [&["--workspace", "repo", "--quiet"], options].concat();
        let mut run = place.worker(&options, &["env"]);
        run.env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("TMPDIR", place.at("tmp"))
            .env("XDG_RUNTIME_DIR", place.at("runtime"))
            .env("XDG_STATE_HOME", place.at("state"))
            .env("LANG", "C.UTF-8")
            .env("SECRET_TOKEN", "a=b c")
            .env("LD_PRELOAD", "")
            .env("PORTCULLIS_SOCKET_FD", "0");
        let said = Said::of(&mut run);
        let mut lines: Vec<String> = said.lines().iter().map(|&line| line.to_owned()).collect();
        lines.sort();
        lines
    };
    let clean = names(&[]);
    let variables: Vec<&str> = clean.iter().map(|v| v.split('=').next().unwrap()).collect();
    assert_eq!(
        variables,
        ["HOME", "LANG", "PATH", "PORTCULLIS_SOCKET_FD", "TMPDIR"]
    );
    assert!(!clean.contains(&"PORTCULLIS_SOCKET_FD=0".to_owned()));
    let named = names(&["--env", "SECRET_TOKEN"]);
    assert!(
        named.contains(&"SECRET_TOKEN=a=b c".to_owned()),
        "{named:?}"
    );
    assert_eq!(named.len(), clean.len() + 1);
}

#[test]
fn a_variable_that_is_not_set_is_said() {
    let place = Place::new();
    let said = place.script(&["--env", "NO_SUCH_VARIABLE"], "true");
    assert_eq!(said.code, 0);
    assert!(
        said.err.contains("--env NO_SUCH_VARIABLE: not set here"),
        "{said:?}"
    );
}

#[test]
fn only_the_standard_descriptors_and_the_session_are_open() {
    let place = Place::new();
    let probe = "exec 2>/dev/null; for n in {0..254}; do env <&$n >/dev/null && echo -n \"$n \"; done; \
                 echo \"session $PORTCULLIS_SOCKET_FD\"";
    // The caller has others, of files that it may read.
    let script = "exec 5</etc/passwd 77</etc/passwd; for n in 5 77; do true <&$n || exit 9; done
        exec \"$@\"";
    let run = place.worker(&["--workspace", "repo", "--quiet"], &["bash", "-c", probe]);
    let mut bash = std::process::Command::new("bash");
    bash.args(["-c", script, "bash"])
        .arg(run.get_program())
        .args(run.get_args())
        .current_dir(place.at("."))
        .env("TMPDIR", place.at("tmp"))
        .env("XDG_RUNTIME_DIR", place.at("runtime"))
        .env("XDG_STATE_HOME", place.at("state"))
        .stdin(std::process::Stdio::null());
    let said = Said::of(&mut bash);
    let (open, session) = said.out.trim_end().split_once(" session ").unwrap();
    assert_eq!(open, format!("0 1 2 {session}"), "{said:?}");
}

#[test]
fn files_given_as_standard_streams_are_relayed_and_not_handed_over() {
    let place = Place::new();
    place.write("input", "from a file\n");
    let mut run = place.worker(
        &["--workspace", "repo", "--quiet"],
        &[
            "bash",
            "-c",
            "cat; test -p /dev/stdin; chmod 0 /dev/stdout; echo $? >&2",
        ],
    );
    let output = std::fs::File::create(place.at("output")).unwrap();
    run.stdin(std::fs::File::open(place.at("input")).unwrap());
    run.stdout(output).stderr(std::process::Stdio::piped());
    let said = Said::by(run.spawn().unwrap());
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.ends_with("1\n"), "{said:?}");
    let written = std::fs::read_to_string(place.at("output")).unwrap();
    assert_eq!(written, "from a file\n");
}

#[test]
fn the_private_directory_is_its_own_and_gone_afterwards() {
    let place = Place::new();
    let script = "echo $TMPDIR; test \"$PWD\" = \"$TMPDIR\" && test \"$HOME\" = \"$TMPDIR\" || exit 9
        ls -A; echo written > file; cat file; mkdir d && mv file d/ && cat d/file
        ls -A $TMPDIR/.. 2>/dev/null && exit 8; cat $TMPDIR/../outside 2>/dev/null && exit 7; exit 0";
    let said = place.script(&["--quiet"], script);
    assert_eq!(said.code, 0, "{said:?}");
    let lines = said.lines();
    assert_eq!(&lines[1..], ["written", "written"], "it begins empty");
    let base = Path::new(lines[0]).parent().unwrap();
    assert_eq!(base.parent(), Some(place.at("tmp").as_path()));
    let left = std::fs::read_dir(place.at("tmp")).unwrap().count();
    assert_eq!(left, 0, "{} is left", base.display());
    let other = place.script(&["--quiet"], "echo $TMPDIR");
    assert_ne!(other.lines()[0], lines[0], "another run has another");
}

#[test]
fn a_process_left_behind_loses_the_session() {
    let place = Place::new();
    // It is in a session of its own and ignores hangups; the test waits until it has ended, because
    // it holds the pipe.
    let script = "setsid bash -c '
            for n in {1..600}; do
                portcullis-tool stat README.md >/dev/null 2>&1 || { echo lost; exit; }
                sleep 0.05
            done; echo kept' &
        portcullis-tool read README.md --head 1";
    let said = place.script(&[], script);
    assert_eq!(said.code, 0);
    assert_eq!(said.lines(), ["# title", "lost"], "{said:?}");
    assert!(said.err.contains("nothing was changed; "), "{said:?}");
}

#[test]
fn tools_share_the_session_one_after_the_other_and_at_once() {
    let place = Place::new();
    place.write("repo/big", "0123456789abcdef".repeat(1 << 16));
    let script = "for n in {1..8}; do portcullis-tool read big > $n & done
        for n in {1..8}; do portcullis-tool search needle -c > s$n & done
        portcullis-tool list >/dev/null; wait
        for n in {1..8}; do cmp 1 $n && cmp s1 s$n || exit 9; done
        wc -c < 1; cat s1";
    let said = place.script(&["--json"], script);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.lines(), ["1048576", "src/lib.rs:1", "src/main.rs:1"]);
    let document = said.document();
    let did = &document["did"];
    assert_eq!([&did["reads"], &did["lists"], &did["searches"]], [8, 1, 8]);
    assert_eq!(did["bytes"].as_u64().unwrap() >> 20, 8);
}

#[test]
fn the_tool_may_be_missing_and_that_is_said() {
    let place = Place::new();
    let said = place.script(&["--tool", "/none"], "portcullis-tool list");
    assert_eq!(said.code, 127);
    assert!(
        said.err
            .contains("the worker had no portcullis-tool: no file /none"),
        "{said:?}"
    );
}

#[test]
fn a_command_with_a_directory_runs_and_its_directory_stays_closed() {
    let place = Place::new();
    place.write(
        "bin/agent",
        "#!/usr/bin/env bash\necho agent; cat \"${0%/*}/beside\"",
    );
    place.write("bin/beside", "beside\n");
    let agent = place.at("bin/agent");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(agent, mode).unwrap();
    let run = |options: &[&str]| {
        let options = [&["--workspace", "repo", "--quiet"], options].concat();
        Said::of(&mut place.worker(&options, &["bin/agent"]))
    };
    let said = run(&[]);
    assert_eq!(said.out, "agent\n", "{said:?}");
    let said = run(&["--runtime", "bin"]);
    assert_eq!(said.out, "agent\nbeside\n", "{said:?}");
}
