//! Denials, compiled from arbitrary patterns: judging never fails, letter case never matters,
//! what is covered stays covered below, one denial more never opens anything, and where asking
//! counts as granted nothing but what was only to be asked for is open.
#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use portcullis_fuzz::authorities;
use portcullis_gate::policy::{Asking, Judgement, Policy};
use portcullis_protocol::authority::{
    Authority, Budgets, Denial, DenialTarget, Durable, Effect, FileSystem, Parts, Root, RootId,
    RootIdentity, Scope,
};
use portcullis_protocol::bounded::Text;
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::RootIndex;

const ROOT: RootIndex = RootIndex(0);

fuzz_target!(|input: &[u8]| {
    let mut u = Unstructured::new(input);
    if let Ok(world) = World::arbitrary(&mut u) {
        world.check();
    }
});

struct World {
    location: RelPath,
    denials: Vec<Denial>,
    further: Denial,
    paths: Vec<RelPath>,
}

impl World {
    fn arbitrary(u: &mut Unstructured<'_>) -> Result<Self> {
        let location = authorities::location(u)?;
        let further = authorities::denial(u)?;
        let mut denials = Vec::new();
        for _ in 0..u.int_in_range(0..=3)? {
            denials.push(authorities::denial(u)?);
        }
        let mut paths = vec![RelPath::root()];
        for denial in denials.iter().chain([&further]) {
            paths.extend(named(denial));
        }
        for _ in 0..u.int_in_range(0..=3)? {
            paths.push(authorities::path(u)?);
        }
        let rest: &[u8] = u.arbitrary()?;
        paths.extend(RelPath::parse(rest));
        Ok(Self {
            location,
            denials,
            further,
            paths,
        })
    }

    fn compile(&self, denials: Vec<Denial>, asking: Asking) -> Option<Policy> {
        let authority = Authority::seal(Parts {
            request: Text::default(),
            owner: Text::default(),
            conversation: Text::default(),
            parent: None,
            roots: vec![Root {
                id: RootId(0),
                label: Label::new("r").ok()?,
                scope: Scope::Workspace,
                location: self.location.clone(),
                identity: RootIdentity {
                    device: 1,
                    inode: 1,
                    born: None,
                    mount: 1,
                },
                durable: Durable {
                    file_system: 1,
                    inode: 1,
                    born: None,
                    handle: None,
                },
                file_system: FileSystem::Ext,
            }],
            grants: Vec::new(),
            asks: Vec::new(),
            denials,
            budgets: Budgets::UNLIMITED,
            expires_ms: None,
        })
        .ok()?;
        Policy::compile(&std::sync::Arc::new(authority), asking).ok()
    }

    fn check(&self) {
        let Some(fewer) = self.compile(self.denials.clone(), Asking::Refuse) else {
            return;
        };
        for path in &self.paths {
            for verb in Verb::ALL {
                judged(&fewer, path, verb);
            }
        }
        let mut denials = self.denials.clone();
        denials.push(self.further.clone());
        let Some(more) = self.compile(denials.clone(), Asking::Refuse) else {
            return;
        };
        self.asking_opens_what_asks(&denials, &more);
        for verb in Verb::ALL {
            for path in &self.paths {
                let (before, after) = (fewer.judge(ROOT, path, verb), more.judge(ROOT, path, verb));
                assert!(strength(after) >= strength(before), "{verb} {path}");
            }
            for (device, inode) in objects() {
                let before = fewer.judge_object((device, inode), verb);
                let after = more.judge_object((device, inode), verb);
                assert!(
                    strength(after) >= strength(before),
                    "{verb} {device} {inode}"
                );
            }
            self.literal_covers(&more, verb);
        }
    }

