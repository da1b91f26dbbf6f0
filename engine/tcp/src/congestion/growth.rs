//! Growth laws, and what is the same for all of them.
//!
//! A law says how the window grows beyond slow start, and what a loss or a mark leaves of it. The
//! rest is done here, once: slow start up to the threshold, the least threshold of two packets,
//! proportional rate reduction, time-outs and their end, idle times, and pacing.

use super::hystart_plus::Pace;
use super::window::Window;
use super::{Control, Delivery, Event, InFlight, Marks, Sample};
use crate::config::{Config, Variant};
use crate::ns2;
use crate::sender::Phase;

/// Least slow-start threshold, packets (RFC 5681, equation 4).
pub(crate) const MIN_SSTHRESH: f64 = 2.0;

/// Least threshold that Linux assumes while the window could still grow, as a share of the window
/// (`tcp_current_ssthresh`).
const CURRENT_SHARE: f64 = 0.75;

/// Pacing rate, in windows per round trip: in slow start far below the threshold, and else (Linux:
/// `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const PACE_IN_SLOW_START: f64 = 2.0;
const PACE: f64 = 1.2;

/// Why the window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A loss was found, other than by a time-out.
    Loss,
    /// The retransmission timer expired.
    TimeOut,
    /// An ECN echo.
    Mark,
}

/// A growth law. Windows are in packets.
pub(crate) trait Growth: Default {
    /// True if it counts marked packets; see [`Control::COUNTS_MARKS`].
    const COUNTS_MARKS: bool = false;

    /// Takes what an ACK says about marks, before anything reacts to it.
    #[inline]
    fn count_marks(&mut self, _marks: &Marks) {}

    /// Takes an ACK of new data in slow start; returns true if slow start ends at this window.
    #[inline]
    fn ends_slow_start(&mut self, _cwnd: f64, _ack: &Sample) -> bool {
        false
    }

    /// Returns the window after an ACK of new data in congestion avoidance. The ACK counts as
    /// `credit` packets.
    fn grow(&mut self, cwnd: f64, credit: f64, ack: &Sample) -> f64;

    /// Returns what is left of the window: the new slow-start threshold. `used` is the part of
    /// `cwnd` that was in flight (RFC 5681, equation 4). Called at most once for each window of
    /// data.
    fn reduce(&mut self, cwnd: f64, used: f64, cause: Cause) -> f64;

    /// Called after the application had nothing to send for this time.
    fn on_idle(&mut self, _idle_ns: u64) {}

    /// Returns its estimate of the share of packets that are marked, if it has one.
    fn marked_share(&self) -> Option<f64> {
        None
    }
}

impl<L: Growth> Control for L {
    const COUNTS_MARKS: bool = L::COUNTS_MARKS;

    #[inline]
    fn count_marks(&mut self, marks: &Marks) {
        Growth::count_marks(self, marks);
    }

    #[inline]
    fn on_ack(
        &mut self,
        window: &mut Window,
        config: &Config,
        ack: &Sample,
        _delivery: Option<&Delivery>,
    ) {
        if let Some(flight) = &ack.flight
            && let Some(goes_down) = goes_down_gradually(config, ack)
        {
            if goes_down {
                window.follow_prr(ack.delivered, flight);
            }
        } else if ack.grows && !ack.echo {
            window.open(self, config, ack);
        }
    }

    fn on_event(&mut self, window: &mut Window, config: &Config, event: Event) {
        match event {
            Event::Opened { timeouts, marked } => {
                if config.quirks.forgives_lost_syn {
                    *self = Self::default();
                    window.ssthresh = config.initial_ssthresh;
                }
                window.open_connection(config, timeouts, marked);
            }
            Event::Loss { used, begins } => {
                let before = window.cwnd;
                if let Some(used) = used {
                    window.reduce(self, config, used, Cause::Loss);
                }
                if begins {
                    window.go_down_from(before);
                }
                if config.variant == Variant::Tahoe {
                    window.cwnd = 1.0;
                }
            }
            Event::Mark { used, gradually } => {
                let before = window.cwnd;
                window.reduce(self, config, used, Cause::Mark);
                if gradually {
                    window.go_down_from(before);
                }
            }
            Event::TimeOut {
                used, in_flight, ..
            } => {
                if let Some(used) = used {
                    window.remember();
                    window.lower_threshold(self, config, used, Cause::TimeOut);
                }
                // as in Linux, room for one packet beside those that may still arrive
                window.cwnd = 1.0 + f64::from(in_flight);
            }
            Event::SpuriousTimeOut => window.undo(),
            Event::PartialAck { packets } => {
                window.cwnd = (window.cwnd - f64::from(packets)).max(1.0);
            }
            Event::Recovered { in_flight } => window.recover(config, in_flight),
            Event::Idle { idle_ns, restarts } => {
                self.on_idle(idle_ns);
                if restarts {
                    window.cwnd = window.cwnd.min(config.initial_window);
                }
            }
        }
    }

    /// Linux's rate (`tcp_update_pacing_rate`); none before the first round trip is known.
    fn pacing_rate(
        &self,
        window: &Window,
        config: &Config,
        outstanding: u32,
        srtt_ns: u64,
    ) -> Option<f64> {
        if !config.pacing || srtt_ns == 0 {
            return None;
        }
        let windows = if window.cwnd < window.ssthresh / 2.0 {
            PACE_IN_SLOW_START
        } else {
            PACE
        };
        let packets = window.cwnd.max(f64::from(outstanding));
        Some(windows * packets * 1e9 / srtt_ns as f64)
    }

