//! What a gate marked of an effect is of that one alone.

use crate::effects::{Session, TempDir, config, log};
use crate::runtime::Runtime;
use portcullis_protocol::control::OverCause;
use portcullis_protocol::session::Outcome;
use portcullis_warden::{Embedded, StatePlace};

pub(crate) fn what_a_gate_said_of_one_effect_says_nothing_of_the_next() {
    let root = TempDir::new("marked");
    let warden = Embedded::start(config(StatePlace::Private)).unwrap();
    for (words, outcome) in [
        (&["confirm"][..], Outcome::Uncertain),
        (&[], Outcome::Failed),
    ] {
        let mut runtime = Runtime::greeted_in(&warden, &root.0);
        let session = Session::new(&mut runtime, "puppet-mute");
        assert_eq!(session.ask("begin a"), "begun 7");
        session.tell("confirm");
        session.ask("finish a");
        assert_eq!(session.ask("begin a"), "begun 7");
        for words in words {
            session.tell(words);
        }
        session.send("die");
        assert_eq!(runtime.over().cause, OverCause::GateDied);
        let ends = log(&mut runtime, session.run);
        let ends = ends.iter().map(|receipt| receipt.end.outcome);
        let mut ends: Vec<_> = ends.collect();
        ends.sort_by_key(|end| *end != Outcome::Done);
        assert_eq!(ends, [Outcome::Done, outcome], "{words:?}");
    }
}