    /// Where asking counts as granted, what is only to be asked for is open and all else is as it
    /// was; which rule asks is told either way. A hidden name is asked for where one beside it that
    /// is not hidden would be.
    fn asking_opens_what_asks(&self, denials: &[Denial], refuses: &Policy) {
        let granted = self.compile(denials.to_vec(), Asking::Granted);
        let granted = granted.expect("the same patterns");
        let visible = denials.iter().filter(|d| d.effect != Effect::Hide);
        let shown = self.compile(visible.cloned().collect(), Asking::Refuse);
        let shown = shown.expect("some of the same patterns");
        let open = |judgement| match judgement {
            Judgement::Asks(_) => Judgement::Clear,
            Judgement::Clear | Judgement::Denied(_) | Judgement::Hidden => judgement,
        };
        for (path, verb) in self
            .paths
            .iter()
            .flat_map(|p| Verb::ALL.map(|verb| (p, verb)))
        {
            let judgement = refuses.judge(ROOT, path, verb);
            assert_eq!(
                granted.judge(ROOT, path, verb),
                open(judgement),
                "{verb} {path}"
            );
            for policy in [refuses, &granted] {
                assert_eq!(policy.asked_by(ROOT, path, verb), asks(judgement));
            }
            let beside = asks(shown.judge(ROOT, path, verb));
            assert_eq!(
                refuses.asked_beside(ROOT, path, verb),
                beside,
                "{verb} {path}"
            );
            assert_eq!(granted.asked_beside(ROOT, path, verb), None);
        }
        for (object, verb) in objects().flat_map(|o| Verb::ALL.map(|verb| (o, verb))) {
            let judgement = refuses.judge_object(object, verb);
            assert_eq!(granted.judge_object(object, verb), open(judgement));
            for policy in [refuses, &granted] {
                assert_eq!(policy.object_asked_by(object, verb), asks(judgement));
            }
        }
    }

    /// A pattern without a special character covers what it spells, at the place it begins.
    fn literal_covers(&self, policy: &Policy, verb: Verb) {
        let denial = &self.further;
        let applies = denial.effect == Effect::Hide || denial.verbs.has(verb);
        let here = match &denial.target {
            DenialTarget::Object { device, inode } => {
                let judgement = policy.judge_object((*device, *inode), verb);
                assert!(!applies || judgement != Judgement::Clear);
                return;
            }
            DenialTarget::Pattern { anchor, .. } => {
                anchor.is_none() || anchor.as_ref() == Some(&self.location)
            }
        };
        if let Some(path) = named(denial).filter(|_| applies && here) {
            let judgement = policy.judge(ROOT, &path, verb);
            assert_ne!(
                judgement,
                Judgement::Clear,
                "{verb} {path} of {:?}",
                denial.target
            );
        }
    }
}

/// Every object that a denial may name.
fn objects() -> impl Iterator<Item = (u64, u64)> {
    (0..2).flat_map(|device| (0..4).map(move |inode| (device, inode)))
}

/// The rule that asks, when one does.
fn asks(judgement: Judgement<'_>) -> Option<&Rule> {
    match judgement {
        Judgement::Asks(rule) => Some(rule),
        Judgement::Clear | Judgement::Denied(_) | Judgement::Hidden => None,
    }
}

/// The path a pattern spells, when it has no special character.
fn named(denial: &Denial) -> Option<RelPath> {
    let pattern = match &denial.target {
        DenialTarget::Object { .. } => return None,
        DenialTarget::Pattern { pattern, .. } => pattern.as_slice(),
    };
    let special = |b: &u8| b"*?[]{}\\!,".contains(b);
    if pattern.iter().any(special) {
        return None;
    }
    let path = RelPath::parse(pattern).ok()?;
    (!path.is_root()).then_some(path)
}

/// Judging by path and by walking agree; letter case never matters; below is covered too.
fn judged(policy: &Policy, path: &RelPath, verb: Verb) {
    let whole = policy.judge(ROOT, path, verb);
    let mut place = policy.root(ROOT);
    for name in path.names() {
        place = policy.enter(&place, name);
    }
    assert_eq!(policy.judge_place(&place, verb), whole);
    for spelling in [
        path.as_bytes().to_ascii_lowercase(),
        path.as_bytes().to_ascii_uppercase(),
    ] {
        let spelling = RelPath::parse(&spelling).expect("case is no part of a path's form");
        let other = policy.judge(ROOT, &spelling, verb);
        assert_eq!(strength(other), strength(whole), "{verb} {path} {spelling}");
    }
    if let Ok(child) = path.join(b"below") {
        let below = policy.judge(ROOT, &child, verb);
        assert!(strength(below) >= strength(whole), "{verb} {child}");
    }
}

fn strength(judgement: Judgement<'_>) -> u8 {
    match judgement {
        Judgement::Clear => 0,
        Judgement::Asks(_) => 1,
        Judgement::Denied(_) => 2,
        Judgement::Hidden => 3,
    }
}
