//! Another discipline for a queue at work: what waits stays, and so do states where the AQM does.

use std::collections::HashMap;

use proptest::prelude::*;
use sluice_aqm::{Aqm, BufferPolicy, Configured, Running, Value, Verdict, Victim, all, find};
use sluice_queue::Queue;

use crate::cake_link::{self, number, word};
use crate::common::{
    Everything, Numbered, Step, disciplines, red, repeatable, scheduler, steps, words,
};

const RATE_BPS: u64 = 8_000_000;
const STEP_NS: u64 = 1_000_000;

/// What a queue goes on under.
#[derive(Clone, Debug)]
struct Setting {
    discipline: BufferPolicy,
    scheduler: Option<Configured>,
    aqm: Configured,
}

impl Setting {
    fn start(&self) -> Queue<Numbered, Running> {
        let start = |_| self.aqm.start();
        Queue::new(self.discipline, self.scheduler.as_ref(), start, RATE_BPS)
    }

    fn retune(
        &self,
        now_ns: u64,
        queue: &mut Queue<Numbered, Running>,
        random: &mut impl FnMut() -> u64,
    ) {
        queue.retune(
            now_ns,
            (self.discipline, self.scheduler.as_ref()),
            |_, aqm| aqm.retune(&self.aqm),
            |_| self.aqm.start(),
            random,
        );
    }
}

fn aqm(name: &str, given: &[(&str, f64)]) -> Configured {
    let given: Vec<_> = given
        .iter()
        .map(|(name, number)| ((*name).to_owned(), Value::Number(*number)))
        .collect();
    Configured::new(find(name).unwrap(), &given).unwrap()
}

fn names() -> Vec<&'static str> {
    all().iter().map(|class| &*class.name).collect()
}

fn aqm_of(name: &str) -> Configured {
    aqm(name, &[])
}

fn plain(limit: u32, victim: Victim) -> BufferPolicy {
    BufferPolicy {
        limit,
        limit_bytes: None,
        victim,
        ecn: false,
    }
}

fn drr(queues: f64, quantum_bytes: f64) -> Configured {
    scheduler(
        "drr",
        &[("queues", queues), ("quantum_bytes", quantum_bytes)],
    )
}

/// CAKE in any of its ways, or ETS with 3 classes of which some are strict.
fn classes_of_service() -> impl Strategy<Value = Configured> {
    let tins = [
        "besteffort",
        "precedence",
        "diffserv3",
        "diffserv4",
        "diffserv8",
    ];
    let hosts = [
        "flowblind",
        "hosts",
        "flows",
        "dual_srchost",
        "triple_isolate",
    ];
    let cake = (
        prop::sample::select(tins.to_vec()),
        prop::sample::select(hosts.to_vec()),
        (1_u8..4, prop::sample::select(vec![0.0, 1e6, 5e6])),
    );
    let cake = cake.prop_map(|(tins, hosts, (sets, rate_bps))| {
        cake_link::configured(&[
            ("diffserv", word(tins)),
            ("isolation", word(hosts)),
            ("queues", number(f64::from(8 * sets))),
            ("rate_bps", number(rate_bps)),
        ])
        .unwrap()
    });
    let ets = (0_u8..4).prop_map(|strict| {
        let mut given = vec![("classes", 3.0), ("strict", f64::from(strict))];
        for (low, ecn, quantum) in [
            ("dscp_low_0", "ecn_0", "quantum_0"),
            ("dscp_low_1", "ecn_1", "quantum_1"),
            ("dscp_low_2", "ecn_2", "quantum_2"),
        ] {
            let dscp = if low == "dscp_low_0" { 1.0 } else { 256.0 };
            given.extend([(low, dscp), (ecn, 15.0), (quantum, 900.0)]);
        }
        scheduler("ets", &given)
    });
    prop_oneof![cake, ets]
}

/// A link with the queue, and what came of its packets.
struct Bench<A> {
    queue: Queue<Numbered, A>,
    random: Box<dyn FnMut() -> u64>,
    now_ns: u64,
    arrived: usize,
    sent: Vec<usize>,
    lost: Vec<(usize, Verdict)>,
    busy: bool,
}

