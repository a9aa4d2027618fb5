//! Pages that join to the whole answer.

use crate::measure::{list, search};
use portcullis_client::protocol::limits::SORTED_ENTRIES_MAX;
use portcullis_client::protocol::refusal::Code;
use portcullis_client::protocol::session::{
    Completeness, CutReason, Detail, Entry, Found, Order, SearchMode,
};
use portcullis_client::{Paged, Session};
use portcullis_tests::{World, code, own};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

fn world() -> World {
    World::new(own!("own-gate"))
}

/// Files whose times are in another order than their names, some of them equal.
fn timed(world: &World) {
    for n in 0..300_u64 {
        let path = format!("d{}/f{n:03}", n % 7);
        world.write(&path, "x");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + n * 37 % 101);
        let file = std::fs::File::options()
            .write(true)
            .open(world.inside().join(path));
        file.unwrap().set_modified(time).unwrap();
    }
}

fn all<R: Paged<Item = Entry>>(session: &mut Session, ask: &R) -> Vec<Entry> {
    let mut pages = session.pages(ask).unwrap();
    let entries = pages.by_ref().map(Result::unwrap).collect();
    assert_eq!(pages.finish().unwrap().completeness, Completeness::Complete);
    entries
}

#[test]
fn pages_in_each_order_join_to_the_whole() {
    let mut world = world();
    timed(&world);
    let mut opened = world.session();
    let session = &mut opened.session;
    for order in [Order::Name, Order::Newest, Order::Oldest] {
        let mut ask = list(".");
        (ask.order, ask.detail, ask.limit) = (order, Detail::Full, SORTED_ENTRIES_MAX);
        let whole = all(session, &ask);
        assert_eq!(whole.len(), 307);
        let time = |entry: &Entry| {
            let modified = entry.detail.as_ref().unwrap().modified;
            i128::from(modified.seconds) * 1_000_000_000 + i128::from(modified.nanos)
        };
        let key = |entry: &Entry| (time(entry), entry.path.as_bytes().to_vec());
        assert!(match order {
            Order::Name => whole.is_sorted_by_key(|entry| entry.path.as_bytes().to_vec()),
            Order::Newest => {
                whole.is_sorted_by(|a, b| (-time(a), key(a).1) < (-time(b), key(b).1))
            }
            Order::Oldest => whole.is_sorted_by(|a, b| key(a) < key(b)),
        });
        for limit in [1, 2, 7, 100, 306, 307, 308] {
            ask.limit = limit;
            assert!(all(session, &ask) == whole, "{order:?} by {limit}");
        }
    }
}

/// What a search told, file by file. Of a file that two pages tell of the last one counts: a page
/// begins behind the last file that was told whole.
fn found(session: &mut Session, ask: &portcullis_client::protocol::session::Search) -> Told {
    let mut pages = session.pages(ask).unwrap();
    let mut told = Told::new();
    let mut last = Vec::new();
    for found in pages.by_ref().map(Result::unwrap) {
        match found {
            Found::File { path } => {
                last = path.as_bytes().to_vec();
                told.insert(last.clone(), Vec::new());
            }
            other @ Found::Line(_) => told.get_mut(&last).unwrap().push(other),
            Found::Count { path, lines } => {
                let count = Found::Count {
                    path: path.clone(),
                    lines,
                };
                told.insert(path.as_bytes().to_vec(), vec![count]);
            }
        }
    }
    assert_eq!(pages.finish().unwrap().completeness, Completeness::Complete);
    told
}

type Told = BTreeMap<Vec<u8>, Vec<Found>>;

#[test]
fn pages_of_a_search_join_to_the_whole() {
    let mut world = world();
    for n in 0..200_usize {
        world.write(
            format!("d{}/f{n:03}", n % 9),
            "fox\nx\n".repeat(n % 5) + "end\n",
        );
    }
    let mut opened = world.session();
    let session = &mut opened.session;
    for mode in [
        SearchMode::Content {
            before: 1,
            after: 1,
        },
        SearchMode::Content {
            before: 0,
            after: 0,
        },
        SearchMode::Files,
        SearchMode::FilesWithout,
        SearchMode::Count,
    ] {
        let mut ask = search(".", "fox", mode);
        let whole = found(session, &ask);
        assert_eq!(
            whole.len(),
            if mode == SearchMode::FilesWithout {
                40
            } else {
                160
            }
        );
        // At least as many as one file has.
        for limit in [4, 5, 11, 39, 160, 399, 400] {
            ask.limit = limit;
            assert!(found(session, &ask) == whole, "{mode:?} by {limit}");
        }
    }
}

#[test]
fn a_page_that_tells_no_file_whole_says_that_it_cannot_go_on() {
    let mut world = world();
    world.write("a", "fox\n".repeat(10));
    let mut opened = world.session();
    let mut ask = search(
        ".",
        "fox",
        SearchMode::Content {
            before: 0,
            after: 0,
        },
    );
    ask.limit = 4;
    let stream = opened.session.search(&ask).unwrap();
    let done = stream.finish_after_all();
    assert_eq!(
        done.completeness,
        Completeness::Cut {
            reason: CutReason::Limit,
            cursor: None
        }
    );
    assert_eq!(done.statistics.sent, 4);
}

#[test]
fn a_cursor_of_another_request_is_refused() {
    let mut world = world();
    timed(&world);
    let mut opened = world.session();
    let session = &mut opened.session;
    let mut ask = list("d1");
    ask.limit = 3;
    let stream = session.list(&ask).unwrap();
    let Completeness::Cut { cursor, .. } = stream.finish_after_all().completeness else {
        panic!("complete")
    };
    assert!(cursor.is_some());
    let mut elsewhere = list("d2");
    elsewhere.cursor.clone_from(&cursor);
    assert_eq!(
        code(&session.list(&elsewhere).unwrap_err()),
        Code::BadCursor
    );
    let mut by_time = list("d1");
    (by_time.order, by_time.limit, by_time.cursor) = (Order::Newest, 100, cursor);
    assert_eq!(code(&session.list(&by_time).unwrap_err()), Code::BadCursor);
}

/// How a stream ends that is read to its end.
trait ToTheEnd {
    fn finish_after_all(self) -> portcullis_client::protocol::session::Done;
}

impl<T: portcullis_client::StreamItem> ToTheEnd for portcullis_client::Stream<'_, T> {
    fn finish_after_all(mut self) -> portcullis_client::protocol::session::Done {
        self.by_ref().for_each(|item| drop(item.unwrap()));
        self.finish().unwrap()
    }
}
