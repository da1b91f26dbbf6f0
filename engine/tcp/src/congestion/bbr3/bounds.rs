//! What bounds the rate and the packets in flight, and the losses and marks that move the bounds.

use super::{Ack, LEAST_WINDOW, Mode, State, per_second};
use crate::config::{Config, MS};
use crate::congestion::{LostPacket, Rate, Window};
use crate::sender::Phase;

/// Shares are multiples of 1/256. Too much is lost beyond 2 % of what was in flight
/// (`bbr_loss_thresh`), too much is marked beyond half (`bbr_ecn_thresh`).
const SCALE: f64 = 256.0;
const MOST_LOST: f64 = 5.0 / SCALE;
const MOST_MARKED: f64 = 0.5;

/// What a loss leaves of the bounds (`bbr_beta`), and what marks take off at most
/// (`bbr_ecn_factor`).
const LEFT: f64 = 180.0 / SCALE;
const MARKED_CUT: f64 = 85.0 / SCALE;

/// Share of the upper bound that is left to others (`bbr_inflight_headroom`).
const HEADROOM: f64 = 38.0 / SCALE;

/// Weight of a round in the share of marks (`bbr_ecn_alpha_gain`), and the longest round trip with
/// which marks are answered (`bbr_ecn_max_rtt_us`).
const MARKS_WEIGHT: f64 = 1.0 / 16.0;
const MARKS_UP_TO_NS: u64 = 5 * MS;

/// The pipe is full, too, at the end of a round of STARTUP with so many ACKs that report losses
/// (`bbr_full_loss_cnt`), if too much is lost; or after so many rounds with too many marks
/// (`bbr_full_ecn_cnt`).
const FULL_LOSSES: u8 = 6;
const FULL_MARKED_ROUNDS: u8 = 2;

/// Rates are in packets per second. A bound that is not known is infinite.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// Largest rates of the last two cycles (`bw_hi`).
    rates: [f64; 2],
    /// Largest rate and most packets delivered in the last round (`bw_latest`, `inflight_latest`).
    rate_latest: f64,
    pub in_flight_latest: f64,
    rate_low: f64,
    pub in_flight_low: f64,
    pub in_flight_high: f64,
    /// The last three before the last losses.
    before: [f64; 3],
    /// While it probes: packets that raise the upper bound by one, those that arrived, and in how
    /// many rounds the former was halved (`bw_probe_up_cnt`, `bw_probe_up_acks`,
    /// `bw_probe_up_rounds`).
    pub raise_after: f64,
    pub raise_acked: f64,
    pub raise_rounds: u32,
    /// Losses and marks are those of a probe (`bw_probe_samples`).
    pub probes: bool,
    /// The last probe went too high; it ended at the upper bound (`prev_probe_too_high`,
    /// `stopped_risky_probe`).
    pub was_too_high: bool,
    pub stopped_at_risk: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            rates: [0.0; 2],
            rate_latest: 0.0,
            in_flight_latest: 0.0,
            rate_low: f64::INFINITY,
            in_flight_low: f64::INFINITY,
            in_flight_high: f64::INFINITY,
            before: [0.0; 3],
            raise_after: f64::INFINITY,
            raise_acked: 0.0,
            raise_rounds: 0,
            probes: false,
            was_too_high: false,
            stopped_at_risk: false,
        }
    }
}

impl Bounds {
    /// `bbr_max_bw`.
    pub fn max_rate(&self) -> f64 {
        self.rates[0].max(self.rates[1])
    }

    /// `bbr_bw`.
    pub fn rate(&self) -> f64 {
        self.max_rate().min(self.rate_low)
    }

    /// `bbr_advance_max_bw_filter`.
    pub fn forget_rates(&mut self) {
        if self.rates[1] > 0.0 {
            self.rates = [self.rates[1], 0.0];
        }
    }

    /// `bbr_inflight_with_headroom`.
    pub fn with_headroom(&self) -> f64 {
        if self.in_flight_high.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (self.in_flight_high * HEADROOM).floor().max(1.0);
        (self.in_flight_high - headroom).max(LEAST_WINDOW)
    }

    /// `bbr_reset_lower_bounds`.
    pub fn forget_lower(&mut self) {
        (self.rate_low, self.in_flight_low) = (f64::INFINITY, f64::INFINITY);
    }

    pub fn remember(&mut self) {
        self.before = [self.rate_low, self.in_flight_low, self.in_flight_high];
    }

    pub fn undo(&mut self) {
        let [rate_low, in_flight_low, in_flight_high] = self.before;
        self.rate_low = self.rate_low.max(rate_low);
        self.in_flight_low = self.in_flight_low.max(in_flight_low);
        self.in_flight_high = self.in_flight_high.max(in_flight_high);
    }

