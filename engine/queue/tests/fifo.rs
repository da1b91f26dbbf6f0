//! Compares the queue with one FIFO with a plain model.

use std::collections::{HashMap, VecDeque};

use proptest::prelude::*;
use sluice_aqm::{Aqm, BufferPolicy, Verdict, Victim, View};
use sluice_queue::{Packet, Queue};

use crate::common::{
    Everything, Numbered, Step, disciplines, drop_tail, red, repeatable, steps, words,
};

const RATE_BPS: u64 = 8_000_000;
const STEP_NS: u64 = 1_000_000;

/// A packet that left the queue: lost with a verdict, or sent.
type Fate = (Numbered, Option<Verdict>);

fn aqm() -> Everything {
    let thresholds = [("min_th", 2.0), ("max_th", 9.0), ("w", 0.3), ("max_p", 0.4)];
    Everything {
        red: red(&thresholds),
        most_of_a_flow: 4,
        late_ns: 12 * STEP_NS,
        waiting_of: HashMap::new(),
    }
}

/// True if the buffer has room for a packet.
fn fits(discipline: BufferPolicy, waiting: &VecDeque<(Numbered, u64)>, packet: Numbered) -> bool {
    let bytes: u64 = waiting.iter().map(|(p, _)| u64::from(p.bytes)).sum();
    waiting.len() < discipline.limit as usize
        && bytes + u64::from(packet.bytes) <= discipline.limit_bytes.unwrap_or(u64::MAX)
}

/// The plain model: one queue and one link.
fn plain(discipline: BufferPolicy, steps: &[Step], mut random: impl FnMut() -> u64) -> Vec<Fate> {
    let (mut aqm, mut fates) = (aqm(), Vec::new());
    let mut waiting: VecDeque<(Numbered, u64)> = VecDeque::new();
    let (mut busy, mut idle_since_ns) = (false, 0);
    for (count, step) in steps.iter().enumerate() {
        let now_ns = count as u64 * STEP_NS;
        let view = |waiting: &VecDeque<(Numbered, u64)>, packet: Numbered, random| View {
            now_ns,
            idle_since_ns,
            rate_bps: RATE_BPS,
            random,
            queue_bytes: waiting.iter().map(|(p, _)| u64::from(p.bytes)).sum(),
            buffer_bytes: waiting.iter().map(|(p, _)| u64::from(p.bytes)).sum(),
            traffic_class: packet.traffic_class(),
            queue_packets: waiting.len() as u32,
            limit_packets: discipline.limit,
            packet_bytes: packet.bytes,
            flow_hash: packet.flow,
            ecn_capable: u8::from(discipline.ecn && packet.ecn_capable),
            ..View::default()
        };
        if let Step::Arrive(packet) = step {
            let idle = u8::from(!busy && waiting.is_empty());
            let word = random();
            let pick = || ((u128::from(random()) * waiting.len() as u128) >> 64) as usize;
            let candidate = (!waiting.is_empty()).then(pick);
            aqm.waiting_of.clear();
            for (packet, _) in &waiting {
                *aqm.waiting_of.entry(packet.flow).or_default() += 1;
            }
            let candidate_flow_hash = candidate.map_or(u32::MAX, |index| waiting[index].0.flow);
            let verdict = aqm.arrive(&View {
                idle,
                candidate_flow_hash,
                full: u8::from(!fits(discipline, &waiting, *packet)),
                ..view(&waiting, *packet, word)
            });
            let marked = verdict == Verdict::Mark;
            let mut lost = verdict.is_drop().then_some(verdict);
            if verdict == Verdict::DropBoth {
                let gone = candidate.and_then(|index| waiting.remove(index));
                fates.extend(gone.map(|(gone, _)| (gone, lost)));
            } else if discipline.victim != Victim::Tail
                && u64::from(packet.bytes) <= discipline.limit_bytes.unwrap_or(u64::MAX)
            {
                // victims are lost until the arrival fits
                while lost.is_some() {
                    let index = match discipline.victim {
                        Victim::Random => {
                            ((u128::from(random()) * waiting.len() as u128) >> 64) as usize
                        }
                        _ => 0,
                    };
                    let Some((gone, _)) = waiting.remove(index) else {
                        break;
                    };
                    fates.push((gone, lost));
                    lost = (!fits(discipline, &waiting, *packet)).then_some(Verdict::DropOverflow);
                }
            }
            match lost {
                Some(_) => fates.push((*packet, lost)),
                None => waiting.push_back((Numbered { marked, ..*packet }, now_ns)),
            }
            if busy {
                continue;
            }
        }
        let was_busy = std::mem::take(&mut busy);
        while let Some((mut packet, since_ns)) = waiting.pop_front() {
            let word = random();
            let sojourn_ns = now_ns - since_ns;
            let verdict = aqm.depart(&View {
                sojourn_ns,
                ..view(&waiting, packet, word)
            });
            packet.marked |= verdict == Verdict::Mark;
            fates.push((packet, verdict.is_drop().then_some(verdict)));
            if !verdict.is_drop() {
                busy = true;
                break;
            }
        }
        if was_busy && !busy {
            idle_since_ns = now_ns;
        }
    }
    fates
}

