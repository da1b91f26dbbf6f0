//! Scenarios of the slotted queue, which is simulated or solved as a Markov chain.

use sluice_traffic::Modulator;

use crate::{
    capture::Recorded,
    discipline::{Discipline, check_names},
    limits::{Limits, above, at_least},
    queue::Queue,
    reader::Reader,
    table::{kinds, table},
};

const PROBABILITY: Limits = at_least(0.0).at_most(1.0);

/// Duration of a slot for an AQM's clock if the scenario gives none, ns.
const SLOT_NS: u64 = 1_000_000;
/// Greatest time of an AQM's clock, ns.
const MOST_NS: u64 = 1 << 63;

table! {
    /// A packet in each slot with the same probability, independently: the slotted Poisson process.
    pub struct GeometricArrivals kind "geometric" {
        /// Packets per slot.
        rate: f64, PROBABILITY;
    }
}

table! {
    /// Bursts at several time-scales: the self-similar modulator of S. Robert.
    pub struct SelfSimilarArrivals kind "self-similar" checked by exists {
        /// Packets per slot, on average.
        rate: f64, at_least(1e-9).below(1.0);
        /// Ratio of successive rates of leaving the state that sends; a larger one spreads the
        /// time-scales further.
        a: f64, above(1.0);
        /// States of the modulator: one more than the number of time-scales.
        states: u32 = 5, at_least(2.0).at_most(20.0);
    }
}

impl SelfSimilarArrivals {
    fn exists(&self, reader: &mut Reader) {
        if let Err(what) = self.modulator() {
            reader.say(what);
        }
    }

    /// Returns the modulator.
    ///
    /// # Errors
    /// If no modulator has this mean and this `a`.
    pub fn modulator(&self) -> Result<Modulator, String> {
        Modulator::of_mean(self.rate, self.a, self.states)
    }
}

table! {
    /// A packet in each slot with a probability that follows exact fractional Gaussian noise.
    pub struct FgnArrivals kind "fgn" {
        /// Mean of the probability.
        rate: f64, PROBABILITY;
        /// Standard deviation of the probability, before values below 0 and above 1 are cut.
        deviation: f64, at_least(0.0).at_most(10.0);
        /// Hurst parameter of the noise.
        hurst: f64, above(0.0).below(1.0);
        /// Number of slots with the same value of the noise.
        frame: u64 = 100, at_least(1.0).at_most(1e12).unit("slots");
    }
}

table! {
    /// The packets of a capture, each in the slot of its time-stamp.
    pub struct ReplayArrivals kind "replay" {
        /// The pcap or pcapng file.
        capture: Recorded;
    }
}

kinds! {
    /// Where packets come from.
    pub enum Arrivals {
        GeometricArrivals,
        SelfSimilarArrivals,
        FgnArrivals,
        ReplayArrivals,
    }
}

table! {
    /// A service ends in each slot with the same probability.
    pub struct GeometricService kind "geometric" {
        /// Probability that the service ends in a slot.
        mu: f64, above(0.0).at_most(1.0);
    }
}

table! {
    /// Every service takes the same time.
    pub struct DeterministicService kind "deterministic" {
        /// Service time.
        slots: u64, at_least(1.0).at_most(1e9).unit("slots");
    }
}

table! {
    /// A link: a packet takes the time that follows from its size, rounded up to whole slots.
    pub struct PacketSizeService kind "packet-size" {
        /// Rate of the link.
        rate_bps: f64, above(0.0).at_most(1e15).unit("bits/s");
    }
}

kinds! {
    /// How long the server works on a packet.
    pub enum Service { GeometricService, DeterministicService, PacketSizeService }
}

