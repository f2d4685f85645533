//! Layers of configuration.
