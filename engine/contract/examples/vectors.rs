//! Writes the test vectors: `make vectors`.

use std::{fs, io, path::Path};

use sluice_contract::vectors;

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../aqm/vectors");
    for vector in vectors() {
        fs::write(folder.join(format!("{}.txt", vector.name)), vector.text())?;
    }
    Ok(())
}
