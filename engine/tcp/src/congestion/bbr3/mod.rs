//! BBR, version 3, as in google/bbr (net/ipv4/tcp_bbr.c, branch v3, at 001a430b3ddb; the IETF's text
//! is draft-ietf-ccwg-bbr). As version 1 it sends at the rate that the path delivers. In addition,
//! losses (and, where they are shallow, marks) bound the rate and the packets in flight: from
//! above what probes found safe, from below what is delivered while it does not probe.
//!
//! Names in parentheses are those of the source. Times here are exact. What the source draws by
//! chance is a hash of the time, because endpoints draw no random numbers.

mod bounds;
mod cycle;
mod pacing;
mod round_trip;
mod startup;
#[cfg(test)]
mod tests;
mod window;

use super::bbr::{Aggregation, first_rate, repairs};
use super::{Control, Delivery, Event, InFlight, LostPacket, Rate, Sample, Sent, Window, hash};
use crate::config::Config;
use crate::sender::Phase;
use crate::timers::jiffies;
use bounds::Bounds;
use cycle::{AckPhase, Cycle};
use pacing::LEAST_BURST;

/// Gains are multiples of 1/256: of the pacing rate in STARTUP, 4 ln 2 (`bbr_startup_pacing_gain`)
/// and in DRAIN (`bbr_drain_gain`); of the window (`bbr_startup_cwnd_gain`, `bbr_cwnd_gain`), which
/// is a quarter more while it probes (`bbr_bw_probe_cwnd_gain`).
const STARTUP_GAIN: f64 = 710.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
const WINDOW_GAIN: f64 = 2.0;
const PROBE_WINDOW_GAIN: f64 = 2.25;

/// Least window, packets (`bbr_cwnd_min_target`).
const LEAST_WINDOW: f64 = 4.0;

/// Rounds after which a largest burst of ACKs is forgotten (`bbr_extra_acked_win_rtts`), and in
/// STARTUP.
const EXCESS_ROUNDS: u8 = 5;
const EXCESS_ROUNDS_AT_START: u8 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw(Cycle),
    ProbeRtt,
}

/// The state takes 500 bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bbr3(Box<State>);

#[derive(Clone, Debug)]
struct State {
    mode: Mode,
    bounds: Bounds,
    /// Packets delivered in all, and the number that ends the present round (`next_rtt_delivered`).
    delivered: u64,
    delivered_ns: u64,
    round_end: u64,
    round_starts: bool,
    /// A round of its own for losses: the first loss begins it (`loss_round_delivered`).
    loss_round_end: u64,
    loss_round_starts: bool,
    loss_in_round: bool,
    loss_in_cycle: bool,
    /// ACKs of the round in STARTUP that reported losses (`loss_events_in_round`).
    losing_acks: u8,
    /// Marks: whether it may answer them, how many there were, their share, and what it was last
    /// updated with (`ecn_eligible`, `ecn_alpha`, `alpha_last_delivered`).
    answers_marks: bool,
    marks: u64,
    marked_share: f64,
    share_of: (u64, u64),
    marks_in_round: bool,
    marks_in_cycle: bool,
    marked_rounds: u8,
    /// Shortest round-trip time of ten seconds, and of five, with the times of their measurement,
    /// and the end of PROBE_RTT, in jiffies.
    min_rtt_ns: Option<u64>,
    min_rtt_at: Option<u64>,
    probe_rtt_min_ns: Option<u64>,
    probe_rtt_min_at: Option<u64>,
    probe_rtt_until: Option<u64>,
    probe_rtt_round_done: bool,
    /// Packets sent while so many were delivered, from and to, were held back by PROBE_RTT.
    held_back: (u64, u64),
    /// When the phase of PROBE_BW began, how long it waits for the next probe, and for how many
    /// rounds it has waited (`cycle_mstamp`, `probe_wait_us`, `rounds_since_probe`).
    cycle_since_ns: u64,
    probe_wait_ns: u64,
    rounds_since_probe: u32,
    ack_phase: AckPhase,
    /// Whether the window allowed no more packets, and until how many are delivered that counts
    /// (`tp->is_cwnd_limited`).
    fills_window: bool,
    fills_window_until: u64,
    full_rate: f64,
    full_rounds: u8,
    /// The pipe is full now; it was once (`full_bw_now`, `full_bw_reached`).
    is_full_now: bool,
    is_full: bool,
    pacing_gain: f64,
    window_gain: f64,
    /// Rate at which packets leave, 0: not known yet, and how many leave together.
    pacing_rate: f64,
    burst: u32,
    window_before: f64,
    phase: Phase,
    restarts: bool,
    aggregation: Aggregation,
}

