//! The broker's own records, below a root that a worker may do everything in: unreachable by any of
//! their names, for any verb.

use crate::scene::{at, life, one, refused, seal};
use portcullis_client::{Changes, Control, Error, MintOrder, Session, ask, change};
use portcullis_protocol::authority::Scope;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Deletion, Expect, Onto, Selector};
use portcullis_protocol::verb::VerbSet;
use portcullis_warden::Embedded;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::PathBuf;

/// What is kept: the database, and what is demanded of whoever decides, which is text.
const FILES: [&str; 2] = ["state.db", "decider"];
/// What is in the second.
const CONTENT: &[u8] = b"argon2id";

/// A broker whose records are below the only root, and ways to them. Beside them stand files that
/// look alike.
struct Kept {
    _control: Control,
    session: Session,
    _warden: Embedded,
    place: tempfile::TempDir,
}

fn kept() -> Kept {
    let place = tempfile::Builder::new()
        .prefix("portcullis-test-")
        .tempdir()
        .unwrap();
    let inside = place.path().join("inside");
    fs::create_dir_all(inside.join("src")).unwrap();
    let (warden, mut control) = life(&inside.join("broker"));
    // The control of every row: the same thing, elsewhere.
    fs::create_dir(inside.join("shown")).unwrap();
    portcullis_warden::set_passphrase(&inside.join("broker"), None, b"correct horse").unwrap();
    fs::write(inside.join("spare"), "spare\n").unwrap();
    symlink("broker", inside.join("way")).unwrap();
    for file in FILES {
        let kept = inside.join("broker").join(file);
        fs::copy(&kept, inside.join("shown").join(file)).unwrap();
        symlink(format!("../broker/{file}"), inside.join("src").join(file)).unwrap();
        fs::hard_link(&kept, inside.join(format!("src/hard-{file}"))).unwrap();
    }
    let root = seal(&mut control, &inside, Scope::Workspace);
    let order =
        MintOrder::new("tester")
            .root(root, None)
            .grant(root, RelPath::root(), VerbSet::ALL);
    let (_, session) = control.mint(&order).unwrap();
    Kept {
        _control: control,
        session,
        _warden: warden,
        place,
    }
}

impl Kept {
    fn inside(&self) -> PathBuf {
        self.place.path().join("inside")
    }

    /// Names of what is kept: how, and as a worker writes it.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut all = Vec::new();
        for file in FILES {
            let host = self.inside().join("broker").join(file);
            // The control: each leads there for whoever is not held off.
            let is = fs::metadata(&host).unwrap().ino();
            let mut add = |how: &str, name: String| {
                let below = name.strip_prefix("/workspace/").unwrap_or(&name);
                let seen = fs::metadata(self.inside().join(below)).unwrap();
                assert_eq!(seen.ino(), is, "{how} {file}");
                all.push((format!("{file} {how}"), name.into_bytes()));
            };
            add("direct", format!("broker/{file}"));
            add("labelled", format!("/workspace/broker/{file}"));
            add("relative", format!("src/.././broker//{file}"));
            add("by a linked directory", format!("way/{file}"));
            add("by a link", format!("src/{file}"));
            add("by a hard link", format!("src/hard-{file}"));
            add("by its host path", host.to_str().unwrap().to_owned());
        }
        all
    }

    /// Names of the directory.
    fn directories(&self) -> Vec<(String, Vec<u8>)> {
        let host = self.inside().join("broker");
        let host = host.to_str().unwrap();
        [
            ("direct", "broker"),
            ("labelled", "/workspace/broker"),
            ("relative", "src/../broker/."),
            ("by a link", "way"),
            ("by its host path", host),
        ]
        .map(|(how, name)| (format!("directory {how}"), name.as_bytes().to_vec()))
        .into()
    }
}

#[track_caller]
fn by_own_rule(refusal: &Refusal, what: &str) {
    assert_eq!(refusal.code, Code::Denied, "{what}: {refusal}");
    let rule = refusal.rule.as_ref().unwrap();
    assert_eq!(rule.name.as_str(), "builtin:state", "{what}: {refusal}");
}

type Reading = fn(&mut Session, Selector) -> Result<u64, Error>;

/// Every way to look, and how much is seen.
const READING: [(&str, Reading); 5] = [
    ("stat", |s, at| s.stat(&ask::stat(at)).map(|_| 1)),
    ("read", |s, at| {
        s.read_file(at).map(|file| file.bytes.len() as u64)
    }),
    ("list", |s, at| {
        let stream = s.list(&ask::list(at))?;
        stream
            .collect::<Result<Vec<_>, _>>()
            .map(|all| all.len() as u64)
    }),
    ("glob", |s, at| {
        let stream = s.glob(&ask::glob(at, "**")?)?;
        stream
            .collect::<Result<Vec<_>, _>>()
            .map(|all| all.len() as u64)
    }),
    ("search", |s, at| {
        let stream = s.search(&ask::search(at, CONTENT)?)?;
        stream
            .collect::<Result<Vec<_>, _>>()
            .map(|all| all.len() as u64)
    }),
];

