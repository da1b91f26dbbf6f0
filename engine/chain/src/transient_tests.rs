//! Transients, compared with repeated multiplication.

use crate::{
    Arrivals, Chain, Plan, Transient,
    iterative::distance,
    oracle::{drop_tail, number, red, word},
};

fn chain(arrivals: Arrivals, class: &str, sampling: &str, w: f64) -> Chain {
    let given = [
        number("min_th", 10.0),
        number("max_th", 30.0),
        number("w", w),
        word("sampling", sampling),
    ];
    let plan = Plan {
        arrivals,
        aqm: red(class, &given),
        grid: 0.5,
        ..drop_tail(0.5, 0.5, 40)
    };
    Chain::new(&plan).unwrap()
}

#[test]
fn leaps_are_repeated_multiplication_within_their_bound() {
    let modulated = Arrivals::SelfSimilar {
        a: 6.0,
        q: 1.9,
        states: 3,
    };
    for (arrivals, class, sampling, w) in [
        (Arrivals::Geometric { rate: 0.5 }, "red", "arrivals", 0.07),
        (Arrivals::Geometric { rate: 0.6 }, "dsred", "clock", 0.002),
        (modulated, "lpf_oda", "clock", 0.02),
    ] {
        let chain = chain(arrivals, class, sampling, w);
        let mut start = vec![0.0; chain.states()];
        start[chain.states() - 1] = 1.0;
        let mut exact = start.clone();
        let mut transient = Transient::new(&chain, start);
        let tolerance = 1e-9 / 3000.0;
        for slots in [7, 93, 900, 2000] {
            for _ in 0..slots {
                exact = chain.step(&exact);
            }
            transient.advance(slots, tolerance).unwrap();
            let off = distance(&exact, &transient.probabilities);
            // repeated multiplication has rounding errors, too
            let rounding = 1e-15 * transient.slot as f64;
            assert!(off <= transient.error + rounding, "{off}");
            assert!(slots < 40 || transient.error < 500.0 * off, "{off}");
            assert!(transient.error < 1.1e-9, "{}", transient.error);
        }
        assert_eq!(transient.slot, 3000);
        assert!(transient.multiplications < 1100);
    }
}
