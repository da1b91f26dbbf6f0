//! Markers: a meter with two token buckets gives each packet a drop precedence.
//!
//! RFC 2697, "A Single Rate Three Color Marker", and RFC 2698, "A Two Rate Three Color Marker".
//! Green, yellow and red are the drop precedences 1, 2 and 3 of assured forwarding (RFC 2597): AFx1,
//! AFx2 and AFx3. Packets of other codepoints pass as they are, and are not counted.

use std::ops::Range;

use crate::packet::Packet;

/// What a meter allows. Rates are in bits/s, bursts in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meter {
    /// RFC 2697: tokens of one rate, of which the second bucket gets what the first cannot hold.
    SingleRate {
        /// Committed information rate.
        cir_bps: u64,
        /// Committed burst size.
        cbs_bytes: u64,
        /// Excess burst size.
        ebs_bytes: u64,
    },
    /// RFC 2698: each bucket has a rate.
    TwoRate {
        /// Committed information rate.
        cir_bps: u64,
        /// Committed burst size.
        cbs_bytes: u64,
        /// Peak information rate.
        pir_bps: u64,
        /// Peak burst size.
        pbs_bytes: u64,
    },
}

/// A meter and what its marker looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The meter.
    pub meter: Meter,
    /// True if packets keep the precedence that they come with, or get a higher one (colour-aware).
    pub colour_aware: bool,
}

/// Tokens of a byte: a bit's share of a second, in ns.
const BYTE: u128 = 8_000_000_000;

/// Green, yellow, red.
type Colour = u8;
const GREEN: Colour = 0;
const YELLOW: Colour = 1;
const RED: Colour = 2;

/// A marker at work.
#[derive(Clone, Copy, Debug)]
struct Running {
    of: Marker,
    /// Of the committed bucket, and of the other one.
    tokens: [u128; 2],
    filled_ns: u64,
}

impl Running {
    /// Both buckets are full.
    fn new(of: Marker) -> Self {
        let (first, second) = match of.meter {
            Meter::SingleRate {
                cbs_bytes,
                ebs_bytes,
                ..
            } => (cbs_bytes, ebs_bytes),
            Meter::TwoRate {
                cbs_bytes,
                pbs_bytes,
                ..
            } => (cbs_bytes, pbs_bytes),
        };
        Self {
            of,
            tokens: [first, second].map(|bytes| u128::from(bytes) * BYTE),
            filled_ns: 0,
        }
    }

    fn fill(&mut self, now_ns: u64) {
        let passed_ns = u128::from(now_ns - self.filled_ns);
        self.filled_ns = now_ns;
        let came = |rate_bps: u64| u128::from(rate_bps) * passed_ns;
        let most = |bytes: u64| u128::from(bytes) * BYTE;
        let [first, second] = &mut self.tokens;
        match self.of.meter {
            Meter::SingleRate {
                cir_bps,
                cbs_bytes,
                ebs_bytes,
            } => {
                *first += came(cir_bps);
                let rest = first.saturating_sub(most(cbs_bytes));
                *first -= rest;
                *second = (*second + rest).min(most(ebs_bytes));
            }
            Meter::TwoRate {
                cir_bps,
                cbs_bytes,
                pir_bps,
                pbs_bytes,
            } => {
                *first = (*first + came(cir_bps)).min(most(cbs_bytes));
                *second = (*second + came(pir_bps)).min(most(pbs_bytes));
            }
        }
    }

    /// Returns the colour of a packet, which comes with one.
    fn colour(&mut self, now_ns: u64, bytes: u32, came: Colour) -> Colour {
        self.fill(now_ns);
        let before = if self.of.colour_aware { came } else { GREEN };
        let needs = u128::from(bytes) * BYTE;
        let [first, second] = &mut self.tokens;
        match self.of.meter {
            Meter::SingleRate { .. } => {
                if before == GREEN && *first >= needs {
                    *first -= needs;
                    GREEN
                } else if before <= YELLOW && *second >= needs {
                    *second -= needs;
                    YELLOW
                } else {
                    RED
                }
            }
            Meter::TwoRate { .. } => {
                if before == RED || *second < needs {
                    return RED;
                }
                *second -= needs;
                if before == YELLOW || *first < needs {
                    return YELLOW;
                }
                *first -= needs;
                GREEN
            }
        }
    }
}

