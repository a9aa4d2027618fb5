//! The seed behaviours: what the model of authority, of bound resources and of approvals promises,
//! each a test by name, with a real warden and real gates.
//!
//! | behaviour | where |
//! |---|---|
//! | aliases reach one observed object, and the input stays exact | `aliases` |
//! | a destination binds absence and its ancestors; a replacement invalidates | `binding` |
//! | configuration, text and another owner's roots grant nothing | `grants` |
//! | children narrow, and renew no root that was replaced | `narrowing` |
//! | what is kept for later keeps what roots are, and restores no more | `snapshots` |
//! | the broker's own records are unreachable by any name, for any verb | `records` |
//! | every target binds before any write, and a move binds two | `patches` |
//! | an approval is used once, for exactly what it was given for | `approvals` |
//! | who decides is a capability of its own | `deciding`, `reaching` |

mod aliases;
mod approvals;
mod binding;
mod deciding;
mod grants;
mod narrowing;
mod patches;
#[path = "../command/place.rs"]
#[expect(dead_code, reason = "shared with another suite, which uses all of it")]
mod place;
mod reaching;
mod records;
mod scene;
mod snapshots;
