//! A warden that makes room for a newer one.

use crate::effects::config;
use crate::runtime::Runtime;
use portcullis_protocol::control::{Answer, Drain, Order, Sharing};
use portcullis_warden::{Config, Embedded, StatePlace};

pub(crate) fn a_drained_warden_says_so_and_whom_it_serves() {
    let warden = Embedded::start(Config {
        sharing: Sharing::User,
        ..config(StatePlace::Private)
    });
    let warden = warden.unwrap();
    let mut runtime = Runtime::connect(&warden);
    let welcome = runtime.hello();
    assert_eq!(welcome.sharing, Sharing::User);
    assert_eq!(welcome.build, portcullis_warden::own_build());
    assert!(welcome.build.0 > 0);
    let answer = runtime.ask(Order::Drain(Drain {}));
    assert!(
        matches!(answer, Answer::Draining(d) if d.connections == 1),
        "{answer:?}"
    );
}
