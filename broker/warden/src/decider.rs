//! What the broker itself demands of whoever decides: a passphrase, or another user.
//!
//! The passphrase is kept as a hash in the file `decider` of the state, so that every warden on
//! that state demands it. It keeps programs of the same user from deciding only as far as they do
//! not change the state itself; see THREATS.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use portcullis_protocol::limits::SECRET_BYTES_MAX;
use rustix::fs::OFlags;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// The file of the hash in the directory of a state.
pub(crate) const FILE: &str = "decider";
/// Its next version, until it is whole.
const NEXT: &str = "decider.new";
/// Longest such file, in bytes.
const FILE_BYTES_MAX: u64 = 1024;
/// Shortest passphrase, in bytes.
const SECRET_BYTES_MIN: usize = 8;
/// Bytes of the salt.
const SALT_BYTES: usize = 16;
/// Tries that wait for being looked at; one more is refused.
const TRIES_MAX: usize = 8;
/// How long no try is looked at after a wrong one.
const PAUSE: Duration = Duration::from_millis(400);

/// Why a passphrase was not set, removed or looked at. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum DeciderError {
    /// Too short, or too long.
    #[error("a passphrase has {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes")]
    Length,
    /// There is one, and it was not this.
    #[error("the passphrase that is set is another one")]
    Wrong,
    /// There is none.
    #[error("no passphrase is set")]
    Unset,
    /// The text is no argon2id hash, or belongs to somebody else.
    #[error("the passphrase's hash cannot be used: {0}")]
    Damaged(&'static str),
    /// The hash could not be worked out.
    #[error("the passphrase's hash: {0}")]
    Hash(String),
    /// About the file.
    #[error("{path}: {source}")]
    Files {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// What a broker demands of those who decide. With none of it, the runtime of a session and every
/// process of the broker's own user may; with any of it, they may not by being that alone.
#[derive(Debug, Default)]
pub struct Deciders {
    /// Who knows it may decide. The one of the state goes before it; where neither is set, none is
    /// demanded.
    pub passphrase: Option<PassphraseHash>,
    /// Other users, by number, whose processes may connect to list, show and decide, and for
    /// nothing else. Root is one like any. What they run in is not looked at, as it is of processes of the
    /// broker's own user. The socket must be where they can reach it.
    pub users: Vec<u32>,
}

/// The argon2id hash of a passphrase, with its salt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassphraseHash(String);

impl PassphraseHash {
    /// Of a passphrase, under a new salt. Takes some ten milliseconds and 19 MiB.
    pub fn of(passphrase: &[u8]) -> Result<Self, DeciderError> {
        if !(SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&passphrase.len()) {
            return Err(DeciderError::Length);
        }
        let mut salt = [0; SALT_BYTES];
        let random = Path::new("/dev/urandom");
        File::open(random)
            .and_then(|mut source| source.read_exact(&mut salt))
            .map_err(at(random))?;
        let hash: PasswordHash = Argon2::default()
            .hash_password_with_salt(passphrase, &salt)
            .map_err(|error| DeciderError::Hash(error.to_string()))?;
        Ok(Self(hash.to_string()))
    }

    /// From its text (the PHC form), which must be of argon2id.
    pub fn parse(text: &str) -> Result<Self, DeciderError> {
        let hash = PasswordHash::new(text)
            .map_err(|_| DeciderError::Damaged("it is not in the usual form"))?;
        if hash.algorithm.as_str() != "argon2id" || hash.salt.is_none() || hash.hash.is_none() {
            return Err(DeciderError::Damaged("it is not of argon2id"));
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether this passphrase has it. Takes as long for a wrong one as for the right one.
    fn is_of(&self, passphrase: &[u8]) -> bool {
        PasswordVerifier::<str>::verify_password(&Argon2::default(), passphrase, &self.0).is_ok()
    }
}

/// Whether a passphrase is set in the state in this directory.
pub fn has_passphrase(state: &Path) -> Result<bool, DeciderError> {
    Ok(read(state)?.is_some())
}

/// Sets a passphrase in the state in this directory, which is made if it is not there. Where there
/// is one already, `old` must be it. Wardens that run demand the new one at once.
pub fn set_passphrase(state: &Path, old: Option<&[u8]>, new: &[u8]) -> Result<(), DeciderError> {
    if let Some(is) = read(state)? {
        let shown = old.is_some_and(|old| is.is_of(old));
        shown.then_some(()).ok_or(DeciderError::Wrong)?;
    }
    let hash = PassphraseHash::of(new)?;
    write(state, &hash)
}

/// Removes the passphrase of the state in this directory, which `old` must be. Wardens that have
/// seen it demand it until they end.
pub fn remove_passphrase(state: &Path, old: &[u8]) -> Result<(), DeciderError> {
    let is = read(state)?.ok_or(DeciderError::Unset)?;
    if !is.is_of(old) {
        return Err(DeciderError::Wrong);
    }
    let path = state.join(FILE);
    std::fs::remove_file(&path).map_err(at(&path))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> DeciderError {
    let path = path.to_owned();
    move |source| DeciderError::Files { path, source }
}

/// The hash that is set, if one is. What is there and cannot be used is an error, so that damage
/// never opens.
fn read(state: &Path) -> Result<Option<PassphraseHash>, DeciderError> {
    let path = state.join(FILE);
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut opened = OpenOptions::new();
    let file = match opened.read(true).custom_flags(flags).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(&path)(error)),
    };
    let seen = file.metadata().map_err(at(&path))?;
    if !seen.is_file() || seen.uid() != rustix::process::geteuid().as_raw() {
        return Err(DeciderError::Damaged("it is no file of this user"));
    }
    let mut text = String::new();
    let mut limited = file.take(FILE_BYTES_MAX);
    limited.read_to_string(&mut text).map_err(at(&path))?;
    PassphraseHash::parse(text.trim_end()).map(Some)
}

/// Whole or not at all.
fn write(state: &Path, hash: &PassphraseHash) -> Result<(), DeciderError> {
    let mut directories = DirBuilder::new();
    let made = directories.recursive(true).mode(0o700).create(state);
    made.map_err(at(state))?;
    let next = state.join(NEXT);
    match std::fs::remove_file(&next) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(at(&next)(error)),
    }
    let mut created = OpenOptions::new();
    let written = created
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&next)
        .and_then(|mut file| writeln!(file, "{}", hash.0).and_then(|()| file.sync_all()));
    written.map_err(at(&next))?;
    let path = state.join(FILE);
    std::fs::rename(&next, &path).map_err(at(&path))?;
    let synced = File::open(state).and_then(|directory| directory.sync_all());
    synced.map_err(at(state))
}

/// What a warden demands of those who decide.
#[derive(Debug)]
pub(crate) struct Demands {
    state: PathBuf,
    users: Vec<u32>,
    /// The hash that was seen last. One that vanishes is demanded still.
    known: Mutex<Option<PassphraseHash>>,
    waiting: Semaphore,
    /// One try at a time, of all connections.
    turn: Semaphore,
}

/// What is demanded of a process of the broker's own user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Nothing beside what its session's runtime wants.
    Nothing,
    /// This passphrase.
    Passphrase(PassphraseHash),
    /// To be another user.
    OtherUser,
    /// What cannot be read: nobody of this user decides.
    Damaged(String),
}

