//! A whole warden with real processes. This executable is also the gate: started with a ledger
//! as descriptor 0, it plays the part that the session's request names.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "it is a test without the test harness, which clippy does not see"
)]

mod asking;
mod draining;
mod effects;
mod ignores;
mod lives;
mod marks;
mod part;
mod proposed;
mod puppet;
mod runtime;
mod tasks;
mod users;

use asking::{
    a_gate_that_dies_at_it_is_settled_and_ends_its_session,
    a_passphrase_is_demanded_of_everyone_of_the_same_user,
    a_stopped_warden_leaves_nothing_that_could_be_used,
    an_ended_session_waits_for_what_was_approved_and_leaves_nothing,
    gates_that_ask_falsely_are_ended, what_failed_may_be_done_again_and_no_more,
    what_has_changed_since_is_refused_and_never_spent,
    what_is_approved_is_done_once_by_a_gate_of_its_own,
    what_is_refused_or_beyond_asking_is_not_done, what_only_shows_is_claimed_before_it_is_shown,
    who_sees_and_decides_is_a_matter_of_the_connection,
};
use draining::a_drained_warden_says_so_and_whom_it_serves;
use effects::{
    a_closed_connection_leaves_no_effect_open, a_gate_gets_the_lock_of_all_gates_and_its_mark_last,
    a_gate_that_dies_while_it_waits_leaves_its_place,
    a_gate_that_holds_locks_too_long_is_ended_and_settled,
    a_successor_settles_what_a_dead_warden_began, an_effect_is_begun_ended_and_told,
    an_effect_whose_gate_died_is_settled_by_what_is_there,
    an_ended_session_may_finish_what_it_began_within_a_bound,
    locks_of_a_dead_gate_are_kept_until_it_is_settled,
    one_name_is_for_one_at_a_time_and_notes_pass_a_wait,
    the_word_of_a_gate_that_died_after_its_end_holds,
    what_is_not_granted_is_not_begun_and_lies_end_the_gate,
};
use ignores::every_gate_of_a_session_has_the_rules_of_its_order;
use lives::{
    a_child_that_is_being_made_ends_with_its_parent, a_gate_is_told_of_the_sessions_around_its_own,
    a_gate_that_asks_twice_at_once_is_ended, a_worker_gets_a_session_within_its_own_and_ends_it,
    budgets_bound_effects_and_are_shared_with_delegated_sessions,
    depth_and_number_of_sessions_within_one_another_are_limited,
    its_effects_go_on_while_a_session_is_delegated, only_ones_own_children_are_ended,
    sessions_end_with_the_one_around_them_however_it_ends,
    sessions_within_one_another_are_gone_when_the_outermost_has_ended,
};
use marks::what_a_gate_said_of_one_effect_says_nothing_of_the_next;
use part::Part;
use portcullis_protocol::control::{Answer, Order, OverCause, Refusals, Sessions};
use portcullis_protocol::ledger::NOTES_MAX;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Incarnation;
use portcullis_protocol::{VERSION, control, limits};
use portcullis_warden::{Config, Embedded, ExecutableError, GateExecutable, StartError};
use runtime::{Runtime, is_alive, start};
use std::time::{Duration, Instant};
use tasks::{
    a_later_warden_restores_what_was_kept_on_the_same_directory_and_no_other,
    a_session_goes_on_in_another_conversation_with_half_of_what_is_left,
    only_who_runs_a_session_keeps_it_and_a_delegated_one_keeps_no_more_than_it_has,
    what_is_restored_within_a_session_ends_with_it,
    what_was_kept_is_for_its_input_owner_and_conversation,
};
use users::a_listed_user_decides_and_does_nothing_else;

fn main() {
    if let Some(part) = Part::if_started_as_gate() {
        part.play();
        return;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, state, root, request] = arguments.as_slice()
        && role == "doomed-warden"
    {
        return effects::play_doomed_warden(state, root, request);
    }
    if let [role, socket] = arguments.as_slice()
        && role == "other-user"
    {
        return users::play_other_user(socket);
    }
    // As the test harness does: words choose tests.
    let chosen = |name: &str| {
        let mut words = arguments
            .iter()
            .filter(|word| !word.starts_with('-'))
            .peekable();
        words.peek().is_none() || words.any(|word| name.contains(word.as_str()))
    };
    for (name, test) in TESTS.iter().filter(|(name, _)| chosen(name)) {
        test();
        println!("test {name} ... ok");
    }
}

