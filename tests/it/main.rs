//! The one integration test crate: one module per area.

mod engine_match;
mod fics;
