//! The one integration test crate: one module per area.

mod store_basics;
mod store_kill;
