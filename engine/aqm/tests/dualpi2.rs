//! DualPI2: lanes, controller, coupling, step, ramp, overload and scheduler, against closed forms and
//! an oracle in floating point.

use sluice_aqm::{Configured, LaneView, Next, ONE, Scheduler, Value, Verdict, View, coupled};

const MS: u64 = 1_000_000;
const C: u32 = 0;
const L: u32 = 1;
const BYTES: u32 = 1500;
/// Bytes of both lanes from which chance is at work.
const MANY: u64 = 100_000;

fn dualpi2(given: &[(&str, Value)]) -> Scheduler {
    Scheduler::start(&configured(given))
}

fn configured(given: &[(&str, Value)]) -> Configured {
    let class = coupled().iter().find(|class| class.name == "dualpi2");
    let given: Vec<_> = given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    Configured::new(class.unwrap(), &given).unwrap()
}

fn word(text: &str) -> Value {
    Value::Word(text.into())
}

/// Sets since when the first packet of a lane waits (ns); `None`: none waits.
fn head(queue: &mut Scheduler, lane: u32, since_ns: Option<u64>) {
    let view = since_ns.map_or_else(LaneView::default, |since_ns| LaneView {
        bytes: u64::from(BYTES),
        head_since_ns: since_ns,
        packets: 1,
        head_bytes: BYTES,
    });
    queue.set_view(lane as usize, view);
}

fn tick(queue: &mut Scheduler, now_ns: u64) {
    queue.tick(&View {
        now_ns,
        ..View::default()
    });
}

/// Raises the base probability to at least `p` by a classic packet that waits ever longer; then both
/// lanes are empty again.
fn raise(queue: &mut Scheduler, p: f64) -> f64 {
    head(queue, C, Some(0));
    for count in 1.. {
        if queue.probability().unwrap() >= p {
            break;
        }
        tick(queue, count * 16 * MS);
    }
    head(queue, C, None);
    queue.probability().unwrap()
}

fn leaving(lane: u32, ecn: u8, random: u64) -> View {
    View {
        lane,
        traffic_class: ecn,
        ecn_capable: u8::from(ecn != 0),
        random,
        packet_bytes: BYTES,
        buffer_bytes: MANY,
        queue_packets: 10,
        ..View::default()
    }
}

/// A random word whose halves are these numbers in [0, 1), each rounded down.
fn halves(upper: f64, lower: f64) -> u64 {
    let half = |number: f64| (number * ONE as f64) as u64;
    half(upper) << 32 | half(lower)
}

#[test]
fn ect1_and_ce_go_to_the_low_latency_lane() {
    let mut queue = dualpi2(&[]);
    for (ecn, lane) in [(0, C), (1, L), (2, C), (3, L)] {
        let view = View {
            traffic_class: 46 << 2 | ecn,
            ..View::default()
        };
        let mut none = || panic!("it draws no random word");
        assert_eq!(queue.classify(view, &mut none), lane as usize, "{ecn}");
    }
}

#[test]
fn the_controller_follows_its_equation_with_the_older_head() {
    let (target, alpha, beta) = (0.02, 0.3, 4.0);
    let given = [("target", target), ("alpha", alpha), ("beta", beta)];
    let mut queue = dualpi2(&given.map(|(name, number)| (name, Value::Number(number))));
    let (mut p, mut delay_old, mut greatest) = (0.0_f64, 0.0, 0.0_f64);
    let mut word = 1_u64;
    for count in 100..2000_u64 {
        let now_ns = count * 16 * MS;
        // ages up to 64 ms for some time, then up to 8; sometimes a lane is empty
        let most = if count % 300 < 150 { 64 } else { 8 };
        let mut age = || {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (word >> 62 > 0).then_some((word >> 33) % (most * MS))
        };
        let ages = [age(), age()];
        for (lane, age) in [C, L].into_iter().zip(ages) {
            head(&mut queue, lane, age.map(|age| now_ns - age));
        }
        tick(&mut queue, now_ns);
        let delay = ages.into_iter().flatten().max().unwrap_or(0) as f64 / 1e9;
        p = (p + alpha * (delay - target) + beta * (delay - delay_old)).clamp(0.0, 1.0);
        delay_old = delay;
        greatest = greatest.max(p);
        // each of three products is rounded to 2^-32
        assert!((queue.probability().unwrap() - p).abs() < 1e-6, "{count}");
    }
    assert!(greatest > 0.3, "{greatest}");
}

