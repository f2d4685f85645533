//! The one integration test crate: one module per area.
