//! One request, from what the worker wrote to what it is answered:
//!
//! ```text
//! decode → admit → resolve → bind → execute → encode                              what shows
//! Request  Admitted Pinned   Bound  Reply     Outlet
//!
//! decode → admit → resolve → plan → [begin] → confirm → execute → [finish] → encode   what changes
//! Request  Admitted Place    Plan   Begun     Confirmed Ended     Receipt    Outlet
//! ```
//!
//! Each stage consumes the last one's value, and only that stage can make its own. Before `begin`
//! every failure is a refusal: nothing happened. From `begin` on every answer is a receipt.

use crate::admit::admit;
use crate::asked::Unaskable;
use crate::asking::{self, alone};
use crate::bind::{Bound, bind};
use crate::confirm::{Confirmed, Unconfirmed, confirm};
use crate::execute::{self, Answered, Ended};
use crate::ledger::{Begun, Broken, Ledger};
use crate::meter::Cost;
use crate::outlet::{Gone, Outlet};
use crate::plan::{Matches, Order, Plan, plan};
use crate::refused::{Refused, Shown};
use crate::resolve::{Known, Missing, find, resolve};
use crate::session::Session;
use crate::standing::Tries;
use crate::suggest::suggest;
use crate::told::{told, told_difference};
use crate::uploads::{Uploads, taken_by};
use portcullis_protocol::authority::Operation;
use portcullis_protocol::ledger::{Finish, ReceiptId};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Changed, Deed, Links, List, Outcome, Planned, Read, Reply, Request, Selector, Upload, Uploaded,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::Digest;
use std::sync::Arc;

/// Answers one decoded request. Hello, ping and cancel belong to the conversation and are
/// answered by [`crate::serve`].
pub(crate) fn answer(
    session: &Arc<Session>,
    request: &Request,
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    let of = |verb| Operation {
        input: session.input(request, &[]),
        ..Operation::of(verb)
    };
    let outcome = match request {
        Request::Whoami(_) => execute::whoami(session).map(Some),
        Request::Stat(ask) => reach(session, of(Verb::Stat), &ask.selector, ask.links)
            .map(|bound| Some(Reply::Stat(bound.binding()))),
        Request::Why(ask) => {
            let reached = follow(session, Operation::of(ask.verb), &ask.selector);
            Ok(Some(execute::why(session, ask.verb, reached)))
        }
        Request::Read(ask) => {
            let operation = of(Verb::Read);
            // One file alone is bound before, so that these are several.
            let reach = |selector: &Selector| {
                follow(session, operation, selector)
                    .map_err(|refusal| alone(session, refusal, Unaskable::Files))
            };
            return execute::read(session, ask, reach, outlet);
        }
        Request::List(ask) => match follow(session, of(Verb::List), &ask.selector) {
            Ok(bound) => return execute::list(session, bound, ask, outlet),
            Err(refusal) => Err(refusal),
        },
        Request::Glob(ask) => match follow(session, of(Verb::Glob), &ask.selector) {
            Ok(bound) => return execute::glob(session, bound, ask, outlet),
            Err(refusal) => Err(refusal),
        },
        Request::Search(ask) => match follow(session, of(Verb::Search), &ask.selector) {
            Ok(bound) => return execute::search(session, bound, ask, outlet),
            Err(refusal) => Err(refusal),
        },
        Request::Hello(_)
        | Request::Ping(_)
        | Request::Cancel(_)
        // Answered by `change` and `upload`, one at a time.
        | Request::Change(_)
        | Request::Upload(_)
        | Request::DropUpload(_)
        | Request::Compose(_)
        | Request::ChangeComposed(_)
        | Request::Delegate(_)
        | Request::Acknowledge(_)
        | Request::EndDelegated(_) => Ok(None),
    };
    match outcome {
        Ok(Some(reply)) => outlet.send(&reply, &[]),
        Ok(None) => Ok(()),
        Err(refusal) => stopped(session, request, refusal, outlet),
    }
}

/// Ends a request that shows something with what stands in its way, or with what came of asking.
fn stopped(
    session: &Session,
    request: &Request,
    refusal: Refusal,
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    asking::refused(session, (request, &[]), refusal.into(), outlet).map(drop)
}

/// Times an effect starts anew when the tree moved between its plan and its locks. Each time it
/// was begun has a receipt of its own.
const TRIES_MAX: u32 = 64;

/// Times a plan is made anew when the tree moved while it was made. Nothing was begun by then.
const PLANS_MAX: u32 = 4;

/// A plan, made again where something moved under it: what is there now decides, so that a name
/// somebody else just took away is not there, and not contended.
pub(crate) fn steady(
    session: &Session,
    uploads: &Uploads,
    order: Order<'_>,
) -> Result<Plan, Refused> {
    let mut tries = 1;
    loop {
        match plan(session, uploads, order) {
            Err(refused) if refused.code() == Code::Contended && tries < PLANS_MAX => tries += 1,
            ended => return ended,
        }
    }
}

