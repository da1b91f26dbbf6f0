//! Classes of service: the order of departures of strict priority and ETS, who starves, who loses
//! packets, and an AQM of its own in each class.

use std::{
    collections::VecDeque,
    iter::{from_fn, repeat_n},
};

use proptest::prelude::*;
use sluice_aqm::{
    AnyAqm, Aqm, AqmSource, BufferPolicy, Configured, Value, Verdict, Victim, View, find,
};
use sluice_queue::{Packet, Queue};

use crate::common::{drop_tail, repeatable, scheduler};

const RATE_BPS: u64 = 1_000_000;
const LIMITED: BufferPolicy = BufferPolicy {
    limit: 6,
    limit_bytes: None,
    victim: Victim::Tail,
    ecn: true,
};
const ROOMY: BufferPolicy = BufferPolicy {
    limit: 10_000,
    ..LIMITED
};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sent {
    number: usize,
    traffic_class: u8,
    bytes: u32,
}

impl Packet for Sent {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flow_hash(&self) -> u32 {
        0
    }

    fn traffic_class(&self) -> u8 {
        self.traffic_class
    }

    fn mark(&mut self) {
        self.traffic_class |= 3;
    }
}

/// Class `n` has DSCP `n`, with any ECN codepoint; the last one takes the rest.
fn classes(kind: &str, count: u32, more: &[(&str, f64)]) -> Configured {
    let sets: Vec<(String, f64)> = (0..count)
        .flat_map(|number| {
            [
                (format!("dscp_low_{number}"), f64::from(1_u32 << number)),
                (format!("ecn_{number}"), 15.0),
            ]
        })
        .collect();
    let mut given: Vec<(&str, f64)> = sets
        .iter()
        .map(|(name, number)| (&**name, *number))
        .collect();
    given.push(("classes", f64::from(count)));
    given.extend(more);
    scheduler(kind, &given)
}

fn packet(number: usize, class: u8, bytes: u32) -> Sent {
    Sent {
        number,
        traffic_class: class << 2,
        bytes,
    }
}

fn never() -> u64 {
    unreachable!("nothing here is random")
}

/// Linux's `ets_qdisc_dequeue` (sch_ets.c) with its bands as plain lists: written for this test.
struct Linux {
    bands: Vec<VecDeque<Sent>>,
    strict: usize,
    quanta: Vec<u32>,
    deficits: Vec<u32>,
    active: VecDeque<usize>,
}

impl Linux {
    fn new(strict: usize, quanta: &[u32]) -> Self {
        Self {
            bands: vec![VecDeque::new(); quanta.len()],
            strict,
            quanta: quanta.to_vec(),
            deficits: vec![0; quanta.len()],
            active: VecDeque::new(),
        }
    }

    fn enqueue(&mut self, packet: Sent) {
        let band = usize::from(packet.traffic_class >> 2).min(self.bands.len() - 1);
        if self.bands[band].is_empty() && band >= self.strict {
            self.active.push_back(band);
            self.deficits[band] = self.quanta[band];
        }
        self.bands[band].push_back(packet);
    }

    fn dequeue(&mut self) -> Option<Sent> {
        for band in 0..self.strict {
            if let Some(packet) = self.bands[band].pop_front() {
                return Some(packet);
            }
        }
        loop {
            let band = *self.active.front()?;
            let bytes = self.bands[band].front().expect("it is active").bytes;
            if bytes <= self.deficits[band] {
                self.deficits[band] -= bytes;
                if self.bands[band].len() == 1 {
                    self.active.pop_front();
                }
                return self.bands[band].pop_front();
            }
            self.deficits[band] += self.quanta[band];
            self.active.rotate_left(1);
        }
    }
}

