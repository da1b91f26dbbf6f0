//! Where ns-2.35 and Linux deviate from the RFCs.
//!
//! Each deviation is a field of [`Quirks`]; its comment names the function of ns-2 or Linux that
//! causes it. Only this file describes the deviations. Other files follow the RFCs and read the
//! fields by name. Seven fields of Linux concern recovery by times alone: `restarts_timer_at_first`,
//! `restarts_timer_by_sack`, `times_every_ack`, `reads_sack_first`, `counts_timer_as_ack`,
//! `marks_reduce_by_and_by` and `questions_time_outs`.

/// Deviations from the RFCs. A field that is false stands for the behaviour of the RFCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// ns-2: a loss or a mark reduces the allowed window, min(cwnd, receiver window), not the
    /// packets in flight (RFC 5681, equation 4). The threshold is rounded down to whole packets,
    /// cwnd keeps its fraction (`TcpAgent::slowdown`, `precisionReduce_`). A time-out leaves the
    /// threshold if an ECN echo caused the last reduction, however long ago (`TcpAgent::timeout`).
    /// After a time-out every echo counts (`TcpAgent::ecn`). By RFC 5681, section 3.1, a time-out
    /// leaves the threshold if the same packet timed out before.
    pub reduces_allowed_window: bool,
    /// ns-2: the window grows by the number of ACKs: in slow start by one packet for each ACK,
    /// beyond it by one packet for a window of ACKs (`TcpAgent::opencwnd`). RFC 5681, section 3.1,
    /// recommends counting the packets that they acknowledge, so that delayed ACKs do not halve the
    /// growth.
    pub counts_acks: bool,
    /// ns-2: when an ACK ends NewReno's or Reno's recovery, cwnd keeps the value that partial ACKs
    /// left, and grows as for any new ACK (`NewRenoTcpAgent::recv` without `exit_recovery_fix_`).
    /// RFC 6582, section 3.2, step 3, asks for min(ssthresh, flight + 1).
    pub grows_at_full_ack: bool,
    /// ns-2: a sender with selective acknowledgements counts the packets in the network: one more
    /// for each packet that it sends, one less for each ACK, two less for a partial ACK
    /// (`Sack1TcpAgent::recv`). RFC 6675, section 4 (SetPipe), computes the number from the
    /// scoreboard at each ACK. All holes count as lost. The scoreboard lasts for one recovery only.
    /// An ECN echo prolongs recovery. Between a time-out and the next new ACK duplicates are
    /// ignored. A retransmitted packet is still timed.
    pub counts_pipe: bool,
    /// ns-2: retransmissions, too, are ECN-capable and carry CWR (`TcpAgent::output`), against RFC
    /// 3168, section 6.1.5.
    pub marks_retransmissions: bool,
    /// Linux: with a congestion control that needs ECN, such as DCTCP, retransmissions are ECN-capable,
    /// without CWR (`tcp_ecn_send`, `tcp_ca_needs_ecn`; RFC 8311, section 4.3, allows it).
    pub needed_ecn_stays: bool,
    /// Linux: the window is a whole number of packets. A loss takes its share of cwnd, not of the
    /// packets in flight, and rounds down (`tcp_reno_ssthresh`, `cubictcp_recalc_ssthresh`). Beyond
    /// slow start the window grows by one packet when a window of packets is acknowledged
    /// (`tcp_cong_avoid_ai`, which is RFC 3465, section 2.1). By RFC 5681, equation 3, it grows by
    /// a fraction for each ACK.
    pub counts_whole_packets: bool,
    /// Linux: the ACK that ends recovery lets the window grow, like any new ACK
    /// (`tcp_cong_control`).
    pub grows_after_recovery: bool,
    /// Linux: the time-out is the smoothed round-trip time plus the larger of four deviations and
    /// the least time-out (`tcp_set_rto`, `tcp_rtt_estimator`). By RFC 6298, section 2.4, the least
    /// time-out is the lower bound of the smoothed time plus four deviations.
    pub adds_least_rto: bool,
    /// Linux: a retransmission of the first unacknowledged packet restarts the timer
    /// (`tcp_xmit_retransmit_queue`), so that recovery by times can find its loss before a
    /// time-out. By RFC 6298, section 5, only an ACK of new data restarts the timer.
    pub restarts_timer_at_first: bool,
    /// Linux: the timer also restarts when SACK reports a packet that was sent before that
    /// retransmission (`tcp_clean_rtx_queue`). With two packets in flight, SACK may report the
    /// packets sent after the retransmission only when a time-out counted from the retransmission
    /// is over.
    pub restarts_timer_by_sack: bool,
    /// Linux: a time-out leaves the threshold as the reduction before it set it, until all packets
    /// that were in flight at that reduction are acknowledged (`tcp_enter_loss`). By RFC 5681,
    /// section 3.1, a time-out leaves it only if the same packet timed out before.
    pub keeps_threshold_in_recovery: bool,
    /// Linux: with time stamps (RFC 7323) every ACK that reports a packet, even a retransmission,
    /// gives a round-trip time and ends the backoff (`tcp_ack_update_rtt`). Without them one packet
    /// per round trip is timed, and none that was sent twice (RFC 6298, section 3).
    pub times_every_ack: bool,
    /// Linux: of the packets that an ACK reports, those reported by SACK are processed first. The
    /// round-trip time by which other packets are found lost is that of the packet processed last
    /// (`tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`, `tcp_rack_advance`). If an ACK was
    /// delayed, this is an older packet, and the loss is found one ACK later. RFC 8985, section
    /// 6.2, step 2, takes the round-trip time of the packet sent last.
    pub reads_sack_first: bool,
    /// Linux, two rules of the same function (`tcp_rack_reo_timeout`). A recovery that the
    /// reordering timer begins has counted one packet as delivered, so that it may send one more
    /// than what arrives; RFC 9937 counts deliveries only. And during a recovery, whatever began
    /// it, that timer leaves the window as it is. Neither is for a control such as BBR, which
    /// decides alone at each ACK: this timer never changes its window.
    pub counts_timer_as_ack: bool,
    /// Linux: after a time-out the sender tests whether it was spurious (F-RTO, RFC 5682).
    pub questions_time_outs: bool,
    /// Linux: timers expire late by up to one step of the timer wheel (`timers`).
    pub has_coarse_timers: bool,
    /// Linux: a receiver delays an ACK for as long as it expects to wait for the next packet, from
    /// 40 ms to a round trip (`ack_delay`). It acknowledges at once the first packets, those after
    /// a pause, and those that let its window grow (`receive_window`). The same holds for two
    /// packets from a mark on, or from a packet that cannot be marked (`tcp_ecn_check_ce`), and for
    /// one with CWR (`tcp_ecn_accept_cwr`).
    pub adapts_ack_delay: bool,
    /// Linux: the last packet of each write or burst carries PSH (`push`), and its receiver acknowledges
    /// it at once, as the application has read all that came (`tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`).
    /// A sender sets it only with recovery by times.
    pub pushes_writes: bool,
    /// Linux: after three ACKs for packets out of order, all that tell of nothing else wait for others: a
    /// receiver sends one 1 ms, or a twentieth of a round trip, after the first that waits
    /// (`__tcp_ack_snd_check`, `tcp_comp_sack_delay_ns`). Only with `adapts_ack_delay`.
    pub compresses_sacks: bool,
    /// Linux: with accurate feedback the first packet without a mark is acknowledged at once, too
    /// (`ecn_edge` of `tcp_ecn_received_counters`). By RFC 9768, section 3.2.2.5.1, only the first one
    /// with a mark is.
    pub tells_end_of_marks: bool,
    /// Linux: with accurate feedback each ACK carries the option with the counter of marked bytes
    /// (`accurate_ecn`; `tcp_options_fit_accecn`). By RFC 9768, section 3.2.3, it is optional.
    pub counts_marked_bytes: bool,
    /// Linux: an ECN echo reduces the window to the threshold gradually, as a loss does
    /// (`tcp_enter_cwr`), until a packet sent after the echo is acknowledged. By RFC 3168, section
    /// 6.1.2, the window is halved at once, and a window below one packet waits for the timer.
    pub marks_reduce_by_and_by: bool,
    /// Linux: a SYN that asks for classic feedback of marks is sent again without asking
    /// (`tcp_ecn_clear_syn`; RFC 3168, section 6.1.1.1, allows it). One that asks for accurate
    /// feedback is so only when it is sent a third time, as RFC 9768, section 3.1.4.1, says.
    pub resent_syn_asks_no_more: bool,
    /// Linux: the SYN of a connection whose congestion control needs ECN, such as DCTCP, is
    /// ECN-capable (`tcp_ecn_send_syn`), against RFC 3168, section 6.1.1.
    pub needed_ecn_in_syn: bool,
    /// Linux: the flags AE and ECE in the answer of a SYN that asks for accurate feedback mean the
    /// classic one (`tcp_ecn_rcv_synack`). By RFC 9768, section 3.1.3, they mean accurate feedback.
    pub nonce_is_classic: bool,
    /// Linux: a SYN that arrives marked leaves the initial window as it is (`tcp_ecn_rcv_synack`). RFC
    /// 9768, section 3.2.2.2, asks for a response.
    pub spares_window_of_marked_syn: bool,
    /// Linux: marks count even if every packet is marked (`tcp_accecn_process`). RFC 9768, section
    /// 3.2.2.3, advises to stop after three or four rounds of such marks.
    pub takes_endless_marks: bool,
    /// Linux: congestion control starts when the connection is open, so that a lost SYN lowers no
    /// threshold. The window starts with one packet only if two SYNs were lost (`tcp_init_metrics`,
    /// `tcp_init_transfer`). By RFC 5681, section 3.1, one lost SYN is enough.
    pub forgives_lost_syn: bool,
    /// Linux: a sender that paces sends its first ten packets at once, and what a packet leaves late
    /// is taken off the time until the next one, up to half of this (`tcp_update_skb_after_send`).
    pub paces_by_departure: bool,
}

