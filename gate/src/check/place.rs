//! Finds where a queue builds from the records of a link: `sluiced check --watch`.

use crate::{backends::nfqueue, cli::CheckOptions, telemetry::record::Line};

/// A link that was busy for this share of the time was the bottleneck.
const BUSY: f64 = 0.9;
/// Queues with a mean shorter than this, packets, count as empty.
const EMPTY: f64 = 1.0;
/// If the packets of a qdisc leave later than this after they could have (mean, ms), it waits for
/// its interface.
const LATE_MS: f64 = 1.0;
/// Packets read in one call: as many may arrive while the processor is busy otherwise.
const A_READ: f64 = nfqueue::BATCH as f64;
/// If the arrival rate is below this share of the link's rate, nothing is concluded.
const IDLE: f64 = 0.01;

/// What was observed of a link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// True if it is a qdisc of the kernel, which gets packets directly.
    pub is_qdisc: bool,
    /// True if it is itself the queue of the interface.
    pub is_of_interface: bool,
    rate_bps: f64,
    arrived_bps: f64,
    sent_bps: f64,
    /// Mean queue, packets.
    pub queue: f64,
    /// Mean sojourn, ms.
    sojourn_ms: f64,
    /// Mean time between when packets could have left and when they left, ms.
    lateness_ms: f64,
    /// Mean number of packets that the kernel held and that the gate had not read; `None` if it is
    /// unknown.
    pub unread: Option<f64>,
    /// Mean number of packets in the queue of the interface behind the gate; `None` if it is
    /// unknown.
    pub behind: Option<f64>,
    /// Rate at which that queue sent, bits/s; 0 if it is unknown.
    pub left_bps: f64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Here,
    /// In the kernel's queue before the gate.
    Before,
    /// In the interface's queue behind it.
    Behind,
    /// In our qdisc, because the interface takes packets more slowly than they may leave.
    Slower,
    /// In none of them.
    Elsewhere,
    /// Unknown, because there were hardly any packets.
    Unknown,
}

pub(crate) fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// Returns what happened between the first and the last record of a link.
pub(crate) fn seen(records: &[&Line]) -> Seen {
    let (first, last) = (records[0], records[records.len() - 1]);
    let (before, after) = (&first.figures, &last.figures);
    let time_s = (after.time_s - before.time_s).max(1e-9);
    let overhead = u64::from(last.overhead_bytes);
    // a daemon that was started anew counts from 0
    let more = u64::saturating_sub;
    let sent = more(after.sent, before.sent);
    let mean_ms = |sum_ns: u64| sum_ns as f64 / 1e6 / sent.max(1) as f64;
    let bps = |bytes: u64, packets: u64| 8.0 * (bytes + overhead * packets) as f64 / time_s;
    let unread = |record: &&Line| {
        let gone = record.released + record.figures.lost;
        let waiting = record.figures.arrivals.saturating_sub(gone);
        Some(record.kernel_held?.saturating_sub(waiting) as f64)
    };
    let unread: Option<Vec<f64>> = records.iter().map(unread).collect();
    Seen {
        is_qdisc: last.qdisc.is_some(),
        rate_bps: last.rate_bps as f64,
        arrived_bps: bps(
            more(after.arrived_bytes, before.arrived_bytes),
            more(after.arrivals, before.arrivals),
        ),
        sent_bps: bps(more(after.sent_bytes, before.sent_bytes), sent),
        queue: more(after.queue_packet_ns, before.queue_packet_ns) as f64 / 1e9 / time_s,
        sojourn_ms: mean_ms(more(after.sojourn_sum_ns, before.sojourn_sum_ns)),
        lateness_ms: mean_ms(more(last.lateness_sum_ns, first.lateness_sum_ns)),
        unread: unread.as_deref().and_then(mean),
        ..Seen::default()
    }
}

impl Seen {
    pub fn place(&self) -> Place {
        let behind = self.behind.unwrap_or_default();
        let unread = self.unread.unwrap_or_default();
        if self.arrived_bps < IDLE * self.rate_bps {
            Place::Unknown
        } else if unread > A_READ.max(self.queue).max(behind) {
            Place::Before
        } else if behind >= EMPTY && behind > self.queue {
            Place::Behind
        } else if self.sent_bps >= BUSY * self.rate_bps {
            Place::Here
        } else if self.is_qdisc && self.queue >= EMPTY && self.lateness_ms >= LATE_MS {
            Place::Slower
        } else {
            Place::Elsewhere
        }
    }

