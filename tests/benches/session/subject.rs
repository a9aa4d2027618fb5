//! What is measured: every subject once in each round.

/// How a gate opens content. As root it looks first; so does its loop of plain calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opening {
    Direct,
    LookFirst,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    Stat,
    /// 4 KiB.
    Small,
    /// 64 KiB.
    Frame,
    /// 1 MiB.
    Large,
}

impl Call {
    pub const ALL: [Self; 4] = [Self::Stat, Self::Small, Self::Frame, Self::Large];

    /// Content that comes back, in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Stat => 0,
            Self::Small => 4 << 10,
            Self::Frame => 64 << 10,
            Self::Large => 1 << 20,
        }
    }

    /// The file, four names below the root.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Stat | Self::Small => "one/two/three/small",
            Self::Frame => "one/two/three/frame",
            Self::Large => "one/two/three/large",
        }
    }

    /// How often it is done in one round, and in how large batches.
    pub const fn times(self) -> (usize, usize) {
        match self {
            Self::Stat | Self::Small => (208, 16),
            Self::Frame => (72, 8),
            Self::Large => (7, 1),
        }
    }
}

/// Denial patterns of a bounded session, beside the built-in ones.
pub const PATTERNS: usize = 50;

/// What is repeated for a profiler.
#[derive(Debug, Clone, Copy)]
pub enum Spin {
    Echo,
    Call(Call),
    Pipelined,
}

/// Which client code speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// One `Endpoint`, requests built before.
    Raw,
    /// `Session`, asked for exactly the bytes there are.
    Session,
    /// `Session`, asked for the whole file.
    Whole,
}

/// Whether the plain calls are made in a process that is caged as a gate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cage {
    Open,
    Closed,
}

/// One thing that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// 64 bytes to another process and back, nothing else.
    PingPong,
    /// The bytes of a call's answer in the packets of a gate, over a bare socket, nothing else.
    Carry(Call),
    /// The same for 32 small reads at once; for one of them.
    CarryMany,
    /// 64 bytes through a gate and back.
    Echo(Client),
    /// The system calls a gate makes for a call, in a loop of a process of their own.
    Plain(Cage, Opening, Call),
    /// The call through a gate.
    Gate(Client, Opening, Call),
    /// The call through the gate of a session that has budgets and [`PATTERNS`] denials more.
    Bounded(Call),
    /// 32 small reads asked for before the first answer is taken; for one of them.
    Pipelined(Client),
}

/// Everything of the first table.
pub fn all(openings: &[Opening]) -> Vec<Subject> {
    let mut subjects = across(openings);
    subjects.push(Subject::CarryMany);
    subjects.extend([Call::Stat, Call::Small].map(Subject::Bounded));
    subjects.extend(Call::ALL.map(Subject::Carry));
    subjects.push(Subject::Echo(Client::Session));
    subjects.push(Subject::Pipelined(Client::Session));
    for opening in openings.iter().copied() {
        for call in Call::ALL {
            subjects.push(Subject::Plain(Cage::Closed, opening, call));
        }
    }
    for call in Call::ALL {
        subjects.push(Subject::Gate(Client::Session, Opening::Direct, call));
    }
    for call in [Call::Small, Call::Frame, Call::Large] {
        subjects.push(Subject::Gate(Client::Whole, Opening::Direct, call));
    }
    subjects
}

/// What is also measured with the client on another core.
pub fn across(openings: &[Opening]) -> Vec<Subject> {
    let mut subjects = vec![
        Subject::PingPong,
        Subject::Echo(Client::Raw),
        Subject::Pipelined(Client::Raw),
    ];
    for opening in openings.iter().copied() {
        for call in Call::ALL {
            subjects.push(Subject::Plain(Cage::Open, opening, call));
            subjects.push(Subject::Gate(Client::Raw, opening, call));
        }
    }
    subjects
}
