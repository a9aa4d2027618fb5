//! The tests' own copy of `portcullis-tool`.

fn main() -> std::process::ExitCode {
    portcullis_client::tool::main()
}
