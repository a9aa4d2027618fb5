//! The same as git says, on random trees.
//!
//! A case is a tree with ignore files at any depth. Some tens of them lie side by side in one
//! repository, so that git is asked once for all, and share `.git/info/exclude` and the rules of
//! the runtime. `PORTCULLIS_IGNORE_CASES` has how many there are, `PORTCULLIS_IGNORE_SEED` where
//! to begin.

use super::super::{Ignores, Rules, Said};
use super::world::{Object, Random, Tree, text, tree};
use super::{opener, present};
use portcullis_protocol::view::Kind;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use Compared::{Differs, Same};

/// Cases in one repository.
const TOGETHER: u64 = 50;

/// One repository.
#[derive(Debug, Clone)]
struct Case {
    tree: Tree,
    exclude: Option<Vec<u8>>,
    global: Vec<u8>,
}

fn case(seed: u64, together: u64) -> Case {
    let mut random = Random::new(seed);
    let mut all = Tree::new();
    for n in 0..together {
        let top = n.to_string().into_bytes();
        for (path, object) in tree(&mut random) {
            all.insert([top.as_slice(), b"/", &path].concat(), object);
        }
        all.insert(top, Object::Directory);
    }
    Case {
        tree: all,
        exclude: random.one_in(2).then(|| above(&mut random)),
        global: if random.one_in(2) {
            above(&mut random)
        } else {
            Vec::new()
        },
    }
}

/// Without lines that git before 2.52 reads in another way than later ones: there a plain beginning
/// was cut off a pattern before the rest was looked at, so that in `foo**/bar` two stars seemed to
/// begin a name.
fn without_doubtful(case: &mut Case) {
    let cut = |text: &mut Vec<u8>| {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        *text = lines
            .filter(|line| !is_doubtful(line))
            .flatten()
            .copied()
            .collect();
    };
    for object in case.tree.values_mut() {
        match object {
            Object::File(text) => cut(text),
            Object::Directory | Object::Link => {}
        }
    }
    cut(&mut case.global);
    case.exclude.iter_mut().for_each(cut);
}

fn is_doubtful(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"!").unwrap_or(line);
    let special = |byte: &u8| b"*?[\\".contains(byte);
    let plain = line.iter().position(special).unwrap_or(line.len());
    let (plain, rest) = line.split_at(plain);
    rest.starts_with(b"**") && !matches!(plain.last(), None | Some(b'/'))
}

/// Whether the git that is there is before 2.52 in this.
fn git_is_doubtful() -> bool {
    let rule = Object::File(b"foo**/bar\n".to_vec());
    let case = Case {
        tree: Tree::from([
            (b".gitignore".to_vec(), rule),
            (b"foobar".to_vec(), Object::Link),
        ]),
        exclude: None,
        global: Vec::new(),
    };
    matches!(difference(&case), Differs { .. })
}

/// Rules for all cases of a repository, some of them tied to the tops of those.
fn above(random: &mut Random) -> Vec<u8> {
    let text = text(random);
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let tied = lines.flat_map(|line| {
        let top = random.of(&[b"".as_slice(), b"", b"/*/", b"?/", b"1*/"]);
        [top, line].concat()
    });
    tied.collect()
}

fn make(case: &Case, root: &Path) {
    std::fs::create_dir_all(root.join(".git/objects")).unwrap();
    std::fs::create_dir_all(root.join(".git/refs")).unwrap();
    std::fs::create_dir_all(root.join(".git/info")).unwrap();
    std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let config = "[core]\n\trepositoryformatversion = 0\n\tignorecase = false\n";
    let global = root.join(".git/global");
    std::fs::write(&global, &case.global).unwrap();
    let config = format!("{config}\texcludesFile = {}\n", global.to_str().unwrap());
    std::fs::write(root.join(".git/config"), config).unwrap();
    if let Some(exclude) = &case.exclude {
        std::fs::write(root.join(".git/info/exclude"), exclude).unwrap();
    }
    for (path, object) in &case.tree {
        let path = root.join(OsStr::from_bytes(path));
        match object {
            Object::Directory => std::fs::create_dir(path).unwrap(),
            Object::File(content) => std::fs::write(path, content).unwrap(),
            Object::Link => std::os::unix::fs::symlink(".", path).unwrap(),
        }
    }
}

/// What git says of each path: the last rule that matches it, or the first directory on the way.
fn of_git(root: &Path, tree: &Tree) -> BTreeMap<Vec<u8>, Said> {
    let mut git = Command::new("git")
        .args(["check-ignore", "--stdin", "-z", "-v", "-n", "--no-index"])
        .current_dir(root)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", root)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("GIT_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = Vec::new();
    for path in tree.keys() {
        input.extend_from_slice(b"./");
        input.extend_from_slice(path);
        input.push(0);
    }
    let mut to = git.stdin.take().unwrap();
    let writer = std::thread::spawn(move || to.write_all(&input).unwrap());
    let output = git.wait_with_output().unwrap();
    writer.join().unwrap();
    let fields: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
    let mut all = BTreeMap::new();
    for answer in fields.chunks_exact(4) {
        let said = match (answer[0], answer[2].first()) {
            (b"", _) => Said::Nothing,
            (_, Some(b'!')) => Said::Included,
            (_, _) => Said::Ignored,
        };
        all.insert(answer[3][2..].to_vec(), said);
    }
    assert_eq!(all.len(), tree.len(), "git answered {output:?}");
    all
}

