//! Converts settings for the kernel.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use sluice_aqm::{Class, Configured, Scheduler, find_scheduler, schedulers};
use sluice_kernel::{Device, Fixed, KernelError, Object, Program, compile};
use sluice_scenario::AqmName;

use crate::{
    Failure,
    cli::ObjectOptions,
    settings::{LinkSettings, Settings},
};

/// On average one packet of so many is sampled, by which flows are known.
const SAMPLED: u32 = 32;
/// Greatest size of a compiled program, bytes.
const MOST_BYTES: u64 = 1 << 24;

impl From<KernelError> for Failure {
    fn from(error: KernelError) -> Self {
        Self(error.to_string())
    }
}

/// Everything that a kind of qdisc is made of.
pub struct Ready {
    /// The program.
    pub object: Object,
    /// The AQM, or one for each class of service.
    pub aqms: Vec<Configured>,
    /// The scheduler; `None`: one queue, first in, first out.
    pub scheduler: Option<Configured>,
    /// Settings that can change.
    pub settings: sluice_kernel::Settings,
    /// Settings that cannot change: for one interface, shaped, with distributions and samples.
    pub fixed: Fixed,
}

impl Ready {
    /// Prepares a kind; `log_megabytes` is the size of a log of all decisions.
    ///
    /// # Errors
    /// If a qdisc cannot do what the settings say, if the compiler fails, or if an object cannot be
    /// read.
    pub fn new(
        settings: &Settings,
        options: &ObjectOptions,
        log_megabytes: Option<u32>,
    ) -> Result<Self, Failure> {
        let marks_at = options
            .marks_at
            .iter()
            .map(|text| device(text))
            .collect::<Result<Vec<_>, _>>()?;
        let words = words(settings, settings.forward.rate_bps);
        if words.ecn && marks_at.is_empty() {
            return Err(Failure(
                "in the kernel, ecn takes --marks-at: a BPF qdisc cannot write to packets, so a \
                 second program sets marks where they come in behind it, at the other end of a veth"
                    .into(),
            ));
        }
        let aqms = aqms(&settings.forward);
        let scheduler = settings.forward.in_lanes().cloned();
        let program = Program::Qdisc {
            scheduler: scheduler.as_ref().map(|scheduler| &*scheduler.class().name),
            has_classes: has_classes(&settings.forward),
            log: log_megabytes.is_some(),
        };
        let object = match &options.object {
            Some(path) => Object {
                bytes: read_object(path)
                    .map_err(|error| Failure(format!("{}: {error}", path.display())))?,
                name: aqm_of(&settings.forward),
                program,
            },
            None => {
                let classes: Vec<&Class> = aqms.iter().map(Configured::class).collect();
                compile(program, &classes)?
            }
        };
        Ok(Self {
            object,
            aqms,
            fixed: Fixed {
                instances: 1,
                most_packets: words.limit_packets,
                is_shaped: true,
                sampled: SAMPLED,
                varies: settings.forward.varying.is_some(),
                lanes: scheduler.as_ref().map_or(1, Scheduler::lanes_of),
                band_lanes: scheduler
                    .as_ref()
                    .and_then(Scheduler::bands_of)
                    .map_or(0, |(_, lanes)| lanes as u32),
                // size of a ring buffer: a power of 2
                log_bytes: log_megabytes.map_or(0, |count| (count << 20).next_power_of_two()),
                marks_at,
                stays: false,
            },
            scheduler,
            settings: words,
        })
    }
}

/// Reads a compiled program; an endless file, such as a device, does not fill the memory.
fn read_object(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!(
            "an object must have at most {MOST_BYTES} bytes"
        )));
    }
    Ok(bytes)
}

/// Reads the name of an interface from an option.
///
/// # Errors
/// If it is no valid name.
pub fn device(text: &str) -> Result<Device, Failure> {
    text.parse()
        .map_err(|what| Failure(format!("{text}: {what}")))
}

/// Compiles the qdisc of an AQM, or of those of classes.
///
/// # Errors
/// If there is no such AQM, if it takes no scheduler, or if the compiler refuses it.
pub fn compiled(aqms: &[&String], program: Program) -> Result<Object, Failure> {
    let classes = aqms.iter().map(|aqm| sluice_scenario::aqm_class(aqm));
    let classes = classes.collect::<Result<Vec<_>, _>>().map_err(Failure)?;
    let has_scheduler = matches!(program, Program::Qdisc { scheduler, .. } if scheduler.is_some());
    if let Some(coupled) = classes
        .iter()
        .find(|class| class.is_coupled() && has_scheduler)
    {
        return Err(Failure(format!(
            "{} has queues of its own: it takes no --scheduler, and no class of service has it",
            coupled.name
        )));
    }
    Ok(compile(program, &classes)?)
}

/// Returns a scheduler.
///
/// # Errors
/// If there is none of that name.
pub fn scheduler(name: &str) -> Result<&'static Class, Failure> {
    find_scheduler(name).ok_or_else(|| {
        let known: Vec<&str> = schedulers().iter().map(|class| &*class.name).collect();
        Failure(format!(
            "--scheduler {name}: it must be one of {} (without it: first in, first out)",
            known.join(", ")
        ))
    })
}

/// True if a link's queues are classes of service.
fn has_classes(link: &LinkSettings) -> bool {
    !link.discipline.of_classes.is_empty()
}

/// Returns the AQM of a link's queues, or one for each class of service.
pub fn aqms(link: &LinkSettings) -> Vec<Configured> {
    match has_classes(link) {
        true => link.discipline.of_classes.clone(),
        false => vec![link.discipline.aqm.clone()],
    }
}

/// Returns the AQM's name, or the path of its header; the names of those of classes, in their order.
pub fn aqm_of(link: &LinkSettings) -> String {
    if has_classes(link) {
        let names = link
            .discipline
            .of_classes
            .iter()
            .map(|aqm| &*aqm.class().name);
        return names.collect::<Vec<_>>().join(", ");
    }
    match &link.discipline.spec.aqm {
        AqmName::Named(name) => name.clone(),
        AqmName::Header(path) => path.display().to_string(),
        AqmName::Foreign(_) | AqmName::Python(..) => {
            unreachable!("settings have no AQM of a program")
        }
    }
}

/// Returns the settings that can change while a qdisc is in use, besides the parameters of AQM
/// and scheduler.
pub fn words(settings: &Settings, rate_bps: u64) -> sluice_kernel::Settings {
    let link = &settings.forward;
    sluice_kernel::Settings {
        rate_bps,
        limit_packets: link.buffer.limit,
        limit_bytes: link.buffer.limit_bytes,
        victim: link.discipline.spec.victim(&link.buffer).into(),
        ecn: link.ecn(),
        seed: settings.seed,
    }
}
