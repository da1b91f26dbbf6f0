//! Prague: a window that shrinks with the share of packets that were marked, for queues that mark
//! early (Linux: net/ipv4/tcp_prague.c, module version 0.7 in minuscat/rpi-6.18.y at 330b511ac19e;
//! draft-briscoe-iccrg-prague-congestion-control-04). Packets carry ECT(1), and the receiver feeds
//! back the number of marks (RFC 9768).
//!
//! It differs from DCTCP in this: the estimate starts at 0, and the first mark halves the window;
//! packets that are not marked let the window grow, after a mark, too; and flows with round trips
//! below 25 ms grow as if theirs were 25 ms. Not here: the mode for windows below four packets, in
//! which Linux sends smaller packets.

use super::classic_queue::ClassicQueue;
use super::{Control, Delivery, Event, Sample, Window};
use crate::config::{Config, MS};
use crate::sender::Phase;

/// Weight of the last round in the estimate (`PRAGUE_SHIFT_G`).
const GAIN: f64 = 1.0 / 16.0;

/// Rounds since slow start after which shorter round trips count as the target
/// (`PRAGUE_RTT_TRANSITION`).
const ROUNDS_BEFORE: u32 = 4;

/// Least window, packets.
const LEAST_WINDOW: f64 = 2.0;

/// What a loss leaves of the window.
const DECREASE: f64 = 0.5;

/// The rate is computed for whole packets, and TCP's own pacing takes from it the time of their
/// payload only: here of packets of 1500 bytes with time stamps (`prague_update_pacing_rate`;
/// `tcp_update_skb_after_send`).
const PACKET_OVER_PAYLOAD: f64 = 1500.0 / 1448.0;

/// Packets that leave within this part of a second leave together.
const BURSTS_PER_SECOND: f64 = 4096.0;

/// Round trips below 25 ms count as 25 ms.
pub(crate) type Prague = WithTarget<25>;

/// Prague; round trips shorter than `TARGET_MS` count as so long, and the thresholds of its fallback
/// lack so many bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct WithTarget<const TARGET_MS: u64, const MISSING_BITS: i32 = 0>(
    Box<State<TARGET_MS, MISSING_BITS>>,
);

#[derive(Clone, Debug, Default)]
struct State<const TARGET_MS: u64, const MISSING_BITS: i32> {
    /// Window with its fraction, packets; 0 before the first ACK.
    window: f64,
    /// Estimated share of the packets that are marked; `None` before the first mark.
    alpha: Option<f64>,
    /// Packets delivered in this round, and marked ones.
    delivered: u32,
    marked: u32,
    /// An ACK beyond this packet ends the round.
    round_end: u32,
    /// When the estimate changed last.
    estimated_ns: u64,
    /// Rounds since slow start.
    rounds: u32,
    /// Marks count again with an ACK beyond this packet, and when the window was reduced last.
    reduced_to: u32,
    reduced_ns: u64,
    /// Round-trip time, ns.
    srtt_ns: u64,
    /// Whether marks seem to come from a classic queue
    /// ([`Config::classic_fallback`](crate::Config)).
    classic: ClassicQueue,
}

impl<const TARGET_MS: u64, const MISSING_BITS: i32> Control
    for WithTarget<TARGET_MS, MISSING_BITS>
{
    const ANSWERS_MARKS: bool = true;
    const PACES: bool = true;

    fn on_ack(
        &mut self,
        window: &mut Window,
        config: &Config,
        ack: &Sample,
        _delivery: Option<&Delivery>,
    ) {
        let Some(flight) = &ack.flight else { return };
        let state = &mut *self.0;
        if state.window == 0.0 {
            state.window = window.cwnd;
        }
        state.srtt_ns = ack.srtt_ns;
        if config.classic_fallback {
            state.classic.sample(ack.rtt_ns);
        }
        state.answer_marks(window, ack);
        let is_used = 2.0 * f64::from(flight.before) >= window.cwnd;
        if ack.phase != Phase::Recovery && is_used {
            state.grow(window, ack.delivered.saturating_sub(ack.ce));
        }
        state.estimate(window, ack);
        let target = state.window.ceil();
        window.cwnd += (target - window.cwnd).clamp(-1.0, 1.0);
        window.cwnd = window.cwnd.max(LEAST_WINDOW);
    }

    fn on_event(&mut self, window: &mut Window, config: &Config, event: Event) {
        let state = &mut *self.0;
        match event {
            Event::Opened { timeouts, marked } => {
                *state = State::default();
                window.open_connection(config, timeouts, marked);
                state.window = window.cwnd;
            }
            Event::Loss { used, .. } => {
                if used.is_some() {
                    state.reduce(window, DECREASE);
                }
            }
            Event::TimeOut {
                used, in_flight, ..
            } => {
                window.remember();
                if used.is_some() {
                    state.reduce(window, DECREASE);
                }
                window.cwnd = f64::from(in_flight) + 1.0;
                state.window = window.cwnd;
            }
            Event::SpuriousTimeOut => {
                window.undo();
                state.window = window.cwnd;
            }
            Event::Idle { restarts, .. } => {
                if restarts {
                    window.cwnd = window.cwnd.min(config.initial_window);
                    state.window = window.cwnd;
                }
            }
            Event::Mark { .. } | Event::Recovered { .. } | Event::PartialAck { .. } => {}
        }
    }

    /// Rate of the window; twice as much in early slow start.
    fn pacing_rate(
        &self,
        window: &Window,
        _config: &Config,
        outstanding: u32,
        srtt_ns: u64,
    ) -> Option<f64> {
        (srtt_ns > 0).then(|| self.0.rate(window, outstanding, srtt_ns))
    }

    fn burst(&self) -> u32 {
        if self.0.srtt_ns == 0 {
            return 1;
        }
        let rate = self.0.window * 1e9 / self.0.srtt_ns as f64;
        ((rate / BURSTS_PER_SECOND) as u32).max(1)
    }

    fn marked_share(&self) -> Option<f64> {
        self.0.alpha
    }
}

