//! JSON schemas of arguments and answers, by hand: they are the part of a tool that every model
//! reads each time, and what a generator writes is twice as long. A test holds them to the types.

use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A property of an object.
pub(crate) struct Property {
    name: &'static str,
    schema: Value,
    need: Need,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
}

impl Property {
    /// The same, and it has to be there.
    pub(crate) const fn required(mut self) -> Self {
        self.need = Need::Required;
        self
    }
}

fn property(name: &'static str, mut schema: Value, description: &str) -> Property {
    if !description.is_empty()
        && let Some(fields) = schema.as_object_mut()
    {
        fields.insert("description".to_owned(), description.into());
    }
    Property {
        name,
        schema,
        need: Need::Optional,
    }
}

/// A text.
pub(crate) fn text(name: &'static str, description: &str) -> Property {
    property(name, json!({ "type": "string" }), description)
}

/// A whole number.
pub(crate) fn number(name: &'static str, description: &str) -> Property {
    property(name, json!({ "type": "integer" }), description)
}

/// A number of an answer.
pub(crate) fn count(name: &'static str) -> Property {
    property(name, json!({ "type": "integer" }), "")
}

/// Yes or no.
pub(crate) fn flag(name: &'static str, description: &str) -> Property {
    property(name, json!({ "type": "boolean" }), description)
}

/// One of these words.
pub(crate) fn word(name: &'static str, words: &[&str], description: &str) -> Property {
    property(name, json!({ "enum": words }), description)
}

/// Texts.
pub(crate) fn texts(name: &'static str, description: &str) -> Property {
    let schema = json!({ "type": "array", "items": { "type": "string" } });
    property(name, schema, description)
}

/// A list of objects, at least one.
pub(crate) fn objects(name: &'static str, of: Vec<Property>, description: &str) -> Property {
    let schema = json!({ "type": "array", "minItems": 1, "items": closed(of) });
    property(name, schema, description)
}

/// An object of an answer, whatever is in it.
pub(crate) fn any_object(name: &'static str, description: &str) -> Property {
    property(name, json!({ "type": "object" }), description)
}

/// A list of objects of an answer.
pub(crate) fn any_objects(name: &'static str, description: &str) -> Property {
    let schema = json!({ "type": "array", "items": { "type": "object" } });
    property(name, schema, description)
}

/// An object that has these properties and no others.
pub(crate) fn input(properties: Vec<Property>) -> Arc<JsonObject> {
    Arc::new(closed(properties))
}

/// An object that has at least the required ones of these properties.
pub(crate) fn output(properties: Vec<Property>) -> Arc<JsonObject> {
    Arc::new(object(properties))
}

fn closed(properties: Vec<Property>) -> JsonObject {
    let mut schema = object(properties);
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

fn object(properties: Vec<Property>) -> JsonObject {
    let required: Vec<&str> = properties
        .iter()
        .filter(|one| one.need == Need::Required)
        .map(|one| one.name)
        .collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    let named = properties
        .into_iter()
        .map(|one| (one.name.to_owned(), one.schema));
    schema.insert("properties".to_owned(), Value::Object(named.collect()));
    schema
}
