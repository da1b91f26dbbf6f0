//! The sender: what all variants share.

use crate::config::{Config, Pipe, Variant};
use crate::deadline::Deadline;
use crate::rto::Rto;
use crate::scoreboard::Scoreboard;
use crate::segment::{Ack, Segment};
use crate::window::Window;
use crate::{newreno, reno, sack, tahoe};

/// Packets to send when the application never runs dry; 2^32 of them are not exceeded.
pub const GREEDY: u32 = u32::MAX;

/// Why the window was last reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not at all, or recovery is over.
    Open,
    /// Duplicate ACKs; recovery goes on.
    Recovery,
    /// An ECN echo.
    Marked,
    /// The retransmission timer.
    TimedOut,
}

/// A moment of the outside world, as the sender sees it.
pub(crate) struct Moment<'a, F> {
    pub config: &'a Config,
    pub now_ns: u64,
    pub send: &'a mut F,
}

/// The sending endpoint of one flow.
///
/// All calls of one flow take the same [`Config`], and times that never go back.
///
/// The order in memory is that of the fields: what any ACK needs comes first, what only some
/// variants or losses need comes last. With many flows a sender lies in no cache, and each line of
/// one that is not read is time saved.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    /// First packet not acknowledged.
    pub(crate) una: u32,
    /// Next packet to send; back at `una` after a time-out.
    pub(crate) next: u32,
    /// One past the highest packet sent.
    pub(crate) max: u32,
    /// One past the last packet the application has.
    pub(crate) end: u32,
    /// `max` at the last reduction; what it covers causes no second one (RFC 6582's `recover`).
    pub(crate) recover: u32,
    pub(crate) duplicates: u32,
    /// Packets that left the network, as told by duplicate ACKs: they inflate the window during
    /// recovery (RFC 5681, section 3.2, steps 3 and 4).
    pub(crate) inflation: u32,
    /// New packets sent on duplicate ACKs before recovery (RFC 3042).
    pub(crate) limited: u32,
    /// Packet being timed, and when it was sent (RFC 6298, section 3: at least one a round trip).
    pub(crate) timed_seq: u32,
    pub(crate) phase: Phase,
    pub(crate) partial_seen: bool,
    /// A time-out made duplicate ACKs worthless, up to the next new ACK (ns-2's `Sack1`).
    pub(crate) deaf: bool,
    /// CWR stands on the next packet (RFC 3168, section 6.1.2).
    pub(crate) reduced: bool,
    /// The last mark found a window of one packet.
    pub(crate) closed_by_mark: bool,
    retransmissions: u32,
    pub(crate) timed_at: Deadline,
    deadline: Deadline,
    pub(crate) rto: Rto,
    clock_phase_ns: u64,
    pub(crate) scoreboard: Scoreboard,
    pub(crate) window: Window,
    /// Packets thought to be in the network during recovery by selective acknowledgements.
    pub(crate) pipe: i64,
    timeouts: u32,
    /// One past the packet that timed out last.
    pub(crate) timed_out: u32,
}

