//! What several fuzz targets share.

pub mod authorities;
pub mod frames;
pub mod patches;
pub mod words;
