//! Words that must never be written: the tokens and passwords of this process.
//!
//! Secrets have types that do not print themselves. This is the net below them: whatever text is about to leave the process
//! for a person (a log line, the message of a panic) has every known secret taken out, so that a bug that puts a whole request
//! into a message, or a library that logs one, still shows nothing.

use std::io::{self, Write};
use std::sync::{Arc, PoisonError, RwLock};

use secrecy::{ExposeSecret, SecretString};

/// What stands where a secret stood.
pub const MASK: &str = "[hidden]";
/// A shorter secret is not searched for: it would take parts out of ordinary words and so tell what it is.
const SHORTEST: usize = 4;

/// The list of secrets; clones share it.
#[derive(Clone, Default)]
pub struct HiddenWords {
    words: Arc<RwLock<Vec<SecretString>>>,
}

impl std::fmt::Debug for HiddenWords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HiddenWords")
    }
}

impl HiddenWords {
    /// From now on this secret is taken out, as it is and as texts in quotes and in JSON write it.
    pub fn add(&self, secret: &SecretString) {
        let plain = secret.expose_secret();
        if plain.len() < SHORTEST {
            return;
        }
        let debug: String = plain.escape_debug().collect();
        let json = serde_json::Value::from(plain).to_string();
        let json = json.trim_matches('"').to_owned();
        let mut words = self.words.write().unwrap_or_else(PoisonError::into_inner);
        for form in [plain.to_owned(), debug, json] {
            if words.iter().all(|known| known.expose_secret() != form) {
                words.push(SecretString::from(form));
            }
        }
        // A secret that begins like another must not leave the rest of the longer one behind.
        words.sort_by_key(|word| std::cmp::Reverse(word.expose_secret().len()));
    }

    /// The text without secrets.
    pub fn hide(&self, text: &str) -> String {
        let words = self.words.read().unwrap_or_else(PoisonError::into_inner);
        let mut text = text.to_owned();
        for word in words.iter() {
            if text.contains(word.expose_secret()) {
                text = text.replace(word.expose_secret(), MASK);
            }
        }
        text
    }

    fn is_in(&self, text: &str) -> bool {
        let words = self.words.read().unwrap_or_else(PoisonError::into_inner);
        words.iter().any(|word| text.contains(word.expose_secret()))
    }
}

/// A writer through which no secret passes. Every `write` is one whole text, as the log's lines are.
#[derive(Debug)]
pub struct Hiding<W> {
    out: W,
    hidden: HiddenWords,
}

impl<W: Write> Hiding<W> {
    /// Writes to `out` what is left.
    pub fn new(out: W, hidden: HiddenWords) -> Hiding<W> {
        Hiding { out, hidden }
    }
}

impl<W: Write> Write for Hiding<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) if !self.hidden.is_in(text) => self.out.write_all(bytes)?,
            _ => {
                let text = String::from_utf8_lossy(bytes);
                self.out.write_all(self.hidden.hide(&text).as_bytes())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(words: &[&str]) -> HiddenWords {
        let hidden = HiddenWords::default();
        for word in words {
            hidden.add(&SecretString::from((*word).to_owned()));
        }
        hidden
    }

    #[test]
    fn a_secret_is_taken_out_in_every_form_in_which_it_is_written() {
        let hidden = hidden(&["lip_9Zq\"x\\y", "lip_9Zq", "abc"]);
        let plain = "Bearer lip_9Zq\"x\\y, twice: lip_9Zq\"x\\y";
        assert_eq!(hidden.hide(plain), "Bearer [hidden], twice: [hidden]");
        let quoted = format!("{:?}", "lip_9Zq\"x\\y");
        assert_eq!(hidden.hide(&quoted), "\"[hidden]\"");
        let json = serde_json::json!({ "token": "lip_9Zq\"x\\y" }).to_string();
        assert_eq!(hidden.hide(&json), r#"{"token":"[hidden]"}"#);
        assert_eq!(hidden.hide("abcd"), "abcd", "too short to be looked for");
    }

    #[test]
    fn the_writer_passes_on_everything_else() {
        let hidden = hidden(&["lip_9Zq"]);
        let mut out = Vec::new();
        let mut writer = Hiding::new(&mut out, hidden.clone());
        writer.write_all(b"a line\n").expect("written");
        writer.write_all(b"with lip_9Zq in it\n").expect("written");
        writer.write_all(b"\xff lip_9Zq\n").expect("written");
        writer.flush().expect("flushed");
        let text = String::from_utf8_lossy(&out);
        assert_eq!(text, "a line\nwith [hidden] in it\n\u{fffd} [hidden]\n");
        assert_eq!(format!("{hidden:?}"), "HiddenWords");
    }
}
