//! Protocol clients.
