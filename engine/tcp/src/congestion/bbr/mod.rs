//! BBR, version 1, as in Linux (net/ipv4/tcp_bbr.c at 02dc96ef6c25; N. Cardwell et al., "BBR:
//! Congestion-based congestion control", ACM Queue 14(5), 2016). It measures the rate at which
//! packets are delivered and the shortest round trip, sends at that rate, and keeps about two
//! bandwidth-delay products in flight at most. Losses hardly count, and marks not at all.
//!
//! Names in parentheses are those of Linux. As there, the waits for PROBE_RTT and of PROBE_RTT are
//! counted in jiffies, and are over in the jiffy after the last one; other times are exact. Linux
//! draws the first phase of PROBE_BW by chance; here it is a hash of the time, because endpoints
//! draw no random numbers.

mod cycle;
mod float;
mod model;
mod pacing;
mod policer;
mod round_trip;
#[cfg(test)]
mod tests;
mod window;

use super::{Control, Delivery, Event, InFlight, Sample, Sent, Window, gap_ns, hash};
use crate::config::Config;
use crate::sender::Phase;
use crate::timers::jiffies;
use cycle::CYCLE;
use float::float;
pub(super) use model::Aggregation;
use model::LargestRate;
use pacing::burst;
pub(super) use pacing::{MARGIN, first_rate};
use policer::{Policer, Totals};
pub(super) use window::{at_next_departure, kept, product};

/// Gains are multiples of 1/256. In STARTUP 2/ln 2, the least gain at which the rate doubles in
/// each round trip (`bbr_high_gain`); in DRAIN its inverse, which empties the queue in one round
/// trip (`bbr_drain_gain`).
const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;

/// Gain of the window (`bbr_cwnd_gain`).
const WINDOW_GAIN: f64 = 2.0;

/// The pipe is full when the rate has not grown by a quarter in three rounds
/// (`bbr_full_bw_thresh`, `bbr_full_bw_cnt`).
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u8 = 3;

/// Least window, packets, and the window of PROBE_RTT (`bbr_cwnd_min_target`).
const LEAST_WINDOW: f64 = 4.0;

/// Window before a round trip is known, packets (`TCP_INIT_CWND`).
pub(super) const FIRST_WINDOW: f64 = 10.0;

/// Rounds after which a largest burst of ACKs is forgotten: between once and twice as many
/// (`bbr_extra_acked_win_rtts`).
const EXCESS_ROUNDS: u8 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The state takes 300 bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bbr(Box<State>);

#[derive(Clone, Debug)]
struct State {
    mode: Mode,
    /// Rates are in packets per second.
    largest_rate: LargestRate,
    /// Round trips, counted in packets, and the number of delivered packets that ends the present
    /// one (`rtt_cnt`, `next_rtt_delivered`, `round_start`).
    rounds: u32,
    round_end: u64,
    round_starts: bool,
    /// Shortest round-trip time, and when it was measured, jiffies (`min_rtt_stamp`).
    min_rtt_ns: Option<u64>,
    min_rtt_at: Option<u64>,
    /// When PROBE_RTT may end: after this jiffy and a round trip (`probe_rtt_done_stamp`).
    probe_rtt_until: Option<u64>,
    probe_rtt_round_done: bool,
    /// Packets sent while so many were delivered, from and to, were held back by PROBE_RTT. Their
    /// rates count as limited by the application (`tp->app_limited`).
    held_back: (u64, u64),
    cycle: u8,
    cycle_since_ns: u64,
    full_rate: f64,
    full_rounds: u8,
    is_full: bool,
    pacing_gain: f64,
    window_gain: f64,
    /// Rate at which packets leave, 0: not known yet; at this rate, how long the share of a packet lasts,
    /// ns, and how many leave together.
    pacing_rate: f64,
    gap_ns: u64,
    burst: u32,
    /// Window before recovery or PROBE_RTT (`prior_cwnd`).
    window_before: f64,
    /// In the first round of recovery as many packets leave as arrive (`packet_conservation`).
    conserves: bool,
    /// At the last ACK (`prev_ca_state`).
    phase: Phase,
    /// The application has data again, and no packet of it is acknowledged (`idle_restart`).
    restarts: bool,
    totals: Totals,
    aggregation: Aggregation,
    policer: Policer,
}

