//! The rules in force in one directory: the files from the root down to it, strongest first, each
//! with its states there.

use super::Said;
use super::compiled::{Compiled, Leads, Stays, TRIED_MAX};
use super::hashed::{Asked, Seed};
use super::lines::Covers;
use super::verdict::{State, Strongest, Verdict};
use portcullis_protocol::limits::IGNORE_RULES_MAX;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// States in one directory; further ones are left out.
const STATES_MAX: usize = 4096;
/// Memory of the rules in force in one directory, in bytes; a file that goes over it is left out.
const SIZE_MAX: usize = 12 * 1024 * 1024;

/// Which kind of file rules are from; the strongest first. Within one, deeper files are stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    /// `.ignore`
    Ignore,
    /// `.gitignore`
    Git,
    /// `.git/info/exclude`
    Exclude,
    /// What the runtime passed.
    Global,
}

/// One file, and its states.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    tier: Tier,
    file: Arc<Compiled>,
    states: Range<usize>,
}

/// The rules in force in one directory.
#[derive(Debug)]
pub(super) struct Chain {
    seed: Seed,
    /// The runtime's rules, also where none of them is alive: in a repository below they begin anew.
    global: Option<Arc<Compiled>>,
    layers: Vec<Layer>,
    states: Vec<State>,
    stays: Stays,
    leads: Leads,
    /// What is in force in a directory below to which no state leads on.
    settled: OnceLock<Arc<Chain>>,
}

/// Whether a directory begins a tree of its own, whose rules no others from above join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begins {
    Nothing,
    Repository,
}

impl Chain {
    pub(super) fn new(seed: Seed, global: Option<Arc<Compiled>>) -> Self {
        let mut this = Self {
            seed,
            global: None,
            layers: Vec::new(),
            states: Vec::new(),
            stays: Stays::Everywhere,
            leads: Leads::Nowhere,
            settled: OnceLock::new(),
        };
        if let Some(file) = &global {
            this.push(Tier::Global, Arc::clone(file), file.start().to_vec());
        }
        this.global = global;
        this
    }

    /// Without any rule in force.
    fn empty(&self) -> Self {
        Self {
            seed: self.seed,
            global: self.global.clone(),
            layers: Vec::new(),
            states: Vec::new(),
            stays: Stays::Everywhere,
            leads: Leads::Nowhere,
            settled: OnceLock::new(),
        }
    }

    /// Adds a file that is weaker than all others. Gives how many states were left out.
    fn push(&mut self, tier: Tier, file: Arc<Compiled>, mut states: Vec<State>) -> u64 {
        let room = STATES_MAX.saturating_sub(self.states.len());
        let over = states.len().saturating_sub(room);
        states.truncate(room);
        for state in &states {
            self.stays = self.stays.min(file.stays(*state));
            self.leads = self.leads.min(file.leads(*state));
        }
        if !states.is_empty() {
            let start = self.states.len();
            self.states.append(&mut states);
            self.layers.push(Layer {
                tier,
                file,
                states: start..self.states.len(),
            });
        }
        u64::try_from(over).unwrap_or(u64::MAX)
    }

    fn of(&self, layer: &Layer) -> &[State] {
        self.states.get(layer.states.clone()).unwrap_or_default()
    }

    /// What the rules say of a name.
    #[inline]
    pub(super) fn judge(&self, name: &[u8], covers: Covers) -> Said {
        if self.layers.is_empty() {
            return Said::Nothing;
        }
        let asked = Asked::new(self.seed, name);
        for layer in &self.layers {
            let mut strongest = Strongest {
                asked: covers,
                verdict: Verdict::NONE,
            };
            for state in self.of(layer) {
                layer.file.judge(*state, &asked, &mut strongest);
            }
            if strongest.verdict != Verdict::NONE {
                return strongest.verdict.said();
            }
        }
        Said::Nothing
    }

