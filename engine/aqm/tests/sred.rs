//! Compares SRED with its paper in floating point, and tests its estimate of the number of flows.

use sluice_aqm::{Aqm, Verdict, View};

use crate::common::{
    configured,
    link::{Event, FLOWS, Told},
    number, word,
};

const ZOMBIES: usize = 1000;

/// Ott et al. 1999, sections II to IV.
struct Model {
    full: bool,
    overwrite: f64,
    zombies: Vec<u32>,
    hits: f64,
}

impl Model {
    /// Returns the drop probability for this arrival.
    fn arrive(&mut self, view: &View) -> f64 {
        // the lower half of the random word gives a place in the list, and a fraction
        let place = (view.random % (1 << 32)) as f64 / 2_f64.powi(32) * ZOMBIES as f64;
        let mut hit = false;
        if self.zombies.len() < ZOMBIES {
            self.zombies.push(view.flow_hash);
        } else {
            let zombie = &mut self.zombies[place as usize];
            hit = *zombie == view.flow_hash;
            if !hit && place.fract() < self.overwrite {
                *zombie = view.flow_hash;
            }
            let alpha = self.overwrite / ZOMBIES as f64;
            self.hits = (1.0 - alpha) * self.hits + alpha * f64::from(u8::from(hit));
        }
        let filled = f64::from(view.queue_packets) / f64::from(view.limit_packets);
        let p_sred = match filled {
            f if f >= 1.0 / 3.0 => 0.15,
            f if f >= 1.0 / 6.0 => 0.15 / 4.0,
            _ => 0.0,
        };
        let p_zap = p_sred * (1.0 / (256.0 * self.hits).powi(2)).min(1.0);
        let factor = if self.full && hit {
            1.0 + 1.0 / self.hits
        } else {
            1.0
        };
        (p_zap * factor).min(1.0)
    }
}

fn follow(variant: &str, given: f64) -> Told {
    let mut model = Model {
        full: variant == "full",
        overwrite: given,
        zombies: Vec::new(),
        hits: 0.0,
    };
    let mut told = Told::default();
    let given = [("variant", word(variant)), ("overwrite", number(given))];
    FLOWS.drive(
        &configured("sred", &given),
        60_000,
        |event, view, verdict, _| {
            if event == Event::Arrive {
                let p = model.arrive(view);
                told.chance(view, verdict, p, 1e-6 + 1e-4 * p);
            }
        },
    );
    told
}

#[test]
fn sred_follows_the_oracle() {
    for variant in ["simple", "full"] {
        // with a small weight P is long below 1/256; a large one raises it quickly
        let told = [0.0001, 0.25].map(|overwrite| follow(variant, overwrite));
        assert!(told[0].drops > 500 && told[0].admissions > 500, "{told:?}");
        assert!(
            told.iter().all(|told| told.open * 100 < told.admissions),
            "{told:?}"
        );
    }
}

/// With `flows` equal flows and a long queue, P settles near 1 / flows, and the drop probability
/// of simple SRED near 0.15 (flows / 256)^2.
#[test]
fn the_drop_probability_grows_with_the_square_of_the_number_of_flows() {
    for flows in [32_u32, 64, 128, 400] {
        let mut sred = configured("sred", &[("variant", word("simple"))]).start();
        let mut word = u64::from(flows);
        let (mut drops, warm_up, packets) = (0, 100_000, 1_000_000);
        for packet in 0..packets {
            let mut draw = || {
                word = word
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (word ^ (word >> 29))
                    .wrapping_mul(0xbf58_476d_1ce4_e5b9)
                    .rotate_left(32)
            };
            let view = View {
                flow_hash: (draw() >> 32) as u32 % flows,
                random: draw(),
                queue_packets: 100,
                limit_packets: 200,
                ..View::default()
            };
            let dropped = sred.arrive(&view) == Verdict::DropEarly;
            drops += u32::from(dropped && packet >= warm_up);
        }
        let p = f64::from(drops) / f64::from(packets - warm_up);
        let expected = 0.15 * (f64::from(flows) / 256.0).powi(2).min(1.0);
        let deviation = (expected / f64::from(packets - warm_up)).sqrt();
        // P fluctuates: its weight of 1/4000 gives a relative variance of about flows / 8000
        let wavering = 3.0 * f64::from(flows) / 8000.0 * expected;
        assert!(
            (p - expected).abs() < 5.0 * deviation + 2.0 * wavering,
            "{flows}: {p} {expected}"
        );
    }
}