#[test]
fn records_are_unreachable_by_every_name_for_every_way_to_look() {
    let mut kept = kept();
    let (files, directories) = (kept.files(), kept.directories());
    let session = &mut kept.session;
    for (verb, look) in READING {
        // The control: the same verb, on what looks alike.
        let shown = match verb {
            "list" | "glob" => "shown",
            _ => "shown/decider",
        };
        assert!(look(session, at(shown)).unwrap() > 0, "{verb}");
        for (how, name) in files.iter().chain(&directories) {
            let what = format!("{verb} {how}");
            let error = match look(session, at(name)) {
                Ok(seen) => panic!("{what}: {seen} seen"),
                Err(error) => error,
            };
            by_own_rule(error.refusal().unwrap(), &what);
        }
    }
}

type Writing = fn(Selector) -> change::Item;

/// Every way to change a file.
const WRITING: [(&str, Writing); 8] = [
    ("write", |at| change::write(at, "gone\n").into()),
    ("create", |at| change::create(at, "gone\n").into()),
    ("edit", |at| change::replace(at, "argon2id", "gone").into()),
    ("chmod", |at| change::chmod(at, 0o666).into()),
    ("delete", |at| change::delete(at).into()),
    ("move from", |from| change::rename(from, at("mine")).into()),
    ("move onto", |onto| {
        let mut moved = change::rename(at("spare"), onto);
        moved.onto = Onto::Replace(Expect::Any);
        moved.into()
    }),
    ("delete tree", |at| {
        let mut delete = change::delete(at);
        delete.what = Deletion::Tree;
        delete.into()
    }),
];

/// Verbs that take a link in the last component as the link itself, which is the worker's own.
fn takes_the_link(verb: &str) -> bool {
    matches!(
        verb,
        "create" | "delete" | "move from" | "move onto" | "delete tree"
    )
}

#[test]
fn records_are_unreachable_by_every_name_for_every_way_to_change() {
    let mut kept = kept();
    let (files, directories) = (kept.files(), kept.directories());
    let database = kept.inside().join("broker/state.db");
    let identity = |path: &PathBuf| {
        let seen = fs::metadata(path).unwrap();
        (seen.ino(), seen.mode(), seen.nlink())
    };
    let before = identity(&database);
    let session = &mut kept.session;
    for (verb, item) in WRITING {
        for (how, name) in files.iter().chain(&directories) {
            if how.contains("by a link") && takes_the_link(verb) {
                continue;
            }
            let refusal = refused(session, &one(item(at(name))));
            by_own_rule(&refusal, &format!("{verb} {how}"));
        }
    }
    // What is not there yet, below what is there.
    for name in [
        "broker/new",
        "way/new",
        "broker/state.db-journal",
        "broker/decider",
    ] {
        for item in [
            change::create(at(name), "x").into(),
            change::mkdir(at(name)).into(),
            change::Item::from(change::rename(at("spare"), at(name))),
            change::link(at(name), "x").unwrap().into(),
        ] {
            by_own_rule(&refused(session, &one(item)), name);
        }
    }
    assert_eq!(identity(&database), before);
    // The control: what looks alike is changed.
    session
        .change(&one(change::write(at("shown/state.db"), "gone\n")))
        .unwrap();
    session
        .change(&one(change::rename(at("spare"), at("shown/spare"))))
        .unwrap();
}

#[test]
fn a_walk_from_above_sees_nothing_of_the_records() {
    let mut kept = kept();
    let session = &mut kept.session;
    let names = |entries: Vec<Vec<u8>>| -> Vec<String> {
        let text = |name: Vec<u8>| String::from_utf8(name).unwrap();
        entries.into_iter().map(text).collect()
    };
    let listed = names(portcullis_tests::names(session, ".", 9));
    let glob = |session: &mut Session, pattern: &str| {
        let found = session.glob(&ask::glob(at("."), pattern).unwrap()).unwrap();
        let found: Result<Vec<_>, _> = found.collect();
        let found = found.unwrap().into_iter();
        names(found.map(|entry| entry.path.as_bytes().to_vec()).collect())
    };
    let everything = glob(session, "**");
    let databases = glob(session, "**/state.db*");
    for (how, seen) in [
        ("list", &listed),
        ("glob", &everything),
        ("glob", &databases),
    ] {
        assert!(
            seen.iter().any(|name| name == "shown/state.db"),
            "{how}: {seen:?}"
        );
        let below = |name: &&String| name.starts_with("broker/") || name.starts_with("way/");
        let below: Vec<_> = seen.iter().filter(below).collect();
        assert!(below.is_empty(), "{how}: {below:?}");
    }
    for pattern in ["broker/**", "way/**", "broker/state.db"] {
        assert_eq!(glob(session, pattern), [""; 0], "{pattern}");
    }
    let search = ask::search(at("."), CONTENT).unwrap();
    let found: Result<Vec<_>, _> = session.search(&search).unwrap().collect();
    let found = format!("{:?}", found.unwrap());
    assert!(found.contains("shown/decider"), "{found}");
    for hidden in ["broker", "src/", "way"] {
        assert!(!found.contains(hidden), "{hidden}: {found}");
    }
}

#[test]
fn the_directory_around_the_records_cannot_be_taken_away() {
    let mut kept = kept();
    let session = &mut kept.session;
    let away = |name: &str| -> Vec<Changes> {
        let mut tree = change::delete(at(name));
        tree.what = Deletion::Tree;
        vec![one(tree), one(change::rename(at(name), at("elsewhere")))]
    };
    for changes in away("broker") {
        by_own_rule(&refused(session, &changes), "broker");
    }
    assert!(kept.inside().join("broker/state.db").exists());
}
