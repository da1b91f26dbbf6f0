//! Settings of a kind of qdisc: `fixed` and `struct settings` of `instance.bpf.h`.

use sluice_aqm::Victim;

use crate::Device;

/// Bytes of `struct settings`.
pub(crate) const SETTINGS_BYTES: usize = 40;

/// Settings that cannot change while the kind exists.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// Interfaces that can use it at a time.
    pub instances: u32,
    /// Limit for which it is made, packets; a later limit may exceed it as far as the places allow.
    pub most_packets: u32,
    /// True: packets leave at the link's rate. False: the interface sets the pace.
    pub is_shaped: bool,
    /// It keeps distributions, and samples one packet of so many, on average; 0: neither.
    pub sampled: u32,
    /// True: the rate changes while packets wait, and a packet in transmission goes on at the new one.
    pub varies: bool,
    /// Lanes of the scheduler; without one 1.
    pub lanes: u32,
    /// Lanes of each of its bands, whose marks are counted apart; 0: it has no bands.
    pub band_lanes: u32,
    /// Bytes of the log of decisions, a power of 2 and at least a page; 0: no log.
    pub log_bytes: u32,
    /// Devices at whose ingress marks are set, behind the interfaces; empty: no marks.
    pub marks_at: Vec<Device>,
    /// True: it stays when this process ends.
    pub stays: bool,
}

impl Fixed {
    /// Returns the places of an instance: a power of 2, at least twice the limit, because the limit
    /// must not exceed half of the places.
    pub(crate) fn places(&self) -> u32 {
        (2 * self.most_packets).next_power_of_two()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let marks = !self.marks_at.is_empty();
        let words = [
            self.places(),
            self.is_shaped.into(),
            self.sampled,
            marks.into(),
            self.instances,
            self.lanes,
            self.varies.into(),
            self.band_lanes,
        ];
        words.map(u32::to_ne_bytes).concat()
    }
}

/// Settings that can change while a qdisc runs, besides the parameters of AQM and scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Rate of the link, bits/s, at least 1.
    pub rate_bps: u64,
    /// Packets that may wait.
    pub limit_packets: u32,
    /// Bytes that may wait; `None`: no limit in bytes.
    pub limit_bytes: Option<u64>,
    /// Packet that is lost when one must be dropped.
    pub victim: Victim,
    /// True: early drops of packets that can be marked become marks.
    pub ecn: bool,
    /// Seed of the random words that the AQM gets.
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
        let wide = [self.rate_bps.max(1), self.seed, limit_bytes];
        // the last word is padding
        let narrow = [self.limit_packets, victim, self.ecn.into(), 0];
        [
            wide.map(u64::to_ne_bytes).concat(),
            narrow.map(u32::to_ne_bytes).concat(),
        ]
        .concat()
    }
}
