//! The codec: one packet is one frame.
//!
//! ```text
//! 0    tag        u8      which endpoint and direction; another endpoint's is refused
//! 1    zero       u8      0
//! 2    code       u16 LE  which message
//! 4    id         u32 LE  the request this belongs to; 0 when it belongs to none
//! 8    body_len   u32 LE
//! 12   body       postcard of the message, exactly body_len bytes
//! ..   content    the rest of the packet; only messages that carry content may have any
//! ```

use crate::limits::{BODY_BYTES_MAX, CONTENT_BYTES_MAX, FRAME_BYTES_MAX, HEADER_BYTES};
use serde::{Deserialize, Serialize};

/// Room that most messages need, with their header, at most; in bytes.
const USUAL_BYTES: usize = 512;

/// The number a client gives a request. Unique among its unanswered ones; 0 is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId(pub u32);

impl RequestId {
    /// The id of a frame that answers nothing.
    pub const NONE: Self = Self(0);
}

/// The messages of one endpoint in one direction.
pub trait Message: Sized {
    /// First byte of every frame of this endpoint and direction; no two share one.
    const TAG: u8;
    /// Whether a body must be the only encoding of its message. Set where the sender is not
    /// trusted, so that one request has one form.
    const CANONICAL: bool;

    /// Which message this is.
    fn code(&self) -> u16;
    /// Writes the body.
    fn encode_body(&self, out: Vec<u8>) -> Result<Vec<u8>, postcard::Error>;
    /// Bytes of the body, without writing it.
    fn body_len(&self) -> Result<usize, postcard::Error>;
    /// Whether `body` is exactly what [`Self::encode_body`] would write.
    fn encodes_to(&self, body: &[u8]) -> bool;
    /// Reads the body of message `code`, and gives what is left of `body`.
    fn decode_body(code: u16, body: &[u8]) -> Result<(Self, usize), BodyError>;
    /// Whether content may follow the body.
    fn carries_content(&self) -> bool;
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyError {
    /// No message of this endpoint has this code.
    UnknownCode,
    /// The bytes are not a message of this code.
    Malformed,
}

/// One frame, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame<'a, M> {
    /// The request it belongs to.
    pub id: RequestId,
    /// What it says.
    pub message: M,
    /// The content after it.
    pub content: &'a [u8],
}

/// Why a packet is no frame of this endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Shorter than a header, or its lengths do not add up: the peer does not speak this
    /// protocol, and nothing after it can be trusted.
    #[error("not a frame")]
    NotAFrame,
    /// It belongs to another endpoint or direction.
    #[error("a frame of another endpoint (tag {0:#04x})")]
    WrongEndpoint(u8),
    /// A message this build does not know, perhaps from a newer peer.
    #[error("request {}: message {code} is not known", id.0)]
    UnknownCode {
        /// The request.
        id: RequestId,
        /// The code.
        code: u16,
    },
    /// The header is sound, the body is not.
    #[error("request {}: malformed body of message {code}", id.0)]
    Malformed {
        /// The request.
        id: RequestId,
        /// The code.
        code: u16,
    },
}

/// Why a message was not encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// Body or content is over its limit.
    #[error("{0} bytes do not fit a frame")]
    TooLarge(usize),
    /// Content on a message that carries none.
    #[error("this message carries no content")]
    NoContent,
    /// The serializer refused.
    #[error("the message cannot be encoded")]
    Serializer,
}

/// Bytes of `message` and `content_len` bytes of content as one frame, which need not fit one.
pub fn len<M: Message>(message: &M, content_len: usize) -> Result<usize, EncodeError> {
    let body = message.body_len().map_err(|_| EncodeError::Serializer)?;
    Ok((HEADER_BYTES + body).saturating_add(content_len))
}

/// Bytes of a value on the wire, without writing it.
pub fn encoded_len<T: Serialize + ?Sized>(value: &T) -> Result<usize, postcard::Error> {
    postcard::serialize_with_flavor(value, postcard::ser_flavors::Size::default())
}

/// Writes the header and body of a frame into `out` (cleared first); `content_len` bytes of
/// content must follow it in the same packet.
pub fn encode<M: Message>(
    id: RequestId,
    message: &M,
    content_len: usize,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    if content_len != 0 && !message.carries_content() {
        return Err(EncodeError::NoContent);
    }
    encode_with::<M>(id, message.code(), out, |out| message.encode_body(out))?;
    let total = out.len() + content_len;
    if total > FRAME_BYTES_MAX || content_len > CONTENT_BYTES_MAX {
        return Err(EncodeError::TooLarge(total));
    }
    Ok(())
}

