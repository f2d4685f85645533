//! The one integration test crate: one module per area.

mod game_manners;
mod game_script;
mod game_session;
