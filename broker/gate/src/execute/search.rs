//! Stand-in.
use crate::bind::Bound;
use crate::outlet::{Gone, Outlet};
use crate::session::Session;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Search;
use std::sync::Arc;

pub(crate) fn check(_: &Search) -> Result<(), Refusal> {
    Ok(())
}

pub(crate) fn search(
    _: &Arc<Session>,
    _: Bound,
    _: &Search,
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    outlet.refuse(&Refusal::new(Code::OutOfRange))
}
