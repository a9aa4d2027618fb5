//! What must hold for any packet of any endpoint.

use portcullis_protocol::frame::{Frame, Message, decode, encode};
use std::fmt::Debug;

/// Decodes `packet` as it is, and once more under the tag of `M`, so that half of the effort is
/// not spent on finding the first byte.
pub fn check<M: Message + Debug + PartialEq>(packet: &[u8]) {
    check_one::<M>(packet);
    if let [_, rest @ ..] = packet {
        let mut tagged = vec![M::TAG];
        tagged.extend_from_slice(rest);
        check_one::<M>(&tagged);
    }
}

/// What decodes can be encoded again, and is then the same: byte for byte where the sender is
/// not trusted, else in meaning.
fn check_one<M: Message + Debug + PartialEq>(packet: &[u8]) {
    let frame: Frame<'_, M> = match decode(packet) {
        Ok(frame) => frame,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert_eq!(packet.first(), Some(&M::TAG));
    assert!(frame.content.is_empty() || frame.message.carries_content());
    assert!(!format!("{:?}", frame.message).is_empty());
    let mut again = Vec::new();
    let encoded = encode(frame.id, &frame.message, frame.content.len(), &mut again);
    if M::CANONICAL {
        encoded.expect("a decoded canonical frame is encodable");
        again.extend_from_slice(frame.content);
        assert_eq!(again, packet, "one message has one form");
    } else if encoded.is_ok() {
        again.extend_from_slice(frame.content);
        let twice: Frame<'_, M> = decode(&again).expect("what was encoded is decodable");
        assert_eq!(twice, frame);
    }
}