/// What became of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Try {
    Right,
    Wrong,
    /// Too many wait to be looked at.
    Busy,
}

impl Demands {
    /// Of a configuration and the state in this directory.
    pub(crate) fn of(configured: Deciders, state: &Path) -> Self {
        Self {
            state: state.to_owned(),
            users: configured.users,
            known: Mutex::new(configured.passphrase),
            waiting: Semaphore::new(TRIES_MAX),
            turn: Semaphore::new(1),
        }
    }

    /// Other users who may decide.
    pub(crate) fn users(&self) -> &[u32] {
        &self.users
    }

    /// What is demanded now.
    pub(crate) fn now(&self) -> Demand {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match read(&self.state) {
            Ok(Some(hash)) => *known = Some(hash),
            Ok(None) => {}
            Err(error) => return Demand::Damaged(error.to_string()),
        }
        match &*known {
            Some(hash) => Demand::Passphrase(hash.clone()),
            None if self.users.is_empty() => Demand::Nothing,
            None => Demand::OtherUser,
        }
    }

    /// Looks at one try, in its turn. After a wrong one nothing is looked at for a while.
    pub(crate) async fn try_one(&self, hash: PassphraseHash, passphrase: Vec<u8>) -> Try {
        let Ok(_waits) = self.waiting.try_acquire() else {
            return Try::Busy;
        };
        let Ok(_turn) = self.turn.acquire().await else {
            return Try::Busy;
        };
        let looked = tokio::task::spawn_blocking(move || hash.is_of(&passphrase));
        if looked.await.unwrap_or(false) {
            Try::Right
        } else {
            sleep(PAUSE).await;
            Try::Wrong
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    const OLD: &[u8] = b"correct horse";
    const NEW: &[u8] = b"battery staple";

    #[test]
    fn a_passphrase_is_changed_and_removed_only_by_who_knows_it() {
        let dir = TempDir::new();
        let state = dir.path().join("state");
        assert!(!has_passphrase(&state).unwrap());
        assert!(matches!(
            remove_passphrase(&state, OLD),
            Err(DeciderError::Unset)
        ));
        set_passphrase(&state, None, OLD).unwrap();
        assert!(has_passphrase(&state).unwrap());
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(
            (mode(&state), mode(&state.join(FILE))),
            (0o700, 0o600),
            "nobody else reads it"
        );
        for wrong in [None, Some(NEW)] {
            assert!(matches!(
                set_passphrase(&state, wrong, NEW),
                Err(DeciderError::Wrong)
            ));
        }
        assert!(matches!(
            remove_passphrase(&state, NEW),
            Err(DeciderError::Wrong)
        ));
        set_passphrase(&state, Some(OLD), NEW).unwrap();
        assert!(matches!(
            remove_passphrase(&state, OLD),
            Err(DeciderError::Wrong)
        ));
        remove_passphrase(&state, NEW).unwrap();
        assert!(!has_passphrase(&state).unwrap());
    }

    #[test]
    fn a_hash_tells_passphrases_apart_and_has_its_own_salt() {
        let hash = PassphraseHash::of(OLD).unwrap();
        assert!(hash.is_of(OLD));
        assert!(!hash.is_of(NEW) && !hash.is_of(b""));
        assert_ne!(hash, PassphraseHash::of(OLD).unwrap());
        assert_eq!(PassphraseHash::parse(&hash.0).unwrap(), hash);
        for wrong in ["", "correct horse", &hash.0.replace("argon2id", "argon2i")] {
            assert!(PassphraseHash::parse(wrong).is_err(), "{wrong}");
        }
        for wrong in [vec![b'x'; 7], vec![b'x'; SECRET_BYTES_MAX + 1]] {
            assert!(matches!(
                PassphraseHash::of(&wrong),
                Err(DeciderError::Length)
            ));
        }
    }

    #[test]
    fn what_is_demanded_is_never_less_than_it_was_and_damage_opens_nothing() {
        let dir = TempDir::new();
        let with = |users| Deciders {
            passphrase: None,
            users,
        };
        assert_eq!(Demands::of(with(vec![]), dir.path()).now(), Demand::Nothing);
        assert_eq!(
            Demands::of(with(vec![7]), dir.path()).now(),
            Demand::OtherUser
        );
        let demands = Demands::of(with(vec![]), dir.path());
        set_passphrase(dir.path(), None, OLD).unwrap();
        let Demand::Passphrase(set) = demands.now() else {
            panic!("it is demanded at once");
        };
        std::fs::remove_file(dir.path().join(FILE)).unwrap();
        assert_eq!(demands.now(), Demand::Passphrase(set), "it vanished");
        std::fs::write(dir.path().join(FILE), "x").unwrap();
        assert!(matches!(demands.now(), Demand::Damaged(_)));
        std::fs::remove_file(dir.path().join(FILE)).unwrap();
        std::os::unix::fs::symlink("elsewhere", dir.path().join(FILE)).unwrap();
        assert!(matches!(demands.now(), Demand::Damaged(_)), "a link");
    }

    #[test]
    fn wrong_tries_take_their_time_and_too_many_are_refused() {
        let dir = TempDir::new();
        let demands = Arc::new(Demands::of(Deciders::default(), dir.path()));
        let hash = PassphraseHash::of(OLD).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let begun = std::time::Instant::now();
            let tries: Vec<_> = (0..=TRIES_MAX)
                .map(|n| {
                    let (demands, hash) = (Arc::clone(&demands), hash.clone());
                    let guess = if n == 2 { OLD } else { NEW };
                    tokio::spawn(async move { demands.try_one(hash, guess.to_vec()).await })
                })
                .collect();
            let mut became = Vec::new();
            for tried in tries {
                became.push(tried.await.unwrap());
            }
            let count = |which| became.iter().filter(|one| **one == which).count();
            assert_eq!((count(Try::Right), count(Try::Busy)), (1, 1), "{became:?}");
            let wrong = u32::try_from(count(Try::Wrong)).unwrap();
            assert_eq!(wrong, 7);
            assert!(begun.elapsed() >= wrong * PAUSE, "one after the other");
        });
    }
}