    fn marked_share(&self) -> Option<f64> {
        Growth::marked_share(self)
    }
}

/// Returns `Some` while a loss or a mark reduces the window gradually; it is false for an ACK that
/// reports nothing new, which goes on with no reduction for a mark (Linux: `tcp_cwnd_reduction`).
fn goes_down_gradually(config: &Config, ack: &Sample) -> Option<bool> {
    match ack.phase {
        Phase::Recovery => Some(true),
        Phase::Marked if config.quirks.marks_reduce_by_and_by => Some(ack.delivered > 0),
        _ => None,
    }
}

impl Window {
    /// Lets the window grow after an ACK of new data: in slow start by the credit of the ACK, up to
    /// the threshold (RFC 3465, section 2.2, without its limit L, as Linux does). Beyond the
    /// threshold the law lets it grow by the rest of the credit.
    #[inline]
    fn open(&mut self, law: &mut impl Growth, config: &Config, ack: &Sample) {
        // RFC 5681, section 3.1, recommends to count packets, and RFC 3465, section 2.3, to count
        // an ACK as one if they may have arrived long ago.
        let mut credit = if config.quirks.counts_acks || ack.refills {
            1.0
        } else {
            f64::from(ack.delivered)
        };
        if self.cwnd < self.ssthresh {
            if config.hystart_plus {
                credit = self.start_gently(config, credit, ack);
            }
            if law.ends_slow_start(self.cwnd, ack) {
                self.ssthresh = self.cwnd;
            }
        }
        if self.cwnd < self.ssthresh {
            let cwnd = self.cwnd + credit;
            if cwnd <= self.ssthresh || config.quirks.counts_acks {
                self.cwnd = cwnd;
                return;
            }
            credit = cwnd - self.ssthresh;
            self.cwnd = self.ssthresh;
        }
        self.cwnd = law.grow(self.cwnd, credit, ack);
    }

    /// Follows HyStart++ in the first slow start; returns what the ACK counts for.
    fn start_gently(&mut self, config: &Config, credit: f64, ack: &Sample) -> f64 {
        let Some(more) = &mut self.more else {
            return credit;
        };
        let Some(start) = &mut more.start else {
            return credit;
        };
        match start.on_ack(credit, config.pacing, ack) {
            Pace::Grow(packets) => packets,
            Pace::End => {
                more.start = None;
                self.ssthresh = self.cwnd;
                credit
            }
        }
    }

    /// Lowers threshold and window after a loss or a mark; `used` is the window to be reduced,
    /// packets.
    fn reduce(&mut self, law: &mut impl Growth, config: &Config, used: f64, cause: Cause) {
        let left = self.lower_threshold(law, config, used, cause);
        self.cwnd = if config.quirks.reduces_allowed_window {
            left
        } else if self.cwnd <= 1.0 {
            // RFC 3168, section 6.1.2: a window of one packet shrinks below one, and nothing is
            // sent.
            self.cwnd / 2.0
        } else {
            self.ssthresh.min(self.cwnd)
        };
    }

    /// Lowers the threshold to what the law leaves, and returns that value, not rounded.
    fn lower_threshold(
        &mut self,
        law: &mut impl Growth,
        config: &Config,
        used: f64,
        cause: Cause,
    ) -> f64 {
        if let Some(more) = &mut self.more {
            more.start = None;
        }
        let left = law.reduce(self.cwnd, used, cause);
        self.ssthresh = if config.quirks.reduces_allowed_window {
            ns2::threshold(left)
        } else if config.quirks.counts_whole_packets {
            left.floor().max(MIN_SSTHRESH)
        } else {
            left.max(MIN_SSTHRESH)
        };
        left
    }

    /// Begins to reduce the window gradually to the threshold, from this window.
    fn go_down_from(&mut self, before: f64) {
        self.cwnd = before;
        if let Some(more) = &mut self.more {
            more.prr.begin(before);
        }
    }

    fn follow_prr(&mut self, delivered: u32, flight: &InFlight) {
        let well = flight.advances && flight.lost == 0;
        if let Some(more) = &mut self.more {
            let allowed = more.prr.allowed(flight.now, self.ssthresh, delivered, well);
            // with all of the flight lost nothing would ever leave, until the time-out (Linux warns of
            // such a window: `tcp_snd_cwnd_set`)
            self.cwnd = f64::from((flight.now + allowed).max(1));
        }
    }

    /// Ends a reduction. The window becomes the threshold; without selective acknowledgements it
    /// must not release a burst (RFC 6582, section 3.2, step 3).
    fn recover(&mut self, config: &Config, in_flight: u32) {
        match config.variant {
            Variant::Rack => self.cwnd = self.ssthresh,
            Variant::Reno | Variant::NewReno if !config.quirks.grows_at_full_ack => {
                self.cwnd = self.ssthresh.min(f64::from(in_flight).max(1.0) + 1.0);
            }
            Variant::Reno | Variant::NewReno | Variant::Tahoe | Variant::Sack => {}
        }
    }

    pub(super) fn remember(&mut self) {
        if let Some(more) = &mut self.more {
            more.before = (self.cwnd, self.ssthresh.max(CURRENT_SHARE * self.cwnd));
        }
    }

    /// Takes the last reduction for a time-out back.
    pub(super) fn undo(&mut self) {
        if let Some(more) = &self.more {
            let (cwnd, ssthresh) = more.before;
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }
}