    /// Cuts the lower bounds (`bbr_adapt_lower_bounds`), by marks and by losses.
    fn cut_lower(&mut self, window: f64, marked_share: Option<f64>, loses: bool) {
        let mut by_marks = f64::INFINITY;
        if let Some(share) = marked_share {
            self.in_flight_low = if self.in_flight_low.is_infinite() {
                window
            } else {
                self.in_flight_low
            };
            by_marks = (self.in_flight_low * (1.0 - share * MARKED_CUT)).floor();
        }
        if loses {
            if self.rate_low.is_infinite() {
                self.rate_low = self.max_rate();
            }
            if self.in_flight_low.is_infinite() {
                self.in_flight_low = window;
            }
            self.rate_low = self.rate_latest.max(self.rate_low * LEFT);
            self.in_flight_low = self
                .in_flight_latest
                .max((self.in_flight_low * LEFT).floor());
        }
        self.in_flight_low = self.in_flight_low.min(by_marks);
    }

    /// `bbr_raise_inflight_hi_slope`.
    pub fn raise_faster(&mut self, window: f64) {
        let growth = 2_f64.powi(self.raise_rounds as i32);
        self.raise_rounds = (self.raise_rounds + 1).min(30);
        self.raise_after = (window / growth).floor().max(1.0);
    }

    /// `bbr_probe_inflight_hi_upward`.
    pub fn raise_upper(&mut self, acked: u32) {
        self.raise_acked += f64::from(acked);
        if self.raise_acked >= self.raise_after {
            let more = (self.raise_acked / self.raise_after).floor();
            self.raise_acked -= more * self.raise_after;
            self.in_flight_high += more;
        }
    }
}

/// Packets in flight up to which not too much was lost (`bbr_inflight_hi_from_lost_skb`): at which
/// part of the packet did the losses exceed their share?
fn safe_in_flight(in_flight: u32, lost: u32) -> f64 {
    let (before, lost_before) = (f64::from(in_flight) - 1.0, f64::from(lost) - 1.0);
    let allowed = (before * MOST_LOST).ceil();
    if lost_before >= allowed {
        return before;
    }
    before + ((allowed - lost_before) / (1.0 - MOST_LOST)).floor()
}

impl State {
    /// True if too much was lost or marked (`bbr_is_inflight_too_high`).
    pub(super) fn is_too_high(&self, rate: &Rate) -> bool {
        // numbers of packets are whole: that the source rounds the limits down changes nothing
        f64::from(rate.lost) > f64::from(rate.in_flight_at_send) * MOST_LOST
            || self.answers_marks && f64::from(rate.ce) > f64::from(rate.packets) * MOST_MARKED
    }

    /// `bbr_handle_inflight_too_high`, with the packets in flight that were safe.
    pub(super) fn go_lower(&mut self, window: &Window, safe: f64, is_limited: bool, now_ns: u64) {
        self.bounds.was_too_high = true;
        self.bounds.probes = false;
        if !is_limited {
            let least = (self.target_in_flight(window) * LEFT).floor();
            self.bounds.in_flight_high = safe.max(least);
        }
        if self.mode == Mode::ProbeBw(super::Cycle::Up) {
            self.begin_down(now_ns);
        }
    }

    /// `bbr_skb_marked_lost`.
    pub(super) fn on_lost(&mut self, window: &Window, lost: &LostPacket) {
        self.note_loss();
        let most = f64::from(lost.in_flight_at_send) * MOST_LOST;
        if self.bounds.probes && f64::from(lost.lost) > most {
            let safe = safe_in_flight(lost.in_flight_at_send, lost.lost);
            self.go_lower(window, safe, lost.app_limited, lost.now_ns);
        }
    }

    /// A probe has repaired a loss that nothing else reports (`bbr_run_loss_probe_recovery`).
    pub(super) fn on_repaired_loss(&mut self, window: &Window) {
        self.note_loss();
        let in_flight = self.bounds.in_flight_latest + 1.0;
        if self.bounds.probes && 1.0 > (in_flight * MOST_LOST).floor() {
            self.go_lower(window, in_flight, false, self.delivered_ns);
        }
    }

    /// `bbr_note_loss`.
    fn note_loss(&mut self) {
        if !self.loss_in_round {
            self.loss_round_end = self.delivered;
        }
        self.loss_in_round = true;
        self.loss_in_cycle = true;
    }

    /// `bbr_update_latest_delivery_signals`.
    pub(super) fn take_latest(&mut self, of: &Ack) {
        self.loss_round_starts = false;
        let Some(rate) = of.sample() else { return };
        let bounds = &mut self.bounds;
        bounds.rate_latest = bounds.rate_latest.max(per_second(rate));
        bounds.in_flight_latest = bounds.in_flight_latest.max(f64::from(rate.packets));
        if rate.prior_delivered >= self.loss_round_end {
            self.loss_round_end = self.delivered;
            self.loss_round_starts = true;
        }
    }

