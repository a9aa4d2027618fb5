//! What it says of its sessions.

use portcullis_protocol::authority::{AuthorityId, Budgets, Scope};
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::limits::{
    CONTENT_BYTES_MAX, FRAME_BYTES_MAX, IN_FLIGHT_MAX, SEND_DEADLINE_MS, STREAMS_MAX,
};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::session::{GrantView, Identity, Limits, RootView, SessionId, Used};
use portcullis_protocol::verb::{ModeSet, VerbSet};
use portcullis_protocol::view::RootIndex;

/// Everything may be done in its one root.
pub(super) fn identity() -> Identity {
    let bytes = |bytes: usize| u32::try_from(bytes).unwrap();
    Identity {
        session: SessionId(1),
        authority: AuthorityId([7; 32]),
        owner: Text::default(),
        conversation: Text::default(),
        parent: None,
        expires_ms: None,
        roots: Few::new(vec![RootView {
            label: Label::new("workspace").unwrap(),
            scope: Scope::Workspace,
        }])
        .unwrap(),
        grants: Few::new(vec![GrantView {
            root: RootIndex(0),
            prefix: RelPath::root(),
            verbs: VerbSet::ALL,
            modes: ModeSet::ALL,
            inputs: None,
        }])
        .unwrap(),
        asks: Few::default(),
        budgets: Budgets::UNLIMITED,
        used: Used::default(),
        denials: Few::default(),
        limits: Limits {
            frame_bytes: bytes(FRAME_BYTES_MAX),
            content_bytes: bytes(CONTENT_BYTES_MAX),
            in_flight: IN_FLIGHT_MAX,
            streams: STREAMS_MAX,
            in_flight_bytes: bytes(FRAME_BYTES_MAX),
            send_deadline_ms: SEND_DEADLINE_MS,
        },
    }
}
