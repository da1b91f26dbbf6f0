//! The RED family in plain floating point, written from the papers, with a bound on the
//! difference from the fixed-point code.
//!
//! The bound adds up all rounding errors: of a product half a step (2^-33), of a ratio and a power
//! one step, of a coefficient half a step. `FLOAT` covers the model's own rounding.

use std::collections::HashMap;

use sluice_aqm::{Configured, Value, Verdict, View};

const STEP: f64 = 1.0 / 4_294_967_296.0;
const FLOAT: f64 = 8.0 * f64::EPSILON;

/// Name and value of every parameter, rounded to whole steps as in the fixed-point code.
pub struct Params(HashMap<String, Value>);

impl Params {
    pub fn of(configured: &Configured) -> Self {
        Self(
            configured
                .values()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }

    pub fn number(&self, name: &str) -> f64 {
        match self.0[name] {
            Value::Number(number) => (number / STEP).round() * STEP,
            ref other => panic!("{name} = {other}"),
        }
    }

    fn word(&self, name: &str) -> &str {
        match &self.0[name] {
            Value::Word(word) => word,
            other => panic!("{name} = {other}"),
        }
    }

    fn is_on(&self, name: &str) -> bool {
        self.0[name] == Value::Switch(true)
    }
}

/// An interval in which the value of the fixed-point code must lie.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// The drop function p(avg).
pub struct DropFunction {
    name: String,
    min_th: f64,
    max_th: f64,
    max_p: f64,
    gamma: f64,
    middle: f64,
    cubic: [f64; 3],
}

impl DropFunction {
    pub fn of(params: &Params) -> Self {
        let [max_p, c2, c3] = ["max_p", "c2", "c3"].map(|name| params.number(name));
        Self {
            name: params.word("drop_function").to_owned(),
            min_th: params.number("min_th"),
            max_th: params.number("max_th"),
            max_p,
            gamma: params.number("gamma"),
            middle: params.number("middle"),
            cubic: [max_p * (1.0 - c2 - c3), max_p * c2, max_p * c3],
        }
    }

    /// Returns the average from which on the drop function gives 1.
    pub fn end(&self) -> f64 {
        if self.name == "gentle" {
            2.0 * self.max_th
        } else {
            self.max_th
        }
    }

    pub fn probability(&self, average: f64) -> f64 {
        if average < self.min_th {
            return 0.0;
        }
        if average >= self.end() {
            return 1.0;
        }
        if average >= self.max_th {
            return self.max_p + (1.0 - self.max_p) * (average - self.max_th) / self.max_th;
        }
        let u = (average - self.min_th) / (self.max_th - self.min_th);
        let p = match self.name.as_str() {
            "double_slope" if u < self.middle => (1.0 - self.gamma) * u / self.middle,
            "double_slope" => {
                1.0 - self.gamma + self.gamma * (u - self.middle) / (1.0 - self.middle)
            }
            "cubic" => self.cubic[0] * u + self.cubic[1] * u * u + self.cubic[2] * u * u * u,
            _ => self.max_p * u,
        };
        p.clamp(0.0, 1.0)
    }

    /// Returns the steepest slope of p over u (or over v = average / max_th - 1) where p does not
    /// jump.
    fn steepest(&self) -> f64 {
        match self.name.as_str() {
            "double_slope" => {
                let below = (1.0 - self.gamma) / self.middle.max(STEP);
                below.max(self.gamma / (1.0 - self.middle).max(STEP))
            }
            "cubic" => self.cubic[0].abs() + 2.0 * self.cubic[1].abs() + 3.0 * self.cubic[2].abs(),
            _ => 1.0,
        }
    }

