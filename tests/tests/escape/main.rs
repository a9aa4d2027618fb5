//! The attack matrix, as far as it concerns reading: each test bears the number of its row.

mod builtin;
mod links;
mod mounts;
mod nested;
mod policy;
mod rights;
mod roots;
mod sizes;
mod syntax;
mod types;
