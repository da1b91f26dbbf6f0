//! All schedulers: packets are conserved, limits hold, flows are served fairly.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
};

use proptest::prelude::*;
use sluice_aqm::{BufferPolicy, Configured, Running, Victim, find};
use sluice_queue::{Queue, Waiting};

use crate::common::{
    Everything, Numbered, Step, disciplines, drop_tail, red, repeatable, scheduler, steps, words,
};

const RATE_BPS: u64 = 8_000_000;
const STEP_NS: u64 = 1_000_000;

/// Schedulers whose salt stays, for `no_flow_is_reordered`, and others.
fn schedulers(perturbed: bool) -> impl Strategy<Value = Configured> {
    let most = if perturbed { 50 } else { 1 };
    let sfq = (1_u32..9, 0..most).prop_map(|(queues, steps)| {
        let perturbation_s = f64::from(steps) * STEP_NS as f64 / 1e9;
        scheduler(
            "sfq",
            &[
                ("queues", queues.into()),
                ("perturbation_s", perturbation_s),
            ],
        )
    });
    let by_bytes = (any::<bool>(), 1_u32..9, 64_u32..3000);
    let by_bytes = by_bytes.prop_map(|(is_new_first, queues, quantum_bytes)| {
        of_bytes(
            if is_new_first { "fq" } else { "drr" },
            queues,
            quantum_bytes,
        )
    });
    prop_oneof![1 => sfq, 2 => by_bytes]
}

/// A scheduler that counts bytes.
fn of_bytes(name: &str, queues: u32, quantum_bytes: u32) -> Configured {
    let given = [
        ("queues", queues.into()),
        ("quantum_bytes", quantum_bytes.into()),
    ];
    scheduler(name, &given)
}

/// The AQM of each queue, with all functions of the contract.
fn everything() -> Everything {
    Everything {
        red: red(&[("min_th", 2.0), ("max_th", 9.0), ("w", 0.3)]),
        most_of_a_flow: 4,
        late_ns: 12 * STEP_NS,
        waiting_of: HashMap::new(),
    }
}

fn started(name: &str) -> Running {
    Configured::new(find(name).unwrap(), &[]).unwrap().start()
}

proptest! {
    #![proptest_config(repeatable(300))]

    #[test]
    fn packets_are_conserved_and_the_limit_holds(
        (discipline, scheduler) in (disciplines(), schedulers(true)),
        steps in steps(20),
        seed: u64,
    ) {
        let mut random = words(seed);
        let gone = RefCell::new(BTreeMap::new());
        let mut lost = |packet: Numbered, _| {
            assert!(gone.borrow_mut().insert(packet.number, packet.bytes).is_none());
        };
        let mut queue = Queue::new(discipline, Some(&scheduler), |_| everything(), RATE_BPS);
        let (mut busy, mut arrived, mut bytes) = (false, 0, 0);
        for (count, step) in steps.iter().enumerate() {
            let now_ns = count as u64 * STEP_NS;
            if let Step::Arrive(packet) = step {
                queue.arrive(now_ns, *packet, &mut random, &mut lost);
                arrived += 1;
                bytes += u64::from(packet.bytes);
            }
            if !busy || matches!(step, Step::Sent) {
                let sent = queue.depart(now_ns, &mut random, &mut lost);
                busy = sent.is_some();
                prop_assert!(busy || queue.packets() == 0, "an idle link beside waiting packets");
                if let Some(Waiting { packet, .. }) = sent {
                    let again = gone.borrow_mut().insert(packet.number, packet.bytes);
                    prop_assert!(again.is_none());
                }
            }
            let gone = gone.borrow();
            prop_assert_eq!(queue.packets(), arrived - gone.len());
            prop_assert_eq!(queue.bytes(), bytes - gone.values().map(|b| u64::from(*b)).sum::<u64>());
            prop_assert!(queue.packets() <= discipline.limit as usize);
            prop_assert!(queue.bytes() <= discipline.limit_bytes.unwrap_or(u64::MAX));
        }
    }

    /// A flow's packets keep their order as long as no new salt is drawn.
    #[test]
    fn no_flow_is_reordered(
        (discipline, scheduler) in (disciplines(), schedulers(false)),
        steps in steps(20),
        seed: u64,
    ) {
        let mut random = words(seed);
        let mut queue = Queue::new(discipline, Some(&scheduler), |_| drop_tail(), RATE_BPS);
        let mut last = HashMap::new();
        for (count, step) in steps.iter().enumerate() {
            let now_ns = count as u64 * STEP_NS;
            if let Step::Arrive(packet) = step {
                queue.arrive(now_ns, *packet, &mut random, &mut |_, _| ());
            } else if let Some(Waiting { packet, since_ns }) =
                queue.depart(now_ns, &mut random, &mut |_, _| ())
            {
                prop_assert_eq!(since_ns, packet.number as u64 * STEP_NS);
                let before = last.insert(packet.flow, packet.number);
                prop_assert!(before < Some(packet.number));
            }
        }
    }
}

const ROOMY: BufferPolicy = BufferPolicy {
    limit: 1000,
    limit_bytes: None,
    victim: Victim::Tail,
    ecn: false,
};

fn packet(number: usize, flow: u32, bytes: u32) -> Numbered {
    Numbered {
        number,
        flow,
        bytes,
        ..Numbered::default()
    }
}

