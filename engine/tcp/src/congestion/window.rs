//! What a congestion control answers: the window and, if it paces, a rate.

use super::hystart_plus::HyStartPlus;
use super::prr::Prr;
use super::{AnyControl, Delivery, Event, LostPacket, Marks, Sample, Sent};
use crate::accurate_ecn::{Counter, Endless};
use crate::config::{Config, Variant};
use crate::pacing::Pacer;
use crate::segment::Ack;

/// The congestion window and its threshold.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Window {
    /// Congestion window, packets.
    pub(super) cwnd: f64,
    /// Slow-start threshold, packets.
    pub(super) ssthresh: f64,
    pub(super) more: Option<Box<More>>,
}

impl Window {
    /// Sets the window when the connection is open, after so many time-outs of its SYN (RFC 5681,
    /// section 3.1: one packet if it was lost). A mark of the SYN counts as its loss (RFC 9768,
    /// section 3.2.2.2, asks for the response to a mark; RFC 5562, section 3, has one packet for the
    /// other end, whose SYN-ACK was marked).
    pub(super) fn open_connection(&mut self, config: &Config, timeouts: u32, marked: bool) {
        let spared = u32::from(config.quirks.forgives_lost_syn);
        self.cwnd = if timeouts > spared || marked {
            1.0
        } else {
            config.initial_window
        };
    }

    /// Returns how long the next packet waits for its time, ns.
    pub(super) fn wait_ns(&self, now_ns: u64) -> u64 {
        self.more
            .as_ref()
            .map_or(0, |more| more.pacer.wait_ns(now_ns))
    }
}

/// What only senders need that recover by times, that pace, or whose marks are fed back by number.
/// What those need that pace comes first: with many flows, each cache line costs time.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct More {
    pub pacer: Pacer,
    /// The first slow start, until the window is reduced.
    pub start: Option<HyStartPlus>,
    pub prr: Prr,
    /// Window and threshold before the last time-out that lowered the threshold.
    pub before: (f64, f64),
    /// With accurate feedback: what was read of it, how many marks the present ACK adds, and whether
    /// all packets so far were marked.
    pub counter: Counter,
    pub new_marks: u32,
    pub endless: Endless,
}

/// The congestion control of one sender, with its answer.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Congestion {
    window: Window,
    pub(super) control: AnyControl,
}

impl Congestion {
    pub fn new(config: &Config) -> Congestion {
        let has_more = config.variant == Variant::Rack || config.pacing || config.accurate_ecn;
        Congestion {
            window: Window {
                cwnd: if config.syn {
                    1.0
                } else {
                    config.initial_window
                },
                ssthresh: config.initial_ssthresh,
                more: has_more.then(|| {
                    Box::new(More {
                        start: config.hystart_plus.then(HyStartPlus::default),
                        ..More::default()
                    })
                }),
            },
            control: config.congestion_control.start(),
        }
    }

    /// Congestion window, packets.
    #[inline]
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    /// Slow-start threshold, packets.
    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    /// Returns how long the share of a packet lasts at the rate at which packets may leave, ns; `None`:
    /// they leave at once. The packets from the first not acknowledged on are `outstanding`.
    pub fn gap_ns(&self, config: &Config, outstanding: u32, srtt_ns: u64) -> Option<u64> {
        self.control
            .gap_ns(&self.window, config, outstanding, srtt_ns)
    }

    /// True if a packet waits for its time.
    pub fn waits(&self) -> bool {
        self.window
            .more
            .as_ref()
            .is_some_and(|more| more.pacer.waits())
    }

    /// Packets that leave together, when their time has come.
    pub fn burst(&self) -> u32 {
        self.control.burst()
    }

    /// State of the pacing timer; `None` if the sender does not pace.
    pub fn pacer(&mut self) -> Option<&mut Pacer> {
        self.window.more.as_mut().map(|more| &mut more.pacer)
    }

    /// State of the pacing timer, which is not in the sender itself.
    #[inline]
    pub fn pacer_apart(&self) -> Option<&(impl Sized + use<>)> {
        self.window.more.as_deref().map(|more| &more.pacer)
    }

    /// Takes the counter of an ACK that newly acknowledges `acked` packets; `is_latest` if none that
    /// was sent later came before. Returns how many marks it adds; `None` if it is not read.
    pub fn read_counter(&mut self, ack: &Ack, acked: u32, is_latest: bool) -> Option<u32> {
        let more = self.window.more.as_mut()?;
        more.counter.read(ack.ace, ack.marked, acked, is_latest)
    }

    /// True if an ACK may be of a packet that was sent again; see [`Endless`].
    pub fn may_be_resent(&mut self, retransmissions: u32, una: u32, sent: u32) -> bool {
        let more = self.window.more.as_mut();
        more.is_some_and(|more| more.endless.may_be_resent(retransmissions, una, sent))
    }

    /// Takes that of `acked` newly acknowledged packets so many were marked; see [`Endless`].
    pub fn marks_are_endless(&mut self, acked: u32, marks: u32, next: u32, sent: u32) -> bool {
        let more = self.window.more.as_mut();
        more.is_some_and(|more| more.endless.goes_on(acked, marks, next, sent))
    }

    /// Keeps the number of marks that the present ACK adds.
    pub fn marks_read(&mut self, marks: u32) {
        if let Some(more) = &mut self.window.more {
            more.new_marks = marks;
        }
    }

    pub fn new_marks(&self) -> u32 {
        self.window.more.as_ref().map_or(0, |more| more.new_marks)
    }

    pub fn count_marks(&mut self, marks: &Marks) {
        self.control.count_marks(marks);
    }

    #[inline]
    pub fn on_sent(&mut self, sent: &Sent) {
        if let Some(more) = &mut self.window.more
            && !sent.probes_again
        {
            more.prr.on_sent();
        }
        self.control.on_sent(&mut self.window, sent);
    }

    pub fn on_lost(&mut self, lost: &LostPacket) {
        self.control.on_lost(&mut self.window, lost);
    }

    #[inline]
    pub fn on_ack(&mut self, config: &Config, ack: &Sample, delivery: Option<&Delivery>) {
        self.control.on_ack(&mut self.window, config, ack, delivery);
    }

    pub fn on_event(&mut self, config: &Config, event: Event) {
        self.control.on_event(&mut self.window, config, event);
    }

    #[cfg(test)]
    pub fn witness(&self) -> &super::witness::Told {
        match &self.control {
            AnyControl::Witness(witness) => &witness.0,
            _ => panic!("another control"),
        }
    }

    /// The control's estimate of the share of packets that are marked, if it has one.
    pub fn marked_share(&self) -> Option<f64> {
        self.control.marked_share()
    }
}
