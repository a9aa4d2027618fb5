//! Gates that fail on purpose, one after the other from one warden.

use std::path::{Path, PathBuf};

/// A gate's executable that meets what is planned at the time its session is minted. Observers are
/// gates as well; they make no effect, so that they meet nothing.
#[derive(Debug)]
pub struct Faults {
    directory: tempfile::TempDir,
}

impl Faults {
    /// A further name of `gate`; see `own-gate`.
    pub fn new(gate: &Path) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("portcullis-faults-")
            .tempdir()
            .unwrap();
        let faults = Self { directory };
        // A link where it can be, else a copy: both are the same program under another name.
        if std::fs::hard_link(gate, faults.gate()).is_err() {
            std::fs::copy(gate, faults.gate()).unwrap();
        }
        faults.clear();
        faults
    }

    /// The executable for the warden.
    pub fn gate(&self) -> PathBuf {
        self.directory.path().join("fault.plan")
    }

    /// Gates that start from now on meet `what` at the `nth` file system call of their effects.
    pub fn set(&self, nth: u32, what: &str) {
        self.write(&format!("{nth}.{what}"));
    }

    /// Gates that start from now on meet nothing.
    pub fn clear(&self) {
        self.write("");
    }

    fn write(&self, plan: &str) {
        let (next, now) = ("plan.next", "plan");
        std::fs::write(self.directory.path().join(next), plan).unwrap();
        std::fs::rename(
            self.directory.path().join(next),
            self.directory.path().join(now),
        )
        .unwrap();
    }
}
