//! A sender whose ACKs come from the test. Times are in ns, windows in packets.

use sluice_ecn::Ecn;
use sluice_tcp::{Ack, Block, Config, GREEDY, Segment, Sender, Variant};

/// A sender, and the packets that it sent since the test last asked for them.
pub struct Bench {
    pub config: Config,
    pub sender: Sender,
    pub sent: Vec<Segment>,
}

/// A packet of a connection without ECN, as it arrives for the first time.
pub fn packet(seq: u32, syn: bool) -> Segment {
    Segment {
        seq,
        syn,
        retransmitted: false,
        ecn: Ecn::NotEct,
        cwr: false,
        push: false,
        ace: 0,
    }
}

impl Bench {
    /// Starts a sender at time 0 that sends `initial_window` packets at once.
    pub fn start(variant: Variant, initial_window: f64, change: impl FnOnce(&mut Config)) -> Bench {
        let mut config = Config {
            initial_window,
            ..Config::rfc(variant)
        };
        change(&mut config);
        config.check().unwrap();
        let mut sender = Sender::new(&config, GREEDY, 0);
        let mut sent = vec![];
        sender.start(&config, 0, &mut |segment| sent.push(segment));
        Bench {
            config,
            sender,
            sent,
        }
    }

    pub fn ack(&mut self, now_ns: u64, ack: Ack) {
        let sent = &mut self.sent;
        self.sender
            .on_ack(&self.config, now_ns, &ack, &mut |segment| {
                sent.push(segment)
            });
    }

    pub fn ack_to(&mut self, now_ns: u64, next: u32) {
        self.ack(
            now_ns,
            Ack {
                next,
                ..Ack::default()
            },
        );
    }

    /// Delivers an ACK with the number `next` that reports one block.
    pub fn sack(&mut self, now_ns: u64, next: u32, start: u32, end: u32) {
        let mut ack = Ack {
            next,
            ..Ack::default()
        };
        ack.sack[0] = Block { start, end };
        self.ack(now_ns, ack);
    }

    pub fn time_out(&mut self) -> u64 {
        let now_ns = self.sender.deadline().unwrap();
        let sent = &mut self.sent;
        self.sender
            .on_timer(&self.config, now_ns, &mut |segment| sent.push(segment));
        now_ns
    }

    pub fn sent(&mut self) -> Vec<u32> {
        self.sent.drain(..).map(|segment| segment.seq).collect()
    }
}
