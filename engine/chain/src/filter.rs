//! The averaging of a configured AQM, if it has an exact chain.

use sluice_aqm::{Configured, Value};

use crate::{
    error::{ChainError, refuse},
    memoryless::{is_memoryless, remembers},
    params::Params,
};

/// When the average samples the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sampling {
    /// At each arrival; the new average then decides on the arriving packet.
    Arrivals,
    /// At the end of each slot.
    Clock,
}

/// How an observation of the queue changes the average; see `aqm/average.h`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Filter {
    /// There is no average.
    None,
    Ewma {
        w: f64,
    },
    LpfOda {
        w: f64,
        low_queue: f64,
        low_arrivals: usize,
        min_th: f64,
    },
}

/// When and how the average changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Averaging {
    pub sampling: Sampling,
    pub filter: Filter,
}

impl Averaging {
    /// Returns the averaging of a configured AQM if slots last `slot_ns`.
    ///
    /// # Errors
    /// If it has no exact chain.
    pub fn new(aqm: &Configured, slot_ns: u64) -> Result<Self, ChainError> {
        let class = aqm.class();
        let owner = class.name.as_str();
        match class.base.as_deref().unwrap_or(owner) {
            "drop_tail" => {
                return Ok(Self {
                    sampling: Sampling::Arrivals,
                    filter: Filter::None,
                });
            }
            "red" => {}
            _ if is_memoryless(aqm) => {
                return Ok(Self {
                    sampling: Sampling::Arrivals,
                    filter: Filter::None,
                });
            }
            _ => refuse!(
                "{owner} has no exact chain: {}. There is one for drop_tail, the RED family and \
                 headers without a state that are asked at arrivals only",
                remembers(aqm)
            ),
        }
        let params = Params::of(aqm);
        if !params.is("spacing", "independent") {
            refuse!("{owner}.spacing must be \"independent\": the chain does not count packets");
        }
        if params.get("idle_decay") == Some(&Value::Switch(true)) {
            refuse!("{owner}.idle_decay must be false: the chain does not time idle periods");
        }
        Ok(Self {
            sampling: sampling(&params, slot_ns)?,
            filter: filter(&params)?,
        })
    }
}

fn sampling(params: &Params<'_>, slot_ns: u64) -> Result<Sampling, ChainError> {
    if !params.is("sampling", "clock") {
        return Ok(Sampling::Arrivals);
    }
    let (interval, slot) = (params.number("sampling_interval"), slot_ns as f64 * 1e-9);
    if (interval * 1e9).round() != slot_ns as f64 {
        refuse!(
            "{}.sampling_interval = {interval} must be {slot}, the length of a slot (s): \
             the chain samples once in each",
            params.owner
        );
    }
    Ok(Sampling::Clock)
}

fn filter(params: &Params<'_>) -> Result<Filter, ChainError> {
    // with low_queue = 0 no queue is low, and only the low pass filter remains
    if params.is("average", "lpf_oda") && params.number("low_queue") > 0.0 {
        return Ok(Filter::LpfOda {
            w: params.number("w"),
            low_queue: params.number("low_queue"),
            low_arrivals: params.number("low_arrivals") as usize,
            min_th: params.number("min_th"),
        });
    }
    if !params.is("average", "difference") {
        let w = params.number("w");
        return Ok(Filter::Ewma { w });
    }
    for lag in ["a2", "a3", "b1", "b2", "b3"] {
        let weight = params.number(lag);
        if weight != 0.0 {
            refuse!(
                "{}.{lag} = {weight} must be 0: the chain remembers one average and no queue",
                params.owner
            );
        }
    }
    let w = 1.0 - params.number("a1");
    Ok(Filter::Ewma { w })
}

impl Filter {
    /// Returns how many levels share one value of the average. LPF/ODA has a level for each number
    /// of low arrivals that are missing until a congestion is over.
    pub fn counts(self) -> usize {
        match self {
            Self::LpfOda { low_arrivals, .. } => low_arrivals + 1,
            _ => 1,
        }
    }

    /// Returns average and missing low arrivals after an observation of `waiting` packets.
    pub fn update(self, average: f64, missing: usize, waiting: f64) -> (f64, usize) {
        let ewma = |w: f64| average + w * (waiting - average);
        match self {
            Self::None => (average, 0),
            Self::Ewma { w } => (ewma(w), 0),
            Self::LpfOda {
                w,
                low_queue,
                low_arrivals,
                min_th,
            } => {
                let missing = if waiting < low_queue {
                    missing.saturating_sub(1)
                } else {
                    low_arrivals
                };
                let is_over = missing == 0 && average >= min_th;
                (if is_over { average / 2.0 } else { ewma(w) }, missing)
            }
        }
    }
}
