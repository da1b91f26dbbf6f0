//! The sender: its state, and the events from outside that change it.

use crate::accurate_ecn::FIRST_COUNT;
use crate::config::{Config, Variant};
use crate::congestion::{Congestion, Event};
use crate::deadline::Deadline;
use crate::negotiation::{Settled, reports_mangling, reports_mark};
use crate::recovery::{self, Rack, Scoreboard};
use crate::rto::Rto;
use crate::segment::{Ack, Segment};

/// Number of packets of an application that always has more to send. A flow sends fewer than 2^32
/// packets.
pub const GREEDY: u32 = u32::MAX;

/// Why the window was last reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The window was not reduced, or recovery is over.
    Open,
    /// Duplicate ACKs reported a loss, and recovery is under way.
    Recovery,
    /// An ECN echo.
    Marked,
    /// The retransmission timer.
    TimedOut,
}

/// What each call passes to the sender: parameters, time, and the function that sends a segment.
pub(crate) struct Moment<'a, F> {
    pub config: &'a Config,
    pub now_ns: u64,
    pub send: &'a mut F,
}

/// The sending endpoint of one flow.
///
/// All calls for one flow must pass the same [`Config`], and times that never decrease.
///
/// The fields lie in memory in the order below. Fields that every ACK needs come first, fields that
/// only some variants or losses need come last. With many flows the senders do not fit into the
/// cache, and each cache line that is not read saves time.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    /// First packet not acknowledged.
    pub(crate) una: u32,
    /// Next packet to send; set back to `una` after a time-out.
    pub(crate) next: u32,
    /// One past the highest packet sent.
    pub(crate) max: u32,
    /// One past the last packet that the application has to send.
    pub(crate) end: u32,
    /// `max` at the last reduction; losses and marks of packets before it cause no second reduction
    /// (RFC 6582's `recover`).
    pub(crate) recover: u32,
    pub(crate) duplicates: u32,
    /// Packets that left the network, as reported by duplicate ACKs: they inflate the window during
    /// recovery (RFC 5681, section 3.2, steps 3 and 4).
    pub(crate) inflation: u32,
    /// Packet whose round-trip time is measured; it was sent at `timed_at` (RFC 6298, section 3: at
    /// least one a round trip).
    pub(crate) timed_seq: u32,
    pub(crate) phase: Phase,
    pub(crate) partial_seen: bool,
    /// Duplicate ACKs are ignored, from a time-out until the next new ACK
    /// ([`Quirks::counts_pipe`](crate::Quirks)).
    pub(crate) ignores_duplicates: bool,
    /// The next packet that may carry CWR will carry it (RFC 3168, section 6.1.2).
    pub(crate) reduced: bool,
    /// At the last mark the window was at most one packet.
    pub(crate) closed_by_mark: bool,
    /// What is left of the feedback of marks that it asks for.
    pub(crate) settled: Settled,
    /// A packet waits for its time, and the caller does not know yet (`pacing`).
    pub(crate) release_changed: bool,
    /// New packets sent on duplicate ACKs before recovery (RFC 3042).
    pub(crate) limited: u8,
    pub(crate) retransmissions: u32,
    /// Shifts the ticks of the clock, ns.
    pub(crate) clock_phase_ns: u32,
    pub(crate) timed_at: Deadline,
    pub(crate) deadline: Deadline,
    pub(crate) rto: Rto,
    pub(crate) scoreboard: Scoreboard,
    pub(crate) congestion: Congestion,
    pub(crate) timeouts: u32,
    /// One past the packet that timed out last.
    pub(crate) timed_out: u32,
    /// State of a sender that recovers by times ([`Variant::Rack`]).
    pub(crate) rack: Option<Box<Rack>>,
}

impl Sender {
    /// Returns a sender of `packets` data packets ([`GREEDY`]: unlimited).
    ///
    /// `clock_phase_ns` shifts the ticks of the clock that measures round-trip times, because the
    /// clocks of two hosts differ. It is less than [`Config::tick_ns`]; use 0 if it does not
    /// matter.
    pub fn new(config: &Config, packets: u32, clock_phase_ns: u64) -> Sender {
        Sender {
            una: 0,
            next: 0,
            max: 0,
            end: packets.saturating_add(u32::from(config.syn)),
            recover: 0,
            duplicates: 0,
            inflation: 0,
            timed_seq: 0,
            phase: Phase::Open,
            partial_seen: false,
            ignores_duplicates: false,
            reduced: false,
            closed_by_mark: false,
            settled: if config.syn {
                Settled::New
            } else {
                Settled::All
            },
            release_changed: false,
            limited: 0,
            retransmissions: 0,
            clock_phase_ns: clock_phase_ns as u32,
            timed_at: Deadline::NONE,
            deadline: Deadline::NONE,
            rto: Rto::new(config),
            scoreboard: Scoreboard::default(),
            congestion: Congestion::new(config),
            timeouts: 0,
            timed_out: 0,
            rack: (config.variant == Variant::Rack).then(|| Box::new(Rack::new(config))),
        }
    }

