//! Losses in time, compared with a closed form; quiet slots, compared with single slots.

use crate::{
    Arrivals, Chain, Method, Plan,
    chain::Changed,
    oracle::{drop_tail, number, red, word},
    quiet::Quiet,
};

/// After a loss the buffer is full; the next arrival is lost if no service ends before it.
#[test]
fn geo_geo_1_k_loses_again_as_its_closed_form_says() {
    for (rate, mu) in [(0.2, 0.5), (0.9, 0.05)] {
        let chain = Chain::new(&drop_tail(rate, mu, 30)).unwrap();
        let solution = chain.solve(Method::Direct).unwrap();
        let losses = chain.losses(&solution.probabilities, 400).unwrap();
        let expected = rate * (1.0 - mu) / (1.0 - (1.0 - rate) * (1.0 - mu));
        assert!((losses.again[0] / expected - 1.0).abs() < 1e-13);
        let fates = chain.measures(&solution.probabilities).fates;
        assert!((losses.lost / fates.overflow - 1.0).abs() < 1e-12);
        assert!((losses.arrivals - rate).abs() < 1e-14);
        // after many arrivals the loss has no influence
        let ratio = losses.lost / losses.arrivals;
        assert!((losses.again[399] - ratio).abs() < 1e-4);
    }
}

/// Returns `x` times the transitions of quiet slots.
fn quiet_slot(chain: &Chain, x: &[f64]) -> Vec<f64> {
    let states = chain.modulator_states();
    let mut next = vec![0.0; x.len()];
    let mut changed = Changed::new(states);
    for (level, from) in x.chunks_exact(chain.width()).enumerate() {
        for size in 0..chain.sizes() {
            changed.after_service(chain, from, size);
            chain.jumps(level, size, |jump| {
                if !jump.active {
                    let at = chain.place(jump.level, size);
                    changed.add(jump, &mut next[at..at + states]);
                }
            });
        }
    }
    next
}

/// Includes cases in which rounding moves the average there and back (a grid of 0.7, sampling by a
/// clock), and in which LPF/ODA does.
#[test]
fn quiet_slots_together_are_quiet_slots_one_by_one() {
    let base = [
        number("min_th", 2.0),
        number("max_th", 7.0),
        number("w", 0.2),
    ];
    let oda = [number("low_queue", 4.0), number("low_arrivals", 2.0)];
    let mut most = 0;
    for (class, extra) in [("red", &oda[..0]), ("lpf_oda", &oda)] {
        for sampling in ["arrivals", "clock"] {
            let given = [&base[..], &[word("sampling", sampling)], extra].concat();
            let plan = Plan {
                arrivals: Arrivals::SelfSimilar {
                    a: 5.0,
                    q: 1.9,
                    states: 3,
                },
                aqm: red(class, &given),
                grid: 0.7,
                ..drop_tail(0.5, 0.3, 9)
            };
            let chain = Chain::new(&plan).unwrap();
            let quiet = Quiet::new(&chain);
            most = (0..chain.sizes())
                .flat_map(|size| quiet.at(size))
                .map(|group| group.levels.len())
                .fold(most, usize::max);
            let start: Vec<f64> = (0..chain.states()).map(|k| ((k * 7) % 11) as f64).collect();
            let mut found = start.clone();
            quiet.follow(&chain, &mut found);
            let (mut expected, mut slot) = (start.clone(), start);
            for _ in 0..2000 {
                slot = quiet_slot(&chain, &slot);
                expected.iter_mut().zip(&slot).for_each(|(x, y)| *x += y);
            }
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() <= 1e-10 * expected, "{class}");
            }
        }
    }
    assert!(most > 2, "no group larger than a pair was met");
}
