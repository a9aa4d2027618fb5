//! The tests' own copy of `portcullis-gate`, so that they never test one left over from a build.

fn main() -> std::process::ExitCode {
    portcullis_gate::main()
}
