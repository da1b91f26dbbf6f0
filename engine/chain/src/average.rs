//! The average queue on a grid: its levels, where each observation takes it, the drop law there.

use sluice_aqm::{Configured, Value};

use crate::error::{ChainError, refuse};

/// When the average looks at the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// At each arrival, which is then judged by the new average.
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

/// The parameters of a configured AQM by name.
struct Params(Vec<(String, Value)>);

impl Params {
    fn get(&self, name: &str) -> Option<&Value> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Number(number)) => *number,
            _ => 0.0,
        }
    }

    fn is(&self, name: &str, word: &str) -> bool {
        matches!(self.get(name), Some(Value::Word(known)) if known == word)
    }
}

impl Filter {
    /// The filter of a configured AQM, where a chain can follow it.
    pub fn new(aqm: &Configured) -> Result<Self, ChainError> {
        let (name, class) = (&aqm.class().name, aqm.class());
        match class.base.as_deref().unwrap_or(name) {
            "drop_tail" => return Ok(Self::None),
            "red" => {}
            _ => refuse!(
                "{name} has no exact chain: there is one for drop_tail and the RED family only"
            ),
        }
        let params = Params(
            aqm.values()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        );
        if !params.is("spacing", "independent") {
            refuse!("{name}.spacing must be \"independent\": the chain does not count packets");
        }
        if matches!(params.get("idle_decay"), Some(Value::Switch(true))) {
            refuse!("{name}.idle_decay must be false: the chain does not time idle periods");
        }
        let w = params.number("w");
        // no queue is shorter than 0: then it is the low pass filter alone
        if params.is("average", "lpf_oda") && params.number("low_queue") > 0.0 {
            return Ok(Self::LpfOda {
                w,
                low_queue: params.number("low_queue"),
                low_arrivals: params.number("low_arrivals") as usize,
                min_th: params.number("min_th"),
            });
        }
        if params.is("average", "difference") {
            for lag in ["a2", "a3", "b1", "b2", "b3"] {
                if params.number(lag) != 0.0 {
                    refuse!(
                        "{name}.{lag} = {} must be 0: the chain remembers one average and no queue",
                        params.number(lag)
                    );
                }
            }
            return Ok(Self::Ewma {
                w: 1.0 - params.number("a1"),
            });
        }
        Ok(Self::Ewma { w })
    }

    /// Levels that share one value of the average: LPF/ODA counts beside it how many low arrivals
    /// are missing to the end of a congestion.
    fn counts(self) -> usize {
        match self {
            Self::LpfOda { low_arrivals, .. } => low_arrivals + 1,
            _ => 1,
        }
    }

    /// Average and missing low arrivals after `waiting` packets were seen.
    fn update(self, average: f64, missing: usize, waiting: f64) -> (f64, usize) {
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

/// Where one observation takes the average: to the grid's neighbours of its exact value, with
/// the probabilities that keep its mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub low: usize,
    pub high: usize,
    /// Probability of `high`.
    pub up: f64,
}

/// Every level of the average and what happens there. Level 0 is where a long silence leads.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    /// The average at each level, packets.
    pub average: Vec<f64>,
    /// The drop law at each level.
    pub law: Vec<f64>,
    /// By level, then by waiting packets.
    moves: Vec<Move>,
    waits: usize,
}

impl Levels {
    /// How many levels a grid of `step` packets has, whether they can be reached or not.
    pub fn count(filter: Filter, limit: usize, step: f64) -> f64 {
        if filter == Filter::None {
            return 1.0;
        }
        ((limit as f64 / step).ceil() + 1.0) * filter.counts() as f64
    }

    pub fn new(
        aqm: &Configured,
        filter: Filter,
        limit: usize,
        step: f64,
    ) -> Result<Self, ChainError> {
        let (count, counts) = (Self::count(filter, limit, step) as usize, filter.counts());
        let average: Vec<f64> = (0..count)
            .map(|level| (level / counts) as f64 * step)
            .collect();
        let mut law = Vec::with_capacity(count);
        for &packets in &average {
            match aqm.drop_probability(packets) {
                Some(p) => law.push(p),
                None => refuse!("{} has no drop law", aqm.class().name),
            }
        }
        let top = (count - 1) / counts;
        let mut moves = Vec::with_capacity(count * (limit + 1));
        for (level, packets) in average.iter().enumerate() {
            for waiting in 0..=limit {
                let (exact, missing) = filter.update(*packets, level % counts, waiting as f64);
                let place = exact / step;
                let low = (place.floor() as usize).min(top);
                moves.push(Move {
                    low: low * counts + missing,
                    high: (low + 1).min(top) * counts + missing,
                    up: (place - low as f64).clamp(0.0, 1.0),
                });
            }
        }
        Ok(Self {
            average,
            law,
            moves,
            waits: limit + 1,
        })
    }

    #[inline]
    pub fn seen(&self, level: usize, waiting: usize) -> Move {
        self.moves[level * self.waits + waiting]
    }

    /// Leaves out the levels from `count` on, which are never reached.
    pub fn truncate(&mut self, count: usize) {
        self.average.truncate(count);
        self.law.truncate(count);
        self.moves.truncate(count * self.waits);
        // only from states that are never reached themselves
        for seen in &mut self.moves {
            seen.low = seen.low.min(count - 1);
            seen.high = seen.high.min(count - 1);
        }
    }
}
