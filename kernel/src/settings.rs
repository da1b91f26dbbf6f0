//! What a kind of qdisc is set to: `struct fixed` and `struct settings` of `instance.bpf.h`.

use sluice_aqm::Victim;

use crate::Device;

/// Bytes of `struct settings`.
pub(crate) const SETTINGS_BYTES: usize = 40;

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
    /// Where packets come in behind the qdisc, if early drops shall become marks.
    pub marks_at: Option<Device>,
}

impl Fixed {
    /// Places of an instance: a power of 2, with some to spare, as one from whose middle a packet
    /// has gone is free again only when all before it have.
    pub(crate) fn places(&self) -> u32 {
        (2 * self.most_packets).next_power_of_two()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let marks = self.marks_at.is_some();
        let words = [
            self.places(),
            self.is_shaped.into(),
            self.tells.into(),
            marks.into(),
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
    /// Which packet goes.
    pub victim: Victim,
    /// Whether early drops of packets that can be marked become marks.
    pub ecn: bool,
    /// Of the random words that the AQM is shown.
    pub seed: u64,
    /// The process that is to take the kind away; 0 if it is to stay.
    pub owner: u32,
}

impl Settings {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let victim: u32 = match self.victim {
            Victim::Tail => 0,
            Victim::Front => 1,
            Victim::Random => 2,
        };
        let limit_bytes = self.limit_bytes.unwrap_or(u64::MAX);
        let wide = [self.rate_bps.max(1), self.seed, limit_bytes].map(u64::to_ne_bytes);
        let narrow = [self.limit_packets, victim, self.ecn.into(), self.owner];
        [wide.concat(), narrow.map(u32::to_ne_bytes).concat()].concat()
    }
}
