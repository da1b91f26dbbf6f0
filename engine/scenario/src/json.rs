//! Conversion of values to JSON.

use serde_json::{Map, Value as Json};

use crate::value::{Fields, Value};

/// Converts a number; whole numbers become integers.
pub fn number(number: f64) -> Json {
    match number.fract() == 0.0 && number.abs() < 2_f64.powi(53) {
        true => (number as i64).into(),
        false => number.into(),
    }
}

/// Converts a value; null if it was not given.
pub fn plain(value: &Value) -> Json {
    match value {
        Value::Nothing => Json::Null,
        Value::Switch(on) => (*on).into(),
        Value::Whole(whole) => match (u64::try_from(*whole), i64::try_from(*whole)) {
            (Ok(whole), _) => whole.into(),
            (_, Ok(whole)) => whole.into(),
            _ => (*whole as f64).into(),
        },
        Value::Number(value) => number(*value),
        Value::List(items) => items.iter().map(plain).collect(),
        Value::Table(fields) => table(fields).into(),
        Value::Text(text) => text.as_str().into(),
        other => other.shown().into(),
    }
}

/// Converts the fields of a table.
pub fn table(fields: &Fields) -> Map<String, Json> {
    let rows = fields.rows.iter();
    rows.map(|(name, value)| (name.clone(), plain(value)))
        .collect()
}

/// Removes all fields that are null.
pub fn given(value: Json) -> Json {
    match value {
        Json::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, given(value)))
            .collect::<Map<_, _>>()
            .into(),
        value => value,
    }
}
