//! The `properloss` command.

fn main() {}