/// The same with a `Queue`.
fn real(discipline: BufferPolicy, steps: &[Step], mut random: impl FnMut() -> u64) -> Vec<Fate> {
    let fates = std::cell::RefCell::new(Vec::new());
    let mut lost = |packet, verdict| fates.borrow_mut().push((packet, Some(verdict)));
    let mut queue = Queue::new(discipline, None, |_| aqm(), RATE_BPS);
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
            fates
                .borrow_mut()
                .extend(sent.map(|sent| (sent.packet, None)));
        }
        let fates = fates.borrow();
        let gone: u64 = fates
            .iter()
            .map(|(packet, _)| u64::from(packet.bytes))
            .sum();
        assert_eq!(
            queue.packets(),
            arrived - fates.len(),
            "packets are conserved"
        );
        assert_eq!(queue.bytes(), bytes - gone);
        assert!(queue.packets() <= discipline.limit as usize);
        assert!(queue.bytes() <= discipline.limit_bytes.unwrap_or(u64::MAX));
    }
    let lost = fates
        .borrow()
        .iter()
        .filter(|fate| fate.1.is_some())
        .count() as u64;
    let [_, drops @ .., _, both] = queue.verdicts();
    assert_eq!(
        lost,
        drops.iter().sum::<u64>() + both,
        "a verdict for each loss"
    );
    fates.into_inner()
}

proptest! {
    #![proptest_config(repeatable(300))]

    #[test]
    fn one_queue_is_the_plain_model(
        discipline in disciplines(),
        steps in steps(5),
        seed: u64,
    ) {
        prop_assert_eq!(
            real(discipline, &steps, words(seed)),
            plain(discipline, &steps, words(seed))
        );
    }
}

#[test]
fn verdicts_are_counted_once_an_arrival() {
    let discipline = BufferPolicy {
        limit: 3,
        limit_bytes: None,
        victim: Victim::Front,
        ecn: false,
    };
    let mut queue = Queue::new(discipline, None, |_| drop_tail(), RATE_BPS);
    let (mut random, mut lost) = (words(1), Vec::new());
    for number in 0..5 {
        let packet = Numbered {
            number,
            flow: 0,
            bytes: 500,
            ecn_capable: false,
            ..Numbered::default()
        };
        queue.arrive(0, packet, &mut random, &mut |packet, verdict| {
            lost.push((packet, verdict))
        });
    }
    assert_eq!(queue.verdicts(), &[3, 0, 0, 2, 0, 0]);
    let numbers: Vec<_> = lost
        .iter()
        .map(|(packet, verdict)| (packet.number, *verdict))
        .collect();
    assert_eq!(
        numbers,
        [(0, Verdict::DropOverflow), (1, Verdict::DropOverflow)]
    );
}
