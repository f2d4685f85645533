//! Reading of fields that servers omit, null, or spell differently from one version to the next.
//!
//! A field that cannot be read counts as absent: whether the message is of use without it is decided where the message
//! is translated.

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::Value;

/// Absent, null and ill-typed are all `None`.
pub(super) fn optional<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}

/// A flag that is omitted, null or false when it is not set; some servers write it as a word or a number.
pub(super) fn flag<'de, D>(deserializer: D) -> Result<bool, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(match Value::deserialize(deserializer)? {
        Value::Bool(set) => set,
        Value::Number(number) => number.as_i64() == Some(1),
        Value::String(word) => word.eq_ignore_ascii_case("true"),
        _ => false,
    })
}

/// A flag of which absence says something else than `false`.
pub(super) fn optional_flag<'de, D>(deserializer: D) -> Result<Option<bool>, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(match Value::deserialize(deserializer)? {
        Value::Bool(set) => Some(set),
        Value::String(word) if word.eq_ignore_ascii_case("true") => Some(true),
        Value::String(word) if word.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    })
}

/// A whole number; fractions are cut, numbers in text are read, what does not fit is clamped.
pub(super) fn integer<'de, D>(deserializer: D) -> Result<Option<i64>, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(match Value::deserialize(deserializer)? {
        Value::Number(number) => number
            .as_i64()
            .or_else(|| {
                number
                    .as_u64()
                    .map(|n| i64::try_from(n).unwrap_or(i64::MAX))
            })
            // The conversion of a float saturates, and of NaN gives zero.
            .or_else(|| number.as_f64().map(|n| n as i64)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    })
}

/// A list of which unreadable entries are left out; anything but a list is empty.
pub(super) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    Ok(match Value::deserialize(deserializer)? {
        Value::Array(items) => items
            .into_iter()
            .filter_map(|item| serde_json::from_value(item).ok())
            .collect(),
        _ => Vec::new(),
    })
}

/// A name that is either a word or an object with a `name` or `key` in it.
pub(super) fn name<'de, D>(deserializer: D) -> Result<Option<String>, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(match Value::deserialize(deserializer)? {
        Value::String(word) => Some(word),
        Value::Object(map) => {
            let word = map
                .get("name")
                .or_else(|| map.get("key"))
                .and_then(Value::as_str);
            word.map(str::to_owned)
        }
        _ => None,
    })
}