    /// Returns the interval of the code's probability if its average is within `error` of
    /// `average`.
    pub fn within(&self, average: f64, error: f64) -> Interval {
        if average + error < self.min_th {
            return Interval {
                low: 0.0,
                high: 0.0,
            };
        }
        if average - error >= self.end() {
            return Interval {
                low: 1.0,
                high: 1.0,
            };
        }
        let range = (self.max_th - self.min_th).min(self.max_th);
        let slack = self.steepest() * (error / range + STEP + FLOAT) + 4.0 * STEP;
        let points = [average - error, average, average + error].map(|a| self.probability(a));
        Interval {
            low: points.iter().fold(1.0, |a: f64, b| a.min(*b)) - slack,
            high: points.iter().fold(0.0, |a: f64, b| a.max(*b)) + slack,
        }
    }
}

/// The averaging filter, with a bound on the code's error in each of its averages.
struct Average {
    name: String,
    w: f64,
    a: [f64; 3],
    b: [f64; 4],
    low_queue: f64,
    low_arrivals: u64,
    min_th: f64,
    average: [f64; 3],
    error: [f64; 3],
    queue: [f64; 3],
    low: u64,
}

impl Average {
    fn of(params: &Params) -> Self {
        let a = ["a1", "a2", "a3"].map(|name| params.number(name));
        let [b1, b2, b3] = ["b1", "b2", "b3"].map(|name| params.number(name));
        let b0 = (1.0 - a.iter().sum::<f64>() - b1 - b2 - b3).max(0.0);
        Self {
            name: params.word("average").to_owned(),
            w: params.number("w"),
            a,
            b: [b0, b1, b2, b3],
            low_queue: params.number("low_queue"),
            low_arrivals: params.number("low_arrivals") as u64,
            min_th: params.number("min_th"),
            average: [0.0; 3],
            error: [0.0; 3],
            queue: [0.0; 3],
            low: 0,
        }
    }

    /// Zheng & Atiquzzaman 2002, figure 2, with "less than five packets for three arrivals"
    /// as the end of a congestion: half the average, or else `otherwise`. If average and min_th
    /// differ by less than the error bound, `actual` shows which case it was.
    fn over_drop_avoidance(&mut self, queue: f64, otherwise: f64, actual: f64) {
        self.low = if queue < self.low_queue {
            self.low + 1
        } else {
            0
        };
        let half = self.average[0] / 2.0;
        let is_open = (self.average[0] - self.min_th).abs() <= self.error[0];
        let is_over = if is_open {
            (actual - half).abs() < (actual - otherwise).abs()
        } else {
            self.average[0] >= self.min_th
        };
        let halves = self.low >= self.low_arrivals && is_over;
        self.average[0] = if halves { half } else { otherwise };
        self.error[0] += STEP + FLOAT * self.average[0].max(queue);
        if halves && !is_open {
            self.error[0] /= 2.0;
        }
    }

    /// Floyd & Jacobson 1993: avg <- (1 - w) avg + w q.
    fn ewma(&mut self, queue: f64) {
        let float = FLOAT * self.average[0].max(queue);
        self.average[0] = (1.0 - self.w) * self.average[0] + self.w * queue;
        self.error[0] = (1.0 - self.w) * self.error[0] + STEP / 2.0 + float;
    }

    /// Domanska et al. 2014, equation (3).
    fn difference(&mut self, queue: f64) {
        let queues = [queue, self.queue[0], self.queue[1], self.queue[2]];
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let average = dot(&self.a, &self.average) + dot(&self.b, &queues);
        let greatest = queues
            .iter()
            .chain(&self.average)
            .fold(0.0, |a: f64, b| a.max(*b));
        let error = dot(&self.a, &self.error) + 7.0 * STEP / 2.0 + FLOAT * greatest;
        self.average = [average, self.average[0], self.average[1]];
        self.error = [error, self.error[0], self.error[1]];
        self.queue = [queue, self.queue[0], self.queue[1]];
    }

    fn update(&mut self, queue: f64, actual: f64) {
        match self.name.as_str() {
            "difference" => self.difference(queue),
            "lpf_oda" => {
                let ewma = (1.0 - self.w) * self.average[0] + self.w * queue;
                self.over_drop_avoidance(queue, ewma, actual);
            }
            _ => self.ewma(queue),
        }
    }

