//! What is legal.
