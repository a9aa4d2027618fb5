//! A worker that does what no client does hurts only itself: its own session answers with a typed
//! refusal or ends, other sessions are served as before, and nothing stays behind.

mod bombs;
mod ends;
mod frames;
mod many;
mod pace;
mod raw;
