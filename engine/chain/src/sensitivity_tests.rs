//! Derivatives, compared with a closed form in exact arithmetic and with differences of solved
//! chains; refusals.

use num_bigint::BigInt;
use num_rational::BigRational;

use crate::{
    Arrivals, Chain, Derivative, Method, Plan,
    oracle::{drop_tail, number, red, word},
    tests::exact,
};

fn derivative(plan_at: &dyn Fn(f64) -> Plan, at: f64, step: f64, method: Method) -> Derivative {
    let plan = plan_at(at);
    let near = [1.0, 2.0, 3.0, 4.0].map(|k| plan_at(at + k * step));
    let chain = Chain::new(&plan).unwrap();
    let mut found = chain.sensitivities(&plan, &[(step, near)], method).unwrap();
    found.derivatives.remove(0)
}

fn unnormalised(rate: &BigRational, mu: &BigRational, limit: u32) -> Vec<BigRational> {
    let one = exact(1.0);
    let down = mu * (&one - rate);
    let mut weights = vec![one.clone(), rate / &down];
    for _ in 0..limit {
        let next = weights.last().unwrap() * rate * (&one - mu) / &down;
        weights.push(next);
    }
    weights
}

fn float(x: &BigRational) -> f64 {
    let scaled = (x * BigInt::from(10).pow(30)).to_integer();
    scaled.to_string().parse::<f64>().unwrap() * 1e-30
}

/// Returns the relative error if |expected| > 1, otherwise the absolute error.
fn error(found: f64, expected: &BigRational) -> f64 {
    let off = float(&(exact(found) - expected)).abs();
    off / float(expected).abs().max(1.0)
}

/// The derivative of log weight(s) = log rate - log down + (s - 1) (log up - log down) is a
/// fraction. The derivative of a probability p is p times the difference of its own such fraction
/// and the mean one.
#[test]
fn the_plain_queue_has_its_closed_form() {
    let limit = 60;
    for (rate, mu) in [(0.25, 0.5), (0.5, 0.5), (0.75, 0.375)] {
        let (one, r, m) = (exact(1.0), exact(rate), exact(mu));
        let weights = unnormalised(&r, &m, limit);
        let total: BigRational = weights.iter().sum();
        let slopes: [Vec<BigRational>; 2] = [0, 1].map(|by| {
            (0..weights.len())
                .map(|size| {
                    let (s, beyond) = (exact(size as f64), exact(size.saturating_sub(1) as f64));
                    if by == 0 {
                        &s / &r + &s / (&one - &r)
                    } else {
                        -beyond / (&one - &m) - s / &m
                    }
                })
                .collect()
        });
        let by_rate = |rate| drop_tail(rate, mu, limit);
        let by_mu = |mu| drop_tail(rate, mu, limit);
        let found = [
            derivative(&by_rate, rate, -rate / 1024.0, Method::Direct),
            derivative(&by_mu, mu, -mu / 1024.0, Method::Direct),
        ];
        for (found, slopes) in found.iter().zip(&slopes) {
            let mean: BigRational = weights
                .iter()
                .zip(slopes)
                .map(|(w, s)| w * s)
                .sum::<BigRational>()
                / &total;
            let probability = |size: usize| &weights[size] / &total * (&slopes[size] - &mean);
            let utilization = -probability(0);
            let off = error(found.of.utilization, &utilization);
            assert!(off < 1e-11, "{rate}, {mu}: utilization is off by {off}");
            let queue_mean: BigRational = (2..weights.len())
                .map(|size| probability(size) * exact(size as f64 - 1.0))
                .sum();
            let mean: f64 = (0..)
                .zip(&found.of.queue)
                .map(|(k, p)| f64::from(k) * p)
                .sum();
            let off = error(mean, &queue_mean);
            assert!(off < 1e-10, "{rate}, {mu}: the mean queue is off by {off}");
            assert!(found.residual < 1e-12, "{}", found.residual);
        }
    }
}

/// The plain queue at heavy load: the empty system has a probability of 1e-140. With the empty
/// state as the taboo state, elimination would lose all digits here.
#[test]
fn likely_states_keep_their_digits_at_heavy_load() {
    let by_rate = |rate| drop_tail(rate, 0.5, 150);
    let found = derivative(&by_rate, 0.9, -0.9 / 1024.0, Method::Direct);
    // the server is always busy: the admitted rate is mu, whatever the arrival rate
    assert!(found.of.admitted.abs() < 1e-12, "{}", found.of.admitted);
    assert!((found.of.fates.arrivals - 1.0).abs() < 1e-11);
    assert!((found.of.fates.overflow - 1.0).abs() < 1e-11);
    // limit - queue is geometric with mean r / (1 - r), r = down / up
    let r = |rate: f64| (1.0 - rate) / rate;
    let slope = -1.0 / (0.9 * 0.9) / (1.0 - r(0.9)).powi(2);
    let mean: f64 = (0..)
        .zip(&found.of.queue)
        .map(|(k, p)| f64::from(k) * p)
        .sum();
    assert!((mean / -slope - 1.0).abs() < 1e-10, "{mean}, {slope}");
}

