//! The layers themselves: merged by the crate `config`, with the line of every key in every file.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use config::{File, FileFormat, Map, Source, Value, ValueKind};
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use super::place::{ConfigError, ConfigProblem, Place};
use super::suggest::nearest;
use super::{DEFAULTS, Sections, Shown, Sources};

/// Variables with this prefix and a double underscore between section and key are ours.
const PREFIX: &str = "SENESCHAL_";
/// Origin of a value set by a flag; no file can have this name.
const FLAG_ORIGIN: &str = "\0flag";
/// Origin of a value of the environment begins so.
const ENV_ORIGIN: &str = "\0env:";

/// All layers, merged.
#[derive(Debug)]
pub struct Layers {
    root: Value,
    lines: HashMap<PathBuf, BTreeMap<String, usize>>,
}

impl Layers {
    /// Reads and merges the layers.
    ///
    /// # Errors
    /// A file that cannot be read or is no TOML, a flag or variable without a key.
    pub fn read(sources: &Sources) -> Result<Self, ConfigError> {
        let mut builder =
            config::Config::builder().add_source(File::from_str(DEFAULTS, FileFormat::Toml));
        let mut lines = HashMap::new();
        for path in &sources.files {
            let text = std::fs::read_to_string(path)
                .map_err(|error| whole_file(path, None, &format!("cannot be read: {error}")))?;
            lines.insert(path.clone(), line_index(path, &text)?);
            builder = builder.add_source(FileLayer {
                path: path.clone(),
                text,
            });
        }
        builder = builder
            .add_source(environment(&sources.environment))
            .add_source(flags(&sources.flags)?);
        let built = builder.build().map_err(|error| {
            ConfigError::one(ConfigProblem {
                place: Place::Default,
                key: String::new(),
                message: error.to_string(),
                allowed: None,
                suggestion: None,
            })
        })?;
        Ok(Self {
            root: built.cache,
            lines,
        })
    }

    /// The merged layers as typed sections.
    ///
    /// # Errors
    /// The first key that is unknown or has a value of the wrong kind, with its place.
    pub fn sections(&self) -> Result<Sections, ConfigError> {
        typed(self.root.clone()).map_err(|(path, message)| {
            let (key, message, suggestion) = explain(&path, &message);
            ConfigError::one(ConfigProblem {
                place: self.place(&key),
                key,
                message,
                allowed: None,
                suggestion,
            })
        })
    }

    /// Where a key was set. A key that no layer has is looked up by its nearest parent.
    pub fn place(&self, key: &str) -> Place {
        let mut key = key.to_owned();
        loop {
            if let Some(value) = find(&self.root, &key) {
                // Tables have no origin of their own; the first value in them has. The defaults have none at all.
                return match first_origin(value) {
                    Some(origin) => self.origin_place(origin, &key),
                    None => Place::Default,
                };
            }
            match key.rfind(['.', '[']) {
                Some(at) => key.truncate(at),
                None => return Place::Default,
            }
        }
    }

    fn origin_place(&self, origin: &str, key: &str) -> Place {
        if origin == FLAG_ORIGIN {
            return Place::Flag;
        }
        if let Some(variable) = origin.strip_prefix(ENV_ORIGIN) {
            return Place::Environment(variable.to_owned());
        }
        let path = PathBuf::from(origin);
        let line = self.lines.get(&path).and_then(|index| {
            let mut key = key.to_owned();
            loop {
                if let Some(line) = index.get(&key) {
                    return Some(*line);
                }
                let at = key.rfind(['.', '['])?;
                key.truncate(at);
            }
        });
        Place::File { path, line }
    }

    /// Every value with its origin, sorted by key.
    pub fn shown(&self) -> Vec<Shown> {
        let mut shown = Vec::new();
        self.collect(&self.root, String::new(), &mut shown);
        shown.sort_by(|a, b| a.key.cmp(&b.key));
        shown
    }

    fn collect(&self, value: &Value, key: String, shown: &mut Vec<Shown>) {
        match &value.kind {
            ValueKind::Table(table) => {
                for (name, inner) in table {
                    let key = match key.is_empty() {
                        true => name.clone(),
                        false => format!("{key}.{name}"),
                    };
                    self.collect(inner, key, shown);
                }
            }
            _ => shown.push(Shown {
                place: self.place(&key),
                value: words(value),
                key,
            }),
        }
    }
}

