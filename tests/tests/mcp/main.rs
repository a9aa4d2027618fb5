//! The MCP server as its clients see it: the real executable with a real session, spoken to over
//! its standard descriptors.

mod approvals;
mod client;
mod hostile;
mod long;
mod names;
mod parts;
mod tools;
mod versions;
