//! Rates in time: steps in the scenario itself, a file, or the model of a medium.

use sluice_link::{Docsis, Service, Step, Wifi};

use crate::{
    limits::{Limits, above, at_least},
    network::{
        lte::Lte,
        ramp::Ramp,
        rate_file::{MOST_STEPS, Varying},
    },
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

/// A rate that is not 0.
const MOVING: Limits = at_least(1000.0).at_most(1e14).unit("bits/s");

table! {
    /// Wi-Fi: packets leave in aggregates, each after a contention for the air.
    ///
    /// An aggregate has at most 64 packets, 65,535 bytes and 4 ms. Its airtime is that of the model of
    /// Høiland-Jørgensen et al. (USENIX ATC 2017), with the times of IEEE 802.11n at 5 GHz.
    pub struct WifiLink kind "wifi" {
        /// Rate on the air: two streams of 20 MHz by default (MCS 15).
        rate_bps: f64 = 144.4e6, MOVING;
        /// Other stations, which take turns with it: they always send full aggregates at this rate.
        others: u32 = 0, at_least(0.0).at_most(1000.0).unit("stations");
    }
}

table! {
    /// The upstream of a cable modem (DOCSIS): what it sends, it has requested, and was granted.
    ///
    /// A packet that finds the modem idle waits for the next interval, and then for its grant. While
    /// packets wait, each interval has a grant, sent at the channel's rate.
    pub struct DocsisLink kind "docsis" checked by sensible {
        /// What the modem may send.
        rate_bps: f64 = 10e6, MOVING;
        /// Rate of the channel: 6.4 MHz with 64-QAM by default.
        channel_bps: f64 = 30.72e6, MOVING;
        /// Length of an interval.
        map_s: f64 = 0.002, at_least(1e-5).at_most(1e8).unit("s");
        /// Time from a request to its grant.
        grant_s: f64 = 0.004, above(0.0).at_most(10.0).unit("s");
    }
}

impl DocsisLink {
    fn sensible(&self, reader: &mut Reader) {
        if self.channel_bps < self.rate_bps {
            reader.say(format!(
                "channel_bps = {} must not be below rate_bps = {} (bits/s)",
                self.channel_bps, self.rate_bps
            ));
        }
    }
}

kinds! {
    /// The rate of a link in time.
    pub enum Rate { Steps, Ramp, RateFile, Lte, WifiLink, DocsisLink }
}

impl Rate {
    /// Returns how the link sends.
    ///
    /// # Errors
    /// If the file cannot be read, or has no such table.
    pub fn service(&self) -> Result<Service, String> {
        match self {
            Self::Steps(steps) => steps.service(),
            Self::Ramp(ramp) => ramp.service(),
            Self::RateFile(file) => file.path.service().cloned(),
            Self::Lte(lte) => lte.service(),
            Self::WifiLink(link) => Ok(Service::Wifi(Wifi {
                rate_bps: link.rate_bps.round_ties_even() as u64,
                others: link.others,
            })),
            Self::DocsisLink(link) => Ok(Service::Docsis(Docsis {
                rate_bps: link.rate_bps.round_ties_even() as u64,
                channel_bps: link.channel_bps.round_ties_even() as u64,
                map_ns: ns(link.map_s),
                grant_ns: ns(link.grant_s),
            })),
        }
    }
}
