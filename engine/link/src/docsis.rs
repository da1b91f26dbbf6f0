//! The upstream of a cable modem (DOCSIS): what it sends, it has requested, and was granted.
//!
//! Time is divided into intervals, each described by a MAP. A packet that finds the modem idle is
//! requested at the next interval, and its grant comes a while after. While packets wait, requests
//! ride with what is sent, so each interval has a grant; of each, the channel sends as many bits as
//! the modem's rate allows. So does CableLabs' model for ns-3 (docsis-ns3 at 02aa242,
//! `doc/source/model-overview.rst`): intervals of 1 to 2 ms (2 ms by default), a request in the next
//! interval, its grant in the second one after that, requests that ride with grants. Contention of
//! requests and losses of them are left out.

use crate::{
    clock::{Clock, Ticks},
    service::LastPart,
};

/// One modem's upstream.
#[derive(Clone, Debug, PartialEq)]
pub struct Docsis {
    /// What the modem may send, bits/s.
    pub rate_bps: u64,
    /// Rate of the channel, in which a grant is sent, bits/s; not below `rate_bps`.
    pub channel_bps: u64,
    /// Length of an interval, ns.
    pub map_ns: u64,
    /// Time from a request to its grant, ns.
    pub grant_ns: u64,
}

/// How far the grants have been used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Granted {
    end: Ticks,
}

impl Granted {
    /// Returns the last part of the transmission of a packet of `bytes` that starts at `start`.
    pub fn last_part(&mut self, of: &Docsis, clock: Clock, start: Ticks, bytes: u32) -> LastPart {
        let map_ns = of.map_ns;
        let length_ns = map_ns as f64 * of.rate_bps as f64 / of.channel_bps as f64;
        let mut now_ns = clock.ns(start);
        if start > self.end || self.end == 0 {
            let asked_ns = now_ns.next_multiple_of(map_ns);
            now_ns = (asked_ns + of.grant_ns).next_multiple_of(map_ns);
        }
        let mut left_ns = 8e9 * f64::from(bytes) / of.channel_bps as f64;
        let mut room_ns = length_ns - (now_ns % map_ns) as f64;
        // what is less than a nanosecond is no room
        while room_ns < left_ns.min(1.0) || room_ns + 1.0 < left_ns {
            left_ns -= room_ns.max(0.0);
            now_ns = (now_ns / map_ns + 1) * map_ns;
            room_ns = length_ns;
        }
        let from = clock.ticks(now_ns).max(start);
        let seconds = left_ns / 1e9;
        let last = clock.rounded(seconds, clock.spare(from)).max(1);
        self.end = from.saturating_add(last);
        LastPart { from, seconds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Service, Transmitter};

    const MS: u64 = 1_000_000;

    fn link(rate_bps: u64, channel_bps: u64) -> Transmitter {
        let service = Service::Docsis(Docsis {
            rate_bps,
            channel_bps,
            map_ns: 2 * MS,
            grant_ns: 4 * MS,
        });
        Transmitter::new(1, 0).with_service(Some(service))
    }

    #[test]
    fn a_packet_alone_waits_for_its_grant() {
        let clock = Clock::endless();
        let mut link = link(10_000_000, 30_000_000);
        // requested at the next multiple of 2 ms, granted 4 ms later, sent in 0.4 ms
        for (came_us, sent_us) in [(500, 6_400), (100_000, 104_400), (301_999, 306_400)] {
            link.send(clock, clock.ticks(came_us * 1000), 1500);
            let found = clock.ns(link.free()) as f64 / 1e3;
            assert!(
                (found - f64::from(sent_us as u32)).abs() < 0.01,
                "{found} {sent_us}"
            );
        }
    }

    #[test]
    fn a_busy_modem_has_its_rate_and_sends_in_grants() {
        let clock = Clock::endless();
        for (rate_bps, channel_bps) in [(10_000_000, 30_720_000), (5_000_000, 5_000_000)] {
            let mut link = link(rate_bps, channel_bps);
            link.send(clock, 0, 1500);
            let first = clock.ns(link.free());
            let ends: Vec<u64> = (0..10_000)
                .map(|_| {
                    link.send(clock, 0, 1500);
                    clock.ns(link.free())
                })
                .collect();
            let rate = 8.0 * 1500.0 * 1e4 / ((ends[9999] - first) as f64 / 1e9);
            assert!((rate / rate_bps as f64 - 1.0).abs() < 1e-3, "{rate}");
            let length_ns = 2e6 * rate_bps as f64 / channel_bps as f64;
            let inside = ends
                .iter()
                .all(|end| (end - 1) as f64 % 2e6 <= length_ns + 100.0);
            assert!(inside, "{rate_bps}");
        }
    }
}
