//! Lengths of writes, alone and by a sender whose window stays.

use super::*;
use crate::config::{MS, Variant};
use crate::congestion::CongestionControl;
use crate::segment::{Ack, Block, Segment};
use crate::sender::GREEDY;

fn progress(una: u32, next: u32, end: u32) -> Progress {
    let sacked = 0;
    Progress {
        una,
        sacked,
        next,
        end,
    }
}

fn writes(change: impl FnOnce(&mut Config)) -> Writes {
    let mut config = Config::linux(Variant::Rack);
    change(&mut config);
    Writes::new(&config)
}

/// Sizes of the first write and of the later ones, while a window of packets is in flight that is
/// acknowledged one by one.
fn sizes(control: CongestionControl, window: u32, flight: u32) -> (u32, Vec<u32>) {
    let mut writes = writes(|config| config.congestion_control = control);
    writes.expand(window);
    writes.fill(progress(1, 1, u32::MAX));
    let (first, mut found) = (writes.written - 1, vec![]);
    for una in 1..200 {
        let before = writes.written;
        let next = (una + flight).min(before);
        let at = progress(una, next, u32::MAX);
        if writes.asks(at) {
            writes.fill(at);
            let last = writes.written - 1;
            assert!(writes.ends_write(last) && !writes.ends_write(last - 1));
            found.push(writes.written - before);
        }
    }
    (first, found)
}

#[test]
fn a_write_fills_a_third_of_the_memory_or_half_of_what_may_be_unsent() {
    // Linux 6.18, packets from one PSH to the next: mostly 8 where windows were small from the
    // start, 11 where slow start took them to 14 or 15, 24 with those of a single flow. BBR has half
    // as much memory again (`bbr_sndbuf_expand`).
    let (reno, bbr) = (CongestionControl::Reno, CongestionControl::Bbr);
    for (control, window, flight, first, later) in [
        (reno, 10, 10, 21, 8),
        (reno, 14, 14, 29, 11),
        (reno, 15, 15, 31, 11),
        (reno, 80, 80, 46, 24),
        (bbr, 10, 10, 31, 11),
        (bbr, 14, 12, 43, 15),
        (bbr, 24, 24, 46, 24),
        (CongestionControl::Bbr3, 10, 10, 31, 11),
        (CongestionControl::Prague, 10, 10, 21, 8),
    ] {
        let (found, rest) = sizes(control, window, flight);
        assert_eq!(found, first, "{control:?} {window}");
        assert!(rest.len() > 4, "{control:?} {window}: {rest:?}");
        // the first two writes may be to fill the window
        let settled = rest[2..].iter().all(|size| *size == later);
        assert!(settled, "{control:?} {window}: {rest:?}");
    }
}

#[test]
fn an_application_that_has_no_more_ends_its_write() {
    let mut writes = writes(|_| ());
    writes.fill(progress(1, 1, 6));
    writes.fill(progress(4, 6, 9));
    let pushed: Vec<u32> = (1..12).filter(|seq| writes.ends_write(*seq)).collect();
    assert_eq!(pushed, [5, 8]);
    // what is acknowledged is forgotten
    writes.fill(progress(9, 9, 12));
    assert_eq!(writes.ends, [11]);
}

#[test]
fn packets_that_arrived_out_of_order_keep_their_payload() {
    // memory for 20 packets of 2304 bytes; 21 packets take 2280 each
    let mut writes = writes(|_| ());
    writes.fill(progress(1, 1, u32::MAX));
    assert_eq!(writes.written, 22);
    let mut at = progress(1, 22, u32::MAX);
    at.sacked = 18;
    assert_eq!(writes.kept(at), 21 * 2280 - 18 * 832);
    // 13,176 bytes are free: less than a third
    assert!(!writes.asks(at));
    at.una = 2;
    assert!(writes.asks(at));
    writes.fill(at);
    // 15,456 bytes are free: seven packets
    assert_eq!(writes.written, 29);
}

#[test]
fn half_of_the_receivers_window_ends_a_write() {
    let mut writes = writes(|config| config.receiver_window = 16);
    writes.fill(progress(1, 1, u32::MAX));
    assert_eq!(writes.ends, [9, 18, 21]);
}

/// A sender whose window stays, and what it sent.
struct Run {
    config: Config,
    sender: Sender,
    sent: Vec<Segment>,
}

