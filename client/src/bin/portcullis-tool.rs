//! The `portcullis-tool` command; all of it is [`portcullis_client::tool`].

fn main() -> std::process::ExitCode {
    portcullis_client::tool::main()
}