/// Classic traffic: p twice, so p^2. L4S traffic: k p.
#[test]
fn both_lanes_follow_one_probability() {
    let mut queue = dualpi2(&[("coupling", Value::Number(1.7))]);
    let p = raise(&mut queue, 0.2);
    let (below, above) = (p - 1e-6, p + 1e-6);
    for (upper, lower, drops) in [
        (below, below, true),
        (above, below, false),
        (below, above, false),
    ] {
        let random = halves(upper, lower);
        let expected = |verdict| if drops { verdict } else { Verdict::Admit };
        let found = queue.depart(&leaving(C, 0, random));
        assert_eq!(found, expected(Verdict::DropEarly));
        let found = queue.depart(&leaving(C, 2, random));
        assert_eq!(found, expected(Verdict::Mark));
    }
    for (upper, verdict) in [
        (1.7 * p - 1e-6, Verdict::Mark),
        (1.7 * p + 1e-6, Verdict::Admit),
    ] {
        assert_eq!(queue.depart(&leaving(L, 1, halves(upper, 0.0))), verdict);
    }
    // no chance while less than two packets of the MTU wait in both lanes; the step stays
    let few = View {
        buffer_bytes: 3027,
        ..leaving(L, 1, 0)
    };
    assert_eq!(queue.depart(&few), Verdict::Admit);
    let late = View {
        sojourn_ns: MS + 1,
        ..few
    };
    assert_eq!(queue.depart(&late), Verdict::Mark);
}

#[test]
fn the_step_marks_what_waited_longer_than_a_millisecond_and_no_other() {
    let mut queue = dualpi2(&[]);
    for (lane, ecn, sojourn_ns, verdict) in [
        (L, 1, MS, Verdict::Admit),
        (L, 1, MS + 1, Verdict::Mark),
        (L, 3, MS + 1, Verdict::Mark),
        (C, 2, 100 * MS, Verdict::Admit),
        (C, 0, 100 * MS, Verdict::Admit),
    ] {
        let view = View {
            sojourn_ns,
            ..leaving(lane, ecn, u64::MAX)
        };
        assert_eq!(queue.depart(&view), verdict, "{lane} {ecn} {sojourn_ns}");
    }
}

/// Linux keeps a bit with each packet; the header keeps those of the first places.
#[test]
fn the_step_spares_a_packet_that_found_too_few_in_its_lane() {
    for least in [0, 1, 2, 5, 64] {
        let mut queue = dualpi2(&[("min_qlen_step", Value::Number(f64::from(least)))]);
        let mut waiting = std::collections::VecDeque::new();
        let (mut word, mut of_verdicts) = (1_u64, [0; 2]);
        for step in 0..20_000_u64 {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // more join than leave, then more leave than join; the lane is empty at times
            let joins = word >> 62 > if step % 400 < 200 { 0 } else { 2 };
            let found = waiting.len();
            if joins {
                waiting.push_back(found >= least as usize);
            }
            let packets = waiting.len() as u32;
            queue.set_view(
                L as usize,
                LaneView {
                    packets,
                    ..LaneView::default()
                },
            );
            if joins {
                queue.joined(L as usize);
            } else if let Some(is_marked) = waiting.pop_front() {
                let late = View {
                    sojourn_ns: MS + 1,
                    ..leaving(L, 1, u64::MAX)
                };
                let marked = queue.depart(&late) == Verdict::Mark;
                assert_eq!(marked, is_marked, "{least} {step}");
                of_verdicts[usize::from(marked)] += 1;
            }
        }
        assert!(of_verdicts[1] > 1000, "{of_verdicts:?}");
        assert_eq!(of_verdicts[0] > 10, least > 0, "{of_verdicts:?}");
    }
}

