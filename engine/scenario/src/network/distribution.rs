//! Distributions of times and of sizes, and rates that vary, from which flows are drawn.

use sluice_traffic::Modulator;

use crate::{
    limits::{Limits, above, at_least},
    ns,
    reader::Reader,
    show::rounded,
    table::{kinds, table, words},
};

/// A time that may be 0.
pub(crate) const TIME: Limits = at_least(0.0).at_most(1e8).unit("s");
/// A time of at least a nanosecond.
pub(crate) const DURATION: Limits = at_least(1e-9).at_most(1e8).unit("s");
const SHAPE: Limits = above(1.0).at_most(1000.0);

table! {
    /// Always the same time.
    pub struct Constant kind "constant" {
        /// The time.
        mean_s: f64, DURATION;
    }
}

table! {
    /// Uniform between two times.
    pub struct Uniform kind "uniform" checked by ordered {
        /// Shortest time.
        least_s: f64, TIME;
        /// Longest time.
        greatest_s: f64, DURATION;
    }
}

impl Uniform {
    fn ordered(&self, reader: &mut Reader) {
        if self.least_s > self.greatest_s {
            reader.say(format!(
                "least_s = {} must not exceed greatest_s = {} (s)",
                rounded(self.least_s),
                rounded(self.greatest_s)
            ));
        }
    }
}

table! {
    /// Exponential: the times between the arrivals of a Poisson process.
    pub struct Exponential kind "exponential" {
        /// Mean time.
        mean_s: f64, DURATION;
    }
}

table! {
    /// Pareto: heavy-tailed.
    pub struct Pareto kind "pareto" {
        /// Mean time.
        mean_s: f64, DURATION;
        /// Shape; a smaller one makes the tail heavier.
        shape: f64 = 1.5, SHAPE;
    }
}

kinds! {
    /// Distribution of a time.
    pub enum Distribution { Constant, Uniform, Exponential, Pareto }
}

impl Distribution {
    /// Returns what times are drawn from, in ns.
    pub fn plan(&self) -> sluice_wire::Distribution {
        use sluice_wire::Distribution as Drawn;
        match self {
            Self::Constant(of) => Drawn::Constant(ns(of.mean_s)),
            Self::Uniform(of) => Drawn::Uniform(ns(of.least_s), ns(of.greatest_s)),
            Self::Exponential(of) => Drawn::Exponential(ns(of.mean_s)),
            Self::Pareto(of) => Drawn::Pareto {
                mean: ns(of.mean_s),
                shape: of.shape,
            },
        }
    }

    /// Returns the mean time, s.
    pub(crate) fn mean_s(&self) -> f64 {
        match self {
            Self::Constant(time) => time.mean_s,
            Self::Uniform(time) => f64::midpoint(time.least_s, time.greatest_s),
            Self::Exponential(time) => time.mean_s,
            Self::Pareto(time) => time.mean_s,
        }
    }
}

words! {
    /// The distribution of a size.
    pub enum SizeKind {
        /// Always the same.
        Constant = "constant",
        /// On 1, 2, and so on.
        Geometric = "geometric",
        /// Rounded up or down at random so that the mean stays.
        Pareto = "pareto",
    }
}

table! {
    /// Distribution of a size: whole numbers of packets, at least 1.
    pub struct Sizes checked by sensible {
        /// `constant`; `geometric` on 1, 2, and so on; or `pareto`, rounded up or down at random so
        /// that the mean stays.
        kind: SizeKind;
        /// Mean size; of `pareto` at least shape / (shape - 1), so that the smallest size is one
        /// packet.
        mean_packets: f64, at_least(1.0).at_most(1e9).unit("packets");
        /// Shape of `pareto`; a smaller one makes the tail heavier.
        shape: Option<f64>, SHAPE;
    }
}

impl Sizes {
    fn sensible(&self, reader: &mut Reader) {
        let mean = rounded(self.mean_packets);
        if self.shape.is_some() != (self.kind == SizeKind::Pareto) {
            reader.say("shape must be given with kind = 'pareto', and only then");
        } else if self.kind == SizeKind::Constant && self.mean_packets.fract() != 0.0 {
            reader.say(format!(
                "mean_packets = {mean} must be whole if constant (packets)"
            ));
        } else if let Some(shape) = self.shape
            && self.mean_packets < shape / (shape - 1.0)
        {
            reader.say(format!(
                "mean_packets = {mean} must be at least shape / (shape - 1) = {} (packets): nothing \
                 is smaller than a packet",
                rounded(shape / (shape - 1.0))
            ));
        }
    }
}

table! {
    /// A rate that follows exact fractional Gaussian noise.
    ///
    /// In each frame the rate is its mean times 1 + `deviation` * noise, and 0 where that is
    /// negative, which raises the mean: by less than 0.01 % at a deviation of 0.3, by 0.4 % at 0.5,
    /// by 8 % at 1.
    pub struct Fgn {
        /// Hurst parameter of the noise: 0.5 if frames are independent, nearer to 1 for longer
        /// bursts.
        hurst: f64, above(0.0).below(1.0);
        /// Standard deviation of the rate, as a share of its mean.
        deviation: f64, at_least(0.0).at_most(1.0);
        /// Length of a frame.
        frame_s: f64, DURATION;
    }
}

table! {
    /// On and off at many time-scales at once: the self-similar modulator of S. Robert.
    ///
    /// A slot is the time that a packet takes at the flow's rate; the modulator says in which slots
    /// one is sent.
    pub struct SelfSimilar checked by exists {
        /// Mean share of the slots with a packet.
        share: f64, at_least(1e-9).below(1.0);
        /// Ratio of successive rates of leaving the state that sends; a larger one spreads the
        /// time-scales further.
        a: f64, above(1.0);
        /// States of the modulator: one more than the number of time-scales.
        states: u32 = 5, at_least(2.0).at_most(20.0);
    }
}

impl SelfSimilar {
    fn exists(&self, reader: &mut Reader) {
        if let Err(what) = self.modulator() {
            reader.say(what);
        }
    }

    /// Returns the modulator.
    ///
    /// # Errors
    /// If no modulator has this mean and this `a`.
    pub fn modulator(&self) -> Result<Modulator, String> {
        Modulator::of_mean(self.share, self.a, self.states)
    }
}
