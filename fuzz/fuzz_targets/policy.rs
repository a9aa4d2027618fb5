//! Denials, compiled from arbitrary patterns: judging never fails, letter case never matters,
//! what is covered stays covered below, and one denial more never opens anything.
#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use portcullis_fuzz::authorities;
use portcullis_gate::policy::{Judgement, Policy};
use portcullis_protocol::authority::{
    Authority, Denial, DenialTarget, Effect, FileSystem, Parts, Root, RootId, RootIdentity, Scope,
};
use portcullis_protocol::bounded::Text;
use portcullis_protocol::path::{Label, RelPath};
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

    fn compile(&self, denials: Vec<Denial>) -> Option<Policy> {
        let authority = Authority::seal(Parts {
            request: Text::default(),
            owner: Text::default(),
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
                file_system: FileSystem::Ext,
            }],
            grants: Vec::new(),
            denials,
            expires_ms: None,
        })
        .ok()?;
        Policy::compile(&std::sync::Arc::new(authority)).ok()
    }

    fn check(&self) {
        let Some(fewer) = self.compile(self.denials.clone()) else {
            return;
        };
        for path in &self.paths {
            for verb in Verb::ALL {
                judged(&fewer, path, verb);
            }
        }
        let mut denials = self.denials.clone();
        denials.push(self.further.clone());
        let Some(more) = self.compile(denials) else {
            return;
        };
        for verb in Verb::ALL {
            for path in &self.paths {
                let (before, after) = (fewer.judge(ROOT, path, verb), more.judge(ROOT, path, verb));
                assert!(strength(after) >= strength(before), "{verb} {path}");
            }
            for (device, inode) in (0..2).flat_map(|d| (0..4).map(move |i| (d, i))) {
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
        Judgement::Denied(_) => 1,
        Judgement::Hidden => 2,
    }
}
