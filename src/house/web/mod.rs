//! The page: running games as live boards, and a place to play.
//!
//! | module | holds |
//! |---|---|
//! | [`board`], [`pieces`], [`escape`] | a position as SVG, pure |
//! | [`live`] | what changes on the boards, as one stream of server-sent events for all games |
//! | `watch` | what the page of one game is told |
//! | `lists`, `league` | ladder, archive, the league's table |
//! | `review` | earlier positions of a game and what the analyst thought of them |
//! | `words` | a position for those who cannot see it |
//! | `play`, `session` | what a browser can do, and who is behind it |
//! | `pages`, `rules_text` | the HTML with its style and script files, and the rules in a few sentences |

pub mod board;
pub mod escape;
mod league;
mod lists;
pub mod live;
mod pages;
pub mod pieces;
mod play;
mod review;
mod rules_text;
mod session;
mod watch;
mod words;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::api::App;

pub use live::Page;

/// Routes of the page.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(pages::index))
        .route("/ladder", get(lists::ladder))
        .route("/games", get(lists::games))
        .route("/league", get(league::league))
        .route("/live", get(live::events))
        .route("/assets/{file}", get(pages::asset))
        .route("/{id}", get(pages::game))
        .route("/{id}/board.svg", get(pages::picture))
        .route("/page/me", get(play::me))
        .route("/page/guest", post(play::guest))
        .route("/page/login", post(play::log_in))
        .route("/page/logout", post(play::log_out))
        .route("/page/lobby", get(play::lobby))
        .route("/page/challenge", post(play::challenge))
        .route("/page/{id}/join", post(play::join))
        .route("/page/{id}/withdraw", post(play::withdraw))
        .route("/page/game/{id}/stream", get(watch::stream))
        .route("/page/game/{id}/at/{ply}", get(review::at))
        .route(
            "/page/game/{id}/analysis",
            get(review::analysis).post(review::analyse),
        )
        .route("/page/game/{id}/move/{uci}", post(play::play))
        .route("/page/game/{id}/chat", post(play::chat))
        .route("/page/game/{id}/{command}", post(play::command))
}
