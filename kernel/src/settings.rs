//! Settings of a kind of qdisc: `fixed` and `struct settings` of `instance.bpf.h`.

use sluice_aqm::Victim;

use crate::{
    Device,
    shared::{Layout, bytes, layout},
};

/// Names of `enum victim`.
pub(crate) const VICTIMS: [&str; 3] = ["TAIL", "FRONT", "RANDOM"];

/// `struct fixed`; a switch is 0 or 1.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct CFixed {
    places: u32,
    is_shaped: u32,
    sampled: u32,
    marks: u32,
    instances: u32,
    lanes: u32,
    varies: u32,
    band_lanes: u32,
}

impl CFixed {
    pub fn layout() -> Layout {
        layout!(
            fixed = CFixed {
                places,
                is_shaped,
                sampled,
                marks,
                instances,
                lanes,
                varies,
                band_lanes
            }
        )
    }
}

/// `struct settings`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct CSettings {
    pub rate_bps: u64,
    seed: u64,
    limit_bytes: u64,
    limit_packets: u32,
    victim: u32,
    ecn: u32,
    unused: u32,
}

impl CSettings {
    pub fn layout() -> Layout {
        layout!(
            settings = CSettings {
                rate_bps,
                seed,
                limit_bytes,
                limit_packets,
                victim,
                ecn,
                unused
            }
        )
    }
}

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
        let fixed = CFixed {
            places: self.places(),
            is_shaped: self.is_shaped.into(),
            sampled: self.sampled,
            marks: (!self.marks_at.is_empty()).into(),
            instances: self.instances,
            lanes: self.lanes,
            varies: self.varies.into(),
            band_lanes: self.band_lanes,
        };
        // SAFETY: its layout is dense, which a test checks.
        unsafe { bytes(&fixed) }
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
        let settings = CSettings {
            rate_bps: self.rate_bps.max(1),
            seed: self.seed,
            limit_bytes: self.limit_bytes.unwrap_or(u64::MAX),
            limit_packets: self.limit_packets,
            victim: match self.victim {
                Victim::Tail => 0,
                Victim::Front => 1,
                Victim::Random => 2,
            },
            ecn: self.ecn.into(),
            unused: 0,
        };
        // SAFETY: its layout is dense, which a test checks.
        unsafe { bytes(&settings) }
    }
}
