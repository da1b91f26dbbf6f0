//! What a sender tells its congestion control.

use crate::sender::Phase;

/// A packet that is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub now_ns: u64,
    /// Packets in flight before it, as far as loss recovery knows.
    pub in_flight: u32,
    /// It repeats a packet as a probe for losses, beyond the window (RFC 8985, section 7.3).
    pub probes_again: bool,
}

/// What an ACK says about marks. A control that counts marks ([`Control::COUNTS_MARKS`]) is told of
/// each ACK before anything reacts to it.
///
/// [`Control::COUNTS_MARKS`]: super::Control::COUNTS_MARKS
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    /// Packets newly acknowledged.
    pub acked: u32,
    /// How many of them were marked.
    pub marked: u32,
    /// The next packet that the receiver expects.
    pub next: u32,
    /// One past the highest packet sent.
    pub sent: u32,
    /// True if windows are whole numbers of packets
    /// ([`Quirks::counts_whole_packets`](crate::Quirks::counts_whole_packets)).
    pub whole: bool,
}

/// What an ACK changed, told after loss recovery has processed it and before it lets packets go. A
/// reordering timer that finds losses gives a sample, too. Recovery without the times of packets
/// (all but `rack`) gives samples only for ACKs of new data, and does not tell of packets sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// When the ACK arrived.
    pub now_ns: u64,
    /// Smoothed round-trip time; 0 before the first measurement.
    pub srtt_ns: u64,
    /// Shortest round-trip time, if recovery by times knows it, or else the smoothed one.
    pub min_rtt_ns: u64,
    /// Round-trip time by which losses are found, if recovery by times knows it, or else the
    /// smoothed one.
    pub rtt_ns: u64,
    /// Packets newly known to have arrived: acknowledged, or reported by SACK.
    pub delivered: u32,
    /// The next packet that the receiver expects.
    pub next: u32,
    /// One past the highest packet sent.
    pub sent: u32,
    /// True if it acknowledges new data outside recovery, so that the window may grow.
    pub grows: bool,
    /// True if it acknowledges packets that were sent before the sender went back to them, and may
    /// have arrived long ago.
    pub refills: bool,
    /// True if it echoes a mark.
    pub echo: bool,
    /// With accurate feedback, packets newly reported as marked.
    pub ce: u32,
    /// Why the window was reduced last, and whether this goes on.
    pub phase: Phase,
    /// True if windows are whole numbers of packets
    /// ([`Quirks::counts_whole_packets`](crate::Quirks::counts_whole_packets)).
    pub whole: bool,
    /// What only recovery by times knows.
    pub flight: Option<InFlight>,
}

/// What an ACK changed about the packets in flight, as recovery by times sees them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InFlight {
    /// Packets in flight before the ACK, and after it.
    pub before: u32,
    pub now: u32,
    /// Packets newly found lost.
    pub lost: u32,
    /// True if the ACK acknowledges new data.
    pub advances: bool,
}

/// What was delivered, told with an ACK to a control that asks for it
/// ([`Control::SAMPLES_DELIVERY`](super::Control::SAMPLES_DELIVERY); draft-cheng-iccrg-delivery-rate-estimation-02; Linux: `rate_sample`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// Packets delivered in all.
    pub delivered: u64,
    /// Round-trip time of the packet that was sent last, of those reported and sent only once.
    pub rtt_ns: Option<u64>,
    /// `None` if the ACK reports nothing new, or gives no rate that can be trusted.
    pub rate: Option<Rate>,
}

/// A sample of the delivery rate: packets delivered, and the time in which they were (section 3.3
/// of the draft).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    /// Packets delivered from the time when the packet that gives the sample was sent.
    pub packets: u32,
    /// The longer of the times in which they were sent and acknowledged.
    pub interval_ns: u64,
    /// True if the application, not the window, limited what was sent.
    pub app_limited: bool,
    /// Packets delivered in all when the packet that gives the sample was sent: a round trip is
    /// over when this passes the total at its start.
    pub prior_delivered: u64,
    /// Packets in flight when the packet that gives the sample was sent, itself among them.
    pub in_flight_at_send: u32,
    /// Packets found lost, and reported as marked, since then.
    pub lost: u32,
    pub ce: u32,
}

/// A packet that is found lost, told to a control that asks for samples of the delivery rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostPacket {
    pub now_ns: u64,
    /// Packets in flight when it was sent, itself among them.
    pub in_flight_at_send: u32,
    /// Packets found lost since then, itself among them.
    pub lost: u32,
    /// True if the application limited what was sent then.
    pub app_limited: bool,
}

/// What happens beside packets and ACKs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Event {
    /// The connection is open, after so many time-outs of its SYN, which arrived `marked`.
    Opened { timeouts: u32, marked: bool },
    /// A loss was found, other than by a time-out. `used` packets were in flight (RFC 5681,
    /// equation 4); `None` if an earlier reduction covers the loss. If it `begins` recovery by
    /// times, the window goes down gradually.
    Loss { used: Option<f64>, begins: bool },
    /// An ECN echo that no earlier reduction covers. The window goes down gradually, or at once.
    Mark { used: f64, gradually: bool },
    /// The retransmission timer expired. `used` packets were in flight; `None` if an earlier
    /// reduction covers the loss. `in_flight` packets may still arrive; so many were now found
    /// `lost` (known to recovery by times).
    TimeOut {
        used: Option<f64>,
        in_flight: u32,
        lost: u32,
    },
    /// The last time-out was spurious: nothing was lost.
    SpuriousTimeOut,
    /// During NewReno's recovery an ACK of some packets deflates the window by so many (RFC 6582,
    /// section 3.2, step 3).
    PartialAck { packets: u32 },
    /// The reduction for a loss or a mark is over; so many packets are in flight.
    Recovered { in_flight: u32 },
    /// The application has data again after this time; it `restarts` if this was longer than a
    /// time-out (RFC 5681, section 4.1).
    Idle { idle_ns: u64, restarts: bool },
}

#[cfg(test)]
impl Sample {
    /// An ACK of one packet, outside recovery.
    pub fn of_one(now_ns: u64, rtt_ns: u64, whole: bool) -> Self {
        Self {
            now_ns,
            srtt_ns: rtt_ns,
            min_rtt_ns: rtt_ns,
            rtt_ns,
            delivered: 1,
            next: 1,
            sent: 1,
            grows: true,
            refills: false,
            echo: false,
            ce: 0,
            phase: Phase::Open,
            whole,
            flight: None,
        }
    }
}
