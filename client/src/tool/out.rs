//! Standard output that never makes the session wait.
//!
//! The gate closes a session whose answers are not read, and other processes may wait for their
//! turn on it: a pager at the other end of our output must keep neither. A short answer is kept in
//! memory until the session is given back, and written then. For one that is long, or takes long, a
//! thread writes, and what it has not written yet is kept in memory.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes of an answer that is kept to be written at the end.
const KEPT_BYTES: usize = 64 * 1024;
/// How long one may take. What comes later is shown as it comes.
const KEPT_FOR: Duration = Duration::from_millis(20);

/// Nobody takes our output any more; there is no use in going on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// Where output goes.
#[derive(Debug)]
pub(super) struct Out {
    way: RefCell<Way>,
}

enum Way {
    /// Nothing is written yet.
    Kept(Kept),
    /// A thread writes.
    Written(Writing),
    /// Neither: one is about to become the other.
    Between,
}

struct Kept {
    bytes: Vec<u8>,
    since: Instant,
    target: Box<dyn Write + Send>,
}

#[derive(Debug)]
struct Writing {
    chunks: Sender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Out {
    /// To standard output.
    pub(super) fn start() -> Self {
        Self::to(io::stdout())
    }

    pub(super) fn to(target: impl Write + Send + 'static) -> Self {
        let kept = Kept {
            bytes: Vec::new(),
            since: Instant::now(),
            target: Box::new(target),
        };
        Self {
            way: RefCell::new(Way::Kept(kept)),
        }
    }

    /// Hands bytes over; does not wait.
    pub(super) fn put(&self, bytes: impl Into<Vec<u8>>) -> Result<(), Gone> {
        let bytes = bytes.into();
        let mut way = self.way.borrow_mut();
        if let Way::Kept(kept) = &mut *way
            && kept.bytes.len().saturating_add(bytes.len()) <= KEPT_BYTES
            && kept.since.elapsed() < KEPT_FOR
        {
            kept.bytes.extend_from_slice(&bytes);
            return Ok(());
        }
        way.write()?.send(bytes).map_err(|_| Gone)
    }

    /// Whether there is something that is only kept: what is said now would come before it.
    pub(super) fn keeps(&self) -> bool {
        matches!(&*self.way.borrow(), Way::Kept(kept) if !kept.bytes.is_empty())
    }

    /// Has what is kept written now: the answer takes long.
    pub(super) fn show(&self) -> Result<(), Gone> {
        self.way.borrow_mut().write().map(drop)
    }

    /// Waits until all is written. A reader that left early is no error.
    pub(super) fn finish(self) -> io::Result<()> {
        let written = match self.way.into_inner() {
            Way::Kept(mut kept) => kept
                .target
                .write_all(&kept.bytes)
                .and_then(|()| kept.target.flush()),
            Way::Written(Writing { chunks, writer }) => {
                drop(chunks);
                writer.join().unwrap_or_else(|_| Err(failed()))
            }
            Way::Between => Err(failed()),
        };
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }
}

impl Way {
    /// Starts the thread, if it was not, with what was kept.
    fn write(&mut self) -> Result<&Sender<Vec<u8>>, Gone> {
        if let Self::Kept(_) = self
            && let Self::Kept(kept) = std::mem::replace(self, Self::Between)
        {
            let (chunks, receiver) = mpsc::channel();
            chunks.send(kept.bytes).map_err(|_| Gone)?;
            let writer = std::thread::spawn(move || write_all(&receiver, kept.target));
            *self = Self::Written(Writing { chunks, writer });
        }
        match self {
            Self::Written(writing) => Ok(&writing.chunks),
            Self::Kept(_) | Self::Between => Err(Gone),
        }
    }
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kept(_) => "Kept",
            Self::Written(_) => "Written",
            Self::Between => "Between",
        })
    }
}

fn failed() -> io::Error {
    io::Error::other("the writing thread failed")
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
    use std::io::Read as _;

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
    fn a_short_answer_waits_in_memory_and_is_written_when_it_takes_long() {
        let (mut reader, writer) = io::pipe().unwrap();
        let out = Out::to(writer);
        let is_kept = |out: &Out| matches!(*out.way.borrow(), Way::Kept(_));
        let read = |reader: &mut io::PipeReader| {
            let mut bytes = [0; 8];
            let n = reader.read(&mut bytes).unwrap();
            bytes[..n].to_vec()
        };
        // Nothing here depends on time: a slow machine writes earlier, and in the same order.
        out.put("a").unwrap();
        out.show().unwrap();
        assert!(!is_kept(&out));
        assert_eq!(read(&mut reader), b"a");
        out.put("b").unwrap();
        assert_eq!(read(&mut reader), b"b");
        out.finish().unwrap();

        let (mut reader, writer) = io::pipe().unwrap();
        let out = Out::to(writer);
        out.put(vec![b'c'; KEPT_BYTES + 1]).unwrap();
        assert!(!is_kept(&out), "too much to be kept");
        let all = std::thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all)
        });
        out.finish().unwrap();
        assert_eq!(all.join().unwrap().unwrap().len(), KEPT_BYTES + 1);
    }

    #[test]
    fn a_reader_that_left_is_no_error_of_a_short_answer_and_a_full_disk_is() {
        let (reader, writer) = io::pipe().unwrap();
        let out = Out::to(writer);
        out.put("a").unwrap();
        drop(reader);
        out.finish().unwrap();

        let full = std::fs::File::options().write(true).open("/dev/full");
        let out = Out::to(full.unwrap());
        out.put("a").unwrap();
        out.finish().unwrap_err();
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