#[test]
fn a_reload_leaves_no_packet_spared_that_others_found() {
    let spares = [("min_qlen_step", Value::Number(2.0))];
    let mut queue = Scheduler::start(&configured(&spares));
    let join = |queue: &mut Scheduler, packets| {
        let view = LaneView {
            packets,
            ..LaneView::default()
        };
        queue.set_view(L as usize, view);
        queue.joined(L as usize);
    };
    let late = View {
        sojourn_ns: MS + 1,
        ..leaving(L, 1, u64::MAX)
    };
    (1..=3).for_each(|packets| join(&mut queue, packets));
    // the RFC's rules let the two go that are spared
    assert!(queue.retune(&configured(&[("like", word("rfc"))])));
    for _ in 0..2 {
        queue.depart(&late);
    }
    assert!(queue.retune(&configured(&spares)));
    assert_eq!(queue.depart(&late), Verdict::Mark);
    // none is spared by what was before, when L was empty
    join(&mut queue, 1);
    assert!(queue.retune(&configured(&[])));
    join(&mut queue, 1);
    assert_eq!(queue.depart(&late), Verdict::Mark);
}

#[test]
fn overload_drops_in_both_lanes_alike_and_marks_the_rest_of_l() {
    let mut queue = dualpi2(&[]);
    let p = raise(&mut queue, 0.55);
    let drop = halves(p - 1e-6, p - 1e-6);
    let pass = halves(p - 1e-6, p + 1e-6);
    for (lane, ecn, random, verdict) in [
        (C, 0, drop, Verdict::DropForced),
        (C, 2, drop, Verdict::DropForced),
        (L, 1, drop, Verdict::DropForced),
        (C, 0, pass, Verdict::Admit),
        (C, 2, pass, Verdict::Admit),
        (L, 1, pass, Verdict::Mark),
        (L, 1, u64::MAX, Verdict::Mark),
    ] {
        let found = queue.depart(&leaving(lane, ecn, random));
        assert_eq!(found, verdict, "{lane} {ecn}");
    }
    // without drops the buffer fills: p ends where k p is 1
    for k in [1.0, 1.5, 2.0, 3.0, 6.0, 7.0, 10.0] {
        let given = [
            ("overload", word("overflow")),
            ("coupling", Value::Number(k)),
        ];
        let mut queue = dualpi2(&given);
        let most = 1.0 / k;
        let p = raise(&mut queue, most - 1e-9);
        assert!(p <= most && p > most - 1e-9, "{k} {p}");
        assert_eq!(queue.depart(&leaving(L, 1, drop)), Verdict::Mark, "{k}");
        assert_eq!(queue.depart(&leaving(C, 2, 0)), Verdict::Mark, "{k}");
    }
}

/// Sends from lanes that are never empty; returns the packets of C among `count`, and the longest
/// run without one of each lane.
fn shares(queue: &mut Scheduler, count: usize, bytes: [u32; 2]) -> (usize, [usize; 2]) {
    let (mut of_c, mut waits, mut longest) = (0, [0_usize; 2], [0; 2]);
    for lane in [C, L] {
        head(queue, lane, Some(0));
    }
    for number in 0..count {
        let Next::Lane(lane) = queue.next(number as u64 * MS) else {
            panic!("packets wait");
        };
        queue.sent(lane, bytes[lane]);
        of_c += usize::from(lane == C as usize);
        waits[lane] = 0;
        waits[1 - lane] += 1;
        longest = [longest[0].max(waits[0]), longest[1].max(waits[1])];
    }
    (of_c, longest)
}