    /// Floyd & Jacobson 1993: avg <- (1 - w)^m avg.
    fn idle(&mut self, m: u64, actual: f64) {
        let decay = (1.0 - self.w).powf(m as f64);
        self.error[0] = decay * self.error[0] + self.average[0] * (STEP + FLOAT) + STEP;
        self.average[0] *= decay;
        if self.name == "lpf_oda" {
            self.over_drop_avoidance(0.0, self.average[0], actual);
        }
    }
}

/// The model's verdict on an arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    Admit,
    Drop,
    /// Unknown: the random word is too close to the probability.
    Either,
}

/// RED with its state.
pub struct Red {
    average: Average,
    pub drop_function: DropFunction,
    spacing: String,
    like: String,
    /// The present packet passes because the queue is short, as in ns-2.
    passes: bool,
    decays_while_idle: bool,
    mean_packet_bits: u64,
    /// Packets since the last drop: the fewest and the most that the error bound allows.
    count: [u64; 2],
}

impl Red {
    pub fn of(configured: &Configured) -> Self {
        let params = Params::of(configured);
        Self {
            average: Average::of(&params),
            drop_function: DropFunction::of(&params),
            spacing: params.word("spacing").to_owned(),
            like: params.word("like").to_owned(),
            passes: false,
            decays_while_idle: params.is_on("idle_decay"),
            mean_packet_bits: 8 * params.number("mean_packet_bytes") as u64,
            count: [0; 2],
        }
    }

    pub fn average(&self) -> f64 {
        self.average.average[0]
    }

    pub fn error(&self) -> f64 {
        self.average.error[0]
    }

    /// Updates the average; `actual` is the code's average after this arrival.
    pub fn update(&mut self, view: &View, actual: f64) {
        let (least_queue, more) = match self.like.as_str() {
            "ns2" => (2, 1),
            "ns2_bytes" => (1, 1),
            _ => (0, 0),
        };
        self.passes = view.queue_packets < least_queue;
        if view.idle == 1 && self.decays_while_idle {
            let packet_ns = self.mean_packet_bits * 1_000_000_000 / view.rate_bps;
            let m = (view.now_ns - view.idle_since_ns) / packet_ns;
            self.average.idle(m + more, actual);
        } else {
            self.average.update(f64::from(view.queue_packets), actual);
        }
    }

    pub fn probability(&self) -> Interval {
        self.drop_function.within(self.average(), self.error())
    }

    /// A packet is dropped if R < p / (1 - count p), Floyd & Jacobson 1993, section VI; with
    /// independent drops, count = 0. With `waiting` and n = count + 1: if n p >= 1 and
    /// R < p / (2 - n p).
    pub fn expected(&self, random: u64) -> Expected {
        let r = (random >> 32) as f64 * STEP;
        let p = self.probability();
        let [fewest, most] = self.count.map(|count| count as f64);
        let (whole, fewest, most) = match self.spacing.as_str() {
            "independent" => (1.0, 0.0, 0.0),
            "uniformised" => (1.0, fewest, most),
            _ => (2.0, fewest + 1.0, most + 1.0),
        };
        if self.passes {
            return Expected::Admit;
        }
        let may_wait = whole == 2.0 && fewest * p.low < 1.0;
        let must_wait = whole == 2.0 && most * p.high < 1.0;
        if p.low == 1.0 || !may_wait && r * (whole - fewest * p.low) + STEP < p.low {
            Expected::Drop
        } else if p.high == 0.0 || must_wait || r * (whole - most * p.high) - STEP >= p.high {
            Expected::Admit
        } else {
            Expected::Either
        }
    }

    /// Counts the packets since the last drop; `verdict` is the code's.
    pub fn follow(&mut self, verdict: Verdict) {
        let p = self.probability();
        let [fewest, most] = self.count;
        self.count = match verdict {
            Verdict::Admit if p.high <= 0.0 || self.passes => [0; 2],
            Verdict::Admit if p.low > 0.0 => [fewest + 1, most + 1],
            Verdict::Admit => [0, most + 1],
            _ => [0; 2],
        };
    }
}