impl Sender {
    /// A sender of `packets` data packets ([`GREEDY`]: without end).
    ///
    /// `clock_phase_ns` shifts the ticks of the clock that measures round-trip times, as two
    /// hosts' clocks differ: less than [`Config::tick_ns`], 0 if it does not matter.
    pub fn new(config: &Config, packets: u32, clock_phase_ns: u64) -> Sender {
        Sender {
            una: 0,
            next: 0,
            max: 0,
            end: packets.saturating_add(u32::from(config.syn)),
            recover: 0,
            duplicates: 0,
            inflation: 0,
            limited: 0,
            timed_seq: 0,
            phase: Phase::Open,
            partial_seen: false,
            deaf: false,
            reduced: false,
            closed_by_mark: false,
            retransmissions: 0,
            timed_at: Deadline::NONE,
            deadline: Deadline::NONE,
            rto: Rto::new(config),
            clock_phase_ns,
            scoreboard: Scoreboard::default(),
            window: Window::new(config),
            pipe: 0,
            timeouts: 0,
            timed_out: 0,
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

    /// Takes an ACK and sends what it allows. An ACK of packets never sent is ignored.
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
        let moment = &mut Moment {
            config,
            now_ns,
            send,
        };
        if config.ecn && ack.ece {
            self.on_echo(config, ack);
        }
        match config.variant {
            Variant::Tahoe => tahoe::on_ack(self, moment, ack),
            Variant::Reno => reno::on_ack(self, moment, ack),
            Variant::NewReno => newreno::on_ack(self, moment, ack),
            Variant::Sack | Variant::Cubic => sack::on_ack(self, moment, ack),
        }
    }

    /// Retransmits after a time-out (RFC 5681, section 3.1; RFC 6298, 5.4 to 5.6), or, when marks
    /// closed the window and nothing is on its way, opens it for one packet (RFC 3168, section
    /// 6.1.2). Does nothing before the [`deadline`](Sender::deadline).
    pub fn on_timer(&mut self, config: &Config, now_ns: u64, send: &mut impl FnMut(Segment)) {
        if !self.deadline.is_due(now_ns) {
            return;
        }
        let moment = &mut Moment {
            config,
            now_ns,
            send,
        };
        self.inflation = 0;
        if self.una < self.max {
            self.timeouts += 1;
            self.lower_threshold(config);
            self.timed_out = self.una + 1;
            self.rto.back_off(config);
        }
        self.close_window(config);
        // Tahoe counts on, in ns-2, to the next new ACK.
        if config.variant != Variant::Tahoe {
            self.duplicates = 0;
        }
        self.limited = 0;
        self.phase = Phase::TimedOut;
        self.partial_seen = false;
        self.scoreboard.clear();
        self.deaf = config.pipe == Pipe::Count;
        self.recover = self.max;
        self.go_back(moment);
        self.send_window(moment, u32::MAX);
    }

    /// The application ends: what was sent is still delivered, nothing new follows.
    pub fn stop(&mut self) {
        self.end = self.max;
        if self.una == self.max {
            self.deadline = Deadline::NONE;
        }
    }

    /// The application, idle for `idle_ns` since the last ACK, has `packets` more to send. After more
    /// than a time-out the window starts again from at most the initial one (RFC 5681, section 4.1;
    /// ns-2's `slow_start_restart_`).
    pub fn resume(
        &mut self,
        config: &Config,
        now_ns: u64,
        packets: u32,
        idle_ns: u64,
        send: &mut impl FnMut(Segment),
    ) {
        let moment = &mut Moment {
            config,
            now_ns,
            send,
        };
        let restarts = idle_ns > self.rto.timeout_ns(config);
        self.window.resume(config, idle_ns, restarts);
        self.end = self.max.saturating_add(packets);
        self.send_window(moment, u32::MAX);
        if self.deadline.is_none() {
            // marks closed the window: the timer opens it (RFC 3168, section 6.1.2)
            self.restart_timer(moment);
        }
    }

    /// When `on_timer` is due, ns; none: nothing is left to send or to wait for.
    pub fn deadline(&self) -> Option<u64> {
        self.deadline.get()
    }

    /// Whether all packets are acknowledged.
    pub fn is_done(&self) -> bool {
        self.una >= self.end
    }

    /// Congestion window, packets; with Reno's inflation left out.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    /// Slow-start threshold, packets.
    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    /// Smoothed round-trip time, ns; 0 before the first measurement.
    pub fn srtt_ns(&self, config: &Config) -> u64 {
        self.rto.srtt_ns(config)
    }

    /// Packets sent more than once, each time counted.
    pub fn retransmissions(&self) -> u32 {
        self.retransmissions
    }

    /// Time-outs.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Packets acknowledged in sequence, the SYN among them.
    #[inline]
    pub fn acknowledged(&self) -> u32 {
        self.una
    }

    /// Packets the window lets fly.
    fn allowed(&self, config: &Config) -> u32 {
        (self.window.cwnd as u32)
            .saturating_add(self.inflation)
            .min(config.receiver_window)
    }

    /// Takes note of an ACK of new data, outside recovery: all of it and the window grows.
    pub(crate) fn accept<F>(&mut self, moment: &mut Moment<F>, ack: &Ack) {
        let acked = self.acknowledge(moment, ack);
        self.grow(moment, ack, acked);
    }

    /// Takes note of an ACK of new data: position, round-trip time, timer. Returns how many
    /// packets it acknowledges.
    pub(crate) fn acknowledge<F>(&mut self, moment: &mut Moment<F>, ack: &Ack) -> u32 {
        let acked = ack.next - self.una;
        self.advance(ack);
        self.duplicates = 0;
        self.inflation = 0;
        self.limited = 0;
        self.partial_seen = false;
        if let Some(sent_ns) = self.timed_at.get()
            && ack.next > self.timed_seq
        {
            let ticks = |time_ns| (time_ns + self.clock_phase_ns) / moment.config.tick_ns;
            if !(self.closed_by_mark && ack.ece) {
                self.rto.end_backoff();
            }
            let elapsed = ticks(moment.now_ns).saturating_sub(ticks(sent_ns));
            self.rto.sample(moment.config, elapsed);
            self.timed_at = Deadline::NONE;
        }
        self.closed_by_mark &= ack.ece;
        self.restart_timer(moment);
        acked
    }

    pub(crate) fn advance(&mut self, ack: &Ack) {
        self.una = ack.next;
        self.next = self.next.max(self.una);
    }

    /// Takes note of a partial ACK: a packet timed during recovery may answer a retransmission,
    /// so that it ends the backing off and gives no sample (RFC 6298, section 3).
    pub(crate) fn advance_in_recovery(&mut self, ack: &Ack) {
        self.advance(ack);
        if !self.timed_at.is_none() && ack.next > self.timed_seq {
            self.rto.end_backoff();
            self.timed_at = Deadline::NONE;
        }
    }

    /// Lets the window grow by an ACK of new data; the SYN's gives the initial window. An ACK that
    /// carries an ECN echo lets nothing grow.
    pub(crate) fn grow<F>(&mut self, moment: &Moment<F>, ack: &Ack, acked: u32) {
        let config = moment.config;
        if config.syn && ack.next == 1 {
            // RFC 5681, section 3.1: one packet if the SYN was lost.
            self.window.cwnd = if self.timeouts > 0 {
                1.0
            } else {
                config.initial_window
            };
        } else if !(config.ecn && ack.ece) {
            let srtt_ns = self.rto.srtt_ns(config);
            self.window.open(config, moment.now_ns, srtt_ns, acked);
        }
    }

    /// Starts the timer anew, or stops it when nothing is on its way (RFC 6298, 5.2 and 5.3).
    pub(crate) fn restart_timer<F>(&mut self, moment: &Moment<F>) {
        self.deadline = if self.is_done() {
            Deadline::NONE
        } else {
            Deadline::at(moment.now_ns + self.rto.timeout_ns(moment.config))
        };
    }

    /// Files an ACK's selective acknowledgements; returns whether they told anything new.
    pub(crate) fn learn(&mut self, ack: &Ack) -> bool {
        self.scoreboard.advance(self.una);
        self.scoreboard.update(self.una, self.max, ack)
    }

    /// Goes back to the first packet not acknowledged: all after it is sent again as the window
    /// opens. Nothing of it can be timed (Karn's algorithm).
    pub(crate) fn go_back<F>(&mut self, moment: &Moment<F>) {
        self.next = self.una;
        self.timed_at = Deadline::NONE;
        self.restart_timer(moment);
    }

    /// Sends what the window allows, at most `burst` packets.
    pub(crate) fn send_window<F: FnMut(Segment)>(&mut self, moment: &mut Moment<F>, burst: u32) {
        let limit = self
            .una
            .saturating_add(self.allowed(moment.config))
            .min(self.end);
        for _ in 0..burst {
            self.next = self.scoreboard.first_unsacked(self.next);
            if self.next >= limit {
                break;
            }
            self.transmit(moment, self.next);
            self.next += 1;
        }
    }

    pub(crate) fn transmit<F: FnMut(Segment)>(&mut self, moment: &mut Moment<F>, seq: u32) {
        let config = moment.config;
        let syn = config.syn && seq == 0;
        let retransmitted = seq < self.max;
        let ecn = config.ecn && !syn && (!retransmitted || config.ecn_on_retransmission);
        let cwr = ecn && self.reduced;
        self.reduced &= !cwr;
        (moment.send)(Segment {
            seq,
            syn,
            retransmitted,
            ect: ecn,
            ce: false,
            cwr,
        });
        if retransmitted {
            self.retransmissions += 1;
        } else {
            let nothing_flew = self.una == self.max;
            self.max = seq + 1;
            if self.timed_at.is_none() {
                self.timed_seq = seq;
                self.timed_at = Deadline::at(moment.now_ns);
            }
            if nothing_flew {
                self.deadline = Deadline::NONE;
            }
        }
        if self.deadline.is_none() {
            self.restart_timer(moment);
        }
    }
}
