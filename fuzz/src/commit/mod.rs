//! Change sets that are really made: by a gate without a cage, in a directory of this process.

pub mod disk;
pub mod gate;
pub mod known;
pub mod made;
pub mod model;
pub mod read;
pub mod way;
