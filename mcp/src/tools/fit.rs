//! Arguments that are right in other words than a reader expects: `null` where an argument may be
//! missing, `3.0` for a whole number. What is wrong is said with the name of its argument.

use rmcp::model::JsonObject;
use serde_json::{Map, Value};

/// Whole numbers that a float holds exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The arguments as their schema wants them; none where they are that already.
pub(super) fn fitted(schema: &JsonObject, arguments: &Value) -> Result<Option<Value>, String> {
    let Value::Object(fields) = arguments else {
        return Ok(None);
    };
    let fitted = Value::Object(object(schema, fields, "")?);
    Ok((fitted != *arguments).then_some(fitted))
}

fn object(
    schema: &Map<String, Value>,
    fields: &Map<String, Value>,
    above: &str,
) -> Result<Map<String, Value>, String> {
    let mut fitted = Map::new();
    for (name, value) in fields {
        let place = format!("{above}{name}");
        // What is not known here is for the reader to refuse.
        let property = schema
            .get("properties")
            .and_then(|all| all.get(name))
            .and_then(Value::as_object);
        match property {
            Some(_) if value.is_null() && !is_required(schema, name) => {}
            Some(property) => {
                fitted.insert(name.clone(), one(property, value, &place)?);
            }
            None => {
                fitted.insert(name.clone(), value.clone());
            }
        }
    }
    Ok(fitted)
}

fn is_required(schema: &Map<String, Value>, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|all| all.iter().any(|one| one == name))
}

fn one(schema: &Map<String, Value>, value: &Value, place: &str) -> Result<Value, String> {
    let wanted = schema.get("type").and_then(Value::as_str);
    let wrong = |wanted: &str| {
        Err(format!(
            "`{place}`: {wanted} is wanted, not {}",
            said(value)
        ))
    };
    match (wanted, value) {
        (Some("integer"), Value::Number(number)) => match whole(number) {
            Some(number) => Ok(number.into()),
            None => wrong("a whole number, 0 or more,"),
        },
        (Some("integer"), _) => wrong("a whole number"),
        (Some("string"), Value::String(_)) | (Some("boolean"), Value::Bool(_)) => Ok(value.clone()),
        (Some("string"), _) => wrong("a text"),
        (Some("boolean"), _) => wrong("true or false"),
        (Some("array"), Value::Array(items)) => items_of(schema, items, place),
        (Some("array"), _) => wrong("a list"),
        (Some("object"), Value::Object(fields)) => {
            object(schema, fields, &format!("{place}.")).map(Value::Object)
        }
        (Some("object"), _) => wrong("an object"),
        (None | Some(_), _) => words(schema, value, place),
    }
}

fn items_of(schema: &Map<String, Value>, items: &[Value], place: &str) -> Result<Value, String> {
    let Some(of) = schema.get("items").and_then(Value::as_object) else {
        return Ok(items.into());
    };
    let each = items.iter().enumerate();
    each.map(|(at, item)| one(of, item, &format!("{place}[{at}]")))
        .collect()
}

/// One of some words.
fn words(schema: &Map<String, Value>, value: &Value, place: &str) -> Result<Value, String> {
    let words = schema.get("enum").and_then(Value::as_array);
    match words {
        Some(words) if !words.contains(value) => {
            let all: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Err(format!(
                "`{place}`: one of {} is wanted, not {}",
                all.join(", "),
                said(value)
            ))
        }
        Some(_) | None => Ok(value.clone()),
    }
}

/// A number that is not negative and has no parts, however it is written.
fn whole(number: &serde_json::Number) -> Option<u64> {
    number.as_u64().or_else(|| {
        let float = number.as_f64()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, not negative and exact"
        )]
        (float.fract() == 0.0 && (0.0..=EXACT).contains(&float)).then_some(float as u64)
    })
}

fn said(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("{:?}", crate::short::short(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::failure::Failure;
    use crate::tool::Name;
    use crate::tools::Call;
    use serde_json::{Value, json};

    fn read(tool: Name, arguments: &Value) -> Result<String, String> {
        match Call::read(tool, arguments.as_object().unwrap().clone()) {
            Ok(call) => Ok(format!("{call:?}")),
            Err(Failure::Arguments(what)) => Err(what),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn whole_numbers_are_read_however_they_are_written_and_others_named() {
        let head = |head: Value| read(Name::ReadTextFile, &json!({"path": "a", "head": head}));
        assert_eq!(head(json!(3.0)), head(json!(3)));
        assert_eq!(head(json!(0.0)), head(json!(0)));
        assert!(head(json!(u64::MAX)).is_ok());
        for (wrong, said) in [
            (json!(1.5), "1.5"),
            (json!(-1), "-1"),
            (json!(-1.0), "-1.0"),
            (
                json!(18_446_744_073_709_551_616.0),
                "1.8446744073709552e+19",
            ),
        ] {
            let what = format!("`head`: a whole number, 0 or more, is wanted, not {said}");
            assert_eq!(head(wrong), Err(what));
        }
        let what = "`head`: a whole number is wanted, not \"3\"";
        assert_eq!(head(json!("3")), Err(what.to_owned()));
    }

    #[test]
    fn what_is_wrong_is_named_wherever_it_stands() {
        let edit = |edit: Value| read(Name::EditFile, &json!({"path": "a", "edits": [edit]}));
        assert_eq!(
            edit(json!({"oldText": "a", "newText": "b", "count": 2.0, "lines": null})),
            edit(json!({"oldText": "a", "newText": "b", "count": 2}))
        );
        assert_eq!(
            edit(json!({"oldText": "a", "newText": 7})),
            Err("`edits[0].newText`: a text is wanted, not 7".to_owned())
        );
        let said = edit(json!({"oldText": "a", "newText": "b", "foo": null})).unwrap_err();
        assert!(said.contains("unknown field `foo`"), "{said}");
        let said = read(Name::ListDirectory, &json!({"path": ".", "sortBy": "size"})).unwrap_err();
        assert_eq!(
            said,
            "`sortBy`: one of name, newest, oldest is wanted, not \"size\""
        );
    }
}
