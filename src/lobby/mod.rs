//! Whom to play.
