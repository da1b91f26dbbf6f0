//! What a kind of qdisc is set to: `struct fixed` and `struct settings` of `instance.bpf.h`.

use sluice_aqm::Victim;

use crate::Device;

/// Bytes of `struct settings`.
pub(crate) const SETTINGS_BYTES: usize = 56;

/// How flows are spread over several queues, and which of those sends next. `Scheduler` of
/// `sluice-queue` says what each is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Stochastic fair queueing.
    Sfq,
    /// Deficit round robin.
    Drr,
    /// Flow queueing, RFC 8290.
    Fq,
}

/// What holds as long as the kind is there.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// Interfaces that it may stand before.
    pub instances: u32,
    /// Packets that each may be set to hold.
    pub most_packets: u32,
    /// Whether packets leave at the link's rate; else the interface sets the pace.
    pub is_shaped: bool,
    /// Whether it keeps distributions, and samples of packets.
    pub tells: bool,
    /// The scheduler and the number of its queues; `None`: one queue.
    pub flow_queues: Option<(Order, u32)>,
    /// Bytes of a log of decisions, a power of 2 and some pages; 0: none.
    pub log_bytes: u32,
    /// Where packets come in behind its interfaces, if early drops shall become marks.
    pub marks_at: Vec<Device>,
    /// Whether it stays when this process ends.
    pub stays: bool,
}

impl Fixed {
    /// Places of an instance: a power of 2, with some to spare, so that the limit can be raised.
    pub(crate) fn places(&self) -> u32 {
        (2 * self.most_packets).next_power_of_two()
    }

    /// Queues of an instance.
    pub(crate) fn queues(&self) -> u32 {
        self.flow_queues.map_or(1, |(_, queues)| queues)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let marks = !self.marks_at.is_empty();
        let order: u32 = match self.flow_queues {
            None | Some((Order::Sfq, _)) => 0,
            Some((Order::Drr, _)) => 1,
            Some((Order::Fq, _)) => 2,
        };
        let words = [
            self.places(),
            self.is_shaped.into(),
            self.tells.into(),
            marks.into(),
            self.instances,
            order,
            self.queues(),
        ];
        words.map(u32::to_ne_bytes).concat()
    }
}

/// What can change while a qdisc is at work, besides the parameters of its AQM.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Of the link, bits/s, at least 1.
    pub rate_bps: u64,
    /// Packets that may wait.
    pub limit_packets: u32,
    /// Their bytes, if those are limited, too.
    pub limit_bytes: Option<u64>,
    /// How long the salt of the flows' hash holds, ns; 0: for ever.
    pub perturbation_ns: u64,
    /// What a flow queue may send in its turn.
    pub quantum_bytes: u32,
    /// Which packet goes.
    pub victim: Victim,
    /// Whether early drops of packets that can be marked become marks.
    pub ecn: bool,
    /// Of the random words that the AQM is shown.
    pub seed: u64,
}

impl Settings {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let victim: u32 = match self.victim {
            Victim::Tail => 0,
            Victim::Front => 1,
            Victim::Random => 2,
        };
        let limit_bytes = self.limit_bytes.unwrap_or(u64::MAX);
        let wide = [
            self.rate_bps.max(1),
            self.seed,
            limit_bytes,
            self.perturbation_ns,
            self.quantum_bytes.into(),
        ];
        // the last fills the struct up
        let narrow = [self.limit_packets, victim, self.ecn.into(), 0];
        [
            wide.map(u64::to_ne_bytes).concat(),
            narrow.map(u32::to_ne_bytes).concat(),
        ]
        .concat()
    }
}
