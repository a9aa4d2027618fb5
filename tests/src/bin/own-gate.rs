//! The tests' own gate: the same as `portcullis-gate`, unless its file is called
//! `fault.<nth>.<what>`, as [`portcullis_tests::faulty`] calls a further name of it. Then the nth
//! file system call that its effects make fails with that errno (`28`), it and all later ones
//! fail (`from-28`), or the process ends before (`die`) or after it (`die-after`), or waits before
//! it for good (`hang`). Called `fault.plan`, it reads `<nth>.<what>` from the file `plan` beside
//! it, as [`portcullis_tests::faults::Faults`] writes it; an empty one plans nothing.

use portcullis_gate::sys::fault::{self, Fault};
use rustix::io::Errno;

fn main() -> std::process::ExitCode {
    let own = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let name = own.file_name().unwrap_or_default().to_string_lossy();
    match name.strip_prefix("fault.") {
        None => {}
        Some("plan") => {
            let plan = std::fs::read_to_string(own.with_file_name("plan")).expect("a plan");
            if !plan.is_empty() {
                arm(&plan);
            }
        }
        Some(plan) => arm(plan),
    }
    portcullis_gate::main()
}

fn arm(plan: &str) {
    let (nth, what) = plan.split_once('.').expect("<nth>.<what>");
    let errno = |number: &str| Errno::from_raw_os_error(number.parse().expect("an errno"));
    let fault = match what {
        "die" => Fault::Die,
        "die-after" => Fault::DieAfter,
        "hang" => Fault::Hang,
        other => match other.strip_prefix("from-") {
            Some(number) => Fault::FailFrom(errno(number)),
            None => Fault::Fail(errno(other)),
        },
    };
    fault::arm(nth.parse().expect("a number"), fault);
}
