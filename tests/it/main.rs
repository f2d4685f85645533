//! The one integration test crate: one module per area.

mod engine_match;
mod config_load;
mod game_manners;
mod game_script;
mod game_session;
mod game_tape;
mod lobby_matchmaking;
mod lobby_script;
mod lobby_slots;
mod house;
mod store_basics;
mod store_kill;
mod lichess_fake;
mod lichess_loop;
mod lichess_rig;
mod lichess_contract;
mod pychess;
