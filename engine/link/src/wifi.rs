//! Wi-Fi: packets leave in aggregates, each after a contention for the air.
//!
//! The airtime of an aggregate is that of the model in T. Høiland-Jørgensen et al., "Ending the
//! Anomaly" (USENIX ATC 2017), section 2.2.1: contention, preamble, the packets with their headers,
//! block ACK. Times are those of IEEE 802.11n at 5 GHz for best effort, as ns-3 has them
//! (`src/wifi/model` at 140646449: `non-ht/ofdm-phy`, `ht/ht-phy`, `wifi-mac`, `block-ack-type`): SIFS
//! 16 us, slots of 9 us, AIFS of SIFS and 3 slots, CWmin 15, a preamble of 32 us and 4 us for each
//! stream. The contention is its mean, and stations take turns, as their chances are the same.

use crate::{
    clock::{Clock, Ticks},
    service::LastPart,
};

/// AIFS, the mean of a backoff of 0 to 15 slots, and the preamble of two streams, s.
const ACCESS_S: f64 = 43e-6 + 7.5 * 9e-6 + 40e-6;
/// SIFS and a block ACK of 32 bytes at 24 Mbit/s: a preamble of 20 us and 3 symbols of 4 us, s.
const ACKNOWLEDGED_S: f64 = 16e-6 + 32e-6;
/// What each packet has beside its bytes: delimiter, header with QoS, LLC, checksum; and their sum is
/// a multiple of 4.
const HEADER_BYTES: u32 = 4 + 26 + 8 + 4;
/// An aggregate ends with as many packets, bytes and so much time on the air (the window of a block
/// ACK; IEEE 802.11n; what Linux's ath9k allows, `ath_lookup_rate` of its `xmit.c`).
const MOST_PACKETS: u32 = 64;
const MOST_BYTES: u32 = 65_535;
const MOST_S: f64 = 0.004;
/// Of the packets in the mean rate.
const FULL_BYTES: u32 = 1500;

/// One station's link.
#[derive(Clone, Debug, PartialEq)]
pub struct Wifi {
    /// Rate on the air, bits/s.
    pub rate_bps: u64,
    /// Other stations, which always send full aggregates at the same rate.
    pub others: u32,
}

impl Wifi {
    /// Returns what a station that is always busy sends with full packets, bits/s.
    pub(crate) fn rate_bps(&self) -> u64 {
        let packets = self.full();
        let turn_s = f64::from(self.others + 1) * self.turn_s(packets);
        (8.0 * f64::from(packets * FULL_BYTES) / turn_s).round() as u64
    }

    /// Returns the number of full packets in a full aggregate, at least 1.
    fn full(&self) -> u32 {
        let each = on_air(FULL_BYTES);
        let in_time = MOST_S * self.rate_bps as f64 / 8.0 / f64::from(each);
        MOST_PACKETS
            .min(MOST_BYTES / each)
            .min(in_time as u32)
            .max(1)
    }

    /// Returns how long a turn of an aggregate of full packets takes, s.
    fn turn_s(&self, packets: u32) -> f64 {
        ACCESS_S + self.seconds(packets * on_air(FULL_BYTES)) + ACKNOWLEDGED_S
    }

    fn seconds(&self, bytes: u32) -> f64 {
        8.0 * f64::from(bytes) / self.rate_bps as f64
    }
}

/// Returns the bytes of a packet in an aggregate.
fn on_air(bytes: u32) -> u32 {
    (bytes + HEADER_BYTES).next_multiple_of(4)
}

/// The aggregate that was sent last: it takes the packets that come while it is sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Aggregate {
    packets: u32,
    bytes: u32,
    end: Ticks,
}

