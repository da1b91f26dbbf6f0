//! Cases: every AQM with every victim, with and without marking, with every scheduler, with and
//! without a limit in bytes.

use std::{iter, iter::repeat_n, sync::Arc};

use rand::Rng;
use sluice_aqm::{BufferPolicy, Class, Configured, Value, Victim, all, coupled, schedulers};
use sluice_ecn::Ecn;
use sluice_queue::datagram_flow_hash;
use sluice_random::{Stream, stream};

/// A slot, ns: the shortest time that is a whole number of nanoseconds and a binary fraction of a
/// second, 2^-9 s, so that no clock rounds any time of a case.
pub const SLOT_NS: u64 = 1_953_125;
/// All packet sizes are multiples of this.
pub const UNIT_BYTES: u32 = 125;
/// Slots that the link needs to send `UNIT_BYTES`.
pub const SLOTS_PER_UNIT: u64 = 64;
/// Arrival times in a burst, after which the link becomes idle: at most the number of odd slots in
/// a unit.
const BURST: usize = 31;
const BURSTS: usize = 16;
const LIMIT: u32 = 12;
const LIMIT_BYTES: u64 = 2500;

/// A packet that arrives at the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Slot of the arrival; an odd number.
    pub slot: u64,
    /// Size; a multiple of `UNIT_BYTES`.
    pub bytes: u32,
    /// Number of its flow, from 0.
    pub flow: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Its differentiated services codepoint.
    pub dscp: u8,
}

impl Arrival {
    /// Returns the hash of the flow, as in the network world for flows of datagrams.
    pub fn flow_hash(&self) -> u32 {
        datagram_flow_hash(self.flow)
    }
}

/// Everything that determines a decision log.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name for messages.
    pub name: String,
    /// The AQM of each of the scheduler's queues.
    pub aqm: Configured,
    /// Limits, victim and marking.
    pub discipline: BufferPolicy,
    /// The scheduler with its queues.
    pub scheduler: Option<Configured>,
    /// The arriving packets, in the order of their times.
    pub arrivals: Arc<[Arrival]>,
    /// Seed of the random words.
    pub seed: u64,
}

impl Case {
    /// Returns the link's rate, bits/s.
    pub fn rate_bps(&self) -> u64 {
        u64::from(UNIT_BYTES) * 8_000_000_000 / (SLOTS_PER_UNIT * SLOT_NS)
    }

    /// Returns the random words for the AQM and the victims: the same as in the network world at
    /// its first link.
    pub fn words(&self) -> Stream {
        stream(self.seed, "aqm 0", 0)
    }

    /// Returns the slots of a run: until all packets are gone. The end is 10 slots after a time at
    /// which ticks may be, so that no event is at the end.
    pub fn slots(&self) -> u64 {
        let last = self.arrivals.last().map_or(0, |arrival| arrival.slot);
        (last + FOR_A_SHAPER * silence()).next_multiple_of(1024) + 10
    }
}

/// Returns the slots that the link needs to send a full queue of the largest packets.
fn silence() -> u64 {
    (u64::from(LIMIT) + 2) * 4 * SLOTS_PER_UNIT
}

/// How many times as long a shaper needs as the link.
const FOR_A_SHAPER: u64 = 2;

/// Draws bursts with loads between a half and five times the link's rate, each followed by so many times
/// the silence that the link needs.
fn arrivals(bursts: usize, silences: u64, random: &mut Stream) -> Arc<[Arrival]> {
    let (mut unit, mut arrivals) = (0, Vec::new());
    let mut draw = |count: u64| random.next_u64() % count;
    for _ in 0..bursts {
        let gap = 1 + draw(4);
        for place in 0..BURST as u64 {
            unit += draw(2 * gap);
            // each arrival time of the burst is in another odd slot of a unit, in rising order
            let slot = unit * SLOTS_PER_UNIT + 2 * place + 1;
            // sometimes two packets at once
            for _ in 0..=u64::from(draw(8) == 0) {
                let bytes = UNIT_BYTES << draw(3);
                let flow = (draw(3) * draw(4)) as u32;
                arrivals.push(Arrival {
                    slot,
                    bytes,
                    flow,
                    ecn: match (draw(3), flow % 2) {
                        (0, _) => Ecn::NotEct,
                        (_, 0) => Ecn::Ect0,
                        _ => Ecn::Ect1,
                    },
                    dscp: 8 * flow as u8,
                });
            }
        }
        unit += silences * silence() / SLOTS_PER_UNIT + 1;
    }
    arrivals.into()
}

/// Parameters for a link that needs about 0.3 s for a packet, with a buffer of 12 packets.
const NEAR: [(&str, f64); 33] = [
    // half the link's
    ("rate_bps", 4000.0),
    ("rtt", 1.0),
    ("min_th", 2.0),
    ("max_th", 8.0),
    ("min_th_3", 2.0),
    ("max_th_3", 8.0),
    ("bin_size", 2.0),
    ("bin_max", 5.0),
    ("max_p", 0.3),
    ("w", 0.2),
    ("q_ref", 4.0),
    ("target", 0.3),
    ("interval", 1.0),
    ("t_update", 0.5),
    ("max_burst", 0.5),
    ("dq_threshold", 500.0),
    ("sampling_interval", 0.5),
    ("t_m", 2.0),
    ("a", 0.02),
    ("b", 0.018),
    ("beta", 0.05),
    ("gamma", 0.5),
    ("phi", 1.2),
    ("alpha", 0.5),
    ("d1", 0.1),
    ("d2", 0.02),
    ("freeze_time", 0.4),
    ("mean_packet_bytes", 250.0),
    ("step", 0.6),
    ("range", 2.0),
    ("mtu_bytes", 250.0),
    ("p_inc", 0.1),
    ("p_dec", 0.02),
];