    /// What is left of the rules in the directory of that name, before its own files. Adds how many
    /// states were left out.
    pub(super) fn below(self: &Arc<Self>, name: &[u8], left_out: &mut u64) -> Arc<Self> {
        let reached = match self.leads {
            Leads::Nowhere => Vec::new(),
            Leads::On => self.reached(name),
        };
        if !reached.is_empty() {
            let (made, over) = self.moved(&reached);
            *left_out = left_out.saturating_add(over);
            return Arc::new(made);
        }
        match self.stays {
            Stays::Everywhere => Arc::clone(self),
            Stays::Here => Arc::clone(self.settled.get_or_init(|| Arc::new(self.moved(&[]).0))),
        }
    }

    /// The states that a name leads to, each with the place of its layer, in order of those.
    fn reached(&self, name: &[u8]) -> Vec<(usize, State)> {
        let asked = Asked::new(self.seed, name);
        let (mut all, mut of_layer) = (Vec::new(), Vec::new());
        for (place, layer) in self.layers.iter().enumerate() {
            for state in self.of(layer) {
                layer.file.step(*state, &asked, &mut of_layer);
            }
            all.extend(of_layer.drain(..).map(|state| (place, state)));
        }
        all
    }

    /// What stays of its states, and those that are reached.
    fn moved(&self, reached: &[(usize, State)]) -> (Self, u64) {
        let mut made = self.empty();
        let mut over = 0u64;
        let mut reached = reached.iter().peekable();
        for (place, layer) in self.layers.iter().enumerate() {
            let stays = |state: &State| layer.file.stays(*state) == Stays::Everywhere;
            let mut states: Vec<State> = self.of(layer).iter().copied().filter(stays).collect();
            while let Some((_, state)) = reached.next_if(|(of, _)| *of == place) {
                states.push(*state);
            }
            // Many ways lead to a node that is alive everywhere below another.
            states.sort_unstable();
            states.dedup();
            over = over.saturating_add(made.push(layer.tier, Arc::clone(&layer.file), states));
        }
        (made, over)
    }

    /// The same with the files of the directory itself. Adds how many rules of those were left out
    /// because there are too many together.
    pub(super) fn with(
        &self,
        begins: Begins,
        files: Vec<(Tier, Arc<Compiled>)>,
        left_out: &mut u64,
    ) -> Self {
        let mut kept: Vec<(Tier, Arc<Compiled>, Vec<State>)> = Vec::new();
        for layer in &self.layers {
            match (begins, layer.tier) {
                (Begins::Repository, Tier::Git | Tier::Exclude | Tier::Global) => {}
                (Begins::Nothing, _) | (Begins::Repository, Tier::Ignore) => {
                    let states = self.of(layer).to_vec();
                    kept.push((layer.tier, Arc::clone(&layer.file), states));
                }
            }
        }
        if let (Begins::Repository, Some(file)) = (begins, &self.global) {
            // To git the slashes of these are those of the repository.
            let states = file.start().to_vec();
            kept.push((Tier::Global, Arc::clone(file), states));
        }
        let mut totals = Totals::default();
        for (_, file, _) in &kept {
            totals.add(file);
        }
        let mut all = Vec::new();
        for (tier, file) in files {
            if totals.has_room_for(&file) {
                totals.add(&file);
                let states = file.start().to_vec();
                all.push((tier, file, states));
            } else {
                let rules = u64::try_from(file.rules).unwrap_or(u64::MAX);
                *left_out = left_out.saturating_add(rules);
            }
        }
        // Those of the directory itself come first among their like.
        all.append(&mut kept);
        all.sort_by_key(|(tier, ..)| *tier);
        let mut made = self.empty();
        for (tier, file, states) in all {
            let over = made.push(tier, file, states);
            *left_out = left_out.saturating_add(over);
        }
        made
    }
}

/// What the files in force come to.
#[derive(Debug, Default)]
struct Totals {
    rules: usize,
    size: usize,
    tried: usize,
}

impl Totals {
    fn add(&mut self, file: &Compiled) {
        self.rules += file.rules;
        self.size += file.size;
        self.tried += file.tried;
    }

    fn has_room_for(&self, file: &Compiled) -> bool {
        self.rules + file.rules <= IGNORE_RULES_MAX
            && self.size + file.size <= SIZE_MAX
            && self.tried + file.tried <= TRIED_MAX
    }
}