/// Shreedhar & Varghese 1995, section 3: if flows always have packets waiting, the bytes that they
/// have sent differ by at most a quantum and a packet. RFC 8290's credits give the same bound.
#[test]
fn flows_share_the_link_by_bytes() {
    let sizes = [40_u32, 1500, 576, 300, 1499];
    for quantum_bytes in [100, 300, 1500, 4000] {
        let queues = 1024;
        for name in ["drr", "fq"] {
            let scheduler = of_bytes(name, queues, quantum_bytes);
            let mut random = words(5);
            let mut queue = Queue::new(ROOMY, Some(&scheduler), |_| drop_tail(), RATE_BPS);
            let mut lost = |_, _| panic!("the limit is far");
            for flow in 0..sizes.len() * 3 {
                let flow = flow % sizes.len();
                queue.arrive(
                    0,
                    packet(0, flow as u32, sizes[flow]),
                    &mut random,
                    &mut lost,
                );
            }
            let mut sent = vec![0_u64; sizes.len()];
            for now_ns in 1..20_000 {
                let gone = queue.depart(now_ns, &mut random, &mut lost).unwrap().packet;
                sent[gone.flow as usize] += u64::from(gone.bytes);
                queue.arrive(now_ns, gone, &mut random, &mut lost);
                let spread = sent.iter().max().unwrap() - sent.iter().min().unwrap();
                assert!(
                    spread <= u64::from(quantum_bytes) + 1500,
                    "{scheduler:?}: {sent:?}"
                );
            }
        }
    }
}

/// Returns the packets sent by each flow, if flow 0 offers five packets of 100 bytes in each round
/// and the three others one each.
fn shares(scheduler: Option<&Configured>) -> Vec<usize> {
    let mut random = words(6);
    let discipline = BufferPolicy { limit: 60, ..ROOMY };
    let mut queue = Queue::new(discipline, scheduler, |_| drop_tail(), RATE_BPS);
    let mut sent = vec![0; 4];
    for round in 0..10_000 {
        for flow in [0, 0, 1, 0, 2, 0, 3, 0] {
            queue.arrive(round, packet(0, flow, 100), &mut random, &mut |_, _| ());
        }
        for _ in 0..4 {
            let gone = queue
                .depart(round, &mut random, &mut |_, _| ())
                .unwrap()
                .packet;
            sent[gone.flow as usize] += 1;
        }
    }
    sent
}

/// If the link sends four packets a round, each of four flows gets one; a FIFO shares by demand.
#[test]
fn a_greedy_flow_takes_nothing_from_the_others() {
    for scheduler in [
        scheduler("sfq", &[("queues", 256.0)]),
        of_bytes("drr", 256, 100),
        of_bytes("fq", 256, 100),
    ] {
        let sent = shares(Some(&scheduler));
        assert!(
            sent.iter().all(|count| count.abs_diff(10_000) < 60),
            "{scheduler:?}: {sent:?}"
        );
    }
    let sent = shares(None);
    assert!(sent[0] > 2 * sent[1], "{sent:?}");
}

/// RFC 8290, section 3: a flow that had no packets waiting goes before one with many.
#[test]
fn a_sparse_flow_goes_first_with_fq() {
    for (scheduler, ahead) in [
        (Some(of_bytes("fq", 1024, 1514)), 0),
        (Some(of_bytes("drr", 1024, 1514)), 2),
        (None, 99),
    ] {
        let (mut random, mut lost) = (words(7), |_, _| panic!("the limit is far"));
        let mut queue = Queue::new(ROOMY, scheduler.as_ref(), |_| drop_tail(), RATE_BPS);
        for number in 0..100 {
            queue.arrive(0, packet(number, 1, 500), &mut random, &mut lost);
        }
        // four packets use up its first quantum (with DRR, three fit), so the queue becomes old
        for _ in 0..4 {
            queue.depart(0, &mut random, &mut lost);
        }
        for number in 100..103 {
            queue.arrive(0, packet(number, 1, 500), &mut random, &mut lost);
        }
        queue.arrive(0, packet(200, 2, 100), &mut random, &mut lost);
        let before = (0..)
            .take_while(|_| queue.depart(0, &mut random, &mut lost).unwrap().packet.flow != 2)
            .count();
        assert_eq!(before, ahead, "{scheduler:?}");
    }
}

/// FQ-CoDel at a link that sends a packet each millisecond. Flow 1 offers twice its rate, flow 2 a
/// packet each 20 ms: CoDel drops packets of flow 1 at departure; flow 2 loses none and goes first.
#[test]
fn fq_with_codel_spares_the_sparse_flow() {
    let (mut random, lost_of) = (words(8), RefCell::new([0; 3]));
    let mut lost = |gone: Numbered, _| lost_of.borrow_mut()[gone.flow as usize] += 1;
    let scheduler = of_bytes("fq", 1024, 1514);
    let discipline = BufferPolicy {
        victim: Victim::Front,
        ..ROOMY
    };
    let mut queue = Queue::new(discipline, Some(&scheduler), |_| started("codel"), RATE_BPS);
    let mut longest = 0;
    for ms in 0..5_000_usize {
        let now_ns = ms as u64 * STEP_NS;
        for _ in 0..2 {
            queue.arrive(now_ns, packet(ms, 1, 1000), &mut random, &mut lost);
        }
        if ms % 20 == 19 {
            queue.arrive(now_ns, packet(ms, 2, 100), &mut random, &mut lost);
        }
        let gone = queue.depart(now_ns, &mut random, &mut lost).unwrap().packet;
        if gone.flow == 2 {
            longest = longest.max(ms - gone.number);
        }
    }
    let lost_of = lost_of.into_inner();
    assert_eq!((lost_of[2], longest), (0, 0));
    assert!(lost_of[1] > 100, "{lost_of:?}");
}
