//! One link of a gate, with the buffer and the discipline before it.

use std::path::PathBuf;

use sluice_aqm::{Configured, Running};
use sluice_link::Service;
use sluice_queue::Packet;
use sluice_scenario::{AqmName, Discipline, Params, Queue, Scheduler};
use sluice_wire::WirePlan;

use super::ConfiguredDiscipline;

/// Largest limit of a queue, packets.
pub(super) const MOST_PACKETS: u32 = 100_000;
/// Least length of a packet, bytes: the header of IPv4.
pub const LEAST_BYTES: u64 = 20;

/// How the rate of a link varies, from the start of the program on.
#[derive(Clone, Debug, PartialEq)]
pub struct Varying {
    /// The rate in time.
    pub service: Service,
    /// The file that it is from.
    pub file: Option<PathBuf>,
}

impl Varying {
    /// Returns the same rates, all so much later.
    pub(super) fn later(self, by_ns: u64) -> Self {
        Self {
            service: self.service.later(by_ns),
            ..self
        }
    }
}

/// A link, with the buffer and the discipline before it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSettings {
    /// Rate, bits/s; if it varies, that before the first step.
    pub rate_bps: u64,
    /// What happens to packets behind it; `None`: nothing.
    pub wire: Option<WirePlan>,
    /// How its rate varies.
    pub varying: Option<Varying>,
    /// Propagation delay, ns.
    pub delay_ns: u64,
    /// Bytes that each packet takes on the link besides the IP packet.
    pub overhead_bytes: u32,
    /// The buffer.
    pub buffer: Queue,
    /// The discipline.
    pub discipline: ConfiguredDiscipline,
}

impl LinkSettings {
    /// Creates an empty queue before an idle link.
    pub fn queue<P: Packet>(&self) -> sluice_queue::Queue<P, Running> {
        sluice_queue::Queue::new(
            self.discipline.spec.on(&self.buffer),
            self.in_lanes(),
            |lane| self.aqm_of(lane).start(),
            self.rate_bps,
        )
    }

    /// Returns the same link with another discipline.
    pub fn with_discipline(&self, discipline: ConfiguredDiscipline) -> Self {
        Self {
            discipline,
            ..self.clone()
        }
    }

    /// Returns the scheduler, or the coupled discipline; `None`: one queue, first in, first out.
    pub fn in_lanes(&self) -> Option<&Configured> {
        self.discipline.in_lanes.as_ref()
    }

    /// True if packets wait in the same lanes under other settings: both have one queue, or the
    /// scheduler of one goes on with the parameters of the other.
    pub fn keeps_lanes(&self, next: &Self) -> bool {
        match (self.in_lanes(), next.in_lanes()) {
            (None, None) => true,
            (Some(own), Some(next)) => sluice_aqm::Scheduler::can_become(own, next),
            _ => false,
        }
    }

    /// Returns the AQM of the queue with this number.
    fn aqm_of(&self, lane: u32) -> &Configured {
        let own = self.discipline.of_classes.get(lane as usize);
        own.unwrap_or(&self.discipline.aqm)
    }

    /// Returns how it sends if its rate varies.
    pub fn service(&self) -> Option<&Service> {
        self.varying.as_ref().map(|varying| &varying.service)
    }

    /// Puts a queue at work under these settings; [`sluice_queue::Queue::retune`] says what stays.
    pub fn retune<P: Packet>(
        &self,
        now_ns: u64,
        queue: &mut sluice_queue::Queue<P, Running>,
        random: &mut impl FnMut() -> u64,
    ) {
        let scheduler = self.in_lanes();
        queue.retune(
            now_ns,
            (self.discipline.spec.on(&self.buffer), scheduler),
            |lane, aqm| aqm.retune(self.aqm_of(lane)),
            |lane| self.aqm_of(lane).start(),
            random,
        );
    }

    /// True if early drops become marks.
    pub fn ecn(&self) -> bool {
        self.discipline.spec.ecn(&self.buffer)
    }

    /// Describes the link in one line.
    pub fn describe(&self) -> String {
        let (rate, delay) = (self.rate_bps as f64 / 1e6, self.delay_ns as f64 / 1e6);
        let rate = match &self.varying {
            None => format!("{rate} Mbit/s"),
            Some(Varying { file: None, .. }) => "a rate in steps".into(),
            Some(Varying {
                file: Some(file), ..
            }) => format!("the rate of {}", file.display()),
        };
        format!(
            "{rate}, {delay} ms, limit {}, {}",
            limit(self.buffer.limit, self.buffer.limit_bytes),
            self.discipline.spec.name()
        )
    }
}

/// Describes the limit of the queue: both limits if either of them can be reached first.
pub fn limit(packets: u32, bytes: Option<u64>) -> String {
    match bytes {
        None => format!("{packets} packets"),
        Some(bytes) if u64::from(packets) >= bytes / LEAST_BYTES => format!("{bytes} bytes"),
        Some(bytes) => format!("{packets} packets and {bytes} bytes"),
    }
}

/// Returns the same link with only a drop-tail queue that holds everything.
pub(super) fn plain(link: &LinkSettings) -> LinkSettings {
    let discipline = Discipline {
        aqm: AqmName::Named("drop_tail".into()),
        params: Params::default(),
        label: String::new(),
        scheduler: Scheduler::FIFO,
        classes: Vec::new(),
        victim: None,
        ecn: None,
    };
    LinkSettings {
        buffer: Queue {
            limit: MOST_PACKETS,
            limit_bytes: None,
            ..link.buffer.clone()
        },
        discipline: ConfiguredDiscipline::of(discipline).expect("it has no parameters"),
        ..link.clone()
    }
}
