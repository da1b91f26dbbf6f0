//! `sluiced run --backend kernel`: the kernel moves packets, by a qdisc of ours; the gate sets it,
//! reads what it counts, and takes it away.

#[cfg(feature = "kernel")]
mod check;
#[cfg(feature = "kernel")]
mod plane;
#[cfg(feature = "kernel")]
mod ready;
#[cfg(feature = "kernel")]
mod tc;

use crate::{
    cli::LinkOptions,
    settings::{Settings, SettingsError},
};
#[cfg(not(feature = "kernel"))]
pub use without_bpf::{look, run};
#[cfg(feature = "kernel")]
pub use {
    check::look,
    plane::run,
    ready::{Ready, compiled},
};

/// Reads settings, of the forward link only: a qdisc stands before one interface.
///
/// # Errors
/// All that is wrong with one of them, or what a qdisc cannot do.
pub fn read(options: &LinkOptions) -> Result<Settings, SettingsError> {
    let refusals = [
        (
            options.overhead > 0,
            "--overhead must be 0: the kernel counts the Ethernet header",
        ),
        (
            options.two_way,
            "--two-way cannot be: each interface has its own qdisc",
        ),
        (
            options.delay.is_some() || options.reverse_delay.is_some(),
            "--delay and --reverse-delay cannot be: a qdisc has no propagation delay",
        ),
    ];
    if let Some((_, why)) = refusals.iter().find(|(is_so, _)| *is_so) {
        return Err(SettingsError(format!("in the kernel, {why}")));
    }
    let mut settings = Settings::read(options)?;
    settings.reverse = None;
    settings.forward.delay_ns = 0;
    Ok(settings)
}

#[cfg(not(feature = "kernel"))]
mod without_bpf {
    use crate::{
        Failure,
        cli::{CheckOptions, RunOptions},
        verify,
    };

    /// Says that this program cannot.
    pub fn run(_options: &RunOptions) -> Result<(), Failure> {
        Err(verify::without_bpf())
    }

    /// Likewise.
    pub fn look(_options: &CheckOptions) -> Result<bool, Failure> {
        Err(verify::without_bpf())
    }
}
