//! Rates in time: steps in the scenario itself, or a file.

use sluice_link::{Service, Step};

use crate::{
    limits::{Limits, at_least},
    network::rate_file::{MOST_STEPS, Varying},
    ns,
    reader::Reader,
    table::{kinds, table},
};

pub(super) const TIME: Limits = at_least(0.0).at_most(86.4e6).unit("s");
pub(super) const RATE: Limits = at_least(0.0)
    .at_most(1e14)
    .whole_below(50_000.0)
    .unit("bits/s");

table! {
    /// A rate from a time on.
    pub struct RateStep {
        /// When it begins.
        time_s: f64, TIME;
        /// Rate from then on; 0: an outage.
        rate_bps: f64, RATE;
    }
}

table! {
    /// Rates in steps. Until the first one the link has the topology's rate, and the last one stays.
    pub struct Steps kind "steps" checked by sensible {
        /// The steps, in the order of their times.
        steps: Vec<RateStep>, at_least(0.0).items(1, MOST_STEPS);
    }
}

impl Steps {
    fn sensible(&self, reader: &mut Reader) {
        if let Err(what) = self.service() {
            reader.within("steps", |reader| reader.say(what));
        }
    }

    fn service(&self) -> Result<Service, String> {
        let steps = self.steps.iter().map(|step| Step {
            from_ns: ns(step.time_s),
            rate_bps: step.rate_bps.round_ties_even() as u64,
        });
        Service::steps(steps.collect())
    }
}

table! {
    /// Rates or opportunities in a file.
    ///
    /// A CSV file with the header `time_s,rate_bps` has a step in each row, as `steps`. A trace of
    /// Mahimahi has a time in ms in each row, rising, equal ones allowed, at which 1504 bytes may
    /// cross; it repeats, with the last time as period. A packet takes 4 bytes more than its own.
    pub struct RateFile kind "file" {
        /// The file.
        path: Varying;
    }
}

kinds! {
    /// The rate of a link in time.
    pub enum Rate { Steps, RateFile }
}

impl Rate {
    /// Returns how the link sends.
    ///
    /// # Errors
    /// If the file cannot be read, or has no such table.
    pub fn service(&self) -> Result<Service, String> {
        match self {
            Self::Steps(steps) => steps.service(),
            Self::RateFile(file) => file.path.service().cloned(),
        }
    }
}