macro_rules! tests {
    ($($name:ident)*) => { &[$((stringify!($name), $name as fn())),*] };
}

const TESTS: &[(&str, fn())] = tests! {
    a_session_is_minted_served_and_told
    a_gate_gets_three_descriptors_no_environment_and_the_root_directory
    a_cage_that_is_not_whole_mints_nothing_and_leaves_no_process
    an_ended_session_has_no_process_when_the_answer_comes
    what_a_gate_must_not_say_kills_it
    what_was_refused_is_on_record_when_its_gate_is_dead
    large_notes_are_cut_and_counted
    a_gate_that_lingers_after_its_last_word_is_killed
    closing_control_kills_its_sessions
    dropping_the_warden_kills_every_gate
    ids_of_another_connection_are_unknown
    hello_is_first_once_and_of_this_version
    what_is_no_frame_closes_and_what_is_no_message_does_not
    a_runtime_that_does_not_read_is_closed_and_others_are_served
    a_replaced_executable_is_not_picked_up
    an_executable_is_also_taken_as_a_descriptor
    executables_that_are_unfit_are_refused_at_start
    too_few_descriptors_are_refused_at_start
    an_effect_is_begun_ended_and_told
    a_gate_gets_the_lock_of_all_gates_and_its_mark_last
    one_name_is_for_one_at_a_time_and_notes_pass_a_wait
    a_gate_that_dies_while_it_waits_leaves_its_place
    what_is_not_granted_is_not_begun_and_lies_end_the_gate
    an_effect_whose_gate_died_is_settled_by_what_is_there
    what_a_gate_said_of_one_effect_says_nothing_of_the_next
    locks_of_a_dead_gate_are_kept_until_it_is_settled
    the_word_of_a_gate_that_died_after_its_end_holds
    a_gate_that_holds_locks_too_long_is_ended_and_settled
    an_ended_session_may_finish_what_it_began_within_a_bound
    a_closed_connection_leaves_no_effect_open
    a_successor_settles_what_a_dead_warden_began
    a_drained_warden_says_so_and_whom_it_serves
    what_is_approved_is_done_once_by_a_gate_of_its_own
    what_only_shows_is_claimed_before_it_is_shown
    what_is_refused_or_beyond_asking_is_not_done
    what_has_changed_since_is_refused_and_never_spent
    what_failed_may_be_done_again_and_no_more
    a_gate_that_dies_at_it_is_settled_and_ends_its_session
    an_ended_session_waits_for_what_was_approved_and_leaves_nothing
    gates_that_ask_falsely_are_ended
    who_sees_and_decides_is_a_matter_of_the_connection
    a_passphrase_is_demanded_of_everyone_of_the_same_user
    a_stopped_warden_leaves_nothing_that_could_be_used
    sessions_within_one_another_are_gone_when_the_outermost_has_ended
    sessions_end_with_the_one_around_them_however_it_ends
    a_worker_gets_a_session_within_its_own_and_ends_it
    only_ones_own_children_are_ended
    a_gate_is_told_of_the_sessions_around_its_own
    its_effects_go_on_while_a_session_is_delegated
    a_gate_that_asks_twice_at_once_is_ended
    a_child_that_is_being_made_ends_with_its_parent
    depth_and_number_of_sessions_within_one_another_are_limited
    budgets_bound_effects_and_are_shared_with_delegated_sessions
    what_was_kept_is_for_its_input_owner_and_conversation
    a_later_warden_restores_what_was_kept_on_the_same_directory_and_no_other
    only_who_runs_a_session_keeps_it_and_a_delegated_one_keeps_no_more_than_it_has
    what_is_restored_within_a_session_ends_with_it
    a_session_goes_on_in_another_conversation_with_half_of_what_is_left
    every_gate_of_a_session_has_the_rules_of_its_order
    a_listed_user_decides_and_does_nothing_else
};