    /// Sends the first packets.
    pub fn start(&mut self, config: &Config, now_ns: u64, send: &mut impl FnMut(Segment)) {
        self.send_window(
            &mut Moment {
                config,
                now_ns,
                send,
            },
            u32::MAX,
        );
    }

    /// Processes an ACK and sends the packets that it allows. An ACK of packets never sent is
    /// ignored.
    pub fn on_ack(
        &mut self,
        config: &Config,
        now_ns: u64,
        ack: &Ack,
        send: &mut impl FnMut(Segment),
    ) {
        if ack.next > self.max {
            return;
        }
        let agreed;
        let ack = if config.syn && self.una == 0 && ack.next > 0 {
            agreed = self.take_answer(config, ack);
            &agreed
        } else {
            ack
        };
        let config = self.agreed(config);
        let moment = &mut Moment {
            config,
            now_ns,
            send,
        };
        if config.accurate_ecn {
            let ack = &self.read_count(config, ack);
            self.take_ack(moment, ack);
            self.congestion.marks_read(0);
        } else {
            self.take_ack(moment, ack);
        }
    }

    #[inline(always)]
    fn take_ack<F: FnMut(Segment)>(&mut self, moment: &mut Moment<F>, ack: &Ack) {
        let config = moment.config;
        if config.congestion_control.counts_marks() {
            self.count_marks(config, ack);
        }
        if config.ecn && ack.ece {
            self.on_echo(config, ack);
        }
        recovery::on_ack(self, moment, ack);
    }

    /// Takes the answer of the SYN: what the other end agrees to. Returns the ACK that it is.
    #[cold]
    fn take_answer(&mut self, config: &Config, ack: &Ack) -> Ack {
        let agreed = config
            .feedback()
            .agreed(ack.ace, config.quirks.nonce_is_classic);
        if agreed != config.feedback() {
            self.settled = Settled::Less(agreed);
            let lesser = config.fallback(agreed);
            if lesser.congestion_control != config.congestion_control {
                self.congestion = Congestion::new(lesser);
            }
        } else if reports_mangling(config.codepoint_of_syn(), ack.ace) {
            self.settled = Settled::Mangled;
        } else if config.accurate_ecn && reports_mark(ack.ace) {
            self.settled = Settled::NewMarked;
        }
        Ack {
            ece: false,
            ace: FIRST_COUNT,
            ..*ack
        }
    }