proptest! {
    #![proptest_config(repeatable(300))]

    /// Packet by packet as Linux's; with all classes strict, ETS is strict priority.
    #[test]
    fn packets_leave_in_the_order_of_linux(
        quanta in prop::collection::vec(64_u32..4000, 1..6),
        strict in 0_usize..6,
        steps in prop::collection::vec(prop::option::weighted(0.6, (0_u8..7, 40_u32..1500)), 1..200),
    ) {
        let strict = strict.min(quanta.len());
        let named: Vec<String> = (0..quanta.len()).map(|number| format!("quantum_{number}")).collect();
        let mut given = vec![("strict", strict as f64)];
        given.extend(named.iter().zip(&quanta).map(|(name, bytes)| (&**name, f64::from(*bytes))));
        let mut kinds = vec![classes("ets", quanta.len() as u32, &given)];
        if strict == quanta.len() {
            kinds.push(classes("prio", quanta.len() as u32, &[]));
        }
        for kind in kinds {
            let mut linux = Linux::new(strict, &quanta);
            let mut queue = Queue::new(ROOMY, Some(&kind), |_| drop_tail(), RATE_BPS);
            let more = repeat_n(&None, steps.len());
            for (number, step) in steps.iter().chain(more).enumerate() {
                let now_ns = number as u64;
                if let Some((class, bytes)) = step {
                    let arrived = packet(number, *class, *bytes);
                    linux.enqueue(arrived);
                    queue.arrive(now_ns, arrived, &mut || 0, &mut |_, _| ());
                } else {
                    let sent = queue.depart(now_ns, &mut || 0, &mut |_, _| ());
                    prop_assert_eq!(sent.map(|sent| sent.packet), linux.dequeue());
                }
            }
        }
    }
}

/// Keeps three classes backlogged, and returns how many bytes of each are sent among `sends`.
fn shares(kind: &Configured, sends: usize) -> [u32; 3] {
    let mut queue = Queue::new(ROOMY, Some(kind), |_| drop_tail(), RATE_BPS);
    let mut sent = [0; 3];
    let arrive = |queue: &mut Queue<_, _>, class| {
        queue.arrive(0, packet(0, class, 1000), &mut || 0, &mut |_, _| ());
    };
    for class in 0..3 {
        arrive(&mut queue, class);
        arrive(&mut queue, class);
    }
    for _ in 0..sends {
        let next = queue.depart(0, &mut || 0, &mut |_, _| ()).unwrap().packet;
        let class = next.traffic_class >> 2;
        sent[usize::from(class)] += next.bytes;
        arrive(&mut queue, class);
    }
    sent
}

#[test]
fn classes_starve_behind_strict_ones_only() {
    let turns = [
        ("quantum_0", 1000.0),
        ("quantum_1", 3000.0),
        ("quantum_2", 1000.0),
    ];
    assert_eq!(shares(&classes("prio", 3, &[]), 500), [500_000, 0, 0]);
    for kind in ["ets", "wf2q"] {
        let shared = |strict| {
            let mut given = turns.to_vec();
            given.push(("strict", strict));
            classes(kind, 3, &given)
        };
        assert_eq!(shares(&shared(1.0), 500), [500_000, 0, 0]);
        assert_eq!(shares(&shared(0.0), 500), [100_000, 300_000, 100_000]);
    }
}

/// The example of Bennett & Zhang: one class has half of the link and 11 packets, ten have a twentieth
/// and one packet each. Under WFQ ten packets of the first leave one behind the other; here the others
/// stand between them.
#[test]
fn wf2q_divides_the_link_as_in_the_example_of_its_authors() {
    let names: Vec<String> = (0..11).map(|number| format!("quantum_{number}")).collect();
    let quantum = |number| if number == 0 { 1000.0 } else { 100.0 };
    let given: Vec<(&str, f64)> = (names.iter().enumerate())
        .map(|(number, name)| (&**name, quantum(number)))
        .collect();
    let kind = classes("wf2q", 11, &given);
    let mut queue = Queue::new(ROOMY, Some(&kind), |_| drop_tail(), RATE_BPS);
    for class in repeat_n(0, 10).chain(0..11) {
        queue.arrive(0, packet(0, class, 1000), &mut || 0, &mut |_, _| ());
    }
    let order: Vec<u8> = from_fn(|| queue.depart(0, &mut || 0, &mut |_, _| ()))
        .map(|sent| sent.packet.traffic_class >> 2)
        .collect();
    let expected: Vec<u8> = (1..11).flat_map(|other| [0, other]).chain([0]).collect();
    assert_eq!(order, expected);
}

