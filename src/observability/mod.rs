//! Logs, metrics, health.
