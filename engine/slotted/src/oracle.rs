//! The model slot by slot, as plainly as it can be written, held against `Station`.

use std::collections::{HashMap, VecDeque};

use proptest::prelude::*;
use rand::Rng;
use sluice_aqm::{Aqm, Configured, Discipline, NEVER, Running, Value, Verdict, Victim, View, find};
use sluice_random::stream;
use sluice_traffic::{ModulatedSlots, Modulator};

use crate::{
    arrivals::{GeometricSlots, Recording, Replayed, Source, Uniform},
    packet::Packet,
    service::{DeterministicServer, GeometricServer, PacketSizeServer, Server},
    station::{Setting, Station},
    tally::{Serving, Tally},
};

const SLOT_NS: u64 = 1_000_000;
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

/// RED whose average is updated every `slots` slots, whatever arrives.
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

fn setting(limit: u32, victim: Victim, ecn: bool) -> Setting {
    let discipline = Discipline { limit, victim, ecn };
    Setting {
        discipline,
        slot_ns: SLOT_NS,
        rate_bps: 1_000_000,
    }
}

/// A view of a packet as its place in the queue changes.
fn of(packet: Packet) -> View {
    View {
        flow_hash: packet.flow,
        packet_bytes: packet.bytes,
        ..View::default()
    }
}

/// A packet whose service starts in `slot`.
fn started(packet: Packet, slot: u64) -> Serving {
    Serving {
        arrival: packet.slot,
        start: slot,
        bytes: packet.bytes,
    }
}

/// One slot after the other: the service ends first, then packets arrive.
fn plain<A: Source, S: Server, Q: Aqm>(
    setting: Setting,
    mut source: A,
    mut server: S,
    mut aqm: Q,
    slots: u64,
) -> Tally {
    let mut random = stream(9, "aqm", 0);
    let mut waiting: VecDeque<Packet> = VecDeque::new();
    let mut serving: Option<(Serving, u64)> = None;
    let mut idle_since = 0;
    let mut next = source.next();
    let mut tally = Tally::new();
    let mut tick = aqm.tick_interval_ns().unwrap_or(NEVER);
    for slot in 0..slots {
        while tick <= slot * SLOT_NS {
            aqm.tick(&View {
                queue_packets: waiting.len() as u32,
                ..View::default()
            });
            tick += aqm.tick_interval_ns().unwrap_or(0);
        }
        if let Some((packet, _)) = serving.filter(|(_, end)| *end == slot) {
            tally.serve(&packet, slot);
            serving = None;
            idle_since = slot;
            while let Some(packet) = waiting.pop_front() {
                aqm.occupancy(&of(packet), -1);
                if aqm.watches_departures() {
                    random.next_u64();
                    let sojourn_ns = (slot - packet.slot) * SLOT_NS;
                    let verdict = aqm.depart(&View {
                        sojourn_ns,
                        ..View::default()
                    });
                    if verdict.is_drop() {
                        tally.verdicts[verdict as usize] += 1;
                        continue;
                    }
                }
                serving = Some((started(packet, slot), server.completion(slot, packet.bytes)));
                break;
            }
        }
        while next.slot == slot {
            let view = View {
                now_ns: slot * SLOT_NS,
                idle_since_ns: idle_since * SLOT_NS,
                rate_bps: setting.rate_bps,
                random: random.next_u64(),
                queue_bytes: waiting.iter().map(|packet| u64::from(packet.bytes)).sum(),
                queue_packets: waiting.len() as u32,
                limit_packets: setting.discipline.limit,
                packet_bytes: next.bytes,
                flow_hash: next.flow,
                idle: u8::from(serving.is_none()),
                ecn_capable: u8::from(setting.discipline.ecn && next.ecn_capable == 1),
                ..View::default()
            };
            let candidate = (aqm.wants_candidate() && !waiting.is_empty())
                .then(|| ((u128::from(random.next_u64()) * waiting.len() as u128) >> 64) as usize);
            let verdict = aqm.arrive(&View {
                candidate_flow_hash: candidate.map_or(u32::MAX, |index| waiting[index].flow),
                ..view
            });
            tally.arrivals += 1;
            tally.verdicts[verdict as usize] += 1;
            let mut admitted = !verdict.is_drop();
            if verdict == Verdict::DropBoth {
                if let Some(gone) = candidate.and_then(|index| waiting.remove(index)) {
                    tally.verdicts[verdict as usize] += 1;
                    aqm.occupancy(&of(gone), -1);
                }
            } else if !admitted && setting.discipline.victim != Victim::Tail && !waiting.is_empty()
            {
                let index = match setting.discipline.victim {
                    Victim::Random => {
                        let word = u128::from(random.next_u64());
                        ((word * waiting.len() as u128) >> 64) as usize
                    }
                    _ => 0,
                };
                let gone = waiting.remove(index).unwrap();
                aqm.occupancy(&of(gone), -1);
                admitted = true;
            } else if !admitted && setting.discipline.victim == Victim::Random {
                random.next_u64();
            }
            if admitted && serving.is_none() {
                serving = Some((started(next, slot), server.completion(slot, next.bytes)));
            } else if admitted {
                aqm.occupancy(&of(next), 1);
                waiting.push_back(next);
            }
            next = source.next();
        }
        tally.hold(waiting.len(), 1);
        tally.slots += 1;
        tally.idle_slots += u64::from(serving.is_none());
    }
    tally
}

