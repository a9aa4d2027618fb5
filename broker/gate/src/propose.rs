//! A proposing gate: works out one operation that is asked for, says what it is bound to, and holds
//! all of it while somebody decides. Its cage lets it change nothing.

use crate::asked::{AskedFor, read, shows};
use crate::cage::Caged;
use crate::execute;
use crate::ledger::{Ledger, fitting};
use crate::pipeline::steady;
use crate::plan::{Order, Plan};
use crate::session::Session;
use crate::showing::{Showing, showing};
use crate::uploads::Uploads;
use portcullis_protocol::approval::{Bound, Lost};
use portcullis_protocol::ledger::{Asked, Event, Intent};
use portcullis_protocol::refusal::{Code, Refusal, Rule};
use portcullis_protocol::session::Request;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::PathState;
use portcullis_transport::TransportError;

/// What was worked out. As long as it is there every object of it is open, so that its numbers are
/// given to no other.
#[derive(Debug)]
enum Held {
    Change(Box<Plan>),
    Show(
        #[expect(
            dead_code,
            reason = "it holds its object open, and that is all it is for"
        )]
        Box<Showing>,
    ),
}

impl Held {
    fn diff(&self) -> (&[u8], u64) {
        match self {
            Self::Change(plan) => (plan.diff.bytes(), plan.diff.cut()),
            Self::Show(_) => (&[], 0),
        }
    }
}

/// Works out an operation and holds it until the warden lets go. Demands the proof of the cage.
pub(crate) fn propose(
    _caged: &Caged,
    session: &Session,
    ledger: &Ledger,
    (asked, content): (&Asked, &[u8]),
) -> Result<(), TransportError> {
    match work_out(session, asked, content) {
        Ok((held, bound)) => {
            let (diff, cut) = held.diff();
            let event = |more: u64| {
                Event::Bound(Bound {
                    diff_cut: cut.saturating_add(more),
                    ..bound.clone()
                })
            };
            let (event, fits) = fitting(event, diff);
            ledger.tell_with(&event, fits)?;
            ledger.wait_for_end();
            drop(held);
            Ok(())
        }
        Err(refusal) => ledger.tell(&Event::Unbound(refusal)),
    }
}

fn work_out(session: &Session, asked: &Asked, content: &[u8]) -> Result<(Held, Bound), Refusal> {
    match read(asked, content)? {
        AskedFor::Change(set) => {
            let set = &set;
            let order = Order {
                set,
                content,
                input: Some(asked.input),
            };
            let plan =
                steady(session, &Uploads::default(), order).map_err(|refused| refused.refusal)?;
            let intent = plan.intent()?;
            let lost = plan.lost(session)?;
            let first = set.changes.as_slice().first().map(|change| change.verb());
            let bound = bound(session, first, intent, lost);
            Ok((Held::Change(Box::new(plan)), bound))
        }
        AskedFor::Show(request) => {
            // What was read back shows something.
            check(&request)?;
            let shows = shows(&request, asked).ok_or_else(|| Refusal::new(Code::Malformed))?;
            let showing = showing(session, shows)?;
            let intent = showing.intent(asked.input);
            let bound = bound(session, Some(shows.operation.verb), intent, Lost::default());
            Ok((Held::Show(Box::new(showing)), bound))
        }
    }
}

/// Whether what only shows is asked for within bounds: nobody shall be asked, and no approval be
/// spent, for what is refused whatever is there.
fn check(request: &Request) -> Result<(), Refusal> {
    match request {
        Request::List(ask) => execute::check_list(ask),
        Request::Glob(ask) => execute::check_glob(ask),
        Request::Search(ask) => execute::check_search(ask),
        Request::Stat(_)
        | Request::Read(_)
        | Request::Hello(_)
        | Request::Whoami(_)
        | Request::Why(_)
        | Request::Cancel(_)
        | Request::Ping(_)
        | Request::Change(_)
        | Request::Upload(_)
        | Request::DropUpload(_)
        | Request::Compose(_)
        | Request::ChangeComposed(_)
        | Request::Delegate(_)
        | Request::Acknowledge(_)
        | Request::EndDelegated(_) => Ok(()),
    }
}

/// What a decision is about.
fn bound(session: &Session, asked: Option<Verb>, intent: Intent, lost: Lost) -> Bound {
    let steps = || intent.steps.as_slice().iter().map(|step| &step.touched);
    // A set may come to something else than its first change says.
    let verb = asked
        .filter(|verb| steps().any(|touched| touched.verb == *verb))
        .or_else(|| steps().next().map(|touched| touched.verb));
    Bound {
        verb: verb.unwrap_or(Verb::Stat),
        rule: asked_by(session, &intent),
        intent,
        lost,
        diff_cut: 0,
    }
}

/// The rule that makes an approval needed, where one does and not an ask of the authority.
fn asked_by(session: &Session, intent: &Intent) -> Option<Rule> {
    let policy = &session.policy;
    intent.steps.as_slice().iter().find_map(|step| {
        let touched = &step.touched;
        let by_name = policy.asked_by(touched.root, &touched.path, touched.verb);
        let by_object = || match touched.before {
            PathState::Present(present) => {
                let stamp = present.stamp?;
                policy.object_asked_by((stamp.device, stamp.inode), touched.verb)
            }
            PathState::Absent | PathState::Unknown => None,
        };
        by_name.or_else(by_object).cloned()
    })
}
