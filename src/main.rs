//! The `seneschal` binary.

fn main() {}
