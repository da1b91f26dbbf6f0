//! Prague: a window that shrinks with the share of packets that were marked, for queues that mark
//! early (Linux: net/ipv4/tcp_prague.c, module version 0.7 in minuscat/rpi-6.18.y at 330b511ac19e;
//! draft-briscoe-iccrg-prague-congestion-control-04). Packets carry ECT(1), and the receiver feeds
//! back the number of marks (RFC 9768).
//!
//! It differs from DCTCP in this: the estimate starts at 0, and the first mark halves the window;
//! packets that are not marked let the window grow, after a mark, too; and flows with round trips
//! below 25 ms grow as if theirs were 25 ms. Small windows are in `small_windows`, which `prague_2024`
//! has. In Linux the window follows its fraction by a packet with each ACK, and such a step down ends
//! slow start (`steps`): older versions do so here. Module version 0.7 does so, too, but not here, nor
//! in the laboratory's program.

#[path = "prague_steps.rs"]
mod steps;
#[path = "prague_version.rs"]
mod version;

use std::marker::PhantomData;

pub(crate) use steps::Steps;
pub(crate) use version::{Paced, Version};

use super::classic_queue::ClassicQueue;
use super::small_windows::SmallWindows;
use super::{Control, Delivery, Event, Sample, Window};
use crate::config::{Config, MS};
use crate::sender::Phase;

/// Weight of the last round in the estimate (`PRAGUE_SHIFT_G`).
const GAIN: f64 = 1.0 / 16.0;

/// Least window, packets.
const LEAST_WINDOW: f64 = 2.0;

/// What a loss leaves of the window.
const DECREASE: f64 = 0.5;

/// The rate is computed for whole packets, and TCP's own pacing takes from it the time of their payload only
/// (`prague_update_pacing_rate`, `tcp_update_skb_after_send`). Bytes of a packet, of its payload beside
/// time stamps, and of the option of accurate feedback, which takes room from the payload.
const PACKET: f64 = 1500.0;
const PAYLOAD: f64 = 1448.0;
const OPTION: f64 = 12.0;

/// Packets that leave within this part of a second leave together.
const BURSTS_PER_SECOND: f64 = 4096.0;

/// Module version 0.7.
#[derive(Clone, Debug, Default)]
pub(crate) struct Today;

impl Version for Today {
    const TARGET_NS: u64 = 25 * MS;
    const OPTION_WITH_DATA: bool = true;
}

pub(crate) type Prague = Of<Today>;

/// Prague of this version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Of<V>(Box<State<V>>);

#[derive(Clone, Debug, Default)]
struct State<V> {
    /// Window with its fraction, packets; 0 before the first ACK.
    window: f64,
    /// Estimated share of the packets that are marked; `None` before the first mark.
    alpha: Option<f64>,
    /// Packets delivered in this round, and marked ones.
    delivered: u32,
    marked: u32,
    /// An ACK of all packets before this one ends the round.
    round_end: u32,
    /// When the estimate changed last.
    estimated_ns: u64,
    /// Rounds outside of slow start.
    rounds: u32,
    /// From a loss until the state is open again; and the carry before the last time-out
    /// ([`Steps`]).
    recovers: bool,
    carry_before: f64,
    /// A probe has repaired a loss since the last ACK.
    is_repaired: bool,
    /// The last ACK was of all packets before this one. One beyond `cwr_end` ends the state CWR, which
    /// marks begin.
    acked: u32,
    cwr_end: u32,
    /// When marks reduced the window last.
    reduced_ns: u64,
    /// Round-trip time, ns.
    srtt_ns: u64,
    /// Packets in flight at the last ACK.
    in_flight: u32,
    /// Packets per second at the last ACK: for bursts, and for pacing where the window follows from a
    /// rate; else pacing computes it of the present window.
    rate: f64,
    /// The rate in place of a small window.
    small: SmallWindows,
    /// Whether marks seem to come from a classic queue
    /// ([`Config::classic_fallback`](crate::Config)).
    classic: ClassicQueue,
    version: PhantomData<V>,
}