impl<const TARGET_MS: u64, const MISSING_BITS: i32> State<TARGET_MS, MISSING_BITS> {
    const TARGET_NS: u64 = TARGET_MS * MS;

    fn rate(&self, window: &Window, outstanding: u32, srtt_ns: u64) -> f64 {
        let windows = if window.cwnd < window.ssthresh / 2.0 {
            2.0
        } else {
            1.0
        };
        let packets = self.window.max(f64::from(outstanding));
        windows * packets * PACKET_OVER_PAYLOAD * 1e9 / srtt_ns as f64
    }

    /// Marks reduce the window at most once a round. The first one of all halves it, because the
    /// estimate is not known.
    fn answer_marks(&mut self, window: &mut Window, ack: &Sample) {
        if ack.ce == 0 {
            return;
        }
        let Some(alpha) = self.alpha else {
            self.alpha = Some(0.0);
            self.reduce(window, DECREASE);
            self.note_reduction(ack);
            return;
        };
        if ack.next > self.reduced_to && !self.waits(ack.now_ns, self.reduced_ns) {
            // 0 without a fallback
            let share = alpha.max(self.classic.least_share());
            self.reduce(window, 1.0 - share / 2.0);
            self.note_reduction(ack);
        }
    }

    fn note_reduction(&mut self, ack: &Sample) {
        (self.reduced_to, self.reduced_ns) = (ack.sent, ack.now_ns);
    }

    fn reduce(&mut self, window: &mut Window, share: f64) {
        self.classic.reduce(window.ssthresh);
        self.window = (self.window * share).max(LEAST_WINDOW);
        window.ssthresh = self.window;
    }

    fn grow(&mut self, window: &Window, unmarked: u32) {
        let mut unmarked = f64::from(unmarked);
        if window.cwnd < window.ssthresh {
            let grown = (self.window + unmarked).min(window.ssthresh.max(self.window));
            unmarked -= grown - self.window;
            self.window = grown;
        }
        self.window += unmarked * self.increase() / self.window;
    }

    /// Returns the growth of the window in a round trip, packets: less where it is short, so that
    /// the rate grows as it would with the target.
    fn increase(&self) -> f64 {
        if !self.is_independent() {
            return 1.0;
        }
        let share = self.srtt_ns as f64 / Self::TARGET_NS as f64;
        share * share
    }

    fn is_independent(&self) -> bool {
        self.rounds >= ROUNDS_BEFORE && self.srtt_ns < Self::TARGET_NS
    }

    /// True if a virtual round trip since this time is not over.
    fn waits(&self, now_ns: u64, since_ns: u64) -> bool {
        self.is_independent() && now_ns - since_ns < Self::TARGET_NS
    }

