//! The tests' own gate: the same as `portcullis-gate`, unless its file is called
//! `fault.<nth>.<what>`, as [`portcullis_tests::faulty`] calls a further name of it. Then the nth
//! file system call that its effects make fails with that errno (`28`), it and all later ones
//! fail (`from-28`), or the process ends before (`die`) or after it (`die-after`).

use portcullis_gate::sys::fault::{self, Fault};
use rustix::io::Errno;

fn main() -> std::process::ExitCode {
    let own = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let name = own.file_name().unwrap_or_default().to_string_lossy();
    if let Some(plan) = name.strip_prefix("fault.") {
        let (nth, what) = plan.split_once('.').expect("fault.<nth>.<what>");
        let errno = |number: &str| Errno::from_raw_os_error(number.parse().expect("an errno"));
        let fault = match what {
            "die" => Fault::Die,
            "die-after" => Fault::DieAfter,
            other => match other.strip_prefix("from-") {
                Some(number) => Fault::FailFrom(errno(number)),
                None => Fault::Fail(errno(other)),
            },
        };
        fault::arm(nth.parse().expect("a number"), fault);
    }
    portcullis_gate::main()
}
