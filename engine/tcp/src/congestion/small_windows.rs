//! Prague's small windows (Linux: `cwnd_mode` in net/ipv4/tcp_prague.c, minuscat/l4steam-6.1.y at
//! 3bd10f98fbc2 and 6.6.y at 1c07adc65c1e). Once packets are marked, a window of four packets or fewer
//! follows from a rate, and it is the rate that grows and shrinks. The window has two packets at
//! least; the rate may go below that. Not here: where fewer than two packets leave in 25 ms, those of
//! Linux are smaller.

/// Windows up to this are small, packets (`prague_cwnd_transit`).
const SMALL: f64 = 4.0;

/// Least rate, packets of 1500 bytes per second (`MINIMUM_RATE`).
const LEAST_RATE: f64 = 12_500.0 / 1500.0;

/// The rate is by so much larger in the first half of a round of the estimate, and smaller in the
/// second (`RATE_OFFSET`).
const OFFSET: f64 = 4.0 / 128.0;

/// Weight of a round in the mean round-trip time (`HSRTT_SHIFT`).
const GAIN: f64 = 1.0 / 128.0;

/// Where a rate becomes a window, a second has 2^20 us (`RTT2SEC_SHIFT`).
const SECOND_NS: f64 = (1 << 20) as f64 * 1e3;

/// The rate that small windows follow from.
#[derive(Clone, Debug, Default)]
pub(super) struct SmallWindows {
    /// True while the window is small.
    is_small: bool,
    /// Packets per second, and before the last time-out.
    rate: f64,
    rate_before: f64,
    /// Mean round-trip time, ns; 0 before the first round.
    mean_rtt_ns: f64,
}

impl SmallWindows {
    pub fn is_small(&self) -> bool {
        self.is_small
    }

    /// Returns the window that follows from the rate, packets.
    fn window(&self) -> f64 {
        self.rate * self.mean_rtt_ns / SECOND_NS
    }

    /// Grows by a packet in a round trip of this length, in parts; returns the window.
    pub fn grow(&mut self, unmarked: f64, rtt_ns: u64) -> f64 {
        let rtts_per_second = SECOND_NS / rtt_ns as f64;
        let packets = (self.rate / rtts_per_second).ceil();
        self.rate += unmarked * rtts_per_second / packets;
        self.window()
    }

    /// Leaves this share of the rate; returns the window.
    pub fn reduce(&mut self, share: f64) -> f64 {
        self.rate = (self.rate * share).max(LEAST_RATE);
        self.window()
    }

    /// A time-out begins, which may be spurious (`prague_enter_loss`).
    pub fn remember(&mut self) {
        self.rate_before = self.rate;
    }

    /// Takes the last reduction for a time-out back (`prague_cwnd_undo`).
    pub fn undo(&mut self) {
        self.rate = self.rate.max(self.rate_before);
    }

    pub fn end_round(&mut self, srtt_ns: u64) {
        let srtt_ns = srtt_ns as f64;
        if self.mean_rtt_ns == 0.0 {
            self.mean_rtt_ns = srtt_ns;
        }
        self.mean_rtt_ns += GAIN * (srtt_ns - self.mean_rtt_ns);
    }

    /// Returns how many packets leave in a second.
    pub fn pace(&self, is_second_half: bool) -> f64 {
        let offset = if is_second_half { -OFFSET } else { OFFSET };
        self.rate * (1.0 + offset)
    }

    /// Ends an ACK with this window; `rate` is that of the present one where it is not small yet.
    pub fn end_ack(&mut self, cwnd: f64, rate: Option<f64>) {
        self.rate = rate.unwrap_or(self.rate);
        self.is_small = cwnd <= SMALL;
    }
}
