//! What settings become in the kernel.

use std::fs;

use sluice_aqm::Configured;
use sluice_kernel::{Device, Fixed, KernelError, Object, Program, compile};
use sluice_scenario::{AqmName, Fifo, Scheduler};

use crate::{
    Failure,
    cli::ObjectOptions,
    settings::{LinkSettings, Settings},
    verify,
};

impl From<KernelError> for Failure {
    fn from(error: KernelError) -> Self {
        Self(error.to_string())
    }
}

/// All that a kind of qdisc is made of.
pub struct Ready {
    /// The program.
    pub object: Object,
    /// The AQM.
    pub aqm: Configured,
    /// What can change.
    pub settings: sluice_kernel::Settings,
    /// What cannot; for one interface, shaped, with all that can be told.
    pub fixed: Fixed,
}

impl Ready {
    /// `owner` is the process that takes the kind away; 0 if it is to stay.
    ///
    /// # Errors
    /// What a qdisc cannot do, what the compiler says, or an object that cannot be read.
    pub fn new(settings: &Settings, options: &ObjectOptions, owner: u32) -> Result<Self, Failure> {
        let marks_at = options.marks_at.as_deref().map(device).transpose()?;
        let (aqm, words) = words(settings, owner)?;
        if words.ecn && marks_at.is_none() {
            return Err(Failure(
                "in the kernel, ecn takes --marks-at: a BPF qdisc cannot write to packets, so a \
                 second program sets marks where they come in behind it, at the other end of a veth"
                    .into(),
            ));
        }
        let name = aqm_of(&settings.forward);
        let object = match &options.object {
            Some(path) => Object {
                bytes: fs::read(path)
                    .map_err(|error| Failure(format!("{}: {error}", path.display())))?,
                name,
            },
            None => compiled(&name)?,
        };
        Ok(Self {
            object,
            aqm,
            fixed: Fixed {
                instances: 1,
                most_packets: words.limit_packets,
                is_shaped: true,
                tells: true,
                marks_at,
            },
            settings: words,
        })
    }
}

/// An interface as options name it.
///
/// # Errors
/// If that is no name.
pub fn device(text: &str) -> Result<Device, Failure> {
    text.parse()
        .map_err(|what| Failure(format!("{text}: {what}")))
}

/// An AQM's qdisc.
///
/// # Errors
/// If there is no such AQM, or if the compiler refuses it.
pub fn compiled(aqm: &str) -> Result<Object, Failure> {
    let (class, own) = verify::chosen(aqm)?;
    Ok(compile(Program::Qdisc, class, own.as_deref())?)
}

/// The AQM's name or header.
pub fn aqm_of(link: &LinkSettings) -> String {
    match &link.discipline.aqm {
        AqmName::Named(name) => name.clone(),
        AqmName::Header(path) => path.display().to_string(),
        AqmName::Foreign(_) => unreachable!("settings have no AQM of a program"),
    }
}

/// The AQM of settings, and what else can change while a qdisc is at work.
///
/// # Errors
/// What a qdisc cannot do.
pub fn words(
    settings: &Settings,
    owner: u32,
) -> Result<(Configured, sluice_kernel::Settings), Failure> {
    let link = &settings.forward;
    if link.discipline.scheduler != Scheduler::Fifo(Fifo {}) {
        return Err(Failure("in the kernel, scheduler must be fifo".into()));
    }
    let aqm = link.discipline.configured();
    Ok((
        aqm.expect("settings have no AQM of a program"),
        sluice_kernel::Settings {
            rate_bps: link.rate_bps,
            limit_packets: link.buffer.limit,
            limit_bytes: link.buffer.limit_bytes,
            victim: link.discipline.victim(&link.buffer).into(),
            ecn: link.ecn(),
            seed: settings.seed,
            owner,
        },
    ))
}