/// All classes stay backlogged while their quanta change; returns the classes of the 1000 packets that are
/// sent after the change, which comes after `sends` packets.
fn after_a_change<const N: usize>(before: [f64; N], after: [f64; N], sends: usize) -> Vec<u8> {
    let shared = |quanta: [f64; N]| {
        let names: Vec<String> = (0..N).map(|number| format!("quantum_{number}")).collect();
        let given: Vec<(&str, f64)> = names.iter().map(|name| &**name).zip(quanta).collect();
        classes("wf2q", N as u32, &given)
    };
    let mut queue = Queue::new(ROOMY, Some(&shared(before)), |_| drop_tail(), RATE_BPS);
    for class in (0..N as u8).cycle().take(2000 * N) {
        queue.arrive(0, packet(0, class, 1000), &mut || 0, &mut |_, _| ());
    }
    for _ in 0..sends {
        queue.depart(0, &mut || 0, &mut |_, _| ());
    }
    queue.retune(
        0,
        (ROOMY, Some(&shared(after))),
        |_, _| true,
        |_| drop_tail(),
        &mut || 0,
    );
    from_fn(|| queue.depart(0, &mut || 0, &mut |_, _| ()))
        .take(1000)
        .map(|sent| sent.packet.traffic_class >> 2)
        .collect()
}

/// The longest run of packets of one class after a change.
fn longest_run(before: [f64; 2], after: [f64; 2], sends: usize) -> usize {
    let sent = after_a_change(before, after, sends);
    sent.chunk_by(|one, next| one == next)
        .map(<[u8]>::len)
        .max()
        .expect("packets are sent")
}

/// Quanta of another scale are the same shares; a class whose share grows soon has it.
#[test]
fn wf2q_starves_nobody_when_its_quanta_change() {
    for sends in 100..104 {
        for factor in [0.5, 1.0, 100.0, 1e6] {
            let scaled = [300.0 * factor; 2];
            assert_eq!(
                longest_run([300.0; 2], scaled, sends),
                1,
                "{sends} {factor}"
            );
        }
        let run = longest_run([100.0, 1e8], [300.0; 2], sends);
        assert!(run <= 2, "{sends}: {run}");
    }
}

/// Classes whose share grows have been waiting for less than one packet: they do not catch up at the others'
/// expense.
#[test]
fn wf2q_gives_shares_that_grow_no_more_than_that() {
    let (small, most) = (64.0, 64.0 * 98.0);
    // the small ones send once in a hundred packets
    for sends in 150..250 {
        let sent = after_a_change([small, small, most], [1000.0; 3], sends);
        for packets in sent[..90].chunks(30) {
            for class in 0..3 {
                let count = packets.iter().filter(|other| **other == class).count();
                assert!((9..=11).contains(&count), "{sends} {class}: {packets:?}");
            }
        }
    }
}

