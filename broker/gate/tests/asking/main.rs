//! What is only to be asked for, seen from outside one gate: the test plays its warden and its worker.

mod approved;
mod proposed;
mod session;
mod stage;
mod within;