fn a_session_is_minted_served_and_told() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let (minted, worker) = runtime.mint("whole").unwrap();
    assert!(minted.cage.is_whole());
    let status = runtime.status();
    assert_eq!((status.roots, status.running), (1, 1));
    assert!(is_alive(status.sessions.as_slice()[0].gate));
    drop(worker);
    let over = runtime.over();
    assert_eq!(
        (over.session, over.cause),
        (minted.session, OverCause::WorkerLeft)
    );
    assert_eq!(over.tally.unwrap().requests, 7);
    assert_eq!(runtime.status().running, 0);
}

fn a_gate_gets_three_descriptors_no_environment_and_the_root_directory() {
    let warden = start();
    let refusal = Runtime::greeted(&warden).mint("look").unwrap_err();
    assert_eq!(refusal.code, Code::NotConfined);
    // What this process was itself started with and would hand on is not the warden's.
    let mut descriptors = vec![0, 1, 2];
    descriptors.extend(runtime::inheritable().into_iter().filter(|n| *n > 2));
    assert_eq!(
        refusal.note.unwrap().as_str(),
        format!("descriptors {descriptors:?}, variables 0, arguments 1, in /")
    );
}

fn a_cage_that_is_not_whole_mints_nothing_and_leaves_no_process() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    for (request, said) in [
        ("holey", "seccomp mode 0,"),
        ("other-user", "the gate runs as"),
        ("fault", "no cage today"),
        ("exit", "ended before it was caged"),
        ("early", "served before its cage"),
        ("silent", "not caged within"),
    ] {
        let refusal = runtime.mint(request).unwrap_err();
        assert_eq!(refusal.code, Code::NotConfined, "{request}");
        let note = refusal.note.unwrap_or_default();
        assert!(note.as_str().contains(said), "{request}: {note}");
        runtime::no_children_soon();
    }
    assert_eq!(runtime.status().running, 0);
}

fn an_ended_session_has_no_process_when_the_answer_comes() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let (minted, worker) = runtime.mint("whole").unwrap();
    runtime::wait_until_served(&worker);
    let gate = runtime.status().sessions.as_slice()[0].gate;
    let answer = runtime.end(minted.session);
    assert!(matches!(answer, Answer::Ended(_)), "{answer:?}");
    assert!(!is_alive(gate), "the gate is reaped");
    let over = runtime.over();
    assert_eq!(over.cause, OverCause::Revoked);
    assert_eq!(
        over.refusals.as_slice().len(),
        1,
        "what it had said is kept"
    );
    assert!(
        runtime::is_closed(&worker),
        "no copy of the session socket is left"
    );
    let answer = runtime.end(minted.session);
    assert!(matches!(answer, Answer::Refused(r) if r.code == Code::UnknownSession));
}

fn what_a_gate_must_not_say_kills_it() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    for (request, said) in [
        ("garbage", "no ledger event"),
        ("chatty", "too many notes"),
        ("twice", "ready twice"),
        ("dies", "ended by signal 6"),
    ] {
        let (minted, _worker) = runtime.mint(request).unwrap();
        let over = runtime.over();
        assert_eq!(
            (over.session, over.cause),
            (minted.session, OverCause::GateDied)
        );
        assert!(over.refusals.as_slice().len() <= NOTES_MAX);
        let note = over.note.unwrap();
        assert!(note.as_str().contains(said), "{request}: {note}");
        runtime::no_children_soon();
    }
}

