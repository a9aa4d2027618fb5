//! The reference file server's tools as `portcullis-mcp --compat reference` has them: the same names,
//! arguments and answers, from outside; and where its way of doing them loses something, not that.
//! `docs/MCP.md` has the whole list of differences.

mod answers;
mod better;
mod served;
