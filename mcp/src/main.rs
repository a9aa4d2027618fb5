//! The `portcullis-mcp` executable. Everything is in the library, so that tests build their own.

fn main() -> std::process::ExitCode {
    portcullis_mcp::main()
}
