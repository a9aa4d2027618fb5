//! Somebody changes a tree while it is walked: nothing that is outside or denied is ever told, every
//! answer ends, and what has nothing to do with the changes is in every answer.
//!
//! The same attacks run against a walk by path, which each of them must beat: an attack that shows
//! nothing there shows nothing here.

mod attacks;
mod control;
mod drive;
mod judge;
mod scenario;
mod tree;
