//! The tests' own copy of `portcullis-mcp`.

fn main() -> std::process::ExitCode {
    portcullis_mcp::main()
}
