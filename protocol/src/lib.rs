//! The words Portcullis speaks: types, limits and the codec. No I/O, no paths, no descriptors.
//!
//! Holding a value of this crate means that it is valid: every constructor and every decoder
//! checks, and fields that carry a promise are private. Three pairs of endpoints exist, and a
//! message of one is never a message of another ([`frame::Message::TAG`]):
//!
//! | endpoint | between | module |
//! |---|---|---|
//! | control | runtime and warden | [`control`] |
//! | session | worker and gate | [`session`] |
//! | ledger | gate and warden | [`ledger`] |
#![forbid(unsafe_code)]

pub mod anchor;
pub mod approval;
pub mod authority;
pub mod bounded;
pub mod control;
pub mod frame;
pub mod ledger;
pub mod limits;
pub mod path;
pub mod refusal;
pub mod session;
pub mod verb;
pub mod view;

/// The protocol version this build speaks. Versions do not mix: a peer with another is told both
/// numbers and closed.
pub const VERSION: u16 = 1;