#[test]
fn no_lane_starves_and_the_classic_one_has_its_share() {
    for (share, bytes) in [
        (0.1, [1500, 1500]),
        (0.1, [1500, 300]),
        (0.0625, [600, 1500]),
    ] {
        let mut queue = dualpi2(&[("classic_share", Value::Number(share))]);
        let (of_c, longest) = shares(&mut queue, 100_000, bytes);
        let sent = [of_c, 100_000 - of_c].map(|count| count as f64);
        let of_c = sent[0] * f64::from(bytes[0]);
        let all = of_c + sent[1] * f64::from(bytes[1]);
        // off by the first credit and a packet, of 30 million bytes
        assert!(
            (of_c / all - share).abs() < 1e-4,
            "{share} {bytes:?}: {}",
            of_c / all
        );
        // C sends once L has sent (1 - share) / share times a packet of C, and the first credit
        let most = (1.0 / share) * 1514.0 / f64::from(bytes[1]) + 12.0;
        assert!((longest[0] as f64) < most, "{longest:?}");
        assert!(longest[1] <= 3, "{longest:?}");
    }
}

#[test]
fn a_time_shifted_fifo_sends_the_oldest_with_an_advantage_for_l() {
    let given = [("order", word("shifted")), ("shift", Value::Number(0.05))];
    let mut queue = dualpi2(&given);
    head(&mut queue, L, Some(70 * MS));
    for (since_ns, lane) in [(20 * MS, L), (20 * MS - 1, C), (90 * MS, L)] {
        head(&mut queue, C, Some(since_ns));
        assert_eq!(
            queue.next(100 * MS),
            Next::Lane(lane as usize),
            "{since_ns}"
        );
    }
    head(&mut queue, L, None);
    assert_eq!(queue.next(100 * MS), Next::Lane(C as usize));
    head(&mut queue, C, None);
    assert_eq!(queue.next(100 * MS), Next::None);
}

#[test]
fn the_rfc_marks_by_the_greater_probability_and_spaces_marks_evenly() {
    let mut queue = dualpi2(&[("like", word("rfc"))]);
    let p = raise(&mut queue, 0.1);
    let count = 10_000;
    let mut marks = |lane, ecn, sojourn_ns| {
        let view = View {
            sojourn_ns,
            ..leaving(lane, ecn, 0)
        };
        let is_no_admission = |_: &i32| queue.depart(&view) != Verdict::Admit;
        (0..count).filter(is_no_admission).count() as f64
    };
    let n = f64::from(count);
    // the accumulator carries less than one from one count to the next
    for (lane, ecn, sojourn_ns, expected) in [
        (C, 0, 0, p * p),
        (C, 2, 0, p * p),
        (L, 1, 0, 2.0 * p),
        (L, 1, 800_000, 2.0 * p),
        // a quarter of the ramp is 0.25, and p is near 0.1
        (L, 1, 900_000, 0.25),
        (L, 1, 1_000_000, 0.5),
        (L, 1, 1_200_000, 1.0),
    ] {
        let found = marks(lane, ecn, sojourn_ns);
        assert!(
            (found - expected * n).abs() <= 2.0,
            "{lane} {sojourn_ns}: {found}, {expected}"
        );
    }
    // the ramp needs more than one waiting packet
    let mut queue = dualpi2(&[("like", word("rfc"))]);
    let short = View {
        queue_packets: 1,
        sojourn_ns: 5 * MS,
        ..leaving(L, 1, 0)
    };
    assert!((0..100).all(|_| queue.depart(&short) == Verdict::Admit));
}

#[test]
fn arrivals_are_lost_only_where_the_buffer_is_full() {
    let mut queue = dualpi2(&[]);
    raise(&mut queue, 0.9);
    let view = leaving(C, 0, 0);
    assert_eq!(queue.arrive(&view), Verdict::Admit);
    let full = View { full: 1, ..view };
    assert_eq!(queue.arrive(&full), Verdict::DropOverflow);
}
