//! Bodies of requests: forms and JSON objects alike become a flat map of texts.

use std::collections::BTreeMap;

use serde_json::Value;

/// The fields of a body or of a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Form(BTreeMap<String, String>);

impl Form {
    /// Reads a body: JSON if it says or looks so, else `application/x-www-form-urlencoded`.
    /// Nulls and nested values are as good as absent. `None` for JSON that cannot be read.
    pub fn read(content_type: Option<&str>, body: &[u8]) -> Option<Form> {
        let says_json = content_type.is_some_and(|t| t.starts_with("application/json"));
        if says_json {
            if body.iter().all(u8::is_ascii_whitespace) {
                return Some(Form::default());
            }
            let Ok(Value::Object(fields)) = serde_json::from_slice(body) else {
                return None;
            };
            let texts = fields.into_iter().filter_map(|(key, value)| match value {
                Value::String(text) => Some((key, text)),
                Value::Bool(flag) => Some((key, flag.to_string())),
                Value::Number(number) => Some((key, number.to_string())),
                Value::Null | Value::Array(_) | Value::Object(_) => None,
            });
            return Some(Form(texts.collect()));
        }
        let mut fields = BTreeMap::new();
        for pair in body.split(|b| *b == b'&').filter(|pair| !pair.is_empty()) {
            let mut halves = pair.splitn(2, |b| *b == b'=');
            let key = percent_decode(halves.next().unwrap_or_default());
            let value = percent_decode(halves.next().unwrap_or_default());
            fields.insert(key, value);
        }
        Some(Form(fields))
    }

    /// Reads a query string.
    pub fn query(query: Option<&str>) -> Form {
        Form::read(None, query.unwrap_or_default().as_bytes()).unwrap_or_default()
    }

    /// A field that is there and not empty.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0
            .get(key)
            .map(String::as_str)
            .filter(|v| !v.is_empty())
    }

    /// Whether a field says yes. Absent is no.
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(is_trueish)
    }
}

/// The words that mean yes; everything else means no.
pub fn is_trueish(text: &str) -> bool {
    matches!(text, "1" | "true" | "True" | "on" | "yes")
}

fn percent_decode(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, tail)) = rest.split_first() {
        let hex = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
        match (first, tail) {
            (b'+', _) => out.push(b' '),
            (b'%', [high, low, after @ ..]) => {
                if let (Some(high), Some(low)) = (hex(*high), hex(*low)) {
                    out.push(high << 4 | low);
                    rest = after;
                    continue;
                }
                out.push(b'%');
            }
            (other, _) => out.push(other),
        }
        rest = tail;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_json_read_alike() {
        let form = Form::read(
            None,
            b"clock.limit=180&color=white&text=a+b%20%C3%A9&empty=&odd=%zz%4",
        );
        let form = form.unwrap();
        assert_eq!(form.get("clock.limit"), Some("180"));
        assert_eq!(form.get("text"), Some("a b \u{e9}"));
        assert_eq!(form.get("empty"), None);
        assert_eq!(form.get("odd"), Some("%zz%4"));
        let json = br#"{"clock.limit":180,"rated":false,"days":null,"color":"white","x":[1]}"#;
        let form = Form::read(Some("application/json; charset=utf-8"), json).unwrap();
        assert_eq!(form.get("clock.limit"), Some("180"));
        assert_eq!(form.get("rated"), Some("false"));
        assert_eq!(form.get("days"), None);
        assert_eq!(form.get("x"), None);
        assert_eq!(Form::read(Some("application/json"), b"{"), None);
        assert_eq!(
            Form::read(Some("application/json"), b" "),
            Some(Form::default())
        );
    }
}
