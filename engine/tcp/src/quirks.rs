//! What ns-2.35 and Linux do otherwise than the RFCs.
//!
//! Each deviation is a field of [`Quirks`] with the function that makes it. What a field does is said
//! here and nowhere else; other files follow the RFCs and ask for it by name. Six of Linux's are of
//! recovery by times alone: `restarts_timer_at_first`, `restarts_timer_by_sack`, `times_every_ack`,
//! `looks_at_sack_first`, `marks_reduce_by_and_by` and `questions_time_outs`.

/// Where a sender does otherwise than the RFCs have it: nowhere, unless a field is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// A loss or a mark reduces the window allowed, min(cwnd, receiver window), not what is in
    /// flight (RFC 5681, equation 4): the threshold to whole packets, cwnd with its fraction
    /// (`TcpAgent::slowdown`, `precisionReduce_`). A time-out leaves the threshold if an ECN echo
    /// made the last reduction, however long ago (`TcpAgent::timeout`); after a time-out every echo
    /// counts (`TcpAgent::ecn`). By RFC 5681, section 3.1, a time-out leaves the threshold if the
    /// packet timed out before.
    pub reduces_allowed_window: bool,
    /// The window grows by ACKs, each of them by one packet in slow start, and by one packet for a
    /// window of ACKs beyond it (`TcpAgent::opencwnd`). RFC 5681, section 3.1, recommends to count what
    /// they acknowledge, so that delayed ACKs do not halve the growth.
    pub counts_acks: bool,
    /// cwnd stays where partial ACKs left it when an ACK ends NewReno's or Reno's recovery, and
    /// grows as by any new ACK (`NewRenoTcpAgent::recv` without `exit_recovery_fix_`); RFC 6582,
    /// section 3.2, step 3, asks for min(ssthresh, flight + 1).
    pub grows_at_full_ack: bool,
    /// A sender with selective acknowledgements counts the packets in the network: one more for
    /// each that it sends, one less for each ACK, two less for a partial one (`Sack1TcpAgent::recv`).
    /// RFC 6675, section 4 (SetPipe), reckons anew from the scoreboard at each ACK. All holes are
    /// taken for lost; the scoreboard lasts for one recovery only; an ECN echo prolongs it; between
    /// a time-out and the next new ACK duplicates are ignored; a packet sent again is still timed.
    pub counts_pipe: bool,
    /// Retransmissions too are ECN-capable and carry CWR (`TcpAgent::output`), against RFC 3168,
    /// section 6.1.5.
    pub marks_retransmissions: bool,
    /// Linux: the window is a whole number of packets. A loss leaves the whole part of the share of
    /// cwnd, not of what is in flight (`tcp_reno_ssthresh`, `cubictcp_recalc_ssthresh`), and beyond
    /// slow start it grows by one packet when as many are acknowledged (`tcp_cong_avoid_ai`, which is
    /// RFC 3465, section 2.1), where RFC 5681, equation 3, lets it grow by a fraction for each.
    pub counts_whole_packets: bool,
    /// Linux: the ACK that ends recovery lets the window grow as any new ACK does
    /// (`tcp_cong_control`).
    pub grows_after_recovery: bool,
    /// Linux: the time-out is the smoothed round-trip time and the larger of four deviations and the
    /// least time-out (`tcp_set_rto`, `tcp_rtt_estimator`). By RFC 6298, section 2.4, the least
    /// time-out bounds their sum.
    pub adds_least_rto: bool,
    /// Linux: the timer starts anew when the first packet not acknowledged is sent again
    /// (`tcp_xmit_retransmit_queue`), so that a retransmission lost as well can be found by times. By
    /// RFC 6298, section 5, only an ACK of new data restarts it.
    pub restarts_timer_at_first: bool,
    /// Linux: so it does when a packet is told by SACK that was sent before that retransmission
    /// (`tcp_clean_rtx_queue`). With two packets in flight those sent after it may be told only when
    /// a time-out counted from the retransmission is over.
    pub restarts_timer_by_sack: bool,
    /// Linux: a time-out leaves the threshold as the reduction before it left it, until what flew at that
    /// one is acknowledged (`tcp_enter_loss`). By RFC 5681, section 3.1, only one that a time-out
    /// made spares it.
    pub keeps_threshold_in_recovery: bool,
    /// Linux: time stamps (RFC 7323) give a round-trip time with every ACK that tells of a packet,
    /// also of a retransmission, and end the backing off (`tcp_ack_update_rtt`). Without them one
    /// packet a round trip is timed, and none that was sent twice (RFC 6298, section 3).
    pub times_every_ack: bool,
    /// Linux: of the packets that an ACK tells of, those told by SACK come first, and the round-trip
    /// time by which others are found lost is that of the packet looked at last
    /// (`tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`, `tcp_rack_advance`). Where an ACK was
    /// delayed, that is an older one's, and the loss is found one ACK later. RFC 8985, section 6.2,
    /// step 2, takes that of the packet sent last.
    pub looks_at_sack_first: bool,
    /// Linux: a time-out may have been needless (F-RTO, RFC 5682).
    pub questions_time_outs: bool,
    /// Linux: timers are late by up to a step of the timer wheel (`timers`).
    pub has_coarse_timers: bool,
    /// Linux: a receiver holds back an ACK for as long as the next packet is expected to take, from
    /// 40 ms to a round trip (`ack_delay`). It acknowledges at once the first packets, those after
    /// a pause, and those that let its window grow (`receive_window`); two from a mark on, or from a packet that cannot be marked (`tcp_ecn_check_ce`), and
    /// one with CWR (`tcp_ecn_accept_cwr`).
    pub adapts_ack_delay: bool,
    /// Linux: an ECN echo brings the window down to the threshold by and by, as a loss does
    /// (`tcp_enter_cwr`), until more than what flew then is acknowledged. RFC 3168, section 6.1.2, halves it
    /// at once, and below one packet waits for the timer.
    pub marks_reduce_by_and_by: bool,
    /// Linux: a connection whose SYN was sent again goes without ECN (`tcp_ecn_clear_syn`; RFC 3168,
    /// section 6.1.1.1, allows it). A SYN is always taken for lost then, never for late.
    pub resent_syn_ends_ecn: bool,
    /// Linux: the congestion control begins as the connection stands, so that a lost SYN lowers no
    /// threshold, and the window begins with one packet only if two SYNs were lost (`tcp_init_metrics`,
    /// `tcp_init_transfer`). By RFC 5681, section 3.1, it does so if one was.
    pub forgives_lost_syn: bool,
}

