//! The tag pairs of a game.

use super::error::PgnFault;

/// Most tags of one game.
const MAX_TAGS: usize = 256;
/// Longest value that is kept, in bytes.
const MAX_VALUE_BYTES: usize = 4 << 10;

/// Tag pairs in the order of the text. Names are compared without case, values are kept as they are (unescaped).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags(Vec<(String, String)>);

impl Tags {
    /// No tags.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a tag, if the game has it. The first one counts when a tag stands twice.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Sets a tag, replacing the value it had.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        match self
            .0
            .iter_mut()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Removes a tag.
    pub fn remove(&mut self, name: &str) {
        self.0
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    /// Whether there is no tag at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All pairs, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Reads a line of one or more `[Name "value"]`.
    pub(super) fn read_line(&mut self, line: &str) -> Result<(), PgnFault> {
        let refuse = || PgnFault::BadTag {
            text: line.chars().take(120).collect(),
        };
        let mut rest = line.trim();
        while !rest.is_empty() {
            let inner = rest.strip_prefix('[').ok_or_else(refuse)?.trim_start();
            let name_length = inner
                .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')))
                .ok_or_else(refuse)?;
            let (name, after) = inner.split_at_checked(name_length).ok_or_else(refuse)?;
            if name.is_empty() {
                return Err(refuse());
            }
            let quoted = after.trim_start().strip_prefix('"').ok_or_else(refuse)?;
            let (value, after) = unescape(quoted).ok_or_else(refuse)?;
            if self.0.len() >= MAX_TAGS {
                return Err(PgnFault::TooManyTags { limit: MAX_TAGS });
            }
            if self.get(name).is_none() {
                self.0.push((name.to_owned(), value));
            }
            rest = after
                .trim_start()
                .strip_prefix(']')
                .ok_or_else(refuse)?
                .trim_start();
        }
        Ok(())
    }
}

/// The text up to the closing quote, without its backslashes, and what follows the quote.
fn unescape(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, text.get(at + 1..).unwrap_or_default())),
            '\\' => {
                // Only the quote and the backslash are escaped; before anything else a backslash is itself.
                let (_, escaped) = characters.next()?;
                if !matches!(escaped, '"' | '\\') {
                    value.push('\\');
                }
                value.push(escaped);
            }
            _ => value.push(character),
        }
        if value.len() > MAX_VALUE_BYTES {
            return None;
        }
    }
    None
}

/// A value as it stands between the quotes. Line ends cannot be escaped and become blanks.
pub(super) fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '"' | '\\' => {
                escaped.push('\\');
                escaped.push(character);
            }
            _ if character.is_control() => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}
