//! Stand-in.
use portcullis_protocol::view::Kind;
use rustix::io::Errno;
use std::os::fd::OwnedFd;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Present {
    bits: u8,
}

impl Present {
    pub(crate) fn see(&mut self, name: &[u8]) {
        match name {
            b".gitignore" => self.bits |= 1,
            b".ignore" => self.bits |= 2,
            b".git" => self.bits |= 4,
            _ => {}
        }
    }
    pub(crate) const ANY: Self = Self { bits: 7 };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    Nothing,
    Ignored,
    Included,
}

#[derive(Debug)]
pub(crate) struct Ignores;

#[derive(Debug, Clone)]
pub(crate) struct Rules;

impl Ignores {
    pub(crate) fn new(_global: &[u8]) -> Self {
        Self
    }
    pub(crate) fn top(&self) -> Rules {
        Rules
    }
    pub(crate) fn enter(
        &self,
        _above: &Rules,
        _name: Option<&[u8]>,
        _present: Present,
        _open: &mut dyn FnMut(&[u8]) -> Result<OwnedFd, Errno>,
    ) -> (Rules, u64) {
        (Rules, 0)
    }
}

impl Rules {
    pub(crate) fn judge(&self, _name: &[u8], _kind: Kind) -> Said {
        Said::Nothing
    }
}