/// The same of a message whose body `body` writes behind what it is given.
pub(crate) fn encode_with<M: Message>(
    id: RequestId,
    code: u16,
    out: &mut Vec<u8>,
    body: impl FnOnce(Vec<u8>) -> Result<Vec<u8>, postcard::Error>,
) -> Result<(), EncodeError> {
    out.clear();
    // Byte by byte it would be moved as often as it doubles.
    out.reserve(USUAL_BYTES);
    out.push(M::TAG);
    out.push(0);
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&id.0.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    *out = body(std::mem::take(out)).map_err(|_| EncodeError::Serializer)?;
    if out.len() > FRAME_BYTES_MAX {
        return Err(EncodeError::TooLarge(out.len()));
    }
    let body_len = out.len() - HEADER_BYTES;
    let len = u32::try_from(body_len).map_err(|_| EncodeError::TooLarge(out.len()))?;
    let place = out.get_mut(8..HEADER_BYTES);
    place
        .ok_or(EncodeError::Serializer)?
        .copy_from_slice(&len.to_le_bytes());
    Ok(())
}

/// Reads one packet. Total: any bytes give a frame or an error, and no byte is ignored.
pub fn decode<M: Message>(packet: &[u8]) -> Result<Frame<'_, M>, DecodeError> {
    let (header, rest) = packet
        .split_first_chunk::<HEADER_BYTES>()
        .ok_or(DecodeError::NotAFrame)?;
    if packet.len() > FRAME_BYTES_MAX {
        return Err(DecodeError::NotAFrame);
    }
    let [tag, zero, c0, c1, i0, i1, i2, i3, l0, l1, l2, l3] = *header;
    if tag != M::TAG {
        return Err(DecodeError::WrongEndpoint(tag));
    }
    let code = u16::from_le_bytes([c0, c1]);
    let id = RequestId(u32::from_le_bytes([i0, i1, i2, i3]));
    let body_len = usize::try_from(u32::from_le_bytes([l0, l1, l2, l3]))
        .map_err(|_| DecodeError::NotAFrame)?;
    if zero != 0 || body_len > BODY_BYTES_MAX {
        return Err(DecodeError::NotAFrame);
    }
    let (body, content) = rest
        .split_at_checked(body_len)
        .ok_or(DecodeError::NotAFrame)?;
    let malformed = DecodeError::Malformed { id, code };
    let (message, left) = M::decode_body(code, body).map_err(|error| match error {
        BodyError::UnknownCode => DecodeError::UnknownCode { id, code },
        BodyError::Malformed => malformed,
    })?;
    if left != 0 || content.len() > CONTENT_BYTES_MAX {
        return Err(malformed);
    }
    if !content.is_empty() && !message.carries_content() {
        return Err(malformed);
    }
    if M::CANONICAL && !message.encodes_to(body) {
        return Err(malformed);
    }
    Ok(Frame {
        id,
        message,
        content,
    })
}

/// Takes an encoding byte by byte and stops where it leaves the bytes it is compared with.
#[derive(Debug)]
pub(crate) struct Expected<'a>(pub(crate) &'a [u8]);

impl postcard::ser_flavors::Flavor for Expected<'_> {
    /// Whether nothing was missing at the end.
    type Output = bool;

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        let rest = self.0.strip_prefix(bytes);
        self.0 = rest.ok_or(postcard::Error::SerializeBufferFull)?;
        Ok(())
    }

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.try_extend(&[byte])
    }

    fn finalize(self) -> postcard::Result<bool> {
        Ok(self.0.is_empty())
    }
}

/// Declares the messages of one endpoint in one direction: an enum whose arms each hold one
/// struct, with a number that never changes meaning.
macro_rules! messages {
    (
        $(#[$doc:meta])*
        pub enum $name:ident: tag $tag:literal, canonical $canonical:literal, content [$($with:ident),*] {
            $($(#[$arm_doc:meta])* $code:literal = $arm:ident($body:ty),)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $($(#[$arm_doc])* $arm($body),)*
        }

        impl $crate::frame::Message for $name {
            const TAG: u8 = $tag;
            const CANONICAL: bool = $canonical;

            fn code(&self) -> u16 {
                match self { $(Self::$arm(_) => $code,)* }
            }

            fn encode_body(&self, out: Vec<u8>) -> Result<Vec<u8>, postcard::Error> {
                match self { $(Self::$arm(body) => postcard::to_extend(body, out),)* }
            }

            fn body_len(&self) -> Result<usize, postcard::Error> {
                match self { $(Self::$arm(body) => $crate::frame::encoded_len(body),)* }
            }

            fn encodes_to(&self, body: &[u8]) -> bool {
                let expected = $crate::frame::Expected(body);
                let compared = match self {
                    $(Self::$arm(message) => postcard::serialize_with_flavor(message, expected),)*
                };
                compared.unwrap_or(false)
            }

            fn decode_body(
                code: u16,
                body: &[u8],
            ) -> Result<(Self, usize), $crate::frame::BodyError> {
                match code {
                    $($code => postcard::take_from_bytes(body)
                        .map(|(message, left)| (Self::$arm(message), left.len()))
                        .map_err(|_| $crate::frame::BodyError::Malformed),)*
                    _ => Err($crate::frame::BodyError::UnknownCode),
                }
            }

            fn carries_content(&self) -> bool {
                $(if matches!(self, Self::$with(_)) { return true; })*
                false
            }
        }
    };
}
pub(crate) use messages;