impl Quirks {
    /// The deviations of ns-2.35.
    pub const NS2: Quirks = Quirks {
        reduces_allowed_window: true,
        counts_acks: true,
        grows_at_full_ack: true,
        counts_pipe: true,
        marks_retransmissions: true,
        ..Quirks::NONE
    };

    /// The deviations of Linux.
    pub const LINUX: Quirks = Quirks {
        counts_whole_packets: true,
        grows_after_recovery: true,
        adds_least_rto: true,
        restarts_timer_at_first: true,
        restarts_timer_by_sack: true,
        keeps_threshold_in_recovery: true,
        times_every_ack: true,
        reads_sack_first: true,
        counts_timer_as_ack: true,
        questions_time_outs: true,
        has_coarse_timers: true,
        adapts_ack_delay: true,
        pushes_writes: true,
        compresses_sacks: true,
        tells_end_of_marks: true,
        counts_marked_bytes: true,
        marks_reduce_by_and_by: true,
        resent_syn_asks_no_more: true,
        needed_ecn_in_syn: true,
        nonce_is_classic: true,
        spares_window_of_marked_syn: true,
        takes_endless_marks: true,
        needed_ecn_stays: true,
        forgives_lost_syn: true,
        paces_by_departure: true,
        ..Quirks::NONE
    };

    /// No deviations: the RFCs.
    pub const NONE: Quirks = Quirks {
        reduces_allowed_window: false,
        counts_acks: false,
        grows_at_full_ack: false,
        counts_pipe: false,
        marks_retransmissions: false,
        needed_ecn_stays: false,
        counts_whole_packets: false,
        grows_after_recovery: false,
        adds_least_rto: false,
        restarts_timer_at_first: false,
        restarts_timer_by_sack: false,
        keeps_threshold_in_recovery: false,
        times_every_ack: false,
        reads_sack_first: false,
        counts_timer_as_ack: false,
        questions_time_outs: false,
        has_coarse_timers: false,
        adapts_ack_delay: false,
        pushes_writes: false,
        compresses_sacks: false,
        tells_end_of_marks: false,
        counts_marked_bytes: false,
        marks_reduce_by_and_by: false,
        resent_syn_asks_no_more: false,
        needed_ecn_in_syn: false,
        nonce_is_classic: false,
        spares_window_of_marked_syn: false,
        takes_endless_marks: false,
        forgives_lost_syn: false,
        paces_by_departure: false,
    };
}