impl<A: Aqm> Bench<A> {
    fn new(queue: Queue<Numbered, A>, seed: u64) -> Self {
        Self {
            queue,
            random: Box::new(words(seed)),
            now_ns: 0,
            arrived: 0,
            sent: Vec::new(),
            lost: Vec::new(),
            busy: false,
        }
    }

    fn step(&mut self, step: &Step) {
        self.now_ns += STEP_NS;
        let (lost, random) = (&mut self.lost, &mut self.random);
        let mut observer = |packet: Numbered, verdict| lost.push((packet.number, verdict));
        if self.now_ns.is_multiple_of(5 * STEP_NS) && self.queue.tick_interval_ns().is_some() {
            self.queue.tick(self.now_ns, &mut observer);
        }
        match step {
            Step::Arrive(packet) => {
                self.arrived += 1;
                self.queue
                    .arrive(self.now_ns, *packet, random, &mut observer);
            }
            Step::Sent => self.busy = false,
        }
        if !self.busy {
            let next = self.queue.depart(self.now_ns, random, &mut observer);
            self.busy = next.is_some();
            self.sent.extend(next.map(|next| next.packet.number));
        }
    }

    /// Every packet waits, was sent or was lost, once.
    fn check(&self) {
        let mut gone: Vec<usize> = self.lost.iter().map(|(number, _)| *number).collect();
        gone.extend(&self.sent);
        gone.sort_unstable();
        assert!(gone.windows(2).all(|pair| pair[0] < pair[1]), "twice");
        assert_eq!(self.arrived, gone.len() + self.queue.packets());
        let state = self.queue.state();
        let lost: u64 = state.verdicts.iter().sum::<u64>()
            - state.verdicts[Verdict::Admit as usize]
            - state.verdicts[Verdict::Mark as usize];
        assert_eq!(lost, self.lost.len() as u64);
        let packets: u32 = state.lanes.iter().map(|lane| lane.packets).sum();
        let bytes: u64 = state.lanes.iter().map(|lane| lane.bytes).sum();
        assert_eq!((packets, bytes), (state.packets, state.bytes));
    }
}