impl Quirks {
    /// Those of ns-2.35.
    pub const NS2: Quirks = Quirks {
        reduces_allowed_window: true,
        counts_acks: true,
        grows_at_full_ack: true,
        counts_pipe: true,
        marks_retransmissions: true,
        ..Quirks::NONE
    };

    /// Those of Linux.
    pub const LINUX: Quirks = Quirks {
        counts_whole_packets: true,
        grows_after_recovery: true,
        adds_least_rto: true,
        restarts_timer_at_first: true,
        restarts_timer_by_sack: true,
        keeps_threshold_in_recovery: true,
        times_every_ack: true,
        looks_at_sack_first: true,
        questions_time_outs: true,
        has_coarse_timers: true,
        adapts_ack_delay: true,
        marks_reduce_by_and_by: true,
        resent_syn_ends_ecn: true,
        forgives_lost_syn: true,
        ..Quirks::NONE
    };

    /// None: as the RFCs have it.
    pub const NONE: Quirks = Quirks {
        reduces_allowed_window: false,
        counts_acks: false,
        grows_at_full_ack: false,
        counts_pipe: false,
        marks_retransmissions: false,
        counts_whole_packets: false,
        grows_after_recovery: false,
        adds_least_rto: false,
        restarts_timer_at_first: false,
        restarts_timer_by_sack: false,
        keeps_threshold_in_recovery: false,
        times_every_ack: false,
        looks_at_sack_first: false,
        questions_time_outs: false,
        has_coarse_timers: false,
        adapts_ack_delay: false,
        marks_reduce_by_and_by: false,
        resent_syn_ends_ecn: false,
        forgives_lost_syn: false,
    };
}