/// A value in TOML's words.
fn words(value: &Value) -> String {
    match &value.kind {
        ValueKind::String(text) => toml::Value::String(text.clone()).to_string(),
        ValueKind::Array(items) => {
            let items: Vec<String> = items.iter().map(words).collect();
            format!("[{}]", items.join(", "))
        }
        ValueKind::Table(table) => {
            let mut parts: Vec<String> = table
                .iter()
                .map(|(key, inner)| format!("{key} = {}", words(inner)))
                .collect();
            parts.sort();
            format!("{{ {} }}", parts.join(", "))
        }
        other => other.to_string(),
    }
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, (String, String)> {
    serde_path_to_error::deserialize(value)
        .map_err(|error| (error.path().to_string(), error.inner().to_string()))
}

/// Key, message and suggestion of what serde says.
pub(super) fn explain(path: &str, message: &str) -> (String, String, Option<String>) {
    let path = if path == "." { "" } else { path };
    // The crate adds its own idea of the key; ours is more exact.
    let message = message.split(" for key `").next().unwrap_or(message);
    let Some((name, expected)) = unknown_field(message) else {
        return (path.to_owned(), message.to_owned(), None);
    };
    let key = match path.is_empty() {
        true => name.to_owned(),
        false if path == name || path.ends_with(&format!(".{name}")) => path.to_owned(),
        false => format!("{path}.{name}"),
    };
    let suggestion = nearest(name, expected.iter().copied()).map(str::to_owned);
    let message = match suggestion {
        Some(_) => "unknown key".to_owned(),
        None => format!("unknown key; the section has {}", expected.join(", ")),
    };
    (key, message, suggestion)
}

/// Takes serde's sentence about an unknown field apart.
fn unknown_field(message: &str) -> Option<(&str, Vec<&str>)> {
    let rest = message.strip_prefix("unknown field `")?;
    let (name, rest) = rest.split_once('`')?;
    let expected = rest.split('`').skip(1).step_by(2).collect();
    Some((name, expected))
}

fn first_origin(value: &Value) -> Option<&str> {
    match &value.kind {
        ValueKind::Table(table) => table.values().find_map(first_origin),
        ValueKind::Array(items) => value
            .origin()
            .or_else(|| items.iter().find_map(first_origin)),
        _ => value.origin(),
    }
}

/// The value under a dotted key with optional indices.
fn find<'a>(root: &'a Value, key: &str) -> Option<&'a Value> {
    let mut value = root;
    for part in key.split('.') {
        let (name, indices) = part.split_once('[').unwrap_or((part, ""));
        let ValueKind::Table(table) = &value.kind else {
            return None;
        };
        value = table.get(name)?;
        for index in indices.split('[').filter(|text| !text.is_empty()) {
            let index: usize = index.trim_end_matches(']').parse().ok()?;
            let ValueKind::Array(items) = &value.kind else {
                return None;
            };
            value = items.get(index)?;
        }
    }
    Some(value)
}

/// One file; its values carry its path as their origin.
#[derive(Debug, Clone)]
struct FileLayer {
    path: PathBuf,
    text: String,
}

impl Source for FileLayer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, config::ConfigError> {
        let map = File::from_str(&self.text, FileFormat::Toml).collect()?;
        let origin = self.path.display().to_string();
        let with_origin = map
            .into_iter()
            .map(|(key, value)| (key, set_origin(value, &origin)));
        Ok(with_origin.collect())
    }
}

fn set_origin(value: Value, origin: &str) -> Value {
    let kind = match value.kind {
        ValueKind::Table(table) => ValueKind::Table(
            table
                .into_iter()
                .map(|(key, inner)| (key, set_origin(inner, origin)))
                .collect(),
        ),
        ValueKind::Array(items) => ValueKind::Array(
            items
                .into_iter()
                .map(|inner| set_origin(inner, origin))
                .collect(),
        ),
        other => other,
    };
    Value::new(Some(&origin.to_owned()), kind)
}

/// Values from the environment or from flags.
#[derive(Debug, Clone, Default)]
struct PairLayer {
    /// Key parts, text, origin.
    pairs: Vec<(Vec<String>, String, String)>,
}

impl Source for PairLayer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, config::ConfigError> {
        let mut root = Map::new();
        for (parts, text, origin) in &self.pairs {
            insert(&mut root, parts, value_of(text, origin), origin);
        }
        Ok(root)
    }
}