proptest! {
    #![proptest_config(repeatable(200))]

    #[test]
    fn the_same_parameters_change_nothing(
        aqm in prop::sample::select(names()),
        (discipline, several) in (disciplines(), any::<bool>()),
        steps in steps(8),
        (seed, every) in (any::<u64>(), 1_usize..20),
    ) {
        let setting = Setting {
            discipline,
            scheduler: several.then(|| drr(4.0, 500.0)),
            aqm: aqm_of(aqm),
        };
        let mut left_alone = Bench::new(setting.start(), seed);
        let mut retuned = Bench::new(setting.start(), seed);
        for (count, step) in steps.iter().enumerate() {
            left_alone.step(step);
            if count % every == 0 {
                setting.retune(retuned.now_ns, &mut retuned.queue, &mut || unreachable!());
            }
            retuned.step(step);
        }
        prop_assert_eq!(&left_alone.sent, &retuned.sent);
        prop_assert_eq!(&left_alone.lost, &retuned.lost);
        prop_assert_eq!(left_alone.queue.state(), retuned.queue.state());
    }

    #[test]
    fn no_packet_is_lost_or_doubled_by_a_change(
        settings in prop::collection::vec(
            (disciplines(), 0_usize..5, prop::sample::select(names())), 1..6),
        steps in steps(8),
        seed: u64,
    ) {
        let settings: Vec<Setting> = settings
            .into_iter()
            .map(|(discipline, of, class)| Setting {
                discipline,
                scheduler: match of {
                    0 => None,
                    1 => Some(drr(4.0, 500.0)),
                    2 => Some(drr(4.0, 1500.0)),
                    3 => Some(scheduler("sfq", &[("queues", 3.0)])),
                    _ => Some(scheduler("fq", &[("queues", 5.0)])),
                },
                aqm: aqm_of(class),
            })
            .collect();
        let mut bench = Bench::new(settings[0].start(), seed);
        let part = steps.len().div_ceil(settings.len());
        for (setting, steps) in settings.iter().zip(steps.chunks(part)) {
            let before = (bench.queue.packets(), bench.queue.bytes());
            setting.retune(bench.now_ns, &mut bench.queue, &mut bench.random);
            prop_assert_eq!((bench.queue.packets(), bench.queue.bytes()), before);
            steps.iter().for_each(|step| bench.step(step));
            bench.check();
        }
        while bench.queue.packets() > 0 {
            bench.step(&Step::Sent);
        }
        bench.check();
    }

    /// What CAKE and ETS keep depends on their parameters: where it cannot go on, it starts anew.
    #[test]
    fn classes_of_service_go_on_or_start_anew_and_send_all_that_waits(
        settings in prop::collection::vec((disciplines(), classes_of_service()), 2..6),
        steps in steps(12),
        seed: u64,
    ) {
        let settings: Vec<Setting> = settings
            .into_iter()
            .map(|(discipline, scheduler)| Setting {
                discipline,
                scheduler: Some(scheduler),
                aqm: aqm_of("drop_tail"),
            })
            .collect();
        let mut bench = Bench::new(settings[0].start(), seed);
        let part = steps.len().div_ceil(settings.len());
        for (setting, steps) in settings.iter().zip(steps.chunks(part)) {
            setting.retune(bench.now_ns, &mut bench.queue, &mut bench.random);
            for step in steps {
                let mut step = *step;
                if let Step::Arrive(packet) = &mut step {
                    packet.dscp = [0, 46, 8, 34, 26][packet.flow as usize % 5];
                }
                bench.step(&step);
            }
            bench.check();
        }
        // 40 packets of 1500 bytes take half a second at the least rate
        for _ in 0..1000 {
            bench.step(&Step::Sent);
        }
        bench.check();
        prop_assert_eq!(bench.queue.packets(), 0);
    }

    #[test]
    fn a_new_aqm_is_told_of_what_waits(
        steps in steps(6),
        lanes in prop::option::of(1.0..5.0_f64),
        seed: u64,
    ) {
        let everything = || Everything {
            red: red(&[]),
            most_of_a_flow: 6,
            late_ns: 30 * STEP_NS,
            waiting_of: HashMap::new(),
        };
        let discipline = plain(30, Victim::Front);
        let lanes = lanes.map(|lanes| drr(lanes.floor(), 500.0));
        let queue = Queue::new(discipline, None, |_| everything(), RATE_BPS);
        let mut bench = Bench::new(queue, seed);
        steps.iter().for_each(|step| bench.step(step));
        let now_ns = bench.now_ns;
        let to = (discipline, lanes.as_ref());
        bench.queue.retune(now_ns, to, |_, _| false, |_| everything(), &mut bench.random);
        let told: i64 = bench.queue.aqms().flat_map(|aqm| aqm.waiting_of.values()).sum();
        prop_assert_eq!(told, bench.queue.packets() as i64);
        bench.check();
    }
}

/// Packets of 1000 bytes of one flow.
fn packet(number: usize) -> Step {
    Step::Arrive(Numbered {
        number,
        flow: 7,
        bytes: 1000,
        ..Numbered::default()
    })
}

/// A queue with one packet in service and ten that wait.
fn ten_wait(aqm: &Configured, victim: Victim) -> (Setting, Bench<Running>) {
    let setting = Setting {
        discipline: plain(20, victim),
        scheduler: None,
        aqm: aqm.clone(),
    };
    let mut bench = Bench::new(setting.start(), 3);
    (0..11).for_each(|number| bench.step(&packet(number)));
    assert_eq!((bench.queue.packets(), &*bench.sent), (10, &[0][..]));
    (setting, bench)
}

