//! Words for the types of `rules` in tapes and configuration; `rules` itself knows no serialization.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

use crate::rules::{CastlingMode, Color, Variant};

/// `"white"`, `"black"`.
pub mod color {
    use super::*;

    /// The word.
    pub fn word(color: Color) -> &'static str {
        match color {
            Color::White => "white",
            Color::Black => "black",
        }
    }

    /// The colour of a word, if it is one.
    pub fn parse(word: &str) -> Option<Color> {
        match word {
            "white" => Some(Color::White),
            "black" => Some(Color::Black),
            _ => None,
        }
    }

    pub(crate) fn serialize<S: Serializer>(color: &Color, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(word(*color))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Color, D::Error> {
        let text = String::deserialize(d)?;
        parse(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is not a colour")))
    }
}

/// The same for an optional colour; absent is `null`.
pub mod maybe_color {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(color: &Option<Color>, s: S) -> Result<S::Ok, S::Error> {
        match color {
            Some(color) => s.serialize_some(color::word(*color)),
            None => s.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Color>, D::Error> {
        match Option::<String>::deserialize(d)? {
            None => Ok(None),
            Some(text) => color::parse(&text)
                .map(Some)
                .ok_or_else(|| D::Error::custom(format!("`{text}` is not a colour"))),
        }
    }
}

/// Variants by their UCI names.
pub mod variant {
    use super::*;

    /// The variant of a UCI name, if it is one.
    pub fn parse(word: &str) -> Option<Variant> {
        Variant::ALL.into_iter().find(|v| v.uci_name() == word)
    }

    pub(crate) fn serialize<S: Serializer>(variant: &Variant, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(variant.uci_name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Variant, D::Error> {
        let text = String::deserialize(d)?;
        parse(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is not a variant")))
    }
}

/// `"standard"`, `"chess960"`.
pub mod castling_mode {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(mode: &CastlingMode, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(match mode {
            CastlingMode::Standard => "standard",
            CastlingMode::Chess960 => "chess960",
        })
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<CastlingMode, D::Error> {
        match String::deserialize(d)?.as_str() {
            "standard" => Ok(CastlingMode::Standard),
            "chess960" => Ok(CastlingMode::Chess960),
            other => Err(D::Error::custom(format!(
                "`{other}` is not a castling mode"
            ))),
        }
    }
}

/// Durations written as whole or fractional seconds, for keys that end in `_s`.
pub mod seconds {
    use std::time::Duration;

    use super::*;

    pub(crate) fn serialize<S: Serializer>(span: &Duration, s: S) -> Result<S::Ok, S::Error> {
        if span.subsec_nanos() == 0 {
            s.serialize_u64(span.as_secs())
        } else {
            s.serialize_f64(span.as_secs_f64())
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(d)?;
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| D::Error::custom(format!("{seconds} is not a time in seconds")))
    }
}

/// Durations written as whole milliseconds, for keys that end in `_ms`.
pub mod millis {
    use std::time::Duration;

    use super::*;

    pub(crate) fn serialize<S: Serializer>(span: &Duration, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u64(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        u64::deserialize(d).map(Duration::from_millis)
    }
}