impl Default for State {
    fn default() -> Self {
        Self {
            mode: Mode::Startup,
            largest_rate: LargestRate::default(),
            rounds: 0,
            round_end: 0,
            round_starts: false,
            min_rtt_ns: None,
            min_rtt_at: None,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            held_back: (u64::MAX, 0),
            cycle: 0,
            cycle_since_ns: 0,
            full_rate: 0.0,
            full_rounds: 0,
            is_full: false,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            pacing_rate: 0.0,
            gap_ns: 0,
            burst: burst(0.0),
            window_before: 0.0,
            conserves: false,
            phase: Phase::Open,
            restarts: false,
            totals: Totals::default(),
            aggregation: Aggregation::default(),
            policer: Policer::default(),
        }
    }
}

impl Control for Bbr {
    const SAMPLES_DELIVERY: bool = true;
    /// `bbr_sndbuf_expand`.
    const MEMORY_FACTOR: u32 = 3;
    const PACES: bool = true;

    fn on_sent(&mut self, window: &mut Window, sent: &Sent) {
        let state = &mut *self.0;
        state.min_rtt_at.get_or_insert_with(|| jiffies(sent.now_ns));
        if state.restarts && sent.in_flight == 0 {
            state.restart(window, sent.now_ns);
        }
    }

    /// `bbr_main`.
    fn on_ack(
        &mut self,
        window: &mut Window,
        _config: &Config,
        ack: &Sample,
        delivery: Option<&Delivery>,
    ) {
        if let (Some(flight), Some(delivery)) = (&ack.flight, delivery) {
            self.0.on_ack(window, ack, flight, delivery);
        }
    }

    fn on_event(&mut self, window: &mut Window, config: &Config, event: Event) {
        let state = &mut *self.0;
        match event {
            Event::Opened { timeouts, marked } => {
                *state = State::default();
                window.open_connection(config, timeouts, marked);
            }
            Event::Loss { used, .. } => {
                if used.is_some() {
                    state.remember(window.cwnd);
                }
            }
            Event::Mark { .. } => state.remember(window.cwnd),
            Event::TimeOut {
                used,
                in_flight,
                lost,
            } => {
                if used.is_some() {
                    state.remember(window.cwnd);
                }
                window.cwnd = f64::from(in_flight) + 1.0;
                state.on_time_out(lost);
            }
            // `bbr_undo_cwnd`
            Event::SpuriousTimeOut => {
                (state.full_rate, state.full_rounds) = (0.0, 0);
                state.policer.stop();
            }
            Event::Idle { .. } => state.restarts = true,
            // the window is restored with the next ACK
            Event::Recovered { .. } | Event::PartialAck { .. } => {}
        }
    }

    fn pacing_rate(
        &self,
        window: &Window,
        _config: &Config,
        _outstanding: u32,
        srtt_ns: u64,
    ) -> Option<f64> {
        if self.0.pacing_rate > 0.0 {
            return Some(self.0.pacing_rate);
        }
        Some(first_rate(HIGH_GAIN, window.cwnd, srtt_ns))
    }

    fn gap_ns(
        &self,
        window: &Window,
        config: &Config,
        outstanding: u32,
        srtt_ns: u64,
    ) -> Option<u64> {
        if self.0.pacing_rate > 0.0 {
            debug_assert_eq!(self.0.gap_ns, gap_ns(self.0.pacing_rate));
            return Some(self.0.gap_ns);
        }
        let first = self.pacing_rate(window, config, outstanding, srtt_ns);
        first.map(gap_ns)
    }

    fn burst(&self) -> u32 {
        self.0.burst
    }
}

impl State {
    fn on_ack(&mut self, window: &mut Window, ack: &Sample, flight: &InFlight, of: &Delivery) {
        self.totals.lost += u64::from(flight.lost);
        self.totals.delivered = of.delivered;
        if ack.delivered == 0 && !flight.advances {
            // it reports nothing new, or the reordering timer has found losses
            return;
        }
        if ack.delivered > 0 {
            self.totals.delivered_ns = ack.now_ns;
        }
        if self.min_rtt_ns.is_none() && ack.min_rtt_ns > 0 {
            // of the handshake
            self.min_rtt_ns = Some(ack.min_rtt_ns);
        }
        let is_limited = self.update_rate(flight, of, ack.now_ns);
        let rate = self.rate();
        if of.rate.is_some() && ack.delivered > 0 {
            let new_round = self.round_starts.then_some(EXCESS_ROUNDS);
            let delivered_ns = self.totals.delivered_ns;
            self.aggregation
                .update(delivered_ns, ack.delivered, rate, window.cwnd, new_round);
        }
        if self.mode == Mode::ProbeBw && self.is_phase_over(window, flight, ack.now_ns) {
            self.advance_phase();
        }
        self.check_full(is_limited);
        self.check_drain(window, flight, ack.now_ns);
        self.update_min_rtt(window, flight, of, ack.now_ns);
        if ack.delivered > 0 {
            self.restarts = false;
        }
        self.update_gains();
        if self.pacing_rate > 0.0 || ack.srtt_ns > 0 {
            self.update_pacing_rate(rate * self.pacing_gain, window.cwnd, ack.srtt_ns);
        }
        self.update_window(rate, window, ack, flight);
    }

