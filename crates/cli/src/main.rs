//! The `cenote` command.
fn main() {}
