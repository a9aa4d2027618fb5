use super::*;
use portcullis_protocol::refusal::Refusal;

fn error(code: ErrorCode) -> Error {
    Error::new(code)
}

#[test]
fn an_end_a_refusal_and_another_version_are_told_apart() {
    let refused = |code| error(ErrorCode::Refused(Refusal::new(code)));
    let reset = rustix::io::Errno::CONNRESET.raw_os_error();
    for gone in [ErrorCode::Closed(None), ErrorCode::Io(reset)] {
        let gone = error(gone);
        assert!(is_gone(&gone) && !is_other_version(&gone), "{gone}");
    }
    for other in [
        refused(Code::VersionMismatch),
        error(ErrorCode::Protocol(Violation::Version(9))),
        error(ErrorCode::Protocol(Violation::WrongKind)),
    ] {
        assert!(is_other_version(&other) && !is_gone(&other), "{other}");
    }
    for refusal in [
        refused(Code::PeerNotServed),
        refused(Code::Exhausted),
        error(ErrorCode::Io(rustix::io::Errno::ACCESS.raw_os_error())),
    ] {
        assert!(
            !is_other_version(&refusal) && !is_gone(&refusal),
            "{refusal}"
        );
    }
}

#[test]
fn sessions_are_named_and_not_without_end() {
    let said = |numbers: std::ops::Range<i32>| Sessions(numbers.collect()).to_string();
    assert_eq!(said(0..0), "no session");
    assert_eq!(said(5..6), "one session (gate 5)");
    assert_eq!(said(5..7), "2 sessions (gates 5, 6)");
    assert!(said(0..100).ends_with("14, 15, …)"), "{}", said(0..100));
}

#[test]
fn a_missing_executable_is_named() {
    let options = AttachOptions::new("/no/portcullis");
    let said = build_of(&options.executable).unwrap_err().to_string();
    assert!(said.contains("/no/portcullis"), "{said}");
}