    /// Updates the estimate at the end of a round.
    fn estimate(&mut self, window: &Window, ack: &Sample) {
        self.delivered += ack.delivered;
        self.marked += ack.ce;
        if ack.next <= self.round_end {
            return;
        }
        self.round_end = ack.sent;
        if window.cwnd >= window.ssthresh {
            self.rounds = self.rounds.saturating_add(1);
        } else {
            self.rounds = 0;
        }
        if self.waits(ack.now_ns, self.estimated_ns) {
            return;
        }
        if let Some(alpha) = &mut self.alpha
            && self.delivered > 0
        {
            let share = f64::from(self.marked) / f64::from(self.delivered);
            *alpha += GAIN * (share.min(1.0) - *alpha);
            self.classic.end_round(ack.min_rtt_ns, MISSING_BITS);
        }
        self.estimated_ns = ack.now_ns;
        (self.delivered, self.marked) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::WithTarget;
    use crate::config::{MS, SECOND};
    use crate::congestion::path::Path;
    use crate::congestion::window::Congestion;
    use crate::congestion::{AnyControl, CongestionControl};
    use crate::sender::GREEDY;

    fn path(rtt_ms: u64, mark_every: u32) -> Path {
        path_of(CongestionControl::Prague, rtt_ms, mark_every)
    }

    fn path_of(control: CongestionControl, rtt_ms: u64, mark_every: u32) -> Path {
        let mut path = Path::new(control, GREEDY, &[], |_| {});
        path.service_ns = MS / 100;
        path.delay_ns = rtt_ms * MS - path.service_ns;
        path.mark_every = Some(mark_every);
        path
    }

    fn window(congestion: &Congestion) -> f64 {
        match &congestion.control {
            AnyControl::Prague(WithTarget(state)) => state.window,
            AnyControl::Prague2020(WithTarget(state)) => state.window,
            _ => panic!("another control"),
        }
    }

    /// Mean window from `from_s` to `to_s`, packets.
    fn mean_window(path: &mut Path, from_s: u64, to_s: u64) -> f64 {
        path.run(from_s * SECOND);
        let (mut sum, mut last_ns, mut present) = (0.0, path.now_ns, 0.0);
        path.watch(to_s * SECOND, |path| {
            sum += present * (path.now_ns - last_ns) as f64;
            (present, last_ns) = (window(&path.sender.congestion), path.now_ns);
        });
        sum / ((to_s - from_s) * SECOND) as f64
    }

    #[test]
    fn the_window_balances_growth_with_half_the_marked_share() {
        // By chance every packet is marked with probability p. The window is reduced by W p / 2 with
        // the first mark that comes a round trip, W packets, after the last reduction: W + 1/p
        // packets later. In this time it grows by 1 - p for each W. So x = W p solves
        // x^2 / 2 = (1 - p)(x + 1).
        for every in [10, 20, 50] {
            let p = 1.0 / f64::from(every);
            let rest = 1.0 - p;
            let expected = (rest + (rest * rest + 2.0 * rest).sqrt()) / p;
            let mean = mean_window(&mut path(100, every), 60, 400);
            assert!(
                (mean / expected - 1.0).abs() < 0.08,
                "{every}: {mean} {expected}"
            );
        }
    }

    #[test]
    fn below_25_ms_the_rate_does_not_depend_on_the_round_trip() {
        let rate = |rtt_ms: u64| mean_window(&mut path(rtt_ms, 40), 40, 100) / rtt_ms as f64;
        let at_target = rate(25);
        for rtt_ms in [10, 15] {
            let ratio = rate(rtt_ms) / at_target;
            assert!((ratio - 1.0).abs() < 0.15, "{rtt_ms} ms: {ratio}");
        }
        // above it does
        assert!((rate(100) / at_target - 0.25).abs() < 0.04);
    }

    #[test]
    fn that_of_2020_has_the_same_window_at_all_round_trips() {
        let window = |rtt_ms| {
            let mut path = path_of(CongestionControl::Prague2020, rtt_ms, 40);
            mean_window(&mut path, 40, 100)
        };
        let at_100 = window(100);
        for rtt_ms in [10, 25] {
            let ratio = window(rtt_ms) / at_100;
            assert!((ratio - 1.0).abs() < 0.05, "{rtt_ms} ms: {ratio}");
        }
    }

    #[test]
    fn the_first_mark_halves_the_window_and_ends_slow_start() {
        let mut path = path(100, u32::MAX);
        path.run(450 * MS);
        path.mark_every = Some(1);
        let mut before = 0.0;
        path.watch(600 * MS, |path| {
            if path.sender.ssthresh().is_infinite() {
                before = window(&path.sender.congestion);
            }
        });
        let after = path.sender.ssthresh();
        assert!(before > 100.0);
        assert!((after / before - 0.5).abs() < 0.01, "{before} {after}");
    }

    #[test]
    fn it_asks_for_what_it_needs() {
        use crate::Config;
        let config = Config::rfc(crate::Variant::Rack).with(CongestionControl::Prague);
        assert!(config.ecn && config.accurate_ecn && config.pacing);
        config.check().unwrap();
    }
}
