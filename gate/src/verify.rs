//! `sluiced verify`: an AQM before the verifier of this machine's kernel.

use crate::{Failure, cli::VerifyOptions};

/// Says that the verifier accepts the AQM.
///
/// # Errors
/// If there is no such AQM, if the compiler or the verifier refuses it, or if something is missing
/// here.
#[cfg(feature = "kernel")]
pub fn run(options: &VerifyOptions) -> Result<(), Failure> {
    let (class, own) = chosen(&options.aqm)?;
    let instructions =
        sluice_kernel::verify(class, own.as_deref()).map_err(|error| Failure(error.to_string()))?;
    println!(
        "{}: the kernel's verifier accepts it, with any parameters; it looked at {instructions} \
         instructions",
        class.name
    );
    Ok(())
}

/// The AQM of a name or a header, and the header's text if it is a user's.
#[cfg(feature = "kernel")]
pub(crate) fn chosen(name: &str) -> Result<(&'static sluice_aqm::Class, Option<String>), Failure> {
    let path = std::path::Path::new(name);
    if let Some(class) = sluice_aqm::find(name) {
        Ok((class, None))
    } else if path.extension().is_some_and(|extension| extension == "h") {
        let class = sluice_aqm::compile(path).map_err(|error| Failure(error.to_string()))?;
        let own = std::fs::read_to_string(path).map_err(|error| Failure(error.to_string()))?;
        Ok((class, Some(own)))
    } else {
        Err(Failure(format!(
            "{name}: no AQM has that name, and no C header (NAME.h) has"
        )))
    }
}

/// Says that this program cannot.
///
/// # Errors
/// Always.
#[cfg(not(feature = "kernel"))]
pub fn run(_options: &VerifyOptions) -> Result<(), Failure> {
    Err(without_bpf())
}

/// Why this program has nothing to do with the kernel's BPF.
#[cfg(not(feature = "kernel"))]
pub(crate) fn without_bpf() -> Failure {
    Failure(
        "this sluiced was built without BPF: install the headers of libelf and zlib (Debian: \
         libelf-dev, zlib1g-dev) and build it again"
            .into(),
    )
}
