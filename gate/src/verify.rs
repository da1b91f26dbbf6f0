//! `sluiced verify`: submits an AQM to the verifier of this machine's kernel.

use crate::{Failure, cli::VerifyOptions};

/// Prints that the verifier accepts the AQM.
///
/// # Errors
/// If there is no such AQM, if the compiler or the verifier refuses it, or if something is missing
/// here.
#[cfg(feature = "kernel")]
pub fn run(options: &VerifyOptions) -> Result<(), Failure> {
    let class = sluice_scenario::aqm_class(&options.aqm).map_err(Failure)?;
    let instructions = sluice_kernel::verify(class)?;
    crate::print(&format!(
        "{}: the kernel's verifier accepts it, with any parameters; it looked at {instructions} \
         instructions\n",
        class.name
    ))
}

/// Fails, because this program was built without BPF.
///
/// # Errors
/// Always.
#[cfg(not(feature = "kernel"))]
pub fn run(_options: &VerifyOptions) -> Result<(), Failure> {
    Err(without_bpf())
}

/// Returns the failure of a program that was built without BPF.
#[cfg(not(feature = "kernel"))]
pub(crate) fn without_bpf() -> Failure {
    Failure(
        "this sluiced was built without BPF, as that of a wheel is: build one from the sources \
         (make build), with the headers of libelf and zlib (Debian: libelf-dev, zlib1g-dev)"
            .into(),
    )
}
