//! Composition root and task tree.

pub mod house_archive;
