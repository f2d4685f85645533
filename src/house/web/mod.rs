//! The page: running games as live boards.
//!
//! | module | holds |
//! |---|---|
//! | [`board`], [`pieces`], [`escape`] | a position as SVG, pure |
//! | [`live`] | what changes on the boards, as one stream of server-sent events for all games |
//! | [`pages`] | the HTML and its style and script files |

pub mod board;
pub mod escape;
pub mod live;
mod pages;
pub mod pieces;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use super::api::App;

pub use live::Page;

/// Routes of the page.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(pages::index))
        .route("/live", get(live::events))
        .route("/assets/{file}", get(pages::asset))
        .route("/{id}", get(pages::game))
        .route("/{id}/board.svg", get(pages::picture))
}
