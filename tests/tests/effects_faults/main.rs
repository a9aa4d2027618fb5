//! What changes files when something goes wrong in the middle: a call that fails, a gate or a
//! warden that is killed, a record that is tampered with. What the receipts say is compared with
//! the tree each time.

mod bench;
mod errors;
mod killed;
mod model;
mod random;
mod second_look;
mod tampering;
mod warden;
