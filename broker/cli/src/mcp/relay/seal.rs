//! What this process gives to a client so as to know it again: the ids of its questions, and the
//! states of results that ask. The key is this process's alone, and the server never sees either.

use crate::changes::hex;
use crate::time::Time;
use portcullis_protocol::approval::ProposalId;
use portcullis_protocol::view::Digest;
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;
use std::collections::BTreeMap;

/// States that may be given back; of more the oldest is forgotten.
const STATES_MAX: usize = 256;
/// How long a state can be given back.
const STATE_TIME_MS: u64 = 60 * 60 * 1000;

/// What a client is asked about: a proposal, as it was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) proposal: ProposalId,
    pub(super) input: Digest,
}

/// Why a state decides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unsealed {
    #[error("the requestState was not made here, or was changed")]
    Forged,
    #[error("the requestState is of another tool or of other arguments")]
    OtherCall,
    #[error("the requestState has expired")]
    Expired,
    #[error("the requestState was used already, or is too old to be known")]
    Used,
}

/// The key, and what was made with it.
#[derive(Debug)]
pub(super) struct Seal {
    /// Every line of a client that is for this process carries it.
    token: String,
    key: [u8; blake3::KEY_LEN],
    made: u64,
    /// States that were made and not given back: until when, and what they are about.
    states: BTreeMap<u64, State>,
}

#[derive(Debug)]
struct State {
    asked: Asked,
    until: Time,
}

impl Seal {
    pub(super) fn new() -> Result<Self, Errno> {
        let mut token = [0; 16];
        let mut key = [0; blake3::KEY_LEN];
        fill(&mut token)?;
        fill(&mut key)?;
        Ok(Self {
            token: hex(&token),
            key,
            made: 0,
            states: BTreeMap::new(),
        })
    }

    /// What lines of the client are searched for.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// An id for one question. Whoever knows others cannot guess it.
    pub(super) fn question(&mut self) -> String {
        let number = self.next();
        let mac = self.mac(b"question", &number.to_le_bytes());
        format!("portcullis-{}-{}", self.token, mac.to_hex())
    }

    /// A state for the result of this call. Only this call may come back with it, once.
    pub(super) fn state(&mut self, asked: Asked, call: &[u8; 32], now: Time, void: Time) -> String {
        let number = self.next();
        let until = Time(void.0.min(now.0.saturating_add(STATE_TIME_MS)));
        while self.states.len() >= STATES_MAX {
            self.states.pop_first();
        }
        self.states.insert(number, State { asked, until });
        let number = number.to_le_bytes();
        let binding = self.mac(b"call", &[&number[..], call].concat());
        let body = [&number[..], binding.as_bytes()].concat();
        let mac = self.mac(b"state", &body);
        format!("portcullis-{}-{}-{}", self.token, hex(&body), mac.to_hex())
    }

    /// What a state that a client gave back is about. It is used up, unless it belongs to another
    /// call.
    pub(super) fn open(
        &mut self,
        state: &str,
        call: &[u8; 32],
        now: Time,
    ) -> Result<Asked, Unsealed> {
        let (number, binding) = self.read(state).ok_or(Unsealed::Forged)?;
        let expected = self.mac(b"call", &[&number.to_le_bytes()[..], call].concat());
        if expected != binding {
            return Err(Unsealed::OtherCall);
        }
        let known = self.states.remove(&number).ok_or(Unsealed::Used)?;
        if known.until.0 <= now.0 {
            return Err(Unsealed::Expired);
        }
        Ok(known.asked)
    }

    /// The number and the binding of a state that was made here.
    fn read(&self, state: &str) -> Option<(u64, [u8; 32])> {
        let rest = state.strip_prefix("portcullis-")?;
        let rest = rest.strip_prefix(self.token.as_str())?.strip_prefix('-')?;
        let (body, mac) = rest.split_once('-')?;
        let body = unhex(body)?;
        let mac = blake3::Hash::from_hex(mac).ok()?;
        // Compared in the same time wherever they differ.
        if self.mac(b"state", &body) != mac {
            return None;
        }
        let (number, binding) = body.split_first_chunk()?;
        Some((u64::from_le_bytes(*number), binding.try_into().ok()?))
    }

