//! The one integration test crate: one module per area.

mod house;
mod store_basics;
mod store_kill;
