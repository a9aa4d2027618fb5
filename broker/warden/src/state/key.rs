//! The key of a state's exports: what is short must not be guessed from its digest.

use super::StateError;
use portcullis_protocol::view::Digest;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Its file, in the directory of the state.
const NAME: &str = "export.key";

/// 256 random bits, made when they are first asked for, and readable by nobody else.
pub struct ExportKey([u8; 32]);

impl std::fmt::Debug for ExportKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ExportKey")
    }
}

impl ExportKey {
    pub(super) fn of(directory: &Path) -> Result<Self, StateError> {
        let failed = |source| StateError::Files {
            path: directory.to_owned(),
            what: "the key of its exports",
            source,
        };
        match read(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(directory).map_err(failed)?;
                // Another one may have been first; there is one key.
                read(directory).map_err(failed)
            }
            other => other.map_err(failed),
        }
    }

    /// What the state is known by in its exports: 128 bits that say nothing else.
    pub fn state(&self) -> [u8; 16] {
        let whole = blake3::derive_key("portcullis exports 1, the state", &self.0);
        let mut id = [0; 16];
        for (to, from) in id.iter_mut().zip(whole) {
            *to = from;
        }
        id
    }

    /// A digest under the key: the same for the same, and of no use to whoever has not got the key.
    pub fn digest(&self, digest: &Digest) -> Digest {
        let key = blake3::derive_key("portcullis exports 1, digests", &self.0);
        Digest(*blake3::keyed_hash(&key, &digest.0).as_bytes())
    }
}

fn read(directory: &Path) -> io::Result<ExportKey> {
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(directory.join(NAME))?;
    let mut key = [0; 32];
    file.read_exact(&mut key)?;
    Ok(ExportKey(key))
}

/// Whole or not at all: it is written under another name first.
fn make(directory: &Path) -> io::Result<()> {
    let mut key = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    let temporary = directory.join(format!("{NAME}.{}", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)?;
    let made = file
        .write_all(&key)
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::hard_link(&temporary, directory.join(NAME)));
    std::fs::remove_file(&temporary)?;
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}
