//! Lichess's contract, endpoint by endpoint: what is answered, with status and body.

mod accounts;
mod challenges;
mod games;
mod streams;

use serde_json::{Value, json};

fn error(text: &str) -> Value {
    json!({ "error": text })
}
