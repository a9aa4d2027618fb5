//! Questions to a person, asked at the terminal and nowhere else: standard input may be a program's.

use super::ReviewError;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};

fn terminal() -> Result<File, ReviewError> {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/tty");
    opened.map_err(|_| ReviewError::NoTerminal)
}

/// Asks, and gives one line without its end.
pub(super) fn answer(question: &str) -> Result<String, ReviewError> {
    let mut terminal = terminal()?;
    let line = ask(&mut terminal, question)?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// Asks for what is not shown while it is typed.
pub(super) fn secret(question: &str) -> Result<Vec<u8>, ReviewError> {
    let mut terminal = terminal()?;
    let before = tcgetattr(&terminal).map_err(|errno| ReviewError::Terminal(errno.into()))?;
    let mut silent = before.clone();
    silent.local_modes -= LocalModes::ECHO;
    set(&terminal, &silent)?;
    let typed = ask(&mut terminal, question);
    // Whatever was typed, the terminal is given back as it was.
    set(&terminal, &before)?;
    drop(terminal.write_all(b"\n"));
    typed
}

fn set(terminal: &File, modes: &Termios) -> Result<(), ReviewError> {
    tcsetattr(terminal, OptionalActions::Flush, modes)
        .map_err(|errno| ReviewError::Terminal(errno.into()))
}

fn ask(terminal: &mut File, question: &str) -> Result<Vec<u8>, ReviewError> {
    let failed = ReviewError::Terminal;
    terminal.write_all(question.as_bytes()).map_err(failed)?;
    let mut line = Vec::new();
    let mut byte = [0];
    while terminal.read(&mut byte).map_err(failed)? == 1 && byte != *b"\n" {
        line.extend(byte);
    }
    Ok(line)
}
