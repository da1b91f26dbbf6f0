//! A discipline with everything that is made of it.

use std::path::Path;

use sluice_aqm::{AckFilter, Configured};
use sluice_scenario::Discipline;

use super::{SettingsError, syntax};

/// A discipline, and what it configures. Headers are taken as they were when it was read: a daemon
/// at work cannot read them again.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfiguredDiscipline {
    /// The AQM, scheduler, victim and marking; the AQM is one of `aqm/` or of a header.
    pub spec: Discipline,
    /// The configured AQM.
    pub aqm: Configured,
    /// Those of the classes of service.
    pub of_classes: Vec<Configured>,
    /// What divides the queue into several; `None`: one queue, first in, first out.
    pub in_lanes: Option<Configured>,
}

impl ConfiguredDiscipline {
    /// Configures a discipline that was read. Headers are read once more here, and not later.
    ///
    /// # Errors
    /// If a header has changed, and is wrong now.
    pub fn of(discipline: Discipline) -> Result<Self, SettingsError> {
        let aqm = discipline.configure();
        let aqm = aqm.map_err(|wrong| SettingsError(wrong.join("\n")))?;
        Ok(Self {
            aqm: aqm.expect("settings have no AQM of a program"),
            of_classes: discipline.of_classes(),
            in_lanes: discipline.in_lanes(),
            spec: discipline,
        })
    }

    /// Refuses a discipline that removes ACKs, where they cannot be, for this reason.
    ///
    /// # Errors
    /// If it does.
    pub(crate) fn without_ack_filter(&self, why: &str) -> Result<(), SettingsError> {
        match AckFilter::of(&self.aqm) {
            None => Ok(()),
            Some(_) => Err(SettingsError(format!("cake.ack_filter must be off: {why}"))),
        }
    }
}

/// Reads a discipline from the text of an option, and configures it.
///
/// # Errors
/// Names the option and what is wrong.
pub(crate) fn named(option: &str, text: &str) -> Result<ConfiguredDiscipline, SettingsError> {
    ConfiguredDiscipline::of(discipline(option, text)?)
}

/// Reads a discipline from the text of an option.
pub(super) fn discipline(option: &str, text: &str) -> Result<Discipline, SettingsError> {
    let refuse = |what: String| SettingsError(format!("{option} {what}"));
    let given = syntax::discipline(text).map_err(refuse)?;
    sluice_scenario::read(&given, Path::new("")).map_err(|error| refuse(error.to_string()))
}
