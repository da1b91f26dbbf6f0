//! `sluiced run --backend kernel`: the kernel moves packets by a qdisc of ours. The gate sets it,
//! reads its counts, and removes it.

#[cfg(feature = "kernel")]
mod change;
#[cfg(feature = "kernel")]
mod check;
#[cfg(feature = "kernel")]
mod plane;
#[cfg(feature = "kernel")]
mod ready;
#[cfg(feature = "kernel")]
mod shadowed;
#[cfg(feature = "kernel")]
mod tc;

#[cfg(feature = "kernel")]
use sluice_link::Service;

#[cfg(feature = "kernel")]
use crate::{
    cli::LinkOptions,
    settings::{Settings, SettingsError},
};
#[cfg(not(feature = "kernel"))]
pub use without_bpf::{check, run};
#[cfg(feature = "kernel")]
pub use {
    check::check,
    plane::run,
    ready::{Ready, compiled, scheduler},
};

/// Reads the settings of the forward link only, because a qdisc serves one interface.
///
/// # Errors
/// Lists everything that is wrong with the settings, or what a qdisc cannot do.
#[cfg(feature = "kernel")]
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
    if !matches!(settings.forward.service(), None | Some(Service::Steps(_))) {
        return Err(SettingsError(
            "in the kernel, a qdisc has a rate at each moment, and no opportunities: --rate-file must be \
             a table, time_s,rate_bps, and the rate of the scenario's link steps, a ramp or such a table"
                .into(),
        ));
    }
    if settings.forward.wire.is_some() {
        return Err(SettingsError(
            "in the kernel, a qdisc ends where the packet leaves: links.\"...\".wire must be left out, or \
             laid by netem at the other end of the link"
                .into(),
        ));
    }
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

    /// Fails, because this program was built without BPF.
    pub fn run(_options: &RunOptions) -> Result<(), Failure> {
        Err(verify::without_bpf())
    }

    /// Fails, because this program was built without BPF.
    pub fn check(_options: &CheckOptions) -> Result<bool, Failure> {
        Err(verify::without_bpf())
    }
}