fn insert(table: &mut Map<String, Value>, parts: &[String], value: Value, origin: &str) {
    let [head, rest @ ..] = parts else { return };
    if rest.is_empty() {
        table.insert(head.clone(), value);
        return;
    }
    let origin_text = origin.to_owned();
    let inner = table
        .entry(head.clone())
        .or_insert_with(|| Value::new(Some(&origin_text), ValueKind::Table(Map::new())));
    if !matches!(inner.kind, ValueKind::Table(_)) {
        inner.kind = ValueKind::Table(Map::new());
    }
    if let ValueKind::Table(inner) = &mut inner.kind {
        insert(inner, rest, value, origin);
    }
}

/// A text as TOML would read it (`5`, `true`, `["a"]`), or itself.
fn value_of(text: &str, origin: &str) -> Value {
    let parsed = format!("value = {text}")
        .parse::<toml::Table>()
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(text.to_owned()));
    from_toml(parsed, origin)
}

fn from_toml(value: toml::Value, origin: &str) -> Value {
    let kind = match value {
        toml::Value::String(text) => ValueKind::String(text),
        toml::Value::Integer(number) => ValueKind::I64(number),
        toml::Value::Float(number) => ValueKind::Float(number),
        toml::Value::Boolean(flag) => ValueKind::Boolean(flag),
        toml::Value::Datetime(when) => ValueKind::String(when.to_string()),
        toml::Value::Array(items) => {
            let items = items.into_iter().map(|item| from_toml(item, origin));
            ValueKind::Array(items.collect())
        }
        toml::Value::Table(table) => {
            let entries = table
                .into_iter()
                .map(|(key, inner)| (key, from_toml(inner, origin)));
            ValueKind::Table(entries.collect())
        }
    };
    Value::new(Some(&origin.to_owned()), kind)
}

fn environment(variables: &[(String, String)]) -> PairLayer {
    let ours = variables.iter().filter_map(|(variable, text)| {
        let key = variable.strip_prefix(PREFIX)?;
        // Without the double underscore it is another of our variables: a token, the path of a file.
        if !key.contains("__") {
            return None;
        }
        let parts = key.split("__").map(str::to_lowercase).collect();
        Some((parts, text.clone(), format!("{ENV_ORIGIN}{variable}")))
    });
    PairLayer {
        pairs: ours.collect(),
    }
}

fn flags(pairs: &[(String, String)]) -> Result<PairLayer, ConfigError> {
    let mut layer = PairLayer::default();
    for (key, text) in pairs {
        let parts: Vec<String> = key.split('.').map(str::to_owned).collect();
        if parts.iter().any(String::is_empty) {
            return Err(ConfigError::one(ConfigProblem {
                place: Place::Flag,
                key: key.clone(),
                message: "is not a key".to_owned(),
                allowed: Some("SECTION.KEY=VALUE".to_owned()),
                suggestion: None,
            }));
        }
        layer
            .pairs
            .push((parts, text.clone(), FLAG_ORIGIN.to_owned()));
    }
    Ok(layer)
}

fn whole_file(path: &Path, line: Option<usize>, message: &str) -> ConfigError {
    ConfigError::one(ConfigProblem {
        place: Place::File {
            path: path.to_owned(),
            line,
        },
        key: String::new(),
        message: message.to_owned(),
        allowed: None,
        suggestion: None,
    })
}

/// The line of every key of a file.
fn line_index(path: &Path, text: &str) -> Result<BTreeMap<String, usize>, ConfigError> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map(|span| line_of(text, span.start));
        whole_file(path, line, &format!("is not TOML: {}", error.message()))
    })?;
    let mut index = BTreeMap::new();
    index_table(table.get_ref(), "", text, &mut index);
    Ok(index)
}

fn index_table(table: &DeTable<'_>, prefix: &str, text: &str, index: &mut BTreeMap<String, usize>) {
    for (key, value) in table {
        let name = key.get_ref();
        let path = match prefix.is_empty() {
            true => name.to_string(),
            false => format!("{prefix}.{name}"),
        };
        index.insert(path.clone(), line_of(text, key.span().start));
        index_value(value.get_ref(), &path, text, index);
    }
}

fn index_value(value: &DeValue<'_>, path: &str, text: &str, index: &mut BTreeMap<String, usize>) {
    match value {
        DeValue::Table(table) => index_table(table, path, text, index),
        DeValue::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                let path = format!("{path}[{number}]");
                index.insert(path.clone(), line_of(text, item.span().start));
                index_value(item.get_ref(), &path, text, index);
            }
        }
        _ => {}
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|&&byte| byte == b'\n').count() + 1
}