impl<V: Version> Control for Of<V> {
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
        if state.window == 0.0 && state.srtt_ns == 0 {
            state.window = window.cwnd;
        }
        (state.srtt_ns, state.in_flight) = (ack.srtt_ns, flight.now);
        if config.classic_fallback {
            state.classic.sample(ack.rtt_ns);
        }
        state.answer_repair(window, ack.now_ns);
        state.answer_marks(window, ack);
        state.acked = ack.next;
        let is_used = 2.0 * f64::from(flight.before) >= window.cwnd;
        let unmarked = ack.delivered.saturating_sub(ack.ce);
        if V::STEPS == Steps::Simple {
            if ack.phase != Phase::Recovery && is_used {
                state.grow(window, unmarked);
            }
            state.estimate(window, ack);
            let target = state.window.ceil();
            window.cwnd += (target - window.cwnd).clamp(-1.0, 1.0);
            window.cwnd = window.cwnd.max(LEAST_WINDOW);
        } else {
            state.recovers &= ack.phase != Phase::Open;
            state.follow(window, if is_used { unmarked } else { 0 });
            state.estimate(window, ack);
        }
        if ack.srtt_ns > 0 {
            state.set_rate(window, ack.now_ns);
        }
    }

    fn on_event(&mut self, window: &mut Window, config: &Config, event: Event) {
        let state = &mut *self.0;
        match event {
            Event::Opened { timeouts, marked } => {
                *state = State::default();
                window.open_connection(config, timeouts, marked);
                state.window = window.cwnd;
            }
            Event::Loss { used: None, .. } => {}
            Event::Loss { begins, .. } => {
                if begins || V::STEPS == Steps::Simple {
                    state.lose(window);
                } else {
                    state.is_repaired = true;
                }
            }
            Event::TimeOut {
                used, in_flight, ..
            } => {
                window.remember();
                state.small.remember();
                state.time_out(window, used.is_some(), in_flight);
            }
            Event::SpuriousTimeOut => {
                state.small.undo();
                state.undo(window);
            }
            Event::Idle { restarts, .. } => {
                if restarts {
                    state.restart(window, config.initial_window);
                }
            }
            Event::Mark { .. } | Event::Recovered { .. } | Event::PartialAck { .. } => {}
        }
    }

    /// Rate of the window; twice as much in early slow start.
    fn pacing_rate(
        &self,
        window: &Window,
        config: &Config,
        _outstanding: u32,
        srtt_ns: u64,
    ) -> Option<f64> {
        let state = &*self.0;
        let rate = if state.follows_rate(window) {
            state.rate
        } else {
            state.rate(window, srtt_ns)
        };
        let has_option = V::OPTION_WITH_DATA && config.quirks.counts_marked_bytes;
        let payload = if has_option {
            PAYLOAD - OPTION
        } else {
            PAYLOAD
        };
        (srtt_ns > 0).then_some(rate * PACKET / payload)
    }

    fn burst(&self) -> u32 {
        ((self.0.rate / BURSTS_PER_SECOND) as u32).max(V::LEAST_BURST)
    }

    fn marked_share(&self) -> Option<f64> {
        self.0.alpha
    }
}

impl<V: Version> State<V> {
    /// Returns packets per second, in early slow start twice as many (`prague_update_pacing_rate`).
    fn rate(&self, window: &Window, srtt_ns: u64) -> f64 {
        let windows = if window.cwnd < window.ssthresh / 2.0 {
            2.0
        } else {
            1.0
        };
        windows * self.base_rate(window, srtt_ns)
    }

    /// Returns that rate outside of slow start.
    fn base_rate(&self, window: &Window, srtt_ns: u64) -> f64 {
        let in_flight = f64::from(self.in_flight);
        let packets = match V::PACED {
            Paced::Whole => self.window.floor().max(in_flight),
            Paced::Window => window.cwnd.max(in_flight),
        };
        packets * 1e9 / srtt_ns as f64
    }

    /// True if the window follows from a rate.
    fn follows_rate(&self, window: &Window) -> bool {
        V::SMALL_WINDOWS && self.small.is_small() && self.is_old(window)
    }

    /// Sets the rate until the next ACK, and that of a window which becomes small with this one.
    fn set_rate(&mut self, window: &Window, now_ns: u64) {
        let follows = self.follows_rate(window);
        self.rate = if follows {
            let round_ns = self.srtt_ns.max(V::TARGET_NS);
            self.small.pace(now_ns - self.estimated_ns >= round_ns / 2)
        } else {
            self.rate(window, self.srtt_ns)
        };
        if V::SMALL_WINDOWS && self.alpha.is_some() {
            let rate = (!follows).then(|| self.base_rate(window, self.srtt_ns));
            self.small.end_ack(window.cwnd, rate);
        }
    }

