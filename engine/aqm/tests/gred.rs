//! RED by drop precedence: levels of codepoints, what each average counts, and an oracle in floating
//! point for whole runs.

use sluice_aqm::{Aqm, Running, Verdict, View};

use crate::common::{configured, number, word};

const AF11: u8 = 10;
const AF12: u8 = 12;
const AF13: u8 = 14;

fn started(name: &str, w: f64) -> Running {
    configured(name, &[("w", number(w))]).start()
}

fn view(dscp: u8, queue_packets: u32, random: u64) -> View {
    View {
        traffic_class: dscp << 2,
        queue_packets,
        random,
        rate_bps: 1_000_000,
        ..View::default()
    }
}

/// Lets packets of a codepoint join.
fn join(aqm: &mut Running, dscp: u8, count: u32) {
    for _ in 0..count {
        aqm.occupancy(&view(dscp, 0, 0), 1);
    }
}

/// True if an arrival of each codepoint is dropped whatever chance says, with 35 packets waiting.
fn drops(name: &str, waiting: [(u8, u32); 2], dscp: u8) -> bool {
    let mut aqm = started(name, 1.0);
    for (waits, count) in waiting {
        join(&mut aqm, waits, count);
    }
    aqm.arrive(&view(dscp, 35, u64::MAX)) == Verdict::DropForced
}

#[test]
fn each_average_counts_what_it_should() {
    // 35 packets are above the last threshold of level 3, 30, and below that of level 1, 40
    let in_only = [(AF11, 35), (AF13, 0)];
    let both = [(AF11, 20), (AF13, 15)];
    let out_only = [(AF11, 0), (AF13, 35)];
    for (name, waiting, out_is_dropped) in [
        ("gred", in_only, false),
        ("gred", both, false),
        ("gred", out_only, true),
        ("rio", in_only, true),
        ("rio", both, true),
        ("rio", out_only, true),
        ("wred", in_only, true),
        ("wred", out_only, true),
    ] {
        assert_eq!(
            drops(name, waiting, AF13),
            out_is_dropped,
            "{name} {waiting:?}"
        );
        assert!(!drops(name, waiting, AF11), "{name} {waiting:?}: In");
    }
    // In packets are not judged by Out ones: 80 of them are beyond all thresholds
    let flooded = [(AF11, 0), (AF13, 80)];
    assert!(drops("rio", flooded, AF13) && !drops("rio", flooded, AF11));
}

#[test]
fn codepoints_have_their_levels() {
    for class in 1..=4_u8 {
        for precedence in 1..=3_u8 {
            let dscp = 8 * class + 2 * precedence;
            let mut gred = started("gred", 1.0);
            join(&mut gred, dscp, 35);
            let verdict = gred.arrive(&view(dscp, 35, u64::MAX));
            // 35 packets: at least max_th of level 3 only
            let is_dropped = verdict == Verdict::DropForced;
            assert_eq!(is_dropped, precedence == 3, "AF{class}{precedence}");
        }
    }
    for dscp in [0, 8, 9, 11, 16, 40, 42, 46, 63] {
        for others in 1..=3 {
            let given = [("w", number(1.0)), ("others", number(f64::from(others)))];
            let mut gred = configured("gred", &given).start();
            join(&mut gred, dscp, 35);
            let is_dropped = gred.arrive(&view(dscp, 35, u64::MAX)) == Verdict::DropForced;
            assert_eq!(is_dropped, others == 3, "DSCP {dscp}, others = {others}");
        }
    }
}

/// Packets that leave, for any reason, no longer count.
#[test]
fn packets_that_left_do_not_count() {
    let mut gred = started("gred", 1.0);
    join(&mut gred, AF13, 35);
    for _ in 0..34 {
        gred.occupancy(&view(AF13, 0, 0), -1);
    }
    assert_eq!(gred.arrive(&view(AF13, 1, 0)), Verdict::Admit);
}

/// The average of a level of which all is dropped decays, while packets of other levels keep the link
/// busy: m = 100 packets of 500 bytes at 1 Mbit/s later it is 35 (1 - w)^m.
#[test]
fn a_level_comes_back_after_its_packets_have_left() {
    let w = 1.0 / 64.0;
    let mut gred = started("gred", w);
    join(&mut gred, AF13, 35);
    for _ in 0..3000 {
        gred.arrive(&view(AF13, 50, 0));
    }
    assert_eq!(gred.arrive(&view(AF13, 50, 0)), Verdict::DropForced);
    for _ in 0..35 {
        gred.occupancy(&view(AF13, 0, 0), -1);
    }
    // each time of it counts once, also if the packet of that time is dropped
    for packets in [5, 100] {
        let later = View {
            now_ns: packets * 4_000_000,
            ..view(AF13, 50, u64::MAX)
        };
        let is_admitted = gred.arrive(&later) == Verdict::Admit;
        assert_eq!(is_admitted, packets == 100);
    }
    let decayed = gred.average().unwrap();
    assert!(
        (decayed - 35.0 * (1.0 - w).powi(100)).abs() < 1e-3,
        "{decayed}"
    );
}

