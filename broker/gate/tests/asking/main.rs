//! What is only to be asked for, seen from outside one gate: the test plays its warden and its worker.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test names what it wants, and fails by anything else"
)]

#[cfg(test)]
mod approved;
#[cfg(test)]
mod proposed;
#[cfg(test)]
mod session;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod within;
