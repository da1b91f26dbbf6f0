//! A run in parts gives what the whole run gives, and observing it changes nothing.

use std::sync::Arc;

use proptest::prelude::*;
use sluice_aqm::{AqmSource, BufferPolicy, Configured, Value, Victim, find, find_scheduler};
use sluice_ecn::Ecn;
use sluice_slotted::{
    Arrivals, Monitor, Observation, Outcome, Plan, Recording, Service, Session, Tally, simulate,
};
use sluice_traffic::Modulator;

const SLOTS: u64 = 20_000;

fn arrivals(number: usize) -> Arrivals {
    match number {
        0 => Arrivals::Geometric { rate: 0.5 },
        1 => Arrivals::SelfSimilar(Modulator {
            a: 5.0,
            q: 2.0,
            states: 4,
        }),
        2 => Arrivals::Fgn {
            rate: 0.5,
            deviation: 0.2,
            hurst: 0.8,
            frame: 64,
        },
        _ => {
            let slots: Vec<u64> = (0..SLOTS / 2).map(|k| k * 2 + k % 3 % 2).collect();
            let count = slots.len();
            let bytes: Vec<u32> = (0..count).map(|k| 100 + (k as u32 * 37) % 900).collect();
            let flows: Vec<u32> = (0..count)
                .map(|k| (k as u32 % 5).wrapping_mul(77_777))
                .collect();
            let ecn = vec![Ecn::NotEct; count];
            Arrivals::Replay(Arc::new(
                Recording::new(&slots, &bytes, &flows, &ecn).unwrap(),
            ))
        }
    }
}

fn plan(source: usize, service: usize, lanes: u32, slots: u64) -> Plan {
    let drr = [("queues", f64::from(lanes)), ("quantum_bytes", 500.0)]
        .map(|(name, number)| (name.to_owned(), Value::Number(number)));
    Plan {
        arrivals: arrivals(source),
        packet_bytes: 500,
        service: match service {
            0 => Service::Geometric { mu: 0.5 },
            1 => Service::Deterministic { slots: 2 },
            _ => Service::PacketSize {
                bytes_per_slot: 250.0,
            },
        },
        discipline: BufferPolicy {
            limit: 30,
            limit_bytes: None,
            victim: Victim::Tail,
            ecn: false,
        },
        scheduler: (lanes > 1)
            .then(|| Configured::new(find_scheduler("drr").unwrap(), &drr).unwrap()),
        slots,
        replications: 1,
        seed: 5,
        slot_ns: 1_000_000,
    }
}

fn source(aqm: &str) -> AqmSource {
    Configured::new(find(aqm).unwrap(), &[]).unwrap().into()
}

fn whole(plan: &Plan, aqm: &AqmSource) -> Outcome {
    simulate(plan, aqm, Some(1), &Monitor::default())
}

/// What an outcome says, for comparison.
fn said(outcome: &Outcome) -> (Vec<&Tally>, u64, u64, bool) {
    let units = outcome.units.iter().map(|unit| &unit.tally).collect();
    let Outcome {
        warm_up_slots,
        slots,
        interrupted,
        ..
    } = *outcome;
    (units, warm_up_slots, slots, interrupted)
}

fn check(session: &Session, seen: &Observation) {
    assert_eq!(session.observe(), *seen);
    let lost: u64 = seen.queue.verdicts[1..].iter().sum();
    let inside = u64::from(seen.queue.packets) + u64::from(seen.in_service);
    assert_eq!(seen.arrivals, seen.served + inside + lost);
    assert!(seen.idle_slots <= seen.now);
    let packets: u32 = seen.queue.lanes.iter().map(|lane| lane.packets).sum();
    assert_eq!(packets, seen.queue.packets);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn parts_give_the_whole(
        (arrivals, service, lanes) in (0_usize..4, 0_usize..3, 1_u32..3),
        aqm in 0_usize..5,
        slots in prop_oneof![Just(SLOTS), 1_u64..200],
        cuts in prop::collection::vec(0.0..=1.0, 0..40),
    ) {
        let plan = plan(arrivals, service, lanes, slots);
        let aqm = source(["drop_tail", "red", "pie", "codel", "fred"][aqm]);
        let monitor = Monitor::default();
        let mut session = Session::new(plan.clone(), aqm.clone());
        let mut times: Vec<u64> = cuts.iter().map(|cut| (cut * slots as f64) as u64).collect();
        times.sort_unstable();
        for until in times {
            prop_assert!(session.advance(until, &monitor).unwrap());
            prop_assert_eq!(session.now(), until);
            check(&session, &session.observe());
        }
        session.advance(slots, &monitor).unwrap();
        let last = session.observe();
        let parts = session.end(&monitor).unwrap().unwrap();
        if parts.warm_up_slots == 0 {
            let units = parts.units.iter();
            prop_assert_eq!(last.sojourn, units.map(|unit| unit.tally.sojourn.sum()).sum::<u128>());
        }
        let at_once = whole(&plan, &aqm);
        prop_assert_eq!(said(&parts), said(&at_once));
    }
}