impl Run {
    fn start(window: u32) -> Run {
        let mut config = Config::linux(Variant::Rack);
        config.congestion_control = CongestionControl::Witness;
        config.initial_window = f64::from(window);
        config.syn = false;
        let (mut sent, mut sender) = (vec![], Sender::new(&config, GREEDY, 0));
        sender.start(&config, 0, &mut |segment| sent.push(segment));
        Run {
            config,
            sender,
            sent,
        }
    }

    /// Each of the first packets is acknowledged alone. The packet `hole` is lost once; what is sent
    /// again arrives after the packets of a window.
    fn acknowledge(&mut self, packets: u32, hole: Option<u32>) {
        for seq in (0..packets).filter(|seq| Some(*seq) != hole) {
            let mut ack = Ack {
                next: seq + 1,
                ..Ack::default()
            };
            if let Some(hole) = hole
                && (hole..hole + self.config.initial_window as u32).contains(&seq)
            {
                ack.next = hole;
                ack.sack[0] = Block {
                    start: hole + 1,
                    end: seq + 1,
                };
            }
            let now_ns = u64::from(seq + 1) * MS;
            let sent = &mut self.sent;
            self.sender
                .on_ack(&self.config, now_ns, &ack, &mut |each| sent.push(each));
        }
    }

    fn pushed(&self, again: bool) -> Vec<u32> {
        let sent = self.sent.iter();
        let pushed = sent.filter(|each| each.retransmitted == again && each.push);
        pushed.map(|each| each.seq).collect()
    }
}

/// Packets from one PSH to the next.
fn distances(pushed: &[u32]) -> Vec<u32> {
    pushed.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn in_a_window_that_stays_all_writes_are_as_long() {
    for (window, packets) in [(10, 8), (14, 11), (80, 24)] {
        let mut run = Run::start(window);
        run.acknowledge(200, None);
        let found = distances(&run.pushed(false));
        assert!(found.len() > 5, "{window}: {found:?}");
        // with a large window the first two fill it
        let settled = found[2..].iter().all(|each| *each == packets);
        assert!(settled, "{window}: {found:?}");
    }
}

#[test]
fn a_hole_makes_writes_shorter_and_its_packet_keeps_the_flag() {
    // a write ends with P36. When the window lets P53 leave, the memory has 17 packets, 9 of them
    // SACKed: 31,272 of 46,080 bytes. A third of the memory is written: 7 packets.
    for (hole, again) in [(36, vec![36]), (37, vec![])] {
        let mut run = Run::start(10);
        run.acknowledge(200, Some(hole));
        assert_eq!(run.pushed(true), again);
        assert_eq!(run.sender.retransmissions(), 1);
        if hole == 36 {
            let found = distances(&run.pushed(false));
            assert_eq!(found[..8], [8, 8, 8, 8, 7, 8, 8, 8]);
        }
    }
}

#[test]
fn after_a_stop_the_next_write_ends_where_it_ends() {
    let mut run = Run::start(10);
    run.acknowledge(50, None);
    run.sender.stop();
    run.acknowledge(60, None);
    let sent = &mut run.sent;
    run.sender
        .write(&run.config, 100 * MS, 5, &mut |each| sent.push(each));
    assert_eq!(run.sender.max, 65);
    assert_eq!(run.pushed(false), [20, 28, 36, 44, 52, 64]);
}

#[test]
fn of_a_burst_the_last_packet_is_pushed() {
    let ack = Ack {
        next: 2,
        ..Ack::default()
    };
    // ten leave at once, then 13 together; the window or the data end the last burst
    for (packets, expected) in [
        (GREEDY, vec![22, 35, 48, 61, 74, 87, 100, 103]),
        (26, vec![22, 25]),
        (24, vec![22, 23]),
    ] {
        let mut run = Run::start(100);
        run.config.pacing = true;
        run.config.segmentation_offload = true;
        run.config.congestion_control = CongestionControl::Bbr;
        run.sender = Sender::new(&run.config, packets, 0);
        run.sent.clear();
        let sent = &mut run.sent;
        run.sender
            .start(&run.config, 0, &mut |each| sent.push(each));
        run.sender
            .on_ack(&run.config, 20 * MS, &ack, &mut |each| sent.push(each));
        while let Some(due_ns) = run.sender.take_release() {
            run.sender
                .on_release(&run.config, due_ns, &mut |each| sent.push(each));
        }
        assert_eq!(run.sender.burst(&run.config), 13);
        assert_eq!(run.pushed(false), expected);
    }
}