table! {
    /// Everything that determines a comparison in the slotted world.
    pub struct Scenario checked by consistent {
        /// Title, one line.
        title: String = String::new();
        /// Where packets come from.
        arrivals: Arrivals;
        /// How long the server works on a packet.
        service: Service;
        /// The buffer.
        queue: Queue = Queue::usual();
        /// The disciplines that are compared.
        disciplines: Vec<Discipline>, at_least(0.0).items(1, usize::MAX);
        /// Length of one replication; not given: that of the capture, if one is replayed.
        slots: Option<u64>, at_least(1000.0).at_most(1e15).unit("slots");
        /// Number of independent repetitions; not given: 8, or 1 if a capture is replayed, since
        /// each repetition would have the same packets.
        replications: Option<u32>, at_least(1.0).at_most(1000.0);
        /// Seed of every random stream; all disciplines see the same arrivals.
        seed: u64 = 1, at_least(0.0).below(18_446_744_073_709_551_616.0);
        /// Duration of a slot; not given: times are in slots, and an AQM's clock takes a slot for
        /// a millisecond.
        slot_s: Option<f64>, at_least(1e-9).at_most(1e3).unit("s");
        /// Size of every packet, except of those of a capture.
        packet_bytes: u32 = 500, at_least(1.0).at_most(65_535.0).unit("bytes");
    }
}

impl Scenario {
    fn consistent(&self, reader: &mut Reader) {
        check_names(&self.disciplines, reader);
        if self.slot_s.is_none()
            && (self.recorded().is_some() || matches!(self.service, Service::PacketSizeService(_)))
        {
            reader.say("slot_s is missing: a capture or a link's rate needs a slot's length");
            return;
        }
        if self.recorded().is_some() && self.replications() != 1 {
            reader.say(format!(
                "replications = {} must be 1: a capture brings the same packets each time",
                self.replications()
            ));
        }
        let slots = match self.read_duration() {
            Ok(slots) => slots,
            Err(what) => return reader.say(what),
        };
        let most = MOST_NS / self.slot_ns();
        if slots > most {
            reader.say(format!(
                "slots = {slots} must be at most {most}: with {} ns a slot an AQM's clock counts no \
                 further",
                self.slot_ns()
            ));
        }
    }

    /// Returns the capture that is replayed, if there is one.
    pub fn recorded(&self) -> Option<&Recorded> {
        match &self.arrivals {
            Arrivals::ReplayArrivals(replay) => Some(&replay.capture),
            _ => None,
        }
    }

    /// Returns the number of replications of each discipline.
    pub fn replications(&self) -> u32 {
        let usual = if self.recorded().is_some() { 1 } else { 8 };
        self.replications.unwrap_or(usual)
    }

    /// Returns the duration of a slot for an AQM's clock, ns.
    pub fn slot_ns(&self) -> u64 {
        self.slot_s.map_or(SLOT_NS, crate::ns)
    }

    /// Returns the slot in which each packet of the capture arrives, counted from the first one's.
    ///
    /// # Errors
    /// If the capture cannot be read.
    pub fn capture_slots(&self, recorded: &Recorded) -> Result<Vec<u64>, String> {
        let slot_ns = self.slot_s.unwrap_or(1e-9 * SLOT_NS as f64) * 1e9;
        let packets = recorded.packets()?;
        let slot = |time_ns: &u64| (*time_ns as f64 / slot_ns) as u64;
        Ok(packets.time_ns.iter().map(slot).collect())
    }

    fn read_duration(&self) -> Result<u64, String> {
        let Some(recorded) = self.recorded() else {
            return self
                .slots
                .ok_or_else(|| "slots is missing: say how long a replication lasts".into());
        };
        let last = self.capture_slots(recorded)?.last().copied();
        let whole = last.map_or(0, |last| last + 1);
        match self.slots {
            Some(slots) if slots > whole => Err(format!(
                "slots = {slots} must be at most {whole}, where the capture ends"
            )),
            slots => Ok(slots.unwrap_or(whole)),
        }
    }

    /// Returns the number of slots in a replication.
    ///
    /// # Panics
    /// If the scenario was not read, and its parts do not suit each other.
    pub fn duration_slots(&self) -> u64 {
        self.read_duration()
            .expect("a scenario is checked when it is read")
    }
}