    /// Marks begin the state CWR, which lasts a round and reduces the window at its begin, but not within
    /// a virtual round trip of the last reduction: then its round goes by without one (`prague_enter_cwr`).
    /// The first mark of all halves the window, because the estimate is not known.
    fn answer_marks(&mut self, window: &mut Window, ack: &Sample) {
        if ack.ce == 0 {
            return;
        }
        let recovers = matches!(ack.phase, Phase::Recovery | Phase::TimedOut);
        let begins = ack.next > self.cwr_end && !recovers;
        if begins {
            self.cwr_end = ack.sent;
        }
        match self.alpha {
            None if V::STEPS == Steps::Simple || begins => {
                self.alpha = Some(V::FIRST_ALPHA);
                self.reduce(window, DECREASE);
            }
            Some(_) if begins && !self.waits(window, ack.now_ns, self.reduced_ns) => {
                self.reduce(window, 1.0 - self.share() / 2.0);
            }
            _ => {
                self.alpha = self.alpha.or(Some(V::FIRST_ALPHA));
                return;
            }
        }
        if begins {
            self.reduced_ns = ack.now_ns;
        }
    }

    /// True until the round of the last mark is over.
    fn is_in_cwr(&self) -> bool {
        self.alpha.is_some() && self.acked <= self.cwr_end
    }

    /// Returns twice the share of the window that a mark takes.
    fn share(&self) -> f64 {
        // 0 without a fallback
        let least = self.classic.least_share();
        self.alpha.unwrap_or(V::FIRST_ALPHA).max(least)
    }

    fn lose(&mut self, window: &mut Window) {
        self.recovers = true;
        let carry = self.window - window.cwnd;
        self.reduce(window, DECREASE);
        if V::STEPS == Steps::Carry {
            self.window -= carry * (1.0 - DECREASE);
        }
    }

    fn reduce(&mut self, window: &mut Window, share: f64) {
        self.classic.reduce(window.ssthresh);
        self.window = if self.follows_rate(window) {
            self.small.reduce(share)
        } else {
            match V::STEPS {
                Steps::Simple => (self.window * share).max(LEAST_WINDOW),
                Steps::Fraction => self.window * share,
                Steps::Carry => self.window - window.cwnd * (1.0 - share),
            }
        };
        if V::STEPS == Steps::Simple {
            window.ssthresh = self.window.max(LEAST_WINDOW);
        }
    }

    fn grow(&mut self, window: &Window, unmarked: u32) {
        let mut unmarked = f64::from(unmarked);
        if window.cwnd < window.ssthresh {
            let grown = (self.window + unmarked).min(window.ssthresh.max(self.window));
            unmarked -= grown - self.window;
            self.window = grown;
        }
        self.climb(window, unmarked, self.window);
    }

    /// Grows by `unmarked` packets out of slow start, of a window of so many.
    fn climb(&mut self, window: &Window, unmarked: f64, packets: f64) {
        if self.follows_rate(window) {
            let rtt_ns = self.srtt_ns.max(V::TARGET_NS);
            self.window = self.small.grow(unmarked, rtt_ns).max(self.window);
        } else {
            self.window += unmarked * self.increase(window) / packets;
        }
    }

    /// Returns the growth of the window in a round trip, packets: less where it is short, so that
    /// the rate grows as it would with the target.
    fn increase(&self, window: &Window) -> f64 {
        if !self.is_independent(window) {
            return 1.0;
        }
        let share = self.srtt_ns as f64 / V::TARGET_NS as f64;
        share * share
    }

    fn is_independent(&self, window: &Window) -> bool {
        self.is_old(window) && self.srtt_ns < V::TARGET_NS
    }

    fn is_old(&self, window: &Window) -> bool {
        window.cwnd >= window.ssthresh && self.rounds >= V::ROUNDS_BEFORE
    }

    /// True if a virtual round trip since this time is not over.
    fn waits(&self, window: &Window, now_ns: u64, since_ns: u64) -> bool {
        self.is_independent(window) && now_ns - since_ns < V::TARGET_NS
    }

    /// Updates the estimate at the end of a round, which lasts a virtual round trip at least.
    fn estimate(&mut self, window: &Window, ack: &Sample) {
        self.delivered += ack.delivered;
        self.marked += ack.ce;
        if ack.next < self.round_end || self.waits(window, ack.now_ns, self.estimated_ns) {
            return;
        }
        self.round_end = ack.sent;
        if V::SMALL_WINDOWS {
            self.small.end_round(ack.srtt_ns);
        }
        if window.cwnd >= window.ssthresh {
            self.rounds = self.rounds.saturating_add(1);
        }
        if let Some(alpha) = &mut self.alpha
            && self.delivered > 0
        {
            let share = f64::from(self.marked) / f64::from(self.delivered);
            *alpha += GAIN * (share.min(1.0) - *alpha);
            self.classic.end_round(ack.min_rtt_ns, V::MISSING_BITS);
            self.estimated_ns = ack.now_ns;
        }
        (self.delivered, self.marked) = (0, 0);
    }
}

#[cfg(test)]
#[path = "prague_tests.rs"]
mod tests;
