//! The one integration test crate: one module per area.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where, and nothing more"
)]

mod engine_match;
mod rules;
