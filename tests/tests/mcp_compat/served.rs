//! A server on a session of its own, on a small tree.

use portcullis_tests::rpc::Rpc;
use portcullis_tests::{World, own};
use std::path::PathBuf;
use std::process::Command;

/// A server, and the tree it serves.
pub(crate) struct Served {
    pub(crate) rpc: Rpc,
    world: World,
}

/// Starts one in compat mode on `a.txt`, `link` to it, and two files below `sub`.
pub(crate) fn served() -> Served {
    let mut world = World::new(own!("own-gate"));
    world.write("a.txt", "one\ntwo\nthree\n");
    world.write("sub/y.ts", "y");
    world.write("sub/deep/x.ts", "x");
    std::os::unix::fs::symlink("a.txt", world.inside().join("link")).unwrap();
    let mut command = Command::new(own!("own-mcp"));
    command.args(["--compat", "reference", "--root"]);
    command.arg(format!("workspace={}", world.inside().to_str().unwrap()));
    world.session().session.attach(&mut command).unwrap();
    let rpc = Rpc::start(&mut command);
    Served { rpc, world }
}

impl Served {
    /// The root, as the server names it.
    pub(crate) fn root(&self) -> String {
        self.world.inside().to_str().unwrap().to_owned()
    }

    /// A name below the root, as it is given to the server.
    pub(crate) fn path(&self, name: &str) -> String {
        match name {
            "" => self.root(),
            name => format!("{}/{name}", self.root()),
        }
    }

    /// The same on the disk.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.world.inside().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: &[u8]) {
        std::fs::write(self.file(name), content).unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.file(name)).unwrap()
    }
}
