//! Edits and patches, from the text a worker sends to the bytes on disk.

mod anchors;
mod bugs_a;
mod bugs_b;
mod bugs_c;
mod bugs_d;
mod desk;
mod differential;
mod reference;
mod v4a_cases;
