//! What runtimes and workers link. Blocking, without threads of its own.
//!
//! A runtime holds a [`Control`]: it seals roots and mints sessions. A worker holds a [`Session`]:
//! the capability itself. Neither opens a file of a root by name; [`Control::seal_path`] opens the
//! one directory that its caller, who is trusted, wants sealed.
//!
//! ```no_run
//! use portcullis_client::{Session, ask};
//!
//! fn main() -> Result<(), portcullis_client::Error> {
//!     let mut session = Session::from_env()?;
//!     let file = session.read_file(ask::selector("README.md")?)?;
//!     println!("{} bytes", file.bytes.len());
//!     for entry in session.list(&ask::list(ask::selector(".")?))? {
//!         println!("{}", entry?.path);
//!     }
//!     Ok(())
//! }
//! ```

pub mod ask;
mod attach;
mod attach_or_start;
pub mod change;
mod control;
mod delegate;
mod error;
pub mod json;
pub mod label;
mod link;
mod lock;
mod order;
mod pages;
pub mod patch;
mod pipeline;
pub mod place;
mod read;
mod session;
pub mod stamp;
mod stream;
mod sys;
#[cfg(test)]
mod tests;
pub mod told;
#[cfg(feature = "tool")]
pub mod tool;
mod wire;
pub mod words;

pub use attach::{AttachError, SOCKET_VARIABLE};
pub use attach_or_start::{
    Age, AttachOptions, AttachOrStartError, Attached, Attachment, Sessions, Tail,
};
pub use change::{Changes, Made, Plan};
pub use control::{Control, Decider, Difference, Proposal, RefusedPage, RestoreOrder, task_input};
pub use delegate::{Delegation, Wishes};
pub use error::{Changed, Error, ErrorCode, NoSession, Violation};
pub use label::Excerpt;
pub use order::{MintOrder, Only, Pattern};
pub use pages::{Paged, Pages};
pub use pipeline::ReadAnswer;
pub use portcullis_protocol as protocol;
pub use read::{FileAnswer, FileContent, ReadStream};
pub use session::Session;
pub use stream::{Part, Stream, StreamItem};
pub use words::Words;