    /// `bbr_advance_latest_delivery_signals`.
    pub(super) fn forget_latest(&mut self, of: &Ack) {
        if let Some(rate) = of.sample()
            && self.loss_round_starts
        {
            self.bounds.rate_latest = per_second(rate);
            self.bounds.in_flight_latest = f64::from(rate.packets);
        }
    }

    /// `bbr_reset_congestion_signals`.
    pub(super) fn forget_signals(&mut self) {
        (self.loss_in_round, self.loss_in_cycle) = (false, false);
        (self.marks_in_round, self.marks_in_cycle) = (false, false);
        (self.bounds.rate_latest, self.bounds.in_flight_latest) = (0.0, 0.0);
    }

    /// `bbr_update_congestion_signals`.
    pub(super) fn take_signals(&mut self, window: &Window, of: &Ack) {
        let Some(rate) = of.sample() else { return };
        let sample = per_second(rate);
        if !self.is_limited(rate) || sample >= self.bounds.max_rate() {
            self.bounds.rates[1] = self.bounds.rates[1].max(sample);
        }
        self.loss_in_round |= of.flight.lost > 0;
        if !self.loss_round_starts {
            return;
        }
        if !self.is_probing() {
            let share = self.marks_in_round.then_some(self.marked_share);
            self.bounds
                .cut_lower(window.cwnd, share, self.loss_in_round);
        }
        (self.loss_in_round, self.marks_in_round) = (false, false);
    }

    /// `bbr_update_ecn_alpha`.
    pub(super) fn update_marked_share(&mut self, config: &Config) {
        let is_near = self.min_rtt_ns.is_some_and(|ns| ns <= MARKS_UP_TO_NS);
        self.answers_marks |= config.accurate_ecn && is_near;
        let (delivered, marks) = (
            self.delivered - self.share_of.0,
            self.marks - self.share_of.1,
        );
        if !self.answers_marks || delivered == 0 {
            return;
        }
        self.share_of = (self.delivered, self.marks);
        let share = marks as f64 / delivered as f64;
        let changed = self.marked_share + MARKS_WEIGHT * (share - self.marked_share);
        self.marked_share = changed.min(1.0);
        if self.is_full {
            return;
        }
        self.marked_rounds = if share >= MOST_MARKED {
            self.marked_rounds + 1
        } else {
            0
        };
        if self.marked_rounds >= FULL_MARKED_ROUNDS {
            self.end_startup();
        }
    }

    /// `bbr_check_loss_too_high_in_startup`.
    pub(super) fn check_losses_in_startup(&mut self, of: &Ack) {
        if self.is_full {
            return;
        }
        self.losing_acks = self
            .losing_acks
            .saturating_add(u8::from(of.flight.lost > 0));
        if !self.loss_round_starts {
            return;
        }
        let is_too_high = of.rate.is_some_and(|rate| self.is_too_high(&rate));
        let recovers = of.ack.phase == Phase::Recovery;
        if recovers && self.losing_acks >= FULL_LOSSES && is_too_high {
            self.end_startup();
        } else {
            self.losing_acks = 0;
        }
    }

    /// `bbr_handle_queue_too_high_in_startup`.
    fn end_startup(&mut self) {
        self.is_full = true;
        let product = self.target(self.bounds.max_rate());
        self.bounds.in_flight_high = product.max(self.bounds.in_flight_latest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_safe_flight_is_where_the_losses_exceeded_their_share() {
        // two lost of 100: 100 packets allow for ceil(99 * 5/256) = 2, and one was lost before
        assert_eq!(safe_in_flight(100, 2), 99.0 + 1.0);
        // five were lost before
        assert_eq!(safe_in_flight(100, 6), 99.0);
        assert_eq!(safe_in_flight(1, 1), 0.0);
    }

    #[test]
    fn a_loss_leaves_seven_tenths_but_no_less_than_what_arrives() {
        let mut bounds = Bounds {
            rates: [1000.0, 0.0],
            rate_latest: 500.0,
            ..Bounds::default()
        };
        bounds.in_flight_latest = 90.0;
        bounds.cut_lower(100.0, None, true);
        assert_eq!(bounds.rate(), 1000.0 * 180.0 / 256.0);
        assert_eq!(bounds.in_flight_low, 90.0);
        bounds.undo();
        assert_eq!(bounds.in_flight_low, 90.0);
        bounds.forget_lower();
        assert_eq!(bounds.rate(), 1000.0);
        // marks on everything take off a third
        bounds.cut_lower(100.0, Some(1.0), false);
        assert_eq!(bounds.in_flight_low, (100.0_f64 * 171.0 / 256.0).floor());
    }
}
