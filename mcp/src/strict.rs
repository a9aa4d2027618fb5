//! JSON read strictly: a text with the same key twice in one object means one thing to one reader
//! and another to the next, so it means nothing here.

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt;

/// Whether a text is one JSON document without a key that comes twice in one object. Depth is
/// bounded by the parser (128), numbers are finite by the grammar and its check.
pub(crate) fn check(text: &[u8]) -> Result<(), serde_json::Error> {
    serde_json::from_slice::<Checked>(text).map(|Checked| ())
}

/// Any JSON, kept nowhere.
struct Checked;

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look)
    }
}

struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Checked;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_str<E>(self, _: &str) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_unit<E>(self) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Checked, A::Error> {
        while let Some(Checked) = list.next_element()? {}
        Ok(Checked)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Checked, A::Error> {
        let mut keys: HashSet<String> = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(A::Error::custom(format_args!(
                    "the key {key:?} comes twice"
                )));
            }
            keys.insert(key);
            map.next_value::<Checked>()?;
        }
        Ok(Checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_may_come_once_in_an_object_however_it_is_written() {
        for good in [
            r#"{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}"#,
            r#"[]"#,
            r#""x""#,
            r#" {"a":null} "#,
        ] {
            assert!(check(good.as_bytes()).is_ok(), "{good}");
        }
        for bad in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"x":[{"y":{"b":1,"b":2}}]}"#,
        ] {
            let error = check(bad.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("comes twice"), "{bad}: {error}");
        }
        for broken in [
            "",
            "{",
            "{} {}",
            "1e999",
            "NaN",
            "{\"a\":\"\u{1}\"}",
            "\u{feff}{}",
        ] {
            assert!(check(broken.as_bytes()).is_err(), "{broken:?}");
        }
        assert!(check(b"{\"a\":\"\xff\"}").is_err());
        assert!(check("[".repeat(100_000).as_bytes()).is_err());
    }
}