#[test]
fn a_limit_below_what_waits_loses_nothing_by_itself() {
    for limit_bytes in [None, Some(3000)] {
        let (mut setting, mut bench) = ten_wait(&aqm("drop_tail", &[]), Victim::Tail);
        setting.discipline.limit = if limit_bytes.is_none() { 3 } else { 20 };
        setting.discipline.limit_bytes = limit_bytes;
        setting.retune(bench.now_ns, &mut bench.queue, &mut || unreachable!());
        assert_eq!(bench.queue.packets(), 10);
        bench.step(&packet(11));
        assert_eq!(bench.lost, [(11, Verdict::DropOverflow)]);
        for _ in 0..8 {
            bench.step(&Step::Sent);
        }
        bench.step(&packet(12));
        assert_eq!((bench.queue.packets(), bench.lost.len()), (3, 1));
        assert_eq!(bench.sent, (0..9).collect::<Vec<_>>());
    }
}

#[test]
fn where_waiting_packets_give_way_an_arrival_makes_all_the_room() {
    let (mut setting, mut bench) = ten_wait(&aqm("drop_tail", &[]), Victim::Front);
    setting.discipline.limit = 3;
    setting.retune(bench.now_ns, &mut bench.queue, &mut || unreachable!());
    bench.step(&packet(11));
    let lost: Vec<usize> = bench.lost.iter().map(|(number, _)| *number).collect();
    assert_eq!(lost, (1..9).collect::<Vec<_>>());
    assert_eq!(bench.queue.packets(), 3);
    bench.check();
}

#[test]
fn averages_and_probabilities_stay_with_new_parameters() {
    let (mut setting, mut bench) = ten_wait(&aqm("red", &[("w", 0.1)]), Victim::Tail);
    let before = bench.queue.state().lanes[0];
    setting.aqm = aqm("red", &[("min_th", 1.0), ("max_th", 4.0), ("w", 0.1)]);
    setting.retune(bench.now_ns, &mut bench.queue, &mut || unreachable!());
    let after = bench.queue.state().lanes[0];
    assert!(before.average > Some(2.0) && before.average == after.average);
    assert_eq!(before.probability, Some(0.0));
    assert!(after.probability > Some(0.0));

    let q_ref = |q_ref| aqm("pi", &[("q_ref", q_ref), ("a", 0.02), ("b", 0.019)]);
    let (mut setting, mut bench) = ten_wait(&q_ref(1.0), Victim::Tail);
    let before = bench.queue.state().lanes[0].probability;
    assert!(before > Some(0.0));
    setting.aqm = q_ref(100.0);
    setting.retune(bench.now_ns, &mut bench.queue, &mut || unreachable!());
    assert_eq!(bench.queue.state().lanes[0].probability, before);
    (12..42).for_each(|number| bench.step(&packet(number)));
    assert!(bench.queue.state().lanes[0].probability < before);
}

#[test]
fn another_aqm_starts_anew_and_what_waits_keeps_its_time() {
    let (mut setting, mut bench) = ten_wait(&aqm("red", &[("w", 0.1)]), Victim::Tail);
    setting.aqm = aqm("pie", &[]);
    setting.retune(bench.now_ns, &mut bench.queue, &mut || unreachable!());
    let state = bench.queue.state();
    assert_eq!((state.packets, state.lanes[0].average), (10, None));
    setting.aqm = aqm("red", &[("w", 0.1)]);
    setting.scheduler = Some(drr(4.0, 1500.0));
    setting.retune(bench.now_ns, &mut bench.queue, &mut || 0);
    assert_eq!(bench.queue.state().lanes.len(), 4);
    setting.scheduler = None;
    setting.retune(bench.now_ns, &mut bench.queue, &mut || unreachable!());
    let state = bench.queue.state();
    assert_eq!((state.packets, state.lanes[0].average), (10, Some(0.0)));
    for number in 1..11 {
        bench.now_ns += STEP_NS;
        let next = bench.queue.depart(bench.now_ns, &mut || 0, &mut ());
        let next = next.unwrap();
        // packet k arrived in step k + 1
        assert_eq!(
            (next.packet.number, next.since_ns),
            (number, (number as u64 + 1) * STEP_NS)
        );
    }
}
