//! The model slot by slot, in its most direct form, compared with `Station`.

use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    rc::Rc,
};

use proptest::prelude::*;
use rand::Rng;
use sluice_aqm::{
    Aqm, BufferPolicy, Configured, NEVER, Running, Value, Verdict, Victim, View, all, find,
};
use sluice_ecn::Ecn;
use sluice_queue::Queue;
use sluice_random::{Stream, stream};
use sluice_traffic::{ModulatedSlots, Modulator};

use crate::{
    arrivals::{GeometricSlots, Recording, Replayed, Source, Uniform},
    packet::Packet,
    service::{DeterministicServer, GeometricServer, PacketSizeServer, Server},
    station::Station,
    tally::{Serving, Tally},
};

const SLOT_NS: u64 = 1_000_000;
const RATE_BPS: u64 = 1_000_000;
/// Later than any run here.
const END: u64 = 1 << 40;

fn red() -> Running {
    let set = |name: &str, number| (name.to_owned(), Value::Number(number));
    let mut given = vec![
        set("min_th", 3.0),
        set("max_th", 12.0),
        set("w", 0.3),
        set("max_p", 0.3),
    ];
    given.push(("idle_decay".to_owned(), Value::Switch(false)));
    Configured::new(find("red").unwrap(), &given)
        .unwrap()
        .start()
}

/// RED whose average is updated every `slots` slots, independently of arrivals.
fn red_by_clock(slots: u64) -> Running {
    let interval = (slots * SLOT_NS) as f64 / 1e9;
    let given = [
        ("min_th", Value::Number(3.0)),
        ("max_th", Value::Number(12.0)),
        ("w", Value::Number(0.1)),
        ("sampling", Value::Word("clock".to_owned())),
        ("sampling_interval", Value::Number(interval)),
        ("idle_decay", Value::Switch(false)),
    ];
    Configured::new(
        find("red").unwrap(),
        &given.map(|(name, value)| (name.to_owned(), value)),
    )
    .unwrap()
    .start()
}