/// The log of refusals has what a gate said before it was ended, and the lookups are answered.
fn what_was_refused_is_on_record_when_its_gate_is_dead() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let (minted, _worker) = runtime.mint("chatty").unwrap();
    assert_eq!(runtime.over().cause, OverCause::GateDied);
    let run = minted.run;
    let (mut after, mut told) = (0, 0);
    loop {
        let Answer::Refusals(page) = runtime.ask(Order::Refusals(Refusals { run, after })) else {
            panic!("no refusals");
        };
        assert_eq!(page.left_out, 1, "the one that was too many");
        let Some(last) = page.refusals.as_slice().last() else {
            break;
        };
        after = last.number;
        told += page.refusals.as_slice().len();
        let notes = page.refusals.as_slice().iter();
        assert!(
            notes
                .clone()
                .all(|refusal| refusal.session == minted.session)
        );
    }
    assert_eq!(told, NOTES_MAX);
    let Answer::Sessions(page) = runtime.ask(Order::Sessions(Sessions { run, after: 0 })) else {
        panic!("no sessions");
    };
    let [session] = page.sessions.as_slice() else {
        panic!("{page:?}");
    };
    assert_eq!(
        (session.session, session.authority, session.receipts),
        (minted.session, minted.authority, 0)
    );
    let cage = postcard::to_extend(&minted.cage, Vec::new()).unwrap();
    assert_eq!(session.cage.0, *blake3::hash(&cage).as_bytes());
    assert_eq!(session.first, session.head);
}

fn large_notes_are_cut_and_counted() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let _minted = runtime.mint("large-notes").unwrap();
    let over = runtime.over();
    assert_eq!(over.cause, OverCause::WorkerMisbehaved);
    let told = over.refusals.as_slice().len();
    assert!(told > 0 && told < NOTES_MAX);
    let left_out = format!("{} refusals are not told", NOTES_MAX - told);
    assert!(over.note.unwrap().as_str().contains(&left_out));
}

fn a_gate_that_lingers_after_its_last_word_is_killed() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let (minted, _worker) = runtime.mint("lingers").unwrap();
    let over = runtime.over();
    assert_eq!(
        (over.session, over.cause),
        (minted.session, OverCause::WorkerLeft)
    );
    runtime::no_children_soon();
}

fn closing_control_kills_its_sessions() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let mut other = Runtime::greeted(&warden);
    let _minted = runtime.mint("whole").unwrap();
    let _kept = other.mint("whole").unwrap();
    let gate = runtime.status().sessions.as_slice()[0].gate;
    drop(runtime);
    let end = Instant::now() + Duration::from_secs(5);
    while is_alive(gate) {
        assert!(
            Instant::now() < end,
            "the gate of a closed connection still runs"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(is_alive(other.status().sessions.as_slice()[0].gate));
}

fn dropping_the_warden_kills_every_gate() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let _one = runtime.mint("whole").unwrap();
    let _two = runtime.mint("whole").unwrap();
    assert_eq!(runtime::children().len(), 2);
    drop(warden);
    assert_eq!(runtime::children(), Vec::<u32>::new());
}

fn ids_of_another_connection_are_unknown() {
    let warden = start();
    let mut one = Runtime::greeted(&warden);
    let mut two = Runtime::greeted(&warden);
    let (minted, _worker) = one.mint("whole").unwrap();
    let answer = two.end(minted.session);
    assert!(matches!(answer, Answer::Refused(r) if r.code == Code::UnknownSession));
    let answer = two.unseal(one.root);
    assert!(matches!(answer, Answer::Refused(r) if r.code == Code::UnknownRoot));
    two.root = one.root;
    assert_eq!(two.mint("whole").unwrap_err().code, Code::UnknownRoot);
    assert!(matches!(one.unseal(one.root), Answer::Ended(_)));
    assert_eq!(one.status().running, 1, "a running session keeps its root");
}

fn hello_is_first_once_and_of_this_version() {
    let warden = start();
    let hello = |version, incarnation| control::Hello {
        version,
        incarnation,
        client: Default::default(),
    };
    let mut runtime = Runtime::connect(&warden);
    let early = runtime.ask(Order::Status(control::Status {}));
    assert!(matches!(early, Answer::Refused(r) if r.code == Code::OutOfTurn));
    let welcome = runtime.ask(Order::Hello(hello(VERSION, None)));
    assert!(matches!(welcome, Answer::Welcome(_)));
    let again = runtime.ask(Order::Hello(hello(VERSION, None)));
    assert!(matches!(again, Answer::Refused(r) if r.code == Code::OutOfTurn));
    for wrong in [
        hello(VERSION + 1, None),
        hello(VERSION, Some(Incarnation([7; 16]))),
    ] {
        let mut runtime = Runtime::connect(&warden);
        let answer = runtime.ask(Order::Hello(wrong));
        assert!(matches!(answer, Answer::Refused(r) if r.code == Code::VersionMismatch));
        assert!(runtime.is_closed());
    }
}