/// Whether an effect was begun, so that uploads it takes cannot be taken again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Used {
    No,
    Yes,
}

/// Answers a change set.
pub(crate) fn change(
    session: &Session,
    ledger: &Ledger,
    uploads: &Uploads,
    order: Order<'_>,
    outlet: &mut Outlet,
) -> Result<Used, Gone> {
    let unused = |()| Used::No;
    let mut tries = 0;
    loop {
        let plan = match steady(session, uploads, order) {
            Ok(plan) => plan,
            Err(refused) => return unplanned(session, order, refused, outlet),
        };
        match order.set.deed {
            Deed::DryRun => return dry_run(session, &plan, outlet).map(unused),
            Deed::Commit => {}
        }
        let (begun, cost) = match begin(ledger, &plan) {
            Ok(begun) => begun,
            Err(refusal) => return outlet.refuse(&refusal).map(unused),
        };
        let again = || match session.standing.tries() {
            Tries::Many => steady(session, uploads, order),
            // What is there now is not what was approved.
            Tries::One => Err(Refusal::new(Code::Contended).into()),
        };
        let (ended, spent) = match confirmed(session, ledger, &begun, plan, again) {
            // What had a name for a moment cannot be given another: an upload is not tried twice.
            Ok(confirmed) => {
                ledger.confirmed(&begun).map_err(|Broken| Gone)?;
                (
                    execute::apply(session, ledger, &begun, confirmed),
                    taken_by(order.set).next().is_some(),
                )
            }
            Err(ended) => (*ended, false),
        };
        tries += 1;
        let many = session.standing.tries() == Tries::Many;
        let moved = ended.is_contended() && !spent && many;
        let Ended {
            finish,
            diff,
            matches,
            shown,
        } = ended;
        let receipt = ledger
            .finish(begun, &finish, diff.bytes())
            .map_err(|Broken| Gone)?;
        match finish.outcome {
            Outcome::Done | Outcome::Uncertain => session.meter.count(cost),
            Outcome::Failed => {}
        }
        if !(moved && tries < TRIES_MAX) {
            let behind = (shown.as_deref(), diff.bytes());
            let (changed, behind) = changed(session, (receipt, finish), matches, behind);
            return outlet.changed(&changed, behind).map(|()| Used::Yes);
        }
    }
}

/// Begins what is planned, and says what it costs.
fn begin(ledger: &Ledger, plan: &Plan) -> Result<(Begun, Cost), Refusal> {
    let intent = plan.intent()?;
    let cost = Cost::of(&intent);
    ledger.begin(plan.tree, intent).map(|begun| (begun, cost))
}

/// Ends a change set that cannot be planned, or only with an approval.
fn unplanned(
    session: &Session,
    order: Order<'_>,
    refused: Refused,
    outlet: &mut Outlet,
) -> Result<Used, Gone> {
    let request = Request::Change(order.set.clone());
    let asked = asking::refused(session, (&request, order.content), refused, outlet)?;
    Ok(match asked {
        asking::Ended::Answered => Used::Yes,
        asking::Ended::Refused => Used::No,
    })
}

/// Confirms a plan under its locks. Where the tree moved but the request still holds, a new plan
/// with the same locks takes its place, and its intent that of the old one.
fn confirmed(
    session: &Session,
    ledger: &Ledger,
    begun: &Begun,
    plan: Plan,
    again: impl Fn() -> Result<Plan, Refused>,
) -> Result<Confirmed, Box<Ended>> {
    // What an end that is not made tells of: the names, and that they are as they were.
    let announced = plan.outline();
    let unmade = |refusal: Refusal| {
        let refused = Refused::from(refusal);
        Box::new(Ended::unmade(session, &announced, refused))
    };
    match confirm(session, begun, plan) {
        Ok(confirmed) => return Ok(confirmed),
        Err(Unconfirmed::Refused(refusal)) => return Err(unmade(refusal)),
        Err(Unconfirmed::Moved) => {}
    }
    let plan = again().map_err(|refused| Box::new(Ended::unmade(session, &announced, refused)))?;
    let contended = || Refusal::new(Code::Contended).of(plan.verb());
    if !plan.has_locks_of(&announced) {
        return Err(unmade(contended()));
    }
    let intent = plan.intent().map_err(unmade)?;
    ledger.amend(begun, intent).map_err(unmade)?;
    let contended = contended();
    match confirm(session, begun, plan) {
        Ok(confirmed) => Ok(confirmed),
        Err(Unconfirmed::Refused(refusal)) => Err(unmade(refusal)),
        // Somebody outside the broker keeps changing it.
        Err(Unconfirmed::Moved) => Err(unmade(contended)),
    }
}