    /// Returns the parameters to which the other end agreed.
    #[inline(always)]
    pub(crate) fn agreed<'a>(&self, config: &'a Config) -> &'a Config {
        match self.settled {
            Settled::Less(feedback) => config.fallback(feedback),
            _ => config,
        }
    }

    /// Retransmits after a time-out (RFC 5681, section 3.1; RFC 6298, 5.4 to 5.6). If marks closed
    /// the window and no packet is in flight, it opens the window for one packet instead (RFC 3168,
    /// section 6.1.2). Does nothing before the [`deadline`](Sender::deadline).
    pub fn on_timer(&mut self, config: &Config, now_ns: u64, send: &mut impl FnMut(Segment)) {
        let config = self.agreed(config);
        let moment = &mut Moment {
            config,
            now_ns,
            send,
        };
        if self.rack.is_some() && recovery::on_timer(self, moment) || !self.deadline.is_due(now_ns)
        {
            return;
        }
        if self.una == self.max && self.congestion.waits() {
            // nothing is in flight: the next packet only waits for its time
            self.restart_timer(moment);
            return;
        }
        self.inflation = 0;
        let mut used = None;
        if self.una < self.max {
            self.timeouts += 1;
            used = (!self.spares_threshold(config)).then(|| self.used_at_time_out(config));
            if config.quirks.questions_time_outs && self.rack.is_some() {
                self.question_time_out(used.is_some());
            }
            self.timed_out = self.una + 1;
            self.rto.back_off(config);
        }
        self.reduced = config.ecn;
        // As in ns-2, Tahoe goes on counting duplicate ACKs until the next new ACK.
        if config.variant != Variant::Tahoe {
            self.duplicates = 0;
        }
        self.limited = 0;
        self.phase = Phase::TimedOut;
        self.partial_seen = false;
        self.scoreboard.clear();
        self.ignores_duplicates = config.quirks.counts_pipe;
        self.recover = self.max;
        let lost = self.go_back(moment);
        let in_flight = self.rack.as_ref().map_or(0, |rack| rack.flight.flying());
        self.congestion.on_event(
            config,
            Event::TimeOut {
                used,
                in_flight,
                lost,
            },
        );
        self.send_window(moment, u32::MAX);
    }

    /// Ends the application: packets already sent are still delivered, no new ones are sent.
    pub fn stop(&mut self) {
        self.end = self.max;
        self.ends_writing();
        if self.una == self.max {
            self.deadline = Deadline::NONE;
        }
    }

    /// Gives the application `packets` more packets to send, after it was idle for `idle_ns` since
    /// the last ACK. If this is longer than a time-out, the window starts again from at most the
    /// initial one (RFC 5681, section 4.1; ns-2's `slow_start_restart_`).
    pub fn resume(
        &mut self,
        config: &Config,
        now_ns: u64,
        packets: u32,
        idle_ns: u64,
        send: &mut impl FnMut(Segment),
    ) {
        let restarts = idle_ns > self.rto.timeout_ns(config);
        self.congestion
            .on_event(self.agreed(config), Event::Idle { idle_ns, restarts });
        self.write(config, now_ns, packets, send);
    }

    /// Gives the application `packets` more packets to send.
    pub fn write(
        &mut self,
        config: &Config,
        now_ns: u64,
        packets: u32,
        send: &mut impl FnMut(Segment),
    ) {
        let config = self.agreed(config);
        let moment = &mut Moment {
            config,
            now_ns,
            send,
        };
        recovery::on_more(self, config);
        self.end = self.end.saturating_add(packets);
        self.write_new(config);
        self.send_window(moment, u32::MAX);
        if self.deadline.is_none() {
            // marks closed the window: the timer opens it (RFC 3168, section 6.1.2)
            self.restart_timer(moment);
        }
    }

    /// Returns when `on_timer` is due, ns; `None` if nothing is left to send or to wait for.
    #[inline]
    pub fn deadline(&self) -> Option<u64> {
        match &self.rack {
            Some(rack) => self.deadline.min(rack.deadline()).get(),
            None => self.deadline.get(),
        }
    }

    /// Returns how many data packets it has to send in total; `None`: unlimited.
    pub fn packets(&self, config: &Config) -> Option<u32> {
        (self.end != GREEDY).then(|| self.end - u32::from(config.syn))
    }

    /// True if all packets are acknowledged.
    pub fn is_done(&self) -> bool {
        self.una >= self.end
    }

    /// Packets sent and not yet acknowledged in sequence (RFC 5681, section 2: `FlightSize`).
    pub fn flight_size(&self) -> u32 {
        self.max - self.una
    }

    /// Congestion window, packets, without Reno's inflation.
    pub fn cwnd(&self) -> f64 {
        self.congestion.cwnd()
    }

    /// Slow-start threshold, packets.
    pub fn ssthresh(&self) -> f64 {
        self.congestion.ssthresh()
    }

    /// The congestion control's estimate of the share of packets that are marked (DCTCP's alpha);
    /// `None` if it makes no such estimate.
    pub fn marked_share(&self) -> Option<f64> {
        self.congestion.marked_share()
    }

    /// Smoothed round-trip time, ns; 0 before the first measurement.
    pub fn srtt_ns(&self, config: &Config) -> u64 {
        self.rto.srtt_ns(config)
    }

    /// Returns the state of its pacing, which it keeps apart, for a caller that prefetches.
    #[inline]
    pub fn pacer_apart(&self) -> Option<&(impl Sized + use<>)> {
        self.congestion.pacer_apart()
    }

    /// Number of retransmissions; a packet sent three times counts twice.
    pub fn retransmissions(&self) -> u32 {
        self.retransmissions
    }

    /// Number of time-outs.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Packets acknowledged in sequence, the SYN among them.
    #[inline]
    pub fn acknowledged(&self) -> u32 {
        self.una
    }
}
