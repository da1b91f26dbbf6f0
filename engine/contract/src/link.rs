//! The plain link: a queue, and whoever asks it for packets.

use rand::Rng;
use sluice_queue::{DecisionLog, Observer, Packet, Queue};

use crate::cases::{Arrival, Case, SLOT_NS};

/// A packet that has what a queue looks at, and nothing else.
#[derive(Clone, Copy, Default)]
pub struct Plain {
    bytes: u32,
    flow_hash: u32,
    ecn_capable: bool,
}

impl Packet for Plain {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flow_hash(&self) -> u32 {
        self.flow_hash
    }

    fn ecn_capable(&self) -> bool {
        self.ecn_capable
    }

    fn mark(&mut self) {}
}

/// The decision log of a case before a link as plain as it can be written.
pub fn log(case: &Case) -> String {
    let mut log = DecisionLog::new(Vec::new());
    drive(case, &mut log);
    let written = log.finish().expect("memory to write to");
    String::from_utf8(written).expect("a log is text")
}

/// Runs a case before that link, watched by an observer.
pub fn drive(case: &Case, mut observer: impl Observer<Plain>) {
    let (rate_bps, mut words) = (case.rate_bps(), case.words());
    let mut random = || words.next_u64();
    let mut queue = Queue::new(
        case.discipline,
        case.scheduler,
        || case.aqm.start(),
        rate_bps,
    );
    let interval_ns = queue.tick_interval_ns();
    let mut tick_ns = interval_ns.unwrap_or(u64::MAX);
    let mut arrivals = case.arrivals.iter().peekable();
    let mut free_ns = u64::MAX;
    loop {
        let arrival_ns = arrivals
            .peek()
            .map_or(u64::MAX, |arrival| arrival.slot * SLOT_NS);
        let now_ns = tick_ns.min(free_ns).min(arrival_ns);
        if now_ns >= case.slots() * SLOT_NS {
            break;
        }
        if now_ns == tick_ns {
            queue.tick(now_ns, &mut observer);
            tick_ns += interval_ns.expect("or there is no tick");
            continue;
        }
        if now_ns == free_ns {
            free_ns = u64::MAX;
        } else if let Some(arrival) = arrivals.next() {
            queue.arrive(now_ns, plain(arrival), &mut random, &mut observer);
        }
        if free_ns == u64::MAX {
            let next = queue.depart(now_ns, &mut random, &mut observer);
            free_ns = next.map_or(u64::MAX, |next| {
                now_ns + u64::from(next.packet.bytes) * 8_000_000_000 / rate_bps
            });
        }
    }
}

fn plain(arrival: &Arrival) -> Plain {
    Plain {
        bytes: arrival.bytes,
        flow_hash: arrival.flow_hash(),
        ecn_capable: arrival.ecn_capable,
    }
}