impl Default for State {
    fn default() -> Self {
        Self {
            mode: Mode::Startup,
            bounds: Bounds::default(),
            delivered: 0,
            delivered_ns: 0,
            round_end: 0,
            round_starts: false,
            loss_round_end: 1,
            loss_round_starts: false,
            loss_in_round: false,
            loss_in_cycle: false,
            losing_acks: 0,
            answers_marks: false,
            marks: 0,
            marked_share: 1.0,
            share_of: (0, 0),
            marks_in_round: false,
            marks_in_cycle: false,
            marked_rounds: 0,
            min_rtt_ns: None,
            min_rtt_at: None,
            probe_rtt_min_ns: None,
            probe_rtt_min_at: None,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            held_back: (u64::MAX, 0),
            cycle_since_ns: 0,
            probe_wait_ns: 0,
            rounds_since_probe: 0,
            ack_phase: AckPhase::Init,
            fills_window: false,
            fills_window_until: 0,
            full_rate: 0.0,
            full_rounds: 0,
            is_full_now: false,
            is_full: false,
            pacing_gain: STARTUP_GAIN,
            window_gain: WINDOW_GAIN,
            pacing_rate: 0.0,
            burst: LEAST_BURST,
            window_before: 0.0,
            phase: Phase::Open,
            restarts: false,
            aggregation: Aggregation::default(),
        }
    }
}

impl Control for Bbr3 {
    const SAMPLES_DELIVERY: bool = true;
    /// `bbr_sndbuf_expand`.
    const MEMORY_FACTOR: u32 = 3;
    const PACES: bool = true;

    fn on_sent(&mut self, window: &mut Window, sent: &Sent) {
        let state = &mut *self.0;
        state.min_rtt_at.get_or_insert_with(|| jiffies(sent.now_ns));
        state
            .probe_rtt_min_at
            .get_or_insert_with(|| jiffies(sent.now_ns));
        if f64::from(sent.in_flight + 1) >= window.cwnd.floor() {
            state.fills_window = true;
            state.fills_window_until = state.delivered + u64::from(sent.in_flight) + 1;
        }
        if state.restarts && sent.in_flight == 0 {
            state.restart(window, sent.now_ns);
        }
    }

    fn on_lost(&mut self, window: &mut Window, lost: &LostPacket) {
        self.0.on_lost(window, lost);
    }

    /// `bbr_main`.
    fn on_ack(
        &mut self,
        window: &mut Window,
        config: &Config,
        ack: &Sample,
        delivery: Option<&Delivery>,
    ) {
        if let (Some(flight), Some(delivery)) = (&ack.flight, delivery) {
            let of = Ack {
                now_ns: ack.now_ns,
                ack,
                flight,
                rate: delivery.rate,
            };
            self.0.on_ack(window, config, &of, delivery);
        }
    }

    fn on_event(&mut self, window: &mut Window, config: &Config, event: Event) {
        let state = &mut *self.0;
        match event {
            Event::Opened { timeouts, marked } => {
                *state = State::default();
                window.open_connection(config, timeouts, marked);
            }
            Event::Loss { used, begins } => {
                if used.is_some() {
                    state.remember(window.cwnd);
                }
                if !begins {
                    state.on_repaired_loss(window);
                }
            }
            Event::Mark { .. } => state.remember(window.cwnd),
            Event::TimeOut {
                used, in_flight, ..
            } => {
                if used.is_some() {
                    state.remember(window.cwnd);
                }
                state.on_time_out(window.cwnd);
                window.cwnd = f64::from(in_flight) + 1.0;
            }
            // `bbr_undo_cwnd`
            Event::SpuriousTimeOut => {
                state.forget_full_rate();
                state.loss_in_round = false;
                state.bounds.undo();
                window.cwnd = state.window_before;
            }
            Event::Idle { .. } => state.restarts = true,
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
        Some(first_rate(STARTUP_GAIN, window.cwnd, srtt_ns))
    }

    fn burst(&self) -> u32 {
        self.0.burst
    }

    fn marked_share(&self) -> Option<f64> {
        self.0.answers_marks.then_some(self.0.marked_share)
    }
}

/// An ACK and what it says of the flight and of the rate.
struct Ack<'a> {
    now_ns: u64,
    ack: &'a Sample,
    flight: &'a InFlight,
    rate: Option<Rate>,
}

impl Ack<'_> {
    /// The sample of the rate, if the ACK reports anything new.
    fn sample(&self) -> Option<&Rate> {
        self.rate.as_ref().filter(|_| self.ack.delivered > 0)
    }
}

