//! Nothing is ambient: no configuration, no environment, no running gate, no text and no other
//! owner's root gives a session anything.

use crate::scene::{Seat, at, no_host_path, one, refused, roots, seal, seat, unread, world};
use portcullis_client::{Control, Decider, MintOrder, RestoreOrder, Session, Wishes, Words, ask};
use portcullis_client::{change, task_input};
use portcullis_protocol::authority::Scope;
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::hostile::census;
use portcullis_tests::{World, anywhere, deeds};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

/// No verb does anything: reading as well as every kind of change.
#[track_caller]
fn can_do_nothing(world: &World, session: &mut Session) {
    let before = census(world.place.path());
    let host = world.inside().join("file.txt");
    let names: [&[u8]; 4] = [
        b"file.txt",
        b".",
        b"/workspace/file.txt",
        host.as_os_str().as_bytes(),
    ];
    let nothing = |code: Code| matches!(code, Code::NoSuchRoot | Code::NotGranted);
    for name in names {
        let mut codes = vec![unread(session, name)];
        let mut refused = |error: &portcullis_client::Error| {
            no_host_path(error.refusal().unwrap_or_else(|| panic!("{error}")));
            codes.push(portcullis_tests::code(error));
        };
        refused(&session.stat(&ask::stat(at(name))).unwrap_err());
        refused(&session.list(&ask::list(at(name))).unwrap_err());
        let glob = ask::glob(at(name), "**").unwrap();
        refused(&session.glob(&glob).unwrap_err());
        let search = ask::search(at(name), "o").unwrap();
        refused(&session.search(&search).unwrap_err());
        assert!(codes.iter().copied().all(nothing), "{codes:?}");
    }
    for deed in deeds::ALL {
        let error = (deed.run)(session).unwrap_err();
        assert!(error.receipt().is_none(), "{}: {error}", deed.name);
        let code = portcullis_tests::code(&error);
        assert!(nothing(code), "{}: {error}", deed.name);
    }
    assert_eq!(census(world.place.path()), before);
}

fn with_tree() -> World {
    let world = world();
    deeds::layout(&world.inside());
    world
}

#[test]
fn a_session_without_roots_can_do_nothing_whatever_its_runtime_has() {
    let mut world = with_tree();
    // The runtime has sealed it, and a session with every right runs meanwhile.
    let mut all = world.session();
    assert!(portcullis_tests::read(&mut all.session, "file.txt").is_ok());
    let (_, mut none) = world.control.mint(&MintOrder::new("tester")).unwrap();
    assert!(roots(&mut none).is_empty());
    can_do_nothing(&world, &mut none);
}

#[test]
fn a_root_without_a_grant_and_exceptions_without_a_grant_are_none() {
    let mut world = with_tree();
    let inside = world.inside();
    let root = world.seal(&inside, "workspace");
    let bare = MintOrder::new("tester").root(root, None);
    let (_, mut session) = world.control.mint(&bare).unwrap();
    can_do_nothing(&world, &mut session);
    // What makes an approval needed, and what takes a denial away, allows nothing.
    let order = MintOrder::new("tester")
        .root(root, None)
        .ask_pattern("ask", "r", VerbSet::ALL, anywhere("*"))
        .except("builtin:git")
        .except("builtin:env");
    let (_, mut session) = world.control.mint(&order).unwrap();
    can_do_nothing(&world, &mut session);
    let identity = session.whoami().unwrap();
    assert!(identity.grants.as_slice().is_empty() && identity.asks.as_slice().is_empty());
}

#[test]
fn a_root_of_another_connection_is_none() {
    let mut world = with_tree();
    let all = world.session();
    let mut other = Control::new(world.warden.connect().unwrap()).unwrap();
    let order = MintOrder::new("tester").root(all.root, None).grant(
        all.root,
        RelPath::root(),
        VerbSet::ALL,
    );
    let error = other.mint(&order).unwrap_err();
    assert_eq!(portcullis_tests::code(&error), Code::UnknownRoot);
    let within = MintOrder::new("tester").within(all.id);
    let error = other.mint(&within).unwrap_err();
    assert_eq!(portcullis_tests::code(&error), Code::UnknownSession);
    // Nor does deciding give any.
    let socket = world.control.open_decider().unwrap();
    let mut decider = Control::new(socket).unwrap();
    for error in [
        decider.mint(&order).unwrap_err(),
        decider.continue_session(all.id, "c").unwrap_err(),
        decider
            .seal_path(&world.inside(), Label::new("w").unwrap(), Scope::Workspace)
            .unwrap_err(),
    ] {
        assert_eq!(portcullis_tests::code(&error), Code::OutOfTurn);
    }
    let mut decider = Decider::new(world.control.open_decider().unwrap()).unwrap();
    assert!(decider.proposals(0).unwrap().is_empty());
}

#[test]
fn the_environment_and_the_working_directory_of_the_broker_grant_nothing() {
    // The broker of this test has the working directory and the environment of this process.
    let mut world = with_tree();
    let here = std::env::current_dir().unwrap();
    let mut opened = world.session();
    assert!(here.is_dir(), "the control: it is there");
    for name in [
        here.as_os_str().as_bytes(),
        env!("CARGO_MANIFEST_DIR").as_bytes(),
    ] {
        assert_eq!(unread(&mut opened.session, name), Code::NoSuchRoot);
    }
    assert_eq!(unread(&mut opened.session, "Cargo.toml"), Code::NotFound);
}