#[test]
fn times_out_of_order_are_refused() {
    let monitor = Monitor::default();
    let mut session = Session::new(plan(0, 0, 1, SLOTS), source("red"));
    session.advance(100, &monitor).unwrap();
    for until in [99, SLOTS + 1] {
        let what = session.advance(until, &monitor).unwrap_err();
        assert!(what.contains("must lie between 100, the present, and 20000, the end (slots)"));
    }
}

#[test]
fn a_cancelled_advance_goes_on() {
    let (plan, aqm) = (plan(0, 0, 1, SLOTS), source("red"));
    let mut session = Session::new(plan.clone(), aqm.clone());
    let cancelled = Monitor::default();
    cancelled.cancel();
    assert!(!session.advance(2000, &cancelled).unwrap());
    let run_on = session.end(&Monitor::default()).unwrap().unwrap();
    assert_eq!(said(&run_on), said(&whole(&plan, &aqm)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whether blocks or events came before: from then on it is events.
    #[test]
    fn the_same_parameters_change_nothing(
        (arrivals, service, lanes) in (0_usize..4, 0_usize..3, 1_u32..3),
        aqm in 0_usize..6,
        cuts in prop::collection::vec(0_u64..=SLOTS, 1..10),
    ) {
        let plan = plan(arrivals, service, lanes, SLOTS);
        let aqm = source(["drop_tail", "red", "pie", "codel", "fred", "pi"][aqm]);
        let monitor = Monitor::default();
        let mut session = Session::new(plan.clone(), aqm.clone());
        let mut cuts = cuts;
        cuts.sort_unstable();
        for until in cuts {
            session.advance(until, &monitor).unwrap();
            let seen = session.observe();
            session.retune(plan.discipline, plan.scheduler.as_ref(), &aqm).unwrap();
            check(&session, &seen);
        }
        let parts = session.end(&monitor).unwrap().unwrap();
        let at_once = whole(&plan, &aqm);
        prop_assert_eq!(said(&parts), said(&at_once));
    }

    #[test]
    fn what_waits_stays_under_another_discipline(
        (arrivals, service) in (0_usize..4, 0_usize..3),
        settings in prop::collection::vec((0_usize..6, 1_u32..3, 1_u32..40, 0_usize..3), 1..5),
    ) {
        let plan = plan(arrivals, service, 1, SLOTS);
        let monitor = Monitor::default();
        let mut session = Session::new(plan.clone(), source("drop_tail"));
        let part = SLOTS / (settings.len() as u64 + 1);
        for (count, (aqm, lanes, limit, victim)) in settings.into_iter().enumerate() {
            session.advance((count as u64 + 1) * part, &monitor).unwrap();
            let before = session.observe();
            let victim = [Victim::Tail, Victim::Front, Victim::Random][victim];
            let discipline = BufferPolicy { limit, victim, ..plan.discipline };
            let aqm = source(["drop_tail", "red", "pie", "codel", "fred", "pi"][aqm]);
            let several = self::plan(arrivals, service, lanes, SLOTS).scheduler;
            session.retune(discipline, several.as_ref(), &aqm).unwrap();
            let after = session.observe();
            prop_assert_eq!(before.queue.packets, after.queue.packets);
            prop_assert_eq!(before.queue.bytes, after.queue.bytes);
            prop_assert_eq!(before.in_service, after.in_service);
            check(&session, &after);
        }
        session.advance(SLOTS, &monitor).unwrap();
        check(&session, &session.observe());
    }
}