/// The drop precedence of a codepoint of assured forwarding, as a colour; `None` of others.
fn colour_of(dscp: u8) -> Option<Colour> {
    let (class, precedence) = (dscp >> 3, dscp >> 1 & 3);
    let is_assured = (1..=4).contains(&class) && dscp & 1 == 0 && precedence > 0;
    is_assured.then(|| precedence - 1)
}

/// The markers of a run, and which of them the packets of a group of flows pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Markers {
    all: Vec<Running>,
    /// By group, the place of its marker.
    of_group: Vec<Option<u32>>,
}

impl Markers {
    /// Markers at their start, each with the groups whose packets pass it.
    pub fn new(markers: &[(Marker, Range<usize>)], groups: usize) -> Self {
        let mut of_group = vec![None; groups];
        for (place, (_, own)) in markers.iter().enumerate() {
            of_group[own.clone()].fill(Some(place as u32));
        }
        Self {
            all: markers.iter().map(|(of, _)| Running::new(*of)).collect(),
            of_group,
        }
    }

    /// Lets a packet pass the marker of its flow's group, if there is one.
    ///
    /// # Arguments
    /// `groups`: of each flow of its kind.
    #[inline]
    pub fn mark(&mut self, groups: &[u32], now_ns: u64, packet: &mut Packet) {
        if self.all.is_empty() {
            return;
        }
        let group = groups[packet.flow as usize];
        if let Some(place) = self.of_group[group as usize] {
            let running = &mut self.all[place as usize];
            if let Some(came) = colour_of(packet.traffic_class >> 2) {
                let colour = running.colour(now_ns, u32::from(packet.bytes), came);
                // the precedence is in bits 3 and 4 of the traffic class
                packet.traffic_class = packet.traffic_class & !0x18 | (colour + 1) << 3;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// 1000 bytes a second.
    const CIR_BPS: u64 = 8000;

    fn single(aware: bool) -> Running {
        Running::new(Marker {
            meter: Meter::SingleRate {
                cir_bps: CIR_BPS,
                cbs_bytes: 1500,
                ebs_bytes: 1000,
            },
            colour_aware: aware,
        })
    }

    fn two(aware: bool) -> Running {
        Running::new(Marker {
            meter: Meter::TwoRate {
                cir_bps: CIR_BPS,
                cbs_bytes: 1000,
                pir_bps: 3 * CIR_BPS,
                pbs_bytes: 2000,
            },
            colour_aware: aware,
        })
    }

    /// Time in ms, bytes and colour of each packet, and the colour that it must get.
    fn check(mut marker: Running, packets: &[(u64, u32, Colour, Colour)]) {
        for (place, (at_ms, bytes, came, wanted)) in packets.iter().enumerate() {
            let got = marker.colour(at_ms * MS, *bytes, *came);
            assert_eq!(got, *wanted, "packet {place}");
        }
    }

    #[test]
    fn one_rate_blind() {
        let packets = [
            // both buckets are full: 1500 and 1000 bytes
            (0, 1000, RED, GREEN),
            (0, 500, GREEN, GREEN),
            (0, 600, GREEN, YELLOW),
            (0, 500, GREEN, RED),
            // red ones take no tokens
            (0, 400, GREEN, YELLOW),
            // 100 bytes in the first: not enough, and none in the second
            (100, 101, GREEN, RED),
            (100, 100, GREEN, GREEN),
            // after 2 s the first is full, and 500 bytes are in the second
            (2100, 1501, GREEN, RED),
            (2100, 1500, GREEN, GREEN),
            (2100, 501, GREEN, RED),
            (2100, 500, GREEN, YELLOW),
            // after a long time both are full, and no fuller
            (100_000, 1500, GREEN, GREEN),
            (100_000, 1000, GREEN, YELLOW),
            (100_000, 1, GREEN, RED),
        ];
        check(single(false), &packets);
    }

    #[test]
    fn one_rate_aware() {
        let packets = [
            // yellow ones take from the second bucket only, and red ones from none
            (0, 1000, YELLOW, YELLOW),
            (0, 1, YELLOW, RED),
            (0, 1500, RED, RED),
            (0, 1500, GREEN, GREEN),
            (0, 1, GREEN, RED),
            // 1000 bytes in the first bucket are not for yellow ones
            (1000, 1, YELLOW, RED),
            (1000, 1000, GREEN, GREEN),
        ];
        check(single(true), &packets);
    }

    #[test]
    fn two_rates_blind() {
        let packets = [
            // 1000 committed bytes, and 2000 of the peak
            (0, 1000, RED, GREEN),
            (0, 1000, GREEN, YELLOW),
            (0, 1, GREEN, RED),
            // 100 and 300 bytes: a green one takes from both
            (100, 100, GREEN, GREEN),
            (100, 201, GREEN, RED),
            (100, 200, GREEN, YELLOW),
            // enough committed tokens do not help where the peak has none: 1000 and 2000
            (1100, 2001, GREEN, RED),
            (1100, 2000, GREEN, YELLOW),
            (1100, 1000, GREEN, RED),
        ];
        check(two(false), &packets);
    }

    #[test]
    fn two_rates_aware() {
        let packets = [
            (0, 1000, RED, RED),
            // a yellow one takes no committed tokens
            (0, 1000, YELLOW, YELLOW),
            (0, 1000, GREEN, GREEN),
            (0, 1, YELLOW, RED),
            (1000, 500, GREEN, GREEN),
            (1000, 500, YELLOW, YELLOW),
            (1000, 500, GREEN, GREEN),
            (1000, 500, GREEN, YELLOW),
        ];
        check(two(true), &packets);
    }

    /// Of a stream above all rates, each colour gets its rate: what is not green of one rate is red,
    /// as the second bucket gets nothing while the first is never full.
    #[test]
    fn long_streams_have_the_rates() {
        for (mut marker, wanted) in [(single(false), [1000, 0]), (two(false), [1000, 2000])] {
            // ten times the committed rate for 1000 s
            let mut bytes = [0_u64; 3];
            for number in 0..100_000 {
                let colour = marker.colour(number * 10 * MS, 100, GREEN);
                bytes[usize::from(colour)] += 100;
            }
            for (got, rate) in bytes.iter().zip(wanted) {
                assert!(got.abs_diff(1000 * rate) <= 2500, "{bytes:?}");
            }
            assert_eq!(bytes.iter().sum::<u64>(), 10_000_000);
        }
    }

    #[test]
    fn precedences_are_in_the_codepoint() {
        // of the second of two groups
        let mut markers = Markers::new(&[(single(false).of, 1..2)], 2);
        let mut mark = |group, dscp: u8| {
            // with CE, which stays; a flow in each group
            let mut packet = Packet::datagram(group, 0, 1000, dscp << 2 | 3);
            markers.mark(&[0, 1], 0, &mut packet);
            assert_eq!(packet.traffic_class & 3, 3);
            packet.traffic_class >> 2
        };
        // AF31, then from AF32, as the committed bucket has 500 bytes left; then nothing is left
        assert_eq!([26, 28, 28].map(|dscp| mark(1, dscp)), [26, 28, 30]);
        // others pass as they are, and so do those of a group without a marker
        for dscp in [0, 8, 11, 16, 40, 42, 46, 48] {
            assert_eq!(mark(1, dscp), dscp);
        }
        assert_eq!(mark(0, 10), 10);
    }
}
