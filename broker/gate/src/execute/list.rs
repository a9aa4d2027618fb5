//! list: names below a directory.

use super::entries::{Ask, Choose};
use crate::bind::Bound;
use crate::outlet::{Gone, Outlet};
use crate::session::Session;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Refusal;
use portcullis_protocol::session::List;
use portcullis_protocol::verb::Verb;
use std::sync::Arc;

/// Whether the bounds of a listing are within those of the protocol.
pub(crate) fn check(list: &List) -> Result<(), Refusal> {
    ask(list).check(&RelPath::root()).map(drop)
}

fn ask(list: &List) -> Ask<'_> {
    Ask {
        verb: Verb::List,
        depth: list.depth,
        detail: list.detail,
        passing: &list.passing,
        kinds: &list.kinds,
        order: list.order,
        limit: list.limit,
        cursor: list.cursor.as_ref(),
    }
}

/// Answers a listing.
#[expect(clippy::needless_pass_by_value, reason = "a bound operation runs once")]
pub(crate) fn list(
    session: &Arc<Session>,
    bound: Bound,
    list: &List,
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    ask(list).answer(session, &bound, Choose::All, outlet)
}
