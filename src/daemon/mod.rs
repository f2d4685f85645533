//! Composition root and task tree.
