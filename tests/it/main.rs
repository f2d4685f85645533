//! The one integration test crate: one module per area.
mod lichess_fake;
mod lichess_loop;
mod lichess_rig;
mod lichess_contract;
mod lichess_contract_game;
