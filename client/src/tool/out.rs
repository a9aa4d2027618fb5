//! Standard output that never makes the session wait.
//!
//! The gate closes a session whose answers are not read, and other processes may wait for their
//! turn on it: a pager at the other end of our output must keep neither. So a thread writes, and
//! what it has not written yet is kept in memory.

use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::JoinHandle;

/// Nobody takes our output any more; there is no use in going on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// Where output goes.
#[derive(Debug)]
pub(super) struct Out {
    chunks: Sender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Out {
    /// To standard output.
    pub(super) fn start() -> Self {
        Self::to(io::stdout())
    }

    pub(super) fn to(target: impl Write + Send + 'static) -> Self {
        let (chunks, receiver) = mpsc::channel();
        let writer = std::thread::spawn(move || write_all(&receiver, target));
        Self { chunks, writer }
    }

    /// Hands bytes over; does not wait.
    pub(super) fn put(&self, bytes: impl Into<Vec<u8>>) -> Result<(), Gone> {
        self.chunks.send(bytes.into()).map_err(|_| Gone)
    }

    /// Waits until all is written. A reader that left early is no error.
    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.chunks);
        match self.writer.join() {
            Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Ok(written) => written,
            Err(_) => Err(io::Error::other("the writing thread failed")),
        }
    }
}

/// Writes what comes, and flushes whenever nothing more is there.
fn write_all(chunks: &Receiver<Vec<u8>>, target: impl Write) -> io::Result<()> {
    let mut target = BufWriter::with_capacity(64 * 1024, target);
    loop {
        let chunk = match chunks.try_recv() {
            Ok(chunk) => chunk,
            Err(TryRecvError::Disconnected) => return target.flush(),
            Err(TryRecvError::Empty) => {
                target.flush()?;
                match chunks.recv() {
                    Ok(chunk) => chunk,
                    Err(mpsc::RecvError) => return Ok(()),
                }
            }
        };
        target.write_all(&chunk)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_written_in_order() {
        let (mut reader, writer) = io::pipe().unwrap();
        let out = Out::to(writer);
        for n in 0..1000 {
            out.put(format!("{n}\n")).unwrap();
        }
        let read = std::thread::spawn(move || io::read_to_string(&mut reader).unwrap());
        out.finish().unwrap();
        let expected: String = (0..1000).map(|n| format!("{n}\n")).collect();
        assert_eq!(read.join().unwrap(), expected);
    }

    #[test]
    fn a_reader_that_waits_does_not_stop_the_writer_and_one_that_left_does() {
        let (reader, writer) = io::pipe().unwrap();
        let out = Out::to(writer);
        // Far more than a pipe holds: a blocking write would hang here.
        for _ in 0..64 {
            out.put(vec![b'x'; 64 * 1024]).unwrap();
        }
        drop(reader);
        while out.put(vec![b'y'; 1024]).is_ok() {}
        out.finish().unwrap();
    }
}
