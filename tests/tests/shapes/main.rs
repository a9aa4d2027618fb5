//! Listings, globs and searches of what is awkward to walk: large, deep, long and without end; with
//! the memory of the gate that answers, the numbers of every answer, and pages that join.

mod cancel;
mod deep;
mod ignores;
mod large;
mod lines;
mod measure;
mod order;
mod pages;
mod reasons;
