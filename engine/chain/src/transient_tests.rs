//! Transients, compared with repeated multiplication.

use crate::{
    Arrivals, Chain, Plan, Transient,
    iterative::distance,
    oracle::{drop_tail, number, red, word},
};

pub(crate) fn chain(arrivals: Arrivals, class: &str, sampling: &str, w: f64) -> Chain {
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