/// What is told of an effect that ended, and what goes behind it: what the object in the way has
/// become, or else the difference.
fn changed<'b>(
    session: &Session,
    (receipt, finish): (ReceiptId, Finish),
    matches: Matches,
    (shown, diff): (Option<&'b Shown>, &'b [u8]),
) -> (Changed, &'b [u8]) {
    let (matched, matched_cut) = matches.into_parts();
    let (behind, left_out) = match shown {
        Some(shown) => (shown.bytes.as_slice(), 0),
        None => told_difference(session, diff),
    };
    let changed = Changed {
        receipt,
        outcome: finish.outcome,
        guarantee: finish.guarantee,
        touched: told(session, finish.touched),
        refusal: finish.refusal,
        left: finish.left,
        matched,
        matched_cut,
        diff_cut: finish.diff_cut.saturating_add(left_out),
        region: shown.map(|shown| shown.region),
    };
    (changed, behind)
}

fn dry_run(session: &Session, plan: &Plan, outlet: &mut Outlet) -> Result<(), Gone> {
    match plan.planned() {
        Ok(planned) => {
            let (diff, left_out) = told_difference(session, plan.diff.bytes());
            let planned = Planned {
                touched: told(session, planned.touched),
                diff_cut: planned.diff_cut.saturating_add(left_out),
                ..planned
            };
            outlet.planned(&planned, diff)
        }
        Err(refusal) => outlet.refuse(&refusal),
    }
}

/// Keeps a part of an upload. `part` came behind it.
pub(crate) fn upload(
    session: &Session,
    uploads: &mut Uploads,
    ask: &Upload,
    part: &[u8],
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    let refuse = |code| {
        Refusal::new(code)
            .of(Verb::Write)
            .on(ask.selector.path.as_slice())
    };
    if ask.offset == 0 {
        // Of an operation that is still to come: no exact one is meant.
        let write = Operation::of(Verb::Write);
        let begun = admit(session, write, &ask.selector, Links::Follow)
            .and_then(|admitted| find(session, &Known::default(), admitted, Missing::Parents))
            .and_then(|place| {
                uploads
                    .start(ask.upload, &place.directory)
                    .map_err(|why| refuse(why.code()))
            });
        if let Err(refusal) = begun {
            return outlet.refuse(&alone(session, refusal, Unaskable::Uploads));
        }
    }
    match uploads.add(ask.upload, ask.offset, part) {
        Ok(bytes) => outlet.send(
            &Reply::Uploaded(Uploaded {
                upload: ask.upload,
                bytes,
            }),
            &[],
        ),
        Err(why) => outlet.refuse(&refuse(why.code())),
    }
}

/// Answers a read of one file at once if the part asked for is short; else gives back the bound
/// file, for [`execute::read_bound`] on a stream.
pub(crate) fn answer_short(
    session: &Session,
    (ask, input): (&Read, Option<Digest>),
    selector: &Selector,
    outlet: &mut Outlet,
) -> Result<Option<Bound>, Gone> {
    let operation = Operation {
        input,
        ..Operation::of(Verb::Read)
    };
    match follow(session, operation, selector) {
        Ok(bound) if execute::is_short(&bound, ask) => {
            execute::read_bound(session, ask, bound, outlet).map(|()| None)
        }
        Ok(bound) => Ok(Some(bound)),
        Err(refusal) => {
            let request = Request::Read(ask.clone());
            stopped(session, &request, refusal, outlet).map(|()| None)
        }
    }
}

/// What came of a listing that was to be answered at once.
pub(crate) enum Listed {
    Answered,
    /// The directory has many names; it is bound, for [`execute::list`] on a stream.
    Many(Bound),
    /// It is refused, which may take an approval, and so as long as what is approved.
    Refused,
}

/// Answers a listing of one directory if it has few names. Else nothing of it was told.
pub(crate) fn list_short(
    session: &Arc<Session>,
    (ask, input): (&List, Option<Digest>),
    outlet: &mut Outlet,
) -> Result<Listed, Gone> {
    let operation = Operation {
        input,
        ..Operation::of(Verb::List)
    };
    let Ok(bound) = follow(session, operation, &ask.selector) else {
        return Ok(Listed::Refused);
    };
    Ok(match execute::list_short(session, &bound, ask, outlet)? {
        Answered::Yes => Listed::Answered,
        Answered::Long => Listed::Many(bound),
    })
}

/// The same as [`reach`], through a link in the last component.
fn follow(session: &Session, operation: Operation, selector: &Selector) -> Result<Bound, Refusal> {
    reach(session, operation, selector, Links::Follow)
}

/// From a selector to an object bound to one operation.
fn reach(
    session: &Session,
    operation: Operation,
    selector: &Selector,
    links: Links,
) -> Result<Bound, Refusal> {
    let admitted = admit(session, operation, selector, links)?;
    resolve(session, admitted)
        .and_then(|pinned| bind(session, pinned, selector.path.as_slice()))
        .map_err(|refusal| suggest(session, selector, refusal))
}
