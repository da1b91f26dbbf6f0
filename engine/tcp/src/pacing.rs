//! Pacing: packets leave one by one, at the rate that the congestion control answers.
//!
//! Times are exact, whatever the sender's clock and its other timers are. What window and loss
//! recovery allow waits for its time; retransmissions that begin a recovery, probes, and the packet
//! that a time-out repeats do not wait, but those after them do.

use crate::config::Config;
use crate::recovery;
use crate::segment::Segment;
use crate::sender::{Moment, Sender};

/// Linux: packets sent before the first that has to wait for its share of the rate.
const UNPACED: u64 = 10;

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
    /// How much later than it might the first one left, as far as it is not made up for, ns.
    late_ns: u64,
}

impl Pacer {
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Returns how long the next packet waits, ns.
    pub fn wait_ns(&self, now_ns: u64) -> u64 {
        self.next_ns.saturating_sub(now_ns)
    }

    /// Returns how many more packets may leave with one that left at this time.
    fn left_together(&self, now_ns: u64) -> u32 {
        if self.together_ns == now_ns {
            self.together
        } else {
            0
        }
    }

    fn is_free(&self, now_ns: u64) -> bool {
        self.next_ns <= now_ns || self.left_together(now_ns) > 0
    }

    /// A packet leaves, alone or as the first of a `burst`; its share of the rate lasts `gap_ns`. A
    /// sender that `makes_up` for late packets takes what they were late off this time, up to half
    /// of it.
    fn leave(&mut self, now_ns: u64, gap_ns: u64, burst: u32, makes_up: bool) {
        if self.left_together(now_ns) > 0 {
            self.together -= 1;
        } else {
            (self.together_ns, self.together) = (now_ns, burst - 1);
            self.late_ns = now_ns.saturating_sub(self.next_ns);
        }
        let made_up_ns = if makes_up {
            self.late_ns.min(gap_ns / 2)
        } else {
            0
        };
        self.late_ns -= made_up_ns;
        self.next_ns = self.next_ns.max(now_ns).saturating_add(gap_ns - made_up_ns);
    }

    /// A packet leaves without a share of the rate.
    fn leave_free(&mut self, now_ns: u64) {
        self.next_ns = self.next_ns.max(now_ns);
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
        let gap_ns = self.congestion.gap_ns(config, outstanding, srtt_ns);
        let burst = self.burst(config);
        let is_free = config.quirks.paces_by_departure && self.data_sent(config) < UNPACED;
        let (Some(gap_ns), Some(pacer)) = (gap_ns, self.congestion.pacer()) else {
            return;
        };
        if is_free {
            pacer.leave_free(now_ns);
        } else {
            pacer.leave(now_ns, gap_ns, burst, config.quirks.paces_by_departure);
        }
    }

    /// Returns how many packets may leave together.
    pub(crate) fn burst(&self, config: &Config) -> u32 {
        if config.pacing && config.segmentation_offload {
            self.congestion.burst()
        } else {
            1
        }
    }

    /// True if the packet that leaves now ends a burst of several, by its length or as the window
    /// allows no other.
    pub(crate) fn ends_burst(&mut self, now_ns: u64) -> bool {
        let flying = self.rack.as_ref().map_or(0, |rack| rack.flight.flying());
        let is_full = flying + 1 >= self.congestion.cwnd() as u32;
        let pacer = self.congestion.pacer();
        pacer.is_some_and(|pacer| {
            let left = pacer.left_together(now_ns);
            left == 1 || is_full && left > 1
        })
    }

    /// Returns how many packets with data were sent, counting each time.
    fn data_sent(&self, config: &Config) -> u64 {
        u64::from(self.max - u32::from(config.syn)) + u64::from(self.retransmissions)
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
        let config = self.agreed(config);
        let moment = &mut Moment {
            config,
            now_ns,
            send,
        };
        recovery::on_release(self, moment);
    }
}