/// What a walk says of each path: a directory that is ignored has all below it.
fn of_walk(root: &Path, case: &Case) -> BTreeMap<Vec<u8>, Said> {
    let ignores = Ignores::new(&case.global);
    let mut all = BTreeMap::new();
    let mut rules: BTreeMap<&[u8], Option<Rules>> = BTreeMap::new();
    let top = ignores.enter(&ignores.top(), None, present(root), &mut opener(root));
    assert_eq!(top.1, 0);
    rules.insert(b"", Some(top.0));
    for (path, object) in &case.tree {
        let (above, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (b"".as_slice(), path.as_slice()),
        };
        let kind = match object {
            Object::Directory => Kind::Directory,
            Object::File(_) => Kind::File,
            Object::Link => Kind::Link,
        };
        let said = match &rules[above] {
            Some(above) => above.judge(name, kind),
            None => Said::Ignored,
        };
        all.insert(path.clone(), said);
        if *object == Object::Directory {
            let below = match (&rules[above], said) {
                (_, Said::Ignored) | (None, _) => None,
                (Some(above), Said::Nothing | Said::Included) => {
                    let directory = root.join(OsStr::from_bytes(path));
                    let present = present(&directory);
                    let mut open = opener(&directory);
                    let (rules, left_out) = ignores.enter(above, Some(name), present, &mut open);
                    assert_eq!(left_out, 0);
                    Some(rules)
                }
            };
            rules.insert(path, below);
        }
    }
    all
}

/// What git and a walk say of one repository.
enum Compared {
    /// The same; how often each answer was given.
    Same([u64; 3]),
    /// The first path of which something else is said.
    Differs {
        path: Vec<u8>,
        said: Said,
        wanted: Said,
    },
}

fn difference(case: &Case) -> Compared {
    // Thousands of small files: in memory where there is some.
    let shared = Path::new("/dev/shm");
    let place = match tempfile::tempdir_in(shared) {
        Ok(place) => place,
        Err(_) => tempfile::tempdir().unwrap(),
    };
    make(case, place.path());
    let wanted = of_git(place.path(), &case.tree);
    let of_walk = of_walk(place.path(), case);
    let mut counts = [0; 3];
    for (path, wanted) in wanted {
        let said = of_walk[&path];
        if said != wanted {
            return Differs { path, said, wanted };
        }
        counts[said as usize] += 1;
    }
    Same(counts)
}

/// The smallest case of those that one finds by leaving things out.
fn shrunk(mut case: Case) -> Case {
    loop {
        let differs = |smaller: &Case| matches!(difference(smaller), Differs { .. });
        let smaller = smaller(&case).into_iter().find(differs);
        match smaller {
            Some(smaller) => case = smaller,
            None => return case,
        }
    }
}

fn smaller(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let fewer_lines = |text: &[u8]| -> Vec<Vec<u8>> {
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        (0..lines.len())
            .map(|gone| {
                let kept = lines.iter().enumerate().filter(|(n, _)| *n != gone);
                kept.flat_map(|(_, line)| line.to_vec()).collect()
            })
            .collect()
    };
    for path in case.tree.keys() {
        let below = [path, b"/".as_slice()].concat();
        let mut smaller = case.clone();
        smaller
            .tree
            .retain(|other, _| other != path && !other.starts_with(&below));
        all.push(smaller);
    }
    for (path, object) in &case.tree {
        if let Object::File(text) = object {
            for text in fewer_lines(text) {
                let mut smaller = case.clone();
                smaller.tree.insert(path.clone(), Object::File(text));
                all.push(smaller);
            }
        }
    }
    for global in fewer_lines(&case.global) {
        all.push(Case {
            global,
            ..case.clone()
        });
    }
    for exclude in fewer_lines(case.exclude.as_deref().unwrap_or_default()) {
        all.push(Case {
            exclude: Some(exclude),
            ..case.clone()
        });
    }
    all.retain(|smaller| !smaller.tree.is_empty());
    all
}

fn number(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap(),
        Err(_) => usual,
    }
}

#[test]
fn rules_say_what_git_says() {
    let cases = number("PORTCULLIS_IGNORE_CASES", 10_000);
    let first = number("PORTCULLIS_IGNORE_SEED", 1);
    let mut said = [0u64; 3];
    let doubtful = git_is_doubtful();
    for seed in first..first + cases.div_ceil(TOGETHER) {
        let mut case = case(seed, TOGETHER);
        if doubtful {
            without_doubtful(&mut case);
        }
        match difference(&case) {
            Same(counts) => said.iter_mut().zip(counts).for_each(|(all, n)| *all += n),
            Differs { .. } => panic!("seed {seed}: {}", told(&shrunk(case))),
        }
    }
    // Each answer is a good part of all, or little is tried.
    let all: u64 = said.iter().sum();
    assert!(said.iter().all(|count| *count * 40 > all), "{said:?}");
}

fn told(case: &Case) -> String {
    match difference(case) {
        Same(_) => "not found again".to_owned(),
        Differs { path, said, wanted } => format!(
            "git says {wanted:?} of {}, we {said:?}, in {}",
            path.escape_ascii(),
            shown(case)
        ),
    }
}

fn shown(case: &Case) -> String {
    let mut text = String::new();
    for (path, object) in &case.tree {
        text += &format!("\n  {} ", path.escape_ascii());
        text += &match object {
            Object::Directory => "directory".to_owned(),
            Object::Link => "link".to_owned(),
            Object::File(content) => format!("file {}", content.escape_ascii()),
        };
    }
    let exclude = case.exclude.as_deref().unwrap_or_default().escape_ascii();
    format!(
        "{text}\n  exclude {exclude}\n  global {}",
        case.global.escape_ascii()
    )
}
