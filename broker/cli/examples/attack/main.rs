//! A hostile program for the tests: makes one attempt and exits with the kernel's error number, or
//! with 0 when the attempt succeeded. It is not part of the product.

mod sys;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["read", path] => std::fs::read(path).map(drop),
        ["list", path] => std::fs::read_dir(path).map(drop),
        ["create", path] => std::fs::write(path, b"x"),
        ["truncate", path] => sys::truncate(path),
        ["remove", path] => std::fs::remove_file(path),
        ["connect", path] => std::os::unix::net::UnixStream::connect(path).map(drop),
        ["descriptors", allowed] => sys::only_open(allowed),
        ["environment", name] => absent(name),
        ["threads"] => threads(),
        ["kind-of-stdout", kind] => sys::stdout_is(kind),
        [name] => sys::attempt(name, None),
        [name, argument] => sys::attempt(name, Some(argument)),
        _ => return ExitCode::from(250),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ExitCode::from(
            error
                .raw_os_error()
                .and_then(|number| u8::try_from(number).ok())
                .unwrap_or(251),
        ),
    }
}

/// Succeeds when the variable is there: an attempt to see it.
fn absent(name: &str) -> std::io::Result<()> {
    match std::env::var_os(name) {
        Some(_) => Ok(()),
        None => Err(std::io::Error::from_raw_os_error(libc::ENOENT)),
    }
}

/// Ordinary programs start threads and children.
fn threads() -> std::io::Result<()> {
    std::thread::Builder::new()
        .spawn(|| ())?
        .join()
        .map_err(|_| std::io::Error::from_raw_os_error(libc::EIO))?;
    match std::process::Command::new("/bin/true").status()?.success() {
        true => Ok(()),
        false => Err(std::io::Error::from_raw_os_error(libc::EIO)),
    }
}