    /// Describes what the place means, and what to do.
    pub fn told(&self, place: &Place, options: &CheckOptions) -> String {
        let interface = options.interface.as_deref().unwrap_or_default();
        let megabits = |bps: f64| format!("{:.2}", bps / 1e6);
        let (sent, rate) = (megabits(self.sent_bps), megabits(self.rate_bps));
        let behind = match (self.behind, &options.interface) {
            _ if self.is_of_interface => format!(", which is that of {interface} itself"),
            (Some(packets), _) => format!(", {packets:.1} behind it in that of {interface}"),
            (None, Some(_)) => format!(", unknown how many behind it in that of {interface}"),
            (None, None) => ", unknown how many behind it".to_owned(),
        };
        let before = match self.unread {
            _ if self.is_qdisc => String::new(),
            Some(packets) => format!(", {packets:.1} before it in the kernel"),
            None => ", unknown how many before it in the kernel".to_owned(),
        };
        let figures = format!(
            "{:.1} packets in our queue ({:.1} ms){behind}{before}; {sent} of {rate} Mbit/s sent",
            self.queue, self.sojourn_ms
        );
        match place {
            Place::Here => format!("the queue builds here: {figures}"),
            Place::Before => format!(
                "the queue builds before the gate, which does not keep up: {figures}. Give it a \
                 faster processor, or --timer realtime"
            ),
            Place::Behind => format!(
                "the queue builds behind the gate: {figures}. The link of {interface} sends {} \
                 Mbit/s: set --rate a little below that",
                megabits(self.left_bps)
            ),
            Place::Slower => format!(
                "the interface is slower than --rate: {figures}, each packet {:.1} ms later \
                 than that allows. Set --rate a little below {sent} Mbit/s",
                self.lateness_ms
            ),
            Place::Elsewhere => format!(
                "no queue builds on this machine: {figures}. If packets are late all the same, the \
                 bottleneck is elsewhere: set --rate a little below {sent} Mbit/s. If they are not, \
                 watch again with more traffic"
            ),
            Place::Unknown => {
                let what = match &options.tun {
                    Some(cable) => format!("--tun {}", cable.join(" ")),
                    None if self.is_qdisc => format!("--backend kernel --interface {interface}"),
                    None => format!("--interface {interface}"),
                };
                format!(
                    "hardly any packet came: see sluiced check {what}, and watch again with traffic"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::Figures;

    /// Returns the place for a link of 10 Mbit/s.
    fn link(sent_bps: f64, queue: f64, unread: f64, behind: Option<f64>) -> Place {
        let seen = Seen {
            rate_bps: 10e6,
            arrived_bps: sent_bps,
            sent_bps,
            queue,
            unread: Some(unread),
            behind,
            ..Seen::default()
        };
        seen.place()
    }

    #[test]
    fn the_longest_queue_is_where_it_builds() {
        assert_eq!(link(9.9e6, 30.0, 0.2, Some(0.1)), Place::Here);
        assert_eq!(link(9.9e6, 30.0, 0.2, None), Place::Here);
        // CoDel keeps its queue short
        assert_eq!(link(9.5e6, 2.0, 0.0, Some(0.5)), Place::Here);
        assert_eq!(link(7e6, 0.1, 0.0, Some(60.0)), Place::Behind);
        assert_eq!(link(9.9e6, 5.0, 0.0, Some(60.0)), Place::Behind);
        assert_eq!(link(9.9e6, 5.0, 2000.0, Some(0.0)), Place::Before);
        // the gate was not woken for a moment
        assert_eq!(link(7e6, 0.1, 20.0, Some(0.0)), Place::Elsewhere);
        // bursts wait for a moment before a link that is not busy
        assert_eq!(link(7e6, 3.0, 0.0, Some(0.0)), Place::Elsewhere);
        assert_eq!(link(0.0, 0.0, 0.0, Some(0.0)), Place::Unknown);
    }

    #[test]
    fn a_qdisc_that_is_asked_too_late_stands_before_an_interface_that_is_too_slow() {
        let place = |is_qdisc, sent_bps, queue, lateness_ms| {
            let seen = Seen {
                is_qdisc,
                rate_bps: 10e6,
                arrived_bps: 20e6,
                sent_bps,
                queue,
                lateness_ms,
                ..Seen::default()
            };
            seen.place()
        };
        assert_eq!(place(true, 5e6, 30.0, 10.0), Place::Slower);
        assert_eq!(place(true, 9.9e6, 30.0, 10.0), Place::Here);
        assert_eq!(place(true, 5e6, 0.9, 10.0), Place::Elsewhere);
        assert_eq!(place(true, 5e6, 30.0, 0.9), Place::Elsewhere);
        // the gate is late if its processor is busy, independent of the interface
        assert_eq!(place(false, 5e6, 30.0, 10.0), Place::Elsewhere);
    }

    #[test]
    fn records_count_from_the_start_and_the_time_between_them_is_judged() {
        let record =
            |time_s: f64, packets: u64, queue_mean: f64, sojourn_ms: u64, held: u64| Line {
                figures: Figures {
                    time_s,
                    arrivals: packets,
                    arrived_bytes: 1000 * packets,
                    sent: packets,
                    sent_bytes: 1000 * packets,
                    queue_packet_ns: (queue_mean * time_s * 1e9) as u64,
                    sojourn_sum_ns: packets * sojourn_ms * 1_000_000,
                    ..Figures::default()
                },
                rate_bps: 10_000_000,
                overhead_bytes: 38,
                released: packets,
                lateness_sum_ns: packets * sojourn_ms * 500_000,
                kernel_held: Some(held),
                ..Line::default()
            };
        // 500 packets in 2 s, with a mean queue of 8 packets and a sojourn of 6 ms
        let first = record(2.0, 500, 4.0, 2, 0);
        let last = record(4.0, 1000, 6.0, 4, 10);
        let seen = seen(&[&first, &last]);
        assert_eq!(seen.sent_bps, 8.0 * 500.0 * 1038.0 / 2.0);
        assert_eq!(
            (seen.queue, seen.sojourn_ms, seen.unread),
            (8.0, 6.0, Some(5.0))
        );
        assert_eq!(seen.lateness_ms, 3.0);
        let cable = Line::default();
        assert_eq!(super::seen(&[&cable]).unread, None);
    }
}
