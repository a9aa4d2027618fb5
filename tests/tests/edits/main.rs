//! Edits and patches, from the text a worker sends to the bytes on disk.

mod v4a_cases;
