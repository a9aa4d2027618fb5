//! The commands as people and programs use them: real executables, in a directory of their own
//! under their own names, started from a shell.

mod broker;
mod completions;
mod doctor;
mod exits;
mod place;
mod policies;
mod reach;
mod records_export;
mod refusals;
mod summary;
mod tool;
mod tool_edits;
mod walks;
mod why;
mod worker;
