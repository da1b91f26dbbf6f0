//! How many packets may be in flight.

use super::float::{float, larger, smaller};
use super::{FIRST_WINDOW, LEAST_WINDOW, Mode, State, repairs};
use crate::congestion::{InFlight, Sample, Window};
use crate::sender::Phase;

/// Returns the bandwidth-delay product times a gain, packets (`bbr_bdp`).
pub(in crate::congestion) fn product(rate: f64, min_rtt_ns: Option<u64>, gain: f64) -> f64 {
    let Some(min_rtt_ns) = min_rtt_ns else {
        return FIRST_WINDOW;
    };
    // without a packet more for the rounding of a whole number
    (rate * float(min_rtt_ns) * 1e-9 * gain - 1e-6).ceil()
}

/// Returns how many packets will be in the network when the next one leaves, at a rate; the next burst
/// is counted, too, if it is to fill the path (`bbr_packets_in_net_at_edt`).
pub(in crate::congestion) fn at_next_departure(
    in_flight: u32,
    burst: Option<u32>,
    rate: f64,
    wait_ns: u64,
) -> f64 {
    let packets = f64::from(in_flight) + burst.map_or(0.0, f64::from);
    larger(packets - (rate * (wait_ns as f64 * 1e-9)).floor(), 0.0)
}

/// Returns the window to which a reduction is undone (`bbr_save_cwnd`).
pub(in crate::congestion) fn kept(before: f64, window: f64, is_reduced: bool) -> f64 {
    if is_reduced {
        before.max(window)
    } else {
        window
    }
}

impl State {
    fn product(&self, rate: f64, gain: f64) -> f64 {
        product(rate, self.min_rtt_ns, gain)
    }

    /// Returns the packets in flight for so many in the network: there are some more at both ends
    /// (`bbr_quantization_budget`).
    fn with_ends(&self, packets: f64) -> f64 {
        let even = 2.0 * ((packets + 3.0 * f64::from(self.burst)) / 2.0).ceil();
        if self.mode == Mode::ProbeBw && self.cycle == 0 {
            return even + 2.0;
        }
        even
    }

    /// `bbr_inflight`.
    pub(super) fn target(&self, gain: f64) -> f64 {
        self.with_ends(self.product(self.largest_rate.get(), gain))
    }

    /// See [`at_next_departure`].
    pub(super) fn at_next_departure(&self, window: &Window, in_flight: u32, now_ns: u64) -> f64 {
        let burst = (self.pacing_gain > 1.0).then_some(self.burst);
        at_next_departure(in_flight, burst, self.rate(), window.wait_ns(now_ns))
    }

    /// `bbr_set_cwnd`.
    pub(super) fn update_window(
        &mut self,
        rate: f64,
        window: &mut Window,
        ack: &Sample,
        flight: &InFlight,
    ) {
        if ack.delivered > 0 {
            window.cwnd = self.window_after(rate, window.cwnd, ack, flight);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(LEAST_WINDOW);
        }
    }

    fn window_after(&mut self, rate: f64, before: f64, ack: &Sample, flight: &InFlight) -> f64 {
        let acked = f64::from(ack.delivered);
        let window = self.window_in_recovery(before, ack, flight);
        if self.conserves {
            return larger(window, f64::from(flight.now) + acked);
        }
        let more = if self.is_full {
            self.aggregation.packets(rate)
        } else {
            0.0
        };
        let target = self.with_ends(self.product(rate, self.window_gain) + more);
        let grown = if self.is_full {
            smaller(window + acked, target)
        } else if window < target || float(self.totals.delivered) < FIRST_WINDOW {
            window + acked
        } else {
            window
        };
        larger(grown, LEAST_WINDOW)
    }

    /// `bbr_set_cwnd_to_recover_or_restore`.
    fn window_in_recovery(&mut self, before: f64, ack: &Sample, flight: &InFlight) -> f64 {
        let mut window = before;
        if flight.lost > 0 {
            window = (window - f64::from(flight.lost)).max(1.0);
        }
        let (was, is) = (self.phase, ack.phase);
        if is == Phase::Recovery && was != Phase::Recovery {
            self.conserves = true;
            self.round_end = self.totals.delivered;
            window = f64::from(flight.now + ack.delivered);
        } else if repairs(was) && !repairs(is) {
            window = window.max(self.window_before);
            self.conserves = false;
        }
        self.phase = is;
        window
    }

    /// Keeps the window before it is reduced.
    pub(super) fn remember(&mut self, window: f64) {
        let is_reduced = repairs(self.phase) || self.mode == Mode::ProbeRtt;
        self.window_before = kept(self.window_before, window, is_reduced);
    }
}