/// Returns by how much packets exceed their bound, ns, at most. Bennett & Zhang 1997, the worst-case fair index of WF2Q+: a
/// packet of class i leaves `Q_i / r_i + L_i / r_i + (L - L_i) / r` after its arrival at the latest,
/// where `Q_i` bytes of its class then wait or are still to be sent, itself among them, `r_i` is its share of the rate r, and
/// `L_i` and L are the longest packets, of its class and of all.
fn beyond_the_bound(kind: &str, quanta: &[u32], arrivals: &[(u64, u8, u32)]) -> f64 {
    let named: Vec<String> = (0..quanta.len())
        .map(|number| format!("quantum_{number}"))
        .collect();
    let given: Vec<(&str, f64)> = (named.iter().zip(quanta))
        .map(|(name, bytes)| (&**name, f64::from(*bytes)))
        .collect();
    let kind = classes(kind, quanta.len() as u32, &given);
    let mut queue = Queue::new(ROOMY, Some(&kind), |_| drop_tail(), RATE_BPS);
    let byte_ns = 8e9 / RATE_BPS as f64;
    let round: u32 = quanta.iter().sum();
    let longest = |class: Option<u8>| {
        let sizes = arrivals
            .iter()
            .filter(|(_, of, _)| class.is_none_or(|class| class == *of));
        f64::from(sizes.map(|(.., bytes)| *bytes).max().unwrap_or(0))
    };
    let mut waiting = vec![0.0; quanta.len()];
    let mut bounds = Vec::new();
    let mut late_ns = f64::NEG_INFINITY;
    let mut served = None;
    let (mut free_ns, mut coming) = (0, arrivals.iter().enumerate().peekable());
    while coming.peek().is_some() || queue.packets() > 0 {
        // the link takes a packet as soon as it is free; what arrives at that time comes first
        while let Some((number, (at_ns, class, bytes))) =
            coming.next_if(|(_, (at_ns, ..))| queue.packets() == 0 || *at_ns <= free_ns)
        {
            let own = usize::from(*class);
            free_ns = free_ns.max(*at_ns);
            waiting[own] += f64::from(*bytes);
            let left_ns = if served == Some(*class) {
                free_ns - at_ns
            } else {
                0
            };
            let share = f64::from(quanta[own]) / f64::from(round);
            let own_longest = longest(Some(*class));
            let backlog = waiting[own] + left_ns as f64 / byte_ns;
            let within = (backlog + own_longest) / share + longest(None) - own_longest;
            bounds.push(*at_ns as f64 + within * byte_ns);
            queue.arrive(
                *at_ns,
                packet(number, *class, *bytes),
                &mut || 0,
                &mut |_, _| (),
            );
        }
        let sent = queue
            .depart(free_ns, &mut || 0, &mut |_, _| ())
            .unwrap()
            .packet;
        free_ns += u64::from(sent.bytes) * 8_000_000_000 / RATE_BPS;
        served = Some(sent.traffic_class >> 2);
        waiting[usize::from(sent.traffic_class >> 2)] -= f64::from(sent.bytes);
        late_ns = late_ns.max(free_ns as f64 - bounds[sent.number]);
    }
    late_ns
}

proptest! {
    #![proptest_config(repeatable(200))]

    #[test]
    fn wf2q_keeps_the_bound_of_its_theorem(
        quanta in prop::collection::vec(64_u32..4000, 1..9),
        steps in prop::collection::vec((0_u64..8_000_000, 0_u8..9, 40_u32..1500), 1..300),
    ) {
        let mut now_ns = 0;
        let last = quanta.len() as u8 - 1;
        let arrivals: Vec<(u64, u8, u32)> = (steps.into_iter())
            .map(|(gap_ns, class, bytes)| {
                now_ns += gap_ns;
                (now_ns, class.min(last), bytes)
            })
            .collect();
        // virtual times are rounded up, by less than a byte's time in all
        prop_assert!(beyond_the_bound("wf2q", &quanta, &arrivals) < 8000.0);
    }
}

/// A packet of a class that was silent waits for a whole turn of each other class under ETS.
#[test]
fn round_robin_exceeds_the_bound() {
    let busy = (0..200).map(|number| (0, 1 + number % 7, 1000));
    let silent = (0..5).map(|number| (500_000_000 + number * 40_000_000, 0, 100));
    let arrivals: Vec<_> = busy.chain(silent).collect();
    let quanta = [4000; 8];
    assert!(beyond_the_bound("wf2q", &quanta, &arrivals) <= 0.0);
    assert!(beyond_the_bound("ets", &quanta, &arrivals) > 20e6);
}