fn averaged(arrivals: Arrivals, sampling: &str, name: &'static str) -> impl Fn(f64) -> Plan {
    let given = [
        number("min_th", 2.25),
        number("max_th", 6.0),
        number("max_p", 0.3),
        number("w", 0.21),
        word("sampling", sampling),
    ];
    move |value| {
        let mut given = given.to_vec();
        given.retain(|(known, _)| known != name);
        given.push(number(name, value));
        Plan {
            arrivals: arrivals.clone(),
            aqm: red("red", &given),
            grid: 0.5,
            ..drop_tail(0.5, 0.45, 10)
        }
    }
}

fn measures(plan: &Plan) -> [f64; 3] {
    let chain = Chain::new(plan).unwrap();
    let x = chain.solve(Method::Direct).unwrap().probabilities;
    let measures = chain.measures(&x);
    let mean = (0..)
        .zip(&measures.queue)
        .map(|(k, p)| f64::from(k) * p)
        .sum();
    [
        mean,
        measures.fates.early + measures.fates.forced,
        chain.sojourn_sums(&measures.admitted).sum,
    ]
}

/// Returns (f(at + h) - f(at - h)) / 2h, extrapolated from two values of h.
fn difference(plan_at: &dyn Fn(f64) -> Plan, at: f64, h: f64) -> [f64; 3] {
    let quotient = |h: f64| {
        let (high, low) = (measures(&plan_at(at + h)), measures(&plan_at(at - h)));
        [0, 1, 2].map(|k| (high[k] - low[k]) / (2.0 * h))
    };
    let (coarse, fine) = (quotient(2.0 * h), quotient(h));
    [0, 1, 2].map(|k| (4.0 * fine[k] - coarse[k]) / 3.0)
}

#[test]
fn derivatives_are_limits_of_differences() {
    let self_similar = Arrivals::SelfSimilar {
        a: 5.0,
        q: 1.9,
        states: 3,
    };
    for arrivals in [Arrivals::Geometric { rate: 0.5 }, self_similar] {
        for sampling in ["arrivals", "clock"] {
            // name, value, step of the derivative, step of the difference, tolerance
            for (name, at, step, h, tolerance) in [
                ("w", 0.21, 1e-3, 1e-7, 1e-6),
                ("max_p", 0.3, 1.0 / 64.0, 1e-2, 1e-7),
                ("min_th", 2.25, 0.05, 0.02, 1e-6),
            ] {
                let plan_at = averaged(arrivals.clone(), sampling, name);
                let expected = difference(&plan_at, at, h);
                for method in [Method::Direct, Method::Iterative] {
                    let found = derivative(&plan_at, at, step, method);
                    let of = &found.of;
                    let mean = (0..)
                        .zip(&of.queue)
                        .map(|(k, p)| f64::from(k) * p)
                        .sum::<f64>();
                    let found = [mean, of.fates.early + of.fates.forced, of.sojourn.sum];
                    for (found, expected) in found.iter().zip(expected) {
                        let off = (found / expected - 1.0).abs();
                        assert!(
                            off < tolerance,
                            "{name} ({sampling}, {method:?}): {found}, by differences {expected}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn what_has_no_derivative_on_a_grid_is_refused() {
    let plan_at = |min_th: f64| {
        let given = [
            number("min_th", min_th),
            number("max_th", 6.0),
            number("low_queue", 2.0),
        ];
        Plan {
            aqm: red("lpf_oda", &given),
            ..drop_tail(0.5, 0.5, 8)
        }
    };
    let plan = plan_at(2.0);
    let near = [1.0, 2.0, 3.0, 4.0].map(|k| plan_at(2.0 - 0.01 * k));
    let chain = Chain::new(&plan).unwrap();
    let error = chain
        .sensitivities(&plan, &[(-0.01, near)], Method::Direct)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "low_queue, and min_th where the average is lpf_oda, have no derivative: on a grid the \
         average is halved from one level on or from the next"
    );
}
