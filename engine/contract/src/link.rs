//! The plain link: a queue and a link that takes packets from it.

use rand::Rng;
use sluice_aqm::{BufferPolicy, Configured, NEVER};
use sluice_ecn::Ecn;
use sluice_queue::{DecisionLog, Observer, Packet, Queue};
use sluice_random::Stream;

use crate::cases::{Arrival, Case, SLOT_NS};

/// A packet with only the fields that a queue uses.
#[derive(Clone, Copy, Default)]
pub struct Plain {
    pub(crate) bytes: u32,
    pub(crate) flow_hash: u32,
    pub(crate) ecn: Ecn,
    pub(crate) dscp: u8,
}

impl Packet for Plain {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flow_hash(&self) -> u32 {
        self.flow_hash
    }

    fn traffic_class(&self) -> u8 {
        self.dscp << 2 | self.ecn.bits()
    }

    fn mark(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

/// Returns the decision log of a case at the plain link.
pub fn log(case: &Case) -> String {
    let mut log = DecisionLog::new(Vec::new());
    drive(case, &mut log);
    let written = log.finish().expect("memory to write to");
    String::from_utf8(written).expect("a log is text")
}

/// Runs a case at the plain link, with an observer.
pub fn drive(case: &Case, observer: impl Observer<Plain>) {
    let link = Link {
        aqm: &case.aqm,
        discipline: case.discipline,
        scheduler: case.scheduler.clone(),
        rate_bps: case.rate_bps(),
        end_ns: case.slots() * SLOT_NS,
    };
    let arrivals = case.arrivals.iter();
    let arrivals = arrivals.map(|arrival| (arrival.slot * SLOT_NS, plain(arrival)));
    link.drive(arrivals, case.words(), observer);
}

/// A queue at a link.
pub(crate) struct Link<'a> {
    pub aqm: &'a Configured,
    pub discipline: BufferPolicy,
    pub scheduler: Option<Configured>,
    pub rate_bps: u64,
    /// End of the run, ns.
    pub end_ns: u64,
}

impl Link<'_> {
    /// Runs the link; `arrivals` are packets with their arrival times (ns), in rising order.
    pub fn drive(
        &self,
        arrivals: impl Iterator<Item = (u64, Plain)>,
        mut words: Stream,
        mut observer: impl Observer<Plain>,
    ) {
        let mut random = || words.next_u64();
        let start = |_| self.aqm.start();
        let mut queue = Queue::new(
            self.discipline,
            self.scheduler.as_ref(),
            start,
            self.rate_bps,
        );
        let interval_ns = queue.tick_interval_ns();
        let mut tick_ns = interval_ns.unwrap_or(NEVER);
        let mut arrivals = arrivals.peekable();
        // when the link is free, or, if it is, when it asks again
        let (mut free_ns, mut is_busy) = (NEVER, false);
        loop {
            let arrival_ns = arrivals.peek().map_or(NEVER, |(time_ns, _)| *time_ns);
            let now_ns = tick_ns.min(free_ns).min(arrival_ns);
            if now_ns >= self.end_ns {
                break;
            }
            if now_ns == tick_ns {
                queue.tick(now_ns, &mut observer);
                tick_ns += interval_ns.expect("or there is no tick");
                continue;
            }
            if now_ns == free_ns {
                is_busy = false;
            } else if let Some((_, packet)) = arrivals.next() {
                queue.arrive(now_ns, packet, &mut random, &mut observer);
            }
            if !is_busy {
                let next = queue.depart(now_ns, &mut random, &mut observer);
                is_busy = next.is_some();
                free_ns = match next {
                    Some(next) => {
                        now_ns + u64::from(next.packet.bytes) * 8_000_000_000 / self.rate_bps
                    }
                    None => queue.ready_ns().unwrap_or(NEVER),
                };
            }
        }
    }
}

fn plain(arrival: &Arrival) -> Plain {
    Plain {
        bytes: arrival.bytes,
        flow_hash: arrival.flow_hash(),
        ecn: arrival.ecn,
        dscp: arrival.dscp,
    }
}