fn per_second(rate: &Rate) -> f64 {
    f64::from(rate.packets) * 1e9 / rate.interval_ns as f64
}

impl State {
    fn on_ack(&mut self, window: &mut Window, config: &Config, of: &Ack, delivery: &Delivery) {
        self.delivered = delivery.delivered;
        self.marks += u64::from(of.ack.ce);
        if of.ack.delivered > 0 {
            self.delivered_ns = of.now_ns;
        } else if !of.flight.advances {
            // it reports nothing new, or the reordering timer has found losses
            self.loss_in_round |= of.flight.lost > 0;
            return;
        }
        if self.min_rtt_ns.is_none() && of.ack.min_rtt_ns > 0 {
            // of the handshake
            self.min_rtt_ns = Some(of.ack.min_rtt_ns);
            self.probe_rtt_min_ns = self.min_rtt_ns;
            self.update_burst();
        }
        self.fills_window &= self.delivered < self.fills_window_until;
        self.count_rounds(of);
        if self.round_starts {
            self.rounds_since_probe = self.rounds_since_probe.saturating_add(1);
            self.update_marked_share(config);
        }
        self.marks_in_round |= self.answers_marks && of.ack.ce > 0;
        self.take_latest(of);
        self.update_model(window, of, delivery);
        self.update_gains();
        if self.pacing_rate > 0.0 || of.ack.srtt_ns > 0 {
            self.update_pacing_rate(window.cwnd, of.ack.srtt_ns, self.pacing_gain);
        }
        self.update_window(window, of);
        self.bound_window(window);
        self.forget_latest(of);
        if self.phase == Phase::TimedOut && !repairs(of.ack.phase) {
            // `bbr_exit_loss_recovery`
            window.cwnd = window.cwnd.max(self.window_before);
        }
        self.phase = of.ack.phase;
        if let Some(rate) = &of.rate {
            self.loss_in_cycle |= rate.lost > 0;
            self.marks_in_cycle |= rate.ce > 0;
        }
    }

    /// `bbr_update_model`.
    fn update_model(&mut self, window: &mut Window, of: &Ack, delivery: &Delivery) {
        self.take_signals(window, of);
        if of.sample().is_some() {
            let rounds = if self.is_full {
                EXCESS_ROUNDS
            } else {
                EXCESS_ROUNDS_AT_START
            };
            let (rate, acked) = (self.bounds.rate(), of.ack.delivered);
            let new_round = self.round_starts.then_some(rounds);
            self.aggregation
                .update(self.delivered_ns, acked, rate, window.cwnd, new_round);
        }
        self.check_losses_in_startup(of);
        self.check_full(of);
        self.check_drain(window, of);
        self.update_cycle(window, of);
        self.update_min_rtt(window, of, delivery);
    }

    /// `bbr_update_round_start`.
    fn count_rounds(&mut self, of: &Ack) {
        self.round_starts = of
            .rate
            .is_some_and(|rate| rate.prior_delivered >= self.round_end);
        if self.round_starts {
            self.round_end = self.delivered;
        }
    }

    /// True if not the path, but the application or PROBE_RTT limited the rate.
    fn is_limited(&self, rate: &Rate) -> bool {
        let (from, to) = self.held_back;
        rate.app_limited || (from..=to).contains(&rate.prior_delivered)
    }

    /// `bbr_update_gains`.
    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (STARTUP_GAIN, WINDOW_GAIN),
            Mode::Drain => (DRAIN_GAIN, WINDOW_GAIN),
            Mode::ProbeBw(Cycle::Up) => (Cycle::Up.gain(), PROBE_WINDOW_GAIN),
            Mode::ProbeBw(cycle) => (cycle.gain(), WINDOW_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    /// `bbr_set_state`.
    fn on_time_out(&mut self, window: f64) {
        self.phase = Phase::TimedOut;
        self.forget_full_rate();
        if !self.is_probing() && self.bounds.in_flight_low.is_infinite() {
            self.bounds.in_flight_low = window.max(self.window_before);
        }
    }

    /// The first packet after the application was idle (`bbr_cwnd_event`).
    fn restart(&mut self, window: &mut Window, now_ns: u64) {
        self.aggregation.begin(now_ns);
        match self.mode {
            Mode::ProbeBw(_) => self.update_pacing_rate(window.cwnd, 0, 1.0),
            Mode::ProbeRtt => self.end_probe_rtt(window, now_ns),
            Mode::Startup | Mode::Drain => {}
        }
    }
}