/// What a run counts, without the spare room of its histograms.
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

/// Drops packets that have waited for more than a number of slots, as they leave the queue.
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

/// Lets no flow have more than three packets waiting; a flow that meets itself loses both.
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

/// Runs both, the station in stretches that begin and end anywhere.
fn check<A: Source, S: Server, Q: Aqm>(
    setting: Setting,
    parts: impl Fn() -> (A, S),
    start: impl Fn() -> Q,
    cuts: &[u64],
) -> Result<(), TestCaseError> {
    let (source, server) = parts();
    let end = cuts.iter().sum();
    let expected = plain(setting, source, server, start(), end);
    let (source, server) = parts();
    let mut station = Station::new(setting, source, server, start(), stream(9, "aqm", 0));
    let (mut merged, mut now) = (Tally::new(), 0);
    for cut in cuts {
        now += cut;
        merged.merge(&station.run_until(now));
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
        check(setting(limit, victim, ecn), parts, red, &cuts)?;
    }

    #[test]
    fn bursts_and_fixed_service(
        (a, service) in (2.5..20.0, 1_u64..9),
        (limit, victim) in (1_u32..60, victims()),
        seed: u64,
        cuts in prop::collection::vec(1_u64..900, 1..6),
    ) {
        let parts = || {
            let law = Modulator { a, q: 1.9, states: 4 };
            let slots = ModulatedSlots::new(law, stream(seed, "arrivals", 0));
            (Uniform::new(slots, 500), DeterministicServer(service))
        };
        check(setting(limit, victim, false), parts, red, &cuts)?;
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
        check(setting(limit, victim, false), parts, || Late(late), &cuts)?;
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
        check(setting(limit, victim, false), parts, || red_by_clock(interval), &cuts)?;
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
        let ecn_capable: Vec<bool> = packets.iter().map(|(.., ecn)| *ecn).collect();
        let recording = Recording::new(&slots, &bytes, &flows, &ecn_capable).unwrap();
        let recording = std::sync::Arc::new(recording);
        let parts = || (Replayed::new(recording.clone()), PacketSizeServer(500.0));
        check(setting(limit, victim, ecn), parts, red, &cuts)?;
        check(setting(limit, victim, ecn), parts, Fair::default, &cuts)?;
    }
}

/// A source that does not say that its packets are alike, which keeps the station from blocks.
struct Unlike<A>(A);

impl<A: Source> Source for Unlike<A> {
    const ALIKE: bool = false;

    fn next(&mut self) -> Packet {
        self.0.next()
    }
}

#[test]
fn blocks_give_what_events_give() {
    for (rate, mu, limit) in [
        (0.5, 0.5, 250),
        (0.5, 0.25, 250),
        (0.9, 0.3, 20),
        (0.3, 0.5, 250),
    ] {
        for start in [red, || red_by_clock(1), || red_by_clock(3)] {
            let setting = setting(limit, Victim::Tail, false);
            let source = || Uniform::new(GeometricSlots::new(rate, 4, 0, END), 500);
            let server = || GeometricServer::new(mu, 4, 0, END);
            let random = || stream(4, "aqm", 0);
            let mut blocks = Station::new(setting, source(), server(), start(), random());
            let mut events = Station::new(setting, Unlike(source()), server(), start(), random());
            assert!(blocks.allows_blocks() && !events.allows_blocks());
            for end in [100_000, 100_001, 300_000] {
                assert_eq!(
                    counts(&blocks.run_until(end)),
                    counts(&events.run_until(end))
                );
            }
        }
    }
}
