//! Writes the circuit files of `data/circuits` from our own gadgets.
//!
//! Usage: `cargo run -p cenote-circuit --example shipped_circuits`

use std::path::Path;

#[path = "../tests/shipped/programs.rs"]
mod programs;

fn main() -> std::io::Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/circuits");
    for (name, circuit, ports) in programs::all() {
        std::fs::write(directory.join(format!("{name}.txt")), circuit)?;
        std::fs::write(directory.join(format!("{name}.ports.toml")), ports)?;
    }
    Ok(())
}
