//! The best move of a position.