impl Aggregate {
    /// Returns the last part of the transmission of a packet of `bytes` that starts at `start`.
    pub fn last_part(&mut self, of: &Wifi, clock: Clock, start: Ticks, bytes: u32) -> LastPart {
        let bytes = on_air(bytes);
        let follows = start <= self.end && self.packets > 0;
        // the air is free again once the last aggregate is acknowledged
        let free = match self.packets {
            0 => start,
            _ => (self.end).saturating_add(clock.rounded(ACKNOWLEDGED_S, clock.spare(self.end))),
        };
        let all = self.bytes + bytes;
        let has_room =
            self.packets < MOST_PACKETS && all <= MOST_BYTES && of.seconds(all) <= MOST_S;
        let from = if follows && has_room {
            start
        } else {
            let before_s = f64::from(of.others) * of.turn_s(of.full()) + ACCESS_S;
            (self.packets, self.bytes) = (0, 0);
            let start = start.max(free);
            start.saturating_add(clock.rounded(before_s, clock.spare(start)))
        };
        self.packets += 1;
        self.bytes += bytes;
        let seconds = of.seconds(bytes);
        self.end = from.saturating_add(clock.rounded(seconds, clock.spare(from)).max(1));
        LastPart { from, seconds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Service, Transmitter};

    fn link(rate_bps: u64, others: u32) -> (Transmitter, Wifi) {
        let wifi = Wifi { rate_bps, others };
        let service = Some(Service::Wifi(wifi.clone()));
        (Transmitter::new(1, 0).with_service(service), wifi)
    }

    /// Against the sum by hand: 42 packets of 1544 bytes are 64,848 bytes, a 43rd would be too many.
    #[test]
    fn a_busy_link_sends_full_aggregates() {
        let clock = Clock::endless();
        for others in [0, 3] {
            let (mut link, wifi) = link(144_400_000, others);
            let aggregates = 1000;
            for _ in 0..42 * aggregates {
                link.send(clock, 0, 1500);
            }
            let turn_s = (43.0 + 67.5 + 40.0 + 48.0) * 1e-6 + 42.0 * 1544.0 * 8.0 / 144.4e6;
            let rate_bps = 42.0 * 12_000.0 / turn_s / f64::from(others + 1);
            // of these constants the sum is 132.9 Mbit/s for a station by itself
            assert!((wifi.rate_bps() as f64 / rate_bps - 1.0).abs() < 1e-8);
            let took_s = clock.ns(link.free()) as f64 / 1e9;
            let found_bps = f64::from(aggregates) * 42.0 * 12_000.0 / took_s;
            assert!(
                (found_bps / rate_bps - 1.0).abs() < 1e-4,
                "{found_bps} {rate_bps}"
            );
        }
    }

    #[test]
    fn a_slow_station_is_bound_by_its_airtime() {
        // 7.2 Mbit/s: 4 ms are 3600 bytes, two packets of 1544
        let (mut link, wifi) = link(7_200_000, 0);
        assert_eq!(wifi.full(), 2);
        let clock = Clock::endless();
        let ends_us = [0; 3].map(|now| {
            link.send(clock, now, 1500);
            clock.ns(link.free()) as f64 / 1e3
        });
        let each = 1544.0 * 8.0 / 7.2;
        let wanted = [
            150.5 + each,
            150.5 + 2.0 * each,
            150.5 + 2.0 * each + 48.0 + 150.5 + each,
        ];
        for (found, wanted) in ends_us.into_iter().zip(wanted) {
            assert!((found - wanted).abs() < 0.01, "{found} {wanted}");
        }
    }

    /// An acknowledgement takes its airtime, however soon after it the next packet comes.
    #[test]
    fn no_packet_is_sent_earlier_for_coming_later() {
        let clock = Clock::endless();
        let ends_ns = [0, 1, 1_000, 47_000, 48_000, 49_000].map(|late_ns| {
            let (mut link, _) = link(7_200_000, 0);
            for _ in 0..2 {
                link.send(clock, 0, 1500);
            }
            let now = clock.ticks(clock.ns(link.free()) + late_ns);
            link.send(clock, now, 1500);
            clock.ns(link.free())
        });
        assert!(ends_ns.is_sorted(), "{ends_ns:?}");
        // the 48 us of the acknowledgement pass in any case
        assert!(ends_ns[4] - ends_ns[0] <= 2, "{ends_ns:?}");
        assert!(ends_ns[5] - ends_ns[4] >= 999, "{ends_ns:?}");
    }

    #[test]
    fn a_packet_that_finds_it_idle_contends_alone() {
        let (mut link, _) = link(144_400_000, 0);
        let clock = Clock::endless();
        for ms in [0, 5, 9] {
            link.send(clock, clock.ticks(ms * 1_000_000), 96);
            let took_us = clock.ns(link.free()) as f64 / 1e3 - ms as f64 * 1e3;
            // 96 and 42 bytes are 138, in fours 140
            assert!((took_us - 150.5 - 1120.0 / 144.4).abs() < 0.01, "{took_us}");
        }
    }
}
