//! The gate's executable: everything is in the library, so that tests can build their own copy.

fn main() -> std::process::ExitCode {
    portcullis_gate::main()
}