#[test]
fn text_from_a_worker_never_creates_a_root() {
    let mut world = world();
    let outside = world.outside();
    let secret = outside.join("secret");
    let told = format!(
        "[[root]]\npath = {outside:?}\nlabel = \"outside\"\n\n[[grant]]\nroot = \"outside\"\n\
         verbs = [\"all\"]\n"
    );
    // What a model reads, and what it writes, is text.
    world.write("portcullis.toml", &told);
    symlink(&outside, world.inside().join("way")).unwrap();
    let mut opened = world.session();
    let session = &mut opened.session;
    let before = session.whoami().unwrap();
    assert!(portcullis_tests::read(session, "portcullis.toml").is_ok());
    let policy = one(change::write(at("policy.toml"), told.as_str()));
    session.change(&policy).unwrap();
    assert_eq!(
        unread(session, secret.as_os_str().as_bytes()),
        Code::NoSuchRoot
    );
    assert_eq!(unread(session, "/outside/secret"), Code::NoSuchRoot);
    assert_eq!(unread(session, "way/secret"), Code::Escape);
    assert_eq!(unread(session, "../outside/secret"), Code::Escape);
    let labelled = ask::selector_in(Label::new("outside").unwrap(), "secret").unwrap();
    let error = session.read_file(labelled.clone()).unwrap_err();
    assert_eq!(portcullis_tests::code(&error), Code::NoSuchRoot);
    let text = outside.as_os_str().as_bytes();
    let link = change::link(at("new-way"), text).unwrap();
    refused(session, &one(link));
    // A wish is a name below what there is.
    let wished =
        |subtree| Wishes::new(secret.to_str().unwrap()).grant(Words::verbs(VerbSet::ALL), subtree);
    for subtree in [labelled, at("/outside"), at(text)] {
        let error = session.delegate(&wished(subtree)).unwrap_err();
        assert_eq!(error.code_name(), "invalid_argument");
    }
    let mut child = session.delegate(&wished(at("way"))).unwrap();
    assert_eq!(unread(&mut child.session, "way/secret"), Code::Escape);
    assert_eq!(session.whoami().unwrap().roots, before.roots);
    assert_eq!(roots(&mut child.session), ["workspace"]);
    assert!(secret.exists(), "the control: it is there");
}

/// Two owners of one runtime, and a private root of the first.
struct Owners {
    world: World,
    mine: Seat,
    order: MintOrder,
}

fn private() -> Owners {
    let mut world = world();
    world.write("diary", "mine\n");
    let inside = world.inside();
    let root = seal(&mut world.control, &inside, Scope::Private);
    let order = |owner: &str| {
        MintOrder::new(owner)
            .conversation("c")
            .root(root, None)
            .grant(root, RelPath::root(), VerbSet::ALL)
    };
    let mut mine = seat(&mut world.control, &order("ann"), root);
    assert!(portcullis_tests::read(&mut mine.session, "diary").is_ok());
    Owners {
        world,
        mine,
        order: order("bob"),
    }
}

#[test]
fn a_private_root_is_for_its_owner_alone() {
    let Owners {
        mut world,
        mine,
        order,
    } = private();
    let error = world.control.mint(&order).unwrap_err();
    assert_eq!(portcullis_tests::code(&error), Code::BadAuthority);
    let nobody = MintOrder::new("").root(mine.root, None);
    let error = world.control.mint(&nobody).unwrap_err();
    assert_eq!(portcullis_tests::code(&error), Code::BadAuthority);
    let again = MintOrder::new("ann").root(mine.root, None);
    assert!(world.control.mint(&again).is_ok());
}

#[test]
fn another_owner_or_conversation_meets_in_nothing() {
    let Owners {
        mut world, mine, ..
    } = private();
    let inside = world.inside();
    let root = world.seal(&inside, "shared");
    let order = |owner: &str, conversation: &str| {
        MintOrder::new(owner)
            .conversation(conversation)
            .root(root, None)
            .grant(root, RelPath::root(), VerbSet::ALL)
    };
    let parent = seat(&mut world.control, &order("ann", "c"), root);
    let mut within = |owner, conversation| {
        let child = order(owner, conversation).within(parent.id);
        seat(&mut world.control, &child, root)
    };
    let mut same = within("ann", "c");
    assert!(portcullis_tests::read(&mut same.session, "diary").is_ok());
    for (owner, conversation) in [("bob", "c"), ("ann", "d"), ("", "c")] {
        let mut other = within(owner, conversation);
        assert!(roots(&mut other.session).is_empty());
        assert_eq!(unread(&mut other.session, "diary"), Code::NoSuchRoot);
    }
    drop(mine);
}

#[test]
fn what_is_kept_for_one_owner_is_not_restored_for_another() {
    let Owners {
        mut world, mine, ..
    } = private();
    let input = task_input(b"every morning");
    let task = world.control.seal_task(mine.id, input).unwrap();
    let restore = |owner: &str, conversation: &str, input| {
        RestoreOrder::new(task, input, owner, conversation).root(mine.root, None)
    };
    for order in [
        restore("bob", "c", input),
        restore("", "c", input),
        restore("ann", "d", input),
        restore("ann", "c", task_input(b"every evening")),
    ] {
        let error = world.control.restore(&order).unwrap_err();
        assert_eq!(portcullis_tests::code(&error), Code::NotRestored, "{error}");
    }
    let (_, mut session) = world.control.restore(&restore("ann", "c", input)).unwrap();
    assert!(portcullis_tests::read(&mut session, "diary").is_ok());
}