/// Fills the buffer with classes as given, and returns the class that loses a packet to an arrival.
fn loser(kind: &Configured, waiting: [u8; 6], arrival: u8) -> u8 {
    let mut queue = Queue::new(LIMITED, Some(kind), |_| drop_tail(), RATE_BPS);
    for class in waiting {
        queue.arrive(0, packet(0, class, 100), &mut || 0, &mut |_, _| {
            panic!("there is room")
        });
    }
    let mut lost = Vec::new();
    let mut note = |packet: Sent, _| lost.push(packet.traffic_class >> 2);
    queue.arrive(0, packet(0, arrival, 100), &mut || 0, &mut note);
    assert_eq!(queue.packets(), 6);
    let [lost] = lost[..] else {
        panic!("lost {lost:?}");
    };
    lost
}

#[test]
fn a_full_buffer_costs_the_classes_behind() {
    let prio = classes("prio", 3, &[]);
    assert_eq!(loser(&prio, [0, 0, 1, 1, 1, 2], 0), 2);
    assert_eq!(loser(&prio, [0, 0, 0, 1, 1, 1], 0), 1);
    assert_eq!(loser(&prio, [0; 6], 0), 0);
    assert_eq!(loser(&prio, [0; 6], 2), 2);
    for kind in ["ets", "wf2q"] {
        let shared = classes(kind, 4, &[("strict", 2.0)]);
        assert_eq!(loser(&shared, [0, 1, 2, 3, 3, 3], 0), 3);
        assert_eq!(loser(&shared, [0, 1, 3, 2, 2, 2], 3), 2);
        assert_eq!(loser(&shared, [0, 1, 2, 3, 3, 2], 3), 3);
        assert_eq!(loser(&shared, [0, 0, 0, 1, 1, 1], 0), 1);
        assert_eq!(loser(&shared, [0; 6], 1), 1);
    }
}

/// Strict lanes may send again after those that share lost all their packets.
#[test]
fn a_lane_that_lost_all_packets_leaves_the_round() {
    let ets = classes("ets", 2, &[("strict", 1.0)]);
    let one = BufferPolicy {
        limit: 1,
        ..LIMITED
    };
    let mut queue = Queue::new(one, Some(&ets), |_| drop_tail(), RATE_BPS);
    let mut lost = 0;
    for class in [1, 0, 0, 1] {
        queue.arrive(0, packet(0, class, 100), &mut || 0, &mut |_, _| lost += 1);
    }
    assert_eq!(lost, 3);
    let mut send = || queue.depart(0, &mut || 0, &mut |_, _| ());
    assert_eq!(send().map(|sent| sent.packet.traffic_class), Some(0));
    assert_eq!(send(), None);
}

#[test]
fn codepoints_choose_the_class() {
    // class 0: DSCP 46; class 1: ECT(1) and CE of DSCP 0 to 31; class 2: the rest
    let given = [
        ("classes", 3.0),
        ("dscp_high_0", f64::from(1_u32 << 14)),
        ("ecn_0", 15.0),
        ("dscp_low_1", f64::from(u32::MAX)),
        ("ecn_1", 10.0),
    ];
    for kind in ["prio", "ets", "wf2q"] {
        let kind = scheduler(kind, &given);
        for (dscp, ecn, class) in [
            (46, 0, 0),
            (46, 3, 0),
            (0, 1, 1),
            (31, 3, 1),
            (32, 1, 2),
            (63, 0, 2),
            (0, 2, 2),
        ] {
            let mut queue = Queue::new(ROOMY, Some(&kind), |_| drop_tail(), RATE_BPS);
            let arrival = Sent {
                number: 0,
                traffic_class: dscp << 2 | ecn,
                bytes: 1,
            };
            queue.arrive(0, arrival, &mut || 0, &mut |_, _| ());
            let lanes = queue.state().lanes;
            assert_eq!(lanes.iter().position(|lane| lane.packets > 0), Some(class));
        }
    }
}

