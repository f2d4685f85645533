//! The one integration test crate: one module per area.

mod engine_match;
mod house;
mod store_basics;
mod store_kill;