/// A call of an AQM: name, view, verdict, change of the occupancy.
type Call = (&'static str, View, Verdict, i64);

/// An AQM whose calls are recorded.
struct Recorded<Q> {
    aqm: Q,
    calls: Rc<RefCell<Vec<Call>>>,
}

impl<Q> Recorded<Q> {
    fn note(&self, call: Call) {
        self.calls.borrow_mut().push(call);
    }
}

impl<Q: Aqm> Aqm for Recorded<Q> {
    fn arrive(&mut self, view: &View) -> Verdict {
        let verdict = self.aqm.arrive(view);
        self.note(("arrive", *view, verdict, 0));
        verdict
    }
    fn watches_departures(&self) -> bool {
        self.aqm.watches_departures()
    }
    fn depart(&mut self, view: &View) -> Verdict {
        let verdict = self.aqm.depart(view);
        self.note(("depart", *view, verdict, 0));
        verdict
    }
    fn wants_candidate(&self) -> bool {
        self.aqm.wants_candidate()
    }
    fn watches_occupancy(&self) -> bool {
        self.aqm.watches_occupancy()
    }
    fn occupancy(&mut self, view: &View, change: i64) {
        self.note(("occupancy", *view, Verdict::Admit, change));
        self.aqm.occupancy(view, change);
    }
    fn tick_interval_ns(&self) -> Option<u64> {
        self.aqm.tick_interval_ns()
    }
    fn tick(&mut self, view: &View) {
        self.note(("tick", *view, Verdict::Admit, 0));
        self.aqm.tick(view);
    }
}

/// Gives `run` an AQM that records its calls. Returns the result of `run` and the calls.
fn recorded<Q: Aqm, R>(aqm: Q, run: impl FnOnce(Recorded<Q>) -> R) -> (R, Vec<Call>) {
    let calls = Rc::default();
    let given = run(Recorded {
        aqm,
        calls: Rc::clone(&calls),
    });
    (given, calls.take())
}

fn discipline(limit: u32, victim: Victim, ecn: bool) -> BufferPolicy {
    BufferPolicy {
        limit,
        limit_bytes: None,
        victim,
        ecn,
    }
}

/// The model, one slot after the other: the service ends first, then packets arrive.
struct Plain<S, Q> {
    discipline: BufferPolicy,
    server: S,
    aqm: Q,
    random: Stream,
    waiting: VecDeque<Packet>,
    serving: Option<(Serving, u64)>,
    idle_since: u64,
    tally: Tally,
}

impl<S: Server, Q: Aqm> Plain<S, Q> {
    /// Returns the view of the queue at `now_ns`, without a packet; the caller decides if it is
    /// `idle`.
    fn state(&self, now_ns: u64, idle: bool) -> View {
        View {
            now_ns,
            idle_since_ns: if idle { self.idle_since * SLOT_NS } else { 0 },
            rate_bps: RATE_BPS,
            queue_bytes: self.bytes(),
            queue_packets: self.waiting.len() as u32,
            limit_packets: self.discipline.limit,
            idle: idle.into(),
            ..View::default()
        }
    }

    fn of(&self, packet: Packet, slot: u64, idle: bool) -> View {
        View {
            packet_bytes: packet.bytes,
            flow_hash: packet.flow,
            ecn_capable: u8::from(self.discipline.ecn && packet.ecn != 0),
            traffic_class: packet.ecn as u8,
            buffer_bytes: self.bytes(),
            ..self.state(slot * SLOT_NS, idle)
        }
    }

    fn bytes(&self) -> u64 {
        let bytes = self.waiting.iter().map(|packet| u64::from(packet.bytes));
        bytes.sum()
    }

    fn is_idle(&self) -> bool {
        self.serving.is_none() && self.waiting.is_empty()
    }

    fn tick(&mut self, now_ns: u64) {
        let view = self.state(now_ns, self.is_idle());
        self.aqm.tick(&view);
    }

    fn occupancy(&mut self, packet: Packet, slot: u64, idle: bool, change: i64) {
        if self.aqm.watches_occupancy() {
            let view = self.of(packet, slot, idle);
            self.aqm.occupancy(&view, change);
        }
    }

    /// Starts the service of the first waiting packet that the AQM does not drop. The server must
    /// be idle.
    fn begin(&mut self, slot: u64) {
        while let Some(packet) = self.waiting.pop_front() {
            self.occupancy(packet, slot, false, -1);
            if self.aqm.watches_departures() {
                let view = View {
                    random: self.random.next_u64(),
                    sojourn_ns: (slot - packet.slot) * SLOT_NS,
                    ..self.of(packet, slot, false)
                };
                let verdict = self.aqm.depart(&view);
                if verdict.is_drop() {
                    self.tally.verdicts[verdict as usize] += 1;
                    self.idle_since = slot;
                    continue;
                }
            }
            let end = self.server.completion(slot, packet.bytes);
            let started = Serving {
                arrival: packet.slot,
                sojourn: slot - packet.slot,
                bytes: packet.bytes,
            };
            self.serving = Some((started, end));
            return;
        }
    }

    fn complete(&mut self, slot: u64) {
        if let Some((packet, _)) = self.serving.filter(|(_, end)| *end == slot) {
            self.tally.serve(&packet, slot);
            self.serving = None;
            self.idle_since = slot;
            self.begin(slot);
        }
    }

    fn lose(&mut self, index: usize, slot: u64) {
        let gone = self.waiting.remove(index).unwrap();
        let idle = self.is_idle();
        self.occupancy(gone, slot, idle, -1);
    }

    fn arrive(&mut self, packet: Packet) {
        let slot = packet.slot;
        let idle = self.is_idle();
        let waiting = self.waiting.len();
        let word = self.random.next_u64();
        let mut pick = || ((u128::from(self.random.next_u64()) * waiting as u128) >> 64) as usize;
        let candidate = (self.aqm.wants_candidate() && waiting > 0).then(&mut pick);
        let verdict = self.aqm.arrive(&View {
            random: word,
            candidate_flow_hash: candidate.map_or(0, |index| self.waiting[index].flow),
            full: u8::from(waiting >= self.discipline.limit as usize),
            ..self.of(packet, slot, idle)
        });
        self.tally.arrivals += 1;
        self.tally.verdicts[verdict as usize] += 1;
        let mut admitted = !verdict.is_drop();
        if verdict == Verdict::DropBoth {
            if let Some(index) = candidate {
                self.tally.verdicts[verdict as usize] += 1;
                self.lose(index, slot);
            }
        } else if !admitted && self.discipline.victim != Victim::Tail {
            let index = match self.discipline.victim {
                Victim::Random => {
                    ((u128::from(self.random.next_u64()) * waiting as u128) >> 64) as usize
                }
                _ => 0,
            };
            if waiting > 0 {
                self.lose(index, slot);
                admitted = true;
            }
        }
        if admitted {
            let idle = self.is_idle();
            self.occupancy(packet, slot, idle, 1);
            self.waiting.push_back(packet);
            if self.serving.is_none() {
                self.begin(slot);
            }
        }
    }
}

fn plain<A: Source, S: Server, Q: Aqm>(
    discipline: BufferPolicy,
    mut source: A,
    server: S,
    aqm: Q,
    slots: u64,
) -> Tally {
    let interval_ns = aqm.tick_interval_ns();
    let mut tick_ns = interval_ns.unwrap_or(NEVER);
    let mut model = Plain {
        discipline,
        server,
        aqm,
        random: stream(9, "aqm", 0),
        waiting: VecDeque::new(),
        serving: None,
        idle_since: 0,
        tally: Tally::new(),
    };
    let mut next = source.next();
    for slot in 0..slots {
        while tick_ns <= slot * SLOT_NS {
            model.tick(tick_ns);
            tick_ns += interval_ns.unwrap_or(0);
        }
        model.complete(slot);
        while next.slot == slot {
            model.arrive(next);
            next = source.next();
        }
        model.tally.hold(model.waiting.len(), 1);
        model.tally.slots += 1;
        model.tally.idle_slots += u64::from(model.serving.is_none());
    }
    model.tally
}

/// Returns the counts of a tally, without the unused entries of its histograms.
fn counts(tally: &Tally) -> (Vec<u64>, [Vec<u64>; 2], [u64; 4], [u64; Verdict::COUNT]) {
    let mut queue = tally.queue.clone();
    while queue.last() == Some(&0) {
        queue.pop();
    }
    let scalars = [
        tally.slots,
        tally.idle_slots,
        tally.served_bytes,
        tally.arrivals,
    ];
    let times = [tally.sojourn.bins(), tally.delay.bins()];
    (queue, times, scalars, tally.verdicts)
}

/// An AQM that drops packets at departure if they waited for more than this number of slots.
struct Late(u64);

impl Aqm for Late {
    fn arrive(&mut self, view: &View) -> Verdict {
        Self::settle(Verdict::Admit, view)
    }
    fn watches_departures(&self) -> bool {
        true
    }
    fn depart(&mut self, view: &View) -> Verdict {
        if view.sojourn_ns > self.0 * SLOT_NS {
            Verdict::DropEarly
        } else {
            Verdict::Admit
        }
    }
}

/// An AQM that lets at most three packets of a flow wait. If the candidate is of the same flow as
/// the arriving packet, both are dropped.
#[derive(Default)]
struct Fair(HashMap<u32, i64>);

impl Aqm for Fair {
    fn arrive(&mut self, view: &View) -> Verdict {
        let own = *self.0.entry(view.flow_hash).or_default();
        let verdict = match view.queue_packets > 0 && view.candidate_flow_hash == view.flow_hash {
            true => Verdict::DropBoth,
            false if own > 2 => Verdict::DropForced,
            false => Verdict::Admit,
        };
        Self::settle(verdict, view)
    }
    fn wants_candidate(&self) -> bool {
        true
    }
    fn watches_occupancy(&self) -> bool {
        true
    }
    fn occupancy(&mut self, view: &View, change: i64) {
        *self.0.entry(view.flow_hash).or_default() += change;
    }
}

fn station<A: Source, S: Server, Q: Aqm>(
    discipline: BufferPolicy,
    parts: (A, S),
    aqm: Q,
) -> Station<A, S, Q, ()> {
    let aqm = RefCell::new(Some(aqm));
    let start = |_| aqm.take().expect("one queue");
    let queue = Queue::new(discipline, None, start, RATE_BPS);
    Station::new(parts, queue, SLOT_NS, stream(9, "aqm", 0), ())
}

/// Runs the plain model and the station, and compares counts and calls. The station runs in parts
/// of `cuts` slots.
fn check<A: Source, S: Server, Q: Aqm>(
    discipline: BufferPolicy,
    parts: impl Fn() -> (A, S),
    start: impl Fn() -> Q,
    cuts: &[u64],
) -> Result<(), TestCaseError> {
    let (expected, expected_calls) = recorded(start(), |aqm| {
        let (source, server) = parts();
        plain(discipline, source, server, aqm, cuts.iter().sum())
    });
    let (merged, calls) = recorded(start(), |aqm| {
        let mut station = station(discipline, parts(), aqm);
        let (mut merged, mut now) = (Tally::new(), 0);
        for cut in cuts {
            now += cut;
            merged.merge(&station.run_until(now));
        }
        merged
    });
    let differ = (0..calls.len().max(expected_calls.len()))
        .find(|call| calls.get(*call) != expected_calls.get(*call));
    if let Some(call) = differ {
        let (found, expected) = (calls.get(call), expected_calls.get(call));
        prop_assert_eq!(found, expected, "call {}", call);
    }
    prop_assert_eq!(counts(&merged), counts(&expected));
    Ok(())
}

fn victims() -> impl Strategy<Value = Victim> {
    prop_oneof![
        Just(Victim::Tail),
        Just(Victim::Front),
        Just(Victim::Random)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn geometric_arrivals_and_service(
        (rate, mu) in (0.01..1.0, 0.05..=1.0),
        (limit, victim, ecn) in (1_u32..60, victims(), any::<bool>()),
        seed: u64,
        cuts in prop::collection::vec(1_u64..900, 1..6),
    ) {
        let parts = || {
            let source = Uniform::new(GeometricSlots::new(rate, seed, 0, END), 500);
            (source, GeometricServer::new(mu, seed, 0, END))
        };
        check(discipline(limit, victim, ecn), parts, red, &cuts)?;
    }

    #[test]
    fn bursts_and_fixed_service(
        (a, service) in (2.5..20.0, 1_u64..9),
        (limit, victim) in (1_u32..60, victims()),
        seed: u64,
        cuts in prop::collection::vec(1_u64..900, 1..6),
    ) {
        let parts = || {
            let modulator = Modulator { a, q: 1.9, states: 4 };
            let slots = ModulatedSlots::new(modulator, stream(seed, "arrivals", 0));
            (Uniform::new(slots, 500), DeterministicServer(service))
        };
        check(discipline(limit, victim, false), parts, red, &cuts)?;
    }

    #[test]
    fn drops_at_departure(
        (rate, mu, late) in (0.01..1.0, 0.05..=1.0, 0_u64..40),
        (limit, victim) in (1_u32..60, victims()),
        seed: u64,
        cuts in prop::collection::vec(1_u64..900, 1..6),
    ) {
        let parts = || {
            let source = Uniform::new(GeometricSlots::new(rate, seed, 0, END), 500);
            (source, GeometricServer::new(mu, seed, 0, END))
        };
        check(discipline(limit, victim, false), parts, || Late(late), &cuts)?;
    }

    #[test]
    fn ticks_see_the_queue_of_their_instant(
        (rate, mu, interval) in (0.01..1.0, 0.05..=1.0, 1_u64..5),
        (limit, victim) in (1_u32..60, victims()),
        seed: u64,
        cuts in prop::collection::vec(1_u64..900, 1..6),
    ) {
        let parts = || {
            let source = Uniform::new(GeometricSlots::new(rate, seed, 0, END), 500);
            (source, GeometricServer::new(mu, seed, 0, END))
        };
        check(discipline(limit, victim, false), parts, || red_by_clock(interval), &cuts)?;
    }

    #[test]
    fn a_capture_with_several_packets_a_slot(
        packets in prop::collection::vec(
            (0_u64..4, 40_u32..1500, 0_u32..6, any::<bool>()),
            1..300,
        ),
        (limit, victim, ecn) in (1_u32..20, victims(), any::<bool>()),
        cuts in prop::collection::vec(1_u64..400, 1..4),
    ) {
        let mut now = 0;
        let slots: Vec<u64> = packets.iter().map(|(gap, ..)| { now += gap; now }).collect();
        let bytes: Vec<u32> = packets.iter().map(|(_, bytes, ..)| *bytes).collect();
        let flows: Vec<u32> = packets.iter().map(|(.., flow, _)| *flow).collect();
        let codepoint = |on: bool| if on { Ecn::Ect0 } else { Ecn::NotEct };
        let codepoints: Vec<Ecn> = packets.iter().map(|(.., ecn)| codepoint(*ecn)).collect();
        let recording = Recording::new(&slots, &bytes, &flows, &codepoints).unwrap();
        let recording = std::sync::Arc::new(recording);
        let parts = || (Replayed::new(recording.clone()), PacketSizeServer::new(500.0));
        check(discipline(limit, victim, ecn), parts, red, &cuts)?;
        check(discipline(limit, victim, ecn), parts, Fair::default, &cuts)?;
    }
}

/// A source that does not declare its packets alike, so that the station cannot use blocks.
struct Unlike<A>(A);

impl<A: Source> Source for Unlike<A> {
    const ALIKE: bool = false;

    fn next(&mut self) -> Packet {
        self.0.next()
    }
}

/// An AQM of the registry, with thresholds that a queue of about ten packets reaches.
fn started(name: &str) -> Running {
    let class = find(name).unwrap();
    let near = [
        ("min_th", 3.0),
        ("max_th", 12.0),
        ("w", 0.1),
        ("q_ref", 8.0),
    ];
    let given: Vec<_> = near
        .into_iter()
        .filter(|(name, _)| class.params.iter().any(|param| param.name == *name))
        .map(|(name, number)| (name.to_owned(), Value::Number(number)))
        .collect();
    Configured::new(class, &given).unwrap().start()
}

/// For every AQM of the registry that allows blocks, blocks give the same calls with the same
/// views, and the same counts, as events.
#[test]
fn blocks_give_what_events_give() {
    let loads = [
        (0.5, 0.5, 250),
        (0.5, 0.25, 250),
        (0.9, 0.3, 20),
        (0.3, 0.5, 250),
    ];
    let mut taken = Vec::new();
    let mut starts: Vec<(String, Box<dyn Fn() -> Running>)> = vec![
        ("red, w = 0.3".into(), Box::new(red)),
        ("red, each slot".into(), Box::new(|| red_by_clock(1))),
        ("red, each third slot".into(), Box::new(|| red_by_clock(3))),
    ];
    for class in all() {
        starts.push((class.name.clone(), Box::new(|| started(&class.name))));
    }
    for (name, start) in starts {
        for ((rate, mu, limit), limit_bytes) in loads
            .into_iter()
            .flat_map(|load| [(load, None), (load, Some(7_700))])
        {
            let discipline = BufferPolicy {
                limit_bytes,
                ..discipline(limit, Victim::Tail, true)
            };
            let source = || Uniform::new(GeometricSlots::new(rate, 4, 0, END), 500);
            let server = || GeometricServer::new(mu, 4, 0, END);
            let mut allowed = true;
            let (blocks, block_calls) = recorded(start(), |aqm| {
                let mut station = station(discipline, (source(), server()), aqm);
                allowed = station.allows_blocks();
                [50_000, 50_001, 100_000].map(|end| counts(&station.run_until(end)))
            });
            if !allowed {
                break;
            }
            let (events, event_calls) = recorded(start(), |aqm| {
                let mut station = station(discipline, (Unlike(source()), server()), aqm);
                assert!(!station.allows_blocks());
                [50_000, 50_001, 100_000].map(|end| counts(&station.run_until(end)))
            });
            assert!(block_calls == event_calls, "{name}: calls");
            assert_eq!(blocks, events, "{name}");
            if !taken.contains(&name) {
                taken.push(name.clone());
            }
        }
    }
    // all but those that watch departures or the occupancy, or want a candidate
    assert_eq!(taken.len(), 3 + all().len() - 11, "{taken:?}");
}
