//! `sluiced prague`: a congestion control for the kernel's TCP.

use crate::{Failure, cli::PragueCommand};

/// Runs the command.
///
/// # Errors
/// If the compiler or the kernel refuses it, or if a file cannot be read or written.
#[cfg(feature = "kernel")]
pub fn run(command: &PragueCommand) -> Result<(), Failure> {
    use std::fs::{self, File};

    use sluice_kernel::prague;

    match command {
        PragueCommand::Compile(options) => {
            let object = prague::compile()?;
            let path = &options.object;
            let file = File::create(path).map_err(|error| Failure::writing(path, &error))?;
            crate::write_whole(&file, path, &object)
        }
        PragueCommand::Install(options) => {
            let path = &options.object;
            let object = fs::read(path).map_err(|error| Failure::reading(path, &error))?;
            Ok(prague::install(&object)?)
        }
        PragueCommand::Remove => Ok(prague::remove()?),
    }
}

/// Fails, because this program was built without BPF.
///
/// # Errors
/// Always.
#[cfg(not(feature = "kernel"))]
pub fn run(_command: &PragueCommand) -> Result<(), Failure> {
    Err(crate::verify::without_bpf())
}
