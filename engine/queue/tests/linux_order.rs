//! Schedulers without chance against recordings of Linux's own: for the same arrivals the same packets
//! leave in the same order. `bench/order.py` makes the recordings (`linux_order`), and says how.

use std::collections::HashMap;

use sluice_aqm::{BufferPolicy, Configured, Value, Victim};
use sluice_queue::{Packet, Queue};

use crate::{
    cake_link,
    common::{drop_tail, scheduler, words},
};

const POLICY: BufferPolicy = BufferPolicy {
    limit: 1000,
    limit_bytes: None,
    victim: Victim::Front,
    ecn: true,
};
const RATE_BPS: u64 = 10_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sent {
    number: usize,
    traffic_class: u8,
    bytes: u32,
    flow: u32,
}

impl Packet for Sent {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flow_hash(&self) -> u32 {
        self.flow
    }

    fn traffic_class(&self) -> u8 {
        self.traffic_class
    }

    fn mark(&mut self) {}
}

/// What happens in a recording.
enum Event {
    Arrives(Sent),
    /// The packet of this number is chosen.
    Leaves(usize),
}

/// The events of a recording, each with its time.
fn recorded(name: &str) -> Vec<(u64, Event)> {
    let path = format!(
        "{}/tests/linux_order/{name}.txt",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut arrivals = 0;
    text.lines()
        .map(|line| {
            let fields: Vec<_> = line.split(' ').collect();
            let number = |place: usize| fields[place].parse::<u64>().unwrap();
            let event = match fields[0] {
                "a" => {
                    arrivals += 1;
                    Event::Arrives(Sent {
                        number: arrivals - 1,
                        traffic_class: number(2) as u8,
                        bytes: number(3) as u32,
                        flow: number(4) as u32,
                    })
                }
                _ => Event::Leaves(number(2) as usize),
            };
            (number(1), event)
        })
        .collect()
}

/// A recording repeated: how many packets left, and how many of them in the order of arrival.
struct Repeated {
    left: usize,
    in_turn: usize,
}

/// Times of choices that are not those of the recording, by their number, in ns.
type Shifts = HashMap<usize, i64>;

/// Repeats a recording.
///
/// # Errors
/// The number of the first choice that is another than Linux's.
fn repeat(name: &str, scheduler: &Configured, shifts: &Shifts) -> Result<Repeated, usize> {
    let mut queue = Queue::new(POLICY, Some(scheduler), |_| drop_tail(), RATE_BPS);
    let mut random = words(1);
    let mut lost = |packet: Sent, _| panic!("{name}: packet {} is lost", packet.number);
    let (mut found, mut last, mut now_ns) = (
        Repeated {
            left: 0,
            in_turn: 0,
        },
        0,
        0,
    );
    for (time_ns, event) in recorded(name) {
        let shift_ns = match event {
            Event::Leaves(_) => shifts.get(&found.left).copied().unwrap_or(0),
            Event::Arrives(_) => 0,
        };
        // the order of events stays
        now_ns = time_ns.saturating_add_signed(shift_ns).max(now_ns);
        match event {
            Event::Arrives(packet) => {
                queue.arrive(now_ns, packet, &mut random, &mut lost);
            }
            Event::Leaves(number) => {
                let sent = queue.depart(now_ns, &mut random, &mut lost);
                if sent.map(|sent| sent.packet.number) != Some(number) {
                    return Err(found.left);
                }
                found.left += 1;
                found.in_turn += usize::from(number >= last);
                last = number;
            }
        }
    }
    Ok(found)
}

/// DSCP of each class in turn; the last one takes the rest.
fn classes(kind: &str, dscps: &[u32], more: &[(&str, f64)]) -> Configured {
    let mut given = Vec::new();
    for (class, dscp) in dscps.iter().enumerate() {
        let half = ["low", "high"][(dscp / 32) as usize];
        let set = f64::from(1_u32 << (dscp % 32));
        given.push((format!("dscp_{half}_{class}"), set));
        given.push((format!("ecn_{class}"), 15.0));
    }
    given.push(("classes".to_owned(), (dscps.len() + 1) as f64));
    given.extend(
        more.iter()
            .map(|(name, value)| ((*name).to_owned(), *value)),
    );
    let given: Vec<_> = given
        .iter()
        .map(|(name, value)| (&**name, *value))
        .collect();
    scheduler(kind, &given)
}

fn check(name: &str, scheduler: &Configured) {
    let Repeated { left, in_turn } = repeat(name, scheduler, &Shifts::new())
        .unwrap_or_else(|place| panic!("{name}: choice {place} is another"));
    // a FIFO would not pass
    assert!(left > 1000 && in_turn < 9 * left / 10, "{left} {in_turn}");
}

#[test]
fn strict_priority() {
    check("prio", &classes("prio", &[46, 34, 10], &[]));
}

#[test]
fn enhanced_transmission_selection() {
    let turns = [
        ("strict", 1.0),
        ("quantum_1", 3000.0),
        ("quantum_2", 700.0),
        ("quantum_3", 1500.0),
    ];
    check("ets", &classes("ets", &[46, 34, 10], &turns));
}

/// Linux's classes have quanta of their own; ours are those of ETS without a strict class.
#[test]
fn deficit_round_robin() {
    let turns = [
        ("quantum_0", 1500.0),
        ("quantum_1", 3000.0),
        ("quantum_2", 700.0),
        ("quantum_3", 1500.0),
    ];
    check("drr", &classes("ets", &[46, 34, 10], &turns));
}

fn cake(rate_bps: f64) -> Configured {
    let given = [
        ("rtt", Value::Number(4.0)),
        ("target", Value::Number(0.2)),
        ("diffserv", cake_link::word("diffserv4")),
        ("isolation", cake_link::word("flows")),
        ("rate_bps", Value::Number(rate_bps)),
    ];
    cake_link::configured(&given).unwrap()
}

#[test]
fn tins_of_cake_by_weight() {
    check("cake", &cake(0.0));
}

/// With a rate tins are chosen by clocks, and the log has the time of a packet 1 or 2 us after the
/// qdisc's own. Where a clock was as near to it, a choice may be another.
#[test]
fn tins_of_cake_by_their_clocks() {
    const LATE_NS: i64 = 3000;
    let scheduler = cake(RATE_BPS as f64);
    let mut shifts = Shifts::new();
    let left = loop {
        let place = match repeat("cake_shaped", &scheduler, &shifts) {
            Ok(repeated) => break repeated.left,
            Err(place) => place,
        };
        let next = match shifts.get(&place) {
            None => LATE_NS,
            Some(&LATE_NS) => -LATE_NS,
            Some(_) => panic!("choice {place} is another"),
        };
        shifts.insert(place, next);
    };
    assert!(left > 1000 && 100 * shifts.len() < left, "{shifts:?}");
}
