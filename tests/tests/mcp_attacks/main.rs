//! What broke other file servers for models, against this one in both of its modes: a directory that
//! is swapped for a link while it is used, many edits of one file at once, and files that never end.
//! `tests/mcp/peers` asks the same of others, longer. Each attack beats something unprotected here:
//! the same executable on the session of a server that checks paths, or a plain read and write.

mod many;
mod served;
mod special;
mod swapped;