    /// The estimated rate of the path (`bbr_bw`).
    fn rate(&self) -> f64 {
        if self.policer.is_used() {
            self.policer.rate()
        } else {
            self.largest_rate.get()
        }
    }

    /// True if not the path, but the application or PROBE_RTT limited the rate.
    fn is_limited(&self, rate: &super::Rate) -> bool {
        let (from, to) = self.held_back;
        rate.app_limited || (from..=to).contains(&rate.prior_delivered)
    }

    /// `bbr_update_bw`. Returns true if the sample is limited.
    fn update_rate(&mut self, flight: &InFlight, of: &Delivery, now_ns: u64) -> bool {
        self.round_starts = false;
        let Some(rate) = &of.rate else { return false };
        if rate.prior_delivered >= self.round_end {
            self.round_end = of.delivered;
            self.rounds += 1;
            self.round_starts = true;
            self.conserves = false;
        }
        let is_limited = self.is_limited(rate);
        self.detect_policer(flight.lost > 0, is_limited, now_ns);
        let rate = f64::from(rate.packets) * 1e9 / float(rate.interval_ns);
        if !is_limited || rate >= self.largest_rate.get() {
            self.largest_rate.take(self.rounds, rate);
        }
        is_limited
    }

    fn detect_policer(&mut self, loses: bool, is_limited: bool, now_ns: u64) {
        if self.policer.is_used() {
            let counts = self.mode == Mode::ProbeBw && self.round_starts;
            if counts && self.policer.is_over() {
                self.probe_bandwidth(now_ns);
            }
            return;
        }
        let totals = self.totals;
        if self
            .policer
            .sample(&totals, loses, is_limited, self.round_starts)
        {
            self.pacing_gain = 1.0;
        }
    }

    /// `bbr_check_full_bw_reached`.
    fn check_full(&mut self, is_limited: bool) {
        if self.is_full || !self.round_starts || is_limited {
            return;
        }
        let rate = self.largest_rate.get();
        if rate >= self.full_rate * FULL_GROWTH {
            (self.full_rate, self.full_rounds) = (rate, 0);
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`.
    fn check_drain(&mut self, window: &mut Window, flight: &InFlight, now_ns: u64) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            window.ssthresh = self.target(1.0);
        }
        if self.mode == Mode::Drain
            && self.at_next_departure(window, flight.now, now_ns) <= self.target(1.0)
        {
            self.probe_bandwidth(now_ns);
        }
    }

    /// `bbr_update_gains`.
    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.is_used() => (1.0, WINDOW_GAIN),
            Mode::ProbeBw => (CYCLE[usize::from(self.cycle)], WINDOW_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    /// `bbr_set_state`.
    fn on_time_out(&mut self, lost: u32) {
        self.phase = Phase::TimedOut;
        self.full_rate = 0.0;
        self.round_starts = true;
        self.totals.lost += u64::from(lost);
        self.detect_policer(true, false, self.totals.delivered_ns);
    }

    /// The first packet after the application was idle (`bbr_cwnd_event`).
    fn restart(&mut self, window: &mut Window, now_ns: u64) {
        self.aggregation.begin(now_ns);
        match self.mode {
            Mode::ProbeBw => self.update_pacing_rate(self.rate(), window.cwnd, 0),
            Mode::ProbeRtt => self.end_probe_rtt(window, now_ns),
            Mode::Startup | Mode::Drain => {}
        }
    }
}

pub(super) fn repairs(phase: Phase) -> bool {
    matches!(phase, Phase::Recovery | Phase::TimedOut)
}
