//! What a search, a listing and a glob tell, against `rg` and against the dialect as it is written
//! down.
//!
//! `rg` is the one that `PORTCULLIS_RG` names, or the one in `PATH`, if it is of the version that
//! the engines here are of. Where there is none the comparisons are not made and say so; where `CI`
//! is `true` that is a failure.

mod answer;
mod compare;
mod differences;
mod flags;
mod globs;
mod listings;
mod ours;
mod random;
mod request;
mod rg;
mod searches;
mod tree;
