//! Arbitrary words of runs and receipts, and that each comes back as it was sent.

use crate::arbitrary::{comes_back, digest, few, finish, label, receipt_id, text};
use portcullis_protocol::approval::{Approval, Approver, ProposalId};
use portcullis_protocol::authority::AuthorityId;
use portcullis_protocol::control::{
    Answer, Build, Diff, DiffText, Drain, Draining, Log, LogPage, Order, Receipt, RunId, RunRecord,
    Runs, RunsPage, Sharing, Verified, Verify, Welcome, Witness,
};
use portcullis_protocol::session::{Incarnation, SessionId};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![
        option::of(any::<u64>()).prop_map(|before| Order::Runs(Runs {
            before: before.map(RunId),
        })),
        any::<(u64, u64)>().prop_map(|(run, after)| Order::Log(Log {
            run: RunId(run),
            after,
        })),
        any::<u64>().prop_map(|receipt| Order::Diff(Diff { receipt })),
        Just(Order::Verify(Verify {})),
        Just(Order::Drain(Drain {})),
    ]
}

prop_compose! {
    fn run()(
        request in text(),
        owner in text(),
        [run, began_ms, done, failed, uncertain, open] in any::<[u64; 6]>(),
        ended_ms in option::of(any::<u64>()),
        sessions in any::<u32>(),
    ) -> RunRecord {
        RunRecord {
            run: RunId(run), request, owner, began_ms, ended_ms, sessions,
            done, failed, uncertain, open,
        }
    }
}

prop_compose! {
    fn receipt()(
        id in receipt_id(),
        (session, at_ms, diff_bytes) in any::<(u64, u64, u32)>(),
        witness in select(vec![Witness::Gate, Witness::Observer, Witness::Nobody]),
        end in finish(),
        roots in few(label()),
        [request, previous, cage] in prop::array::uniform3(digest()),
        (authority, began_ms) in any::<([u8; 32], u64)>(),
        approval in option::of(approval()),
    ) -> Receipt {
        Receipt {
            id, session: SessionId(session), at_ms, witness, end, roots, diff_bytes,
            authority: AuthorityId(authority), began_ms, request, previous, cage, approval,
        }
    }
}

fn approval() -> impl Strategy<Value = Approval> {
    let approver = prop_oneof![
        Just(Approver::SameUid),
        Just(Approver::Runtime),
        Just(Approver::Decider),
        any::<u32>().prop_map(Approver::Uid),
        Just(Approver::Passphrase),
    ];
    (any::<u64>(), approver).prop_map(|(proposal, approver)| Approval {
        proposal: ProposalId(proposal),
        approver,
    })
}

fn answer() -> impl Strategy<Value = Answer> {
    let sharing = select(vec![Sharing::User, Sharing::Embedded]);
    prop_oneof![
        (any::<(u16, [u8; 16], u64)>(), sharing).prop_map(
            |((version, incarnation, build), sharing)| Answer::Welcome(Welcome {
                version,
                incarnation: Incarnation(incarnation),
                build: Build(build),
                sharing,
            })
        ),
        few(run()).prop_map(|runs| Answer::Runs(RunsPage { runs })),
        few(receipt()).prop_map(|receipts| Answer::Log(LogPage { receipts })),
        any::<u64>().prop_map(|cut| Answer::Diff(DiffText { cut })),
        (any::<[u64; 3]>(), option::of(text())).prop_map(|([sessions, receipts, open], broken)| {
            Answer::Verified(Verified {
                sessions,
                receipts,
                open,
                broken,
            })
        }),
        any::<u32>().prop_map(|connections| Answer::Draining(Draining { connections })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_said_of_records_comes_back_as_it_was_sent(
        id in any::<u32>(), content in vec(any::<u8>(), 0..64),
        order in order(), answer in answer(),
    ) {
        comes_back(id, &order, &content)?;
        comes_back(id, &answer, &content)?;
    }
}
