//! Byte strings and texts that cannot be longer than their type says.

use crate::path::is_invisible;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// A value was longer than its type allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes, at most {max} allowed")]
pub struct TooLong {
    /// How long it was, in bytes.
    pub bytes: usize,
    /// How long it may be, in bytes.
    pub max: usize,
}

/// At most `MAX` bytes, of any value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes<const MAX: usize>(Vec<u8>);

impl<const MAX: usize> Bytes<MAX> {
    /// Takes `bytes`, or says by how much it is too long.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, TooLong> {
        let bytes = bytes.into();
        if bytes.len() > MAX {
            return Err(TooLong {
                bytes: bytes.len(),
                max: MAX,
            });
        }
        Ok(Self(bytes))
    }

    /// Takes as much of `bytes` as fits.
    pub fn cut(bytes: &[u8]) -> Self {
        Self(bytes.get(..MAX).unwrap_or(bytes).to_vec())
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, moved out.
    pub fn into_vec(self) -> Vec<u8> {
        self.0
    }
}

impl<const MAX: usize> fmt::Debug for Bytes<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

impl<const MAX: usize> Serialize for Bytes<MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Bytes<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_bytes(BytesVisitor)
            .and_then(|b| Self::new(b).map_err(D::Error::custom))
    }
}

/// Visits a byte string without a copy per byte.
pub(crate) struct BytesVisitor;

impl<'de> Visitor<'de> for BytesVisitor {
    type Value = &'de [u8];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a byte string")
    }

    fn visit_borrowed_bytes<E: serde::de::Error>(self, bytes: &'de [u8]) -> Result<&'de [u8], E> {
        Ok(bytes)
    }
}

/// At most `MAX` bytes of UTF-8 without control or invisible characters, so that it can be shown
/// to a person.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Text<const MAX: usize>(String);

/// Why a text was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Too long.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// It holds a control or invisible character, which could forge a line or colour of a terminal
    /// or turn words around.
    #[error("holds a control or invisible character")]
    Control,
}

impl<const MAX: usize> Text<MAX> {
    /// Takes `text`, or says why not.
    pub fn new(text: impl Into<String>) -> Result<Self, TextError> {
        let text = text.into();
        if text.len() > MAX {
            return Err(TooLong {
                bytes: text.len(),
                max: MAX,
            }
            .into());
        }
        if text.chars().any(|c| c.is_control() || is_invisible(c)) {
            return Err(TextError::Control);
        }
        Ok(Self(text))
    }

    /// As much of `text` as fits, with a space for every character that is not taken.
    pub fn plain(text: &str) -> Self {
        let mut plain = String::with_capacity(text.len().min(MAX));
        let shown = text.chars().map(|c| {
            if c.is_control() || is_invisible(c) {
                ' '
            } else {
                c
            }
        });
        for c in shown {
            if plain.len() + c.len_utf8() > MAX {
                break;
            }
            plain.push(c);
        }
        Self(plain)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> fmt::Debug for Text<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<const MAX: usize> fmt::Display for Text<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const MAX: usize> TryFrom<String> for Text<MAX> {
    type Error = TextError;
    fn try_from(text: String) -> Result<Self, TextError> {
        Self::new(text)
    }
}

impl<const MAX: usize> From<Text<MAX>> for String {
    fn from(text: Text<MAX>) -> Self {
        text.0
    }
}

/// At most `MAX` items.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Few<T, const MAX: usize>(Vec<T>);

impl<T, const MAX: usize> Few<T, MAX> {
    /// Takes `items`, or says by how many they are too many.
    pub fn new(items: Vec<T>) -> Result<Self, TooMany> {
        if items.len() > MAX {
            return Err(TooMany {
                items: items.len(),
                max: MAX,
            });
        }
        Ok(Self(items))
    }

    /// The items.
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// The items, moved out.
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<T, const MAX: usize> Default for Few<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// A list was longer than its type allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{items} items, at most {max} allowed")]
pub struct TooMany {
    /// How many there were.
    pub items: usize,
    /// How many there may be.
    pub max: usize,
}

impl<T: Serialize, const MAX: usize> Serialize for Few<T, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Few<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FewVisitor(PhantomData))
    }
}

/// Visits a list and stops at the first item too many, so that memory is bounded by `MAX` items
/// and not by what fits a frame. A length that lies costs room for `MAX` items at most, once: the
/// body ends in that list.
struct FewVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for FewVisitor<T, MAX> {
    type Value = Few<T, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {MAX} items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Few<T, MAX>, A::Error> {
        let mut items = Vec::with_capacity(list.size_hint().unwrap_or(0).min(MAX));
        while let Some(item) = list.next_element()? {
            if items.len() == MAX {
                return Err(A::Error::invalid_length(MAX + 1, &self));
            }
            items.push(item);
        }
        Ok(Few(items))
    }
}

impl<T, const MAX: usize> TryFrom<Vec<T>> for Few<T, MAX> {
    type Error = TooMany;
    fn try_from(items: Vec<T>) -> Result<Self, TooMany> {
        Self::new(items)
    }
}

impl<T, const MAX: usize> From<Few<T, MAX>> for Vec<T> {
    fn from(few: Few<T, MAX>) -> Self {
        few.0
    }
}
