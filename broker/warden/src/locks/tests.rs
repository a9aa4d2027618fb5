//! Who has its turn when.

use super::*;
use proptest::prelude::*;
use std::time::Duration;

fn keys(of: &[(Key, TreeLock)]) -> Keys {
    let mut keys = Keys::default();
    for (key, mode) in of {
        keys.add(key.clone(), *mode);
    }
    keys
}

fn name(n: u8) -> Key {
    Key::Name(1, 1, Bytes::new(vec![n]).unwrap())
}

const SHARED: TreeLock = TreeLock::Shared;
const ALONE: TreeLock = TreeLock::Exclusive;

fn is_empty(locks: &Locks) -> bool {
    let table = locks.table();
    table.queues.is_empty() && table.requests.is_empty()
}

fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
}

#[test]
fn names_exclude_each_other_and_trees_that_are_shared_do_not() {
    let locks = Locks::default();
    let one = locks
        .queue(keys(&[(Key::Tree(1), SHARED), (name(1), ALONE)]))
        .now();
    let other = locks
        .queue(keys(&[(Key::Tree(1), SHARED), (name(2), ALONE)]))
        .now();
    assert!(one.is_some() && other.is_some());
    let mut same = locks.queue(keys(&[(Key::Tree(1), SHARED), (name(1), ALONE)]));
    assert!(same.now().is_none());
    drop(one);
    assert!(same.now().is_some());
    drop((same, other));
    assert!(is_empty(&locks));
}

#[test]
fn equal_keys_of_one_request_are_one_and_exclusive_wins() {
    let locks = Locks::default();
    for order in [[SHARED, ALONE], [ALONE, SHARED]] {
        let both = keys(&[(Key::Tree(1), order[0]), (Key::Tree(1), order[1])]);
        let held = locks.queue(both).now();
        assert!(held.is_some(), "a request never waits for itself");
        assert!(locks.queue(keys(&[(Key::Tree(1), SHARED)])).now().is_none());
    }
}

#[test]
fn one_that_wants_a_tree_alone_has_its_turn_behind_a_stream_of_those_who_share() {
    let locks = Locks::default();
    let share = || locks.queue(keys(&[(Key::Tree(1), SHARED)]));
    let mut stream: VecDeque<Held> = (0..8).map(|_| share().now().unwrap()).collect();
    let mut alone = locks.queue(keys(&[(Key::Tree(1), ALONE)]));
    let mut later: Vec<Waiting> = Vec::new();
    while let Some(oldest) = stream.pop_front() {
        assert!(alone.now().is_none());
        let mut newcomer = share();
        assert!(newcomer.now().is_none(), "a newcomer overtook");
        later.push(newcomer);
        drop(oldest);
    }
    let held = alone.now().expect("it is its turn");
    assert!(later.iter_mut().all(|waiting| waiting.now().is_none()));
    drop(held);
    assert!(later.iter_mut().all(|waiting| waiting.now().is_some()));
}

#[test]
fn a_deadline_gives_up_the_place_in_every_queue() {
    let locks = Locks::default();
    let held = locks.queue(keys(&[(name(1), ALONE)])).now();
    paused().block_on(async {
        let mut late = locks.queue(keys(&[(name(1), ALONE), (name(2), ALONE)]));
        let mut behind = locks.queue(keys(&[(name(2), ALONE)]));
        assert!(behind.now().is_none());
        let refused = late.until(Instant::now() + Duration::from_millis(5)).await;
        assert_eq!(refused.unwrap_err().code, Code::Contended);
        assert!(behind.now().is_some(), "who is behind goes on");
    });
    drop(held);
    assert!(is_empty(&locks));
}

#[test]
fn a_wait_that_is_given_up_keeps_its_place_until_it_is_dropped() {
    let locks = Locks::default();
    let held = locks.queue(keys(&[(name(1), ALONE)])).now();
    paused().block_on(async {
        let mut first = locks.queue(keys(&[(name(1), ALONE)]));
        let mut second = locks.queue(keys(&[(name(1), ALONE)]));
        let soon = Duration::from_millis(2);
        let far = Instant::now() + Duration::from_secs(60);
        assert!(tokio::time::timeout(soon, first.until(far)).await.is_err());
        drop(held);
        assert!(second.now().is_none());
        drop(first.until(far).await.unwrap());
        assert!(second.now().is_some());
    });
    assert!(is_empty(&locks));
}

fn request() -> impl Strategy<Value = Vec<(Key, TreeLock)>> {
    let tree = (0..2u64, any::<bool>())
        .prop_map(|(n, alone)| (Key::Tree(n), if alone { ALONE } else { SHARED }));
    let name = (0..6u8).prop_map(|n| (name(n), ALONE));
    prop::collection::vec(prop_oneof![1 => tree, 3 => name], 1..5)
}

/// Whether two sets of keys may be held at once.
fn compatible(a: &Keys, b: &Keys) -> bool {
    a.0.iter()
        .all(|(key, mode)| b.0.get(key).is_none_or(|o| (*mode, *o) == (SHARED, SHARED)))
}

proptest! {
    /// Any requests, released in any order: all have their turn, never two at once that disturb
    /// each other, and none before an earlier one that it disturbs.
    #[test]
    fn all_have_their_turn_in_order(
        wanted in prop::collection::vec(request(), 1..24),
        releases in prop::collection::vec(any::<prop::sample::Index>(), 24),
    ) {
        let locks = Locks::default();
        let sets: Vec<Keys> = wanted.iter().map(|w| keys(w)).collect();
        let mut waiting: Vec<(usize, Waiting)> =
            sets.iter().map(|k| locks.queue(k.clone())).enumerate().collect();
        let mut held: Vec<(usize, Held)> = Vec::new();
        let mut releases = releases.iter().cycle();
        while !waiting.is_empty() || !held.is_empty() {
            waiting.retain_mut(|(n, place)| match place.now() {
                Some(got) => { held.push((*n, got)); false }
                None => true,
            });
            prop_assert!(!held.is_empty(), "all wait for each other: {waiting:?}");
            for (n, (a, _)) in held.iter().enumerate() {
                for (b, _) in &held[n + 1..] {
                    prop_assert!(compatible(&sets[*a], &sets[*b]));
                }
                for (early, _) in waiting.iter().filter(|(early, _)| early < a) {
                    prop_assert!(compatible(&sets[*a], &sets[*early]), "it overtook");
                }
            }
            // Whoever can have its turn has it.
            for (late, _) in &waiting {
                let before = held.iter().map(|(n, _)| n).chain(waiting.iter().map(|(n, _)| n));
                let blocked = before.filter(|n| *n < late).any(|n| !compatible(&sets[*n], &sets[*late]));
                prop_assert!(blocked, "it waits for nobody");
            }
            let n = releases.next().unwrap().index(held.len());
            drop(held.swap_remove(n));
        }
        prop_assert!(is_empty(&locks));
    }
}
