//! The local platform.
