//! The one integration test crate: one module per area.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where, and nothing more"
)]

mod architecture;
mod config_load;
mod daemon_cases;
mod daemon_cases_game;
mod daemon_cases_lobby;
mod daemon_deploy;
mod daemon_laws;
mod daemon_panics;
mod daemon_platforms;
mod daemon_process;
mod daemon_rig;
mod daemon_unread;
mod daemon_variants;
mod engine_match;
mod fics;
mod game_manners;
mod game_script;
mod game_session;
mod game_tape;
mod house;
mod lichess;
mod lobby_matchmaking;
mod lobby_script;
mod lobby_slots;
mod plug;
mod pychess;
mod rules;
mod store_basics;
mod store_kill;