    const fn next(&mut self) -> u64 {
        self.made = self.made.wrapping_add(1);
        self.made
    }

    fn mac(&self, what: &[u8], bytes: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        // No kind is the beginning of another.
        hasher.update(what).update(b"\0").update(bytes);
        hasher.finalize()
    }
}

/// What tells one call from another: the tool, and the arguments in one spelling.
pub(super) fn call_digest(name: &str, arguments: &str) -> [u8; 32] {
    let length = u64::try_from(name.len()).unwrap_or(u64::MAX).to_le_bytes();
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(&length)
        .update(name.as_bytes())
        .update(arguments.as_bytes());
    *hasher.finalize().as_bytes()
}

fn fill(bytes: &mut [u8]) -> Result<(), Errno> {
    match rustix::rand::getrandom(&mut *bytes, GetRandomFlags::empty()) {
        Ok(filled) if filled == bytes.len() => Ok(()),
        Ok(_) => Err(Errno::IO),
        Err(error) => Err(error),
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: &u8| char::from(*c).to_digit(16);
    let pair = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Asked = Asked {
        proposal: ProposalId(7),
        input: Digest([1; 32]),
    };
    const FAR: Time = Time(u64::MAX);

    fn sealed() -> (Seal, [u8; 32], String) {
        let mut seal = Seal::new().unwrap();
        let call = call_digest("write_file", "{}");
        let state = seal.state(ASKED, &call, Time(1000), FAR);
        (seal, call, state)
    }

    #[test]
    fn a_state_is_good_for_its_call_once() {
        let (mut seal, call, state) = sealed();
        assert!(state.contains(seal.token()));
        let other = call_digest("write_file", "{\"a\":1}");
        assert_eq!(
            seal.open(&state, &other, Time(1001)),
            Err(Unsealed::OtherCall)
        );
        assert_eq!(seal.open(&state, &call, Time(1001)), Ok(ASKED));
        assert_eq!(seal.open(&state, &call, Time(1001)), Err(Unsealed::Used));
    }

    #[test]
    fn a_state_expires_with_its_hour_or_with_the_proposal() {
        let (mut seal, call, state) = sealed();
        let late = Time(1000 + STATE_TIME_MS);
        assert_eq!(seal.open(&state, &call, late), Err(Unsealed::Expired));
        let state = seal.state(ASKED, &call, Time(1000), Time(1010));
        assert_eq!(seal.open(&state, &call, Time(1010)), Err(Unsealed::Expired));
        let state = seal.state(ASKED, &call, Time(1000), Time(1010));
        assert_eq!(seal.open(&state, &call, Time(1009)), Ok(ASKED));
    }

    #[test]
    fn no_digit_of_a_state_can_be_another() {
        let (mut seal, call, state) = sealed();
        for at in 0..state.len() {
            let mut forged = state.clone().into_bytes();
            forged[at] = if forged[at] == b'0' { b'1' } else { b'0' };
            let forged = String::from_utf8(forged).unwrap();
            assert_eq!(
                seal.open(&forged, &call, Time(1001)),
                Err(Unsealed::Forged),
                "{at}"
            );
        }
        let (_, _, of_another) = sealed();
        let (last, _) = state.rsplit_once('-').unwrap();
        for forged in [of_another.as_str(), "", "portcullis-", last] {
            let opened = seal.open(forged, &call, Time(1001));
            assert_eq!(opened, Err(Unsealed::Forged), "{forged}");
        }
        assert_eq!(seal.open(&state, &call, Time(1001)), Ok(ASKED));
    }

    #[test]
    fn of_too_many_the_oldest_is_forgotten() {
        let (mut seal, call, first) = sealed();
        for _ in 0..STATES_MAX {
            seal.state(ASKED, &call, Time(1000), FAR);
        }
        assert_eq!(seal.states.len(), STATES_MAX);
        assert_eq!(seal.open(&first, &call, Time(1001)), Err(Unsealed::Used));
    }

    #[test]
    fn calls_differ_by_their_name_and_by_their_arguments() {
        let all = [("ab", "c"), ("a", "bc"), ("a", "{}"), ("a", "null")];
        let digests: std::collections::BTreeSet<_> =
            all.iter().map(|(n, a)| call_digest(n, a)).collect();
        assert_eq!(digests.len(), all.len());
    }
}