/// Returns the AQM with those parameters of `NEAR` that it has and accepts, and with these words.
fn near(class: &'static Class, words: &[(&str, &str)]) -> Configured {
    let value = |word: &str| {
        let number = word.parse().map(Value::Number);
        number.unwrap_or_else(|_| Value::Word(word.to_owned()))
    };
    let words = words.iter();
    let words = words.map(|(name, word)| ((*name).to_owned(), value(word)));
    let mut given: Vec<(String, Value)> = words.collect();
    for (name, value) in NEAR {
        given.push((name.to_owned(), Value::Number(value)));
        if Configured::new(class, &given).is_err() {
            given.pop();
        }
    }
    Configured::new(class, &given).expect("values that were tried")
}

fn every_scheduler() -> Vec<Option<Configured>> {
    let given = [
        ("queues", 3.0),
        ("quantum_bytes", 300.0),
        ("perturbation_s", 10.0),
        // packets of the slotted world have no codepoints: all are of the last class
        ("classes", 2.0),
        ("strict", 1.0),
        ("quantum_1", 300.0),
    ];
    let of = |class: &'static Class| {
        let own = given
            .iter()
            .filter(|(name, _)| class.params.iter().any(|param| param.name == *name))
            .map(|(name, number)| ((*name).to_owned(), Value::Number(*number)));
        Configured::new(class, &own.collect::<Vec<_>>()).expect("values in their ranges")
    };
    iter::once(None)
        .chain(schedulers().iter().map(of).map(Some))
        .collect()
}

/// Returns a case of `bursts` bursts, with marking and a plain FIFO.
pub fn long(class: &'static Class, bursts: usize) -> Case {
    Case {
        name: class.name.clone(),
        aqm: near(class, &[]),
        discipline: BufferPolicy {
            limit: LIMIT,
            limit_bytes: None,
            victim: Victim::Tail,
            ecn: true,
        },
        scheduler: None,
        arrivals: arrivals(bursts, 1, &mut stream(1, "arrivals", 0)),
        seed: 1,
    }
}

/// Coupled disciplines with words and numbers of their parameters.
pub const COUPLED: [(&str, &[(&str, &str)]); 7] = [
    ("dualpi2", &[]),
    ("dualpi2", &[("like", "rfc")]),
    ("dualpi2", &[("min_qlen_step", "2")]),
    ("dualpi2", &[("order", "shifted"), ("overload", "overflow")]),
    ("cake", &[("diffserv", "besteffort")]),
    (
        "cake",
        &[("diffserv", "besteffort"), ("isolation", "flowblind")],
    ),
    ("cake", &[("diffserv", "diffserv4"), ("isolation", "flows")]),
];

/// Returns every case, one AQM after the other, then those of coupled disciplines.
pub fn cases() -> impl Iterator<Item = Case> {
    of_aqms().chain(of_coupled())
}

fn of_coupled() -> impl Iterator<Item = Case> {
    let aqms = COUPLED.iter().map(|(name, words)| {
        let class = coupled().iter().find(|class| class.name == *name);
        near(class.expect("a coupled discipline"), words)
    });
    aqms.flat_map(|aqm| {
        let victims = [Victim::Tail, Victim::Front, Victim::Random];
        victims
            .into_iter()
            .zip(1..)
            .map(move |(victim, seed)| Case {
                name: format!("{aqm:?} {victim:?}"),
                aqm: aqm.clone(),
                discipline: BufferPolicy {
                    limit: LIMIT,
                    limit_bytes: (seed == 1).then_some(LIMIT_BYTES),
                    victim,
                    ecn: true,
                },
                scheduler: Some(aqm.clone()),
                arrivals: arrivals(BURSTS, FOR_A_SHAPER, &mut stream(seed, "arrivals", 0)),
                seed,
            })
    })
}

fn of_aqms() -> impl Iterator<Item = Case> {
    let victims = [Victim::Tail, Victim::Front, Victim::Random];
    let queues = victims.into_iter().flat_map(move |victim| {
        every_scheduler().into_iter().flat_map(move |scheduler| {
            [false, true].into_iter().flat_map(move |ecn| {
                [None, Some(LIMIT_BYTES)].map(|limit_bytes| {
                    let discipline = BufferPolicy {
                        limit: LIMIT,
                        limit_bytes,
                        victim,
                        ecn,
                    };
                    (discipline, scheduler.clone())
                })
            })
        })
    });
    let queues: Arc<[(BufferPolicy, Option<Configured>)]> = queues.collect();
    all().iter().flat_map(move |class| {
        let (aqm, queues) = (near(class, &[]), Arc::clone(&queues));
        (0..queues.len())
            .zip(repeat_n(aqm, queues.len()))
            .map(move |(place, aqm)| {
                let (discipline, scheduler) = queues[place].clone();
                let seed = place as u64 + 1;
                Case {
                    name: format!("{} {discipline:?} {scheduler:?}", class.name),
                    aqm,
                    discipline,
                    scheduler,
                    arrivals: arrivals(BURSTS, 1, &mut stream(seed, "arrivals", 0)),
                    seed,
                }
            })
    })
}
