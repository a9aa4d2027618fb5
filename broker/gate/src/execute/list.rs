//! list: names below a directory.

use super::entries::{Answered, Ask, Choose};
use super::walk::Length;
use crate::bind::Bound;
use crate::outlet::{Gone, Outlet};
use crate::session::Session;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Refusal;
use portcullis_protocol::session::{Detail, List, Order};
use portcullis_protocol::verb::Verb;
use std::sync::Arc;

/// Whether the bounds of a listing are within those of the protocol.
pub(crate) fn check(list: &List) -> Result<(), Refusal> {
    ask(list, Length::Any).check(&RelPath::root()).map(drop)
}

fn ask(list: &List, length: Length) -> Ask<'_> {
    Ask {
        verb: Verb::List,
        depth: list.depth,
        detail: list.detail,
        passing: &list.passing,
        kinds: &list.kinds,
        order: list.order,
        limit: list.limit,
        cursor: list.cursor.as_ref(),
        length,
    }
}

/// Whether a listing is one of names in one directory, of which nothing but the names takes time.
pub(crate) fn is_of_names(list: &List) -> bool {
    list.depth == 1 && (list.detail, list.order) == (Detail::Names, Order::Name)
}

/// Answers a listing where the directory has few names.
pub(crate) fn list_short(
    session: &Arc<Session>,
    bound: &Bound,
    list: &List,
    outlet: &mut Outlet,
) -> Result<Answered, Gone> {
    ask(list, Length::Short).answer(session, bound, Choose::All, outlet)
}

/// Answers a listing.
#[expect(clippy::needless_pass_by_value, reason = "a bound operation runs once")]
pub(crate) fn list(
    session: &Arc<Session>,
    bound: Bound,
    list: &List,
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    ask(list, Length::Any)
        .answer(session, &bound, Choose::All, outlet)
        .map(drop)
}
