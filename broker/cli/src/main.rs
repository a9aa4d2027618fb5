//! The `portcullis` command. Everything is in the library, so that tests build their own copy.

fn main() -> std::process::ExitCode {
    portcullis_cli::main()
}
