//! The tests' own copy of `portcullis`.

fn main() -> std::process::ExitCode {
    portcullis_cli::main()
}
