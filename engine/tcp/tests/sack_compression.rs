//! Which ACKs of a receiver with Linux's quirks wait behind a gap.

use crate::bench::packet;
use sluice_tcp::{Ack, Config, Receiver, Variant};

const MS: u64 = 1_000_000;

const RTT_NS: u64 = 100 * MS;
/// By then the connection's quick ACKs have left, and its window has grown.
const OPEN_NS: u64 = 580 * MS;
const OPEN: u32 = 24;

struct Bench {
    config: Config,
    receiver: Receiver,
    /// Time, number expected and first block of each ACK.
    acks: Vec<(u64, u32, u32)>,
}

impl Bench {
    /// A connection that expects packet [`OPEN`] at [`OPEN_NS`].
    fn start(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::linux(Variant::Rack);
        change(&mut config);
        let (receiver, acks) = (Receiver::new(), vec![]);
        let mut bench = Self {
            config,
            receiver,
            acks,
        };
        bench.take(0, 0);
        for seq in 1..OPEN {
            bench.take(RTT_NS + 20 * MS * u64::from(seq), seq);
        }
        bench.pass(OPEN_NS);
        bench.acks.clear();
        bench
    }

    fn pass(&mut self, now_ns: u64) {
        while let Some(due_ns) = self.receiver.deadline().filter(|due| *due <= now_ns) {
            let ack = self.receiver.on_timer(&self.config, due_ns);
            self.acks.extend(ack.map(|ack| seen(due_ns, &ack)));
        }
    }

    fn take(&mut self, now_ns: u64, seq: u32) {
        self.pass(now_ns);
        let segment = packet(seq, seq == 0);
        let acks = &mut self.acks;
        let mut answer = |ack: Ack| acks.push(seen(now_ns, &ack));
        self.receiver
            .on_segment(&self.config, now_ns, &segment, &mut answer);
    }

    /// Takes packets, numbered from [`OPEN`] on, 0.1 ms apart, and waits; returns the ACKs: when, 0.1 ms,
    /// which number they expect, and where the first block ends.
    fn acks(&mut self, packets: &[u32]) -> Vec<(u64, u32, u32)> {
        for (tick, packet) in (0..).zip(packets) {
            self.take(OPEN_NS + tick * MS / 10, OPEN + packet);
        }
        self.pass(OPEN_NS + 20 * MS);
        let after = |seq: u32| seq.saturating_sub(OPEN);
        self.acks
            .drain(..)
            .map(|(ns, next, end)| ((ns - OPEN_NS) / (MS / 10), after(next), after(end)))
            .collect()
    }
}

fn seen(now_ns: u64, ack: &Ack) -> (u64, u32, u32) {
    (now_ns, ack.next, ack.sack[0].end)
}

#[test]
fn behind_a_gap_all_but_three_wait_for_a_millisecond() {
    let packets: Vec<u32> = (1..=16).collect();
    let linux = Bench::start(|_| {}).acks(&packets);
    // the fourth comes at 0.3 ms, the 14th after the timer
    assert_eq!(
        linux,
        [(0, 0, 2), (1, 0, 3), (2, 0, 4), (13, 0, 14), (23, 0, 17)]
    );
    let each = |change: fn(&mut Config)| Bench::start(change).acks(&packets).len();
    assert_eq!(each(|config| config.quirks.compresses_sacks = false), 16);
    // who delays no ACK holds none back here
    assert_eq!(each(|config| config.delayed_ack_ns = None), 16);
}

#[test]
fn a_filled_gap_is_told_at_once_and_with_it_all_that_waited() {
    let acks = Bench::start(|_| {}).acks(&[1, 2, 3, 4, 5, 0]);
    assert_eq!(acks, [(0, 0, 2), (1, 0, 3), (2, 0, 4), (5, 6, 0)]);
}

#[test]
fn an_ack_leaves_before_its_block_would_come_to_the_third_place() {
    // the packet at 0.6 ms begins the third block
    let acks = Bench::start(|_| {}).acks(&[1, 2, 3, 4, 6, 7, 9, 10]);
    assert_eq!(
        acks,
        [(0, 0, 2), (1, 0, 3), (2, 0, 4), (6, 0, 8), (16, 0, 11)]
    );
}

#[test]
fn after_a_packet_that_comes_again_acks_are_quick() {
    let acks = Bench::start(|_| {}).acks(&[0, 1, 0, 2, 3, 5, 6, 7, 8]);
    let times: Vec<u64> = acks.iter().map(|(time, ..)| *time).collect();
    assert_eq!(times, [0, 2, 3, 4, 5, 6, 7, 8]);
}
