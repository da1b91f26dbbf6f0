//! Pacing: packets leave one by one, at the rate that the congestion control answers.
//!
//! Times are exact, whatever the sender's clock and its other timers are. What window and loss
//! recovery allow waits for its time; retransmissions that begin a recovery, probes, and the packet
//! that a time-out repeats do not wait, but those after them do.

use crate::config::Config;
use crate::recovery;
use crate::segment::Segment;
use crate::sender::{Moment, Sender};

/// When packets may leave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    /// When the next packet may leave, ns.
    next_ns: u64,
    /// A packet waits for this time.
    waits: bool,
    /// Packets that may still leave at this time, ns, with the one that left first.
    together: u32,
    together_ns: u64,
}

impl Pacer {
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Returns how long the next packet waits, ns.
    pub fn wait_ns(&self, now_ns: u64) -> u64 {
        self.next_ns.saturating_sub(now_ns)
    }

    fn is_free(&self, now_ns: u64) -> bool {
        self.next_ns <= now_ns || self.together > 0 && self.together_ns == now_ns
    }

    /// A packet leaves, alone or as the first of a `burst`; its share of the rate lasts `gap_ns`.
    fn leave(&mut self, now_ns: u64, gap_ns: u64, burst: u32) {
        if self.together_ns == now_ns && self.together > 0 {
            self.together -= 1;
        } else {
            (self.together_ns, self.together) = (now_ns, burst - 1);
        }
        self.next_ns = self.next_ns.max(now_ns).saturating_add(gap_ns);
    }
}

impl Sender {
    /// True if the next packet may leave now. If not, [`Sender::on_release`] sends it.
    #[inline]
    pub(crate) fn may_leave<F>(&mut self, moment: &Moment<F>) -> bool {
        !moment.config.pacing || self.is_released(moment.now_ns)
    }

    fn is_released(&mut self, now_ns: u64) -> bool {
        let Some(pacer) = self.congestion.pacer() else {
            return true;
        };
        if pacer.is_free(now_ns) {
            return true;
        }
        let is_news = !pacer.waits;
        pacer.waits = true;
        self.release_changed |= is_news;
        false
    }

    /// A packet was sent: the next one may leave when its share of the rate is over, or at once if
    /// it is of the same burst.
    pub(crate) fn pace(&mut self, config: &Config, now_ns: u64) {
        let srtt_ns = self.rto.srtt_ns(config);
        let outstanding = self.max - self.una;
        let rate = self.congestion.pacing_rate(config, outstanding, srtt_ns);
        let burst = self.congestion.burst();
        if let (Some(rate), Some(pacer)) = (rate, self.congestion.pacer()) {
            pacer.leave(now_ns, (1e9 / rate).round() as u64, burst);
        }
    }

    /// True if a packet waits for its time and [`Sender::take_release`] has not told when that is.
    #[inline]
    pub fn waits_anew(&self) -> bool {
        self.release_changed
    }

    /// Returns when [`Sender::on_release`] is due, ns, if a packet waits for its time and the
    /// caller was not told so yet.
    pub fn take_release(&mut self) -> Option<u64> {
        if !std::mem::take(&mut self.release_changed) {
            return None;
        }
        self.congestion.pacer().map(|pacer| pacer.next_ns)
    }

    /// Sends the packet whose time has come, if it is still allowed, and those that may leave with
    /// it.
    pub fn on_release(&mut self, config: &Config, now_ns: u64, send: &mut impl FnMut(Segment)) {
        if let Some(pacer) = self.congestion.pacer() {
            pacer.waits = false;
        }
        let moment = &mut Moment {
            config,
            now_ns,
            send,
        };
        recovery::on_release(self, moment);
    }
}
