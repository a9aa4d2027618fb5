//! Who sees proposals and who decides about them. No session is anybody here.

use super::Reviewing;
use crate::decider::{Demand, PassphraseHash};
use portcullis_protocol::approval::Approver;
use portcullis_protocol::control::{Deciding, Whose};
use portcullis_protocol::refusal::{Code, Refusal};

/// One control connection of a warden, of this life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ConnectionId(pub(crate) u64);

/// What a connection is to the warden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A process of the broker's own user.
    Runtime(ConnectionId),
    /// Whoever was given the connection that this one opened for deciding.
    Decider(ConnectionId),
    /// A process of another user, who may decide.
    User(u32),
}

/// Whose proposals a connection sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sees {
    /// Those of the sessions of this connection.
    Of(ConnectionId),
    All,
}

impl Sees {
    pub(crate) fn shows(self, reviewing: &Reviewing) -> bool {
        match self {
            Self::Of(connection) => reviewing.connection == connection,
            Self::All => true,
        }
    }
}

/// Whether a connection has made sessions, and so is a runtime and no operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MadeSessions {
    Some,
    None,
}

impl Role {
    /// The most it sees.
    pub(crate) const fn sees(self, made: MadeSessions) -> Sees {
        match (self, made) {
            (Self::Runtime(me), MadeSessions::Some) => Sees::Of(me),
            (Self::Decider(opener), MadeSessions::Some | MadeSessions::None) => Sees::Of(opener),
            (Self::Runtime(_), MadeSessions::None)
            | (Self::User(_), MadeSessions::Some | MadeSessions::None) => Sees::All,
        }
    }

    /// Those it asks for, if it sees them.
    pub(crate) fn asks(self, whose: Whose, made: MadeSessions) -> Result<Sees, Refusal> {
        match (whose, self, self.sees(made)) {
            (Whose::Own, Self::Runtime(me), _) => Ok(Sees::Of(me)),
            (Whose::Own, Self::Decider(_) | Self::User(_), sees)
            | (Whose::All, _, sees @ Sees::All) => Ok(sees),
            (Whose::All, _, Sees::Of(_)) => Err(not_decider(
                "it sees what its own sessions ask for; an operator's connection, which has made none, sees all",
            )),
        }
    }
}

/// What is still needed of a peer that would decide.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing: it decides as this.
    Nothing(Approver),
    /// The passphrase; then it decides as who knows it.
    Passphrase(PassphraseHash),
}

/// Whether a connection may decide about a proposal that it sees, and what of it is needed. What the
/// broker demands is demanded of everyone of its own user, whatever the runtime says of its
/// session.
pub(crate) fn needs(role: Role, reviewing: &Reviewing, demand: &Demand) -> Result<Needs, Refusal> {
    let as_process = match (role, reviewing.deciding) {
        // Of another user, which nobody of the broker's own can be.
        (Role::User(user), Deciding::Anyone | Deciding::Decider) => {
            return Ok(Needs::Nothing(Approver::Uid(user)));
        }
        (Role::Decider(_), Deciding::Anyone | Deciding::Decider) => Approver::Decider,
        (Role::Runtime(me), Deciding::Anyone) if me == reviewing.connection => Approver::Runtime,
        (Role::Runtime(_), Deciding::Anyone) => Approver::SameUid,
        (Role::Runtime(_), Deciding::Decider) => {
            return Err(not_decider(
                "only whoever was given the connection that its runtime opened for deciding may",
            ));
        }
    };
    match demand {
        Demand::Nothing => Ok(Needs::Nothing(as_process)),
        Demand::Passphrase(hash) => Ok(Needs::Passphrase(hash.clone())),
        Demand::OtherUser => Err(not_decider(
            "only the other users who are named in this broker's configuration may",
        )),
        Demand::Damaged(why) => Err(not_decider(&format!(
            "nobody of this user may as long as the passphrase that is demanded cannot be read: {why}"
        ))),
    }
}

