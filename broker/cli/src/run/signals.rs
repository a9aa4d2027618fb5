//! Signals to `run` are for its worker.

use crate::sys::{self, Sender};
use crate::worker::{Handle, Keys};
use rustix::io::Errno;
use rustix::process::Signal;
use std::time::Duration;

const FORWARDED: [(libc::c_int, Signal); 4] = [
    (libc::SIGINT, Signal::INT),
    (libc::SIGTERM, Signal::TERM),
    (libc::SIGHUP, Signal::HUP),
    (libc::SIGQUIT, Signal::QUIT),
];

fn numbers() -> [libc::c_int; 4] {
    FORWARDED.map(|(number, _)| number)
}

/// Keeps them from ending this process, in this thread and those it starts. Those that a terminal
/// sends to the whole group are also ignored, because ignoring is inherited: a key that is meant
/// for the worker must not end the gate that serves it. Workers get their dispositions back.
pub(super) fn block() -> Result<(), Errno> {
    sys::block_signals(&numbers())?;
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
        sys::ignore_signal(signal)?;
    }
    Ok(())
}

/// How long a command may take to end once it was signalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// As long as it likes: what to do with a signal is its own affair.
    Endless,
    /// This long; then it is killed.
    Until(Duration),
}

/// Starts a thread that passes each on to the worker. A key on the terminal has already reached a
/// worker in its foreground group, and is not sent twice.
pub(super) fn forward(worker: Handle, keys: Keys, patience: Patience) {
    std::thread::spawn(move || {
        while let Ok((number, sender)) = sys::wait_for_signal(&numbers()) {
            if sender == Sender::Process || keys == Keys::DoNot {
                let signal = FORWARDED.iter().find(|(known, _)| *known == number);
                if let Some((_, signal)) = signal {
                    send(&worker, *signal);
                }
            }
            if let Patience::Until(time) = patience {
                std::thread::sleep(time);
                send(&worker, Signal::KILL);
            }
        }
    });
}

fn send(worker: &Handle, signal: Signal) {
    match worker.signal(signal) {
        // A worker that has ended needs no signal.
        Ok(()) | Err(_) => {}
    }
}