/// Packets that joined under one level of other codepoints leave under another.
#[test]
fn a_level_that_changes_while_packets_wait_counts_no_packet_wrongly() {
    let with_others = |level: f64| {
        let given = [("w", number(1.0)), ("others", number(level))];
        configured("gred", &given)
    };
    let mut gred = with_others(3.0).start();
    join(&mut gred, 0, 20);
    assert!(gred.retune(&with_others(1.0)));
    for _ in 0..20 {
        gred.occupancy(&view(0, 0, 0), -1);
    }
    for dscp in [0, AF11, AF12, AF13] {
        assert_eq!(gred.arrive(&view(dscp, 1, 0)), Verdict::Admit, "{dscp}");
    }
}

/// RIO in floating point, as Clark & Fang describe it: written for this test.
#[derive(Default)]
struct Rio {
    averages: [f64; 2],
    counts: [u32; 2],
    waiting: [u32; 2],
}

impl Rio {
    fn drops(
        &mut self,
        is_out: bool,
        idle_packets: Option<u32>,
        w: f64,
        chance: f64,
    ) -> Option<bool> {
        let all = self.waiting[0] + self.waiting[1];
        let found = [self.waiting[0], all].map(f64::from);
        for (place, found) in found.into_iter().enumerate() {
            if let Some(idle) = idle_packets {
                self.averages[place] *= (1.0 - w).powi(idle as i32);
            } else if place == 1 || !is_out {
                self.averages[place] += w * (found - self.averages[place]);
            }
        }
        let place = usize::from(is_out);
        let (min_th, max_th, max_p) = [(40.0, 70.0, 0.02), (10.0, 30.0, 0.2)][place];
        let average = self.averages[place];
        let count = &mut self.counts[place];
        if average <= min_th {
            *count = 0;
            return Some(false);
        }
        if average >= max_th {
            *count = 0;
            return Some(true);
        }
        let p = max_p * (average - min_th) / (max_th - min_th);
        let apart = 1.0 - f64::from(*count) * p;
        *count += 1;
        // too close to the edge for floating point to tell
        if (chance * apart - p).abs() < 1e-6 {
            return None;
        }
        let drops = apart <= 0.0 || chance * apart < p;
        if drops {
            *count = 0;
        }
        Some(drops)
    }
}

#[test]
fn rio_decides_as_its_paper_says() {
    let w = 0.05;
    let mut oracle = Rio::default();
    let mut rio = configured("rio", &[("w", number(w)), ("averages", word("better"))]).start();
    let mut state = 7_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state ^ (state >> 29)
    };
    let (mut dropped, mut passed) = ([0; 2], [0; 2]);
    for step in 0..40_000 {
        let is_out = random() >> 40 & 1 == 1;
        let dscp = if is_out { AF12 } else { AF11 };
        let word = random();
        let all = oracle.waiting[0] + oracle.waiting[1];
        let mut seen = view(dscp, all, word);
        // 500 bytes at 1 Mbit/s: 4 ms a packet
        let idle = (all == 0 && step % 3 == 0).then_some(5);
        if let Some(packets) = idle {
            seen.idle = 1;
            seen.now_ns = 1_000_000_000 + u64::from(packets) * 4_000_000;
            seen.idle_since_ns = 1_000_000_000;
        }
        let chance = (word >> 32) as f64 / 2_f64.powi(32);
        let said = rio.arrive(&seen) != Verdict::Admit;
        let Some(expected) = oracle.drops(is_out, idle, w, chance) else {
            panic!("a draw at the edge in step {step}: choose another seed");
        };
        assert_eq!(said, expected, "step {step}");
        let place = usize::from(is_out);
        if said {
            dropped[place] += 1;
        } else {
            passed[place] += 1;
            rio.occupancy(&seen, 1);
            oracle.waiting[place] += 1;
        }
        // fills for a while, then drains
        let leaves = if step / 400 % 2 == 0 {
            random() % 3 == 0
        } else {
            true
        };
        for _ in 0..(if leaves { 2 } else { 0 }) {
            let place = usize::from(random() >> 33 & 1 == 1);
            if oracle.waiting[place] > 0 {
                oracle.waiting[place] -= 1;
                rio.occupancy(&view([AF11, AF12][place], 0, 0), -1);
            }
        }
    }
    assert!(
        dropped[0] > 0 && dropped[1] > 10 * dropped[0],
        "{dropped:?} {passed:?}"
    );
}
