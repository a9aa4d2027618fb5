//! What several fuzz targets share.

pub mod authorities;
pub mod commit;
pub mod edits;
pub mod frames;
pub mod levels;
pub mod patches;
pub mod sets;
pub mod words;
