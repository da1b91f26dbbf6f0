//! `sluiced verify`: an AQM before the verifier of this machine's kernel.

use crate::{Failure, cli::VerifyOptions};

/// Says that the verifier accepts the AQM.
///
/// # Errors
/// If there is no such AQM, if the compiler or the verifier refuses it, or if something is missing
/// here.
#[cfg(feature = "kernel")]
pub fn run(options: &VerifyOptions) -> Result<(), Failure> {
    use std::{fs, path::Path};

    let said = |error: &dyn std::error::Error| Failure(error.to_string());
    let path = Path::new(&options.aqm);
    let (class, own) = if let Some(class) = sluice_aqm::find(&options.aqm) {
        (class, None)
    } else if path.extension().is_some_and(|extension| extension == "h") {
        let class = sluice_aqm::compile(path).map_err(|error| said(&error))?;
        (
            class,
            Some(fs::read_to_string(path).map_err(|error| said(&error))?),
        )
    } else {
        let name = &options.aqm;
        return Err(Failure(format!(
            "{name}: no AQM has that name, and no C header (NAME.h) has"
        )));
    };
    let instructions =
        sluice_kernel::verify(class, own.as_deref()).map_err(|error| said(&error))?;
    println!(
        "{}: the kernel's verifier accepts it, with any parameters; it looked at {instructions} \
         instructions",
        class.name
    );
    Ok(())
}

/// Says that this program cannot.
///
/// # Errors
/// Always.
#[cfg(not(feature = "kernel"))]
pub fn run(_options: &VerifyOptions) -> Result<(), Failure> {
    Err(Failure(
        "this sluiced was built without BPF: install the headers of libelf and zlib (Debian: \
         libelf-dev, zlib1g-dev) and build it again"
            .into(),
    ))
}