pub(crate) fn not_decider(note: &str) -> Refusal {
    Refusal::new(Code::NotDecider).noting(note)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: ConnectionId = ConnectionId(1);
    const OTHER: ConnectionId = ConnectionId(2);

    fn of(connection: ConnectionId, deciding: Deciding) -> Reviewing {
        Reviewing {
            connection,
            deciding,
        }
    }

    fn decides(role: Role, deciding: Deciding, demand: &Demand) -> Result<Needs, Code> {
        needs(role, &of(ME, deciding), demand).map_err(|refusal| refusal.code)
    }

    #[test]
    fn without_a_demand_the_receipt_says_who_it_was() {
        let decides = |role, deciding| decides(role, deciding, &Demand::Nothing);
        for (role, approver) in [
            (Role::Runtime(ME), Approver::Runtime),
            (Role::Runtime(OTHER), Approver::SameUid),
            (Role::Decider(ME), Approver::Decider),
            (Role::User(7), Approver::Uid(7)),
        ] {
            assert_eq!(
                decides(role, Deciding::Anyone),
                Ok(Needs::Nothing(approver)),
                "{role:?}"
            );
        }
        for (role, may) in [
            (Role::Runtime(ME), Err(Code::NotDecider)),
            (Role::Runtime(OTHER), Err(Code::NotDecider)),
            (Role::Decider(ME), Ok(Needs::Nothing(Approver::Decider))),
            (Role::User(7), Ok(Needs::Nothing(Approver::Uid(7)))),
        ] {
            assert_eq!(decides(role, Deciding::Decider), may, "{role:?}");
        }
    }

    #[test]
    fn what_the_broker_demands_is_demanded_of_all_of_its_user() {
        let hash = PassphraseHash::of(b"correct horse").unwrap();
        let own = [Role::Runtime(ME), Role::Runtime(OTHER), Role::Decider(ME)];
        for role in own {
            let demand = Demand::Passphrase(hash.clone());
            let may = decides(role, Deciding::Anyone, &demand);
            assert_eq!(may, Ok(Needs::Passphrase(hash.clone())), "{role:?}");
            for demand in [Demand::OtherUser, Demand::Damaged(String::new())] {
                let may = decides(role, Deciding::Anyone, &demand);
                assert_eq!(may, Err(Code::NotDecider), "{role:?} {demand:?}");
            }
        }
        for demand in [
            Demand::Passphrase(hash),
            Demand::OtherUser,
            Demand::Damaged(String::new()),
        ] {
            let may = decides(Role::User(7), Deciding::Decider, &demand);
            assert_eq!(may, Ok(Needs::Nothing(Approver::Uid(7))), "{demand:?}");
            // A passphrase does not make a runtime the decider of a session that has one.
            let may = decides(Role::Runtime(ME), Deciding::Decider, &demand);
            assert_eq!(may, Err(Code::NotDecider), "{demand:?}");
        }
    }

    #[test]
    fn runtimes_see_their_own_and_operators_all() {
        let (own, others) = (of(ME, Deciding::Anyone), of(OTHER, Deciding::Anyone));
        let sees = |role: Role, made| {
            let sees = role.sees(made);
            (sees.shows(&own), sees.shows(&others))
        };
        assert_eq!(sees(Role::Runtime(ME), MadeSessions::Some), (true, false));
        assert_eq!(sees(Role::Runtime(ME), MadeSessions::None), (true, true));
        assert_eq!(sees(Role::Decider(ME), MadeSessions::None), (true, false));
        assert_eq!(sees(Role::User(7), MadeSessions::None), (true, true));
        let runtime = Role::Runtime(ME);
        assert_eq!(
            runtime.asks(Whose::Own, MadeSessions::None),
            Ok(Sees::Of(ME))
        );
        let refused = runtime.asks(Whose::All, MadeSessions::Some).unwrap_err();
        assert_eq!(refused.code, Code::NotDecider);
        let refused = Role::Decider(ME).asks(Whose::All, MadeSessions::None);
        assert_eq!(refused.unwrap_err().code, Code::NotDecider);
    }
}