fn what_is_no_frame_closes_and_what_is_no_message_does_not() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let unknown = [0x43, 0, 99, 0, 5, 0, 0, 0, 0, 0, 0, 0];
    let answer = runtime.send_raw(&unknown, 5);
    assert!(matches!(answer, Answer::Refused(r) if r.code == Code::UnsupportedVerb));
    let malformed = [0x43, 0, 3, 0, 6, 0, 0, 0, 0, 0, 0, 0];
    let answer = runtime.send_raw(&malformed, 6);
    assert!(matches!(answer, Answer::Refused(r) if r.code == Code::Malformed));
    assert_eq!(runtime.status().running, 0);
    runtime.write(&[0x51, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    assert!(runtime.is_closed(), "a worker's frame on a control socket");
}

fn a_runtime_that_does_not_read_is_closed_and_others_are_served() {
    let warden = start();
    let mut lazy = Runtime::greeted(&warden);
    let _minted = lazy.mint("whole").unwrap();
    let gate = lazy.status().sessions.as_slice()[0].gate;
    lazy.ask_until_full();
    let mut other = Runtime::greeted(&warden);
    let deadline = Duration::from_millis(u64::from(limits::SEND_DEADLINE_MS));
    let end = Instant::now() + deadline + Duration::from_secs(5);
    while is_alive(gate) {
        assert!(Instant::now() < end, "a runtime that does not read is kept");
        assert_eq!(other.status().running, 0);
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn a_replaced_executable_is_not_picked_up() {
    let dir = std::env::temp_dir().join(format!("warden-gate-{}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    let gate = dir.join("gate");
    std::fs::copy(std::env::current_exe().unwrap(), &gate).unwrap();
    let warden = runtime::start_with(gate.clone());
    std::fs::remove_file(&gate).unwrap();
    std::fs::copy("/bin/true", &gate).unwrap();
    let minted = Runtime::greeted(&warden).mint("whole");
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(minted.is_ok(), "{minted:?}");
}

fn an_executable_is_also_taken_as_a_descriptor() {
    let open = |path: &std::path::Path| std::fs::File::open(path).unwrap().into();
    let start = |file| {
        Embedded::start(Config {
            gate: GateExecutable::Open(file),
            mint_deadline: Duration::from_secs(1),
            ..Config::default()
        })
    };
    let warden = start(open(&std::env::current_exe().unwrap())).unwrap();
    let minted = Runtime::greeted(&warden).mint("whole");
    assert!(minted.is_ok(), "{minted:?}");
    assert!(
        start(open("/etc/passwd".as_ref())).is_err(),
        "not an executable"
    );
}

fn too_few_descriptors_are_refused_at_start() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let before = getrlimit(Resource::Nofile);
    let few = Rlimit {
        current: Some(512),
        maximum: before.maximum,
    };
    setrlimit(Resource::Nofile, few).unwrap();
    let started = Embedded::start(Config {
        gate: GateExecutable::At(std::env::current_exe().unwrap()),
        ..Config::default()
    });
    setrlimit(Resource::Nofile, before).unwrap();
    assert!(matches!(started, Err(StartError::Descriptors { has: 512 })));
}

fn executables_that_are_unfit_are_refused_at_start() {
    for path in ["/etc/passwd", "/tmp", "/dev/null"] {
        let config = Config {
            gate: GateExecutable::At(path.into()),
            ..Config::default()
        };
        let refused = Embedded::start(config).unwrap_err();
        assert!(
            matches!(
                refused,
                StartError::Executable(ExecutableError::Unfit { .. })
            ),
            "{path}: {refused:?}"
        );
    }
}