/// An AQM that counts what it is asked, with an interval of its own.
struct Counts {
    interval_ns: Option<u64>,
    ticks: Vec<u64>,
    arrivals: u32,
    departures: Option<u32>,
}

impl Aqm for Counts {
    fn arrive(&mut self, view: &View) -> Verdict {
        self.arrivals += 1;
        Self::settle(Verdict::Admit, view)
    }

    fn watches_departures(&self) -> bool {
        self.departures.is_some()
    }

    fn depart(&mut self, _: &View) -> Verdict {
        self.departures = self.departures.map(|count| count + 1);
        Verdict::Admit
    }

    fn tick_interval_ns(&self) -> Option<u64> {
        self.interval_ns
    }

    fn tick(&mut self, view: &View) {
        self.ticks.push(view.now_ns);
    }
}

#[test]
fn each_class_has_its_own_aqm() {
    let start = |lane| Counts {
        interval_ns: [Some(6), None, Some(4)][lane as usize],
        ticks: Vec::new(),
        arrivals: 0,
        departures: (lane == 1).then_some(0),
    };
    let prio = classes("prio", 3, &[]);
    let mut queue = Queue::new(ROOMY, Some(&prio), start, RATE_BPS);
    assert_eq!(queue.tick_interval_ns(), Some(2));
    for now_ns in (2..=24).step_by(2) {
        queue.tick(now_ns, &mut |_, _| ());
    }
    for class in [0, 1, 1, 2, 2, 2] {
        queue.arrive(25, packet(0, class, 100), &mut || 0, &mut |_, _| ());
    }
    while queue.depart(25, &mut || 0, &mut |_, _| ()).is_some() {}
    let told: Vec<_> = queue
        .aqms()
        .map(|aqm| (aqm.ticks.clone(), aqm.arrivals, aqm.departures))
        .collect();
    assert_eq!(
        told,
        [
            (vec![6, 12, 18, 24], 1, None),
            (vec![], 2, Some(2)),
            (vec![4, 8, 12, 16, 20, 24], 3, None)
        ]
    );
}

/// New parameters of one class's AQM leave its state, and the other class alone.
#[test]
fn a_class_can_be_retuned() {
    let red = |max_p| {
        let given = [
            ("min_th", 1.0),
            ("max_th", 4.0),
            ("w", 0.5),
            ("max_p", max_p),
        ];
        let given = given.map(|(name, number)| (name.to_owned(), Value::Number(number)));
        Configured::new(find("red").unwrap(), &given).unwrap()
    };
    let source = |max_p| AqmSource::Classes([red(max_p), red(0.1)].into());
    let prio = classes("prio", 2, &[]);
    let start = source(0.1);
    let mut queue: Queue<Sent, AnyAqm> =
        Queue::new(ROOMY, Some(&prio), |lane| start.start(lane), RATE_BPS);
    for class in [0, 0, 0, 1, 1, 1] {
        queue.arrive(0, packet(0, class, 100), &mut || u64::MAX, &mut |_, _| ());
    }
    let before: Vec<_> = queue.state().lanes;
    let to = source(1.0);
    queue.retune(
        1,
        (ROOMY, Some(&prio)),
        |lane, aqm| aqm.retune(lane, &to),
        |lane| to.start(lane),
        &mut never,
    );
    let after: Vec<_> = queue.state().lanes;
    assert_eq!(after[1], before[1]);
    assert_eq!(after[0].average, before[0].average);
    let [was, is] = [&before, &after].map(|lanes| lanes[0].probability.unwrap());
    assert!((is / was - 10.0).abs() < 1e-6, "{was} {is}");
}
